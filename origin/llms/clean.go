package llms

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	zwnj = '\u200c'
	zwj  = '\u200d'
)

// clean returns s on one line, in normal form C, without invisible characters.
// dropped reports whether it had any. Without line ends, no Markdown block can
// start inside it.
func clean(s string) (out string, dropped bool) {
	in := []rune(s)
	kept := make([]rune, 0, len(in))
	for i, r := range in {
		switch {
		case unicode.Is(unicode.White_Space, r) && (r < 0x80 || r == '\u0085' || r == '\u2028' || r == '\u2029'):
			kept = append(kept, ' ')
		case r == zwnj || r == zwj:
			// Persian, the languages of India and emoji need them; elsewhere they
			// are only used to hide text.
			if i > 0 && i+1 < len(in) && joinable(in[i-1]) && joinable(in[i+1]) {
				kept = append(kept, r)
			} else {
				dropped = true
			}
		case isInvisible(r):
			dropped = true
		default:
			kept = append(kept, r)
		}
	}
	out = norm.NFC.String(string(kept))
	return strings.TrimFunc(spaces.ReplaceAllString(out, " "), unicode.IsSpace), dropped
}

var spaces = regexp.MustCompile(` {2,}`)

// isInvisible reports whether r is invisible and has no legitimate use: controls,
// soft hyphens and zero-width spaces, embeddings and isolates, tags, the
// supplementary variation selectors and noncharacters.
func isInvisible(r rune) bool {
	switch {
	case unicode.Is(unicode.Cc, r):
		return true
	case r == '\u200e' || r == '\u200f' || r == '\u061c':
		return false // direction marks do not reorder text
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false // these signs are visible, although Unicode classifies them as format characters
	case unicode.Is(unicode.Cf, r):
		return true
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF
}

// joinable reports whether a joiner next to r has an effect.
func joinable(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.So, unicode.Sk)
}

// entity matches a character reference in Markdown.
var entity = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);`)

// escape returns cleaned text as Markdown that is displayed as this text, anywhere
// in a line. Square brackets become round ones, because some readers parse even
// escaped ones as a link.
func escape(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/16)
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r == '[':
			r = '('
		case r == ']':
			r = ')'
		case r == '\\' || r == '`' || r == '*' || r == '<',
			r == '_' && !inWord(runes, i),
			r == '~' && mayStrike(runes, i),
			r == '#' && closesHeading(runes, i),
			r == '&' && entity.MatchString(string(runes[i:min(i+40, len(runes))])):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapeStart is escape for text at the start of a paragraph, quote or item, where
// a few more characters have a meaning.
func escapeStart(s string) string {
	out := escape(s)
	if out == "" {
		return out
	}
	if strings.ContainsRune("#>+-=~|", rune(out[0])) {
		return `\` + out
	}
	digits := len(out) - len(strings.TrimLeft(out, "0123456789"))
	if digits > 0 && digits < len(out) && (out[digits] == '.' || out[digits] == ')') {
		return out[:digits] + `\` + out[digits:]
	}
	return out
}

// inWord reports whether the run of underscores at i is between letters or digits,
// where it is not markup.
func inWord(s []rune, i int) bool {
	before, after := i, i
	for before >= 0 && s[before] == '_' {
		before--
	}
	for after < len(s) && s[after] == '_' {
		after++
	}
	word := func(j int) bool {
		return j >= 0 && j < len(s) && (unicode.IsLetter(s[j]) || unicode.IsDigit(s[j]))
	}
	return word(before) && word(after)
}

// mayStrike reports whether the tilde at i could end struck-through text.
func mayStrike(s []rune, i int) bool {
	return i > 0 && !unicode.IsSpace(s[i-1]) || i+1 < len(s) && s[i+1] == '~'
}

// closesHeading reports whether only number signs follow at i, after a space or
// nothing: at the end of a heading such a run is not displayed.
func closesHeading(s []rune, i int) bool {
	if i > 0 && s[i-1] != ' ' {
		return false
	}
	for _, r := range s[i:] {
		if r != '#' {
			return false
		}
	}
	return true
}
