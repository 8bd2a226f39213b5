package compress

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"
)

const (
	// minLength is the length below which a compressed body saves no packet, in bytes.
	minLength = 900
	// minSaved is what compression must save, in bytes, and a tenth of the body with
	// it, to be worth the memory of a second body.
	minSaved = 100
)

// Encoding is a content encoding, best first: of encodings that a client accepts
// equally it gets the smallest.
type Encoding uint8

// The encodings; Identity, the absence of an encoding, is not one of them.
const (
	Brotli Encoding = iota
	Zstd
	Gzip
	Identity
)

// Fast is the encoding that nearly every client accepts and that takes a tenth of a
// millisecond for a page: it may be produced while a client waits.
const Fast = Gzip

// The levels trade size for the time of the one processor that Worker uses.
const (
	gzipLevel   = 6 // 9 takes three times as long and saves 3 % of a page
	brotliLevel = 6 // of 11: higher levels are meant for files that are compressed once, before they are served
)

// Count is the number of encodings without Identity.
const Count = int(Identity)

var names = [...]string{"br", "zstd", "gzip", "identity"}

// String returns the name of e in Content-Encoding.
func (e Encoding) String() string { return names[e] }

// suffixes end the entity tags of encoded bodies: each encoding is another
// representation (RFC 9110, 8.8.3.3).
var suffixes = [...]string{"-br", "-zstd", "-gz", ""}

// ETag returns the entity tag of the body that etag identifies, encoded as e. The tag
// may be weak or strong.
func (e Encoding) ETag(etag string) string {
	if e == Identity || !strings.HasSuffix(etag, `"`) {
		return etag
	}
	return etag[:len(etag)-1] + suffixes[e] + `"`
}

// Compress returns body encoded as e, or nil if that saves too little. It takes up to
// tens of milliseconds for a megabyte.
func (e Encoding) Compress(body []byte) []byte {
	var encoded []byte
	switch e {
	case Brotli:
		encoded = fasthttp.AppendBrotliBytesLevel(nil, body, brotliLevel)
	case Zstd:
		encoded = fasthttp.AppendZstdBytesLevel(nil, body, fasthttp.CompressZstdSpeedBetter)
	case Gzip:
		encoded = fasthttp.AppendGzipBytesLevel(nil, body, gzipLevel)
	default:
		return nil
	}
	if !worthwhile(len(encoded), len(body)) {
		return nil
	}
	return bytes.Clone(encoded) // it is stored: do not keep the spare capacity of the compressor's buffer
}

func worthwhile(encoded, body int) bool {
	saved := body - encoded
	return saved >= minSaved && saved >= body/10
}

// Compressible reports whether a body of this content type and length, in bytes, is
// worth compressing: long enough, and of a type that is not compressed itself.
// Calendars are excluded because some calendar clients request encodings that they
// cannot decode.
func Compressible(contentType string, length int) bool {
	if length < minLength {
		return false
	}
	media, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	media = strings.TrimSpace(media)
	switch {
	case media == "text/calendar", media == "text/event-stream":
		return false
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return true
	}
	switch media {
	case "application/json", "application/javascript", "application/xml", "application/x-javascript",
		"application/wasm", "application/x-ndjson", "application/yaml", "image/bmp", "image/x-icon", "font/ttf",
		"font/otf":
		return true
	}
	return false
}
