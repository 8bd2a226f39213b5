package audit

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/prose"
	"github.com/fieldmark/fieldmark/origin/audit/robots"
	"golang.org/x/text/language"
)

// patchFacts writes the changes that would improve the facts. It reads what the
// crawl found and changes only the findings.
type patchFacts struct{ *site }

// add adds to the evidence of facts what to paste into the page or the file. It comes
// after all facts, and changes none. Text of the site is untrusted: in a patch it is
// shortened, has no invisible characters, and is escaped for the place where it is pasted.
// A patch that would exceed its limit is left out: half of a file is worse than none.
func (f patchFacts) add(found findings) {
	f.patchRobots(found)
	f.patchPages(found, "canonical.good", func(p *page) fieldmark.Evidence {
		e := fieldmark.Evidence{Patch: linkElement("canonical", withoutFragment(p.url, p.url).String(), "")}
		if list := p.rel("canonical"); len(list) > 0 {
			e.Passage = list[0].href
		}
		return e
	})
	f.patchPages(found, "lang.html", func(p *page) fieldmark.Evidence {
		tag := f.languageOf(p)
		if tag == "" {
			return fieldmark.Evidence{Passage: p.lang}
		}
		return fieldmark.Evidence{Passage: p.lang, Patch: fmt.Sprintf("<html lang=%q>", tag)}
	})
	f.patchPages(found, "lang.hreflang", f.translationLinks)
	f.patchPages(found, "title.good", f.titleElement)
	f.patchPages(found, "description.good", f.descriptionElement)
	f.patchPages(found, "fresh.recent", f.modifiedElement)
	f.patchOrganization(found)
}

// patchPages adds passage and patch to the evidence of the pages that a fact below full is
// about. The first entry is the summary.
// It looks pages up by their address, since the evidence is sorted and limited by now.
func (f patchFacts) patchPages(found findings, id string, repair func(*page) fieldmark.Evidence) {
	fact := found.fact(id)
	if fact.State != fieldmark.Measured || fact.Value == one || len(fact.Evidence) < 2 {
		return
	}
	for i := range fact.Evidence[1:] {
		e := &fact.Evidence[1+i]
		at := slices.IndexFunc(f.pages, func(p *page) bool { return p.url.String() == e.URL })
		if at < 0 {
			continue
		}
		r := repair(f.pages[at])
		e.Passage = shorten(r.Passage, fieldmark.MaxEvidenceText)
		if utf8.RuneCountInString(r.Patch) <= fieldmark.MaxEvidencePatch {
			e.Patch = r.Patch
		}
	}
}

// patchRobots adds the lines that let a blocked crawler fetch the site, and the line of a
// missing sitemap. A robots.txt that does not respond cannot be patched.
// The group for one crawler replaces that for all (RFC 9309, 2.2.1), which the comment in the patch
// says.
func (f patchFacts) patchRobots(found findings) {
	if f.robots.Fixed != "" && f.robots.Fixed != robots.Allowed {
		return
	}
	for _, c := range robots.Crawlers {
		if c.Fact == "" {
			continue
		}
		fact := found.fact(c.Fact)
		if fact.State != fieldmark.Measured || 2*fact.Value >= one {
			continue // the method calls it blocked only for most addresses
		}
		for i := range fact.Evidence {
			if e := &fact.Evidence[i]; strings.HasPrefix(e.Fact, c.Token+" may fetch") {
				e.Patch = "# Applies instead of the group * to this crawler.\nUser-agent: " + c.Token + "\nAllow: /\n"
			}
		}
	}
	if fact := found.fact("sitemap.found"); fact.State == fieldmark.Measured && fact.Value == 0 {
		at := f.home.url.Scheme + "://" + f.home.url.Host + "/sitemap.xml"
		file, line := newEvidence(at, "no sitemap"), newEvidence(f.robots.URL, "names no sitemap")
		file.Patch, line.Patch = f.sitemapFile(), "Sitemap: "+at+"\n"
		fact.Evidence = append([]fieldmark.Evidence{file, line}, fact.Evidence...)
		fact.Evidence = fact.Evidence[:min(len(fact.Evidence), fieldmark.MaxEvidence)]
	}
}

