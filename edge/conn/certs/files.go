package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// pollInterval is the time between two checks of the files. Certificates are replaced days
// before they expire.
const pollInterval = 5 * time.Second

// Files keeps a Store up to date with a certificate chain and a key in PEM files.
type Files struct {
	cert, key string
	store     *Store
	log       *slog.Logger
	seen      [2]fileState // when the files were read
}

// fileState identifies a version of a file.
type fileState struct {
	at   time.Time
	size int64
}

// Open reads the files into s. Run of the result reads them again when they change.
func Open(s *Store, cert, key string, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, store: s, log: log}
	_, err := f.Reload()
	return f, err
}

// Reload reads the files if they have changed, and reports whether they had. A pair that
// does not match, because only one file is written so far, is an error; the next call
// tries again.
func (f *Files) Reload() (bool, error) {
	var found [2]fileState
	for i, path := range []string{f.cert, f.key} {
		info, err := os.Stat(path)
		if err != nil {
			return false, fmt.Errorf("certificate: %w", err)
		}
		found[i] = fileState{info.ModTime(), info.Size()}
	}
	if found == f.seen {
		return false, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err == nil {
		err = f.store.Set([]tls.Certificate{pair})
	}
	if err != nil {
		return false, fmt.Errorf("certificate %s with key %s: %w", f.cert, f.key, err)
	}
	f.seen = found
	return true, nil
}

// Run reloads the certificate until ctx ends.
func (f *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch reloaded, err := f.Reload(); {
		case err != nil && err.Error() != logged: // once, not every time
			logged = err.Error()
			f.log.Error("certificate reload failed; the previous certificate stays in use", "err", err)
		case reloaded:
			logged = ""
			f.log.Info("certificate reloaded", "expires", f.store.Expiries()[0].NotAfter)
		}
	}
}
