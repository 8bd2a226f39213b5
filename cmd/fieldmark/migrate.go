package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/store"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the database up to this version of Fieldmark; an origin does so itself when it starts."`
	Status migrateStatusCmd `cmd:"" help:"List the steps this version knows and which of them the database has."`
}

type migrateUpCmd struct {
	databaseSettings `embed:""`
}

// Help tells when the command is needed.
func (migrateUpCmd) Help() string {
	return `Any number of origins may start, or call this, at once: one does the work and the others wait.
Running it beforehand is for databases whose tables belong to another user than the one origins connect as:
an origin that finds nothing to do needs no right to change tables.
Steps only add. An older origin goes on working while and after a newer one has migrated.`
}

// Run migrates and prints what was done.
func (c *migrateUpCmd) Run(ctx context.Context, s *command.Streams) error {
	at, err := c.record()
	if err != nil {
		return err
	}
	done, err := store.Migrate(ctx, at)
	if err != nil {
		return err
	}
	for _, step := range done {
		fmt.Fprintf(s.Out, "%05d %s: done\n", step.Version, step.Name)
	}
	if len(done) == 0 {
		fmt.Fprintln(s.Out, "nothing to do")
	}
	return nil
}

type migrateStatusCmd struct {
	databaseSettings `embed:""`
}

// Run prints a line per step.
func (c *migrateStatusCmd) Run(ctx context.Context, s *command.Streams) error {
	at, err := c.record()
	if err != nil {
		return err
	}
	steps, err := store.Steps(ctx, at)
	if err != nil {
		return err
	}
	unknown := 0
	for _, step := range steps {
		if step.Name == "" {
			unknown++
			continue
		}
		state := "pending"
		if !step.AppliedAt.IsZero() {
			state = "applied " + step.AppliedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(s.Out, "%05d %-20s %s\n", step.Version, step.Name, state)
	}
	if unknown > 0 {
		fmt.Fprintf(s.Out, "The database has steps of a newer version that this program does not know: %d, up to %05d. It works with them.\n",
			unknown, steps[len(steps)-1].Version)
	}
	return nil
}
