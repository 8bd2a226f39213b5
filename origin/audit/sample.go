package audit

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The sample is large enough to show the patterns of a site's templates and small
// enough not to burden the site. It depends on the site alone and not on chance.
const (
	maxPages  = 9 // in addition to the home page
	maxNewest = 3 // by lastmod; the rest is selected by hash, so that archives are included
)

// purpose is a kind of page that people look for. All words are slugs.
type purpose struct {
	name  string
	whole map[string]bool // the whole text of a link
	start map[string]bool // the whole text or its start
	paths map[string]bool // a whole path segment, without extension
}

// purposes are searched in this order.
var purposes = []purpose{
	newPurpose("about", func(l *lexicon) (texts, paths string) { return l.about, l.aboutPaths }),
	newPurpose("contact", func(l *lexicon) (texts, paths string) { return l.contact, l.contactPaths }),
	newPurpose("offer", func(l *lexicon) (texts, paths string) { return l.offer, l.offerPaths }),
}

// newPurpose collects the words of one purpose in all languages.
func newPurpose(name string, words func(*lexicon) (texts, paths string)) purpose {
	p := purpose{name: name, whole: map[string]bool{}, start: map[string]bool{}, paths: map[string]bool{}}
	for i := range lexicons {
		texts, paths := words(&lexicons[i])
		for _, text := range splitWords(texts) {
			if text, only := strings.CutSuffix(text, "="); only {
				p.whole[slug(text)] = true
			} else {
				p.start[slug(text)], p.paths[slug(text)] = true, true
			}
		}
		for _, path := range splitWords(paths) {
			p.paths[slug(path)] = true
		}
	}
	return p
}

// unaccented replaces letters whose accents or ligatures normalization does not
// separate.
var unaccented = strings.NewReplacer("ß", "ss", "ı", "i", "ł", "l", "ø", "o", "đ", "d", "æ", "ae", "œ", "oe", "ς", "σ")

// slug returns a text in the form used to compare link texts and path segments:
// lower-case words without accents, joined by hyphens.
func slug(s string) string {
	s = unaccented.Replace(norm.NFKD.String(strings.ToLower(s)))
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !inWord(r) && !unicode.IsNumber(r) }), "-")
}

// maxLinkName limits the text of a link to such a page, in bytes: a longer one is a
// teaser and slow to compare.
const maxLinkName = 300

// maxContinued is how many characters may follow the words of a purpose in a link
// text: more is a sentence about something else.
const maxContinued = 24

// matches reports whether a link leads to a page of this purpose.
func (p *purpose) matches(a anchor) bool {
	return len(a.text) <= maxLinkName && p.matchesText(slug(a.text)) || p.matchesPath(a.url)
}

// matchesText reports whether the slug of a link text names this purpose: as a whole,
// or at its start if little follows.
func (p *purpose) matchesText(text string) bool {
	if p.whole[text] || p.start[text] {
		return true
	}
	unspaced := !spaced(text)
	for i, r := range text {
		if r != '-' && !unspaced || !p.start[text[:i]] || r != '-' && spaced(text[:i]) {
			continue
		}
		if utf8.RuneCountInString(text[i:]) <= maxContinued {
			return true
		}
	}
	return false
}

// matchesPath reports whether a segment of a short path names this purpose.
func (p *purpose) matchesPath(u *url.URL) bool {
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	// Deep pages are about something else, whatever their segments say.
	if len(segments) > 3 {
		return false
	}
	return slices.ContainsFunc(segments, func(s string) bool {
		return p.paths[slug(strings.TrimSuffix(s, path.Ext(s)))]
	})
}

// findPurpose returns the first link on a page that matches a purpose and whose
// address passes fits.
func findPurpose(p *page, want *purpose, fits func(*url.URL) bool) (anchor, bool) {
	for _, a := range p.anchors {
		if fits(a.url) && want.matches(a) {
			return a, true
		}
	}
	return anchor{}, false
}

// sampleOf selects up to maxPages addresses in addition to the home page.
func sampleOf(home *page, s *sitemap) []*url.URL {
	chosen := map[string]bool{pageKey(home.url): true}
	if c := home.rel("canonical"); len(c) == 1 && c[0].url != nil {
		chosen[pageKey(c[0].url)] = true // the home page under its canonical address
	}
	var list []*url.URL
	take := func(u *url.URL) {
		if k := pageKey(u); len(list) < maxPages && !chosen[k] {
			chosen[k] = true
			list = append(list, withoutFragment(u, home.url))
		}
	}
	fits := func(u *url.URL) bool { return isSamplable(u, home.url) && !chosen[pageKey(u)] }
	for i := range purposes {
		if a, ok := findPurpose(home, &purposes[i], fits); ok {
			take(a.url)
		}
	}
	own := slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool { return !isSamplable(e.loc, home.url) })
	if s.trusted {
		newest := len(list) + maxNewest
		slices.SortStableFunc(own, func(a, b entry) int {
			return cmp.Or(strings.Compare(b.lastmod, a.lastmod), compareHash(a.loc, b.loc))
		})
		for _, e := range own {
			if e.lastmod == "" || len(list) >= newest {
				break
			}
			take(e.loc)
		}
	}
	rest := make([]*url.URL, 0, len(own))
	for _, e := range own {
		rest = append(rest, e.loc)
	}
	if len(rest) == 0 {
		for _, a := range home.anchors {
			if isSamplable(a.url, home.url) {
				rest = append(rest, a.url)
			}
		}
	}
	slices.SortFunc(rest, compareHash)
	for _, u := range rest {
		take(u)
	}
	return list
}

// isSamplable reports whether u may be a page of the same site.
func isSamplable(u, home *url.URL) bool {
	if u.Host != home.Host || len(u.String()) > maxPageURL || u.User != nil {
		return false
	}
	switch ext := strings.ToLower(path.Ext(u.Path)); ext {
	case "", ".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp", ".do", ".cgi":
		return true
	default:
		// A dot in a slug is not an extension: /v1.2-released
		return len(ext) > 5
	}
}

// withoutFragment returns u without its fragment and with the scheme of the home
// page.
func withoutFragment(u, home *url.URL) *url.URL {
	c := *u
	c.Fragment, c.RawFragment, c.Scheme = "", "", home.Scheme
	return &c
}

// pageKey returns a key that is the same for equivalent spellings of an address.
func pageKey(u *url.URL) string {
	p := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "index.html"), "index.php"), "/")
	return u.Host + p + "?" + u.RawQuery
}

// compareHash orders addresses by the hash of their key: deterministic, and not
// under the control of the site.
func compareHash(a, b *url.URL) int {
	x, y := sha256.Sum256([]byte(pageKey(a))), sha256.Sum256([]byte(pageKey(b)))
	return cmp.Or(slices.Compare(x[:], y[:]), strings.Compare(a.String(), b.String()))
}