// sitemapFile returns a sitemap of the pages that were read, as many as fit.
func (f patchFacts) sitemapFile() string {
	const end = "</urlset>\n"
	b := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
	for _, p := range f.pages {
		line := "<url><loc>" + html.EscapeString(p.url.String()) + "</loc></url>\n"
		if utf8.RuneCountInString(b+line+end) > fieldmark.MaxEvidencePatch {
			break
		}
		b += line
	}
	return b + end
}

// languageOf returns the language of a page that does not declare a valid one: from its
// Content-Language field, its words, or what is known of the brand; "" if none of them says.
func (f patchFacts) languageOf(p *page) string {
	declared, _, _ := strings.Cut(p.header.Get("Content-Language"), ",")
	if tag, ok := validTag(declared); ok {
		return tag
	}
	if tag, ok := prose.New(p.figures, countWords(p.figures)).Language(); ok && f.faults[p].reason == "" {
		return tag
	}
	tag, _ := validTag(f.subject.Language)
	return tag
}

func validTag(s string) (string, bool) {
	t, err := language.Parse(strings.TrimSpace(s))
	if err != nil || t == language.Und {
		return "", false
	}
	return t.String(), true
}

// linkElement returns a link element.
func linkElement(rel, href, hreflang string) string {
	if hreflang != "" {
		hreflang = fmt.Sprintf(` hreflang="%s"`, html.EscapeString(hreflang))
	}
	return fmt.Sprintf(`<link rel="%s"%s href="%s">`, rel, hreflang, html.EscapeString(href))
}

// translationLinks returns the links that a page and each of its translations need: one to
// each of them, the page itself included.
func (f patchFacts) translationLinks(p *page) fieldmark.Evidence {
	own, ok := validTag(p.lang)
	if !ok {
		return fieldmark.Evidence{}
	}
	lines := []string{linkElement("alternate", p.url.String(), own)}
	for _, l := range alternates(p) {
		tag := strings.ToLower(l.hreflang)
		if _, ok := validTag(tag); (!ok && tag != "x-default") || l.url == nil || pageKey(l.url) == pageKey(p.url) {
			continue
		}
		if line := linkElement("alternate", l.url.String(), l.hreflang); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return fieldmark.Evidence{}
	}
	return fieldmark.Evidence{Patch: "<!-- the same on this page and on each of its translations -->\n" +
		strings.Join(lines, "\n")}
}

// titleElement returns a title from the first H1 of a page and the name of the brand.
func (f patchFacts) titleElement(p *page) fieldmark.Evidence {
	e := fieldmark.Evidence{Passage: p.title}
	at := slices.IndexFunc(p.headings, func(h heading) bool { return h.level == 1 })
	if at < 0 {
		return e
	}
	name := shorten(f.subject.Name, maxTitle)
	title := shorten(p.headings[at].text, maxLabel)
	if with := title + " – " + name; title != "" && name != "" && !mentionsName(title, name) &&
		width(with) <= maxTitle {
		title = with
	}
	if title = cutWords(title, maxTitle); width(title) >= minTitle && title != p.title {
		e.Patch = "<title>" + html.EscapeString(title) + "</title>"
	}
	return e
}

// descriptionElement returns a description from the first sentences of a page.
func (f patchFacts) descriptionElement(p *page) fieldmark.Evidence {
	e := fieldmark.Evidence{Passage: p.description}
	for line := range strings.Lines(p.prose) {
		line = shorten(line, maxLine)
		if width(line) < minDescription {
			continue
		}
		e.Patch = fmt.Sprintf(`<meta name="description" content="%s">`,
			html.EscapeString(cutWords(line, maxDescription)))
		break
	}
	return e
}

// modifiedElement states on a page the date that so far only the sitemap or the server
// states. It does not change the fact; readers of the page alone then know the date.
func (f patchFacts) modifiedElement(p *page) fieldmark.Evidence {
	d := f.dates[p]
	if d.source != "sitemap lastmod" && d.source != "Last-Modified" {
		return fieldmark.Evidence{}
	}
	return fieldmark.Evidence{Patch: fmt.Sprintf(`<meta property="article:modified_time" content="%s">`,
		d.at.UTC().Format("2006-01-02"))}
}

