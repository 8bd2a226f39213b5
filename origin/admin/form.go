package admin

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// Codes that people write, as the wire's nouns have them.
var (
	reasonCode  = regexp.MustCompile(`^[A-Z0-9_]{1,64}$`)
	failureCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// The most code points of what people write, as the wire's nouns have them.
const (
	maxReasonText = 500
	maxReference  = 128
	maxTerms      = 64
	maxFeedName   = 100
	maxPauseNote  = 200
)

// fields reads a posted form and gathers what is wrong with it.
type fields struct {
	posted url.Values
	bad    []string
}

// text is a line as it was meant: without spaces around it, within bounds.
func (f *fields) text(name, label string, most int) string {
	s := strings.TrimSpace(f.posted.Get(name))
	if utf8.RuneCountInString(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		f.bad = append(f.bad, fmt.Sprintf("%s may have at most %d characters in one line.", label, most))
		return ""
	}
	return s
}

// code is a word of a fixed alphabet, or nothing.
func (f *fields) code(name, label string, form *regexp.Regexp) string {
	s := strings.TrimSpace(f.posted.Get(name))
	if form == reasonCode {
		s = strings.ToUpper(s)
	}
	if s != "" && !form.MatchString(s) {
		f.bad = append(f.bad, label+" is written in letters, digits and underscores, at most 64.")
		return ""
	}
	return s
}

// complaintsOf says what is wrong with what was asked for.
func complaintsOf(e *fieldmark.Error) []string {
	var list []string
	for _, f := range e.Fields {
		label := fieldLabels[f.Pointer]
		if label == "" {
			label = strings.TrimPrefix(f.Pointer, "/")
		}
		list = append(list, strings.TrimSpace(label+" "+f.Detail)+".")
	}
	if len(list) == 0 {
		list = append(list, sentence(e.Detail))
	}
	return list
}

// sentence begins with a capital and ends with a point.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return strings.TrimSuffix(string(unicode.ToUpper(r))+s[n:], ".") + "."
}
