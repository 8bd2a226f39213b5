package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of a sign-in at the provider.
const (
	FlowLifetime  = 10 * time.Minute // from the sign-in page to the callback; people may have to find their phone
	maxNextBytes  = 512              // bytes of the page to continue at: the flow must fit into a cookie
	maxFlowBytes  = 2048             // bytes of a sealed flow
	clockSkew     = time.Minute      // how far the provider's clock may be behind
	flowOwner     = "sign-on"        // owner of a sealed flow
	unnamedPrefix = "sso-"           // prefix of the user name of an identity without a verified address
)

// flow is a sign-in in progress. The browser keeps it encrypted, so that no origin has
// to remember it.
// Sealing it authenticates it too, so a browser cannot change the page to continue at or the
// session that is to be confirmed.
type flow struct {
	oidc.Flow
	Next      string `json:"x"`
	Session   string `json:"u,omitempty"` // to re-authenticate; empty: begin a new one
	StartedAt int64  `json:"t"`           // seconds since 1970
}

// AuthRequest is a request to send a browser to the provider.
type AuthRequest struct {
	Next       string // page to continue at
	Session    string // name of the session to re-authenticate; empty: begin a new one
	ForceLogin bool   // the provider must request credentials even if the user has a session there
}

// Callback is the request of a browser that returns from the provider.
type Callback struct {
	Flow   string     // result of Begin
	Query  url.Values // of the redirect URL
	Token  string     // of the session, if there is one
	Caller Caller
}

// AccessDenied is a sign-in that failed, with a reason to show to its user.
type AccessDenied struct {
	Reason string
	Known  bool  // the provider authenticated the user, but the rules give no role
	Err    error // for the log; may be nil
}

// Error implements error.
func (r *AccessDenied) Error() string {
	if r.Err == nil {
		return r.Reason
	}
	return r.Reason + ": " + r.Err.Error()
}

// Unwrap returns the cause.
func (r *AccessDenied) Unwrap() error { return r.Err }

// SignOn signs administrators in at an OpenID Connect provider.
type SignOn struct {
	store       *store.Store
	auditLog    *auditlog.Log
	flows       keyring.Cipher
	throttle    *throttle
	sessions    *Sessions
	provider    *oidc.Provider // nil: none
	noPasswords bool
}

// Label returns the display name of the provider, or "" if no provider is configured.
func (s *SignOn) Label() string {
	if s.provider == nil {
		return ""
	}
	return s.provider.Label()
}

// PasswordsAllowed reports whether administrators may sign in with a password.
func (s *SignOn) PasswordsAllowed() bool { return !s.noPasswords }

// Begin returns the provider's URL for a sign-in or a re-authentication, and the sealed
// flow that the browser must keep until it returns.
func (s *SignOn) Begin(ctx context.Context, d AuthRequest) (address, sealed string, err error) {
	if s.provider == nil {
		return "", "", fieldmark.Errorf(fieldmark.CodeNotFound, "there is no sign-in provider")
	}
	// Losing the page costs a click; refusing would cost the sign-in.
	if len(d.Next) > maxNextBytes {
		d.Next = ""
	}
	f := flow{Flow: oidc.NewFlow(d.ForceLogin || d.Session != ""), Next: d.Next, Session: d.Session,
		StartedAt: time.Now().Unix()}
	if address, err = s.provider.Begin(ctx, f.Flow); err != nil {
		return "", "", s.unavailable(err)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return "", "", fmt.Errorf("encode a sign-in: %w", err)
	}
	return address, s.flows.Seal(flowOwner, string(b)), nil
}

// unavailable keeps the reason for the log: it may name addresses of the provider's network.
func (s *SignOn) unavailable(err error) error {
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
		Detail: s.provider.Label() + " is not available; try again later.", Err: err}
}

