package audit_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

func ld(json string) string { return `<script type="application/ld+json">` + json + `</script>` }

func TestOrganization(t *testing.T) {
	const none = "org.name 0"
	runFacts(t, []factTest{
		{"nothing", one("", "x"), []string{none, "org.url 0", "sameas.reference 0", "sameas.profiles 0"}},
		{"all fields", one(ld(
			`{"@context":"https://schema.org","@type":"Organization","name":"Example","url":"https://example.com",`+
				`"logo":{"@type":"ImageObject","url":"/l.png"},"description":"We do.",`+
				`"address":{"@type":"PostalAddress","addressLocality":"Wien"}}`), "x"),
			[]string{"org.name 1", "org.url 1", "org.logo 1", "org.description 1", "org.contact 1"}},
		{"in a graph", one(ld(
			`{"@context":"https://schema.org","@graph":[{"@type":"WebSite","name":"x"},{"@type":["Organization",`+
				`"Brand"],"name":"Example"}]}`), "x"), []string{"org.name 1", "org.url 0"}},
		{"several types and prefixes",
			one(ld(`{"@type":["schema:Thing","http://schema.org/LocalBusiness"],"schema:name":"Example",`+
				`"schema:telephone":"1"}`), "x"), []string{"org.name 1", "org.contact 1", "schema.typed 0"}},
		{"as a publisher", one(ld(
			`{"@type":"WebSite","name":"x","publisher":{"@type":"Organization","name":"Example GmbH",`+
				`"url":"https://example.com/"}}`), "x"), []string{"org.name 1", "org.url 1"}},
		{"a customer", one(ld(
			`{"@type":"Review","author":{"@type":"Organization","name":"Some Client",`+
				`"url":"https://client.example/"}}`), "x"), []string{none}},
		{"another name, this domain",
			one(ld(`{"@type":"Organization","name":"Holding","url":"https://www.example.com/"}`), "x"),
			[]string{"org.name 1"}},
		{"broken script beside a good one",
			one(ld(`{"@type":"Organization",`)+ld(`{"@type":"Organization","name":"Example"}`), "x"),
			[]string{"org.name 1"}},
		{"wrapped in a comment", one(ld("<!--\n{\"@type\":\"Organization\",\"name\":\"Example\"}\n-->"), "x"),
			[]string{"org.name 1"}},
		{"wrapped in CDATA", one(ld("//<![CDATA[\n{\"@type\":\"Organization\",\"name\":\"Example\"}\n//]]>"), "x"),
			[]string{"org.name 1"}},
		{"raw line feeds and a semicolon",
			one(ld("{\"@type\":\"Organization\",\"name\":\"Exam\tple\","+
				"\"description\":\"a\nb\",\"alternateName\":\"Example\"};"), "x"),
			[]string{"org.description 1"}},
		{"byte order mark", one(ld("\uFEFF{\"@type\":\"Organization\",\"name\":\"Example\"}"), "x"),
			[]string{"org.name 1"}},
		{"nested too deep", one(ld(`{"@type":"Organization","name":"Example","x":`+repeat(`{"y":`, 40)+`1`+repeat(`}`,
			40)+`}`), "x"), []string{none}},
		{"not JSON-LD", one(`<script type="application/json">{"@type":"Organization","name":"Example"}</script>`, "x"),
			[]string{none}},
		{"microdata", one("", `<div itemscope itemtype="https://schema.org/Organization"><span itemprop=name>`+
			`Example</span><a itemprop=url href="/">x</a><img itemprop=logo src=/l.png>
			<p itemprop=description>We do.</p><div itemprop=address itemscope `+
			`itemtype="https://schema.org/PostalAddress"><span itemprop=addressLocality>Wien</span></div><a `+
			`itemprop=sameAs href="https://github.com/x">x</a></div>`),
			[]string{"org.name 1", "org.url 1", "org.logo 1", "org.description 1", "org.contact 1",
				"sameas.profiles 1"}},
		{"spread over pages", web{"/": html(ld(`{"@type":"Organization","name":"Example"}`),
			"<a href=/about>About</a>"),
			"/about": html(ld(`{"@type":"Organization","name":"Example","description":"We do."}`), "x")},
			[]string{"org.name 1", "org.description 1"}},
		{"profiles", one(ld(`{"@type":"Organization","name":"Example",`+
			`"sameAs":["https://en.wikipedia.org/wiki/Example","https://x.com/e",`+
			`"https://www.linkedin.com/company/e","https://linkedin.com/e2","https://unknown.example/e","not a `+
			`url"]}`), "x"),
			[]string{"sameas.reference 1", "sameas.profiles 2"}},
		{"one profile as text",
			one(ld(`{"@type":"Organization","name":"Example","sameAs":"https://www.wikidata.org/wiki/Q1"}`), "x"),
			[]string{"sameas.reference 1", "sameas.profiles 0"}},
	})
}

