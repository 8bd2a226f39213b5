package atomicfile

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces a file by one with mode 0600, or makes it. After a crash, it has the old or the new content: both the
// content and the name are on disk when Write returns. It renames a complete file of the same folder, because a rename
// does not cross file systems.
func Write(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(content)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may have been renamed
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Rename gives a complete file another name on its file system, and replaces what has that name. After a crash, either
// the complete file has the name, or what had it before.
func Rename(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	if err := cmp.Or(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// SyncFolder makes new names in a folder durable.
func SyncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}
