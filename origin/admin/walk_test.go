package admin_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/formtest"
)

// TestWalkForms sends every form of the console with bad values: see formtest.Walker.
func TestWalkForms(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	paths := []string{"/admin/api-keys", "/admin/accounts", "/admin/offers", "/admin/missions", "/admin/missions/new",
		"/admin/board",
		"/admin/brands", "/admin/brands/acme", "/admin/webhooks", "/admin/modules", "/admin/calendars", "/admin/nodes",
		"/admin/cdns",
		"/admin/certificates", "/admin/audit-log", "/admin/settings"}
	for _, q := range b.questionTests() {
		path := regexp.MustCompile(`^/admin/[^/]+/[^/]+`).FindString(q.path)
		if rec := b.do(path, nil); rec.Code == 200 && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	w := formtest.Walker{Sent: map[string]bool{}, Get: func(path string) string { return b.page(path) },
		Post: func(action string, form url.Values) (int, string) {
			rec := b.do(action, form)
			return rec.Code, rec.Body.String()
		},
		Skip: func(f formtest.Form) bool {
			return strings.HasSuffix(f.Action, "/sign-out") || strings.HasSuffix(f.Action, "/resend")
		}}
	for _, path := range paths {
		w.Walk(t, path)
	}
	if len(w.Sent) < 40 {
		t.Errorf("found only %d forms", len(w.Sent))
	}
}
