package origin

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// The life of a session.
const (
	SessionIdle     = 30 * time.Minute
	SessionAbsolute = 12 * time.Hour
	sessionNoted    = time.Minute // how exact the last use of a session is
	// ProofFor is how long a password counts as just given, for what needs that.
	ProofFor = 10 * time.Minute
)

// Bounds of passwords.
const (
	MinPassword  = 12   // code points; length is the only rule that helps
	maxPassword  = 1024 // bytes, so that a sign-in cannot be made to hash megabytes
	maxHashing   = 2    // hashes at once: each takes 19 MiB and a processor
	maxHashQueue = 32   // sign-ins that may wait for one of those; more are turned away
)

// userName is what an administrator may be called.
var userName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// commonPasswords are long enough and still among the first anybody tries.
var commonPasswords = []string{
	"123456789012", "1234567890123", "12345678901234", "123456789123", "password1234", "password12345", "passwordpassword",
	"qwertyuiop12", "qwertyuiop123", "qwertyuiop[]", "1qaz2wsx3edc", "1q2w3e4r5t6y", "administrator", "administrator1",
	"admin1234567", "adminadminadmin", "letmeinletmein", "iloveyou1234", "changemechangeme", "correcthorsebatterystaple",
	"fieldmark1234", "fieldmarkadmin",
}

// SetAdminPassword makes an administrator who may do everything, or changes the
// password of one, who is then signed out everywhere.
func (s *Service) SetAdminPassword(ctx context.Context, user, password string) error {
	return s.PutAdmin(ctx, user, password, fieldmark.RoleAdmin)
}

// PutAdmin makes an administrator, or changes the password and the role of one,
// who is then signed out everywhere. A second factor stays.
func (s *Service) PutAdmin(ctx context.Context, user, password string, role fieldmark.Role) error {
	if !role.Valid() {
		return validation.Error("/role", "enum", "must be admin or viewer")
	}
	if err := validation.Errors(checkAdmin(user, password)).Err(); err != nil {
		return err
	}
	if err := s.mayHash(ctx); err != nil {
		return err
	}
	hash := hashPassword(password)
	s.hashed()
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if foreign, err := tx.IsIdentity(ctx, user); err != nil || foreign {
			return errors.Join(err, validation.Error("/user", "conflict", "is somebody of the sign-in provider, who has no password here"))
		}
		if err := tx.PutAdmin(ctx, user, hash, role, time.Now()); err != nil {
			return err
		}
		if err := tx.EndSessionsOf(ctx, user); err != nil {
			return err
		}
		if err := tx.DeleteLoginThrottle(ctx, s.throttleName("user", user)); err != nil {
			return err
		}
		return s.AuditLog.Append(ctx, tx, "admin.put", user, nil, map[string]any{"role": role})
	})
	if err != nil {
		return fmt.Errorf("set a password: %w", err)
	}
	return nil
}

func checkAdmin(user, password string) []fieldmark.FieldError {
	var bad validation.Errors
	if !userName.MatchString(user) {
		bad.Add("/user", "pattern", "must be 1 to 64 of a-z, 0-9 and . _ @ -")
	}
	switch {
	case utf8.RuneCountInString(password) < MinPassword:
		bad.Add("/password", "too_short", fmt.Sprintf("must have at least %d characters", MinPassword))
	case len(password) > maxPassword:
		bad.Add("/password", "too_long", fmt.Sprintf("must have at most %d bytes", maxPassword))
	case slices.Contains(commonPasswords, strings.ToLower(password)) || strings.Count(password, password[:1]) == len(password):
		bad.Add("/password", "pattern", "is among the first anybody would try")
	}
	return bad
}

// mayHash waits for the turn to hash a password; hashed ends it.
func (s *Service) mayHash(ctx context.Context) error {
	select {
	case s.waiting <- struct{}{}:
	default:
		e := fieldmark.Errorf(fieldmark.CodeOverloaded, "too many people sign in at once")
		e.RetryAfter = time.Second
		return e
	}
	select {
	case s.hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-s.waiting
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

func (s *Service) hashed() { <-s.hashing; <-s.waiting }
