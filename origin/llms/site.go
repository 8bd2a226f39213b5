package llms

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Where the rules about a site stand.
const (
	refDiscovery = "https://llmstxt.org/#discovery"
	refStatus    = "https://www.rfc-editor.org/rfc/rfc9110#section-15.3.1"
)

// Visit is what somebody met who asked a site for its llms.txt.
type Visit struct {
	URL         *url.URL // that answered, after redirects
	Refused     string   // why there is no answer, in a few words; the rest is empty then
	Status      int
	ContentType string // as it was sent
	Body        []byte
	Missing     *Page // what a path that cannot exist answered; nil: not asked, or not 200
	Home        *Page // of the directory the file covers; nil: no page there
}

// Page is another page of the site.
type Page struct {
	URL      *url.URL
	Body     []byte
	Language string // BCP 47, as the page says
	Links    []PageLink
}

// PageLink is a <link> of a page, or a Link field of its answer.
type PageLink struct {
	Rel  string
	URL  *url.URL
	Type string
}

// LintVisit grades a file as a site serves it: all that Lint says of its body,
// and whether its readers get it and can find it.
func LintVisit(v Visit) Report {
	l := &linter{counts: map[string]int{}, report: Report{Issues: []Issue{}}}
	switch {
	case v.Refused != "":
		l.add("no-answer", SeverityError, -1, refStatus, "%s", v.Refused)
		return l.at(v.URL)
	case v.Status != http.StatusOK:
		l.add("not-200", SeverityError, -1, refStatus, "the file is answered with status %d", v.Status)
		return l.at(v.URL)
	case v.soft():
		l.add("soft-404", SeverityError, -1, refStatus, "a path that cannot exist is answered with the same page")
		return l.at(v.URL)
	}
	body := Lint(v.Body)
	l.mediaType(v)
	if body.Level > LevelNone {
		l.discoverable(v)
		l.offSite(v)
		l.languages(v)
	}
	body.Issues = append(l.report.Issues, body.Issues...)
	l.report = body
	return l.at(v.URL)
}

// at finishes a report with the address it speaks of.
func (l *linter) at(u *url.URL) Report {
	if u != nil {
		l.report.URL = u.String()
	}
	return l.report
}

// soft reports whether the answer is one that any path gets. A site that shows
// each path in its page gives two that differ, but both are pages.
func (v Visit) soft() bool {
	if v.Missing == nil {
		return false
	}
	mine, theirs := bytes.TrimSpace(v.Body), bytes.TrimSpace(v.Missing.Body)
	return bytes.Equal(mine, theirs) || isHTML(mine) && isHTML(theirs)
}

// mediaType checks what the answer says it is.
func (l *linter) mediaType(v Visit) {
	kind, params, err := mime.ParseMediaType(v.ContentType)
	charset := strings.ToLower(params["charset"])
	switch {
	case v.ContentType == "":
		l.add("media-type", SeverityWarning, -1, refUTF8, "the answer has no Content-Type; text/markdown or text/plain is expected")
	case err != nil || kind != "text/markdown" && kind != "text/plain":
		l.add("media-type", SeverityWarning, -1, refUTF8, "served as %s; text/markdown or text/plain is expected", quoted(v.ContentType))
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		l.add("media-type", SeverityWarning, -1, refUTF8, "served with the charset %s; the file is read as UTF-8", quoted(charset))
	}
}

// quoted bounds what is said back of what a stranger sent.
func quoted(s string) string { return fmt.Sprintf("%.60q", s) }

// discoverable checks whether the pages the file covers lead to it, and to
// their own form in Markdown.
func (l *linter) discoverable(v Visit) {
	if v.Home == nil {
		return
	}
	described, twin := false, false
	for _, link := range v.Home.Links {
		rels := strings.Fields(strings.ToLower(link.Rel))
		if slices.Contains(rels, "describedby") && link.URL != nil {
			described = described || sameAddress(link.URL, v.URL)
		}
		kind, _, _ := mime.ParseMediaType(link.Type)
		twin = twin || slices.Contains(rels, "alternate") && kind == "text/markdown"
	}
	if !described {
		l.add("not-discoverable", SeverityWarning, -1, refDiscovery, "%s has no link or Link field with rel=\"describedby\" that leads to this file", v.Home.URL)
	}
	if !twin {
		l.add("no-alternate-markdown", SeverityInfo, -1, refDiscovery, "%s offers no form in Markdown (rel=\"alternate\" type=\"text/markdown\")", v.Home.URL)
	}
}

// sameAddress compares without scheme and www, which sites redirect between.
func sameAddress(a, b *url.URL) bool {
	return bareHost(a) == bareHost(b) && path.Clean("/"+a.Path) == path.Clean("/"+b.Path)
}

func bareHost(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") }

// offSite tells when most links lead away: the file says little of its own site
// then. A few to profiles and partners are what links are for.
func (l *linter) offSite(v Visit) {
	own, other := 0, 0
	for _, u := range addresses(v.Body) {
		host := bareHost(u)
		if u.Host == "" || host == bareHost(v.URL) || strings.HasSuffix(host, "."+bareHost(v.URL)) || strings.HasSuffix(bareHost(v.URL), "."+host) {
			own++
		} else {
			other++
		}
	}
	if other > own {
		l.add("off-site-links", SeverityInfo, -1, refFormat, "%d of %d links lead to other sites", other, own+other)
	}
}

// languages tells when the file is written in another script than the pages it
// speaks for. Languages of one script it cannot tell apart, and does not try.
func (l *linter) languages(v Visit) {
	if v.Home == nil || v.Home.Language == "" {
		return
	}
	tag, ok := parseLanguage(v.Home.Language)
	if !ok {
		return
	}
	script, _ := tag.Script()
	wanted, known := scripts[script.String()]
	if !known {
		return
	}
	have, all := 0, 0
	for _, r := range string(webAddress.ReplaceAll(v.Body[:min(len(v.Body), maxLint)], nil)) {
		if unicode.IsLetter(r) {
			all++
			if unicode.In(r, wanted...) {
				have++
			}
		}
	}
	// Product names are Latin everywhere, so a tenth will do.
	if all >= minLetters && have*10 < all {
		l.add("language-mismatch", SeverityInfo, -1, refDiscovery, "the page is in %s; the file is in another script", tag)
	}
}

// webAddress is Latin in every language.
var webAddress = regexp.MustCompile(`https?://[^\s)]+`)

// minLetters is below what a file is too short to have a script.
const minLetters = 40

// scripts are the letters of those scripts that are told apart (ISO 15924).
var scripts = map[string][]*unicode.RangeTable{
	"Latn": {unicode.Latin}, "Cyrl": {unicode.Cyrillic}, "Grek": {unicode.Greek}, "Arab": {unicode.Arabic}, "Hebr": {unicode.Hebrew},
	"Deva": {unicode.Devanagari}, "Thai": {unicode.Thai}, "Hans": {unicode.Han}, "Hant": {unicode.Han},
	"Jpan": {unicode.Han, unicode.Hiragana, unicode.Katakana}, "Kore": {unicode.Hangul, unicode.Han},
}
