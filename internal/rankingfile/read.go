package rankingfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/fieldmark/fieldmark"
)

// Bounds of a file, so that a hostile one costs bounded memory and time.
const (
	// MaxLines is how many lines a frame has at most.
	MaxLines = 64 << 10
	// MaxFrame is the size of a frame in bytes, compressed or not: 65,536 lines of 512 bytes. Common lines have
	// 110.
	MaxFrame = 32 << 20
	// MaxFrames is how many frames a file has at most: 33 million lines, of which an edge needs 10 GB.
	MaxFrames = 512
	// MaxFooter is the size of the footer in bytes; a frame takes some 250 of them.
	MaxFooter = 256 << 10
	// MaxFile is the size of a file in bytes: 33 million common lines of 60.
	MaxFile = 2 << 30

	maxText      = 2 << 10 // bytes of a name, the longest text of a brand
	maxScore     = 100 * uint64(fieldmark.MilliOne)
	maxCertainty = uint64(fieldmark.MilliOne)
	maxMicros    = 1 << 53 // microseconds: the year 2255
)

// Format is the name of the format, in the footer.
const Format = "fm-ranking-1"

// skippable begins the frame that has the footer; its size follows (RFC 8878, section 3.1.2).
const skippable = 0x184D2A50

// footerPrefix is the size in bytes of what precedes the JSON of the footer.
const footerPrefix = 8

var errInvalid = errors.New("invalid ranking file")

// Footer describes a file.
type Footer struct {
	Format string              `json:"format"`
	Epoch  string              `json:"epoch"`  // of the event log
	Event  int64               `json:"event"`  // the newest event that the lines include
	Module fieldmark.ModuleRef `json:"module"` // that computed all values
	Day    string              `json:"day"`    // in UTC, from whose start past scores look back
	Lines  int                 `json:"lines"`
	Frames []Frame             `json:"frames"`
}

// Frame describes a frame. Frames follow each other in the file, from its start.
type Frame struct {
	Bytes  int64          `json:"bytes"` // compressed
	Size   int64          `json:"size"`  // of the content
	Lines  int            `json:"lines"`
	SHA256 string         `json:"sha256"` // of the compressed bytes, in hexadecimal
	First  fieldmark.Slug `json:"first"`
	Last   fieldmark.Slug `json:"last"`
}

// ParseFooter parses the footer of a file. The list of files has its size and its digest, sum.
func ParseFooter(b []byte, sum string) (h Footer, err error) {
	if digest := sha256.Sum256(b); hex.EncodeToString(digest[:]) != sum {
		return h, fmt.Errorf("%w: the footer does not have the digest %s", errInvalid, sum)
	}
	if len(b) < footerPrefix || len(b) > MaxFooter || binary.LittleEndian.Uint32(b) != skippable ||
		int(binary.LittleEndian.Uint32(b[4:])) != len(b)-footerPrefix {
		return h, fmt.Errorf("%w: no footer of %d bytes", errInvalid, len(b))
	}
	if err := json.Unmarshal(b[footerPrefix:], &h); err != nil {
		return h, fmt.Errorf("%w: footer: %w", errInvalid, err)
	}
	return h, h.check(len(b))
}

// check checks a footer of a size in bytes.
func (h *Footer) check(size int) error {
	if h.Format != Format {
		return fmt.Errorf("%w: format %.40q, want %q", errInvalid, h.Format, Format)
	}
	if _, err := time.Parse(time.DateOnly, h.Day); err != nil || h.Event < 0 || len(h.Frames) > MaxFrames {
		return fmt.Errorf("%w: day %.40q, event %d, %d frames", errInvalid, h.Day, h.Event, len(h.Frames))
	}
	lines, bytes, last := 0, int64(size), fieldmark.Slug("")
	for i := range h.Frames {
		f := &h.Frames[i]
		if f.Bytes <= 0 || f.Bytes > MaxFrame || f.Size <= 0 || f.Size > MaxFrame || f.Lines <= 0 ||
			f.Lines > MaxLines || f.First <= last || f.Last < f.First || !fieldmark.ValidSlug(string(f.Last)) {
			return fmt.Errorf("%w: frame %d", errInvalid, i)
		}
		lines, bytes, last = lines+f.Lines, bytes+f.Bytes, f.Last
	}
	if lines != h.Lines || bytes > MaxFile {
		return fmt.Errorf("%w: %d lines in frames, %d in the footer, %d bytes", errInvalid, lines, h.Lines, bytes)
	}
	return nil
}

// Bytes returns the size of all frames.
func (h *Footer) Bytes() (n int64) {
	for i := range h.Frames {
		n += h.Frames[i].Bytes
	}
	return n
}

