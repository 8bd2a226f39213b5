package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
)

// TestWrite: a file is made and replaced, readable to its owner only; a failed write leaves nothing beside it.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "state")
	for _, content := range []string{"first", "second, longer", ""} {
		if err := atomicfile.Write(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != content || info.Mode() != 0o600 {
			t.Errorf("%q with mode %v, %v; want %q with mode 0600", got, info.Mode(), err, content)
		}
	}
	taken := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{taken, filepath.Join(folder, "missing", "state")} {
		if err := atomicfile.Write(bad, []byte("x")); err == nil {
			t.Errorf("%s was written", bad)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v; want state and taken", entries, err)
	}
}
