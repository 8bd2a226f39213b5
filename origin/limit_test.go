package origin_test

import (
	"fmt"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// An account has a limited number of live keys and calendars, and there is a
// limited number of accounts. What was revoked does not count.
func TestCreationIsLimited(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	for name, c := range map[string]struct {
		limit  int
		create func(i int) (id string, err error)
		revoke func(id string) error
	}{
		"keys": {access.MaxLiveKeys, func(int) (string, error) {
			k, err := w.Access.Keys.Create(ctx, "", fieldmark.KeyRequest{Name: "k",
				Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
			return k.ID, err
		}, func(id string) error {
			_, err := w.Access.Keys.Revoke(ctx, id, "")
			return err
		}},
		"calendars": {mission.MaxLiveCalendars, func(int) (string, error) {
			c, err := w.Missions.Calendars.Create(ctx, fieldmark.CalendarRequest{Name: "c",
				Scope: fieldmark.CalendarOfAll})
			return c.ID, err
		}, func(id string) error {
			_, err := w.Missions.Calendars.Revoke(ctx, id)
			return err
		}},
		"accounts": {access.MaxAccounts - 1, func(i int) (string, error) { // the default account exists
			a, _, err := w.Access.Accounts.Put(ctx, fmt.Sprint("a", i), fieldmark.AccountRequest{Name: "a"})
			return a.ID, err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var last string
			for i := range c.limit {
				id, err := c.create(i)
				if err != nil {
					t.Fatalf("create %d of %d: %v", i+1, c.limit, err)
				}
				last = id
			}
			_, err := c.create(c.limit)
			wantCode(t, "create one more", err, fieldmark.CodeValidationFailed)
			if c.revoke == nil {
				return
			}
			if err := c.revoke(last); err != nil {
				t.Fatal(err)
			}
			if _, err := c.create(c.limit); err != nil {
				t.Errorf("create after one was revoked: %v", err)
			}
		})
	}
}
