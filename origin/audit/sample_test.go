package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
)

// numberedSite returns a site of n pages with different texts, home and about page included.
// The home page links to all of them; the sitemap lists those from page first on.
func numberedSite(n, first int) web {
	site := web{"/about": html("<title>About</title>", "<main>"+words(50)+"</main>")}
	var links, listed strings.Builder
	for i := range n - 2 {
		path := fmt.Sprintf("/p%d", i)
		site[path] = html(fmt.Sprintf("<title>The page with number %d</title>", i), "<main>"+words(10+i%90)+"</main>")
		links.WriteString("<a href=" + path + ">x</a> ")
		if i >= first {
			listed.WriteString("<url><loc>https://example.com" + path + "</loc></url>")
		}
	}
	site["/"] = html("<title>Home</title>", "<nav><a href=/about>About</a>"+links.String()+"</nav><main>"+words(40)+
		"</main>")
	site["/sitemap.xml"] = answer{kind: "application/xml", body: "<urlset>" + listed.String() + "</urlset>"}
	return site
}

// drawn returns the paths of the drawn pages of an audit.
func drawn(f fieldmark.Facts) (paths []string) {
	for _, p := range f.Sample.Pages {
		if p.Role == fieldmark.PageDrawn {
			paths = append(paths, strings.TrimPrefix(p.URL, "https://example.com"))
		}
	}
	return paths
}

// seeded is the subject of a repeated audit.
func seeded(n byte) audit.Subject {
	return audit.Subject{URL: home, Name: "Example", Language: "en",
		Seed: strings.Repeat(hex.EncodeToString([]byte{n}), 16)}
}

func TestSampleGrowsWithTheSite(t *testing.T) {
	for _, tt := range []struct{ pages, want int }{{2, 2}, {9, 9}, {10, 10}, {11, 10}, {20, 13}, {100, 20}, {1000, 30},
		{3000, 32}} {
		facts := numberedSite(tt.pages, 0).audit(t)
		if facts.Pages != tt.want || facts.Sample.Population != tt.pages || len(facts.Sample.Pages) != tt.want {
			t.Errorf("%d pages: %d read of %d known, %d listed; want %d", tt.pages, facts.Pages,
				facts.Sample.Population,
				len(facts.Sample.Pages), tt.want)
		}
		if complete := tt.pages == tt.want; complete != (facts.Sample.Seed == "") ||
			complete != (facts.Replicates == nil) {
			t.Errorf("%d pages: seed %q, replicates %v; want them only if pages were drawn", tt.pages,
				facts.Sample.Seed,
				facts.Replicates != nil)
		}
	}
}

