package sdk

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"path"
	"time"
)

//go:embed python/fieldmark.py typescript/package.json typescript/schema.d.ts typescript/dist
var files embed.FS

// The names of the files that Files returns.
const (
	PythonFile = "fieldmark.py"
	NPMFile    = "fieldmark-sdk.tgz"
)

// Python returns the Python client, one file.
func Python() []byte {
	b, err := files.ReadFile("python/fieldmark.py")
	if err != nil {
		panic("BUG: " + err.Error()) // the file is embedded
	}
	return b
}

// packed is the modification time of the files in the package, the one that npm pack uses. With the time of
// the build, two packages of the same sources would differ.
// The value itself has no meaning.
var packed = time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC)

// NPM returns the npm package of the TypeScript client, as npm pack makes it.
func NPM() ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(zip)
	add := func(source, target string) error {
		b, err := files.ReadFile("typescript/" + source)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: "package/" + target, Mode: 0o644, Size: int64(len(b)), ModTime: packed,
			Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(b)
		return err
	}
	built, err := files.ReadDir("typescript/dist")
	if err != nil {
		return nil, err
	}
	all := [][2]string{{"package.json", "package.json"}, {"schema.d.ts", "dist/schema.d.ts"}}
	for _, f := range built {
		name := path.Join("dist", f.Name())
		all = append(all, [2]string{name, name})
	}
	for _, f := range all {
		if err := add(f[0], f[1]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f[0], err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
