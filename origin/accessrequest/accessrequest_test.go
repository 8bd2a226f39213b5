package accessrequest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

type fixture struct {
	*origin.Service
	t     *testing.T
	at    store.Config
	store *store.Store
	ctx   context.Context // of the administrator ann
	n     int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, at: storetest.New(t)}
	f.store = storetest.Open(t, f.at)
	var err error
	f.Service, err = origin.New(origin.Config{Store: f.store, Secret: []byte(strings.Repeat("s", 32)),
		BaseURL: "https://example.com"})
	f.must(err)
	f.must(f.Prepare(t.Context()))
	f.ctx = f.as("ann")
	return f
}

func (f *fixture) as(name string) context.Context {
	return auditlog.WithActor(f.t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: name})
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) wantCode(what string, err error, want fieldmark.Code) *fieldmark.Error {
	f.t.Helper()
	if !fieldmark.IsCode(err, want) {
		f.t.Fatalf("%s: %v, want %s", what, err, want)
	}
	return fieldmark.AsError(err)
}

func form() fieldmark.AccessRequestForm {
	return fieldmark.AccessRequestForm{Organization: "Acme Repairs", Name: "Ann Ames", Email: "ann@acme.example",
		Purpose: "Our billing creates a mission for each broken meter.", Offer: fieldmark.OfferStandard,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}}
}

// open sends a request from another network each time.
func (f *fixture) open() fieldmark.NewAccessRequest {
	f.t.Helper()
	f.n++
	r, err := f.AccessRequests.Open(f.ctx, access.ParseCaller(fmt.Sprintf("10.0.%d.1", f.n), ""), form())
	f.must(err)
	return r
}

func approval() fieldmark.AccessApproval {
	return fieldmark.AccessApproval{Account: "acme", NewAccount: true, ExpiresInDays: 90,
		Scopes:    []fieldmark.Scope{fieldmark.ScopeMissionCreate},
		RateLimit: &fieldmark.RateLimit{Writes: 30}, Networks: []string{"192.0.2.0/24"}}
}

