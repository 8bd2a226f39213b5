package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The session length of an administrator, its lifetime: how long it lasts without a request and in all. Sessions of
// owners have OwnerSessionLifetime.
const (
	// without a request
	SessionIdle = 30 * time.Minute
	// since the sign-in: a stolen cookie is useless after a working day. Package oidc, which cannot import this one,
	// has the same limit in maxAuthAge.
	SessionAbsolute = 12 * time.Hour
	// ReauthLifetime is how long a re-authentication counts, for actions that require one.
	ReauthLifetime = 10 * time.Minute
)

// Credentials are the input of a sign-in with a password.
type Credentials struct {
	User, Password string
	Code           string // TOTP code; empty without two-factor authentication
	Caller         Caller
	reauth         bool // re-authentication: a user without a password confirms with the code alone
}

// Session is an open session and its administrator. It is a copy: a change of the role takes
// effect with the next request.
type Session struct {
	User     string
	Role     fieldmark.Role
	Name     string    // identifies the session to people; not the token
	ReauthAt time.Time // last sign-in or re-authentication
	External bool      // authenticated by the sign-in provider, without a password here
	HasTOTP  bool      // two-factor authentication is enabled
}

// Reauthenticated reports whether the last authentication is recent enough for actions
// that require one, such as creating keys.
func (s Session) Reauthenticated(now time.Time) bool { return now.Sub(s.ReauthAt) < ReauthLifetime }

// Sessions are the sessions of administrators in the admin console. The database holds hashes
// of their tokens, so a copy of it opens no session. Its methods may be called from any
// goroutine.
type Sessions struct {
	store       *store.Store
	auditLog    *auditlog.Log
	totp        keyring.Cipher
	hasher      *hasher
	throttle    *throttle
	noPasswords bool
	lastUsed    LastUsed // by the hash of the token
}

// writeLastUsed writes when sessions were last used.
func (s *Sessions) writeLastUsed(ctx context.Context) error {
	return s.lastUsed.Write(ctx, s.store, func(ctx context.Context, tx *store.Tx, hash string, u Use) error {
		return tx.TouchSession(ctx, hash, u.At)
	})
}

// SignIn returns the token of a new session. A wrong password, a wrong code and an unknown user
// get the same error after the same work, and delay the next attempt. While attempts are
// delayed, it returns CodeRateLimited with the time to wait, also for the right password; while
// too many passwords wait to be hashed, CodeOverloaded.
func (s *Sessions) SignIn(ctx context.Context, c Credentials) (session string, err error) {
	if s.noPasswords {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "signing in with a password is disabled")
	}
	auth, err := s.authenticate(ctx, c)
	if err != nil {
		return "", err
	}
	token, row := newSession(c.User, c.Caller)
	ctx = auditlog.WithActor(ctx,
		auditlog.Actor{Kind: fieldmark.ActorPerson, Name: c.User, Address: c.Caller.Address(), Agent: c.Caller.Agent})
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := auth.use(ctx, tx); err != nil {
			return err
		}
		if err := tx.AddSession(ctx, row); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "session.started", c.User, nil, nil)
	})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return token, nil
}

// newSession returns the random token and the row of a session that begins now.
func newSession(user string, caller Caller) (token string, row store.Session) {
	token = rand.Text() + rand.Text() // 2 x 130 bits
	now := time.Now()
	return token, store.Session{Hash: hashSession(token), User: user, CreatedAt: now, SeenAt: now, ConfirmedAt: now,
		Address: networkOf(caller.Addr), Agent: auditlog.Clip(caller.Agent)}
}

// Reauthenticate checks the password and the code of the user of a session again, and records
// the time in the session. It has the delays of SignIn: a stolen session must not allow more
// guesses than the sign-in page.
func (s *Sessions) Reauthenticate(ctx context.Context, token, password, code string, caller Caller) error {
	in, err := s.Get(ctx, token)
	if err != nil {
		return err
	}
	auth, err := s.authenticate(ctx,
		Credentials{User: in.User, Password: password, Code: code, Caller: caller, reauth: true})
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := auth.use(ctx, tx); err != nil {
			return err
		}
		return tx.ConfirmSession(ctx, hashSession(token), time.Now())
	})
}

// authentication is the result of checking a password and a code.
type authentication struct {
	admin store.Admin // as it was checked
	step  int64       // time step of the code; 0 without two-factor authentication
	hash  string      // of the password with current parameters; empty: the stored hash has them

	throttles []string // names whose failures are reset
}

// use consumes the authentication in the transaction of the change that it permits. It
// fails if the password or the TOTP secret has changed since the check: the check takes
// time, and a change of either must invalidate the old value. A code is valid once.
func (a *authentication) use(ctx context.Context, tx *store.Tx) error {
	now, err := tx.Admin(ctx, a.admin.Name)
	if errors.Is(err, store.ErrNotFound) || err == nil &&
		(now.Password != a.admin.Password || now.TOTP != a.admin.TOTP) {
		return errCredentials()
	}
	if err != nil {
		return err
	}
	if a.step > 0 {
		fresh, err := tx.UseTOTPStep(ctx, a.admin.Name, a.step)
		if err != nil {
			return err
		}
		if !fresh {
			return errCredentials()
		}
	}
	for _, name := range a.throttles {
		if err := tx.DeleteLoginThrottle(ctx, name); err != nil {
			return err
		}
	}
	if a.hash != "" {
		return tx.UpdatePasswordHash(ctx, a.admin.Name, a.hash)
	}
	return nil
}

