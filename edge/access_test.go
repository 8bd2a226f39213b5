package edge_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

func accessForm(values ...string) string {
	form := url.Values{"organization": {"Acme & Söhne"}, "name": {"Ann"}, "email": {"ann@acme.example"},
		"purpose": {"Our billing creates a mission for each broken meter."}, "offer": {"standard"},
		"scope": {"mission:create", "mission:read"}}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return form.Encode()
}

var keyToken = regexp.MustCompile(`fm_live_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}`)

// TestAccessPage walks without scripts from the form to a key that creates a mission. A GET or HEAD of the page
// of a request spends nothing, and of several POSTs at once one shows the key. Logs do not have the secret.
func TestAccessPage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const path = fieldmark.PathAccessPage
	page := h.get(path)
	if page.status != 200 || !strings.Contains(page.body, `action="`+path+`"`) ||
		page.header.Get("Cache-Control") != "no-store" || strings.Contains(page.body, "class=\"fault\"") {
		t.Fatalf("form: %d, cache %q: %s", page.status, page.header.Get("Cache-Control"), page.body)
	}
	bad := h.do("POST", path, accessForm("organization", "\u202eAcme", "email", "ann", "purpose", "No </textarea>",
		"scope", "admin:*", "offer", "gold"), "Content-Type", formType)
	if bad.status != http.StatusUnprocessableEntity {
		t.Errorf("a bad form: %d, want 422", bad.status)
	}
	for _, want := range []string{`id="organization-fault"`, `id="email-fault"`, `id="purpose-fault"`,
		`id="scopes-fault"`, `id="offer-fault"`, `No </textarea>`, `value="ann"`, `value="Ann"`} {
		if !strings.Contains(html.UnescapeString(bad.body), want) {
			t.Errorf("a bad form has no %s: %s", want, bad.body)
		}
	}
	if strings.Count(bad.body, "autofocus") != 1 || strings.Contains(bad.body, "No </textarea>") {
		t.Errorf("the page has the markup of a stranger, or not one focus: %s", bad.body)
	}
	if large := h.do("POST", path, accessForm("purpose", strings.Repeat("x", 64<<10)), "Content-Type",
		formType); large.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form of 64 KiB: %d", large.status)
	}

	sent := h.do("POST", path, accessForm(), "Content-Type", formType)
	to := sent.header.Get("Location")
	if sent.status != http.StatusSeeOther || len(to) != len(path)+1+fieldmark.AccessSecretChars {
		t.Fatalf("a good form: %d to %q: %s", sent.status, to, sent.body)
	}
	state := h.get(to)
	if state.status != 200 || !strings.Contains(state.body, "waits for a decision") ||
		!strings.Contains(html.UnescapeString(state.body), "Acme & Söhne") {
		t.Errorf("a pending request: %d %s", state.status, state.body)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Robots-Tag": "noindex"} {
		if got := state.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if early := h.do("POST", to, ""); early.status != http.StatusConflict || keyToken.MatchString(early.body) {
		t.Errorf("the key of a pending request: %d %s", early.status, early.body)
	}
	all, err := h.service.AccessRequests.List(t.Context(), fieldmark.AccessPending, "", 2)
	if err != nil || len(all) != 1 {
		t.Fatalf("requests: %+v, %v", all, err)
	}
	_, err = h.service.AccessRequests.Approve(asAnn(t), all[0].ID, fieldmark.AccessApproval{Account: "acme",
		NewAccount: true, Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	must(t, err)
	for _, method := range []string{"GET", "HEAD", "GET"} {
		if r := h.do(method, to, ""); r.status != 200 || keyToken.MatchString(r.body) ||
			method == "GET" && !strings.Contains(r.body, "Create and show the key") {
			t.Errorf("%s of an approved request: %d %s", method, r.status, r.body)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	tokens := map[string]bool{}
	for range 4 {
		wg.Go(func() {
			r := h.do("POST", to, "")
			mu.Lock()
			defer mu.Unlock()
			if token := keyToken.FindString(r.body); token != "" {
				tokens[token] = true
			} else if r.status != http.StatusConflict {
				t.Errorf("one of several POSTs: %d", r.status)
			}
		})
	}
	wg.Wait()
	if len(tokens) != 1 {
		t.Fatalf("%d keys were shown, want one", len(tokens))
	}
	for token := range tokens {
		made := h.do("POST", fieldmark.PathMissions, `{"source":"billing","externalId":"INV-1","title":"Meter"}`,
			"Authorization", "Bearer "+token, "Content-Type", "application/json")
		if made.status != http.StatusCreated {
			t.Errorf("a mission with the key: %d %s", made.status, made.body)
		}
	}
	if after := h.get(to); !strings.Contains(after.body, "The key was shown") || keyToken.MatchString(after.body) {
		t.Errorf("after the key was shown: %s", after.body)
	}
	for _, secret := range []string{strings.Repeat("A", fieldmark.AccessSecretChars), "short", "a/b"} {
		if r := h.get(path + "/" + secret); r.status != http.StatusNotFound ||
			!strings.Contains(r.body, "no request at this address") {
			t.Errorf("%s/%s: %d", path, secret, r.status)
		}
	}
	if got := fieldmark.LoggedPath(to); got != path+"/…" {
		t.Errorf("logs have %s", got)
	}
}

// asAnn is the context of an administrator.
func asAnn(t *testing.T) context.Context {
	return auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: "ann"})
}
