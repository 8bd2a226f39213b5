package sampler

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

// minKey is the length of a key in bytes. Removing a shorter text from answers would damage them.
const minKey = 8

// ErrKey means that the key of an engine is not where the plan says, or may not be used.
var ErrKey = errors.New("no usable key")

// ReadKey returns the key of an engine from its environment variable or its file, which only its owner may read.
// Errors name where the key should be, never the key.
func ReadKey(e *plan.Engine) (string, error) {
	key, where := "", ""
	switch {
	case e.KeyEnv != "":
		key, where = os.Getenv(e.KeyEnv), "the environment variable "+e.KeyEnv
	case e.KeyFile != "":
		where = "the file " + e.KeyFile
		info, err := os.Stat(e.KeyFile)
		if err != nil {
			return "", fmt.Errorf("%w of engine %s: %w", ErrKey, e.ID, err)
		}
		// Refused as by ssh: a key that others can read may be used by them.
		if info.Mode().Perm()&0o077 != 0 {
			return "", fmt.Errorf("%w of engine %s: others can read its file: chmod 600 %s", ErrKey, e.ID, e.KeyFile)
		}
		text, err := os.ReadFile(e.KeyFile)
		if err != nil {
			return "", fmt.Errorf("%w of engine %s: %w", ErrKey, e.ID, err)
		}
		key = string(text)
	default:
		return "", nil // a local engine without one
	}
	// Editors and echo end a file with a line end.
	key = strings.TrimSpace(key)
	if len(key) < minKey || strings.ContainsAny(key, "\r\n\t ") {
		return "", fmt.Errorf("%w of engine %s: it is expected in %s, with at least %d characters and no spaces",
			ErrKey, e.ID, where, minKey)
	}
	return key, nil
}