// Finish ends a sign-in. It returns the page to continue at and the token of a new
// session, or no token after a re-authentication. The error is *AccessDenied if the
// user may not sign in.
// Failures count for the network of the caller, as those of passwords do: a code can be guessed
// only as often.
func (s *SignOn) Finish(ctx context.Context, r Callback) (token, next string, err error) {
	if s.provider == nil {
		return "", "", fieldmark.Errorf(fieldmark.CodeNotFound, "there is no sign-in provider")
	}
	f, err := s.openFlow(r)
	if err != nil {
		return "", "", err
	}
	names := s.throttle.names("", r.Caller)
	if err := s.throttle.check(ctx, names); err != nil {
		return "", "", err
	}
	person, err := s.provider.Finish(ctx, r.Query.Get("code"), f.Flow)
	if errors.Is(err, oidc.ErrDenied) {
		return "", "",
			errors.Join(&AccessDenied{Reason: s.provider.Label() + " did not confirm your identity.", Err: err},
				s.throttle.recordFailure(ctx, Credentials{Caller: r.Caller}, false, names))
	}
	if err != nil {
		return "", "", s.unavailable(err)
	}
	if f.Session != "" {
		return "", f.Next, s.reauthenticate(ctx, f, person, r)
	}
	token, err = s.signIn(ctx, person, r.Caller)
	return token, f.Next, err
}

// openFlow decrypts the flow of a callback and checks that the callback belongs to it.
// Otherwise an attacker could sign a victim's browser in to the attacker's account.
func (s *SignOn) openFlow(r Callback) (f flow, err error) {
	stale := &AccessDenied{Reason: "This sign-in was started in another browser or has expired. Sign in again."}
	if len(r.Flow) > maxFlowBytes {
		return f, stale
	}
	plain, err := s.flows.Open(flowOwner, r.Flow)
	if err != nil || json.Unmarshal([]byte(plain), &f) != nil {
		return f, stale
	}
	age := time.Since(time.Unix(f.StartedAt, 0))
	if age < -clockSkew || age > FlowLifetime ||
		subtle.ConstantTimeCompare([]byte(r.Query.Get("state")), []byte(f.State)) != 1 {
		return f, stale
	}
	// The mix-up attack: a provider that the attacker controls answers for another.
	if from := r.Query.Get("iss"); from != "" && from != s.provider.Issuer() { // RFC 9207
		return f, &AccessDenied{Reason: "The response came from another provider."}
	}
	if said := r.Query.Get("error"); said != "" || r.Query.Get("code") == "" {
		return f, &AccessDenied{Reason: s.provider.Label() + " did not sign you in.",
			Err: fmt.Errorf("the provider says %q", auditlog.Clip(said))}
	}
	return f, nil
}

// signInState is the state of a sign-in at the provider in the audit log.
type signInState struct {
	Issuer  string         `json:"issuer"`
	Subject string         `json:"subject"`
	Role    fieldmark.Role `json:"role,omitempty"`
}

// signIn begins a session for an identity that has a role. If it no longer has one, its
// open sessions end.
// The role is read from the token each time, and never kept from an earlier sign-in: a user who left
// the group at the provider has no access after the next one.
func (s *SignOn) signIn(ctx context.Context, p oidc.Identity, caller Caller) (token string, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		token = ""
		user, err := s.findOrCreate(ctx, tx, p)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ctx = auditlog.WithActor(ctx,
			auditlog.Actor{Kind: fieldmark.ActorPerson, Name: subjectName(user, p), Address: caller.Address(),
				Agent: caller.Agent})
		what := signInState{Issuer: p.Issuer, Subject: auditlog.Clip(p.Subject), Role: p.Role}
		if p.Role == "" {
			if err := tx.DeleteSessionsOf(ctx, user); err != nil {
				return err
			}
			return s.auditLog.Append(ctx, tx, "session.refused", subjectName(user, p), nil, what)
		}
		var row store.Session
		token, row = newSession(user, caller)
		if row.ConfirmedAt = time.Unix(0, 0); !p.AuthTime.IsZero() && p.AuthTime.Before(row.CreatedAt) {
			row.ConfirmedAt = p.AuthTime // the provider may have authenticated the user long before
		}
		if err := tx.RecordSignIn(ctx, user, p.Role, row.CreatedAt); err != nil {
			return err
		}
		if err := tx.AddSession(ctx, row); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "session.started", user, nil, what)
	})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	if token == "" {
		return "", s.errNoRole()
	}
	return token, nil
}

