package proxy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

const (
	// compressors is how many goroutines compress: behind requests, never beside
	// them, so one core at most is busy with it.
	compressors = 1
	// compressQueue bounds what waits to be compressed; beyond it an answer stays
	// as it is until it is stored again.
	compressQueue = 256
	// codedFrom is the length below which a compressed body saves no packet.
	codedFrom = 900
	// codedSaves is what a compressed form must save, in bytes, and a tenth of the
	// body with it, to be worth its memory.
	codedSaves = 100
)

// codings are the compressed forms of a body, in the order of coders.
type codings struct {
	bodies [len(coders)][]byte // nil: does not pay
}

// coder is one content coding.
type coder struct {
	name, suffix string // suffix of the entity tag
	encode       func(dst, src []byte) []byte
}

// coders are the codings we make, best first: at equal wishes the reader gets the
// smallest. The levels are what costs tens of milliseconds for a megabyte.
var coders = [...]coder{
	{"br", "-br", func(dst, src []byte) []byte { return fasthttp.AppendBrotliBytesLevel(dst, src, 6) }},
	{"zstd", "-zstd", func(dst, src []byte) []byte {
		return fasthttp.AppendZstdBytesLevel(dst, src, fasthttp.CompressZstdBestCompression)
	}},
	{"gzip", "-gz", func(dst, src []byte) []byte { return fasthttp.AppendGzipBytesLevel(dst, src, 9) }},
}

// pays reports whether compressing may pay: a whole answer as text, long enough,
// that nobody has compressed or forbidden to change. Calendars are left alone, as
// some readers of them ask for a compression they cannot read.
func (v *variant) pays() bool {
	if v.Status != http.StatusOK || len(v.body) < codedFrom || v.Policy.NoTransform || v.Header.Get("Content-Encoding") != "" || v.Header.Get("Content-Range") != "" {
		return false
	}
	media, _, _ := strings.Cut(strings.ToLower(v.Header.Get("Content-Type")), ";")
	media = strings.TrimSpace(media)
	switch {
	case media == "text/calendar", media == "text/event-stream":
		return false
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return true
	}
	switch media {
	case "application/json", "application/javascript", "application/xml", "application/x-javascript", "application/manifest+json",
		"application/wasm", "application/x-ndjson", "application/yaml", "image/svg+xml", "image/bmp", "image/x-icon", "font/ttf", "font/otf":
		return true
	}
	return false
}

// offer has a new variant compressed when there is time.
func (p *Proxy) offer(v *variant) {
	if !v.pays() || v.coded.Load() != nil {
		return
	}
	p.compressing.Add(1)
	select {
	case p.compress <- v:
	default: // too many wait; it is served as it is
		p.compressing.Add(-1)
	}
}

// compressAll compresses what is offered until the proxy is closed.
func (p *Proxy) compressAll() {
	for {
		select {
		case <-p.ending:
			return
		case v := <-p.compress:
			v.coded.Store(encode(v.body))
			p.compressing.Add(-1)
		}
	}
}

func encode(body []byte) *codings {
	c := new(codings)
	for i, coder := range coders {
		coded := coder.encode(nil, body)
		if saved := len(body) - len(coded); saved >= codedSaves && saved >= len(body)/10 {
			c.bodies[i] = slices.Clip(coded)
		}
	}
	return c
}

// form is how a variant goes out to one reader.
type form struct {
	body  []byte
	coder *coder // nil: as it came
	tag   string // of the compressed form
	block []byte // fields of a form that varies by Accept-Encoding; nil: the variant's own
}

// choose picks the form a reader gets: the identity form for a range and for
// whoever asks for nothing else.
func (v *variant) choose(h http.Header) form {
	c := v.coded.Load()
	if c == nil {
		return form{body: v.body}
	}
	f := form{body: v.body}
	if len(h["Range"]) == 0 {
		if i := prefer(h["Accept-Encoding"], c); i >= 0 {
			f.coder, f.body = &coders[i], c.bodies[i]
			if tag := v.Header.Get("Etag"); tag != "" {
				f.tag = codedTag(tag, coders[i].suffix)
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
	if f.coder == nil {
		return h
	}
	h.Set("Content-Encoding", f.coder.name)
	for _, name := range []string{"Content-Md5", "Content-Digest", "Digest", "Accept-Ranges"} { // of the identity form
		delete(h, name)
	}
	if f.tag != "" {
		h.Set("Etag", f.tag)
	}
	return h
}

// codedTag is the tag of a compressed form.
func codedTag(tag, suffix string) string {
	if !strings.HasSuffix(tag, `"`) {
		return tag
	}
	return tag[:len(tag)-1] + suffix + `"`
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

// prefer returns the coding the reader wants most among those there are, or -1
// for none (RFC 9110, 12.5.3).
func prefer(lines []string, c *codings) int {
	if len(lines) == 0 {
		return -1
	}
	weights := acceptEncoding(lines)
	best, most := -1, 0.0
	for i := range coders {
		w, named := weights[coders[i].name]
		if !named {
			w = weights["*"]
		}
		if c.bodies[i] != nil && w > most {
			best, most = i, w
		}
	}
	if identity, named := weights["identity"]; named && identity > most {
		return -1
	}
	return best
}

// acceptEncoding reads the weights of an Accept-Encoding field. x-gzip is gzip.
func acceptEncoding(lines []string) map[string]float64 {
	weights := map[string]float64{}
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(strings.ToLower(item), ";")
			name = strings.TrimPrefix(strings.TrimSpace(name), "x-")
			weight := 1.0
			if q, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
				if err != nil || n < 0 || n > 1 {
					n = 0
				}
				weight = n
			}
			if name != "" {
				weights[name] = weight
			}
		}
	}
	return weights
}
