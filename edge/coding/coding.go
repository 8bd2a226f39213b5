package coding

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"
)

const (
	// from is the length below which a compressed body saves no packet, in bytes.
	from = 900
	// saves is what a compressed form must save, in bytes, and a tenth of the body
	// with it, to be worth its memory.
	saves = 100
)

// Coding is a content coding we make, best first: at equal wishes a reader gets
// the smallest.
type Coding uint8

// The codings, and Identity for none of them.
const (
	Brotli Coding = iota
	Zstd
	Gzip
	Identity
)

// Quick is the coding that nearly every reader takes and that costs a tenth of a
// millisecond for a page: what may be made while a reader waits.
const Quick = Gzip

// quickLevel is of gzip: 9 takes three times as long and saves 3 % of a page.
const quickLevel = 6

// Count is how many codings there are beside Identity.
const Count = int(Identity)

var names = [...]string{"br", "zstd", "gzip", "identity"}

// String is the coding's name in Content-Encoding (RFC 9110, 8.4.1).
func (c Coding) String() string { return names[c] }

// suffixes end the entity tags of compressed forms: another form is another
// representation (RFC 9110, 8.8.3.3).
var suffixes = [...]string{"-br", "-zstd", "-gz", ""}

// Tag is the entity tag of a form of what tag names, weak or strong.
func (c Coding) Tag(tag string) string {
	if c == Identity || !strings.HasSuffix(tag, `"`) {
		return tag
	}
	return tag[:len(tag)-1] + suffixes[c] + `"`
}

// Encode compresses a body, or returns nil where that does not pay. It takes up to
// tens of milliseconds for a megabyte.
func (c Coding) Encode(body []byte) []byte {
	var coded []byte
	switch c {
	case Brotli:
		coded = fasthttp.AppendBrotliBytesLevel(nil, body, 6)
	case Zstd:
		coded = fasthttp.AppendZstdBytesLevel(nil, body, fasthttp.CompressZstdSpeedBetter)
	case Gzip:
		coded = fasthttp.AppendGzipBytesLevel(nil, body, quickLevel)
	default:
		return nil
	}
	if !worth(len(coded), len(body)) {
		return nil
	}
	return bytes.Clone(coded) // kept for long: without the room that compressing took
}

func worth(coded, body int) bool {
	saved := body - coded
	return saved >= saves && saved >= body/10
}

// Pays reports whether compressing may pay, by what the content is and its length
// in bytes: long enough, and text of a kind that nobody has compressed. Calendars
// are left alone, as some readers of them ask for a compression they cannot read.
func Pays(contentType string, length int) bool {
	if length < from {
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
		"application/wasm", "application/x-ndjson", "application/yaml", "image/bmp", "image/x-icon", "font/ttf", "font/otf":
		return true
	}
	return false
}
