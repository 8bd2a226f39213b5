package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/store"
)

type dbCmd struct {
	Check  dbCheckCmd  `cmd:"" help:"Check that everything holds which must hold of the record; exit status 1 when something does not."`
	NewLog dbNewLogCmd `cmd:"" help:"Give the event log a new name, after a database was restored from an earlier time. Origins that are running report it at once, and edges start over."`
}

// withStore opens the record for one act.
func (d *databaseSettings) withStore(ctx context.Context, act func(*store.Store) error) (err error) {
	at, err := d.record()
	if err != nil {
		return err
	}
	at.KeepSchema = true
	st, err := store.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return act(st)
}

type dbCheckCmd struct {
	databaseSettings `embed:""`
}

// maxBrokenShown bounds the rows named under one rule: more say nothing new.
const maxBrokenShown = 10

// Run prints a line per rule, and one for each of the first rows that break it.
func (c *dbCheckCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.withStore(ctx, func(st *store.Store) error {
		report, err := st.Inspect(ctx)
		broken := 0
		for _, f := range report {
			if len(f.Broken) == 0 {
				fmt.Fprintf(s.Out, "holds   %s\n", f.Rule)
				continue
			}
			broken++
			fmt.Fprintf(s.Out, "BROKEN  %s\n", f.Rule)
			for _, name := range f.Broken[:min(len(f.Broken), maxBrokenShown)] {
				fmt.Fprintf(s.Out, "        not so: %s\n", name)
			}
			if more := len(f.Broken) - maxBrokenShown; more > 0 {
				fmt.Fprintf(s.Out, "        and at least %d more\n", more)
			}
		}
		if err == nil && broken > 0 {
			err = fmt.Errorf("%d of %d rules are broken", broken, len(report))
		}
		return err
	})
}

type dbNewLogCmd struct {
	databaseSettings `embed:""`
}

// Run renames the log.
func (c *dbNewLogCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.withStore(ctx, func(st *store.Store) error {
		was := st.Log()
		if err := st.RenameLog(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.Out, "the log %s is called %s now\n", was, st.Log())
		return err
	})
}