// TestIssue: a request that is approved yields one key, also to several callers at once, and the database has
// neither the secret nor the key. Neither the event log nor the audit log has what the applicant wrote.
func TestIssue(t *testing.T) {
	f := newFixture(t)
	r := f.open()
	if len(r.Secret) != fieldmark.AccessSecretChars || r.State != fieldmark.AccessPending {
		t.Fatalf("opened %+v", r)
	}
	_, err := f.AccessRequests.Issue(f.ctx, r.Secret)
	f.wantCode("the key of a pending request", err, fieldmark.CodeAccessState)
	approved, err := f.AccessRequests.Approve(f.ctx, r.ID, approval())
	f.must(err)
	if approved.State != fieldmark.AccessApproved || approved.DecidedBy != "ann" || approved.ExpiresAt == nil {
		t.Errorf("approved %+v", approved)
	}
	var before int
	keys, err := f.Access.Keys.List(f.ctx)
	f.must(err)
	before = len(keys)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made []fieldmark.NewKey
	for range 8 {
		wg.Go(func() {
			k, err := f.AccessRequests.Issue(f.ctx, r.Secret)
			if err != nil && !fieldmark.IsCode(err, fieldmark.CodeAccessState) {
				t.Errorf("one of several calls at once: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made = append(made, k)
			}
		})
	}
	wg.Wait()
	keys, err = f.Access.Keys.List(f.ctx)
	f.must(err)
	if len(made) != 1 || len(keys) != before+1 {
		t.Fatalf("%d calls got a key, and %d keys exist more; want one", len(made), len(keys)-before)
	}
	k := made[0]
	if k.Account != "acme" || k.Name != "Acme Repairs" || k.RateLimit == nil || k.RateLimit.Writes != 30 ||
		len(k.Networks) != 1 || k.ExpiresAt == nil || len(k.Scopes) != 1 {
		t.Errorf("the key is %+v", k.Key)
	}
	_, err = f.Access.Keys.Authenticate(f.ctx, k.Token, access.ParseCaller("192.0.2.7", ""))
	f.must(err)
	status, err := f.AccessRequests.Status(f.ctx, r.Secret)
	f.must(err)
	if status.State != fieldmark.AccessIssued || status.IssuedAt == nil {
		t.Errorf("after the key was shown: %+v", status)
	}
	dump := storetest.Dump(t, f.at)
	for _, secret := range []string{r.Secret, k.Token} {
		if bytes.Contains(dump, []byte(secret)) {
			t.Errorf("the database has %s in the clear", secret)
		}
	}
	page, err := f.Events.After(f.ctx, fieldmark.EventCursor{}, 0, 0)
	f.must(err)
	var events []string
	for _, e := range page.Events {
		if name, ok := strings.CutPrefix(string(e.Type), "access_request."); ok {
			events = append(events, name)
			if bytes.Contains(e.Data, []byte("@")) || bytes.Contains(e.Data, []byte("Acme")) {
				t.Errorf("the event %s has %s", e.Type, e.Data)
			}
		}
	}
	if got := strings.Join(events, " "); got != "opened approved issued" {
		t.Errorf("events: %s", got)
	}
	entries, err := f.AuditLog.List(f.ctx, 0, auditlog.Filter{Action: "access_request.*"}, 10)
	f.must(err)
	if len(entries) != 3 {
		t.Errorf("%d entries in the audit log, want 3", len(entries))
	}
	for _, e := range entries {
		if bytes.Contains(e.After, []byte("ann@")) || bytes.Contains(e.After, []byte("billing")) {
			t.Errorf("the entry %s has %s", e.Act, e.After)
		}
	}
}

// TestDecide: the first decision is final, and the second administrator sees whose it was.
func TestDecide(t *testing.T) {
	f := newFixture(t)
	r := f.open()
	_, err := f.AccessRequests.Decline(f.ctx, r.ID, fieldmark.AccessRefusal{Reason: " \n"})
	f.wantCode("decline without a reason", err, fieldmark.CodeValidationFailed)
	_, err = f.AccessRequests.Decline(f.ctx, r.ID, fieldmark.AccessRefusal{Reason: "We do not know you."})
	f.must(err)
	_, err = f.AccessRequests.Approve(f.as("bob"), r.ID, approval())
	e := f.wantCode("decide twice", err, fieldmark.CodeRequestDecided)
	if !strings.Contains(e.Detail, "declined by ann") {
		t.Errorf("the second administrator reads %q", e.Detail)
	}
	status, err := f.AccessRequests.Status(f.ctx, r.Secret)
	f.must(err)
	if status.State != fieldmark.AccessDeclined || status.Reason != "We do not know you." {
		t.Errorf("the applicant sees %+v", status)
	}
	_, err = f.AccessRequests.Issue(f.ctx, r.Secret)
	f.wantCode("the key of a declined request", err, fieldmark.CodeAccessState)

	// Several decisions at once: one is stored.
	r = f.open()
	var wg sync.WaitGroup
	codes := make([]error, 6)
	for i := range codes {
		wg.Go(func() {
			a := approval()
			a.Account = fmt.Sprint("acme-", i)
			_, codes[i] = f.AccessRequests.Approve(f.as(fmt.Sprint("admin", i)), r.ID, a)
		})
	}
	wg.Wait()
	won := 0
	for i, err := range codes {
		if err == nil {
			won++
		} else {
			f.wantCode(fmt.Sprint("approval ", i), err, fieldmark.CodeRequestDecided)
		}
	}
	accounts, err := f.Access.Accounts.List(f.ctx)
	f.must(err)
	if won != 1 || len(accounts) != 2 {
		t.Errorf("%d approvals at once succeeded with %d accounts, want one beside the default", won, len(accounts))
	}
}

// TestApproval: an approval cannot give more than can be requested, and neither overwrites an account nor
// invents one.
func TestApproval(t *testing.T) {
	f := newFixture(t)
	r := f.open()
	_, err := f.Offers.Put(f.ctx, "small", fieldmark.OfferRequest{Name: "Small", Kind: fieldmark.OfferStandard,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}, MaxKeyDays: 90}, nil)
	f.must(err)
	for _, tt := range []struct {
		change  func(*fieldmark.AccessApproval)
		pointer string
	}{
		{func(a *fieldmark.AccessApproval) { a.Offer = "none" }, "/offer"},
		{func(a *fieldmark.AccessApproval) {
			a.Offer, a.Scopes = "small", []fieldmark.Scope{fieldmark.ScopeMissionRead}
		}, "/scopes/0"},
		{func(a *fieldmark.AccessApproval) { a.Offer, a.ExpiresInDays = "small", -1 }, "/expiresInDays"},
		{func(a *fieldmark.AccessApproval) { a.Scopes = []fieldmark.Scope{fieldmark.ScopeAccountManage} }, "/scopes/0"},
		{func(a *fieldmark.AccessApproval) { a.Scopes = []fieldmark.Scope{fieldmark.ScopeAdmin} }, "/scopes/0"},
		{func(a *fieldmark.AccessApproval) { a.Scopes = nil }, "/scopes"},
		{func(a *fieldmark.AccessApproval) { a.Account = "A!" }, "/account"},
		{func(a *fieldmark.AccessApproval) { a.NewAccount = false }, "/account"},
		{func(a *fieldmark.AccessApproval) { a.Account = access.DefaultAccount }, "/account"},
		{func(a *fieldmark.AccessApproval) { a.Networks = []string{"everywhere"} }, "/networks/0"},
		{func(a *fieldmark.AccessApproval) { a.ExpiresInDays = 9999 }, "/expiresInDays"},
		{func(a *fieldmark.AccessApproval) { a.RateLimit = &fieldmark.RateLimit{Reads: -1} }, "/rateLimit/reads"},
	} {
		a := approval()
		tt.change(&a)
		_, err := f.AccessRequests.Approve(f.ctx, r.ID, a)
		e := f.wantCode(tt.pointer, err, fieldmark.CodeValidationFailed)
		if len(e.Fields) != 1 || e.Fields[0].Pointer != tt.pointer {
			t.Errorf("errors %+v, want one about %s", e.Fields, tt.pointer)
		}
	}
	if got, err := f.AccessRequests.Get(f.ctx, r.ID); err != nil || got.State != fieldmark.AccessPending {
		t.Errorf("after refused approvals: %s, %v", got.State, err)
	}
	a := approval()
	a.Offer = "small"
	_, err = f.AccessRequests.Approve(f.ctx, r.ID, a)
	f.must(err)
	accounts, err := f.Access.Accounts.List(f.ctx)
	f.must(err)
	if i := slices.IndexFunc(accounts, func(a fieldmark.Account) bool { return a.ID == "acme" }); i < 0 ||
		accounts[i].Offer != "small" {
		t.Errorf("the accounts are %+v, want acme with the offer", accounts)
	}

	// The offer is checked again when the key is created.
	_, err = f.Offers.Put(f.ctx, "small", fieldmark.OfferRequest{Name: "Small", Kind: fieldmark.OfferStandard,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}}, nil)
	f.must(err)
	_, err = f.AccessRequests.Issue(f.ctx, r.Secret)
	f.wantCode("the key of an offer that was narrowed", err, fieldmark.CodeAccessState)
	_, err = f.Offers.Put(f.ctx, "small", fieldmark.OfferRequest{Name: "Small", Kind: fieldmark.OfferStandard}, nil)
	f.must(err)
	if _, err := f.AccessRequests.Issue(f.ctx, r.Secret); err != nil {
		t.Errorf("the key after the offer was widened: %v", err)
	}
}

