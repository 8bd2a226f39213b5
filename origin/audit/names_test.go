package audit_test

import (
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
