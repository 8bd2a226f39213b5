package access

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of passwords.
const (
	MinPassword = 12   // code points; length is the only rule that helps
	maxPassword = 1024 // bytes, so that a sign-in cannot make the server hash megabytes
)

// userName is the syntax of the names of administrators.
var userName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// commonPasswords are long enough and still among the first that an attacker tries.
// The list is short because length already excludes nearly all of the published ones.
var commonPasswords = []string{
	"123456789012", "1234567890123", "12345678901234", "123456789123", "password1234", "password12345",
	"passwordpassword",
	"qwertyuiop12", "qwertyuiop123", "qwertyuiop[]", "1qaz2wsx3edc", "1q2w3e4r5t6y", "administrator", "administrator1",
	"admin1234567", "adminadminadmin", "letmeinletmein", "iloveyou1234", "changemechangeme",
	"correcthorsebatterystaple",
	"fieldmark1234", "fieldmarkadmin",
}

// Admins are the administrators, with a password of their own or signed in by the
// OpenID Connect provider.
type Admins struct {
	store    *store.Store
	auditLog *auditlog.Log
	totp     keyring.Cipher
	hasher   *hasher
	throttle *throttle
}

// SetPassword creates an administrator with the role admin, or changes the password of
// one and ends all sessions of that user.
func (s *Admins) SetPassword(ctx context.Context, user, password string) error {
	return s.Put(ctx, user, password, fieldmark.RoleAdmin)
}

// Put creates an administrator, or changes the password and the role of one and ends all
// sessions of that user. Two-factor authentication stays enabled. It also ends the delays of
// the user after failed sign-ins. An identity of the sign-in provider has no password here and
// is a conflict.
func (s *Admins) Put(ctx context.Context, user, password string, role fieldmark.Role) error {
	if !role.Valid() {
		return validation.Error("/role", "enum", "must be admin or viewer")
	}
	if err := validation.Errors(validateAdmin(user, password)).Err(); err != nil {
		return err
	}
	// argon2id takes 19 MiB for each hash; the number at once is bounded, and no transaction
	// is open meanwhile.
	if err := s.hasher.acquire(ctx); err != nil {
		return err
	}
	hash := hashPassword(password)
	s.hasher.release()
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		external, err := tx.HasIdentity(ctx, user)
		if err != nil {
			return err
		}
		if external {
			return validation.Error("/user", "conflict",
				"is an identity of the sign-in provider and has no password here")
		}
		if err := tx.PutAdmin(ctx, user, hash, role, time.Now()); err != nil {
			return err
		}
		// A password is changed because it may be known: sessions that began with it end.
		if err := tx.DeleteSessionsOf(ctx, user); err != nil {
			return err
		}
		if err := tx.DeleteLoginThrottle(ctx, s.throttle.name("user", user)); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "admin.saved", user, nil, map[string]any{"role": role})
	})
	if err != nil {
		return fmt.Errorf("set a password: %w", err)
	}
	return nil
}

// validateAdmin follows NIST SP 800-63B, 5.1.1: length and a list of known passwords, and no rules
// about kinds of characters.
func validateAdmin(user, password string) []fieldmark.FieldError {
	var bad validation.Errors
	if !userName.MatchString(user) {
		bad.Add("/user", "pattern", "must be 1 to 64 of a-z, 0-9 and . _ @ -")
	}
	switch {
	case utf8.RuneCountInString(password) < MinPassword:
		bad.Add("/password", "too_short", fmt.Sprintf("must have at least %d characters", MinPassword))
	case len(password) > maxPassword:
		bad.Add("/password", "too_long", fmt.Sprintf("must have at most %d bytes", maxPassword))
	case slices.Contains(commonPasswords, strings.ToLower(password)) ||
		strings.Count(password, password[:1]) == len(password):
		bad.Add("/password", "pattern", "is too easy to guess")
	}
	return bad
}

// maxAdmins limits the list of administrators.
const maxAdmins = 500

// List returns the administrators. There are at most maxAdmins, without their hashes.
func (s *Admins) List(ctx context.Context) ([]fieldmark.Admin, error) {
	rows, err := s.store.Admins(ctx, maxAdmins)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Admin, len(rows))
	for i, a := range rows {
		list[i] = fieldmark.Admin{Name: a.Name, Role: a.Role, SecondFactor: a.TOTP != "", Foreign: a.Password == "",
			CreatedAt: fieldmark.At(a.CreatedAt)}
	}
	return list, nil
}
