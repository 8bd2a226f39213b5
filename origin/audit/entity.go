package audit

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/schema"
)

// entityFacts measures what the site states about its brand: organization, names, profiles. It reads what the
// crawl found and changes only the findings.
type entityFacts struct{ *site }

// setOf returns a set of names.
func setOf(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// profileDomains are sites where brands have profiles that anyone can check.
// A profile elsewhere is worth nothing here, because a site could set it up for this purpose.
var profileDomains = setOf("linkedin.com", "facebook.com", "instagram.com", "twitter.com", "x.com", "youtube.com",
	"tiktok.com", "pinterest.com", "threads.net", "threads.com", "bsky.app",
	"github.com", "gitlab.com", "codeberg.org", "bitbucket.org", "huggingface.co", "npmjs.com", "crunchbase.com",
	"xing.com", "kununu.com", "glassdoor.com", "trustpilot.com", "g2.com", "capterra.com",
	"yelp.com", "tripadvisor.com", "vimeo.com", "medium.com", "substack.com", "reddit.com", "discord.gg", "discord.com",
	"t.me", "telegram.me", "whatsapp.com", "weibo.com", "zhihu.com", "bilibili.com",
	"vk.com", "ok.ru", "line.me", "note.com", "qiita.com", "naver.com", "soundcloud.com", "spotify.com", "apple.com",
	"google.com", "goo.gl", "orcid.org", "imdb.com", "opencorporates.com", "isni.org",
	"viaf.org", "mastodon.social", "producthunt.com", "angel.co", "wellfound.com", "behance.net", "dribbble.com",
	"flickr.com", "etsy.com", "patreon.com", "musicbrainz.org", "discogs.com", "openstreetmap.org")

// referenceDomains are the encyclopedias that answer engines take names from.
var referenceDomains = setOf("wikidata.org", "wikipedia.org")

// measure measures whether a program can identify the owner of the site.
func (f entityFacts) measure(found findings) {
	org := f.organization()
	f.organizationFields(found, org)
	f.sameAs(found)
	f.coherence(found, org)
	f.purposeLinks(found)
	f.openGraph(found)
}

// organization is what the site's structured data states about its owner, merged from
// the pages that are always read, so that it does not depend on the draw.
type organization struct {
	where  string // address of the page with the most properties
	name   string
	kind   string
	fields map[string]string // property to an example
	sameAs []string
	size   int
}

// organization merges the items that describe the brand: those with its name, or
// else those on the home page that link to this domain. An organization with
// another name may be a customer or a partner.
// Pages describe their owner in parts: the logo on one, the address on the contact page.
func (f entityFacts) organization() *organization {
	var best *organization
	merged := map[string]*organization{}
	for _, p := range f.fixed {
		for i := range p.graph {
			t := &p.graph[i]
			name := cmp.Or(t.First("name"), t.First("legalName"))
			if !t.Is(schema.OrganizationTypes) && !t.Is(schema.PersonTypes) || !f.isOwner(p, t, name) {
				continue
			}
			id := strings.Join(nameWords(name), " ")
			o := merged[id]
			if o == nil {
				o = &organization{where: p.url.String(), name: name, kind: t.Types[0], fields: map[string]string{}}
				merged[id] = o
			}
			o.add(p, t)
			if best == nil || o.size > best.size {
				best = o
			}
		}
	}
	return best
}

// isOwner reports whether an organization, or a person with the name of the brand, is the
// owner of the site.
// The name decides, since structured data of shops and agencies also describes their customers.
func (f entityFacts) isOwner(p *page, t *schema.Thing, name string) bool {
	if name != "" && f.subject.Name != "" && (sameName(name, f.subject.Name) || mentionsName(name, f.subject.Name) ||
		mentionsName(t.First("alternateName"), f.subject.Name)) {
		return true
	}
	if p != f.home || !t.Is(schema.OrganizationTypes) {
		return false // a person without that name may be an author
	}
	u := resolve(p.url, cmp.Or(t.First("url"), t.Id))
	return u != nil && domain(u) == domain(p.url) || name == "" && t.Top
}

// add merges the properties of one item.
// The first example of a property is kept as evidence.
func (o *organization) add(p *page, t *schema.Thing) {
	for field, properties := range map[string][]string{
		"name": {"name", "legalName"}, "url": {"url"}, "logo": {"logo", "image"}, "description": {"description",
			"slogan"},
		"contact": {"contactPoint", "address", "email", "telephone"},
	} {
		for _, property := range properties {
			if o.fields[field] == "" && t.Has(property) {
				o.fields[field] = cmp.Or(t.First(property), property)
				o.size++
			}
		}
	}
	for _, s := range t.Text["sameAs"] {
		if u := resolve(p.url, s); u != nil && !slices.Contains(o.sameAs, u.String()) {
			o.sameAs = append(o.sameAs, u.String())
			o.size++
		}
	}
}

// organizationFields measures the properties of the organization.
func (f entityFacts) organizationFields(found findings, o *organization) {
	for _, field := range []string{"name", "url", "logo", "description", "contact"} {
		switch {
		case o == nil:
			found.set("org."+field, 0, newEvidence(f.home.url.String(),
				"no Organization of this brand (schema.org %s, with subtypes) in JSON-LD or microdata on %s",
				schema.Version,
				plural(len(f.fixed), "page", "pages")))
		case o.fields[field] == "":
			found.set("org."+field, 0, newEvidence(o.where, "%s %q has no %s", o.kind, o.name, field))
		default:
			found.set("org."+field, one, newEvidence(o.where, "%s %q: %s %s", o.kind, o.name, field, o.fields[field]))
		}
	}
}

// sameAs measures the profiles and references that lead back to the site. Without a claim,
// or if one is refuted and none verified, the facts are zero; if nothing could be checked,
// they are unknown.
// Two accounts on one site count once, hence the sets of domains.
func (f entityFacts) sameAs(found findings) {
	const reference, profiles = "sameas.reference", "sameas.profiles"
	states := map[string]map[fieldmark.ProfileState]map[string]bool{reference: {}, profiles: {}} // to domains
	seen := map[string][]fieldmark.Evidence{}
	for _, p := range f.profiles {
		u, err := url.Parse(p.URL)
		if err != nil {
			continue
		}
		id := profiles
		if referenceDomains[domain(u)] {
			id = reference
		}
		if states[id][p.State] == nil {
			states[id][p.State] = map[string]bool{}
		}
		states[id][p.State][domain(u)] = true
		seen[id] = append(seen[id], newEvidence(p.URL, "%s: %s", p.State, p.Reason))
	}
	base := f.home.url.String()
	for id, none := range map[string]string{reference: "no sameAs link to Wikidata or Wikipedia",
		profiles: "no recognised profile in sameAs"} {
		verified, claimed := len(states[id][fieldmark.ProfileVerified]), len(seen[id])
		sum := newEvidence(base, "%d of %s in sameAs lead back to this site", verified,
			plural(claimed, "link", "links"))
		list := append([]fieldmark.Evidence{sum}, seen[id]...)
		switch {
		case claimed == 0:
			found.set(id, 0, newEvidence(base, "%s", none))
		case verified == 0 && len(states[id][fieldmark.ProfileRefuted]) == 0:
			found.unknown(id, list...)
		case id == reference:
			found.setBool(id, verified > 0, list...)
		default:
			found.set(id, int64(verified)*one, list...)
		}
	}
}

// namedPlace is a place where a site states its name; text is empty if it does not.
type namedPlace struct {
	where, text string
	whole       bool // the text should be the name and nothing else
}

// names reports whether the place contains the name of a brand.
func (p namedPlace) names(brand string) bool {
	return p.whole && sameName(p.text, brand) || mentionsName(p.text, brand)
}

// namedPlaces returns the four places where sites state their name.
func (f entityFacts) namedPlaces(o *organization) []namedPlace {
	return []namedPlace{
		{"title", f.home.title, false},
		{"og:site_name", f.home.meta("og:site_name"), true},
		{"JSON-LD name", f.structuredName(o), true},
		{"llms.txt H1", f.llmsTitle(), false},
	}
}

// coherence measures whether the places that state the site's name agree with the
// brand.
// Places that state no name are not counted: a missing og:site_name is no contradiction.
func (f entityFacts) coherence(found findings, o *organization) {
	const id = "name.coherence"
	base := f.home.url.String()
	brand := f.subject.Name
	good, all := 0, 0
	var seen []fieldmark.Evidence
	for _, p := range f.namedPlaces(o) {
		if p.text == "" {
			continue
		}
		all++
		verb := "does not name"
		if p.names(brand) {
			good++
			verb = "names"
		}
		seen = append(seen, newEvidence(base, "%s %s the brand: %s", p.where, verb, p.text))
	}
	sum := newEvidence(base, "%d of %d places name %q", good, all, brand)
	if all == 0 {
		found.set(id, 0, newEvidence(base, "no title, og:site_name, JSON-LD name or llms.txt H1"))
		return
	}
	found.setShare(id, good, all, append([]fieldmark.Evidence{sum}, seen...)...)
}

// structuredName returns the name in the structured data of the site's owner, or
// else of the site.
func (f entityFacts) structuredName(o *organization) string {
	if o != nil && o.name != "" {
		return o.name
	}
	for i := range f.home.graph {
		t := &f.home.graph[i]
		if name := t.First("name"); name != "" && (slices.Contains(t.Types, "WebSite") ||
			t.Is(schema.OrganizationTypes)) {
			return name
		}
	}
	return ""
}

// llmsTitle returns the title of llms.txt, "" without the file.
func (f entityFacts) llmsTitle() string {
	if !f.llms.visit.ok() || f.llms.soft {
		return ""
	}
	return f.llms.report.Title
}

// purposeLinks measures whether there are links to an about page and a contact
// page.
// Which words lead to such a page is known for 28 languages. In others the fact is unknown unless
// the address itself says it.
func (f entityFacts) purposeLinks(found findings) {
	for i := range purposes[:2] {
		id := "link." + string(purposes[i].role)
		if _, ok := f.lexiconOf(f.home); ok {
			found.set(id, 0, newEvidence(f.home.url.String(), "no link to such a page on %s", plural(len(f.fixed),
				"page", "pages")))
		} else {
			found.unknown(id, f.noLexicon())
		}
		for _, p := range f.fixed {
			if a, ok := findPurpose(p, &purposes[i],
				func(u *url.URL) bool { return domain(u) == domain(f.home.url) }); ok {
				found.set(id, one, newEvidence(p.url.String(), "links to %s with the text %q", a.url, a.text))
				break
			}
		}
	}
}

// maxTyped limits the typed items per page that are compared with its text.
const maxTyped = 50

// typed measures whether structured data names the subject of pages and the pages show that
// name: on one page, and as a share of the pages.
// The comparison with the text is what keeps structured data honest: a page could claim anything
// in a block that readers never see.
func (f entityFacts) typed(found findings) {
	base := f.home.url.String()
	good, unseen := 0, ""
	var first fieldmark.Evidence
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		s := once(p, "schema.share", func() subject { return subjectOf(p) })
		if s.shown {
			if good++; good == 1 {
				first = newEvidence(p.url.String(), "%s", s.text)
			}
		} else {
			unseen = cmp.Or(unseen, s.text)
			bad = append(bad, newEvidence(p.url.String(), "%s", cmp.Or(s.text, noSubject)))
		}
	}
	if good > 0 {
		found.set("schema.typed", one, first)
	} else {
		found.set("schema.typed", 0, newEvidence(base, "%s", cmp.Or(unseen, noSubject)))
	}
	found.setShare("schema.share", good, len(f.pages),
		f.withSummary("structured data names the subject of %d of %d pages", good, bad)...)
}

