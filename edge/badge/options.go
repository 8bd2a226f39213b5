package badge

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	xlanguage "golang.org/x/text/language"

	"github.com/fieldmark/fieldmark"
)

// Style chooses the form of a badge.
type Style uint8

// The styles of a badge. The last three match the badges of shields.io, for pages that show
// both.
const (
	Pill        Style = iota // 28 px: ring, words, score
	Compact                  // 20 px: words beside grade and score
	Card                     // 56 px: ring with the score, words, grade and month
	Seal                     // 96 px square, for footers; its own words are always paths
	Flat                     // 20 px
	FlatSquare               // 20 px, without corners, shine and shadow
	ForTheBadge              // 28 px, capitals
	styleCount
)

var styleNames = [styleCount]string{"pill", "compact", "card", "seal", "flat", "flat-square", "for-the-badge"}

// shields reports whether s is one of the styles of shields.io.
func (s Style) shields() bool { return s >= Flat }

// gauge reports whether s shows the score as a ring.
func (s Style) gauge() bool { return s == Pill || s == Card || s == Seal }

// Theme chooses the colours of a badge.
type Theme uint8

// The themes of a badge.
const (
	Auto  Theme = iota // light, and dark where the page or the system asks for it
	Light              // light colours only
	Dark               // dark colours only
	Mono               // one color, for print
	themeCount
)

var themeNames = [themeCount]string{"auto", "light", "dark", "mono"}

// Lang is a prepared language; the zero value is English.
type Lang uint8

// MaxLabel bounds a free label, in code points: half again the longest prepared
// one, so that a badge stays a badge.
const MaxLabel = 40

// Options is everything about a badge that the page which embeds it may choose.
// The zero Look is the default: the English pill in automatic colours.
type Options struct {
	Style   Style
	Theme   Theme
	Lang    Lang
	Animate bool   // draw the ring once, unless the reader prefers reduced motion
	Outline bool   // draw text as paths, so that it looks the same everywhere
	Label   string // replaces "GEO-ready"; see ParseOptions
	Claimed bool   // ask for Badge.Claimed; it changes nothing by itself
}

// ParseOptions is the only way from a query to Options. get returns the first value of a
// parameter, or an empty string. A value outside the vocabulary is an error that lists the
// valid values; so is a label that is too long or unreadable. A parameter that does not
// change the picture keeps its default, so that the same picture has one Options value and
// one Query.
func ParseOptions(get func(name string) string) (Options, error) {
	var l Options
	var err error
	l.Style, err = parse[Style](get, "style", styleNames[:], nil)
	l.Theme, err = parse[Theme](get, "theme", themeNames[:], err)
	l.Lang, err = parseLang(get("lang"), err)
	animate, err := parse[uint8](get, "animate", []string{"0", "1"}, err)
	font, err := parse[uint8](get, "font", []string{"text", "outline"}, err)
	claimed, err := parse[uint8](get, "claimed", []string{"0", "1"}, err)
	if err != nil {
		return Options{}, err
	}
	l.Animate, l.Outline, l.Claimed = animate == 1, font == 1, claimed == 1
	if l.Label, err = readLabel(get("label")); err != nil {
		return Options{}, err
	}
	l = l.normalize() // in capitals a label may be longer
	if n := utf8.RuneCountInString(l.Label); n > MaxLabel {
		return Options{}, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "label has %d characters; at most %d", n,
			MaxLabel)
	}
	return l, nil
}

// parseLang returns the prepared language of a BCP 47 tag: pt for pt-BR, he for iw, zh-Hant
// for zh-TW. It does not substitute a related language, even if its speakers may understand
// it: the page should name one explicitly. The one exception is Norwegian, whose readers
// know both written forms.
func parseLang(value string, before error) (Lang, error) {
	if i := slices.Index(langTags[:], value); before != nil || value == "" || i >= 0 {
		return Lang(max(i, 0)), before
	}
	if len(value) <= fieldmark.MaxLanguageTag {
		tag, err := xlanguage.Parse(value)
		_, i, confidence := langMatcher().Match(tag)
		base, _ := tag.Base()
		prepared, _ := xlanguage.Make(langTags[i]).Base()
		if err == nil && (confidence == xlanguage.Exact || confidence == xlanguage.High &&
			(base == prepared || base.String() == "nn")) {
			return Lang(i), nil
		}
	}
	return 0, unknownValue("lang", langTags[:])
}

var langMatcher = sync.OnceValue(func() xlanguage.Matcher {
	tags := make([]xlanguage.Tag, langCount)
	for i, tag := range langTags {
		tags[i] = xlanguage.Make(tag)
	}
	return xlanguage.NewMatcher(tags)
})

// parse finds the value of a parameter among its names; an empty value selects the first.
func parse[T ~uint8](get func(string) string, parameter string, names []string, before error) (T, error) {
	value := get(parameter)
	if before != nil || value == "" {
		return 0, before
	}
	for i, name := range names {
		if name == value {
			return T(i), nil
		}
	}
	return 0, unknownValue(parameter, names)
}

func unknownValue(parameter string, names []string) error {
	return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown %s; known are %s", parameter,
		strings.Join(names, ", "))
}

// readLabel returns a label without what cannot be seen or reorders text, and
// without space around it.
func readLabel(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if !utf8.ValidString(s) {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidParameter, "label is not UTF-8")
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), reorders(r), r == 0xfffe, r == 0xffff:
			return -1
		}
		return r
	}, s)), nil
}

// normalize sets every option that does not change the picture to its default.
func (l Options) normalize() Options {
	if l.Style.shields() && l.Theme != Mono {
		l.Theme = Auto // these have one set of colours for every page
	}
	if !l.Style.gauge() {
		l.Animate = false
	}
	if l.Style == ForTheBadge && l.Label != "" {
		l.Label = cases.Upper(xlanguage.Make(langTags[int(l.Lang)%langCount])).String(l.Label)
	}
	if l.Style == Seal && l.Label == "" {
		l.Outline = false // a seal's own words are always outlines
	}
	return l
}

// Query returns the query of the options, beginning with "?", or an empty string for the
// defaults. Equal options have equal queries.
func (l Options) Query() string {
	l = l.normalize()
	var q []string
	add := func(name, value string, is bool) {
		if is {
			q = append(q, name+"="+value)
		}
	}
	add("style", styleNames[l.Style], l.Style != 0)
	add("theme", themeNames[l.Theme], l.Theme != 0)
	add("lang", langTags[l.Lang], l.Lang != 0)
	add("label", url.QueryEscape(l.Label), l.Label != "")
	add("animate", "1", l.Animate)
	add("font", "outline", l.Outline)
	add("claimed", "1", l.Claimed)
	if len(q) == 0 {
		return ""
	}
	return "?" + strings.Join(q, "&")
}

// Drawable reports whether the badge can be drawn without a text engine, as a
// PNG has to be: letters of a label that join or stack cannot.
func (l Options) Drawable() bool { return canOutline(l.Label) }

// Languages returns the tags of the prepared languages, in the order of Lang.
func Languages() []string { return langTags[:] }

// Styles returns the values of style=, the default first.
func Styles() []string { return slices.Clone(styleNames[:]) }

// Themes returns the values of theme=, the default first.
func Themes() []string { return slices.Clone(themeNames[:]) }

// langTags are the values of lang=.
var langTags = tagsOf(languages)

func tagsOf(list [langCount]language) (tags [langCount]string) {
	for i := range list {
		tags[i] = list[i].tag
	}
	return tags
}
