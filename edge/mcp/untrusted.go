package mcp

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what people outside wrote.
const (
	// MaxText bounds one string, in characters: enough for a sentence of evidence, and too
	// little for the instructions that attacks on agents consist of.
	MaxText = 240
	// MaxResult bounds the result of a call, in bytes, its copy as text included: what a
	// model reads costs its user money.
	MaxResult = 16 << 10
	// envelope is what a result has beside the document: the server's name and a rank.
	envelope = 1 << 10
)

// untrustedPrefix begins the names of members with text of people outside; evidence is the
// name of the lists that have nothing else.
const (
	untrustedPrefix = "untrusted"
	evidenceMember  = "evidence"
)

// Clean returns s on one line without characters that a reader does not see and a model does:
// controls, tags, and those that embed, override, isolate or mark a direction. It has at most
// MaxText characters.
func Clean(s string) string {
	b := make([]byte, 0, min(len(s), 2*MaxText))
	n := 0
	last, space := rune(-1), false
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			last, space = r, n > 0
			continue
		case isJoiner(r):
			next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
			if !joinable(last) || !joinable(next) {
				continue
			}
		case isInvisible(r):
			continue
		}
		if n >= MaxText-2 { // a space, this character and what says that there is more
			b = append(b, "…"...)
			break
		}
		if space {
			b = append(b, ' ')
			n++
		}
		b = utf8.AppendRune(b, r)
		n++
		last, space = r, false
	}
	return string(b)
}

// isJoiner reports whether r is a joiner, which Persian, the languages of India and emoji need.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joinable reports whether a joiner beside r has an effect.
func joinable(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.So, unicode.Sk) }

// isInvisible reports whether r is not displayed: control and format characters (joiners, which
// joinable decides, among them), tags and variation selectors, private use and noncharacters.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) || r >= 0xE0000 && r <= 0xE0FFF ||
		r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF
}

// cut returns at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// foreign is text of people outside, cleaned. A member of this type must have a name that begins
// with untrusted, or be below evidence.
type foreign string

func quote(s string) foreign { return foreign(Clean(s)) }

// shortText is the length, in characters, to which texts are cut where the result is too large
// with longer ones.
const shortText = 40

// cutTo cuts a text to n characters.
func (f *foreign) cutTo(n int) {
	for i := range *f {
		if n--; n < 0 {
			*f = (*f)[:i] + "…"
			return
		}
	}
}

// Document is the result of a tool, encoded once: as JSON and as the same in a JSON string.
// Both lack the brace at their end, so that a member can be added.
type Document struct{ json, text []byte }

// Size returns the bytes that d holds.
func (d *Document) Size() int { return len(d.json) + len(d.text) }

// shorten removes more of a result with every step, from 1. It reports whether there was
// another step. The steps are few, as the result is encoded after each.
type shorten func(step int) bool

// newDocument encodes v, which is a struct or a map, and lists the members with text of people
// outside. While the result is too large it calls shorten.
func newDocument(v any, shorten shorten) (*Document, error) {
	for step := 1; ; step++ {
		raw := encode(v)
		d := &Document{json: raw[:len(raw)-1]}
		d.json = append(d.json, `,"untrusted":[`...)
		d.json = append(d.json, strings.Join(pointers(nil, "", raw), ",")...)
		d.json = append(d.json, ']')
		d.text = appendEscaped(make([]byte, 0, len(d.json)*5/4), d.json)
		if d.Size() <= MaxResult-envelope {
			return d, nil
		}
		if shorten == nil || !shorten(step) {
			return nil, errTooLarge
		}
	}
}

// pointers appends the JSON pointers (RFC 6901) of all members of a value that have text of
// people outside, each as a JSON string. Names of members are those of this package.
func pointers(list []string, at string, raw []byte) []string {
	if len(raw) > 0 && raw[0] == '[' {
		i := 0
		for rest := trimSpace(raw[1:]); rest[0] != ']'; i++ {
			n := valueLength(rest)
			list = pointers(list, at+"/"+strconv.Itoa(i), rest[:n])
			if rest = trimSpace(rest[n:]); rest[0] == ',' {
				rest = trimSpace(rest[1:])
			}
		}
		return list
	}
	for all := membersOf(raw); ; {
		name, value, ok := all.next()
		if !ok {
			return list
		}
		here := at + "/" + string(name)
		if string(name) == evidenceMember || strings.HasPrefix(string(name), untrustedPrefix) {
			list = append(list, `"`+here+`"`)
			continue
		}
		list = pointers(list, here, value)
	}
}