// A seed repeats an audit; without one, each audit draws other pages.
func TestSeedRepeatsAnAudit(t *testing.T) {
	s := numberedSite(300, 0).serve(t, 0)
	first, second, other := auditOf(t, s, seeded(1)), auditOf(t, s, seeded(1)), auditOf(t, s, seeded(2))
	a, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := second.Digest(); a != b || first.Sample.Seed != seeded(1).Seed {
		t.Errorf("the same seed: digests %s and %s, seed %s in the facts", a, b, first.Sample.Seed)
	}
	if slices.Equal(drawn(first), drawn(other)) {
		t.Errorf("two seeds draw the same pages: %q", drawn(first))
	}
	subject := seeded(1)
	subject.Seed = ""
	x, y := auditOf(t, s, subject), auditOf(t, s, subject)
	if !audit.ValidSeed(x.Sample.Seed) || x.Sample.Seed == y.Sample.Seed {
		t.Errorf("seeds of two audits: %q and %q, want two random ones", x.Sample.Seed, y.Sample.Seed)
	}
	subject.Seed = x.Sample.Seed
	if again := auditOf(t, s, subject); !slices.Equal(drawn(again), drawn(x)) {
		t.Errorf("the seed of an audit draws %q, the audit drew %q", drawn(again), drawn(x))
	}
	auditor, err := audit.New(audit.Config{HTTP: s.client, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []string{"1", strings.Repeat("AB", 16), strings.Repeat("xy", 16), strings.Repeat("ab", 17)} {
		subject.Seed = seed
		if _, err := auditor.Audit(t.Context(), subject, nil); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("seed %q: %v, want %s", seed, err, fieldmark.CodeInvalidParameter)
		}
	}
}

// A sitemap of a site's ten best pages, or a sitemap index that starts with them, does not
// decide which pages are read.
func TestSampleCannotBeArranged(t *testing.T) {
	site := numberedSite(200, 188)
	facts := auditOf(t, site.serve(t, 0), seeded(1))
	listed := 0
	for _, path := range drawn(facts) {
		if strings.Contains(site["/sitemap.xml"].body, path+"<") {
			listed++
		}
	}
	if n := len(drawn(facts)); n < 20 || listed > n/4 {
		t.Errorf("%d of %d drawn pages are from a sitemap of 10 pages on a site of 200", listed, n)
	}

	var index strings.Builder
	site = web{"/": html("", "x")}
	for i := range 100 {
		at := fmt.Sprintf("/s%d.xml", i)
		index.WriteString("<sitemap><loc>https://example.com" + at + "</loc></sitemap>")
		site[at] = answer{kind: "application/xml",
			body: fmt.Sprintf("<urlset><url><loc>https://example.com/p%d</loc></url></urlset>", i)}
	}
	site["/sitemap.xml"] = answer{kind: "application/xml", body: "<sitemapindex>" + index.String() + "</sitemapindex>"}
	s := site.serve(t, 0)
	files := func(n byte) (files []string) {
		before := len(s.requests())
		auditOf(t, s, seeded(n))
		for _, path := range s.requests()[before:] {
			if strings.HasPrefix(path, "/s") && path != "/sitemap.xml" {
				files = append(files, path)
			}
		}
		return files
	}
	if a, b := files(1), files(2); len(a) != 9 || slices.Equal(a, b) ||
		slices.Contains(a, "/s0.xml") && slices.Contains(a, "/s1.xml") {
		t.Errorf("of 100 sitemaps read %q and %q, want 9 that the seed selects", a, b)
	}
}

// The facts list every page requested, with its role, status and the hash of its text, or
// why it was not read.
func TestSampleIsListed(t *testing.T) {
	site := web{
		"/robots.txt": text("User-agent: FieldmarkBot\nDisallow: /private\n"),
		"/": html("<link rel=alternate hreflang=de href=/de>", `<nav><a href=/about>About us</a><a href=/contact>`+
			`Contact</a>
			<a href=/moved>m</a><a href=/private>p</a><a href=/gone>g</a><a href=/file.html>f</a><a href=/away>a</a>`+
			`</nav>
			<main>Hello   world.</main>`),
		"/about":     html("", "<main>We are here.</main>"),
		"/contact":   {location: "/about", status: 301},
		"/moved":     {location: "/", status: 302},
		"/file.html": {kind: "application/pdf", body: "%PDF"},
		"/away":      {location: "https://down.example/", status: 302},
		"/de":        html("", "<main>Hallo.</main>"),
	}
	facts := site.audit(t)
	hash := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	want := []fieldmark.SampledPage{
		{URL: home, Role: fieldmark.PageHome, Status: 200, Hash: hash("Hello world.")},
		{URL: home + "about", Role: fieldmark.PageAbout, Status: 200, Hash: hash("We are here.")},
		{URL: home + "contact", Role: fieldmark.PageContact, Status: 200, Reason: "the same page as " + home + "about"},
		{URL: home + "away", Role: fieldmark.PageDrawn, Reason: "no response"},
		{URL: home + "file.html", Role: fieldmark.PageDrawn, Status: 200, Reason: "responded 200 without an HTML page"},
		{URL: home + "gone", Role: fieldmark.PageDrawn, Status: 404, Reason: "responded 404"},
		{URL: home + "moved", Role: fieldmark.PageDrawn, Status: 200, Reason: "the same page as " + home},
		{URL: home + "private", Role: fieldmark.PageDrawn, Reason: "robots.txt does not allow this crawler"},
		{URL: home + "de", Role: fieldmark.PageTranslation, Status: 200, Hash: hash("Hallo.")},
	}
	for i, p := range facts.Sample.Pages {
		p.Title, p.Description, p.Language = "", "", ""
		if i < len(want) && want[i].Hash != "" {
			want[i].Since = facts.AsOf.Std().UTC().Format(time.DateOnly)
		}
		if i >= len(want) || p != want[i] {
			t.Errorf("page %d is %+v, want %+v", i, p, want[min(i, len(want)-1)])
		}
	}
	if len(facts.Sample.Pages) != len(want) || facts.Sample.Population != 8 || facts.Sample.Seed != "" ||
		facts.Pages != 2 {
		t.Errorf("%d pages listed and %d read of %d known, seed %q; want %d, 2 of 8, none", len(facts.Sample.Pages),
			facts.Pages, facts.Sample.Population, facts.Sample.Seed, len(want))
	}
}

// A home page that was not read is listed with the reason.
func TestUnreadHomeIsListed(t *testing.T) {
	facts := web{"/robots.txt": text("User-agent: FieldmarkBot\nDisallow: /\n"), "/": html("", "x")}.audit(t)
	want := fieldmark.SampledPage{URL: home, Role: fieldmark.PageHome,
		Reason: "not fetched: robots.txt does not allow this crawler"}
	if p := facts.Sample.Pages; len(p) != 1 || p[0] != want {
		t.Errorf("pages %+v, want %+v", p, want)
	}
}

// Without enough requests for all known pages, the pages that are read are drawn.
func TestSampleWithFewRequests(t *testing.T) {
	s := numberedSite(9, 0).serve(t, 0)
	auditor, err := audit.New(audit.Config{HTTP: s.client, Delay: -1, MaxRequests: 11})
	if err != nil {
		t.Fatal(err)
	}
	report, err := auditor.Audit(t.Context(), seeded(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := report.Facts; f.Pages >= 9 || f.Pages < 4 || f.Sample.Seed == "" || f.Sample.Population != 9 {
		t.Errorf("%d pages read of %d known with seed %q, want some of 9, drawn", f.Pages, f.Sample.Population,
			f.Sample.Seed)
	}
}

// A drawn sample gives no share of few pages; a site that was read completely does.
func TestShareOfFewPages(t *testing.T) {
	dated := func(pages, dated int) web {
		site := numberedSite(pages, 0)
		for i := range dated {
			path := fmt.Sprintf("/p%d", i)
			site[path] = html("<title>x</title>"+ld(fmt.Sprintf(`{"@type":"Article","dateModified":"20%02d-%02d-01"}`,
				10+i%10, 1+i%12)), "<main>x</main>")
		}
		return site
	}
	for _, tt := range []struct {
		site   web
		recent string
		author string
	}{{dated(10, 2), "0", "0"}, {dated(200, 10), "unknown", "unknown"}, {dated(200, 190), "0", "0"}} {
		facts := auditOf(t, tt.site.serve(t, 0), seeded(5))
		if a, b := say(facts, "fresh.recent"), say(facts, "author.share"); a != tt.recent || b != tt.author {
			t.Errorf("%d pages: fresh.recent %s, author.share %s, want %s, %s; seen:\n%s", facts.Pages, a, b, tt.recent,
				tt.author, seen(facts, "fresh.recent"))
		}
	}
}

// Replicates list the facts that vary, and vary less the more of the site was read.
func TestReplicates(t *testing.T) {
	spread := func(pages int) int64 {
		facts := auditOf(t, numberedSite(pages, 0).serve(t, 0), seeded(4))
		r := facts.Replicates
		if r == nil || r.Drawn != facts.Pages-2 || len(r.Values) != fieldmark.MaxReplicates ||
			!slices.IsSorted(r.Facts) {
			t.Fatalf("%d pages: replicates %+v", pages, r)
		}
		at := slices.Index(r.Facts, "text.words")
		if at < 0 || slices.Contains(r.Facts, "home.words") || slices.Contains(r.Facts, "lang.html") {
			t.Fatalf("%d pages: facts that vary are %q", pages, r.Facts)
		}
		var values []int64
		for _, v := range r.Values {
			if len(v) != len(r.Facts) {
				t.Fatalf("%d values of %d facts", len(v), len(r.Facts))
			}
			values = append(values, int64(*v[at]))
		}
		return slices.Max(values) - slices.Min(values)
	}
	if few, many := spread(11), spread(900); few >= many || few == 0 {
		t.Errorf("text.words varies by %d with 10 of 11 pages, by %d with 29 of 900", few, many)
	}
}

// TestSampleDescribes: the sample keeps what pages say about themselves, unless they may
// not be indexed.
func TestSampleDescribes(t *testing.T) {
	about := func(head string) answer {
		return html(head+`<title>About  Acme</title><meta name=description content="Who we are.">`,
			"<main>We are here.</main>")
	}
	facts := web{"/": html("", "<a href=/about>About us</a><a href=/contact>Contact</a><main>Hello.</main>"),
		"/about": about(""), "/contact": about("<meta name=robots content=noindex>")}.audit(t)
	got := map[string]string{}
	for _, p := range facts.Sample.Pages {
		got[p.URL] = p.Title + ": " + p.Description
	}
	if got[home+"about"] != "About Acme: Who we are." || got[home+"contact"] != ": " {
		t.Errorf("pages %q", got)
	}
}
