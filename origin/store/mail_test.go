package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// A request is decided while the first mail about it is being sent. The mail about the decision is claimed once, also
// by the process that sends the first mail, and the end of the first mail does not end it.
func TestDecisionDuringAccessMail(t *testing.T) {
	for name, retry := range map[string]time.Time{"sent": {}, "tried again": minutes(30)} {
		t.Run(name, func(t *testing.T) {
			s := scratch(t)
			const worker = "worker"
			r := store.AccessRequest{ID: "acr_1", Hash: "h", State: fieldmark.AccessPending, CreatedAt: minutes(0),
				EndsAt: minutes(10_000), DueAt: minutes(0)}
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddAccessRequest(ctx, &r) })
			claims := 0
			claim := func(owner string, now int) {
				t.Helper()
				write(t, s, func(ctx context.Context, tx *store.Tx) error {
					ids, err := tx.ClaimDueAccessMail(ctx, owner, minutes(now), minutes(now+100), 8)
					claims += len(ids)
					return err
				})
			}
			read := func() store.AccessRequest {
				t.Helper()
				r, err := s.AccessRequest(t.Context(), r.ID)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			end := func(was store.AccessRequest, next time.Time) {
				t.Helper()
				write(t, s, func(ctx context.Context, tx *store.Tx) error {
					return tx.EndAccessMail(ctx, worker, &was, next)
				})
			}
			claim(worker, 0)
			first := read()
			decided := first
			decided.State, decided.DueAt = fieldmark.AccessApproved, minutes(1)
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.MoveAccessRequest(ctx, &decided, fieldmark.AccessPending)
				return err
			})
			claims = 0
			claim(worker, 2)
			end(first, retry)
			if got := read(); !got.DueAt.Equal(minutes(1)) {
				t.Errorf("after the end of the first mail, the mail about the decision is due at %v, want %v",
					got.DueAt, minutes(1))
			}
			claim(worker, 3)
			claim("another", 4)
			if claims != 1 {
				t.Errorf("the mail about the decision was claimed %d times, want once", claims)
			}
			end(read(), time.Time{})
			if claim(worker, 200); claims != 1 || !read().DueAt.IsZero() {
				t.Errorf("after its end, the mail was claimed %d times and is due at %v", claims, read().DueAt)
			}
		})
	}
}

// An address is confirmed while the mail that asks for it is being sent: the end of that mail does not change from
// which event on its digests are, or when the first one is due.
func TestConfirmationDuringMail(t *testing.T) {
	for _, end := range []store.MailState{store.MailPending, store.MailEnded} {
		t.Run(string(end), func(t *testing.T) {
			s := scratch(t)
			const worker = "worker"
			was := store.MailAddress{ID: "mla_1", Brand: "acme", Account: "owner", Address: "ann@acme.example",
				State: store.MailPending, CreatedAt: minutes(0), DueAt: minutes(0)}
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				b := fieldmark.Brand{Slug: "acme", Name: "Acme", URL: "https://acme.example/", Niche: "tools",
					Language: "en"}
				if err := tx.PutBrand(ctx, b); err != nil {
					return err
				}
				if err := tx.AddMailAddress(ctx, &was); err != nil {
					return err
				}
				ids, err := tx.ClaimDueMail(ctx, worker, minutes(0), minutes(100), 8)
				if !slices.Equal(ids, []string{was.ID}) {
					t.Errorf("the mail of %q is due", ids)
				}
				return err
			})
			const head = 7
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.ConfirmMailAddress(ctx, was.ID, head, minutes(60))
			})
			next := was
			next.State, next.Error, next.DueAt = end, "550 unknown", time.Time{}
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.EndMail(ctx, worker, &was, &next) })
			got, err := s.MailAddress(t.Context(), was.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.After != head || got.State != store.MailConfirmed || got.Error != "" ||
				!got.DueAt.Equal(minutes(60)) {
				t.Errorf("after the end of the mail: %+v, want what the confirmation stored", got)
			}
		})
	}
}
