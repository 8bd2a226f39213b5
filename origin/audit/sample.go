package audit

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"path"
	"slices"
	"strings"
)

// The sample: enough pages to see a template's habits, few enough to be a
// guest. Which pages they are depends on the site alone, never on chance.
const (
	maxPages  = 9 // besides the home page
	maxNewest = 3 // by lastmod; the rest is drawn by hash, so that archives count too
)

// purpose is a kind of page that brands have and visitors look for.
type purpose struct {
	name  string
	paths []string // a path segment, without extension, starts with or equals one
	texts []string // the link's whole text is one, or starts with one and a space
}

// purposes are looked for in this order. Words are in lower case; those of one
// language stand together: en, de, fr, es, it, pt, nl, pl, sv, ja, zh, ko, ar, he, ru.
var purposes = []purpose{
	{"about", []string{
		"about", "about-us", "aboutus", "who-we-are", "our-story", "company",
		"ueber-uns", "uber-uns", "über-uns", "ueber", "wir-ueber-uns", "unternehmen",
		"a-propos", "apropos", "à-propos", "qui-sommes-nous", "notre-histoire", "presentation",
		"acerca", "acerca-de", "quienes-somos", "sobre-nosotros", "nosotros",
		"chi-siamo", "la-storia", "azienda", "sobre", "sobre-nos", "quem-somos", "over-ons", "o-nas", "om-oss", "om-os",
		"会社概要", "会社案内", "kaisha", "关于我们", "關於我們", "회사소개", "من-نحن", "about-ar", "אודות", "о-компании", "о-нас",
	}, []string{
		"about", "about us", "who we are", "our story", "über uns", "über", "wir über uns", "das unternehmen",
		"à propos", "qui sommes-nous", "notre histoire", "acerca de", "quiénes somos", "sobre nosotros", "nosotros",
		"chi siamo", "la nostra storia", "sobre", "sobre nós", "quem somos", "over ons", "o nas", "om oss", "om os",
		"会社概要", "会社案内", "私たちについて", "について", "关于我们", "關於我們", "회사 소개", "회사소개", "من نحن", "عن الشركة", "حول", "אודות", "מי אנחנו", "о компании", "о нас",
	}},
	{"contact", []string{
		"contact", "contact-us", "contactus", "get-in-touch", "kontakt", "contactez-nous", "nous-contacter", "contacto", "contactenos",
		"contatti", "contattaci", "contato", "contacte", "fale-conosco", "contacteer-ons",
		"お問い合わせ", "otoiawase", "inquiry", "联系我们", "聯絡我們", "문의", "اتصل-بنا", "צור-קשר", "контакты",
	}, []string{
		"contact", "contact us", "get in touch", "talk to us", "kontakt", "kontaktieren sie uns", "contactez-nous", "nous contacter",
		"contacto", "contáctenos", "contáctanos", "contatti", "contattaci", "contato", "contacto", "contactos", "fale conosco", "contacteer ons", "neem contact op",
		"お問い合わせ", "お問合せ", "问い合わせ", "联系我们", "聯絡我們", "문의하기", "문의", "اتصل بنا", "تواصل معنا", "צור קשר", "יצירת קשר", "контакты",
	}},
	{"offer", []string{
		"pricing", "prices", "plans", "products", "product", "services", "solutions", "features", "shop", "store",
		"preise", "produkte", "leistungen", "tarifs", "prix", "produits", "offres", "precios", "productos", "servicios",
		"prezzi", "prodotti", "servizi", "precos", "preços", "produtos", "servicos", "serviços", "prijzen", "producten", "diensten", "cennik", "produkty",
		"料金", "製品", "商品", "サービス", "price", "产品", "價格", "제품", "가격", "الأسعار", "المنتجات", "مחירון", "מחירים", "מוצרים", "цены",
	}, []string{
		"pricing", "prices", "plans", "products", "our products", "services", "our services", "solutions", "features", "shop",
		"preise", "produkte", "leistungen", "tarifs", "nos tarifs", "produits", "nos produits", "offres", "nos offres", "precios", "productos", "servicios",
		"prezzi", "prodotti", "servizi", "preços", "produtos", "serviços", "prijzen", "producten", "diensten", "cennik", "produkty",
		"料金", "料金プラン", "製品", "製品情報", "商品", "サービス", "产品", "價格", "제품", "가격", "الأسعار", "المنتجات", "خدماتنا", "מחירים", "מוצרים", "שירותים", "цены",
	}},
}

// matches reports whether a link leads to a page of this purpose.
func (p *purpose) matches(a anchor) bool {
	text := strings.ToLower(strings.Trim(a.text, " →>»›…"))
	for _, t := range p.texts {
		if text == t || strings.HasPrefix(text, t+" ") && len(text) <= len(t)+24 {
			return true
		}
	}
	return p.matchesPath(a.url)
}

func (p *purpose) matchesPath(u *url.URL) bool {
	segments := strings.Split(strings.Trim(strings.ToLower(u.Path), "/"), "/")
	// Deep pages are about something else, whatever a segment says.
	if len(segments) > 3 {
		return false
	}
	for _, s := range segments {
		s = strings.ReplaceAll(strings.TrimSuffix(s, path.Ext(s)), "_", "-")
		if slices.Contains(p.paths, s) {
			return true
		}
	}
	return false
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
