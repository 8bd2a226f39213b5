package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin/client"
)

const (
	// proofTries is how often a score is read that the public log does not have yet, and proofPause the time
	// between: a log has a change after about a second.
	proofTries = 10
	proofPause = time.Second
)

// readProven reads a score document, with its proof if the server keeps a public log. A server of an earlier
// version does not know the parameter.
func readProven(ctx context.Context, edge *client.Client, slug fieldmark.Slug) (doc client.ScoreDocument, err error) {
	for range proofTries {
		doc, err = edge.ScoreDocument(ctx, slug, true)
		if !fieldmark.IsCode(err, fieldmark.CodeScoreNotLogged) {
			break
		}
		if err := timeout.Sleep(ctx, proofPause); err != nil {
			return doc, err
		}
	}
	if fieldmark.IsCode(err, fieldmark.CodeModuleDisabled) || fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
		doc, err = edge.ScoreDocument(ctx, slug, false)
	}
	return doc, err
}

// logVerifier verifies that the public log has a score.
type logVerifier struct {
	edge       *client.Client
	checkpoint string // file; empty: none
	witnessKey string // empty: the file is of an earlier run
}

// errLog is the error of a public log that does not have what it should have.
func errLog(format string, args ...any) error {
	return command.WithStatus(command.StatusNotMet, fmt.Errorf("public log: "+format, args...))
}

// verify verifies the proof of a score document.
func (v *logVerifier) verify(ctx context.Context, s *command.Streams, score *fieldmark.Score) error {
	if v.witnessKey != "" && v.checkpoint == "" {
		return errors.New("--witness-key needs --checkpoint: the file that the witness wrote")
	}
	if score.Proof == nil {
		if v.checkpoint != "" {
			return errLog("the server sent no proof")
		}
		_, err := fmt.Fprintln(s.Out, "log     this server keeps no public log of scores")
		return err
	}
	logs, err := v.edge.PublicLogs(ctx)
	if err != nil {
		return err
	}
	log := findLog(logs, score.Proof.Log)
	if log == nil {
		return errLog("the proof is of log %q, which the server does not list", score.Proof.Log)
	}
	r, newest, err := translog.VerifyScore(score, time.Now(), log.Keys...)
	if err != nil {
		return errLog("the proof does not hold: %w", err)
	}
	if _, err := fmt.Fprintf(s.Out, "log     leaf %d of %s verified: since %s\n", score.Proof.Index, log.Origin,
		r.Time.Format(time.RFC3339)); err != nil || v.checkpoint == "" {
		return err
	}
	if newer, err := v.compare(ctx, s, logs, newest); err != nil || !newer || v.witnessKey != "" {
		return err
	}
	return atomicfile.Write(v.checkpoint, []byte(score.Proof.Checkpoint))
}

func findLog(logs []fieldmark.PublicLog, origin string) *fieldmark.PublicLog {
	for i := range logs {
		if logs[i].Origin == origin {
			return &logs[i]
		}
	}
	return nil
}

// compare verifies that nothing of the log changed between the checkpoint in the file and the newest one. It
// reports whether that one is to replace the file.
func (v *logVerifier) compare(ctx context.Context, s *command.Streams, logs []fieldmark.PublicLog,
	newest translog.Checkpoint) (replace bool, err error) {
	signed, err := os.ReadFile(v.checkpoint)
	if errors.Is(err, fs.ErrNotExist) && v.witnessKey == "" {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	witnessed := ""
	if v.witnessKey != "" {
		at, err := translog.Cosigned(signed, v.witnessKey)
		if err != nil {
			return false, fmt.Errorf("%s: %w", v.checkpoint, err)
		}
		name, _, _ := strings.Cut(v.witnessKey, "+")
		witnessed = fmt.Sprintf(", which %s cosigned at %s", name, at.Format(time.RFC3339))
	}
	origin, _, _ := strings.Cut(string(signed), "\n")
	log := findLog(logs, origin)
	if log == nil {
		return false, errLog("the server does not list log %q, of which %s has a checkpoint", origin, v.checkpoint)
	}
	known, _, err := translog.OpenCheckpoint(signed, log.Keys...)
	if err != nil {
		return false, fmt.Errorf("%s: %w; if the key was replaced, delete the file", v.checkpoint, err)
	}
	load := func(path string) ([]byte, error) { return v.edge.PublicLogFile(ctx, log.Number, path) }
	if origin != newest.Origin { // another log followed, so this one has ended
		if newest, err = endOf(log, load); err != nil {
			return false, err
		}
	}
	older, newer := known, newest
	if older.N > newer.N {
		older, newer = newer, older
	}
	if err := newer.Extends(older, load); errors.Is(err, translog.ErrContradiction) {
		return false, errLog("%s was rewritten since the checkpoint of %d leaves in %s: %w", origin, known.N,
			v.checkpoint, err)
	} else if err != nil {
		return false, err
	}
	if log.Ended && newest.N < known.N {
		return false, errLog("%s ended with %d leaves, and %s has a checkpoint of %d: the newest were lost; "+
			"ask the operator, then delete the file", origin, newest.N, v.checkpoint, known.N)
	}
	_, err = fmt.Fprintf(s.Out, "log     consistent with the checkpoint of %d leaves in %s%s\n", known.N, v.checkpoint,
		witnessed)
	return newest.N >= known.N, err // a cached proof may be older than the file
}

// endOf returns the last checkpoint of a log.
func endOf(log *fieldmark.PublicLog, load translog.Load) (c translog.Checkpoint, err error) {
	signed, err := load(fieldmark.LogCheckpoint)
	if err != nil {
		return c, err
	}
	if c, _, err = translog.OpenCheckpoint(signed, log.Keys...); err != nil {
		return c, errLog("the last checkpoint of %s: %w", log.Origin, err)
	}
	return c, nil
}
