package llms

import (
	"cmp"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/injection"
)

// maxOffered is how many pages of an audited site are listed: a map that a model reads
// completely, rather than a sitemap.
const maxOffered = 10

// maxProfiles is how many verified profiles are listed.
const maxProfiles = 5

// FromAudit describes an audited brand: its name, field, language and description, and
// the ten best pages of its site with the titles, descriptions and languages that the
// pages state. The home page and verified profiles are listed as well. Left out are pages
// with another purpose (legal texts, accounts, carts), pages without a title or a
// description, pages that may not be indexed or did not answer, and texts that read as
// instructions to a model. The same facts always give the same request.
//
// The pages are ordered: about the brand, its offer and its contact first, then the others,
// the most recently changed first, then by address.
func FromAudit(b fieldmark.Brand, facts *fieldmark.Facts) Request {
	r := Request{Name: b.Name, Niche: strings.ReplaceAll(b.Niche, "-", " "), Description: b.Description,
		Language: b.Language, URL: cmp.Or(facts.URL, b.URL)}
	a := audited{detector: injection.New(b.Name), language: b.Language, home: r.URL}
	var pages []fieldmark.SampledPage
	if facts.Sample != nil {
		pages = facts.Sample.Pages
	}
	home := Link{URL: r.URL, Section: sectionPages}
	for i := range pages {
		if p := &pages[i]; p.Role == fieldmark.PageHome {
			r.Name, r.Language = cmp.Or(r.Name, a.siteName(p.Title)), cmp.Or(r.Language, p.Language)
			home.Note = a.text(p.Description)
		}
	}
	if utf8.RuneCountInString(r.Description) < minDescription {
		r.Description = home.Note
	}
	if home.Note == "" {
		home.Note, _ = summarise(r.Description)
		home.Note = cut(home.Note, maxNote)
	}
	home.Title, a.language = r.Name, r.Language
	if home.Note != "" {
		r.Links = append(r.Links, home)
	}
	r.Links = append(r.Links, a.offered(pages)...)
	most := len(r.Links) + maxProfiles
	for _, p := range facts.Profiles {
		if u, err := parseAddress(p.URL); err == nil && p.State == fieldmark.ProfileVerified && len(r.Links) < most {
			r.Links = append(r.Links, Link{Title: bareHost(u), URL: p.URL, Note: r.Name, Section: sectionProfiles})
		}
	}
	return r
}

// audited selects what is used of a site.
type audited struct {
	detector *injection.Detector
	language string // of the brand
	home     string
}

// text returns a text of the site, cleaned; empty if it reads as instructions to a model.
func (a *audited) text(raw string) string {
	if len(a.detector.Find(raw, injection.Models)) > 0 {
		return ""
	}
	s, _ := clean(raw)
	return s
}

// titleParts separates the name of a site from the rest of a title.
var titleParts = regexp.MustCompile(`\s+[|–—·•:-]\s+|:\s+`)

// siteName returns the part of the title of the home page that is like its host name, or
// else the first one.
func (a *audited) siteName(title string) string {
	parts := titleParts.Split(a.text(title), -1)
	if u, err := parseAddress(a.home); err == nil {
		for _, part := range parts {
			if name := strings.ToLower(strings.ReplaceAll(part, " ", "")); name != "" &&
				strings.HasPrefix(bareHost(u), name+".") {
				return part
			}
		}
	}
	return parts[0]
}

// rank orders the roles of pages; others are not listed.
var rank = map[fieldmark.PageRole]int{fieldmark.PageAbout: 1, fieldmark.PageOffer: 2, fieldmark.PageContact: 3,
	fieldmark.PageDrawn: 4}

// offered returns the best pages as links, the best first.
func (a *audited) offered(pages []fieldmark.SampledPage) (links []Link) {
	list := slices.DeleteFunc(slices.Clone(pages), func(p fieldmark.SampledPage) bool {
		return rank[p.Role] == 0 || p.Status != http.StatusOK || p.Title == "" || hasOtherPurpose(p.URL)
	})
	slices.SortStableFunc(list, func(p, q fieldmark.SampledPage) int {
		return cmp.Or(rank[p.Role]-rank[q.Role], strings.Compare(q.Dated, p.Dated),
			strings.Compare(p.URL, q.URL))
	})
	seen := map[string]bool{pageKey(a.home): true}
	titles := map[string]bool{}
	for _, p := range list {
		title, note, key := a.text(p.Title), a.text(p.Description), pageKey(p.URL)
		if _, err := parseAddress(p.URL); err != nil || title == "" || note == "" || seen[key] || titles[title] ||
			len(links) == maxOffered {
			continue
		}
		seen[key], titles[title] = true, true
		links = append(links, Link{Title: title, URL: p.URL, Note: a.note(p, note), Section: sectionPages})
	}
	return links
}

// note adds the language of a page to its description if the brand has another one.
func (a *audited) note(p fieldmark.SampledPage, note string) string {
	own, known := parseLanguage(a.language)
	other, stated := parseLanguage(p.Language)
	ownBase, _ := own.Base()
	if otherBase, _ := other.Base(); !known || !stated || ownBase == otherBase {
		return note
	}
	mark := " (" + other.String() + ")"
	return cut(note, maxNote-len(mark)) + mark
}

// cut limits a text to a number of code points.
func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// pageKey is the same for equivalent spellings of an address.
func pageKey(address string) string {
	u, err := parseAddress(address)
	if err != nil {
		return address
	}
	return bareHost(u) + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
}

// otherPurposes are path segments of pages that do not describe a brand: legal texts,
// accounts, orders, searches and archives, in the languages in which they are common.
var otherPurposes = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(`
		login log-in signin sign-in signup sign-up register registration logout account my-account profile password
		cart basket checkout order orders wishlist payment search tag tags category archive feed print
		legal legal-notice terms terms-of-service terms-of-use terms-and-conditions tos privacy privacy-policy
		cookie cookies cookie-policy disclaimer imprint copyright gdpr dmca refund-policy
		impressum datenschutz datenschutzerklaerung agb widerruf widerrufsbelehrung anmelden konto warenkorb kasse
		mentions-legales confidentialite cgu cgv connexion compte panier commande
		aviso-legal privacidad politica-de-privacidad terminos condiciones carrito cuenta
		note-legali privacy-policy-it condizioni carrello
		termos privacidade carrinho conta voorwaarden winkelwagen
		regulamin polityka-prywatnosci koszyk obchodni-podminky kosik
		integritetspolicy villkor varukorg privatlivspolitik kurv personvern handlekurv tietosuoja ostoskori
		adatvedelem aszf kosar termeni confidentialitate cos gizlilik sepet 404 error`) {
		set[word] = true
	}
	return set
}()

// hasOtherPurpose reports whether a page is not one to recommend, by its path.
func hasOtherPurpose(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	for segment := range strings.SplitSeq(strings.ToLower(u.Path), "/") {
		if otherPurposes[strings.ReplaceAll(strings.TrimSuffix(segment, path.Ext(segment)), "_", "-")] {
			return true
		}
	}
	return false
}

// Complete fills the members that r leaves out with those of other. A list of links
// replaces the other one.
func (r *Request) Complete(other Request) {
	r.Name, r.Niche = cmp.Or(r.Name, other.Name), cmp.Or(r.Niche, other.Niche)
	r.Description, r.Language = cmp.Or(r.Description, other.Description), cmp.Or(r.Language, other.Language)
	if len(r.Links) == 0 {
		r.Links = other.Links
	}
}
