package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// requestKey sends a request for an API key.
func (b *browser) requestKey(organization string) fieldmark.NewAccessRequest {
	b.t.Helper()
	r, err := b.service.AccessRequests.Open(b.t.Context(), access.Caller{}, fieldmark.AccessRequestForm{
		Organization: organization, Name: "Ann <b>Ames", Email: "ann@acme.example", Offer: fieldmark.OfferGroup,
		Purpose: "Missions for <script>alert(1)</script> broken meters.",
		Scopes:  []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// TestAccessRequests: an administrator sees what waits, approves with fewer scopes than requested, and a second
// one learns who decided. What strangers wrote is text.
func TestAccessRequests(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	r, other := b.requestKey("Acme Repairs"), b.requestKey("Default!")
	const list = "/admin/access-requests"
	page := b.page(list)
	for _, want := range []string{`>Acme Repairs</bdi>`, `Ann &lt;b&gt;Ames`, `Key requests <span class="count">2<`} {
		if !strings.Contains(page, want) {
			t.Errorf("the list has no %s: %s", want, page)
		}
	}
	path := list + "/" + r.ID
	page = b.page(path)
	for _, want := range []string{`&lt;script&gt;`, `name="new" value="acme-repairs"`,
		`<option value="group" selected>`, `value="mission:create" checked`, `value="mission:read" checked`} {
		if !strings.Contains(page, want) {
			t.Errorf("the request has no %s: %s", want, page)
		}
	}
	if strings.Contains(page, `value="webhook:manage" checked`) || strings.Contains(page, "admin:*") {
		t.Errorf("the form offers scopes that were not requested: %s", page)
	}
	if page := b.page(list + "/" + other.ID); !strings.Contains(page, `name="new" value="default-2"`) {
		t.Errorf("the proposed account is not free: %s", page)
	}
	form := url.Values{"account": {"+"}, "new": {"default"}, "offer": {"group"}, "scope": {"mission:create"},
		"reads": {"60"}, "writes": {"0"}, "days": {"90"}, "networks": {"192.0.2.0/24, 198.51.100.7"}}
	if rec := b.do(path+"/approve", form); rec.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(rec.Body.String(), `id="writes-fault"`) {
		t.Errorf("a rate of 0: %d %s", rec.Code, rec.Body)
	}
	form.Del("writes")
	form.Set("confirm", "yes")
	if rec := b.do(path+"/approve", form); rec.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(rec.Body.String(), `id="new-fault"`) || !strings.Contains(rec.Body.String(), `value="60"`) {
		t.Errorf("an account that exists: %d %s", rec.Code, rec.Body)
	}
	form.Set("new", "acme-repairs")
	if rec := b.do(path+"/approve", form); rec.Code != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", rec.Code, rec.Body)
	}
	again := b.do(path+"/decline", url.Values{"reason": {"No."}, "confirm": {"yes"}})
	if again.Code != http.StatusConflict || !strings.Contains(again.Body.String(), "approved by "+user) {
		t.Errorf("decide twice: %d %s", again.Code, again.Body)
	}
	k, err := b.service.AccessRequests.Issue(t.Context(), r.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if k.Account != "acme-repairs" || len(k.Scopes) != 1 || len(k.Networks) != 2 || k.RateLimit.Reads != 60 {
		t.Errorf("the key is %+v", k.Key)
	}
	if page := b.page(path); !strings.Contains(page, "acme-repairs") || strings.Contains(page, k.Token) ||
		strings.Contains(page, r.Secret) {
		t.Errorf("the page of an issued request: %s", page)
	}
	if rec := b.do(list+"/"+other.ID+"/decline", url.Values{"reason": {"Who are you?"},
		"confirm": {"yes"}}); rec.Code !=
		http.StatusSeeOther {
		t.Errorf("decline: %d %s", rec.Code, rec.Body)
	}
	if s, err := b.service.AccessRequests.Status(t.Context(), other.Secret); err != nil ||
		s.State != fieldmark.AccessDeclined || s.Reason != "Who are you?" {
		t.Errorf("the declined request is %+v, %v", s, err)
	}
}