// TestOwnerTypes: every subtype of Organization in schema.org owns a site, over any of its
// supertypes, and so do institutions that the vocabulary lists as places, and persons with the
// name of the brand.
func TestOwnerTypes(t *testing.T) {
	var tests []factTest
	for _, kind := range []string{"GeneralContractor", "RoofingContractor", "Plumber", "Electrician", "HairSalon",
		"AutoDealer", "VeterinaryCare", "ChildCare", "DaySpa", "ShoeStore", "NailSalon", "PhysiciansOffice", "Dentist",
		"Hospital", "HighSchool", "Museum", "Library", "Airline", "FundingAgency", "OnlineMarketplace", "MusicGroup",
		"SportsTeam"} {
		tests = append(tests, factTest{kind, one(ld(`{"@type":"`+kind+`","name":"Example","telephone":"1"}`), "x"),
			[]string{"org.name 1", "org.contact 1"}})
	}
	tests = append(tests,
		factTest{"place and organization", one(ld(`{"@type":["Place","Organization"],"name":"Example"}`), "x"),
			[]string{"org.name 1"}},
		factTest{"a person who is the brand", one(ld(`{"@type":"Person","name":"Example","email":"a@example.com",
			"sameAs":"https://github.com/example"}`), "x"),
			[]string{"org.name 1", "org.contact 1", "sameas.profiles 1"}},
		factTest{"an author", one(ld(`{"@type":"Person","name":"Ada Byron","url":"https://example.com/ada"}`), "x"),
			[]string{"org.name 0"}},
		factTest{"a kind of page", one(ld(`{"@type":"AboutPage","name":"Example"}`), "x"), []string{"org.name 0"}},
		factTest{"an unknown type", one(ld(`{"@type":"Bakeries","name":"Example"}`), "x"), []string{"org.name 0"}})
	runFacts(t, tests)
	for _, tt := range []struct {
		name  string
		types map[string]bool
		least int
		has   string
		hasno string
	}{
		{"owner", audit.OrganizationTypes, 220, "Organization LocalBusiness Consortium Park",
			"Thing Place Product Audiology"},
		{"subject", audit.ContentTypes, 450,
			"IndividualProduct FinancialProduct Drug BlogPosting Festival Motel Recipe",
			"FAQPage WebSite ImageObject Organization Person Answer Review"},
	} {
		if len(tt.types) < tt.least {
			t.Errorf("%d types may be the %s, want at least %d", len(tt.types), tt.name, tt.least)
		}
		for _, kind := range strings.Fields(tt.has) {
			if !tt.types[kind] {
				t.Errorf("%s is not the %s", kind, tt.name)
			}
		}
		for _, kind := range strings.Fields(tt.hasno) {
			if tt.types[kind] {
				t.Errorf("%s is the %s", kind, tt.name)
			}
		}
	}
}

