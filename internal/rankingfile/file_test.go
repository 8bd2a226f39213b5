package rankingfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
)

// randomLine returns a line whose slug has a number, so that numbers of nine digits ascend.
func randomLine(random *rand.Rand, i int) rankingfile.Line {
	l := rankingfile.Line{Slug: fieldmark.Slug(fmt.Sprintf("brand-%09d", i))}
	if random.IntN(20) == 0 {
		l.Target = "another-brand"
		return l
	}
	rating := func() rankingfile.Rating {
		low := random.Int32N(100_001)
		return rankingfile.Rating{Score: random.Int32N(100_001), Low: low, High: low + random.Int32N(100_001-low)}
	}
	l.Due = random.IntN(10) == 0
	l.Name, l.Host = fmt.Sprintf("Brând %d", i), fmt.Sprintf("brand-%d.example", i)
	l.Niche, l.Language = fmt.Sprintf("niche-%d", random.IntN(50)), []string{"", "en", "de-AT"}[random.IntN(3)]
	l.Status, l.Failed = fieldmark.StatusPending, random.IntN(10) == 0
	if random.IntN(4) == 0 {
		return l
	}
	l.Scored, l.Ranked, l.Status, l.GeoReady = true, random.IntN(4) > 0, fieldmark.StatusScored, random.IntN(2) == 0
	l.AsOf, l.Certainty, l.Score = 1_790_000_000_000_000+random.Int64N(1e12), random.Int32N(1001), rating()
	if l.Ranked {
		l.Past = [3]int32{random.Int32N(100_001), -1, random.Int32N(100_001)}
		if l.HasFull = random.IntN(2) == 0; l.HasFull {
			l.Full = rating()
		}
	}
	return l
}

var footer = rankingfile.Footer{Epoch: "log-1", Event: 17, Day: "2026-11-23", Module: fieldmark.ModuleRef{Name: "geo",
	Version: "1.0.0", Digest: fieldmark.DigestOf(sha256.Sum256(nil))}}

func writeFile(t testing.TB, lines []rankingfile.Line) ([]byte, rankingfile.File) {
	t.Helper()
	var out bytes.Buffer
	w, err := rankingfile.NewWriter(&out, footer)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		if err := w.Add(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), f
}

// readFile reads a file as an edge does.
func readFile(file []byte, headBytes int64, headSum string) (lines []rankingfile.Line, err error) {
	h, err := rankingfile.ParseFooter(file[len(file)-int(headBytes):], headSum)
	if err != nil {
		return nil, err
	}
	d, err := rankingfile.NewDecoder()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for i := range h.Frames {
		f := &h.Frames[i]
		if err := d.Decode(f, file[:f.Bytes], func(l *rankingfile.Line) { lines = append(lines, *l) }); err != nil {
			return nil, err
		}
		file = file[f.Bytes:]
	}
	return lines, nil
}

func randomLines(n int) []rankingfile.Line {
	random := rand.New(rand.NewPCG(20, 26))
	lines := make([]rankingfile.Line, n)
	for i := range lines {
		lines[i] = randomLine(random, i)
	}
	return lines
}

// TestRoundTrip: what is written is read, in as many frames as the bound on lines requires, and the same lines
// make the same bytes.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, rankingfile.MaxLines, rankingfile.MaxLines + 1, 150_000} {
		lines := randomLines(n)
		file, f := writeFile(t, lines)
		if again, _ := writeFile(t, lines); !bytes.Equal(file, again) {
			t.Errorf("%d lines make two different files", n)
		}
		if sum := sha256.Sum256(file); f.SHA256 != hex.EncodeToString(sum[:]) || f.Bytes != int64(len(file)) ||
			f.Footer.Bytes()+f.HeadBytes != f.Bytes ||
			len(f.Frames) != (n+rankingfile.MaxLines-1)/rankingfile.MaxLines {
			t.Errorf("%d lines: file %+v of %d bytes", n, f, len(file))
		}
		got, err := readFile(file, f.HeadBytes, f.HeadSHA256)
		if err != nil || len(got) != n {
			t.Fatalf("%d lines: read %d, %v", n, len(got), err)
		}
		for i := range got {
			if got[i] != lines[i] {
				t.Fatalf("line %d: %s", i, cmp.Diff(lines[i], got[i]))
			}
		}
		// Other programs can read the content: the footer is skipped.
		if _, err := decompress(file); err != nil {
			t.Errorf("%d lines: zstd: %v", n, err)
		}
	}
}

