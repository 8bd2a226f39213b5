package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin/client"
)

// minEvery is the shortest pause between two checks: a checkpoint is on every edge within a second.
const minEvery = time.Second

// Cmd follows the public log of a server.
type Cmd struct {
	URL   string        `arg:"" help:"Address of any edge of the server."`
	Dir   string        `type:"path" default:"./witness" help:"Folder for the key and the state of the witness."`
	Name  string        `placeholder:"NAME" help:"Name in a new key; the host name if unset."`
	Every time.Duration `default:"10s" help:"Pause between two checks."`
	Once  bool          `help:"Check once and exit."`

	MaxBehind time.Duration `default:"10m" help:"How long an edge may serve a checkpoint older than one seen before."`
}

// Help is printed below the flags.
func (c *Cmd) Help() string {
	return `Follows the public log of scores. Each check verifies the signature of the newest
checkpoint, that the log has all leaves of the checkpoints before it, and that the
entries are its leaves: new ones, and some of the old ones in turn. Then the witness
cosigns the checkpoint (C2SP tlog-cosignature). NUMBER.checkpoint in the folder has
it: publish the file, for example with any web server. Its readers verify it by the
public key that is printed at the start:

  fieldmark score verify SLUG --checkpoint 1.checkpoint --witness-key KEY

If the log has another history than before, or an entry was rewritten, the command
prints what differs, keeps both checkpoints in a file as evidence, cosigns nothing and
exits with status 3. It does so again when it is restarted. A server that does not
respond is asked again.

Exit status: 0 stopped, or with --once the log is consistent, 1 the check was not
possible, 3 the log contradicts a checkpoint that it signed.`
}

// Run follows the log until ctx ends.
func (c *Cmd) Run(ctx context.Context, s *command.Streams) error {
	if c.Every < minEvery {
		return fmt.Errorf("--every must be at least %s", minEvery)
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" {
		return fmt.Errorf("%q is not the address of a server, such as https://marks.example", c.URL)
	}
	edge, err := client.New(client.Config{BaseURL: c.URL})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	host, _ := os.Hostname() // only a default
	key, err := openKey(c.Dir, cmp.Or(c.Name, host, "witness"))
	if err != nil {
		return err
	}
	seen, err := readState(c.Dir, c.URL)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "witness %s\n", key.Key()); err != nil {
		return err
	}
	f := &follower{edge: edge, folder: c.Dir, key: key, state: seen, out: s.Out, log: s.Log,
		behindFor: c.MaxBehind, behind: map[int64]time.Time{}}
	for {
		err := f.check(ctx)
		switch {
		case errors.Is(err, translog.ErrContradiction):
			return command.WithStatus(command.StatusNotMet, err)
		case ctx.Err() != nil || c.Once:
			return err
		case err != nil:
			s.Log.Warn("check the public log", slog.Any("error", err))
		}
		if timeout.Sleep(ctx, c.Every) != nil {
			return nil // stopped
		}
	}
}
