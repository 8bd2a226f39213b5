package proxy

import (
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark/edge/compress"
)

// isCompressible reports whether compression may save bytes: a complete response of a
// compressible type that is not compressed and may be transformed.
func (v *variant) isCompressible() bool {
	return v.Status == http.StatusOK && !v.Policy.NoTransform && v.Header.Get("Content-Encoding") == "" &&
		v.Header.Get("Content-Range") == "" &&
		compress.Compressible(v.Header.Get("Content-Type"), len(v.body))
}

// compressLater has a new variant compressed when there is time. Where too many wait it is
// served as it is until it is stored again.
func (p *Proxy) compressLater(v *variant) {
	if v.isCompressible() && v.encodings.Load() == nil {
		p.compressor.TrySubmit(func() { v.encodings.Store(compress.NewEncodings(v.body)) })
	}
}

// representation is the form of a variant that one client receives.
type representation struct {
	body   []byte
	coding compress.Encoding
	tag    string // of the compressed form
	block  []byte // fields of a form that varies by Accept-Encoding; nil: the variant's own
}

// negotiate picks the form a reader gets: the identity form for a range and for
// clients that accept nothing else.
func (v *variant) negotiate(h http.Header) representation {
	f := representation{body: v.body, coding: compress.Identity}
	// Not compressed yet, or not worth it: every client gets it as it came.
	c := v.encodings.Load()
	if c == nil {
		return f
	}
	// Ranges are of the identity form: offsets in one compressed form mean nothing in another.
	if len(h["Range"]) == 0 {
		var accept compress.AcceptEncoding
		for _, line := range h["Accept-Encoding"] {
			accept.Add(line)
		}
		f.coding = accept.Negotiate(c.Ready)
		if f.coding != compress.Identity {
			f.body = c.Body(f.coding)
			if tag := v.Header.Get("Etag"); tag != "" {
				f.tag = f.coding.ETag(tag)
			}
		}
	}
	f.block = appendFields(nil, f.header(v), "Content-Type", "Server")
	return f
}

// header are the fields of a form: Vary in each, as there are others; the coding
// and its own tag in a compressed one (RFC 9110, 8.8.3.3).
func (f *representation) header(v *variant) http.Header {
	h := v.Header.Clone()
	if !varies(h) {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.coding == compress.Identity {
		return h
	}
	h.Set("Content-Encoding", f.coding.String())
	for _, name := range []string{"Content-Md5", "Content-Digest", "Digest", "Accept-Ranges"} { // of the identity form
		delete(h, name)
	}
	if f.tag != "" {
		h.Set("Etag", f.tag)
	}
	return h
}

func varies(h http.Header) bool {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(name), "Accept-Encoding") {
				return true
			}
		}
	}
	return false
}
