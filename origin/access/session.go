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

// Lifetimes of a session.
const (
	SessionIdle       = 30 * time.Minute
	SessionAbsolute   = 12 * time.Hour
	lastSeenPrecision = time.Minute // precision of the last use of a session
	// ReauthLifetime is how long a re-authentication counts, for actions that require one.
	ReauthLifetime = 10 * time.Minute
)

// Credentials are what somebody signs in with.
type Credentials struct {
	User, Password string
	Code           string // of the second factor; empty without one
	Caller         Caller
	reauth         bool // a session: who has no password may confirm by the code alone
}

// Session is an administrator in a session.
type Session struct {
	User     string
	Role     fieldmark.Role
	Name     string    // names the session; it cannot be entered by that
	ReauthAt time.Time // when the password was last given in it
	External bool      // has no password here: the sign-in provider vouches
	HasTOTP  bool      // has a second factor
}

// Reauthenticated reports whether the password was given just now.
func (in Session) Reauthenticated(now time.Time) bool { return now.Sub(in.ReauthAt) < ReauthLifetime }

// Sessions are the sessions of administrators in the admin console.
type Sessions struct {
	store       *store.Store
	auditLog    *auditlog.Log
	totp        keyring.Cipher
	hasher      *hasher
	throttle    *throttle
	noPasswords bool
}

// SignIn returns the token of a new session. A wrong password, a wrong code and an
// unknown user get the same error after the same work, and delay the next try.
func (s *Sessions) SignIn(ctx context.Context, c Credentials) (session string, err error) {
	if s.noPasswords {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "passwords are switched off")
	}
	proof, err := s.authenticate(ctx, c)
	if err != nil {
		return "", err
	}
	token, row := newSession(c.User, c.Caller)
	ctx = auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPerson, Name: c.User, Address: addressOf(c.Caller), Agent: c.Caller.Agent})
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := proof.use(ctx, tx); err != nil {
			return err
		}
		if err := tx.AddSession(ctx, row); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "session.begin", c.User, nil, nil)
	})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return token, nil
}

// newSession draws the token of a session that begins now.
func newSession(user string, by Caller) (token string, row store.Session) {
	token = rand.Text() + rand.Text() // 2 x 130 bits
	now := time.Now()
	return token, store.Session{Hash: hashSession(token), User: user, CreatedAt: now, SeenAt: now, ConfirmedAt: now,
		Address: networkOf(by.Addr), Agent: auditlog.Clip(by.Agent)}
}

// Reauthenticate notes in a session that its password was given just now.
func (s *Sessions) Reauthenticate(ctx context.Context, token, password, code string, by Caller) error {
	in, err := s.Get(ctx, token)
	if err != nil {
		return err
	}
	proof, err := s.authenticate(ctx, Credentials{User: in.User, Password: password, Code: code, Caller: by, reauth: true})
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := proof.use(ctx, tx); err != nil {
			return err
		}
		return tx.ConfirmSession(ctx, hashSession(token), time.Now())
	})
}

// authentication is a right password, and a right code where one is asked for.
type authentication struct {
	admin store.Admin // as they were checked
	step  int64       // of the code; 0 without one
	hash  string      // of the password at today's cost; empty: it is kept so already

	throttles []string // names whose failures end with this
}

// use uses a proof up in the transaction of what it allows. The password and
// the second factor must still be those that were checked: checking takes long,
// and a change of either ends what the old one could open.
func (p *authentication) use(ctx context.Context, tx *store.Tx) error {
	now, err := tx.Admin(ctx, p.admin.Name)
	if errors.Is(err, store.ErrNotFound) || err == nil && (now.Password != p.admin.Password || now.TOTP != p.admin.TOTP) {
		return errCredentials()
	}
	if err != nil {
		return err
	}
	if p.step > 0 {
		if fresh, err := tx.UseTOTPStep(ctx, p.admin.Name, p.step); err != nil || !fresh {
			return errors.Join(err, errCredentials())
		}
	}
	for _, name := range p.throttles {
		if err := tx.DeleteLoginThrottle(ctx, name); err != nil {
			return err
		}
	}
	if p.hash != "" {
		return tx.UpdatePasswordHash(ctx, p.admin.Name, p.hash)
	}
	return nil
}