func TestTyped(t *testing.T) {
	runFacts(t, []factTest{
		{"product", one(ld(`{"@type":"Product","name":"Blue Kettle"}`), "<h1>The blue kettle</h1>"),
			[]string{"schema.typed 1"}},
		{"product nobody sees", one(ld(`{"@type":"Product","name":"Blue Kettle"}`), "<h1>The red pan</h1>"),
			[]string{"schema.typed 0"}},
		{"a subtype", one(ld(`{"@type":"VacationRental","name":"Blue House"}`), "<h1>The blue house</h1>"),
			[]string{"schema.typed 1", "schema.share 1"}},
		{"on half of the pages", web{"/": html("", "<a href=/p>p</a>"),
			"/p": html(ld(`{"@type":"Product","name":"Blue Kettle"}`), "<h1>The blue kettle</h1>")},
			[]string{"schema.typed 1", "schema.share 0.5"}},
		{"questions are neutral", one(ld(`{"@type":"FAQPage","name":"Questions","mainEntity":[]}`),
			"<h1>Questions</h1>"), []string{"schema.typed 0"}},
		{"article", one(ld(`{"@type":"NewsArticle","headline":"It rains"}`), "<h1>It rains!</h1>"),
			[]string{"schema.typed 1"}},
		{"microdata", one("", `<div itemscope itemtype="http://schema.org/Service"><b itemprop=name>Repairs</b></div>`),
			[]string{"schema.typed 1"}},
	})
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		brand, title string
		same         bool
	}{
		{"Alpenglow", "Alpenglow – Mountain lodge", true},
		{"Alpenglow GmbH", "Welcome to ALPENGLOW", true},
		{"Smith & Co Tailors", "Suits by Smith & Co Tailors", true},
		{"Smith & Co Tailors", "Smith Tailors", true},
		{"Alpen Glow", "Alpenglow", true},
		{"AlpenGlow", "The Alpen-Glow lodge", true},
		{"Glow", "Alpenglow", false},
		{"Café Müller", "CAFE\u0301 MU\u0308LLER, Berlin", true},
		{"S.A. Tarkett", "Tarkett", true},
		{"株式会社あかね", "山の宿 あかね荘", true},
		{"مقهى النخيل", "مقهى النخيل | الرئيسية", true},
		{"Example", "Something else", false},
		{"Dokuna", "dokuna.de – Rezepte", true},
		{"Dokuna", "https://www.dokuna.co.uk", true},
		{"Dokuna", "mail@dokuna.de", false},
		{"Booking.com", "Booking.com | Hotels", true},
		{"Co", "example.co.uk", false},
		{"ＡＢＣ", "abc", true},
		{"Limited", "Limited editions", true},
		{"Kowalski sp. z o.o.", "Kowalski – meble", true},
		{"Kowalski sp. z o. o.", "Kowalski – meble", true},
		{"Güneş A.Ş.", "Güneş enerji", true},
		{"Güneş Ltd. Şti.", "Güneş enerji", true},
		{"ПАО Ромашка", "Ромашка: главная", true},
		{"ТОВ Калина", "Калина", true},
		{"Ελιά Α.Ε.", "Ελιά, λάδι", true},
		{"Merck KGaA", "Merck", true},
		{"Lúa Vàng TNHH", "Lúa Vàng", true},
		{"شركة النخيل", "النخيل | الرئيسية", true},
		{"شرکت آفتاب", "آفتاب", true},
		{"桂花有限责任公司", "桂花 首页", true},
		{"บริษัท ดาว จำกัด", "ดาว หน้าแรก", true},
	} {
		facts := auditOf(t, one("<title>"+tt.title+"</title>", "x").serve(t, 0), audit.Subject{URL: home,
			Name: tt.brand})
		want := "0"
		if tt.same {
			want = "1"
		}
		if got := say(facts, "name.coherence"); got != want {
			t.Errorf("name.coherence of %q in %q = %s, want %s", tt.brand, tt.title, got, want)
		}
	}
	site := web{"/": html(`<title>Example</title><meta property="og:site_name" content="Something">`+
		ld(`{"@type":"WebSite","name":"Example"}`), "x"), "/llms.txt": text("# Other\n")}
	if got := say(site.audit(t), "name.coherence"); got != "0.5" {
		t.Errorf("name.coherence of two places in four = %s, want 0.5", got)
	}
}

func TestPurposeLinks(t *testing.T) {
	for _, tt := range []struct{ about, contact string }{
		{`<a href=/about-us>x</a>`, `<a href=/contact.html>x</a>`},
		{`<a href=/p/1>About us</a>`, `<a href=/p/2>Contact us today</a>`},
		{`<a href=/x>Über uns</a>`, `<a href=/de/kontakt/>x</a>`},
		{`<a href=/a-propos.html>x</a>`, `<a href=/x>Contactez-nous</a>`},
		{`<a href=/x>Quiénes somos</a>`, `<a href=/contacto>x</a>`},
		{`<a href=/chi-siamo>x</a>`, `<a href=/x>Contatti</a>`},
		{`<a href=/x>Sobre nós</a>`, `<a href=/x>Fale conosco</a>`},
		{`<a href=/over-ons>x</a>`, `<a href=/x>Neem contact op</a>`},
		{`<a href=/x>会社概要</a>`, `<a href=/x>お問い合わせ</a>`},
		{`<a href=/x>من نحن</a>`, `<a href=/x>اتصل بنا</a>`},
		{`<a href=/x>אודות</a>`, `<a href=/x>צור קשר</a>`},
		{`<a href=/x aria-label="About us"><img src=i></a>`, `<a href="https://help.example.com/contact">x</a>`},
	} {
		facts := one("", tt.about+tt.contact).audit(t)
		if a, b := say(facts, "link.about"), say(facts, "link.contact"); a != "1" || b != "1" {
			t.Errorf("%s %s: link.about %s, link.contact %s; want 1, 1", tt.about, tt.contact, a, b)
		}
	}
	facts := one("", `<a href=/blog/2020/01/about>x</a><a href=/aboutness>x</a><a href="mailto:a@example.com">`+
		`Contact</a><a href="https://other.example/about">About</a>`).audit(t)
	if a, b := say(facts, "link.about"), say(facts, "link.contact"); a != "0" || b != "0" {
		t.Errorf("neither page is linked: link.about %s, link.contact %s; want 0, 0", a, b)
	}
}

func TestOpenGraph(t *testing.T) {
	runFacts(t, []factTest{
		{"none", one("", "x"), []string{"og.fields 0"}},
		{"two", one(`<meta property="og:title" content="a"><meta name="og:image" content="b"><meta `+
			`property="og:url" content="">`, "x"), []string{"og.fields 0.5"}},
	})
}
