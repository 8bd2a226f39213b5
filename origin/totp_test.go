package origin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

func code(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSecondFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		ctx := t.Context()
		factor, err := access.NewTOTP("root")
		if err != nil {
			t.Fatal(err)
		}
		err = w.Access.Admins.SetTOTP(ctx, "root", factor.Secret, "000000")
		wantCode(t, "a code the app does not show", err, fieldmark.CodeValidationFailed)
		if err := w.Access.Admins.SetTOTP(ctx, "root", factor.Secret, code(t, factor.Secret, time.Now())); err != nil {
			t.Fatal(err)
		}
		in := func(code string) error {
			_, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword,
				Code: code})
			time.Sleep(time.Hour) // past every delay
			return err
		}
		wantCode(t, "without a code", in(""), fieldmark.CodeInvalidCredentials)
		wantCode(t, "an old code", in(code(t, factor.Secret, time.Now().Add(-time.Minute))),
			fieldmark.CodeInvalidCredentials)
		late := code(t, factor.Secret, time.Now().Add(-30*time.Second))
		if err := in(late); err != nil {
			t.Errorf("a code of the step before: %v", err)
		}
		now := time.Now()
		once := code(t, factor.Secret, now)
		for i, want := range []fieldmark.Code{"", fieldmark.CodeInvalidCredentials} {
			_, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword,
				Code: once})
			if got := fieldmark.AsError(err); want == "" && err != nil || want != "" && got.Code != want {
				t.Errorf("use %d of a code: %v, want %q", i+1, err, want)
			}
		}
		time.Sleep(time.Hour)
		if err := w.Access.Admins.SetTOTP(ctx, "root", "", ""); err != nil {
			t.Fatal(err)
		}
		if err := in(""); err != nil {
			t.Errorf("after the second factor was ended: %v", err)
		}
	})
}

func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAdmin(t)
		ctx := t.Context()
		if err := w.Access.Admins.Put(ctx, "guest", goodPassword, fieldmark.RoleViewer); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "an unknown role", w.Access.Admins.Put(ctx, "x", goodPassword, "root"),
			fieldmark.CodeValidationFailed)
		by := access.ParseCaller("192.0.2.77", "Browser/1")
		token, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "guest", Password: goodPassword,
			Caller: by})
		if err != nil {
			t.Fatal(err)
		}
		in, err := w.Access.Sessions.Get(ctx, token)
		if err != nil || in.Role != fieldmark.RoleViewer || !in.Reauthenticated(time.Now()) {
			t.Fatalf("session %+v, %v; want a viewer's who just gave the password", in, err)
		}
		time.Sleep(access.ReauthLifetime)
		if in, _ := w.Access.Sessions.Get(ctx, token); in.Reauthenticated(time.Now()) {
			t.Errorf("the password counts as given after %v", access.ReauthLifetime)
		}
		wantCode(t, "prove with a wrong password", w.Access.Sessions.Reauthenticate(ctx, token, "wrong", "", by),
			fieldmark.CodeInvalidCredentials)
		time.Sleep(time.Minute)
		if err := w.Access.Sessions.Reauthenticate(ctx, token, goodPassword, "", by); err != nil {
			t.Fatal(err)
		}
		if in, _ := w.Access.Sessions.Get(ctx, token); !in.Reauthenticated(time.Now()) {
			t.Errorf("the password does not count as given just after it was")
		}
		list, err := w.Access.Sessions.List(ctx)
		if err != nil || len(list) != 1 || list[0].Address != "192.0.2.0/24" || list[0].Agent != "Browser/1" {
			t.Fatalf("sessions %+v, %v; want the one", list, err)
		}
		wantCode(t, "end no session", w.Access.Sessions.Delete(ctx, "0123456789abcdef"), fieldmark.CodeNotFound)
		if err := w.Access.Sessions.Delete(ctx, list[0].Name); err != nil {
			t.Fatal(err)
		}
		_, err = w.Access.Sessions.Get(ctx, token)
		wantCode(t, "a session that was ended", err, fieldmark.CodeInvalidCredentials)
	})
}

// TestDelayOfNetwork tries many user names from one network.
func TestDelayOfNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		for range 2 { // names and networks may share slots, but hardly in two databases
			w := newAdmin(t)
			for i, from := range []string{"192.0.2.1", "192.0.2.2"} {
				_, err := w.Access.Sessions.SignIn(t.Context(),
					access.Credentials{User: string(rune('a' + i)), Password: "wrong",
						Caller: access.ParseCaller(from, "")})
				want := []fieldmark.Code{fieldmark.CodeInvalidCredentials, fieldmark.CodeRateLimited}[i]
				wantCode(t, from, err, want)
			}
			_, err = w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root", Password: goodPassword,
				Caller: access.ParseCaller("198.51.100.1", "")})
			if err == nil {
				return
			}
		}
		t.Errorf("from another network: %v", err)
	})
}
