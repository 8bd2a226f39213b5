package audit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// TestRefresh: the audit follows an immediate meta refresh to another page, as search
// engines do, and no other refresh.
func TestRefresh(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		follow     bool
	}{
		{"at once", `<meta http-equiv="refresh" content="0; url=/en/">`, true},
		{"in capitals, in quotes",
			`<title>x</title><META HTTP-EQUIV=Refresh CONTENT="0;URL='https://example.com/en/#top'">`, true},
		{"by a comma, without url=", `<meta http-equiv=refresh content=" 0 , /en/ ">`, true},
		{"by space", `<meta http-equiv=refresh content="0 /en/">`, true},
		{"part of a second", `<meta http-equiv=refresh content="0.5;url=/en/">`, true},
		{"below a base", `<base href="/en/"><meta http-equiv=refresh content="0;url=./">`, true},
		{"after some seconds", `<meta http-equiv=refresh content="5; url=/en/">`, false},
		{"after ten seconds", `<meta http-equiv=refresh content="010; url=/en/">`, false},
		{"without a time", `<meta http-equiv=refresh content="url=/en/">`, false},
		{"without an address", `<meta http-equiv=refresh content="0">`, false},
		{"to itself", `<meta http-equiv=refresh content="0; url=/">`, false},
		{"to no page", `<meta http-equiv=refresh content="0; url=javascript:x()">`, false},
		{"for readers without scripts", `<noscript><meta http-equiv=refresh content="0; url=/en/"></noscript>`, false},
		{"in a comment", `<!-- <meta http-equiv=refresh content="0; url=/en/"> -->`, false},
		{"in the body", `</head><body><p></p><meta http-equiv=refresh content="0; url=/en/">`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site := web{"/": html(tt.head, words(5)), "/en/": html("<title>English</title>", words(60))}
			facts := site.audit(t)
			want := "5"
			if tt.follow {
				want = "60"
			}
			if got := say(facts, "home.words"); got != want || strings.HasSuffix(facts.URL, "/en/") != tt.follow {
				t.Errorf("home.words = %s of %s, want %s", got, facts.URL, want)
			}
		})
	}
}

// The rules for redirects apply to a refresh: a maximum number, no loops, and only to
// addresses that robots.txt allows.
func TestRefreshBounds(t *testing.T) {
	to := func(path string) answer {
		return html(fmt.Sprintf(`<meta http-equiv=refresh content="0;url=%s">`, path), "x")
	}
	chain := web{"/": to("/1")}
	for i := range 10 {
		chain[fmt.Sprintf("/%d", i+1)] = to(fmt.Sprintf("/%d", i+2))
	}
	for _, tt := range []struct {
		name string
		site web
		want string // of home.reachable
		why  string
	}{
		{"a chain", chain, "0", "too many redirects"},
		{"a circle", web{"/": to("/a"), "/a": to("/b"), "/b": to("/a")}, "0", "too many redirects"},
		{"inward", web{"/": to("http://169.254.169.254/latest/")}, "0", "address not allowed"},
		{"forbidden", web{"/": to("/en/"), "/en/": html("", "x"), "/robots.txt": text("User-agent: *\nDisallow: /en/")},
			"unknown", "robots.txt does not allow this crawler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.site
			facts := s.audit(t)
			if got, why := say(facts, "home.reachable"), seen(facts, "home.reachable"); got != tt.want ||
				!strings.Contains(why, tt.why) {
				t.Errorf("home.reachable = %s, seen %q; want %s, %q", got, why, tt.want, tt.why)
			}
		})
	}
}

// TestSignedHops: every request is signed by itself, those after a redirect too, and names the
// page about the crawler.
func TestSignedHops(t *testing.T) {
	site := goodSite()
	site["/about"] = answer{status: 302, location: "/us"}
	site["/us"] = plainPage
	s := site.serve(t, 0)
	agent := audit.UserAgentOf("https://marks.example/")
	if want := "FieldmarkBot/1.0 (+https://marks.example/bot)"; agent != want {
		t.Errorf("User-Agent %q, want %q", agent, want)
	}
	signed := map[string]int{}
	client := safehttp.New(safehttp.Config{Allow: s.allow, ConnectTo: s.connectTo, Roots: s.roots,
		Sign: func(r *http.Request) {
			signed[r.URL.String()]++
			if r.UserAgent() != agent {
				t.Errorf("GET %s signed as %q", r.URL, r.UserAgent())
			}
			r.Header.Set("User-Agent", audit.UserAgent) // the test site wants it
		}})
	t.Cleanup(client.CloseIdle)
	a, err := audit.New(audit.Config{HTTP: client, UserAgent: agent, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Audit(t.Context(), audit.Subject{URL: home, Name: "Example"}, nil); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, n := range signed {
		sum += n
	}
	if asked := len(s.requests()); sum < asked || signed[home+"about"] != 1 || signed[home+"us"] != 1 {
		t.Errorf("%d signatures for %d requests: %v", sum, asked, signed)
	}
}
