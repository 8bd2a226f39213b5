package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/internal/ui"
)

//go:embed web.css
var style string

//go:embed web.js
var script string

//go:embed icon.svg
var icon string

//go:embed templates
var shared embed.FS

// Style returns the stylesheet of every page.
func Style() *Asset { return NewAsset([]byte(ui.Style+style), "text/css") }

// Script returns the script of every page.
func Script() *Asset { return NewAsset([]byte(ui.Script+script), "text/javascript") }

// Icon returns the icon of every page.
func Icon() *Asset { return NewAsset([]byte(icon), "image/svg+xml") }

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
	return NewAsset(body, kind), nil
}

// NewAsset returns an asset of a content and a media type.
func NewAsset(body []byte, kind string) *Asset {
	sum := sha256.Sum256(body)
	return &Asset{kind: kind + "; charset=utf-8", body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
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
