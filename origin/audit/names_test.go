package audit_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// TestSiteName: the name of a site without a configured brand is the one that most of its
// sources contain, and never a public suffix.
func TestSiteName(t *testing.T) {
	for _, tt := range []struct{ url, head, llms, want string }{
		{"https://www.peaklogbooks.co.uk/", "<title>Peak Logbooks | Logbooks for pilots</title>", "", "peaklogbooks"},
		{"https://dokuna.de/", "<title>dokuna.de – Rezepte</title>", "", "dokuna"},
		{"https://git-scm.com/", "<title>Git</title>", "", "Git"},
		{"https://www.postgresql.org/", "<title>PostgreSQL: The world's most advanced open source database</title>", "",
			"postgresql"},
		{"https://tools-r-us.example/", `<title>Anvils</title><meta property="og:site_name" content="Acme">` +
			ld(`{"@type":"WebSite","name":"Acme"}`), "", "Acme"},
		{"https://acme.example/", `<title>Acme</title><meta property="og:site_name" content="My WordPress Site">`,
			"Acme", "acme"},
		{"https://xn--mller-kva.example/", "<title>Welcome</title>", "", "müller"},
		{"https://example.com/", "", "", "example"},
		{"http://127.0.0.1:8080/", "<title>Hello</title>", "", "127.0.0.1"},
		{"http://localhost/", `<title>Home</title><meta property="og:site_name" content="Demo">`, "", "Demo"},
	} {
		if got := audit.TrySiteName(tt.url, tt.head, tt.llms); got != tt.want {
			t.Errorf("%s with %s: %q, want %q", tt.url, tt.head, got, tt.want)
		}
	}
}

// TestCommonTitle: the name of a site is also what the titles of its pages share.
func TestCommonTitle(t *testing.T) {
	for _, tt := range []struct{ home, about, contact, want string }{
		{"Peak Logbooks – Home", "About us – Peak Logbooks", "Contact – Peak Logbooks", "Peak Logbooks"},
		{"Welcome | Peak Logbooks", "Peak Logbooks: who we are", "Contact", "Peak Logbooks"},
		{"Welcome – Peak Logbooks", "About", "Contact", "example"},
		{"Home", "Home", "Home", "example"},
		{"The best logbooks for pilots in the world – Home", "The best logbooks for pilots in the world", "x",
			"example"},
	} {
		page := func(title string) answer {
			return html("<title>"+title+"</title>", "<a href=/about>About</a><a href=/contact>Contact</a>")
		}
		site := web{"/": page(tt.home), "/about": page(tt.about), "/contact": page(tt.contact)}
		facts := auditOf(t, site.serve(t, 0), audit.Subject{URL: home})
		if got := seen(facts, "name.coherence"); !strings.Contains(got, `places name "`+tt.want+`"`) {
			t.Errorf("titles %q, %q, %q: %s, want the name %q", tt.home, tt.about, tt.contact, got, tt.want)
		}
	}
}
