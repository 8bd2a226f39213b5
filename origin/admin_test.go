package origin_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
)

const goodPassword = "tall trees by the river"

func newAdmin(t testing.TB) *fixture {
	t.Helper()
	w := newFixture(t)
	if err := w.Access.Admins.SetPassword(t.Context(), "root", goodPassword); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		ctx := t.Context()
		token, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword})
		if err != nil || len(token) < 43 {
			t.Fatalf("sign in: %q, %v", token, err)
		}
		if in, err := w.Access.Sessions.Get(ctx, token); in.User != "root" || in.Role != fieldmark.RoleAdmin ||
			err != nil {
			t.Errorf("session of %+v, %v; want root", in, err)
		}
		for _, none := range []string{"", "x", token + "x"} {
			_, err := w.Access.Sessions.Get(ctx, none)
			wantCode(t, "session "+none, err, fieldmark.CodeInvalidCredentials)
		}
		if err := w.Access.Sessions.SignOut(ctx, token); err != nil {
			t.Fatal(err)
		}
		_, err = w.Access.Sessions.Get(ctx, token)
		wantCode(t, "after signing out", err, fieldmark.CodeInvalidCredentials)
		if err := w.Access.Sessions.SignOut(ctx, token); err != nil {
			t.Errorf("sign out twice: %v", err)
		}
	})
}

func TestNewPasswordEndsSessions(t *testing.T) {
	w := newAdmin(t)
	token, err := w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Access.Admins.SetPassword(t.Context(), "root", "another good sentence"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Access.Sessions.Get(t.Context(), token)
	wantCode(t, "session of the old password", err, fieldmark.CodeInvalidCredentials)
	_, err = w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root", Password: goodPassword})
	wantCode(t, "the old password", err, fieldmark.CodeInvalidCredentials)
}

func TestSetAdminPasswordComplains(t *testing.T) {
	w := newFixture(t)
	for _, tt := range []struct {
		user, password string
		want           []string
	}{
		{"", "short", []string{"/user", "/password"}},
		{"Root", goodPassword, []string{"/user"}},
		{"root", "", []string{"/password"}},
		{"root", "eleven char", []string{"/password"}},
		{"root", "aaaaaaaaaaaaaaaa", []string{"/password"}},
		{"root", "PasswordPassword", []string{"/password"}},
	} {
		wantFields(t, tt.user+" "+tt.password, w.Access.Admins.SetPassword(t.Context(), tt.user, tt.password),
			tt.want...)
	}
}

func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		ctx := t.Context()
		idle, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		busy, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { _ = w.Access.Run(running) })
		defer wg.Wait()
		defer stop()
		began := time.Now()
		for time.Since(began) < access.SessionAbsolute-time.Minute {
			if _, err := w.Access.Sessions.Get(ctx, busy); err != nil {
				t.Fatalf("a session in use ended after %v: %v", time.Since(began), err)
			}
			time.Sleep(25 * time.Minute) // virtual
		}
		_, err = w.Access.Sessions.Get(ctx, idle)
		wantCode(t, "an idle session", err, fieldmark.CodeInvalidCredentials)
		time.Sleep(time.Minute)
		_, err = w.Access.Sessions.Get(ctx, busy)
		wantCode(t, "a session of 12 hours", err, fieldmark.CodeInvalidCredentials)
	})
}

// TestSessionWithoutWrites: a session that was not used for a while is valid while the database refuses writes:
// that is when the console is needed most.
func TestSessionWithoutWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		token, err := w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root", Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * access.LastUsedPrecision)
		allow := storetest.RefuseWrites(t, w.At)
		if in, err := w.Access.Sessions.Get(t.Context(), token); err != nil || in.User != "root" {
			t.Errorf("while the database refuses writes: %+v, %v", in, err)
		}
		allow()
	})
}

func TestFailuresDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		ctx := t.Context()
		for user, delays := range map[string][]time.Duration{
			"root":   {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900},
			"nobody": {1, 2, 4},
		} {
			for i, want := range delays {
				want *= time.Second
				_, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: user, Password: "a wrong password"})
				wantCode(t, user, err, fieldmark.CodeInvalidCredentials)
				_, err = w.Access.Sessions.SignIn(ctx, access.Credentials{User: user, Password: goodPassword})
				e := wantCode(t, user+" at once", err, fieldmark.CodeRateLimited)
				if e.RetryAfter != want {
					t.Errorf("%s: delay after failure %d is %v, want %v", user, i+1, e.RetryAfter, want)
				}
				time.Sleep(e.RetryAfter) // virtual
			}
		}
		if _, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root",
			Password: goodPassword}); err != nil {
			t.Errorf("the right password after the delay: %v", err)
		}
		_, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: "a wrong password"})
		wantCode(t, "wrong", err, fieldmark.CodeInvalidCredentials)
		_, err = w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword})
		if e := wantCode(t, "at once", err, fieldmark.CodeRateLimited); e.RetryAfter != time.Second {
			t.Errorf("delay after a success and a failure is %v, want 1s", e.RetryAfter)
		}
	})
}

// Concurrent guesses must not all count as the first.
func TestConcurrentPasswordGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		var tried, refused atomic.Int64
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				_, err := w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root",
					Password: "a wrong password"})
				switch {
				case fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials):
					tried.Add(1)
				case fieldmark.IsCode(err, fieldmark.CodeRateLimited), fieldmark.IsCode(err, fieldmark.CodeOverloaded):
					refused.Add(1)
				default:
					t.Errorf("sign in: %v", err)
				}
			})
		}
		all.Wait()
		if tried.Load() > 2 || tried.Load()+refused.Load() != 60 {
			t.Errorf("%d guesses were tried, %d refused; want at most 2 tried", tried.Load(), refused.Load())
		}
	})
}