// TestForm: a request with invalid members is refused with all of them.
func TestForm(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", 2001)
	for _, tt := range []struct {
		change  func(*fieldmark.AccessRequestForm)
		pointer string
	}{
		{func(r *fieldmark.AccessRequestForm) { r.Organization = " \u200b " }, "/organization"},
		{func(r *fieldmark.AccessRequestForm) { r.Organization = long }, "/organization"},
		{func(r *fieldmark.AccessRequestForm) { r.Organization = "Acme \u202egnirts" }, "/organization"},
		{func(r *fieldmark.AccessRequestForm) { r.Name = "Ann\nBcc: all" }, "/name"},
		{func(r *fieldmark.AccessRequestForm) { r.Email = "ann@acme.example\r\nBcc: bob@acme.example" }, "/email"},
		{func(r *fieldmark.AccessRequestForm) { r.Email = "Ann <ann@acme.example>" }, "/email"},
		{func(r *fieldmark.AccessRequestForm) { r.Purpose = "too short" }, "/purpose"},
		{func(r *fieldmark.AccessRequestForm) { r.Purpose = long }, "/purpose"},
		{func(r *fieldmark.AccessRequestForm) { r.Purpose += "\x00" }, "/purpose"},
		{func(r *fieldmark.AccessRequestForm) { r.Scopes = []fieldmark.Scope{fieldmark.ScopeAdmin} }, "/scopes/0"},
		{func(r *fieldmark.AccessRequestForm) { r.Scopes = nil }, "/scopes"},
		{func(r *fieldmark.AccessRequestForm) { r.Scopes = []fieldmark.Scope{fieldmark.ScopeAccountManage} },
			"/scopes/0"},
		{func(r *fieldmark.AccessRequestForm) { r.Offer = "gold" }, "/offer"},
	} {
		r := form()
		tt.change(&r)
		_, err := f.AccessRequests.Open(f.ctx, access.Caller{}, r)
		e := f.wantCode(tt.pointer, err, fieldmark.CodeValidationFailed)
		if len(e.Fields) != 1 || e.Fields[0].Pointer != tt.pointer {
			t.Errorf("errors %+v, want one about %s", e.Fields, tt.pointer)
		}
	}
	_, err := f.AccessRequests.Open(f.ctx, access.Caller{}, fieldmark.AccessRequestForm{})
	if e := f.wantCode("an empty request", err, fieldmark.CodeValidationFailed); len(e.Fields) != 6 {
		t.Errorf("errors %+v, want one about each member", e.Fields)
	}
}

