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

// The specifications behind the rules about how a site serves its llms.txt.
const (
	refDiscovery = "https://llmstxt.org/#discovery"
	refStatus    = "https://www.rfc-editor.org/rfc/rfc9110#section-15.3.1"
)

// Visit is the outcome of fetching a site's llms.txt.
type Visit struct {
	URL         *url.URL // of the response, after redirects
	Refused     string   // why there is no response; if set, the rest is empty
	Status      int
	ContentType string // unparsed
	Body        []byte
	Missing     *Page // response for a path that cannot exist; nil if not fetched, or not 200
	Home        *Page // page of the directory that the file covers; nil if it does not exist
}

// Page is another page of the site.
type Page struct {
	URL      *url.URL
	Body     []byte
	Language string // BCP 47, as declared by the page
	Links    []PageLink
}

// PageLink is a <link> element of a page, or a Link field of its response.
type PageLink struct {
	Rel  string
	URL  *url.URL
	Type string
}

// LintVisit grades a file as its site serves it: it applies Lint to the content,
// and checks whether readers can fetch and find the file.
func LintVisit(v Visit) Report {
	l := newLinter()
	switch {
	case v.Refused != "":
		l.add("no-answer", SeverityError, -1, refStatus, "%s", v.Refused)
		return l.withURL(v.URL)
	case v.Status != http.StatusOK:
		l.add("not-200", SeverityError, -1, refStatus, "the server returned status %d", v.Status)
		return l.withURL(v.URL)
	case v.isSoft404():
		l.add("soft-404", SeverityError, -1, refStatus, "the server returns the same page for a path that cannot exist")
		return l.withURL(v.URL)
	}
	body := lint(v.Body, bareHost(v.URL))
	l.mediaType(v)
	if body.Level > LevelNone {
		l.discoverable(v)
		l.offSite(v)
		l.languages(v)
	}
	body.Issues = append(l.report.Issues, body.Issues...)
	l.report = body
	return l.withURL(v.URL)
}

// withURL returns the report with the address of the file.
func (l *linter) withURL(u *url.URL) Report {
	if u != nil {
		l.report.URL = u.String()
	}
	return l.report
}

// isSoft404 reports whether the server returns the same response for every path. A
// site that shows the path in its page returns two different ones, but both are
// HTML pages.
func (v Visit) isSoft404() bool {
	if v.Missing == nil {
		return false
	}
	mine, theirs := bytes.TrimSpace(v.Body), bytes.TrimSpace(v.Missing.Body)
	return bytes.Equal(mine, theirs) || isHTML(mine) && isHTML(theirs)
}

// mediaType checks the Content-Type.
func (l *linter) mediaType(v Visit) {
	kind, params, err := mime.ParseMediaType(v.ContentType)
	charset := strings.ToLower(params["charset"])
	switch {
	case v.ContentType == "":
		l.add("media-type", SeverityWarning, -1, refUTF8,
			"the response has no Content-Type; text/markdown or text/plain is expected")
	case err != nil || kind != "text/markdown" && kind != "text/plain":
		l.add("media-type", SeverityWarning, -1, refUTF8, "served as %s; text/markdown or text/plain is expected",
			quoted(v.ContentType))
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		l.add("media-type", SeverityWarning, -1, refUTF8, "served with the charset %s; the file is read as UTF-8",
			quoted(charset))
	}
}

// quoted limits text from a site that is repeated in a report.
func quoted(s string) string { return fmt.Sprintf("%.60q", s) }

// discoverable checks whether the page that the file covers links to it, and to its
// own Markdown version.
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
		// Type is optional in HTML: without it the link is to no Markdown version.
		kind, _, _ := mime.ParseMediaType(link.Type)
		twin = twin || slices.Contains(rels, "alternate") && kind == "text/markdown"
	}
	if !described {
		l.add("not-discoverable", SeverityWarning, -1, refDiscovery,
			"%s has no link or Link field with rel=\"describedby\" that points to this file", v.Home.URL)
	}
	if !twin {
		l.add("no-alternate-markdown", SeverityInfo, -1, refDiscovery,
			"%s has no Markdown version (rel=\"alternate\" type=\"text/markdown\")", v.Home.URL)
	}
}

// sameAddress compares addresses without scheme and www, between which sites
// redirect.
func sameAddress(a, b *url.URL) bool {
	return bareHost(a) == bareHost(b) && path.Clean("/"+a.Path) == path.Clean("/"+b.Path)
}

func bareHost(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") }

// offSite reports if most links lead to other sites, because the file then says
// little about its own. A few links to profiles and partners are normal.
func (l *linter) offSite(v Visit) {
	own, other := 0, 0
	for _, u := range addresses(v.Body) {
		host := bareHost(u)
		// A relative link has no host. Hosts below each other are one site, in both directions.
		if u.Host == "" || host == bareHost(v.URL) || strings.HasSuffix(host, "."+bareHost(v.URL)) ||
			strings.HasSuffix(bareHost(v.URL), "."+host) {
			own++
		} else {
			other++
		}
	}
	if other > own {
		l.add("off-site-links", SeverityInfo, -1, refFormat, "%d of %d links lead to other sites", other, own+other)
	}
}

// languages reports if the file is in another script than the page it covers.
// Languages with the same script are not distinguished.
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
	// Product names are Latin in all languages, so a tenth is enough.
	if all >= minLetters && have*10 < all {
		l.add("language-mismatch", SeverityInfo, -1, refDiscovery, "the page is in %s; the file is in another script",
			tag)
	}
}

// webAddress matches addresses, which are Latin in all languages.
var webAddress = regexp.MustCompile(`https?://[^\s)]+`)

// minLetters is the number of letters below which a file has no clear script.
const minLetters = 40

// scripts are the letters of the scripts that are distinguished (ISO 15924).
var scripts = map[string][]*unicode.RangeTable{
	"Latn": {unicode.Latin}, "Cyrl": {unicode.Cyrillic}, "Grek": {unicode.Greek}, "Arab": {unicode.Arabic},
	"Hebr": {unicode.Hebrew},
	"Deva": {unicode.Devanagari}, "Thai": {unicode.Thai}, "Hans": {unicode.Han}, "Hant": {unicode.Han},
	"Jpan": {unicode.Han, unicode.Hiragana, unicode.Katakana}, "Kore": {unicode.Hangul, unicode.Han},
}
