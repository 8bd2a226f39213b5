package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotFound is the error of reading a key without an object.
var ErrNotFound = errors.New("no such object")

// Object describes a stored object.
type Object struct {
	Key  string
	Size int64 // bytes
}

// Store keeps objects. Its methods may be called from any goroutine. Keys consist of names of
// a-z, 0-9, "_", "-" and ".", separated by slashes; a name does not begin with a point.
type Store interface {
	// Put stores what write writes under a key. When it returns nil, a power failure does not
	// lose the object. When it returns an error, the key has no object, or has the complete one
	// if the outcome is unknown. Data passes through a temporary file, so that memory is bounded.
	Put(ctx context.Context, key string, write func(io.Writer) error) error
	// Open reads an object; the error is ErrNotFound if the key has none.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// OpenAt is Open from an offset in bytes, which must be less than the size.
	OpenAt(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// Delete deletes an object. It is not an error if the key has none.
	Delete(ctx context.Context, key string) error
	// List calls each for every object whose key begins with a prefix that ends with a slash, in
	// the order of the keys, until each returns an error. Unfinished files of a Put that was
	// interrupted are listed too: their keys end with PartialSuffix.
	List(ctx context.Context, prefix string, each func(Object) error) error
	// URL returns an address at which an object can be read without credentials for a time; empty: the
	// place has no such addresses. It connects to nothing but what has the credentials.
	URL(ctx context.Context, key string, lifetime time.Duration) (string, error)
	// String names the place in log lines, without credentials.
	String() string
}

// PartialSuffix is the end of the key of an unfinished file.
const PartialSuffix = ".partial"

// Parse returns the store of a setting: "file:" and a folder, by default the folder objects in
// the data folder, or an address of S3 (see ParseS3). It opens nothing.
func Parse(setting, data string) (Store, error) {
	u, err := url.Parse(setting)
	if err != nil {
		return nil, errors.New("must be file:FOLDER or s3://BUCKET/PREFIX?endpoint=URL&region=REGION")
	}
	switch u.Scheme {
	case "file":
		folder := strings.TrimPrefix(setting, "file:")
		if folder == "" {
			folder = filepath.Join(data, "objects")
		}
		return &Folder{path: filepath.Clean(folder)}, nil
	case "s3":
		return ParseS3(setting)
	}
	return nil, fmt.Errorf("unknown scheme %q: only file and s3 are supported", u.Scheme)
}

// validKey reports whether a key has the form that Store describes, so that no key leads out of
// a folder or to a hidden file.
func validKey(key string) bool {
	for name := range strings.SplitSeq(key, "/") {
		if name == "" || name[0] == '.' || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "" {
			return false
		}
	}
	return true
}
