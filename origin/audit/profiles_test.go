package audit_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
)

// claiming returns a site whose organization claims profiles, separated by spaces.
func claiming(profiles string) web {
	return one(ld(`{"@type":"Organization","name":"Example","url":"https://example.com/","sameAs":["`+
		strings.Join(strings.Fields(profiles), `","`)+`"]}`), words(100))
}

// profileText is the visible text of a profile page without a link back.
var profileText = "<p>" + words(60)

// TestProfilesLeadBack: sameAs counts only if the profile leads back to the site.
func TestProfilesLeadBack(t *testing.T) {
	const item, article, account = "https://www.wikidata.org/wiki/Q42", "https://en.wikipedia.org/wiki/Example",
		"https://github.com/example"
	const itemData = "www.wikidata.org/wiki/Special:EntityData/Q42.json"
	page := func(body string) answer { return html("", body) }
	for _, tt := range []struct {
		name, claim, path string
		answer            answer
		want              string // state: words of the reason
	}{
		{"official website", item, itemData, wikidata("http://www.example.com/en"),
			"verified: official website (P856)"},
		{"item by entity address", "http://www.wikidata.org/entity/Q42", itemData, wikidata("https://example.com"),
			"verified"},
		{"another's item", item, itemData, wikidata("https://douglasadams.com"),
			"refuted: the official website (P856) of the item is on douglasadams.com"},
		{"the same name elsewhere", item, itemData, wikidata("https://example.org"),
			"unknown: the official website (P856) of the item is example.org"},
		{"a deprecated website", item, itemData, answer{kind: "application/json",
			body: strings.Replace(wikidata("https://example.com/").body, "normal", "deprecated", 1)},
			"refuted: the item has no official website"},
		{"an item without statements", item, itemData, answer{kind: "application/json",
			body: `{"entities":{"Q42":{"claims":[]}}}`}, "refuted"},
		{"no item", item, itemData, answer{status: 404}, "refuted: there is no such page: responded 404"},
		{"a property", "https://www.wikidata.org/wiki/Property:P856", "", answer{},
			"refuted: is not the address of an item"},
		{"not JSON", item, itemData, page("error"), "unknown: the item could not be read"},
		{"robots.txt forbids it", item, "www.wikidata.org/robots.txt",
			text("User-agent: *\nDisallow: /wiki/Special:\n"), "unknown: robots.txt does not allow this crawler"},

		{"external link", article, "en.wikipedia.org/wiki/Example",
			answer{body: `<body class="skin ns-0"><a class="external" href="//www.example.com/">Website</a>`},
			"verified: links to example.com"},
		{"mobile article", "https://en.m.wikipedia.org/wiki/Example", "en.wikipedia.org/wiki/Example",
			answer{body: `<body class="ns-0"><a href="https://example.com">W</a>`}, "verified"},
		{"no external link", article, "en.wikipedia.org/wiki/Example",
			answer{body: `<body class="ns-0">` + profileText}, "refuted: does not link to example.com"},
		{"a user page", article, "en.wikipedia.org/wiki/Example",
			answer{body: `<body class="ns-2"><a href="https://example.com">W</a>`}, "refuted: is not an article"},

		{"rel=me", account, "github.com/example",
			page(profileText + `<a rel="nofollow me" href="https://example.com">Site</a>`), "verified"},
		{"visible address", account, "github.com/example", page(profileText + " Find us at www.example.com/shop."),
			"verified: shows the address"},
		{"through a redirect", account, "github.com/example",
			page(profileText + `<a href="https://l.example.net/?u=https%3A%2F%2Fexample.com%2F">Site</a>`),
			"verified: links to example.com through a redirect"},
		{"another domain", account, "github.com/example",
			page(profileText + ` notexample.com example.com.evil.test <a href="https://example.com.evil.test/">x</a>`),
			"unknown: names example.com only in its source"},
		{"an address of mail", account, "github.com/example", page(profileText + " info@mail.example.com"), "unknown"},
		{"nothing", account, "github.com/example", page(profileText), "refuted: does not link to example.com"},
		{"its own address repeated", account + "?next=https://example.com/",
			"github.com/example?next=https://example.com/",
			page(profileText + ` https://example.com/ <a href="/login?next=https%3A%2F%2Fexample.com%2F">Sign in</a>`),
			"unknown"},
		{"drawn by scripts", account, "github.com/example", page(`<script>var x="a"</script>`),
			"unknown: the page has 0 words without scripts"},
		{"a hidden link text", account, "github.com/example", page(profileText + `<script>"example.com"</script>`),
			"unknown: names example.com only in its source"},
		{"a sign-in page", account, "github.com/example", page(profileText + `<input type=password>`),
			"unknown: asks to sign in"},
		{"forbidden", account, "github.com/example", answer{status: 403}, "unknown: responded 403"},
		{"999", "https://www.linkedin.com/company/example", "www.linkedin.com/company/example", answer{status: 999},
			"unknown: responded 999"},
		{"walled", "https://x.com/example", "x.com/example", page(profileText),
			"unknown: x.com shows the links of a profile only to members"},
		{"gone", account, "github.com/example", answer{status: 410}, "refuted: there is no such page"},
		{"leaves the profile site", account, "github.com/example",
			answer{status: 302, location: "https://example.com/"}, "unknown: redirects to example.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := claiming(tt.claim)
			if tt.path != "" {
				site[tt.path] = tt.answer
			}
			facts := auditOf(t, site.serve(t, 0), audit.Subject{URL: home, Name: "Example"})
			if len(facts.Profiles) != 1 || facts.Profiles[0].URL != tt.claim {
				t.Fatalf("profiles %+v, want one of %s", facts.Profiles, tt.claim)
			}
			p := facts.Profiles[0]
			if got := string(p.State) + ": " + p.Reason; !strings.HasPrefix(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			id := "sameas.profiles"
			if strings.Contains(tt.claim, "wiki") {
				id = "sameas.reference"
			}
			want := map[fieldmark.ProfileState]string{"verified": "1", "refuted": "0", "unknown": "unknown"}[p.State]
			if got := say(facts, id); got != want || !strings.Contains(seen(facts, id), p.Reason) {
				t.Errorf("%s = %s, want %s; seen:\n%s", id, got, want, seen(facts, id))
			}
		})
	}
}

