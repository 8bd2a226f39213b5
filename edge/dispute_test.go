package edge_test

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/formtest"
)

const formType = "application/x-www-form-urlencoded"

func disputeForm(values ...string) string {
	form := url.Values{"signal": {"read.headings"}, "kind": {"wrong"}, "email": {"web@acme.example"},
		"text": {"Our headings form an outline.\r\nSee the first page."}}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return form.Encode()
}

// TestDisputePage walks through the form without scripts: a refused form keeps what was
// entered and says beside each field what is wrong, a sent one leads to its state.
func TestDisputePage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	var page answer
	h.until("the findings of acme are known", func() bool {
		page = h.get("/brands/acme/contest?signal=read.headings")
		return strings.Contains(page.body, "<form")
	})
	if page.status != 200 || !strings.Contains(page.body, `<option value="read.headings" selected>`) ||
		!strings.Contains(page.body, `name="robots" content="noindex"`) ||
		page.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("form: %d, cache %q: %s", page.status, page.header.Get("Cache-Control"), page.body)
	}

	bad := h.do("POST", "/brands/acme/contest", disputeForm("text", "No </textarea>", "email", "acme", "kind",
		"outdated"), "Content-Type", formType)
	if bad.status != http.StatusUnprocessableEntity {
		t.Errorf("a bad form: %d, want 422", bad.status)
	}
	for _, want := range []string{`<span class="fault" id="text-fault">`, `<span class="fault" id="email-fault">`,
		`No &lt;/textarea&gt;`, `value="acme"`, `<option value="outdated" selected>`,
		`<option value="read.headings" selected>`} {
		if !strings.Contains(html.UnescapeString(bad.body), html.UnescapeString(want)) {
			t.Errorf("a bad form has no %s: %s", want, bad.body)
		}
	}
	gate := h.do("POST", "/brands/acme/contest", disputeForm("signal", fieldmark.GateManipulation), "Content-Type",
		formType)
	if gate.status != http.StatusUnprocessableEntity || !strings.Contains(gate.body, `id="signal-fault"`) {
		t.Errorf("a finding that does not exist: %d %s", gate.status, gate.body)
	}

	t.Run("walk", func(t *testing.T) { walkForms(t, h) })

	sent := h.do("POST", "/brands/acme/contest", disputeForm(), "Content-Type", formType)
	to := sent.header.Get("Location")
	if sent.status != http.StatusSeeOther || !strings.HasPrefix(to, fieldmark.DisputePath("acme", "")+"?dispute=dsp_") {
		t.Fatalf("a good form: %d to %q: %s", sent.status, to, sent.body)
	}
	if state := h.get(to); state.status != 200 || !strings.Contains(state.body, "under review") ||
		strings.Contains(state.body, "acme.example/</") || strings.Contains(state.body, "web@acme.example") ||
		strings.Contains(state.body, "form an outline") {
		t.Errorf("state: %d %s", state.status, state.body)
	}
	h.until("the page of the brand says so", func() bool {
		return strings.Contains(h.get("/brands/acme").body, ">Disputed on <time")
	})
	if score := h.get("/api/v1/score/acme").body; strings.Contains(score, "disput") {
		t.Errorf("the score document, which anybody can compute, has the dispute: %s", score)
	}
	twice := h.do("POST", "/brands/acme/contest", disputeForm(), "Content-Type", formType)
	if twice.status != http.StatusConflict || !strings.Contains(twice.body, "under review") {
		t.Errorf("sent twice: %d %s; want 409 with the reason", twice.status, twice.body)
	}
	_, id, _ := strings.Cut(to, "dispute=")
	_, err := h.service.Brands.Disputes.Decide(t.Context(), id,
		fieldmark.DisputeDecision{State: fieldmark.DisputeUpheld, Answer: "You are right & polite."})
	must(t, err)
	if state := h.get(to); !strings.Contains(state.body, "upheld") ||
		!strings.Contains(state.body, "You are right & polite.") {
		t.Errorf("decided: %s", state.body)
	}
	h.until("the page of the brand says so no more", func() bool {
		return !strings.Contains(h.get("/brands/acme").body, "Disputed on <time")
	})

	for path, want := range map[string]int{"/brands/nobody/contest": 404, "/brands/A_b/contest": 404,
		"/brands/acme/contest?dispute=dsp_x": 404, "/brands/acme/contest/": 404,
		"/brands/acme/contest?dispute=" + fieldmark.NewID(fieldmark.PrefixDispute, fieldmark.Time{}.Std()): 404} {
		if got := h.get(path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	if got := h.do("POST", "/brands/nobody/contest", disputeForm(), "Content-Type", formType); got.status != 404 {
		t.Errorf("a form about no brand: %d, want 404", got.status)
	}
	if got := h.do("DELETE", "/brands/acme/contest", ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d, want 405", got.status)
	}
}

// walkForms sends every public form with bad values: see formtest.Walker.
func walkForms(t *testing.T, h *fixture) {
	w := formtest.Walker{Sent: map[string]bool{}, Get: func(path string) string { return h.get(path).body },
		Post: func(action string, form url.Values) (int, string) {
			a := h.do("POST", action, form.Encode(), "Content-Type", formType)
			return a.status, a.body
		}}
	for _, path := range []string{"/brands/acme/contest", "/check", "/claim", fieldmark.PathAccessPage, "/llms-txt"} {
		w.Walk(t, path)
	}
	if len(w.Sent) != 7 {
		t.Errorf("sent %v, want 7 forms", w.Sent)
	}
}

// Opening disputes counts towards the rate of a client network, by the form and by the API.
func TestDisputesAreRateLimited(t *testing.T) {
	h := newLimitedFixture(t)
	h.brand("acme", "Acme", 300)
	began := time.Now()
	var got []int
	for last := 0; last != http.StatusTooManyRequests; { // the burst is 30, and 30 are earned in a minute
		last = h.do("POST", fieldmark.PathBrands+"acme/disputes", "{}", "Content-Type", "application/json").status
		if got = append(got, last); len(got) > 31+earned(began, 30) {
			t.Fatalf("the API answers %v, want 429 after 30", got)
		}
	}
	if len(got) < 31 || !slices.Contains(got, 422) {
		t.Errorf("the API answers %v, want 422 and then 429", got)
	}
	forms := 0
	h.until("the form is refused", func() bool {
		forms++
		return h.do("POST", "/brands/acme/contest", disputeForm(), "Content-Type", formType).status == 429
	})
	if forms > 1+earned(began, 30) {
		t.Errorf("%d forms were accepted, want none: both count in one place", forms-1)
	}
}

// A brand that was renamed is disputed at its present address.
func TestDisputePageOfAnAlias(t *testing.T) {
	h := newFixture(t)
	h.brand("acme", "Acme", 300)
	_, err := h.service.Brands.Rename(t.Context(), "acme", "anvils")
	must(t, err)
	h.until("the page leads to the new address", func() bool {
		a := h.get("/brands/acme/contest?signal=x")
		return a.status == http.StatusMovedPermanently && a.header.Get("Location") == "/brands/anvils/contest?signal=x"
	})
}
