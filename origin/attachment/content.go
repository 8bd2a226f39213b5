package attachment

import (
	"bytes"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// sniffSize is how many bytes of a file show its type: the brands of a HEIC file are in its
// first box, which has less than a hundred bytes.
const sniffSize = 512

// contentTypes are the media types of attachments with the extensions of their files, the
// usual one first. A browser runs none of them: HTML and SVG must not be added.
var contentTypes = []struct {
	mediaType  string
	extensions []string
	sniff      func(head []byte) bool // whether a file may begin like this; nil: text
}{
	{"image/jpeg", []string{".jpg", ".jpeg"}, startsWith("\xff\xd8\xff")},
	{"image/png", []string{".png"}, startsWith("\x89PNG\r\n\x1a\n")},
	{"image/webp", []string{".webp"}, isWebP},
	{"image/heic", []string{".heic", ".heif"}, isHEIC},
	{"application/pdf", []string{".pdf"}, startsWith("%PDF-")},
	{"text/plain", []string{".txt", ".log"}, nil},
	{"text/csv", []string{".csv"}, nil},
}

// Types returns the media types of attachments.
func Types() []string {
	types := make([]string, len(contentTypes))
	for i, t := range contentTypes {
		types[i] = t.mediaType
	}
	return types
}

// Extensions returns the extensions of the files that Types allows.
func Extensions() []string {
	var all []string
	for _, t := range contentTypes {
		all = append(all, t.extensions...)
	}
	return all
}

func startsWith(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

func isWebP(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// heicBrands are the brands of HEVC images (ISO/IEC 23008-12, annex B); cameras write heic.
var heicBrands = []string{"heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"}

// isHEIC reports whether a file begins with a file type box that names a brand of HEIC
// (ISO/IEC 14496-12, section 4.3): size, "ftyp", major brand, version, compatible brands.
// net/http does not know the format.
func isHEIC(head []byte) bool {
	if len(head) < 16 || string(head[4:8]) != "ftyp" {
		return false
	}
	end := min(len(head), int(head[2])<<8|int(head[3]))
	if head[0] != 0 || head[1] != 0 || end < 16 {
		return false
	}
	if slices.Contains(heicBrands, string(head[8:12])) {
		return true
	}
	for i := 16; i+4 <= end; i += 4 {
		if slices.Contains(heicBrands, string(head[i:i+4])) {
			return true
		}
	}
	return false
}

// parseType returns the media type of a Content-Type, which an attachment may have.
func parseType(field string) (string, error) {
	mediaType, params, err := mime.ParseMediaType(field)
	charset := strings.ToLower(params["charset"])
	if err != nil || !slices.Contains(Types(), mediaType) {
		return "", fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send Content-Type: %s",
			strings.Join(Types(), ", "))
	}
	if charset != "" && charset != "utf-8" && charset != "us-ascii" {
		return "", fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "text must be UTF-8")
	}
	return mediaType, nil
}

// TypeOf returns the media type of a file from a form: by the extension of its name, or else what
// the browser says. Browsers take types from the system, where CSV may be that of a spreadsheet, and
// many do not know HEIC. The content is checked in any case.
func TypeOf(name, declared string) string {
	extension := strings.ToLower(path.Ext(name))
	for _, t := range contentTypes {
		if slices.Contains(t.extensions, extension) {
			return t.mediaType
		}
	}
	return declared
}

// checker checks that a file is of its declared type while it is written: by its beginning, or
// as text to its end.
type checker struct {
	mediaType string
	head      []byte // the first bytes, at most sniffSize
	text      bool
	tail      []byte // the beginning of a character that the next bytes complete
	invalid   bool
}

// Write implements io.Writer; it never fails.
func (c *checker) Write(p []byte) (int, error) {
	c.head = append(c.head, p[:min(len(p), sniffSize-len(c.head))]...)
	if c.text && !c.invalid {
		c.check(p)
	}
	return len(p), nil
}

// check sets invalid at a byte that is not text: a control character or invalid UTF-8.
func (c *checker) check(p []byte) {
	if len(c.tail) > 0 {
		need := min(len(p), utf8.UTFMax-len(c.tail))
		joined := append(c.tail, p[:need]...)
		if !utf8.FullRune(joined) {
			c.tail = joined
			return
		}
		r, size := utf8.DecodeRune(joined)
		if !isText(r, size) {
			c.invalid = true
			return
		}
		p, c.tail = p[size-len(c.tail):], c.tail[:0]
	}
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			c.tail = append(c.tail, p...)
			return
		}
		r, size := utf8.DecodeRune(p)
		if !isText(r, size) {
			c.invalid = true
			return
		}
		p = p[size:]
	}
}

// isText reports whether a character occurs in text files.
func isText(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	return r >= ' ' && r != 0x7f || r == '\t' || r == '\n' || r == '\r' || r == '\f'
}

// newChecker returns the checker of a type that parseType returned.
func newChecker(mediaType string) *checker {
	return &checker{mediaType: mediaType, text: strings.HasPrefix(mediaType, "text/")}
}

// err returns the error of a complete file that is not of its type.
func (c *checker) err() error {
	if c.text {
		if c.invalid || len(c.tail) > 0 {
			return fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "the content is not text in UTF-8")
		}
		return nil
	}
	for _, t := range contentTypes {
		if t.mediaType == c.mediaType && t.sniff(c.head) {
			return nil
		}
	}
	return fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "the content is not of type %s, as Content-Type says",
		c.mediaType)
}

// cleanName returns the name of a file as it is stored and offered for download: without
// folders, characters that file systems reserve, and characters that are invisible or reorder
// text. It ends with an extension of the type, so that a computer does not open the file as
// something else: photo.html would be run by a browser. "" stays "".
func cleanName(name, mediaType string) string {
	name = strings.ToValidUTF8(name, "")
	name = path.Base("/" + strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		switch {
		case fieldmark.IsHidden(r) || r == '\u200e' || r == '\u200f' || r == '\u061c': // also marks of direction
			return -1
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || strings.ContainsRune(`<>:"|?*/`, r):
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, " .")
	if strings.Trim(name, "_") == "" {
		return ""
	}
	var allowed []string
	for _, t := range contentTypes {
		if t.mediaType == mediaType {
			allowed = t.extensions
		}
	}
	extension := path.Ext(name)
	stem := strings.TrimSuffix(name, extension)
	if stem == "" || !slices.Contains(allowed, strings.ToLower(extension)) {
		stem, extension = name, allowed[0]
	}
	for len(stem)+len(extension) > fieldmark.MaxAttachmentName {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return stem + extension
}
