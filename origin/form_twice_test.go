package origin_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// A form that is submitted several times concurrently creates one object.
func TestFormSentTwiceCreatesOne(t *testing.T) {
	w := newFixture(t)
	ctx, none := t.Context(), ""
	url := receive(t, status(200)).URL
	// Objects of a test world are not in the lists of live ones, so they are not newer than what a form shows.
	key, err := w.Access.Keys.Create(ctx, access.DefaultAccount, fieldmark.KeyRequest{Name: "test", Test: true,
		Scopes: []fieldmark.Scope{fieldmark.ScopeWebhookManage}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddEndpoint(ctx, &store.Endpoint{Endpoint: fieldmark.Endpoint{
			ID: fieldmark.NewID(fieldmark.PrefixWebhook, time.Now()), Account: key.Account, URL: url,
			State: fieldmark.EndpointEnabled, CreatedAt: fieldmark.At(time.Now())}, ChangedAt: time.Now()})
	}); err != nil {
		t.Fatal(err)
	}
	listed := func(customer string) webhook.Listed {
		return webhook.Listed{Newest: &none, Shows: func(e *fieldmark.Endpoint) bool { return e.Customer == customer }}
	}
	for name, c := range map[string]struct {
		create  func(i int) error
		refused fieldmark.Code
	}{
		"key": {func(int) error {
			_, err := w.Access.Keys.CreateAfter(ctx, &key.ID, fieldmark.KeyRequest{Name: "k",
				Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
			return err
		}, fieldmark.CodeVersionMismatch},
		"calendar": {func(int) error {
			_, err := w.Missions.Calendars.CreateAfter(ctx, &none,
				fieldmark.CalendarRequest{Name: "c", Scope: fieldmark.CalendarOfAll})
			return err
		}, fieldmark.CodeVersionMismatch},
		"endpoint": {func(int) error {
			_, err := w.Webhooks.CreateEndpointAfter(ctx, listed(""), access.DefaultAccount,
				fieldmark.EndpointRequest{URL: url})
			return err
		}, fieldmark.CodeVersionMismatch},
		"endpoint of a customer": {func(int) error {
			_, err := w.Webhooks.CreateEndpointAfter(ctx, listed("one"), access.DefaultAccount,
				fieldmark.EndpointRequest{URL: url, EndpointSettings: fieldmark.EndpointSettings{Customer: "one",
					Filter: &fieldmark.EndpointFilter{Labels: map[string]string{"customer": "one"}}}})
			return err
		}, fieldmark.CodeVersionMismatch},
		"brand": {func(i int) error {
			b := acme
			b.Slug, b.Name = "twice", fmt.Sprint("Name ", i)
			_, err := w.Brands.Create(ctx, b)
			return err
		}, fieldmark.CodeBrandExists},
	} {
		var created atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				switch err := c.create(i); {
				case err == nil:
					created.Add(1)
				case !fieldmark.IsCode(err, c.refused):
					t.Errorf("%s: %v, want %s", name, err, c.refused)
				}
			})
		}
		all.Wait()
		if n := created.Load(); n != 1 {
			t.Errorf("%s: %d were created by one form, want 1", name, n)
		}
	}
	_, err = w.Brands.Update(ctx, fieldmark.Brand{Slug: "gone", Name: "Gone", URL: "https://gone.example/",
		Niche: "tools", Language: "en"}, "")
	wantCode(t, "change a brand that was deleted", err, fieldmark.CodeNotFound)
}