// authenticate checks a password and, where there is one, the second factor.
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
	// Those who waited for their turn beside a failure are delayed by it as well;
	// otherwise a thousand guesses sent at once would all count as the first.
	if err := s.throttle.check(ctx, names); err != nil {
		return nil, err
	}
	kept, err := s.store.Admin(ctx, c.User)
	known := !errors.Is(err, store.ErrNotFound)
	if !known {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	right, outdated, err := checkPassword(cmp.Or(kept.Password, dummyHash), c.Password)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	if known && kept.Password == "" { // somebody of the sign-in provider
		right = c.reauth && kept.TOTP != ""
	}
	var step int64
	if right && kept.TOTP != "" {
		if step, err = s.checkCode(kept, c.Code, time.Now()); err != nil {
			return nil, fmt.Errorf("sign in: %w", err)
		}
		right = step > 0
	}
	if !right {
		// A failure that cannot be counted gets the answer of a right password
		// that cannot be used: otherwise guesses were free while the disk is full.
		if err := s.throttle.recordFailure(ctx, c, known, names); err != nil {
			return nil, fmt.Errorf("sign in: %w", err)
		}
		return nil, errCredentials()
	}
	p := &authentication{admin: kept, step: step, throttles: names}
	if outdated {
		p.hash = hashPassword(c.Password)
	}
	return p, nil
}

func errCredentials() error {
	return fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "the user name or the password is wrong")
}

// hashSession returns what is kept of a session's token. The token is random, so
// a plain hash cannot be turned round.
func hashSession(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// sessionNameLength is how much of a hash names a session to people.
const sessionNameLength = 16

// Get returns the administrator a token stands for, and keeps the session
// from falling idle.
func (s *Sessions) Get(ctx context.Context, token string) (in Session, err error) {
	over := fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "the session is over; sign in again")
	if token == "" || len(token) > maxPassword {
		return in, over
	}
	se, err := s.store.Session(ctx, hashSession(token))
	if errors.Is(err, store.ErrNotFound) {
		return in, over
	}
	if err != nil {
		return in, err
	}
	now := time.Now()
	if now.Sub(se.SeenAt) >= SessionIdle || now.Sub(se.CreatedAt) >= SessionAbsolute {
		return in, over
	}
	if now.Sub(se.SeenAt) >= lastSeenPrecision {
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.TouchSession(ctx, se.Hash, now)
		})
		if err != nil {
			return in, err
		}
	}
	return Session{User: se.User, Role: se.Role, Name: se.Hash[:sessionNameLength], ReauthAt: se.ConfirmedAt, External: se.External, HasTOTP: se.HasTOTP}, nil
}

// SignOut ends a session; one that is over already is no error.
func (s *Sessions) SignOut(ctx context.Context, token string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteSession(ctx, hashSession(token))
	})
}

// SessionInfo is a session as it may be shown.
type SessionInfo struct {
	Name      string // as Session.Session
	User      string
	Address   string // the network it was begun from
	Agent     string // and the browser
	CreatedAt fieldmark.Time
	SeenAt    fieldmark.Time
}

// maxSessions bounds a list of sessions.
const maxSessions = 500

// List lists the sessions that are open, the newest first.
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

// Delete ends a session by its name.
func (s *Sessions) Delete(ctx context.Context, name string) error {
	if len(name) != sessionNameLength {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such session")
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		user, err := tx.DeleteSessionByPrefix(ctx, name)
		if err != nil {
			return store.NotFound(err, "there is no such session")
		}
		return s.auditLog.Append(ctx, tx, "session.end", user, nil, nil)
	})
}