// TestProfilesAreBounded: an audit checks six profiles, references first and those that
// show their links only to members last, and the facts list all of them in the site's order.
func TestProfilesAreBounded(t *testing.T) {
	site := claiming("https://www.linkedin.com/company/e https://github.com/a https://github.com/b " +
		"https://gitlab.com/e " +
		"https://medium.com/@e https://codeberg.org/e https://www.crunchbase.com/organization/e " +
		"https://www.wikidata.org/wiki/Q1")
	site["gitlab.com/e"] = html("", profileText)
	s := site.serve(t, 0)
	facts := auditOf(t, s, audit.Subject{URL: home, Name: "Example"})
	var states []string
	for _, p := range facts.Profiles {
		states = append(states, string(p.State))
	}
	want := "unknown verified verified refuted verified verified unknown verified"
	if got := strings.Join(states, " "); got != want {
		t.Errorf("states %s, want %s", got, want)
	}
	if got := say(facts, "sameas.profiles"); got != "3" {
		t.Errorf("sameas.profiles = %s, want 3 sites; seen:\n%s", got, seen(facts, "sameas.profiles"))
	}
	for _, path := range s.requests() {
		if strings.HasPrefix(path, "www.linkedin.com") {
			t.Errorf("asked for %s, want at most six profiles", path)
		}
	}
}

// TestProfilesAreCached: concurrent audits ask for a profile once.
func TestProfilesAreCached(t *testing.T) {
	s := claiming("https://github.com/e").serve(t, 0)
	a, err := audit.New(audit.Config{HTTP: s.client, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			report, err := a.Audit(t.Context(), audit.Subject{URL: home, Name: "Example"}, nil)
			if err != nil || report.Facts.Profiles[0].State != fieldmark.ProfileVerified {
				t.Errorf("profiles %+v, %v; want one verified", report.Facts.Profiles, err)
			}
		})
	}
	wg.Wait()
	asked := 0
	for _, path := range s.requests() {
		if path == "github.com/e" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("%d requests for the profile, want 1", asked)
	}
}

// TestProfilesComeAfterPages: profiles are checked with the requests that the pages leave.
func TestProfilesComeAfterPages(t *testing.T) {
	site := claiming("https://github.com/e")
	site["/llms.txt"] = answer{handler: func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }}
	s := site.serve(t, 0)
	a, err := audit.New(audit.Config{HTTP: s.client, Delay: -1, MaxRequests: 4})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Audit(t.Context(), audit.Subject{URL: home, Name: "Example"}, nil)
	if err != nil || len(s.requests()) > 4 {
		t.Fatalf("asked %q, %v; want at most 4", s.requests(), err)
	}
	if p := report.Facts.Profiles[0]; p.State != fieldmark.ProfileUnknown ||
		p.Reason != "the audit has used all its requests" {
		t.Errorf("profile %+v, want unknown without a request", p)
	}
}
