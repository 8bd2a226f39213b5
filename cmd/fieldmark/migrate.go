package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/store"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Apply all pending migrations; an origin does so when it starts."`
	Status migrateStatusCmd `cmd:"" help:"List the migrations and which of them are applied."`
}

type migrateUpCmd struct {
	databaseSettings `embed:""`
}

// Help is printed below the flags.
func (migrateUpCmd) Help() string {
	return `Any number of origins may start, or run this command, at the same time: one migrates and the others wait.
Run the command before an upgrade if the tables belong to another database user than the one that origins use:
an origin that finds no pending migration needs no right to change tables.
Connect to the server itself: a pooler of transactions does not keep the session that migrations lock.
Migrations only add. Older origins keep working during and after a migration.`
}

// Run migrates and prints what was applied.
func (c *migrateUpCmd) Run(ctx context.Context, s *command.Streams) error {
	cfg, err := c.storeConfig()
	if err != nil {
		return err
	}
	applied, err := store.Migrate(ctx, cfg)
	if err != nil {
		return err
	}
	for _, step := range applied {
		fmt.Fprintf(s.Out, "%05d %s: applied\n", step.Version, step.Name)
	}
	if len(applied) == 0 {
		fmt.Fprintln(s.Out, "no pending migrations")
	}
	return nil
}

type migrateStatusCmd struct {
	databaseSettings `embed:""`
}

// Run prints a line for each migration.
func (c *migrateStatusCmd) Run(ctx context.Context, s *command.Streams) error {
	cfg, err := c.storeConfig()
	if err != nil {
		return err
	}
	steps, err := store.Steps(ctx, cfg)
	if err != nil {
		return err
	}
	newer := 0
	for _, step := range steps {
		if step.Name == "" { // applied by a newer version
			newer++
			continue
		}
		state := "pending"
		if !step.AppliedAt.IsZero() {
			state = "applied " + step.AppliedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(s.Out, "%05d %-20s %s\n", step.Version, step.Name, state)
	}
	if newer > 0 {
		fmt.Fprintf(s.Out, "The database has %s of a newer version, up to %05d. This version works with it.\n",
			command.Count(newer, "migration", "migrations"), steps[len(steps)-1].Version)
	}
	return nil
}
