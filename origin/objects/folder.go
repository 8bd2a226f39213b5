package objects

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/internal/atomicfile"
)

// Folder keeps objects as files of a folder. Several origins can share it on a network file
// system that renames files atomically.
type Folder struct{ path string }

// NewFolder returns the store of a folder, which is created when it is first used.
func NewFolder(path string) *Folder { return &Folder{path: path} }

// String implements Store.
func (f *Folder) String() string { return "file:" + f.path }

// Path returns the folder.
func (f *Folder) Path() string { return f.path }

// file returns the path of the file of a key.
func (f *Folder) file(key string) (string, error) {
	if !validKey(key) {
		return "", fmt.Errorf("BUG: %q is not the key of an object", key)
	}
	return filepath.Join(f.path, filepath.FromSlash(key)), nil
}

// writeBuffer is the size of the buffer of a file that is written.
const writeBuffer = 64 << 10

// Put implements Store. The file has another name until it is on disk, and the folder is
// synchronized after it is renamed.
func (f *Folder) Put(_ context.Context, key string, write func(io.Writer) error) (err error) {
	to, err := f.file(key)
	if err != nil {
		return err
	}
	dir := filepath.Dir(to)
	if err := mkdirDurably(dir); err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	partial := to + PartialSuffix
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	buffer := bufio.NewWriterSize(file, writeBuffer)
	err = write(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = atomicfile.Rename(partial, to)
	}
	if err != nil {
		_ = os.Remove(partial) // a file that stays is listed as unfinished
		return fmt.Errorf("put object %s: %w", key, err)
	}
	return nil
}

// mkdirDurably creates a folder and its parents, each of which is on disk when it returns.
func mkdirDurably(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := mkdirDurably(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncFolder(parent)
}

// Open implements Store.
func (f *Folder) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	return f.OpenAt(ctx, key, 0)
}

// OpenAt implements Store.
func (f *Folder) OpenAt(_ context.Context, key string, offset int64) (io.ReadCloser, error) {
	path, err := f.file(key)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open object %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, errors.Join(err, file.Close()))
	}
	return file, nil
}

// URL implements Store: files have no addresses.
func (f *Folder) URL(context.Context, string, time.Duration) (string, error) { return "", nil }

// Delete implements Store. Folders stay: another Put may be using them.
func (f *Folder) Delete(_ context.Context, key string) error {
	path, err := f.file(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete object %s: %w", key, err)
	}
	return nil
}

// List implements Store.
func (f *Folder) List(ctx context.Context, prefix string, each func(Object) error) error {
	root, err := f.file(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return err
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // nothing was stored, or it was deleted since the folder was read
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return each(Object{Key: path.Join(strings.TrimSuffix(prefix, "/"), name), Size: info.Size()})
	})
	if err != nil {
		return fmt.Errorf("list objects in %s: %w", root, err)
	}
	return nil
}