// decompress decompresses a file as any zstd program does.
func decompress(file []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(file, nil)
}

// TestLongTexts: a frame ends before its content exceeds the bound.
func TestLongTexts(t *testing.T) {
	lines := randomLines(20_000)
	for i := range lines {
		if lines[i].Target == "" {
			lines[i].Name, lines[i].Niche = strings.Repeat("n", 1000), strings.Repeat("x", 900)+string(lines[i].Slug)
		}
	}
	file, f := writeFile(t, lines)
	got, err := readFile(file, f.HeadBytes, f.HeadSHA256)
	if err != nil || len(got) != len(lines) || len(f.Frames) < 3 {
		t.Errorf("%d lines in %d frames: %v", len(got), len(f.Frames), err)
	}
}

// TestOrder: a line that does not follow the one before is a bug of the caller, also across frames.
func TestOrder(t *testing.T) {
	var out bytes.Buffer
	w, err := rankingfile.NewWriter(&out, footer)
	if err != nil {
		t.Fatal(err)
	}
	for i, slug := range []fieldmark.Slug{"b", "b", "a"} {
		if err := w.Add(&rankingfile.Line{Slug: slug, Target: "x"}); (err != nil) != (i > 0) {
			t.Errorf("line %d: %v", i, err)
		}
	}
}

// craft makes a file of one frame with a content and a footer that may lie about it.
func craft(content []byte, change func(*rankingfile.Footer)) (file []byte, headBytes int64, headSum string) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	frame := enc.EncodeAll(content, nil)
	sum := sha256.Sum256(frame)
	h := footer
	h.Format, h.Lines = rankingfile.Format, 1
	h.Frames = []rankingfile.Frame{{Bytes: int64(len(frame)), Size: int64(len(content)), Lines: 1,
		SHA256: hex.EncodeToString(sum[:]), First: "a", Last: "a"}}
	change(&h)
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	end := binary.LittleEndian.AppendUint32([]byte{0x50, 0x2A, 0x4D, 0x18}, uint32(len(text)))
	end = append(end, text...)
	sum = sha256.Sum256(end)
	return append(frame, end...), int64(len(end)), hex.EncodeToString(sum[:])
}

// alias is the content of a frame with the one line that craft declares.
var alias = []byte{0, 1, 'a', 1, 1, 'b'}

