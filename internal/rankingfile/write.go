package rankingfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// flushAt is the size of the content at which a frame ends, if it has fewer lines than MaxLines: the rest of a
// line and the table of texts stay below MaxFrame.
const flushAt = MaxFrame / 4

// Writer writes a file. Its memory does not grow with the lines. The same lines make the same bytes.
type Writer struct {
	to     io.Writer
	zstd   *zstd.Encoder
	footer Footer
	sum    hash.Hash // of the file
	size   int64

	body  []byte // the lines of the frame
	words map[string]uint64
	table []byte // the words in binary form
	frame Frame
}

// File describes a file that is complete.
type File struct {
	Footer
	SHA256     string // of the file, in hexadecimal
	Bytes      int64
	HeadSHA256 string // of the last HeadBytes bytes
	HeadBytes  int64
}

// NewWriter returns a Writer. Of footer, the lines and frames are set by the writer.
func NewWriter(to io.Writer, footer Footer) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithWindowSize(MaxFrame/4))
	if err != nil {
		return nil, fmt.Errorf("prepare a ranking file: %w", err)
	}
	footer.Format, footer.Lines, footer.Frames = Format, 0, []Frame{}
	return &Writer{to: to, zstd: enc, footer: footer, sum: sha256.New(), words: map[string]uint64{}}, nil
}

// SetEvent sets the newest event that the lines include.
func (w *Writer) SetEvent(n int64) { w.footer.Event = n }

// Add adds a line. Slugs must ascend.
func (w *Writer) Add(l *Line) error {
	if l.Slug <= w.frame.Last || w.frame.Lines == 0 && len(w.footer.Frames) > 0 &&
		l.Slug <= w.footer.Frames[len(w.footer.Frames)-1].Last {
		return fmt.Errorf("BUG: %s follows %s in a ranking file", l.Slug, w.frame.Last)
	}
	if w.frame.Lines == 0 {
		w.frame.First = l.Slug
	}
	w.frame.Last = l.Slug
	w.frame.Lines++
	w.body = appendText(w.body, string(l.Slug))
	if l.Target != "" {
		w.body = appendText(binary.AppendUvarint(w.body, flagAlias), string(l.Target))
	} else {
		flags := l.flags()
		if l.Due {
			flags |= flagDue
		}
		w.body = appendText(appendText(binary.AppendUvarint(w.body, flags), l.Name), l.Host)
		for _, word := range [...]string{l.Niche, l.Language, string(l.Status)} {
			w.body = binary.AppendUvarint(w.body, w.word(word))
		}
		w.body = l.appendNumbers(w.body)
	}
	if w.frame.Lines == MaxLines || len(w.body)+len(w.table) >= flushAt {
		return w.flush()
	}
	return nil
}

// word returns the place of a text in the table of the frame.
func (w *Writer) word(s string) uint64 {
	i, ok := w.words[s]
	if !ok {
		i = uint64(len(w.words))
		w.words[s] = i
		w.table = appendText(w.table, s)
	}
	return i
}

// flush writes the frame, if it has lines.
func (w *Writer) flush() error {
	if w.frame.Lines == 0 {
		return nil
	}
	raw := append(binary.AppendUvarint(nil, uint64(len(w.words))), w.table...)
	raw = append(raw, w.body...)
	compressed := w.zstd.EncodeAll(raw, nil)
	sum := sha256.Sum256(compressed)
	f := w.frame
	f.Bytes, f.Size, f.SHA256 = int64(len(compressed)), int64(len(raw)), hex.EncodeToString(sum[:])
	w.footer.Frames = append(w.footer.Frames, f)
	w.footer.Lines += f.Lines
	w.body, w.table, w.frame = w.body[:0], w.table[:0], Frame{}
	clear(w.words)
	if len(w.footer.Frames) > MaxFrames {
		return errors.New("a ranking file has too many brands")
	}
	return w.write(compressed)
}

func (w *Writer) write(b []byte) error {
	w.sum.Write(b)
	w.size += int64(len(b))
	if _, err := w.to.Write(b); err != nil {
		return fmt.Errorf("write a ranking file: %w", err)
	}
	return nil
}

// Close writes the rest of the file.
func (w *Writer) Close() (File, error) {
	if err := w.flush(); err != nil {
		return File{}, err
	}
	text, err := json.Marshal(w.footer)
	if err != nil {
		return File{}, fmt.Errorf("encode the footer of a ranking file: %w", err)
	}
	footer := binary.LittleEndian.AppendUint32(nil, skippable)
	footer = append(binary.LittleEndian.AppendUint32(footer, uint32(len(text))), text...)
	sum := sha256.Sum256(footer)
	f := File{HeadSHA256: hex.EncodeToString(sum[:]), HeadBytes: int64(len(footer))}
	if err := errors.Join(w.write(footer), w.zstd.Close()); err != nil {
		return File{}, err
	}
	f.Footer, f.SHA256, f.Bytes = w.footer, hex.EncodeToString(w.sum.Sum(nil)), w.size
	return f, nil
}
