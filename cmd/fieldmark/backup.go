package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/store"
)

// postgresBackup describes how to back up and restore PostgreSQL.
const postgresBackup = `
To back up PostgreSQL, use its own tools while origins run:

  pg_dump --format=custom --no-owner --file=fieldmark.dump "$FIELDMARK_DATABASE_URL"

To restore it, stop all origins and use an empty database:

  createdb --encoding=UTF8 --template=template0 fieldmark
  pg_restore --no-owner --exit-on-error --dbname="$FIELDMARK_DATABASE_URL" fieldmark.dump
  fieldmark db new-log
  fieldmark db check

Run fieldmark db record-backup after pg_dump, so that the list of issues includes the age of the backup.

A backup does not contain the files of attachments. Copy them after the database, so that the copy has every file
that the database names:

  rsync -a /var/lib/fieldmark/objects/ backup:/fieldmark/objects/

With FIELDMARK_OBJECTS=s3://..., use versioning or replication of the bucket. The files are encrypted; they are of no
use without the database and the application secret.

A backup does not contain the application secret (FIELDMARK_SECRET, or the file secret in the data folder). Back it up
too, and in another place: without it the API keys and webhook secrets in the backup cannot be used.`

type backupCmd struct {
	databaseSettings `embed:""`
	objectSettings   `embed:""`
	File             string `arg:"" type:"path" help:"File to create; it must not exist."`
}

// Help is printed below the flags.
func (backupCmd) Help() string {
	return `The copy shows the database at one point in time; origins keep reading and writing. It is checked ` +
		`before it gets its
name. If events do not match their checksums, the copy is kept, the damaged events are listed, and the exit status is 3:
restore an earlier backup, and keep the copy for what happened since. If the file cannot be read, no copy is made.

Exit status: 0 the copy is made, 1 it is not made, 3 it is made from a damaged database.
` + postgresBackup
}

// Run copies the database.
func (c *backupCmd) Run(ctx context.Context, s *command.Streams) error {
	cfg, err := c.storeConfig()
	if err != nil {
		return err
	}
	err = store.Backup(ctx, cfg, c.File)
	if _, ok := errors.AsType[*store.DamagedError](err); ok {
		err = command.WithStatus(command.StatusNotMet, err)
	} else if err != nil {
		return err
	}
	info, serr := os.Stat(c.File)
	if serr != nil {
		return errors.Join(err, serr)
	}
	fmt.Fprintf(s.Out, "%s: %d bytes, without the application secret; back up the secret too\n", c.File, info.Size())
	c.reportFiles(ctx, s)
	if err != nil {
		return err // a copy of a damaged database is no backup
	}
	if err := c.recordBackup(ctx); err != nil { // the file is complete
		s.Log.Warn("the backup is not recorded in the database", "error", err)
	}
	return nil
}

// reportFiles prints that the files of attachments are not in the backup, if there are any.
func (c *backupCmd) reportFiles(ctx context.Context, s *command.Streams) {
	place, err := c.place(c.Data)
	count := 0
	if err == nil {
		err = c.withStore(ctx, func(st *store.Store) (err error) {
			count, err = st.CountAttachments(ctx)
			return err
		})
	}
	if err != nil { // the backup is made
		s.Log.Warn("count the files of attachments", "error", err)
	} else if count > 0 {
		fmt.Fprintf(s.Out, "not in the backup: the files of attachments in %s (%d); copy them now: see "+
			"fieldmark backup --help\n", place, count)
	}
}

type restoreCmd struct {
	databaseSettings `embed:""`
	File             string `arg:"" type:"existingfile" help:"Backup to restore."`
	Force            bool   `help:"Replace an existing database; it is kept as fieldmark.db.replaced."`
}

// Help is printed below the flags.
func (restoreCmd) Help() string {
	return `The backup file is not changed. Stop the origin first. The event log gets a new name, which makes edges ` +
		`start over:
events after the backup are lost, and their numbers will be used again.
` + postgresBackup
}

// Run replaces the database by a backup.
func (c *restoreCmd) Run(ctx context.Context, s *command.Streams) error {
	cfg, err := c.storeConfig()
	if err != nil {
		return err
	}
	replaced, err := store.Restore(ctx, c.File, cfg, c.Force)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s is restored\n", cfg.Path)
	if replaced != "" {
		fmt.Fprintf(s.Out, "the previous database is %s\n", replaced)
	}
	return nil
}