func TestHostile(t *testing.T) {
	none := func(*rankingfile.Footer) {}
	if _, err := readFile(craft(alias, none)); err != nil {
		t.Fatalf("the file that all others are made from: %v", err)
	}
	brand := func(flags byte, numbers ...byte) []byte {
		return append([]byte{1, 6, 's', 'c', 'o', 'r', 'e', 'd', 1, 'a', flags, 0, 0, 0, 0, 0}, numbers...)
	}
	for name, content := range map[string][]byte{
		"empty":             nil,
		"cut off":           alias[:5],
		"goes on":           append(bytes.Clone(alias), 0),
		"another slug":      {0, 1, 'b', 1, 1, 'a'},
		"leads to itself":   {0, 1, 'a', 1, 1, 'a'},
		"not a slug":        {0, 1, 'A', 1, 1, 'b'},
		"unknown flags":     {0, 1, 'a', 0x80, 1, 1, 'b'},
		"alias with flags":  {0, 1, 'a', 3, 1, 'b'},
		"long number":       {0x80, 0, 1, 'a', 1, 1, 'b'},
		"endless number":    bytes.Repeat([]byte{0xff}, 20),
		"many words":        append(binary.AppendUvarint(nil, 1<<40), alias[1:]...),
		"no such word":      {0, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0},
		"not UTF-8":         {1, 1, 0xff, 1, 'a', 1, 1, 'b'},
		"text beyond end":   {0, 60, 'a'},
		"ranked, no score":  brand(4, 1, 1, 1, 1, 1),
		"ranked, no time":   brand(12, 0, 1, 1, 1, 1, 1, 1, 1),
		"score above 100":   brand(8, append([]byte{1, 1}, append(binary.AppendUvarint(nil, 100_001), 1, 1)...)...),
		"inverted range":    brand(8, 1, 1, 1, 2, 1),
		"certainty above 1": brand(0, append([]byte{1}, binary.AppendUvarint(nil, 1001)...)...),
		"bomb":              append(bytes.Clone(alias), make([]byte, rankingfile.MaxFrame)...),
	} {
		if lines, err := readFile(craft(content, none)); err == nil {
			t.Errorf("%s: read %+v", name, lines)
		}
	}
	for name, change := range map[string]func(*rankingfile.Footer){
		"another format":   func(h *rankingfile.Footer) { h.Format = "fm-ranking-2" },
		"no day":           func(h *rankingfile.Footer) { h.Day = "today" },
		"event before all": func(h *rankingfile.Footer) { h.Event = -1 },
		"number of lines":  func(h *rankingfile.Footer) { h.Lines = 2 },
		"more lines":       func(h *rankingfile.Footer) { h.Lines, h.Frames[0].Lines = 2, 2 },
		"too many lines":   func(h *rankingfile.Footer) { h.Frames[0].Lines = rankingfile.MaxLines + 1 },
		"large frame":      func(h *rankingfile.Footer) { h.Frames[0].Size = rankingfile.MaxFrame + 1 },
		"negative size":    func(h *rankingfile.Footer) { h.Frames[0].Size = -1 },
		"larger content":   func(h *rankingfile.Footer) { h.Frames[0].Size++ },
		"smaller content":  func(h *rankingfile.Footer) { h.Frames[0].Size-- },
		"more bytes":       func(h *rankingfile.Footer) { h.Frames[0].Bytes++ },
		"another digest":   func(h *rankingfile.Footer) { h.Frames[0].SHA256 = strings.Repeat("0", 64) },
		"another last":     func(h *rankingfile.Footer) { h.Frames[0].Last = "b" },
		"overlap":          func(h *rankingfile.Footer) { h.Lines, h.Frames = 2, append(h.Frames, h.Frames[0]) },
		"many frames": func(h *rankingfile.Footer) {
			for len(h.Frames) <= rankingfile.MaxFrames {
				h.Frames = append(h.Frames, h.Frames[0])
			}
		},
	} {
		file, n, sum := craft(alias, change)
		if lines, err := readFile(append(file[:0:0], file...), n, sum); err == nil {
			t.Errorf("%s: read %+v", name, lines)
		}
	}
	file, n, sum := craft(alias, none)
	file[len(file)-3] ^= 1
	if _, err := readFile(file, n, sum); err == nil {
		t.Error("a footer with another digest was read")
	}
}

// TestValues: what Append writes is read, and nothing else.
func TestValues(t *testing.T) {
	for _, l := range randomLines(1000) {
		text := l.Append(nil)
		got, err := rankingfile.ParseValues(text)
		if l.Target == "" && (err != nil || got != l.Values) {
			t.Fatalf("%x: %v %s", text, err, cmp.Diff(l.Values, got))
		}
		if _, err := rankingfile.ParseValues(append(text, 0)); err == nil {
			t.Fatalf("%x0: no error", text)
		}
		if _, err := rankingfile.ParseValues(text[:len(text)-1]); err == nil {
			t.Fatalf("%x without its end: no error", text)
		}
	}
}

// FuzzDecode: no content makes the reader panic, and what it accepts is written as the same lines.
func FuzzDecode(f *testing.F) {
	f.Add(alias)
	for _, l := range randomLines(30) {
		l.Slug = "a"
		file, _ := writeFile(f, []rankingfile.Line{l})
		content, err := decompress(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		lines, err := readFile(craft(content, func(*rankingfile.Footer) {}))
		if err != nil {
			return
		}
		file, w := writeFile(t, lines)
		again, err := readFile(file, w.HeadBytes, w.HeadSHA256)
		if err != nil || !cmp.Equal(again, lines) {
			t.Fatalf("read %+v, again %+v, %v", lines, again, err)
		}
	})
}

// FuzzHead: no footer makes the reader panic or passes with frames beyond the bounds.
func FuzzHead(f *testing.F) {
	file, n, _ := craft(alias, func(*rankingfile.Footer) {})
	f.Add(file[len(file)-int(n):])
	f.Fuzz(func(t *testing.T, end []byte) {
		sum := sha256.Sum256(end)
		h, err := rankingfile.ParseFooter(end, hex.EncodeToString(sum[:]))
		if err == nil && (len(h.Frames) > rankingfile.MaxFrames || h.Bytes() > rankingfile.MaxFile) {
			t.Fatalf("accepted %+v", h)
		}
	})
}

// errWriter fails.
type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteError(t *testing.T) {
	w, err := rankingfile.NewWriter(errWriter{}, footer)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(&rankingfile.Line{Slug: "a", Target: "b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v, want that of the disk", err)
	}
}
