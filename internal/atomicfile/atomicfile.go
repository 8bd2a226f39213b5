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
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(content)
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err == nil {
		err = SyncFolder(folder)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may have been renamed
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// SyncFolder makes new names in a folder durable.
func SyncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}