// TestBudget: a network can send five requests a day.
func TestBudget(t *testing.T) {
	f := newFixture(t)
	send := func(address string) error {
		_, err := f.AccessRequests.Open(f.ctx, access.ParseCaller(address, ""), form())
		return err
	}
	for range fieldmark.AccessPerDay {
		f.must(send("192.0.2.1"))
	}
	e := f.wantCode("the sixth of a network", send("192.0.2.200"), fieldmark.CodeRateLimited)
	if e.RetryAfter <= 0 {
		t.Error("the refusal does not say when to try again")
	}
	f.must(send("198.51.100.1"))
	storetest.Exec(t, f.at, `UPDATE access_request SET created_at = created_at - 86400000001`)
	f.must(send("192.0.2.1"))
	var rows []string // many networks fill the list of pending requests, which is bounded
	for n := range 500 {
		rows = append(rows, fmt.Sprintf(`('arq_%[1]d', '%[1]d', '', '', 'pending', '{}', 0, 9000000000000000)`, n))
	}
	storetest.Exec(t, f.at, `INSERT INTO access_request (id, hash, network, contact, state, body, created_at, ends_at)
		VALUES `+strings.Join(rows, ", "))
	f.wantCode("one beyond the total", send("203.0.113.1"), fieldmark.CodeRateLimited)
}

// TestEnds: an approved request expires after 14 days, and ended ones are deleted after 90.
func TestEnds(t *testing.T) {
	f := newFixture(t)
	pending, declined, approved := f.open(), f.open(), f.open()
	_, err := f.AccessRequests.Decline(f.ctx, declined.ID, fieldmark.AccessRefusal{Reason: "No."})
	f.must(err)
	_, err = f.AccessRequests.Approve(f.ctx, approved.ID, approval())
	f.must(err)
	// later moves everything into the past, and sweeps.
	later := func(days int, sweep bool) {
		t.Helper()
		storetest.Exec(t, f.at, fmt.Sprintf(`UPDATE access_request SET ends_at = ends_at - %d * 86400000000`, days))
		if sweep {
			f.must(f.AccessRequests.Sweep(f.ctx))
		}
	}
	want := func(r fieldmark.NewAccessRequest, state fieldmark.AccessState) {
		t.Helper()
		if s, err := f.AccessRequests.Status(f.ctx, r.Secret); err != nil || s.State != state {
			t.Errorf("state %q, %v; want %s", s.State, err, state)
		}
	}
	later(13, true)
	want(approved, fieldmark.AccessApproved)
	later(2, false)
	want(approved, fieldmark.AccessExpired)
	_, err = f.AccessRequests.Issue(f.ctx, approved.Secret)
	f.wantCode("a key after 15 days", err, fieldmark.CodeLinkExpired)
	later(0, true)
	want(approved, fieldmark.AccessExpired)
	later(74, true)
	want(pending, fieldmark.AccessPending)
	later(2, true)
	for _, r := range []fieldmark.NewAccessRequest{pending, declined} {
		_, err = f.AccessRequests.Status(f.ctx, r.Secret)
		f.wantCode("a request after 91 days", err, fieldmark.CodeNotFound)
	}
	want(approved, fieldmark.AccessExpired)
	later(15, true)
	_, err = f.AccessRequests.Status(f.ctx, approved.Secret)
	f.wantCode("an expired request after 91 days", err, fieldmark.CodeNotFound)
}
