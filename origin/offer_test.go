package origin_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// giveOffer creates or replaces an offer and gives it to the default account.
func (w *fixture) giveOffer(t testing.TB, r fieldmark.OfferRequest) {
	t.Helper()
	const id = "narrow"
	if r.Kind == "" {
		r.Kind = fieldmark.OfferStandard
	}
	r.Name = "Narrow"
	_, err := w.Offers.Put(t.Context(), id, r, nil)
	if err == nil {
		offer := id
		_, _, err = w.Access.Accounts.Put(t.Context(), access.DefaultAccount,
			fieldmark.AccountRequest{Name: "Default", Offer: &offer})
	}
	if err != nil {
		t.Fatalf("give an offer: %v", err)
	}
}

// The history of an offer covers deliveries, which are deleted, and what polling and replays
// return. Other accounts have the history of the service.
func TestHistoryOfAnOffer(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ctx := t.Context()
		if _, _, err := w.Access.Accounts.Put(ctx, "other", fieldmark.AccountRequest{Name: "Other"}); err != nil {
			t.Fatal(err)
		}
		mine := createEndpoint(t, w, r.URL, "mission.created")
		other, err := w.Webhooks.CreateEndpoint(ctx, "other",
			fieldmark.EndpointRequest{URL: r.URL, Events: []string{"mission.created"}})
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(t)
		openMission(t, w, "old")
		if _, _, err := w.Missions.Create(ctx, "other", request("theirs")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual: both are delivered
		stop()
		old := w.deliveriesTo(t, mine.ID)
		if len(old) != 1 || len(w.deliveriesTo(t, other.ID)) != 1 {
			t.Fatalf("deliveries before: %+v", w.deliveries(t))
		}
		time.Sleep(48 * time.Hour)
		w.giveOffer(t, fieldmark.OfferRequest{Limits: fieldmark.OfferLimits{HistoryDays: 1}})
		stop = w.run(t) // which prunes at once, and then every hour
		defer stop()
		young := openMission(t, w, "young")
		time.Sleep(time.Minute)

		_, err = w.Webhooks.Delivery(ctx, mine.ID, old[0].ID)
		wantCode(t, "read a delivery beyond the history", err, fieldmark.CodeNotFound)
		_, err = w.Webhooks.Resend(ctx, mine.ID, old[0].ID)
		wantCode(t, "resend a delivery beyond the history", err, fieldmark.CodeNotFound)
		if n := len(w.deliveriesTo(t, other.ID)); n != 1 {
			t.Errorf("another account has %d deliveries, want 1", n)
		}
		page, err := w.Webhooks.PollEvents(ctx, access.DefaultAccount, webhook.Poll{Types: []string{"mission.created"}})
		if err != nil || len(page.Data) != 1 || page.Next != w.head(t) {
			t.Errorf("polled %d events up to %d, %v; want that of the young mission", len(page.Data), page.Next, err)
		}
		start := int64(0)
		replay := w.replayed(t, mine.ID, fieldmark.ReplayRequest{AfterEvent: &start})
		if replay.Queued != 1 {
			t.Errorf("a replay of everything queued %d messages, want 1", replay.Queued)
		}
		list := w.deliveriesTo(t, mine.ID)
		if len(list) != 1 {
			t.Fatalf("deliveries %+v, want that of the young mission", list)
		}
		about, err := w.Store.EventsAbout(ctx, young.ID, "", 10)
		if err != nil || !slices.ContainsFunc(about, func(e store.Event) bool { return e.ID == list[0].EventID }) {
			t.Errorf("the delivery is of event %s, want one of %+v, %v", list[0].EventID, about, err)
		}
	})
}

