package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin/client"
)

const (
	// rechecks is how many old entry bundles one check verifies once more. The whole of a log with a million
	// leaves is verified in an hour and a half then, if the pause between checks is 10 s.
	rechecks = 8
	// refresh is the age at which the cosignature of an unchanged log is renewed: its time shows readers that
	// the witness is at work.
	refresh = time.Hour
)

// follower checks the public logs of a server.
type follower struct {
	edge   *client.Client
	folder string
	key    *translog.Cosigner
	state  *state
	out    io.Writer
	log    *slog.Logger

	behindFor time.Duration
	behind    map[int64]time.Time // since when logs are shorter than the witness has seen
}

// errBehind is the error of a log that is shorter than the witness has seen, maybe because an edge is behind.
var errBehind = errors.New("the log is shorter than before; it is read again")

// check checks all logs, and cosigns what is new.
func (f *follower) check(ctx context.Context) error {
	logs, err := f.edge.PublicLogs(ctx)
	if fieldmark.IsCode(err, fieldmark.CodeModuleDisabled) && len(f.state.Logs) > 0 {
		return fmt.Errorf("%w: %s keeps no public log any more", translog.ErrContradiction, f.state.URL)
	}
	if err != nil {
		return err
	}
	for _, known := range f.state.Logs {
		if !slices.ContainsFunc(logs, func(l fieldmark.PublicLog) bool {
			return l.Number == known.Number && l.Origin == known.Origin
		}) {
			return fmt.Errorf("%w: %s no longer lists %s", translog.ErrContradiction, f.state.URL, known.Origin)
		}
	}
	for i := range slices.Backward(logs) { // the oldest first
		if err := f.checkLog(ctx, &logs[i]); err != nil {
			return fmt.Errorf("%s: %w", logs[i].Origin, err)
		}
	}
	return nil
}

// compareSize returns an error if a log is shorter than before: errBehind, and after behindFor a
// contradiction: an edge that cannot reach its origin serves an older checkpoint meanwhile.
func (f *follower) compareSize(known *logState, n int64) error {
	if n >= known.newest().N {
		delete(f.behind, known.Number)
		return nil
	}
	since, ok := f.behind[known.Number]
	if !ok {
		since = time.Now()
		f.behind[known.Number] = since
	}
	err := errBehind
	if time.Since(since) >= f.behindFor {
		err = translog.ErrContradiction
	}
	return fmt.Errorf("%w: it has %d leaves, and had %d", err, n, known.newest().N)
}

// reading is a checkpoint that was read.
type reading struct {
	translog.Checkpoint
	signed []byte
}

// checkLog checks one log.
func (f *follower) checkLog(ctx context.Context, log *fieldmark.PublicLog) error {
	known := f.state.find(log.Number)
	if known == nil {
		known = &logState{Number: log.Number, Origin: log.Origin, Keys: log.Keys}
	}
	if known.Ended {
		return nil
	}
	load := func(path string) ([]byte, error) { return f.edge.PublicLogFile(ctx, log.Number, path) }
	r, err := read(known, load)
	if err == nil && !log.Ended {
		err = f.compareSize(known, r.N)
	}
	if err == nil {
		err = f.verify(known, r, load)
	}
	if errors.Is(err, translog.ErrContradiction) {
		return f.report(known, r, err)
	}
	if err != nil {
		return err
	}
	known.Keys = log.Keys // after a rotation both keys sign for a month
	return f.cosign(known, r, log.Ended)
}

// read reads the newest checkpoint, which must be signed by a key of the witness's state.
func read(known *logState, load translog.Load) (r reading, err error) {
	if r.signed, err = load(fieldmark.LogCheckpoint); err != nil {
		return r, err
	}
	r.Checkpoint, _, err = translog.OpenCheckpoint(r.signed, known.Keys...)
	if _, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return r, fmt.Errorf("%w: %w", translog.ErrContradiction, err)
	}
	if err != nil { // it may be the page of a proxy
		return r, err
	}
	if r.Origin != known.Origin {
		return r, fmt.Errorf("%w: its checkpoint is of %s", translog.ErrContradiction, r.Origin)
	}
	return r, nil
}

// verify verifies that a checkpoint extends those seen before, and its entries.
func (f *follower) verify(known *logState, r reading, load translog.Load) error {
	if older, ok := known.upTo(r.N); ok {
		if err := r.Extends(older, load); err != nil {
			return err
		}
	} else if known.newest().N > 0 {
		f.log.Warn("the log is shorter than all its remembered checkpoints, so it cannot be compared",
			slog.String("log", known.Origin), slog.Int64("leaves", r.N))
	}
	bundles := (r.N + translog.Width - 1) / translog.Width
	first := known.Verified / translog.Width // the last bundle may have grown
	for b := first; b < bundles; b++ {
		if err := r.VerifyEntries(b, load); err != nil {
			return err
		}
	}
	for range min(rechecks, first) {
		known.Recheck %= first
		if err := r.VerifyEntries(known.Recheck, load); err != nil {
			return err
		}
		known.Recheck++
	}
	known.Verified = r.N
	return nil
}

// cosign cosigns a verified checkpoint, and publishes it once the state is durable.
func (f *follower) cosign(known *logState, r reading, ended bool) error {
	now, before := time.Now().UTC(), known.newest()
	if f.state.find(known.Number) != nil && r.Tree == before.Tree && now.Sub(known.At) < refresh && !ended {
		return nil
	}
	signed, err := f.key.Cosign(r.signed, now)
	if err != nil {
		return err
	}
	if ended {
		f.log.Warn("the log has ended: the operator restored a backup, renamed the event log or failed over; ask for "+
			"the reason", slog.String("log", known.Origin), slog.Int64("leaves", r.N),
			slog.Int64("leavesLost", max(before.N-r.N, 0)))
		known.Ended = true
	}
	known.Checkpoint, known.At = string(signed), now
	known.add(r.Tree)
	if f.state.find(known.Number) == nil {
		f.state.Logs = append(f.state.Logs, known)
	}
	if err := f.state.write(f.folder); err != nil {
		return err
	}
	path := filepath.Join(f.folder, fmt.Sprintf("%d.checkpoint", known.Number))
	if err := atomicfile.Write(path, signed); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.out, "%s %s: %d leaves, root %s: consistent, cosigned\n", now.Format(time.RFC3339),
		known.Origin, r.N, r.Hash)
	return err
}

// report keeps the evidence of a contradiction, and returns the error that the command ends with.
func (f *follower) report(known *logState, r reading, why error) error {
	path := filepath.Join(f.folder, fmt.Sprintf("contradiction-%d.txt", time.Now().Unix()))
	evidence := fmt.Sprintf("%v\n\nThe witness has verified and cosigned:\n\n%s\nThe server sends:\n\n%s", why,
		known.Checkpoint, r.signed)
	if err := atomicfile.Write(path, []byte(evidence)); err != nil {
		return fmt.Errorf("%w; its evidence could not be kept: %v", why, err)
	}
	return fmt.Errorf("%w\nTHE PUBLIC LOG WAS REWRITTEN, or the server shows different logs to different clients.\n"+
		"Nothing was cosigned. Both checkpoints are in %s: publish them", why, path)
}
