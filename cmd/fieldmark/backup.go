package main

import (
	"context"
	"fmt"
	"os"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/store"
)

// postgresBackup is how a record in PostgreSQL is copied and put back.
const postgresBackup = `
A record in PostgreSQL is copied with its own tools, while origins run:

  pg_dump --format=custom --no-owner --file=fieldmark.dump "$FIELDMARK_DATABASE_URL"

and put back, while no origin runs, into an empty database:

  createdb --encoding=UTF8 --template=template0 fieldmark
  pg_restore --no-owner --exit-on-error --dbname="$FIELDMARK_DATABASE_URL" fieldmark.dump
  fieldmark db new-log
  fieldmark db check

The application secret (FIELDMARK_SECRET, or the file secret in the data folder) is in no copy of the database. Keep it
as well, and apart: without it no API key and no webhook secret of the copy is good for anything.`

type backupCmd struct {
	databaseSettings `embed:""`
	File             string `arg:"" type:"path" help:"File to make; it must not exist."`
}

// Help tells what the copy is worth, and how it is done with PostgreSQL.
func (backupCmd) Help() string {
	return `The copy is as of one moment. Origins go on reading and writing meanwhile. It is checked before it gets its name:
a damaged file, or an event that does not match its checksum, is an error, and no file is left.
` + postgresBackup
}

// Run copies the record.
func (c *backupCmd) Run(ctx context.Context, s *command.Streams) error {
	at, err := c.record()
	if err != nil {
		return err
	}
	if err := store.Backup(ctx, at, c.File); err != nil {
		return err
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d bytes; the application secret is not in it, keep that as well\n", c.File, info.Size())
	return err
}

type restoreCmd struct {
	databaseSettings `embed:""`
	File             string `arg:"" type:"existingfile" help:"A backup."`
	Force            bool   `help:"Replace the database that is there; it is kept beside the new one as fieldmark.db.replaced."`
}

// Help tells what happens to edges, and how it is done with PostgreSQL.
func (restoreCmd) Help() string {
	return `The backup is only read. The origin must be stopped. The event log gets a new name, so that edges start afresh:
what happened after the backup is lost, and its event numbers will be given to other events.
` + postgresBackup
}

// Run puts a backup in place of the record.
func (c *restoreCmd) Run(ctx context.Context, s *command.Streams) error {
	at, err := c.record()
	if err != nil {
		return err
	}
	replaced, err := store.Restore(ctx, c.File, at, c.Force)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s is restored\n", at.Path)
	if replaced != "" {
		fmt.Fprintf(s.Out, "%s is what was there before\n", replaced)
	}
	return nil
}
