package site

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// hostView is an internationalized host (RFC 5890) for a reader. Names in other alphabets
// can look like names they are not, so the ASCII form is always shown beside it.
type hostView struct {
	ASCII   string
	Unicode string // empty where a label mixes alphabets: it would pass for another name
}

// hostForms returns the forms of the host of an address; nil if it is a plain ASCII name.
func hostForms(raw string) *hostView {
	host := raw
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		host = u.Hostname()
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil || !strings.Contains(ascii, "xn--") {
		return nil
	}
	v := &hostView{ASCII: ascii}
	readable, err := idna.Lookup.ToUnicode(ascii)
	if err != nil {
		return v
	}
	for label := range strings.SplitSeq(readable, ".") {
		if mixesScripts(label) {
			return v
		}
	}
	v.Unicode = plain(readable)
	return v
}

// mixesScripts reports whether a label has letters of several alphabets, apart from those
// that are written together: a single alphabet with Latin is what look-alikes are made of
// (UTS 39, section 5.2, "highly restrictive" without Latin).
func mixesScripts(label string) bool {
	seen := ""
	for _, r := range label {
		if script := scriptOf(r); script != "" && seen != "" && script != seen {
			return true
		} else if script != "" {
			seen = script
		}
	}
	return false
}

// scriptOf names the alphabet of a letter; empty for digits and signs. Scripts of Chinese,
// Japanese and Korean are written together.
func scriptOf(r rune) string {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) {
		return "CJK"
	}
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return "unknown"
}
