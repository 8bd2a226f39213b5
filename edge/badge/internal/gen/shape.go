package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// em is the size outlines and widths are written in.
const em = 1000

// glyphID is one drawing of one file.
type glyphID struct {
	file  string
	index int // in a collection
	gid   sfnt.GlyphIndex
}

// glyph is one drawing as it is written to glyphs.bin. Advance is in units of em; outline is a list of operations
// of a letter (M, L, Q or C) and coordinates of two bytes each, which path.glyph of package badge reads.
type glyph struct {
	advance uint16
	outline []byte
}

// shaper collects glyphs and words. Languages share letters, so each drawing is stored once.
// Its numbers are 16 bits wide: all prepared languages need some 1,700 of them.
type shaper struct {
	folder string
	fonts  map[string]*sfnt.Font
	glyphs []glyph
	seen   map[glyphID]uint16
	words  []byte
	buf    sfnt.Buffer
}

// file returns the file of a weight: 0 is regular and 1 is bold, as in the tables.
func (f face) file(weight int) string {
	if weight == 1 {
		return f.bold
	}
	return f.regular
}

// font parses a file of the fonts' folder once.
func (s *shaper) font(file string, index int) (*sfnt.Font, error) {
	// A collection of CJK fonts has some 20 MB, and each word would parse it again.
	key := file + strconv.Itoa(index)
	if f, ok := s.fonts[key]; ok {
		return f, nil
	}
	raw, err := os.ReadFile(filepath.Join(s.folder, file))
	if err != nil {
		return nil, fmt.Errorf("read the face: %w", err)
	}
	collection, err := sfnt.ParseCollection(raw)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	f, err := collection.Font(index)
	if err != nil {
		return nil, fmt.Errorf("font %d of %s: %w", index, file, err)
	}
	if s.fonts == nil {
		s.fonts = map[string]*sfnt.Font{}
	}
	s.fonts[key] = f
	return f, nil
}

// letter adds the glyph of one character of the Latin face.
func (s *shaper) letter(weight int, r rune) error {
	file := faces["latin"].file(weight)
	f, err := s.font(file, 0)
	if err != nil {
		return err
	}
	gid, err := f.GlyphIndex(&s.buf, r)
	if err != nil {
		return fmt.Errorf("glyph of %q: %w", r, err)
	}
	g, err := s.load(f, gid)
	if err != nil {
		return fmt.Errorf("glyph of %q: %w", r, err)
	}
	// Letters are appended even if another letter has the same drawing: their numbers are counted, not looked up.
	s.seen[glyphID{file, 0, gid}] = uint16(len(s.glyphs))
	s.glyphs = append(s.glyphs, g)
	return nil
}

// glyph adds a glyph unless it is there, and returns its number.
func (s *shaper) glyph(id glyphID) (uint16, error) {
	if n, ok := s.seen[id]; ok {
		return n, nil
	}
	f, err := s.font(id.file, id.index)
	if err != nil {
		return 0, err
	}
	g, err := s.load(f, id.gid)
	if err != nil {
		return 0, err
	}
	n := uint16(len(s.glyphs))
	s.seen[id] = n
	s.glyphs = append(s.glyphs, g)
	return n, nil
}

// load encodes a glyph: a letter of M, L, Q, C and its points as int16 pairs in
// thousandths of the size, y downwards; every contour is closed.
func (s *shaper) load(f *sfnt.Font, gid sfnt.GlyphIndex) (glyph, error) {
	// Without hinting, widths scale linearly, as SVG scales the text.
	advance, err := f.GlyphAdvance(&s.buf, gid, fixed.I(em), font.HintingNone)
	if err != nil {
		return glyph{}, fmt.Errorf("advance of glyph %d: %w", gid, err)
	}
	segments, err := f.LoadGlyph(&s.buf, gid, fixed.I(em), nil)
	if err != nil {
		return glyph{}, fmt.Errorf("outline of glyph %d: %w", gid, err)
	}
	var out []byte
	for _, seg := range segments {
		// A move and a line have one point, curves have their control points as well.
		points := map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: 1, sfnt.SegmentOpLineTo: 1, sfnt.SegmentOpQuadTo: 2,
			sfnt.SegmentOpCubeTo: 3}[seg.Op]
		out = append(out, "MLQC"[seg.Op])
		for _, p := range seg.Args[:points] {
			out = binary.BigEndian.AppendUint16(out, uint16(int16(p.X.Round())))
			out = binary.BigEndian.AppendUint16(out, uint16(int16(p.Y.Round())))
		}
	}
	return glyph{uint16(advance.Round()), out}, nil
}

// run is a part of a word that one face has all letters of.
type run struct {
	text string
	face face
}

// runs divides a word into Latin and other parts, in the order they are seen
// from left to right.
func runs(l *language, text string) []run {
	var out []run
	latin := false
	for i, r := range text {
		// A space between Latin words stays with them, so that it has the width that their face gives it.
		is := l.face == "latin" && !l.rtl || unicode.Is(unicode.Latin, r) || latin && r == ' '
		f := faces[l.face]
		if is {
			f = faces["latin"]
		}
		if i == 0 || is != latin {
			out = append(out, run{face: f})
		}
		latin = is
		out[len(out)-1].text += string(r)
	}
	// HarfBuzz orders the letters within a part; the order of the parts is that of the writing direction.
	if l.rtl {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}

// word shapes a word and adds it: the number of its glyphs, then for each its
// number and place. It returns the width and where the word begins.
func (s *shaper) word(l *language, weight int, text string) (width, at int, err error) {
	at = len(s.words)
	var placed []byte
	n := 0
	x := 0.0
	for _, r := range runs(l, text) {
		file := r.face.file(weight)
		f, err := s.font(file, r.face.index)
		if err != nil {
			return 0, 0, err
		}
		// Glyph numbers instead of names, because fonts may have none; clusters are not needed without a cursor.
		out, err := exec.Command("hb-shape", "--no-glyph-names", "--no-clusters", "--output-format=json",
			"--language="+l.tag, fmt.Sprintf("--face-index=%d", r.face.index), filepath.Join(s.folder, file),
			r.text).Output()
		if err != nil {
			return 0, 0, fmt.Errorf("hb-shape: %w", err)
		}
		var shaped []struct {
			G              int
			Dx, Dy, Ax, Ay float64
		}
		if err := json.Unmarshal(out, &shaped); err != nil {
			return 0, 0, fmt.Errorf("hb-shape says %q: %w", out, err)
		}
		// DejaVu has 2048 units per em and Noto 1000.
		scale := em / float64(f.UnitsPerEm())
		for _, g := range shaped {
			// Glyph 0 is .notdef, the box that fonts draw for a letter they lack. It must not reach a badge.
			if g.G == 0 {
				return 0, 0, fmt.Errorf("%s has not all letters of %q", file, r.text)
			}
			number, err := s.glyph(glyphID{file, r.face.index, sfnt.GlyphIndex(g.G)})
			if err != nil {
				return 0, 0, err
			}
			placed = binary.BigEndian.AppendUint16(placed, number)
			placed = binary.BigEndian.AppendUint16(placed, uint16(int16(math.Round(x+g.Dx*scale))))
			// Fonts count y upwards and SVG downwards.
			placed = binary.BigEndian.AppendUint16(placed, uint16(int16(math.Round(-g.Dy*scale))))
			x += g.Ax * scale
			n++
		}
	}
	// One byte for the count is enough: no prepared word has more than 255 glyphs.
	s.words = append(append(s.words, byte(n)), placed...)
	return int(math.Round(x)), at, nil
}
