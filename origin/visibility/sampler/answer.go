package sampler

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
)

// maxAnswer is the size of the file of an answer, unpacked: the bodies of all its calls, as JSON.
const maxAnswer = 64 << 20

// stored is the file of an answer: what was sent without the key, and what was received.
type stored struct {
	Cell      string            `json:"cell"`
	Exchanges []engine.Exchange `json:"exchanges"`
}

// An id has the day as its folder, so a folder has at most one day of answers.
func (s *Study) answerPath(id string) string {
	return s.path(answers, filepath.FromSlash(id)+".json.gz")
}

// writeAnswer writes the file of an answer, which is on disk when it returns.
func (s *Study) writeAnswer(id string, exchanges []engine.Exchange) (fieldmark.Digest, error) {
	text, err := json.Marshal(stored{id, exchanges})
	if err != nil {
		return "", fmt.Errorf("encode an answer: %w", err)
	}
	// Packed, because a plan keeps answers for 400 days unless it says otherwise.
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("pack an answer: %w", err)
	}
	name := s.answerPath(id)
	if err := os.MkdirAll(filepath.Dir(name), folderMode); err != nil {
		return "", fmt.Errorf("write an answer: %w", err)
	}
	// Before its entry: a journal never names an answer that a crash has lost.
	if err := atomicfile.Write(name, packed.Bytes()); err != nil {
		return "", err
	}
	// The folder of the day may be new, and its name must survive a crash, too.
	if err := atomicfile.SyncFolder(s.path(answers)); err != nil {
		return "", fmt.Errorf("write an answer: %w", err)
	}
	// Of the text, not of the packed file: another version of gzip may pack it differently.
	return fieldmark.DigestOf(sha256.Sum256(text)), nil
}

// errPruned means that the file of an answer is gone.
var errPruned = errors.New("the answer was removed")

// readAnswer reads the answer of an entry, and compares its digest.
func (s *Study) readAnswer(e *Entry) (engine.Answer, error) {
	f, err := os.Open(s.answerPath(e.Cell))
	// Prune removes files and leaves the journal.
	if errors.Is(err, os.ErrNotExist) {
		return engine.Answer{}, fmt.Errorf("%s: %w", e.Cell, errPruned)
	}
	if err != nil {
		return engine.Answer{}, fmt.Errorf("read an answer: %w", err)
	}
	defer f.Close()
	var text []byte
	r, err := gzip.NewReader(f)
	if err == nil {
		// A longer text is cut, and then differs from its digest.
		text, err = io.ReadAll(io.LimitReader(r, maxAnswer))
	}
	if err != nil {
		return engine.Answer{}, fmt.Errorf("read the answer of %s: %w", e.Cell, err)
	}
	// An edited answer must not change published counts.
	if fieldmark.DigestOf(sha256.Sum256(text)) != e.Answer {
		return engine.Answer{}, fmt.Errorf("the answer of %s is not the one in the journal", e.Cell)
	}
	var file stored
	if err := json.Unmarshal(text, &file); err != nil {
		return engine.Answer{}, fmt.Errorf("read the answer of %s: %w", e.Cell, err)
	}
	for i := range s.Plan.Engines {
		if s.Plan.Engines[i].ID == engineOf(e.Cell) {
			// It is read by the present adapters: a correction of one holds for answers that are paid already.
			a, err := s.engines[i].Read(file.Exchanges)
			if err != nil {
				return a, fmt.Errorf("read the answer of %s: %w", e.Cell, err)
			}
			return a, nil
		}
	}
	return engine.Answer{}, fmt.Errorf("the plan has no engine of %s", e.Cell)
}
