package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

//go:embed web.css web.js icon.svg
var files embed.FS

// Style returns the stylesheet of every page.
func Style() *Asset { return mustAsset("web.css", "text/css") }

// Script returns the script of every page.
func Script() *Asset { return mustAsset("web.js", "text/javascript") }

// Icon returns the icon of every page.
func Icon() *Asset { return mustAsset("icon.svg", "image/svg+xml") }

func mustAsset(name, kind string) *Asset {
	a, err := ReadAsset(files, name, kind)
	if err != nil {
		panic("BUG: " + err.Error()) // it is embedded
	}
	return a
}

// Asset is a stylesheet, script or image.
type Asset struct {
	kind string
	body []byte
	etag string
}

// ReadAsset reads the asset of a name and a media type.
func ReadAsset(files fs.FS, name, kind string) (*Asset, error) {
	body, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &Asset{kind: kind + "; charset=utf-8", body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}, nil
}

// ServeHTTP sends the asset, or 304 to a browser that has it.
func (a *Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.etag)
	if rfc9111.MatchETag(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	_, _ = w.Write(a.body)
}
