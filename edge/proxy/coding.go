package proxy

import (
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark/edge/coding"
)

// codings are the compressed forms of a body; nil: does not pay.
type codings [coding.Count][]byte

// pays reports whether compressing may pay: a whole answer of a kind that
// shrinks, that nobody has compressed or forbidden to change.
func (v *variant) pays() bool {
	return v.Status == http.StatusOK && !v.Policy.NoTransform && v.Header.Get("Content-Encoding") == "" && v.Header.Get("Content-Range") == "" &&
		coding.Pays(v.Header.Get("Content-Type"), len(v.body))
}

// offer has a new variant compressed when there is time. Where too many wait it is
// served as it is until it is stored again.
func (p *Proxy) offer(v *variant) {
	if v.pays() && v.coded.Load() == nil {
		p.press.Offer(func() { v.coded.Store(encode(v.body)) })
	}
}

func encode(body []byte) *codings {
	c := new(codings)
	for i := range coding.Identity {
		c[i] = i.Encode(body)
	}
	return c
}

// form is how a variant goes out to one reader.
type form struct {
	body   []byte
	coding coding.Coding
	tag    string // of the compressed form
	block  []byte // fields of a form that varies by Accept-Encoding; nil: the variant's own
}

// choose picks the form a reader gets: the identity form for a range and for
// whoever asks for nothing else.
func (v *variant) choose(h http.Header) form {
	f := form{body: v.body, coding: coding.Identity}
	c := v.coded.Load()
	if c == nil {
		return f
	}
	if len(h["Range"]) == 0 {
		var wishes coding.Wishes
		for _, line := range h["Accept-Encoding"] {
			wishes.Add(line)
		}
		f.coding = wishes.Best(func(i coding.Coding) bool { return c[i] != nil })
		if f.coding != coding.Identity {
			f.body = c[f.coding]
			if tag := v.Header.Get("Etag"); tag != "" {
				f.tag = f.coding.Tag(tag)
			}
		}
	}
	f.block = appendFields(nil, f.header(v), "Content-Type", "Server")
	return f
}

// header are the fields of a form: Vary in each, as there are others; the coding
// and its own tag in a compressed one (RFC 9110, 8.8.3.3).
func (f *form) header(v *variant) http.Header {
	h := v.Header.Clone()
	if !varies(h) {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.coding == coding.Identity {
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