// errNoRole denies access to a person whom the provider confirmed and who has no role here.
func (s *SignOn) errNoRole() error {
	return &AccessDenied{Known: true,
		Reason: s.provider.Label() + " confirmed who you are, but you have no access to this console."}
}

// findOrCreate returns the user name of an identity, and creates the administrator if
// the identity has a role and is new. The error is store.ErrNotFound if it has no role.
func (s *SignOn) findOrCreate(ctx context.Context, tx *store.Tx, p oidc.Identity) (user string, err error) {
	user, err = tx.Identity(ctx, p.Issuer, p.Subject)
	if !errors.Is(err, store.ErrNotFound) || p.Role == "" {
		return user, err
	}
	// A name that is taken belongs to another administrator, who may have a password:
	// an email address alone must not give anyone that account.
	for _, name := range []string{p.Email, subjectName("", p)} {
		if !userName.MatchString(name) {
			continue
		}
		free, err := tx.AddIdentity(ctx, store.Identity{Issuer: p.Issuer, Subject: p.Subject, User: name}, p.Role,
			time.Now())
		if err != nil || free {
			return name, err
		}
	}
	return "", fmt.Errorf("the name %s is taken", subjectName("", p))
}

// subjectName returns user, or a name derived from the subject if user is empty.
// The hash keeps an identifier that may be personal out of pages and logs.
func subjectName(user string, p oidc.Identity) string {
	if user != "" {
		return user
	}
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.Subject))
	return unnamedPrefix + hex.EncodeToString(sum[:8])
}

// reauthenticate records in a session that the provider has just authenticated its
// user again.
// Confirming as another user must not confirm this session, nor must a provider that has asked
// for nothing: auth_time says when it has (OpenID Connect Core 1.0, 3.1.2.1).
func (s *SignOn) reauthenticate(ctx context.Context, f flow, p oidc.Identity, r Callback) error {
	in, err := s.sessions.Get(ctx, r.Token)
	if err != nil {
		return err
	}
	var same bool
	started := time.Unix(f.StartedAt, 0)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		user, err := tx.Identity(ctx, p.Issuer, p.Subject)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		same = err == nil && user == in.User && in.Name == f.Session
		if same && p.Role == "" { // the rules no longer give a role
			if err := tx.DeleteSessionsOf(ctx, user); err != nil {
				return err
			}
			ctx = auditlog.WithActor(ctx,
				auditlog.Actor{Kind: fieldmark.ActorPerson, Name: user, Address: r.Caller.Address(),
					Agent: r.Caller.Agent})
			return s.auditLog.Append(ctx, tx, "session.refused", user, nil,
				signInState{Issuer: p.Issuer, Subject: auditlog.Clip(p.Subject)})
		}
		if same {
			if err := tx.RecordSignIn(ctx, user, p.Role, time.Now()); err != nil {
				return err
			}
		}
		if !same || p.AuthTime.Before(started.Add(-clockSkew)) {
			return nil
		}
		return tx.ConfirmSession(ctx, hashSession(r.Token), time.Now())
	})
	switch {
	case err != nil:
		return fmt.Errorf("re-authenticate: %w", err)
	case !same:
		return &AccessDenied{Reason: "You signed in as another user at " + s.provider.Label() + "."}
	case p.Role == "":
		return s.errNoRole()
	case p.AuthTime.Before(started.Add(-clockSkew)):
		return &AccessDenied{Reason: s.provider.Label() + " does not confirm that you have just signed in again."}
	}
	return nil
}
