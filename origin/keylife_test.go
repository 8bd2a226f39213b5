package origin_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

func TestRotateKey(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	asked := intake
	asked.Networks = []string{"192.0.2.0/24"}
	asked.ExpiresInDays = 90
	old := createKey(t, w, asked)
	from := access.Caller{Addr: netip.MustParseAddr("192.0.2.7")}
	made, err := w.Access.Keys.Rotate(ctx, old.ID, fieldmark.KeyRotation{})
	if err != nil {
		t.Fatal(err)
	}
	if made.Token == old.Token || made.Replaces != old.ID || made.Name != old.Name || len(made.Networks) != 1 ||
		made.ExpiresAt.Std().Sub(made.CreatedAt.Std()) != old.ExpiresAt.Std().Sub(old.CreatedAt.Std()) {
		t.Errorf("rotated into %+v, want what %+v is, with its whole life", made, old)
	}
	for _, token := range []string{old.Token, made.Token} {
		if _, err := w.Access.Keys.Authenticate(ctx, token, from); err != nil {
			t.Errorf("within the grace: %v", err)
		}
	}
	_, err = w.Access.Keys.Rotate(ctx, old.ID, fieldmark.KeyRotation{})
	wantCode(t, "rotate a key that was replaced", err, fieldmark.CodeKeyNotLive)
	now := 0
	last, err := w.Access.Keys.Rotate(ctx, made.ID, fieldmark.KeyRotation{GraceHours: &now})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Access.Keys.Authenticate(ctx, made.Token, from)
	wantCode(t, "a key without a grace", err, fieldmark.CodeExpiredAPIKey)
	keys, err := w.Access.Keys.List(ctx)
	byID := make(map[string]*fieldmark.Key) // those of one instant are in any order
	for i := range keys {
		byID[keys[i].ID] = &keys[i]
	}
	if err != nil || len(keys) != 3 || byID[made.ID].ReplacedBy != last.ID || byID[old.ID].ReplacedBy != made.ID ||
		byID[old.ID].State(time.Now()) != fieldmark.KeyReplaced {
		t.Errorf("keys %+v, %v; want each to name the next", keys, err)
	}
	far := fieldmark.MaxGraceHours + 1
	_, err = w.Access.Keys.Rotate(ctx, last.ID, fieldmark.KeyRotation{GraceHours: &far})
	wantCode(t, "a grace of more than a week", err, fieldmark.CodeValidationFailed)
	_, err = w.Access.Keys.Rotate(ctx, "key_nobody", fieldmark.KeyRotation{})
	wantCode(t, "rotate an unknown key", err, fieldmark.CodeNotFound)
}

func TestKeyNetworks(t *testing.T) {
	w := newFixture(t)
	for _, bad := range []string{"", "192.0.2.0/33", "192.0.2", "::ffff:192.0.2.1/120", "fe80::1%eth0", "example.org"} {
		r := intake
		r.Networks = []string{bad}
		_, err := w.Access.Keys.Create(t.Context(), "", r)
		wantCode(t, bad, err, fieldmark.CodeValidationFailed)
	}
	r := intake
	r.Networks = []string{"192.0.2.9/24", "2001:db8::/32", "198.51.100.1"}
	k := createKey(t, w, r)
	for from, admitted := range map[string]bool{
		"192.0.2.1": true, "::ffff:192.0.2.1": true, "2001:db8:1::1": true, "198.51.100.1": true,
		"198.51.100.2": false, "192.0.3.1": false, "2001:db9::1": false, "": false,
	} {
		addr, _ := netip.ParseAddr(from)
		got, err := w.Access.Keys.Authenticate(t.Context(), k.Token, access.Caller{Addr: addr})
		if admitted && err != nil || !admitted && !fieldmark.IsCode(err, fieldmark.CodeIPNotAllowed) || got.ID != k.ID {
			t.Errorf("from %q: %s, %v; admitted: want %v", from, got.ID, err, admitted)
		}
	}
}

// TestKeyExpiring checks that an account is notified in the last 14 days and in the
// last 3 days of a key, once each, and not about keys that were revoked, were
// replaced or do not expire.
func TestKeyExpiring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		r := intake
		r.ExpiresInDays = 20
		createKey(t, w, r)
		if _, err := w.Access.Keys.Revoke(t.Context(), createKey(t, w, r).ID, "not needed"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Access.Keys.Rotate(t.Context(), createKey(t, w, r).ID, fieldmark.KeyRotation{}); err != nil {
			t.Fatal(err)
		}
		r.ExpiresInDays = -1
		createKey(t, w, r)
		// the first, and the one that replaced another
		for _, step := range []struct{ days, want int }{{5, 0}, {2, 2}, {1, 2}, {10, 4}, {1, 4}, {2, 4}} {
			time.Sleep(time.Duration(step.days) * 24 * time.Hour)
			stop := w.run(t)
			synctest.Wait()
			stop()
			page, err := w.Webhooks.PollEvents(t.Context(), access.DefaultAccount,
				webhook.Poll{Types: []string{"api_key.*"}})
			if err != nil || len(page.Data) != step.want {
				t.Errorf("%d days later: %d events, %v; want %d: %+v", step.days, len(page.Data), err, step.want,
					page.Data)
			}
		}
	})
}

func TestKeyUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		k := createKey(t, w, intake)
		stop := w.run(t)
		defer stop()
		by := access.Caller{Addr: netip.MustParseAddr("2001:db8:1:2:3::4"), Agent: "desk/1.0\x00\xff"}
		if _, err := w.Access.Keys.Authenticate(t.Context(), k.Token, by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		keys, err := w.Access.Keys.List(t.Context())
		if err != nil || keys[0].LastUsedFrom != "2001:db8:1::/48" || keys[0].LastUsedAgent != "desk/1.0" ||
			keys[0].LastUsedAt == nil {
			t.Errorf("last used %+v, %v; want a /48 and the program", keys[0], err)
		}
	})
}