const noSubject = "no structured data says what a page is about"

// subject is what a page is about by its structured data.
type subject struct {
	shown bool // the page shows the name
	text  string
}

// subjectOf returns the first subject that the page shows, or else the last that it does not.
// Items beyond maxTyped are not read: catalogues have thousands, all alike.
func subjectOf(p *page) (s subject) {
	looked := 0
	var shows []string // words of the page, computed when needed
	for i := range p.graph {
		t := &p.graph[i]
		if !t.Is(schema.ContentTypes) || looked == maxTyped {
			continue
		}
		if looked++; looked == 1 {
			shows = plainWords(p.title + " \n " + p.text)
		}
		name := cmp.Or(t.First("name"), t.First("headline"))
		if name != "" && containsWords(shows, nameWords(name)) {
			return subject{true, fmt.Sprintf("%s %q, which the page shows", strings.Join(t.Types, ", "), name)}
		}
		s.text = fmt.Sprintf("%s %q is not on the page", strings.Join(t.Types, ", "), name)
	}
	return s
}

// openGraph measures the Open Graph fields of the home page.
func (f entityFacts) openGraph(found findings) {
	have, lack := []string{}, []string{}
	for _, name := range []string{"og:title", "og:description", "og:image", "og:url"} {
		if f.home.meta(name) != "" {
			have = append(have, name)
		} else {
			lack = append(lack, name)
		}
	}
	text := "has " + cmp.Or(strings.Join(have, ", "), "none of them")
	if len(lack) > 0 && len(have) > 0 {
		text += "; missing " + strings.Join(lack, ", ")
	}
	found.setShare("og.fields", len(have), len(have)+len(lack), newEvidence(f.home.url.String(), "%s", text))
}
