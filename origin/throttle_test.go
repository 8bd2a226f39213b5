package origin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// Origins on one database count failed sign-ins together, by user and by network.
func TestOriginsShareDelays(t *testing.T) {
	office := access.ParseCaller("203.0.113.7", "")
	for name, guess := range map[string]func(i int) access.Credentials{
		"user": func(int) access.Credentials {
			return access.Credentials{User: "root",
				Password: "a wrong password"}
		},
		"network": func(i int) access.Credentials {
			return access.Credentials{User: string(rune('a' + i)),
				Caller: office}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAdmin(t)
				both := []*fixture{w, openFixture(t, w.At)}
				right := access.Credentials{User: "root", Password: goodPassword, Caller: office}
				for i, want := range []time.Duration{1, 2, 4, 8} {
					want *= time.Second
					_, err := both[i%2].Access.Sessions.SignIn(t.Context(), guess(i))
					wantCode(t, "a guess", err, fieldmark.CodeInvalidCredentials)
					for n, w := range both {
						_, err := w.Access.Sessions.SignIn(t.Context(), right)
						if e := wantCode(t, "at once", err, fieldmark.CodeRateLimited); e.RetryAfter != want {
							t.Errorf("failure %d: origin %d delays by %v, want %v", i+1, n, e.RetryAfter, want)
						}
					}
					time.Sleep(want) // virtual
				}
				if _, err := both[0].Access.Sessions.SignIn(t.Context(), right); err != nil {
					t.Fatalf("the right password after the delay: %v", err)
				}
				_, err := both[1].Access.Sessions.SignIn(t.Context(), guess(0))
				wantCode(t, "a guess after a success", err, fieldmark.CodeInvalidCredentials)
				_, err = both[0].Access.Sessions.SignIn(t.Context(), right)
				if e := wantCode(t, "at once", err, fieldmark.CodeRateLimited); e.RetryAfter != time.Second {
					t.Errorf("the first failure after a success elsewhere delays by %v, want 1s", e.RetryAfter)
				}
			})
		})
	}
}

// A new password ends the delay at every origin, and an hour without a failure
// ends the count.
func TestDelaysEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		other := openFixture(t, w.At)
		wrong := access.Credentials{User: "root", Password: "a wrong password"}
		for _, wait := range []time.Duration{2 * time.Second, time.Hour + 3*time.Second, 0} {
			_, err := w.Access.Sessions.SignIn(t.Context(), wrong)
			wantCode(t, "a guess", err, fieldmark.CodeInvalidCredentials)
			time.Sleep(wait) // virtual
		}
		_, err := w.Access.Sessions.SignIn(t.Context(), wrong)
		if e := wantCode(t, "at once", err, fieldmark.CodeRateLimited); e.RetryAfter != time.Second {
			t.Errorf("the first failure of another hour delays by %v, want 1s", e.RetryAfter)
		}
		if err := other.Access.Admins.SetPassword(t.Context(), "root", "another good sentence"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root",
			Password: "another good sentence"}); err != nil {
			t.Errorf("sign in with a new password: %v", err)
		}
	})
}