// cutWords shortens s to at most n columns, at the end of a sentence if there is one in the
// last third, else at the end of a word.
func cutWords(s string, n int) string {
	if width(s) <= n {
		return s
	}
	columns, sentence, word := 0, 0, 0
	for i, r := range s {
		if columns += width(string(r)); columns >= n { // leaves room for an ellipsis
			break
		}
		switch {
		case strings.ContainsRune(".!?。！？", r) && 3*columns >= 2*n:
			sentence = i + utf8.RuneLen(r)
		case r == ' ':
			word = i
		case width(string(r)) > 1: // scripts without spaces
			word = i + utf8.RuneLen(r)
		}
	}
	switch {
	case sentence > 0:
		return s[:sentence]
	case word > 0:
		return strings.TrimRight(s[:word], " ,;:–-") + "…"
	}
	return cutRunes(s, n-1) + "…"
}

// organizationData is an Organization in JSON-LD.
type organizationData struct {
	Context     string        `json:"@context"`
	Type        string        `json:"@type"`
	Name        string        `json:"name"`
	URL         string        `json:"url"`
	Logo        string        `json:"logo,omitempty"`
	Description string        `json:"description,omitempty"`
	Contact     *contactPoint `json:"contactPoint,omitempty"`
	SameAs      []string      `json:"sameAs,omitempty"`
}

type contactPoint struct {
	Type string `json:"@type"`
	URL  string `json:"url"`
}

// maxPatchProfiles limits the profiles in a patch.
const maxPatchProfiles = 5

// patchOrganization adds a description of the organization to the first of its facts that is
// not met, from what the site says already.
func (f patchFacts) patchOrganization(found findings) {
	ids := []string{"org.name", "org.url", "org.logo", "org.description", "org.contact"}
	at := slices.IndexFunc(ids, func(id string) bool {
		fact := found.fact(id)
		return fact.State == fieldmark.Measured && fact.Value == 0 && len(fact.Evidence) > 0
	})
	if at < 0 || f.subject.Name == "" {
		return
	}
	o := organizationData{Context: "https://schema.org", Type: "Organization", Name: shorten(f.subject.Name,
		fieldmark.MaxBrandName), URL: f.home.url.String(), Logo: f.logo(), Description: shorten(f.home.description,
		maxDescription), SameAs: f.linkedProfiles()}
	if known := entityFacts(f).organization(); known != nil {
		o.Type = known.kind
	}
	for i := range f.sample {
		if f.sample[i].role == fieldmark.PageContact {
			o.Contact = &contactPoint{Type: "ContactPoint", URL: f.sample[i].url.String()}
		}
	}
	for {
		// Marshal escapes <, > and &, so that the text cannot end the script element.
		b, err := json.MarshalIndent(o, "", " ")
		if err != nil {
			return
		}
		patch := "<script type=\"application/ld+json\">\n" + string(b) + "\n</script>"
		if utf8.RuneCountInString(patch) <= fieldmark.MaxEvidencePatch {
			found.fact(ids[at]).Evidence[0].Patch = patch
			return
		}
		switch {
		case len(o.SameAs) > 0:
			o.SameAs = o.SameAs[:len(o.SameAs)-1]
		case o.Description != "":
			o.Description = ""
		default:
			return
		}
	}
}

// logo returns the address of a picture that the home page calls its icon, or shares.
func (f patchFacts) logo() string {
	for _, rel := range []string{"apple-touch-icon", "icon"} {
		for _, l := range f.home.rel(rel) {
			if l.url != nil {
				return l.url.String()
			}
		}
	}
	if u := resolve(f.home.url, f.home.meta("og:image")); u != nil {
		return u.String()
	}
	return ""
}

// linkedProfiles returns the profiles that the site claims, or else those that the home page
// links.
// Links within the text are left out: an article may link to any profile.
func (f patchFacts) linkedProfiles() (list []string) {
	for _, p := range f.profiles {
		if p.State != fieldmark.ProfileRefuted {
			list = append(list, p.URL)
		}
	}
	if len(list) == 0 {
		for _, a := range f.home.anchors {
			if a.url != nil && profileDomains[domain(a.url)] && len(a.url.Path) > 1 && !a.main &&
				!slices.Contains(list, a.url.String()) {
				list = append(list, a.url.String())
			}
		}
	}
	return list[:min(len(list), maxPatchProfiles)]
}
