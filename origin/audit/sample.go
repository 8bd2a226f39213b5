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

// The sample: enough pages to see a template's habits, few enough to be a
// guest. Which pages they are depends on the site alone, never on chance.
const (
	maxPages  = 9 // besides the home page
	maxNewest = 3 // by lastmod; the rest is drawn by hash, so that archives count too
)

// purpose is a kind of page that brands have and visitors look for. All words
// are slugs.
type purpose struct {
	name  string
	whole map[string]bool // the whole text of a link
	start map[string]bool // the same, or what it starts with
	paths map[string]bool // a whole path segment, without extension
}

// purposes are looked for in this order.
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

// unaccented are the letters that normalization does not separate from their
// accents or ligatures.
var unaccented = strings.NewReplacer("ß", "ss", "ı", "i", "ł", "l", "ø", "o", "đ", "d", "æ", "ae", "œ", "oe", "ς", "σ")

// slug writes a text as link texts and path segments compare: words in lower case
// without accents, joined by hyphens.
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

// maxLinkName is how many bytes of text a link to a page of some purpose has:
// more is a teaser, and comparing it would cost.
const maxLinkName = 300

// maxContinued is how many characters may follow the words of a purpose in the
// text of a link: more is a sentence about something else.
const maxContinued = 24

// matches reports whether a link leads to a page of this purpose.
func (p *purpose) matches(a anchor) bool {
	return len(a.text) <= maxLinkName && p.matchesText(slug(a.text)) || p.matchesPath(a.url)
}

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

func (p *purpose) matchesPath(u *url.URL) bool {
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	// Deep pages are about something else, whatever a segment says.
	if len(segments) > 3 {
		return false
	}
	return slices.ContainsFunc(segments, func(s string) bool {
		return p.paths[slug(strings.TrimSuffix(s, path.Ext(s)))]
	})
}

// findPurpose returns the first link on a page that serves a purpose. Links to
// other sites count where the caller does not ask for the same host.
func findPurpose(p *page, want *purpose, fits func(*url.URL) bool) (anchor, bool) {
	for _, a := range p.anchors {
		if fits(a.url) && want.matches(a) {
			return a, true
		}
	}
	return anchor{}, false
}

// sampleOf chooses up to maxPages addresses besides the home page.
func sampleOf(home *page, s *sitemap) []*url.URL {
	chosen := map[string]bool{key(home.url): true}
	if c := home.rel("canonical"); len(c) == 1 && c[0].url != nil {
		chosen[key(c[0].url)] = true // the home page under its other name
	}
	var list []*url.URL
	take := func(u *url.URL) {
		if k := key(u); len(list) < maxPages && !chosen[k] {
			chosen[k] = true
			list = append(list, bare(u, home.url))
		}
	}
	fits := func(u *url.URL) bool { return samplable(u, home.url) && !chosen[key(u)] }
	for i := range purposes {
		if a, ok := findPurpose(home, &purposes[i], fits); ok {
			take(a.url)
		}
	}
	own := slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool { return !samplable(e.loc, home.url) })
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
			if samplable(a.url, home.url) {
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

// samplable reports whether u may be a page of the same site worth reading.
func samplable(u, home *url.URL) bool {
	if u.Host != home.Host || len(u.String()) > maxPageURL || u.User != nil {
		return false
	}
	switch ext := strings.ToLower(path.Ext(u.Path)); ext {
	case "", ".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp", ".do", ".cgi":
		return true
	default:
		// A dot inside a slug is no extension: /v1.2-released
		return len(ext) > 5
	}
}

// bare drops the fragment of u and gives it the scheme of the home page, which
// is the one that answers.
func bare(u, home *url.URL) *url.URL {
	c := *u
	c.Fragment, c.RawFragment, c.Scheme = "", "", home.Scheme
	return &c
}

// key names a page whatever the spelling of its address.
func key(u *url.URL) string {
	p := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "index.html"), "index.php"), "/")
	return u.Host + p + "?" + u.RawQuery
}

// compareHash orders addresses by the hash of their key, which no site can
// arrange and which is the same every time.
func compareHash(a, b *url.URL) int {
	x, y := sha256.Sum256([]byte(key(a))), sha256.Sum256([]byte(key(b)))
	return cmp.Or(slices.Compare(x[:], y[:]), strings.Compare(a.String(), b.String()))
}