// A replay of what failed leaves out events beyond the history, also while their deliveries wait
// to be deleted.
func TestReplayOfFailuresWithinTheHistory(t *testing.T) {
	r := receive(t, status(404))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
			fieldmark.EndpointRequest{URL: r.URL, Events: []string{"mission.created"},
				EndpointSettings: fieldmark.EndpointSettings{Retry: &fieldmark.RetryPolicy{Steps: []int{1}}}})
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(t)
		since := fieldmark.At(time.Now())
		for i := range 2 {
			openMission(t, w, fmt.Sprint(i))
			time.Sleep(time.Minute) // virtual: it is given up
		}
		stop()                                    // nothing is pruned, and no job reads the database
		time.Sleep(24*time.Hour - 90*time.Second) // the first is older than a day now
		defer w.run(t)()
		time.Sleep(time.Second) // what runs at the start has run; pruning comes again in an hour
		w.giveOffer(t, fieldmark.OfferRequest{Limits: fieldmark.OfferLimits{HistoryDays: 1}})
		if n := len(w.deliveriesTo(t, p.ID)); n != 2 {
			t.Fatalf("%d deliveries before pruning, want 2", n)
		}
		replay := w.replayed(t, p.ID, fieldmark.ReplayRequest{FailedSince: &since})
		if replay.Looked != 2 || replay.Queued != 1 {
			t.Errorf("the replay looked at %d deliveries and queued %d, want 2 and 1", replay.Looked, replay.Queued)
		}
	})
}

func (w *fixture) deliveriesTo(t testing.TB, endpoint string) []fieldmark.Delivery {
	t.Helper()
	list, err := w.Webhooks.Deliveries(t.Context(), webhook.DeliveryPage{Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	return list.Data
}

// A rotated key has the scopes and the lifetime that the offer allows when it is rotated.
func TestRotateWithinAnOffer(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	key := createKey(t, w, fieldmark.KeyRequest{Name: "k", ExpiresInDays: -1,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}})
	w.giveOffer(t, fieldmark.OfferRequest{Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}, MaxKeyDays: 30})
	rotated, err := w.Access.Keys.Rotate(ctx, key.ID, fieldmark.KeyRotation{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rotated.Scopes, []fieldmark.Scope{fieldmark.ScopeMissionRead}) || rotated.ExpiresAt == nil ||
		rotated.ExpiresAt.Std().Sub(rotated.CreatedAt.Std()).Round(time.Hour) != 30*24*time.Hour {
		t.Errorf("rotated into scopes %v until %v; want mission:read for 30 days", rotated.Scopes, rotated.ExpiresAt)
	}
	k, err := w.Access.Keys.Authenticate(ctx, rotated.Token, access.Caller{})
	if err != nil || !slices.Equal(k.Scopes, rotated.Scopes) {
		t.Errorf("the new key has the scopes %v, %v; want %v", k.Scopes, err, rotated.Scopes)
	}
	w.giveOffer(t, fieldmark.OfferRequest{Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCancel}})
	_, err = w.Access.Keys.Rotate(ctx, rotated.ID, fieldmark.KeyRotation{})
	wantCode(t, "rotate a key without any allowed scope", err, fieldmark.CodeInsufficientScope)
	admin := createKey(t, w, fieldmark.KeyRequest{Name: "a", Scopes: []fieldmark.Scope{fieldmark.ScopeAdmin}})
	if _, err := w.Access.Keys.Rotate(ctx, admin.ID, fieldmark.KeyRotation{}); err != nil {
		t.Errorf("rotate a key of administrators: %v; offers do not apply to it", err)
	}
}

// Administrators cannot give a sub-account a key that manages its siblings.
func TestKeyOfASubAccount(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	w.giveOffer(t, fieldmark.OfferRequest{Kind: fieldmark.OfferGroup})
	a, err := w.Offers.Groups.Create(ctx, access.DefaultAccount, fieldmark.SubAccountRequest{ID: "shop", Name: "Shop"})
	if err != nil {
		t.Fatal(err)
	}
	r := fieldmark.KeyRequest{Name: "k", Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead,
		fieldmark.ScopeAccountManage}}
	_, err = w.Access.Keys.Create(ctx, a.ID, r)
	wantFields(t, "a key of a sub-account", err, "/scopes/1")
	if _, err := w.Access.Keys.Create(ctx, access.DefaultAccount, r); err != nil {
		t.Errorf("a key of the group: %v", err)
	}
}
