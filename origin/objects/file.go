package objects

import (
	"context"
	"errors"
	"io"
)

// File reads an object of a known size from any place. It is for one goroutine.
type File struct {
	open   func(offset int64) (io.ReadCloser, error)
	size   int64
	offset int64         // of the next byte that Read returns
	at     io.ReadCloser // at offset; nil: not open
}

// OpenFile opens an object of a size in bytes; the error is ErrNotFound if the key has none. The caller closes
// the file. It is read while ctx lasts.
func OpenFile(ctx context.Context, from Store, key string, size int64) (*File, error) {
	f := &File{size: size, open: func(offset int64) (io.ReadCloser, error) { return from.OpenAt(ctx, key, offset) }}
	var err error
	f.at, err = f.open(0)
	return f, err
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (n int, err error) {
	if f.offset >= f.size {
		return 0, io.EOF
	}
	if f.at == nil {
		if f.at, err = f.open(f.offset); err != nil {
			return 0, err
		}
	}
	n, err = f.at.Read(p)
	f.offset += int64(n)
	return n, err
}

// Seek implements io.Seeker. It opens nothing.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of an object")
	}
	if offset == f.offset {
		return offset, nil
	}
	err := f.Close()
	f.offset = offset
	return offset, err
}

// Close implements io.Closer.
func (f *File) Close() error {
	if f.at == nil {
		return nil
	}
	err := f.at.Close()
	f.at = nil
	return err
}
