package prose

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
)

// sketchSize is the number of values of a sketch. The share of equal values estimates the
// share of phrases that two texts have in common, with a standard deviation of at most 9 %.
const sketchSize = 32

// maxSketched limits the phrases of a page that a sketch covers, like maxOrdered.
const maxSketched = 20_000

// Sketch summarizes the phrases of a text, so that texts with most phrases in common are
// found without storing them: the smallest hash of the phrases in each of sketchSize
// partitions (Broder 1997; Li, Owen and Zhang, One Permutation Hashing, 2012).
type Sketch [sketchSize]uint32

// noPhrase is the value of a partition without a phrase.
const noPhrase = math.MaxUint32

// NewSketch returns the sketch of a text.
func NewSketch(text string) (s Sketch) {
	for i := range s {
		s[i] = noPhrase
	}
	words := unitsOf(Words(text))
	for n := 0; len(words) >= phraseWords && n < maxSketched; n++ {
		h := hashWords(words[:phraseWords])
		h ^= h >> 32
		h *= 0x9e3779b97f4a7c15 // FNV mixes the high bits of short inputs little (Knuth's multiplicative hash)
		at := h >> 59
		s[at] = min(s[at], uint32(h>>16))
		words = words[1:]
	}
	return s
}

// Resembles reports whether at least half of the phrases of two texts are in both.
func (s Sketch) Resembles(o Sketch) bool {
	equal, all := 0, 0
	for i := range s {
		if s[i] == noPhrase && o[i] == noPhrase {
			continue
		}
		if all++; s[i] == o[i] {
			equal++
		}
	}
	return all > 0 && 2*equal >= all
}

// SketchKeys is the number of keys of a sketch. Of two texts that have half of their phrases
// in common, one in sixteen has no equal key; of a copy with another name in it, one in a
// thousand.
const SketchKeys = 4

// Keys returns values of which similar texts share at least one at the same position, for an
// index. The key of an empty partition is the value of the next one that is not.
func (s Sketch) Keys() (keys [SketchKeys]int64) {
	for i := range keys {
		for _, v := range s[i:] {
			if keys[i] = int64(v); v != noPhrase {
				break
			}
		}
	}
	return keys
}

// String encodes a sketch as base64.
func (s Sketch) String() string {
	b := make([]byte, 0, 4*sketchSize)
	for _, v := range s {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// ParseSketch decodes what String returned.
func ParseSketch(text string) (s Sketch, err error) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil && len(b) != 4*sketchSize {
		err = errors.New("a sketch has another length")
	}
	if err != nil {
		return s, err
	}
	for i := range s {
		s[i] = binary.BigEndian.Uint32(b[4*i:])
	}
	return s, nil
}