// Decoder decompresses frames. It may be used by several goroutines at once.
type Decoder struct{ zstd *zstd.Decoder }

// NewDecoder returns a Decoder, which Close ends.
func NewDecoder() (*Decoder, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxFrame), zstd.WithDecoderMaxWindow(MaxFrame),
		zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("prepare a decoder: %w", err)
	}
	return &Decoder{d}, nil
}

// Close frees the decoder.
func (d *Decoder) Close() { d.zstd.Close() }

// Decode verifies a frame and calls each for its lines in the order of slugs. The line is valid during the call;
// its texts are parts of one string, which they keep in memory. After an error the lines must be dropped.
func (d *Decoder) Decode(f *Frame, compressed []byte, each func(*Line)) error {
	sum := sha256.Sum256(compressed)
	if int64(len(compressed)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 {
		return fmt.Errorf("%w: a frame of %d bytes has another digest than %s", errInvalid, len(compressed), f.SHA256)
	}
	raw, err := d.zstd.DecodeAll(compressed, make([]byte, 0, f.Size))
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	if int64(len(raw)) != f.Size {
		return fmt.Errorf("%w: a frame of %d bytes, want %d", errInvalid, len(raw), f.Size)
	}
	p := &parser{text: string(raw)}
	words := make([]string, p.number(MaxLines*3))
	for i := range words {
		words[i] = p.string()
		if p.failed {
			break
		}
	}
	var last fieldmark.Slug
	var l Line
	for n := range f.Lines {
		l = Line{}
		p.line(&l, words)
		if p.failed || l.Slug <= last || n == 0 && l.Slug != f.First {
			return fmt.Errorf("%w: line %d of a frame", errInvalid, n)
		}
		last = l.Slug
		each(&l)
	}
	if p.text != "" || last != f.Last {
		return fmt.Errorf("%w: a frame goes on after its lines", errInvalid)
	}
	return nil
}

// parser reads a text from its start.
type parser struct {
	text   string
	failed bool // text ended too early or has a value that is not allowed
}

// number reads a number that is at most limit.
func (p *parser) number(limit uint64) (n uint64) {
	for i := range min(len(p.text), binary.MaxVarintLen64) {
		b := p.text[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b >= 0x80 {
			continue
		}
		if p.text = p.text[i+1:]; n > limit || b == 0 && i > 0 {
			break
		}
		return n
	}
	p.failed, p.text = true, ""
	return 0
}

// string reads a text.
func (p *parser) string() string {
	n := int(p.number(maxText))
	if n > len(p.text) || !utf8.ValidString(p.text[:n]) {
		p.failed, p.text = true, ""
		return ""
	}
	s := p.text[:n]
	p.text = p.text[n:]
	return s
}

// word reads one of words.
func (p *parser) word(words []string) string {
	if i := p.number(1 << 32); i < uint64(len(words)) {
		return words[i]
	}
	p.failed, p.text = true, ""
	return ""
}

func (p *parser) slug() fieldmark.Slug {
	s := p.string()
	p.failed = p.failed || !fieldmark.ValidSlug(s)
	return fieldmark.Slug(s)
}

func (p *parser) line(l *Line, words []string) {
	l.Slug = p.slug()
	flags := p.number(flagsEnd - 1)
	if flags&flagAlias != 0 {
		l.Target = p.slug()
		p.failed = p.failed || flags != flagAlias || l.Target == l.Slug
		return
	}
	l.setFlags(flags)
	l.Due = flags&flagDue != 0
	l.Name, l.Host = p.string(), p.string()
	l.Niche, l.Language, l.Status = p.word(words), p.word(words), fieldmark.ScoreStatus(p.word(words))
	p.numbers(&l.Values)
}

// numbers reads what appendNumbers has written. It fails for values that no ranking may contain: scores index the
// rank tables, so one that is out of range would be out of their bounds.
func (p *parser) numbers(v *Values) {
	v.AsOf, v.Certainty = int64(p.number(maxMicros)), int32(p.number(maxCertainty))
	if v.Scored {
		p.rating(&v.Score)
	}
	if v.Ranked {
		for i := range v.Past {
			v.Past[i] = int32(p.number(maxScore+1)) - 1
		}
	}
	if v.HasFull {
		p.rating(&v.Full)
	}
	p.failed = p.failed || v.Ranked && (!v.Scored || v.AsOf == 0) || v.HasFull && !v.Ranked ||
		v.Status == "" && !v.Failed
}

func (p *parser) rating(r *Rating) {
	r.Score, r.Low, r.High = int32(p.number(maxScore)), int32(p.number(maxScore)), int32(p.number(maxScore))
	p.failed = p.failed || r.Low > r.High
}
