package client_test

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/client"
)

const nodeToken = "node-token-of-the-tests"

// start serves a real origin and returns it with a client that has every scope.
func start(t *testing.T, configure ...func(*origin.Config)) (*origin.Service, *client.Client, *httptest.Server) {
	t.Helper()
	db := storetest.Open(t, storetest.New(t))
	cfg := origin.Config{Store: db, Secret: []byte(strings.Repeat("s", 32))}
	for _, f := range configure {
		f(&cfg)
	}
	service, err := origin.New(cfg)
	if err != nil {
		t.Fatalf("new service: %v", err)
	}
	if err := service.Prepare(t.Context()); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	handler, err := api.New(api.Config{Service: service, NodeToken: nodeToken, PublicAPI: true})
	if err != nil {
		t.Fatalf("new API: %v", err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	key, err := service.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{Name: "admin",
		Scopes: []fieldmark.Scope{fieldmark.ScopeAdmin}})
	if err != nil {
		t.Fatalf("create key: %v", err)
	}
	return service, dial(t, client.Config{BaseURL: server.URL + "/", NodeToken: nodeToken, Key: key.Token}), server
}

func dial(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatalf("new client of %s: %v", cfg.BaseURL, err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func brand(slug fieldmark.Slug) fieldmark.Brand {
	return fieldmark.Brand{Slug: slug, Name: "Brand", URL: "https://" + string(slug) + ".example/", Niche: "tools",
		Language: "en", Public: true}
}

func TestEdgeCalls(t *testing.T) {
	ctx := t.Context()
	service, c, _ := start(t)
	if _, err := c.ModulePlan(ctx); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("no module yet: %v, want not_found", err)
	}
	module := []byte("\x00asm\x01\x00\x00\x00")
	ref := fieldmark.ModuleRef{Name: "m", Version: "1.0.0", Digest: fieldmark.DigestOf(sha256.Sum256(module))}
	if err := service.Modules.ActivateBytes(ctx, ref, module); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ModulePlan(ctx); got.ModuleRef != ref || err != nil {
		t.Errorf("active module %+v, %v; want %+v", got, err, ref)
	}
	if got, err := c.Module(ctx, ref.Digest); string(got) != string(module) || err != nil {
		t.Errorf("module %q, %v; want %q", got, err, module)
	}

	for _, slug := range []fieldmark.Slug{"a", "b", "c"} {
		if _, err := c.PutBrand(ctx, brand(slug)); err != nil {
			t.Fatal(err)
		}
	}
	state, asOf, err := c.BrandState(ctx, "b")
	if state.Brand.Slug != "b" || asOf != 4 || err != nil {
		t.Errorf("state of b: %+v as of %d, %v; want b as of 4", state.Brand, asOf, err)
	}
	var slugs []string
	collect := func(s fieldmark.BrandState) error {
		slugs = append(slugs, string(s.Brand.Slug))
		return nil
	}
	asOf, more, err := c.BrandStates(ctx, "", 2, false, collect)
	if got := strings.Join(slugs, " "); got != "a b" || asOf != 4 || !more || err != nil {
		t.Errorf("first page: %s as of %d, more %t, %v; want a b as of 4 and more", got, asOf, more, err)
	}
	if _, more, err = c.BrandStates(ctx, "b", 2, true, collect); strings.Join(slugs, " ") != "a b c" || more ||
		err != nil {
		t.Errorf("after the last page: %v, more %t, %v; want a b c and no more", slugs, more, err)
	}
	enough := errors.New("enough")
	if _, _, err := c.BrandStates(ctx, "", 2, false,
		func(fieldmark.BrandState) error { return enough }); err != enough {
		t.Errorf("stopped by the caller: %v, want its own error", err)
	}
	page, err := c.Events(ctx, fieldmark.EventCursor{Number: 2}, 0)
	if len(page.Events) != 2 || page.Head != 4 || err != nil {
		t.Errorf("events after 2: %d, head %d, %v; want 2 and 4", len(page.Events), page.Head, err)
	}
}

// TestEventsOfEarlierOrigin: an origin of an earlier release refuses the parameter; the client then
// reads all events, and later asks again for those of edges.
func TestEventsOfEarlierOrigin(t *testing.T) {
	service, _, server := start(t)
	if _, _, err := service.Missions.Create(t.Context(), access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: "1", Source: "crm", Title: "t"}); err != nil {
		t.Fatal(err)
	}
	refused := 0
	c := dial(t, client.Config{BaseURL: server.URL, NodeToken: nodeToken,
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Has("for") {
				refused++
				q := r.URL.Query()
				q.Set("for", "not-yet-known")
				r = r.Clone(r.Context())
				r.URL.RawQuery = q.Encode()
			}
			return http.DefaultTransport.RoundTrip(r)
		})})
	at := fieldmark.EventCursor{}
	for range 3 {
		page, err := c.Events(t.Context(), at, 0)
		if err != nil || page.Through != 0 || at.Number == 0 && len(page.Events) != 1 {
			t.Fatalf("events: %+v, %v; want all", page, err)
		}
		at = page.Next(at)
	}
	if refused != 1 || at.Number != 1 {
		t.Errorf("refused %d times, cursor %d; want once and 1", refused, at.Number)
	}
}

