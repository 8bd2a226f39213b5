package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
)

type dbCmd struct {
	Check dbCheckCmd `cmd:"" help:"Check the database against every rule; exit status 1 if a rule is broken."`

	RecordBackup dbRecordBackupCmd `cmd:"" help:"Record a backup that another tool has made."`

	Partition dbPartitionCmd `cmd:"" help:"Divide the event log of PostgreSQL into partitions."`

	NewLog dbNewLogCmd `cmd:"" help:"Rename the event log after the database was restored to an earlier time. Running origins use the new name at once, and edges start over."`
}

// withStore opens the database for one operation.
func (d *databaseSettings) withStore(ctx context.Context, do func(*store.Store) error) (err error) {
	cfg, err := d.storeConfig()
	if err != nil {
		return err
	}
	cfg.NoMigrate = true
	st, err := store.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return do(st)
}

// withService opens the database for one operation, which the audit log attributes to the
// user of the operating system. An origin may be running on the same database.
func (d *dataSettings) withService(ctx context.Context, s *command.Streams,
	do func(context.Context, *origin.Service) error) (err error) {
	secret, err := d.appSecret()
	if err != nil {
		return err
	}
	cfg, err := d.storeConfig()
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	svc, err := origin.New(origin.Config{Store: st, Secret: secret, Log: s.Log})
	if err != nil {
		return err
	}
	if err := svc.Prepare(ctx); err != nil {
		return err
	}
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return do(auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorCommand, Name: name}), svc)
}

type dbCheckCmd struct {
	databaseSettings `embed:""`
	objectSettings   `embed:""`
}

// Help is printed below the flags.
func (dbCheckCmd) Help() string {
	return `It also compares the attachments in the database with their files, without reading these.`
}

// maxBrokenRows bounds the rows that are listed for a broken rule. More would not help to
// find the cause.
const maxBrokenRows = 10

// Run prints a line for each rule, and the first rows that break it.
func (c *dbCheckCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.withStore(ctx, func(st *store.Store) error {
		report, err := st.Inspect(ctx)
		broken := 0
		for _, f := range report {
			if len(f.Broken) == 0 {
				fmt.Fprintf(s.Out, "ok      %s\n", f.Rule)
				continue
			}
			broken++
			fmt.Fprintf(s.Out, "BROKEN  %s\n", f.Rule)
			for _, row := range f.Broken[:min(len(f.Broken), maxBrokenRows)] {
				fmt.Fprintf(s.Out, "        %s\n", row)
			}
			if more := len(f.Broken) - maxBrokenRows; more > 0 {
				fmt.Fprintf(s.Out, "        and at least %d more\n", more)
			}
		}
		if err != nil {
			return err
		}
		if ok, err := c.checkFiles(ctx, s, st); err != nil {
			return err
		} else if !ok {
			broken++
		}
		if broken > 0 {
			err = fmt.Errorf("%d of %d rules are broken", broken, len(report)+1)
		}
		return err
	})
}

// checkFiles prints a line for the rule that every attachment has its file, and reports whether it
// is met.
func (c *dbCheckCmd) checkFiles(ctx context.Context, s *command.Streams, st *store.Store) (ok bool, err error) {
	place, err := c.place(c.Data)
	if err != nil {
		return false, err
	}
	_, bad, err := attachment.Check(ctx, st, place)
	if err != nil {
		return false, err
	}
	rule := "every attachment has its file in " + place.String()
	if len(bad) == 0 {
		fmt.Fprintf(s.Out, "ok      %s\n", rule)
		return true, nil
	}
	fmt.Fprintf(s.Out, "BROKEN  %s\n", rule)
	for _, f := range bad[:min(len(bad), maxBrokenRows)] {
		fmt.Fprintf(s.Out, "        %s of mission %s: %s\n", f.ID, f.Mission, f.Problem)
	}
	if more := len(bad) - maxBrokenRows; more > 0 {
		fmt.Fprintf(s.Out, "        and %d more\n", more)
	}
	return false, nil
}

type dbNewLogCmd struct {
	databaseSettings `embed:""`
}

// Run renames the event log.
func (c *dbNewLogCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.withStore(ctx, func(st *store.Store) error {
		previous := st.Log()
		if err := st.RenameLog(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.Out, "the event log %s is now %s\n", previous, st.Log())
		return err
	})
}

type dbPartitionCmd struct {
	databaseSettings `embed:""`

	Step int64 `default:"20000000" help:"Event numbers that a partition has: about those of a month."`
}

// Help is printed below the flags.
func (dbPartitionCmd) Help() string {
	return `Origins then drop a partition when all its rows are older than FIELDMARK_KEEP_EVENTS and
FIELDMARK_KEEP_DELIVERIES, in place of deleting rows: no vacuum, but rows are kept up to one partition longer. They
always have three partitions more than they need. The step cannot be changed later.
Origins keep running. Tables are read once, beside writers; then reads and writes wait while the tables are renamed.
Back up first, update all origins a day before, and connect to the server itself as the owner of the tables. If origins
connect as another role, run this command every week: it adds partitions, and drops none.
The only way back is the backup.`
}

// Run divides the tables, or adds partitions, and prints the partitions.
func (c *dbPartitionCmd) Run(ctx context.Context, s *command.Streams) error {
	cfg, err := c.storeConfig()
	if err != nil {
		return err
	}
	status, err := store.Partition(ctx, cfg, c.Step, func(step string) { s.Log.Info(step) })
	if err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	for _, r := range status.Ranges {
		fmt.Fprintf(s.Out, "events from %d to %d\n", max(r.From, 1), r.To-1)
	}
	return nil
}

type dbRecordBackupCmd struct {
	databaseSettings `embed:""`
}

// Run records a backup that was made now.
func (c *dbRecordBackupCmd) Run(ctx context.Context, _ *command.Streams) error {
	return c.recordBackup(ctx)
}

// recordBackup records that the database was backed up now.
func (d *databaseSettings) recordBackup(ctx context.Context) error {
	return d.withStore(ctx, func(s *store.Store) error {
		return s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.AddBackup(ctx, time.Now()) })
	})
}
