package origin_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// A sign-in whose password is checked while the password or the two-factor secret
// changes must not create a session or restore the old password.
func TestSignInDuringChange(t *testing.T) {
	factor, err := access.NewTOTP("root")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(ctx context.Context, w *fixture) error{
		"password": func(ctx context.Context, w *fixture) error {
			return w.Access.Admins.SetPassword(ctx, "root", "quite another password")
		},
		"second factor": func(ctx context.Context, w *fixture) error {
			return w.Access.Admins.SetTOTP(ctx, "root", factor.Secret, code(t, factor.Secret, time.Now()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAdmin(t)
				ctx := t.Context()
				old, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword})
				if err != nil {
					t.Fatal(err)
				}
				errs := make(chan error, 4)
				release := make(chan struct{})
				go func() { // holds up all writes
					errs <- w.Store.Write(ctx, func(context.Context, *store.Tx) error { <-release; return nil })
				}()
				synctest.Wait()
				go func() { errs <- change(ctx, w) }()
				synctest.Wait() // its write is in line
				signIn, prove := make(chan error, 1), make(chan error, 1)
				go func() {
					_, err := w.Access.Sessions.SignIn(ctx, access.Credentials{User: "root", Password: goodPassword})
					signIn <- err
				}()
				go func() { prove <- w.Access.Sessions.Reauthenticate(ctx, old, goodPassword, "", access.Caller{}) }()
				synctest.Wait() // the old password was right, and their writes are in line
				close(release)
				for range 2 {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
				wantCode(t, "sign in with what was right before", <-signIn, fieldmark.CodeInvalidCredentials)
				wantCode(t, "prove a session by what was right before", <-prove, fieldmark.CodeInvalidCredentials)
				open, err := w.Access.Sessions.List(ctx)
				if err != nil || name == "password" && len(open) != 0 {
					t.Errorf("sessions after the change: %+v, %v", open, err)
				}
			})
		})
	}
}