func TestAdminCalls(t *testing.T) {
	ctx := t.Context()
	service, c, _ := start(t)
	m, _, err := service.Missions.Create(ctx, access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: "1", Source: "crm",
			Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.MoveMission(ctx, m.ID, fieldmark.MissionOnHold,
		&fieldmark.Reason{Code: "WEATHER"}); got.Status != fieldmark.MissionOnHold || err != nil {
		t.Errorf("moved to %s, %v", got.Status, err)
	}
	if got, err := c.CompleteMission(ctx, m.ID); got.Status != fieldmark.MissionCompleted || err != nil {
		t.Errorf("completed to %s, %v", got.Status, err)
	}
	list, err := c.Missions(ctx, access.DefaultAccount,
		fieldmark.MissionFilter{Status: []fieldmark.MissionStatus{fieldmark.MissionCompleted}, Source: "crm",
			ExternalID: "1", Limit: 1})
	if len(list.Data) != 1 || err != nil {
		t.Errorf("listed %d missions, %v; want 1", len(list.Data), err)
	}

	report, err := c.ImportBrands(ctx, []fieldmark.Brand{brand("a"), brand("b"), {Slug: "c"}})
	if report.Added != 2 || len(report.Rejected) == 0 || err != nil {
		t.Errorf("import: %+v, %v; want 2 added and c rejected", report, err)
	}
	if report, err := c.ImportBrands(ctx, nil); report.Added != 0 || err != nil {
		t.Errorf("import of nothing: %+v, %v", report, err)
	}
	brands, err := c.Brands(ctx, "a", 1)
	if len(brands.Data) != 1 || brands.Data[0].Slug != "b" || brands.HasMore || err != nil {
		t.Errorf("brands after a: %+v, %v; want b alone", brands, err)
	}
	if err := c.RequestAudit(ctx, "a"); err != nil {
		t.Errorf("request an audit: %v", err)
	}

	key, err := c.CreateKey(ctx, fieldmark.KeyRequest{Name: "crm",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
	if err != nil || key.Token == "" {
		t.Fatalf("create key: %+v, %v", key, err)
	}
	if revoked, err := c.RevokeKey(ctx, key.ID, ""); revoked.RevokedAt == nil || err != nil {
		t.Errorf("revoke key: %+v, %v", revoked, err)
	}
	if keys, err := c.Keys(ctx); len(keys) != 2 || err != nil {
		t.Errorf("%d keys, %v; want 2", len(keys), err)
	}
	if endpoints, err := c.Endpoints(ctx); len(endpoints) != 0 || err != nil {
		t.Errorf("%d endpoints, %v; want none", len(endpoints), err)
	}
	if deliveries, err := c.Deliveries(ctx, client.DeliveryFilter{Limit: 5}); len(deliveries.Data) != 0 || err != nil {
		t.Errorf("%d deliveries, %v; want none", len(deliveries.Data), err)
	}
}

// TestProblemsComeBack: the client returns the error that the origin sent.
func TestProblemsComeBack(t *testing.T) {
	ctx := t.Context()
	service, c, server := start(t)
	m, _, err := service.Missions.Create(ctx, access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: "1", Source: "crm",
			Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	_, here := service.Missions.Transition(ctx, m.ID, fieldmark.MissionClosed, nil)
	_, there := c.MoveMission(ctx, m.ID, fieldmark.MissionClosed, nil)
	if diff := cmp.Diff(fieldmark.AsError(here), fieldmark.AsError(there)); diff != "" {
		t.Errorf("a forbidden move is not the same error on both sides (-origin +client):\n%s", diff)
	}
	_, err = c.CreateKey(ctx, fieldmark.KeyRequest{})
	if e := fieldmark.AsError(err); e.Code != fieldmark.CodeValidationFailed || len(e.Fields) != 2 {
		t.Errorf("empty key request: %v, want validation_failed with two complaints", err)
	}
	key, err := service.Access.Keys.Create(ctx, access.DefaultAccount, fieldmark.KeyRequest{Name: "x",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = dial(t, client.Config{BaseURL: server.URL, Key: key.Token}).Keys(ctx)
	if e := fieldmark.AsError(err); e.Code != fieldmark.CodeInsufficientScope || e.Scope != fieldmark.ScopeAdmin {
		t.Errorf("key without scope: %v with scope %q, want insufficient_scope admin:*", err, e.Scope)
	}
	_, _, err = dial(t, client.Config{BaseURL: server.URL, NodeToken: "guess"}).BrandState(ctx, "a")
	if !fieldmark.IsCode(err, fieldmark.CodeInvalidAPIKey) {
		t.Errorf("wrong node token: %v, want invalid_api_key", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, base := range []string{"", "origin:8081", "ftp://origin", "http://", "http://u:p@origin",
		"http://origin/?x=1", "http://[::1"} {
		if _, err := client.New(client.Config{BaseURL: base}); err == nil {
			t.Errorf("base URL %q was taken", base)
		}
	}
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
