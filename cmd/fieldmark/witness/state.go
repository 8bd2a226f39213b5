package witness

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/internal/translog"
)

// Names of files in the folder of a witness.
const (
	keyFile   = "key"
	stateFile = "state.json"
)

// stateVersion is the version of the state. It changes with its form.
const stateVersion = 1

// maxPast is how many earlier trees of a log are remembered, so that a log that became shorter can be compared
// with one of them.
const maxPast = 256

// state is what a witness has seen. It is on disk before anything that follows from it is published.
type state struct {
	Version int         `json:"version"`
	URL     string      `json:"url"`
	Logs    []*logState `json:"logs"`
}

// logState is what a witness has seen of one log.
type logState struct {
	Number     int64       `json:"number"`
	Origin     string      `json:"origin"`
	Keys       []string    `json:"keys"`       // that its checkpoints were verified by
	Checkpoint string      `json:"checkpoint"` // the newest one, cosigned
	At         time.Time   `json:"at"`         // when it was cosigned
	Past       []tlog.Tree `json:"past"`       // the newest last
	Verified   int64       `json:"verified"`   // entries, from the first on
	Recheck    int64       `json:"recheck"`    // the next bundle to verify once more
	Ended      bool        `json:"ended"`      // and its end was reported
}

// readState reads the state of a folder, or returns a new one.
func readState(folder, url string) (*state, error) {
	path := filepath.Join(folder, stateFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &state{Version: stateVersion, URL: url}, nil
	}
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s has version %d, not %d: another version of fieldmark wrote it", path, s.Version,
			stateVersion)
	}
	if s.URL != url {
		return nil, fmt.Errorf("%s is of %s: use another folder for %s", path, s.URL, url)
	}
	return &s, nil
}

// write makes the state durable.
func (s *state) write(folder string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, stateFile), append(raw, '\n'))
}

func (s *state) find(number int64) *logState {
	for _, l := range s.Logs {
		if l.Number == number {
			return l
		}
	}
	return nil
}

// newest returns the newest tree that the witness has seen of a log.
func (l *logState) newest() translog.Checkpoint {
	c := translog.Checkpoint{Origin: l.Origin}
	if n := len(l.Past); n > 0 {
		c.Tree = l.Past[n-1]
	}
	return c
}

// upTo returns the newest tree of at most n leaves.
func (l *logState) upTo(n int64) (c translog.Checkpoint, ok bool) {
	for i := len(l.Past) - 1; i >= 0; i-- {
		if l.Past[i].N <= n {
			return translog.Checkpoint{Origin: l.Origin, Tree: l.Past[i]}, true
		}
	}
	return c, false
}

// add adds a tree that extends all others.
func (l *logState) add(t tlog.Tree) {
	if n := len(l.Past); n > 0 && l.Past[n-1].N == t.N {
		return
	}
	l.Past = append(l.Past, t)
	l.Past = l.Past[max(0, len(l.Past)-maxPast):]
}

// openKey reads the key of a witness, or makes one: a line with its name and the base64 of a seed.
func openKey(folder, name string) (*translog.Cosigner, error) {
	path := filepath.Join(folder, keyFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		seed := make([]byte, ed25519.SeedSize)
		rand.Read(seed) // never fails (crypto/rand)
		c, err := translog.NewCosigner(name, seed)
		if err != nil {
			return nil, err
		}
		return c, atomicfile.Write(path, []byte(name+" "+base64.StdEncoding.EncodeToString(seed)+"\n"))
	}
	if err != nil {
		return nil, err
	}
	known, text, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	seed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s is not the key of a witness", path)
	}
	return translog.NewCosigner(known, seed)
}