// authenticate checks a password, and the TOTP code of a user with two-factor authentication.
// It changes nothing but the counts of failures: the caller consumes the result in the
// transaction of what it permits (see authentication.use). Every path after the throttle hashes
// one password, whether or not the user exists.
func (s *Sessions) authenticate(ctx context.Context, c Credentials) (*authentication, error) {
	if len(c.User) > maxPassword || len(c.Password) > maxPassword {
		return nil, errCredentials()
	}
	names := s.throttle.names(c.User, c.Caller)
	if err := s.throttle.check(ctx, names); err != nil {
		return nil, err
	}
	if err := s.hasher.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.hasher.release()
	// Check again after waiting: otherwise a thousand guesses sent at once would all
	// count as the first.
	if err := s.throttle.check(ctx, names); err != nil {
		return nil, err
	}
	admin, err := s.store.Admin(ctx, c.User)
	known := !errors.Is(err, store.ErrNotFound)
	if !known {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	ok, outdated, err := checkPassword(cmp.Or(admin.Password, dummyHash), c.Password)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	if known && admin.Password == "" { // signs in at the provider
		ok = c.reauth && admin.TOTP != ""
	}
	var step int64
	if ok && admin.TOTP != "" {
		if step, err = s.checkCode(admin, c.Code, time.Now()); err != nil {
			return nil, fmt.Errorf("sign in: %w", err)
		}
		ok = step > 0
	}
	if !ok {
		// If the failure cannot be counted, return the error of a right password whose
		// session cannot be stored: otherwise guesses would be free on a full disk.
		if err := s.throttle.recordFailure(ctx, c, known, names); err != nil {
			return nil, fmt.Errorf("sign in: %w", err)
		}
		return nil, errCredentials()
	}
	a := &authentication{admin: admin, step: step, throttles: names}
	if outdated {
		a.hash = hashPassword(c.Password)
	}
	return a, nil
}

func errCredentials() error {
	return fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "the user name or the password is wrong")
}

// hashSession returns the hash of a session token, which is stored in its place. The
// token has 260 random bits, so a plain hash cannot be reversed.
func hashSession(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// sessionNameLength is how many digits of its hash identify a session to people.
const sessionNameLength = 16

// Get returns the session of a token and restarts its idle timeout. An unknown, ended or
// expired session is CodeInvalidCredentials. It only reads, because administrators need the console
// above all while the database refuses writes: the time of the last request is written later, so a
// session may end up to twice LastUsedPrecision before SessionIdle is over.
func (s *Sessions) Get(ctx context.Context, token string) (in Session, err error) {
	expired := fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "the session has ended; sign in again")
	if token == "" || len(token) > maxPassword {
		return in, expired
	}
	se, err := s.store.Session(ctx, hashSession(token))
	if errors.Is(err, store.ErrNotFound) {
		return in, expired
	}
	if err != nil {
		return in, err
	}
	now := time.Now()
	if now.Sub(se.SeenAt) >= SessionIdle || now.Sub(se.CreatedAt) >= SessionAbsolute {
		return in, expired
	}
	if now.Sub(se.SeenAt) >= LastUsedPrecision {
		s.lastUsed.Record(se.Hash, Use{At: now})
	}
	return Session{User: se.User, Role: se.Role, Name: se.Hash[:sessionNameLength], ReauthAt: se.ConfirmedAt,
		External: se.External, HasTOTP: se.HasTOTP}, nil
}

// SignOut ends a session. A session that has ended already is no error.
func (s *Sessions) SignOut(ctx context.Context, token string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteSession(ctx, hashSession(token))
	})
}

// SessionInfo is a session without its token.
type SessionInfo struct {
	Name      string // as Session.Name
	User      string
	Address   string // network that signed in
	Agent     string // User-Agent that signed in
	CreatedAt fieldmark.Time
	SeenAt    fieldmark.Time
}

// maxSessions limits a list of sessions.
const maxSessions = 500

// List returns the open sessions, the newest first. There are at most maxSessions.
func (s *Sessions) List(ctx context.Context) ([]SessionInfo, error) {
	now := time.Now()
	rows, err := s.store.Sessions(ctx, now.Add(-SessionAbsolute), now.Add(-SessionIdle), maxSessions)
	if err != nil {
		return nil, err
	}
	list := make([]SessionInfo, len(rows))
	for i, r := range rows {
		list[i] = SessionInfo{Name: r.Hash[:sessionNameLength], User: r.User, Address: r.Address, Agent: r.Agent,
			CreatedAt: fieldmark.At(r.CreatedAt), SeenAt: fieldmark.At(r.SeenAt)}
	}
	return list, nil
}

// Delete ends the session of a name. The name is a part of the hash of its token, from which
// the token cannot be found.
func (s *Sessions) Delete(ctx context.Context, name string) error {
	if len(name) != sessionNameLength {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such session")
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		user, err := tx.DeleteSessionByPrefix(ctx, name)
		if err != nil {
			return store.NotFound(err, "there is no such session")
		}
		return s.auditLog.Append(ctx, tx, "session.ended", user, nil, nil)
	})
}
