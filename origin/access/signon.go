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

// Bounds of a sign-in at the provider.
const (
	FlowLifetime  = 10 * time.Minute // from the sign-in page to coming back; people look for a phone meanwhile
	maxNextBytes  = 512              // bytes of the page to go to afterwards: the rest must fit into a cookie
	maxFlowBytes  = 2048             // bytes of a sealed flow
	clockSkew     = time.Minute      // how far the provider's clock may be behind ours
	flowOwner     = "sign-on"        // what a sealed flow is bound to
	unnamedPrefix = "sso-"           // begins the name of who has no verified address
)

// flow is a sign-in under way, as the browser keeps it, sealed.
type flow struct {
	oidc.Flow
	Next      string `json:"x"`
	Session   string `json:"u,omitempty"` // the session that is to be proved; empty: a new one is begun
	StartedAt int64  `json:"t"`           // seconds since 1970
}

// AuthRequest says why a browser is sent to the provider.
type AuthRequest struct {
	Next       string // the page to go to afterwards
	Session    string // the session whose person is to prove anew who it is; empty: a new one is begun
	ForceLogin bool   // the person chooses anew who it is, whoever the provider thinks it is
}

// Callback is what a browser brings back from the provider.
type Callback struct {
	Flow   string     // what Begin gave it
	Query  url.Values // of the address it was sent to
	Token  string     // of the session it has, if any
	Caller Caller
}

// AccessDenied says why nobody was let in, in words for who was not.
type AccessDenied struct {
	Reason string
	Known  bool  // the provider vouched for the person; the rules do not
	Err    error // for the log; nil where there is no more to say
}

// Error implements error.
func (r *AccessDenied) Error() string {
	if r.Err == nil {
		return r.Reason
	}
	return r.Reason + ": " + r.Err.Error()
}

// Unwrap returns what was behind it.
func (r *AccessDenied) Unwrap() error { return r.Err }

// SignOn is signing in at an OpenID Connect provider.
type SignOn struct {
	store       *store.Store
	auditLog    *auditlog.Log
	flows       keyring.Cipher
	throttle    *throttle
	sessions    *Sessions
	provider    *oidc.Provider // nil: there is none
	noPasswords bool
}

// Label is what people call the sign-in provider; empty without one.
func (s *SignOn) Label() string {
	if s.provider == nil {
		return ""
	}
	return s.provider.Label()
}

// PasswordsAllowed reports whether administrators may sign in with one.
func (s *SignOn) PasswordsAllowed() bool { return !s.noPasswords }

// Begin returns the provider's address for a sign-in, or for a proof of
// who is in a session, and what the browser must keep meanwhile.
func (s *SignOn) Begin(ctx context.Context, d AuthRequest) (address, kept string, err error) {
	if s.provider == nil {
		return "", "", fieldmark.Errorf(fieldmark.CodeNotFound, "there is no sign-in provider")
	}
	if len(d.Next) > maxNextBytes {
		d.Next = ""
	}
	f := flow{Flow: oidc.NewFlow(d.ForceLogin || d.Session != ""), Next: d.Next, Session: d.Session, StartedAt: time.Now().Unix()}
	if address, err = s.provider.Begin(ctx, f.Flow); err != nil {
		return "", "", s.unavailable(err)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return "", "", fmt.Errorf("keep a sign-in: %w", err)
	}
	return address, s.flows.Seal(flowOwner, string(b)), nil
}

func (s *SignOn) unavailable(err error) error {
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: s.provider.Label() + " does not answer just now.", Err: err}
}

// Finish judges what a browser brought back. It returns the page to go to and
// the token of a new session, or none where the session it has was proved. Who is
// not let in gets *Refused.
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
		return "", "", errors.Join(&AccessDenied{Reason: s.provider.Label() + " did not vouch for you.", Err: err}, s.throttle.recordFailure(ctx, Credentials{Caller: r.Caller}, false, names))
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

// openFlow opens what the browser kept and holds what it brought against it.
func (s *SignOn) openFlow(r Callback) (f flow, err error) {
	stale := &AccessDenied{Reason: "This sign-in was begun elsewhere or too long ago. Begin again."}
	if len(r.Flow) > maxFlowBytes {
		return f, stale
	}
	plain, err := s.flows.Open(flowOwner, r.Flow)
	if err != nil || json.Unmarshal([]byte(plain), &f) != nil {
		return f, stale
	}
	age := time.Since(time.Unix(f.StartedAt, 0))
	if age < -clockSkew || age > FlowLifetime || subtle.ConstantTimeCompare([]byte(r.Query.Get("state")), []byte(f.State)) != 1 {
		return f, stale
	}
	if from := r.Query.Get("iss"); from != "" && from != s.provider.Issuer() { // RFC 9207
		return f, &AccessDenied{Reason: "The answer came from another provider."}
	}
	if said := r.Query.Get("error"); said != "" || r.Query.Get("code") == "" {
		return f, &AccessDenied{Reason: s.provider.Label() + " did not let you in.", Err: fmt.Errorf("the provider says %q", auditlog.Clip(said))}
	}
	return f, nil
}

// signInState is what the audit log keeps of a sign-in at the provider.
type signInState struct {
	Issuer  string         `json:"issuer"`
	Subject string         `json:"subject"`
	Role    fieldmark.Role `json:"role,omitempty"`
}

// signIn begins a session for who may enter. Who may no more loses the sessions
// that are open.
func (s *SignOn) signIn(ctx context.Context, p oidc.Identity, by Caller) (token string, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		token = ""
		user, err := s.findOrCreate(ctx, tx, p)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ctx = auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPerson, Name: subjectName(user, p), Address: addressOf(by), Agent: by.Agent})
		what := signInState{Issuer: p.Issuer, Subject: auditlog.Clip(p.Subject), Role: p.Role}
		if p.Role == "" {
			if err := tx.DeleteSessionsOf(ctx, user); err != nil {
				return err
			}
			return s.auditLog.Append(ctx, tx, "session.refused", subjectName(user, p), nil, what)
		}
		var row store.Session
		token, row = newSession(user, by)
		if row.ConfirmedAt = time.Unix(0, 0); !p.AuthTime.IsZero() && p.AuthTime.Before(row.CreatedAt) {
			row.ConfirmedAt = p.AuthTime // the provider may have let the person in long before
		}
		if err := tx.RecordSignIn(ctx, user, p.Role, row.CreatedAt); err != nil {
			return err
		}
		if err := tx.AddSession(ctx, row); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "session.begin", user, nil, what)
	})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	if token == "" {
		return "", &AccessDenied{Reason: s.provider.Label() + " knows you, but you are not among those who may enter.", Known: true}
	}
	return token, nil
}

// findOrCreate returns the administrator somebody is, making one of who may enter and
// was never here; ErrNone is who may not.
func (s *SignOn) findOrCreate(ctx context.Context, tx *store.Tx, p oidc.Identity) (user string, err error) {
	user, err = tx.Identity(ctx, p.Issuer, p.Subject)
	if !errors.Is(err, store.ErrNotFound) || p.Role == "" {
		return user, err
	}
	// A name that is taken is somebody else's, who may have a password: nobody
	// becomes an administrator by having an address.
	for _, name := range []string{p.Email, subjectName("", p)} {
		if !userName.MatchString(name) {
			continue
		}
		free, err := tx.AddIdentity(ctx, store.Identity{Issuer: p.Issuer, Subject: p.Subject, User: name}, p.Role, time.Now())
		if err != nil || free {
			return name, err
		}
	}
	return "", fmt.Errorf("the name %s is taken", subjectName("", p))
}

// subjectName is what somebody is called who has no other name here.
func subjectName(user string, p oidc.Identity) string {
	if user != "" {
		return user
	}
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.Subject))
	return unnamedPrefix + hex.EncodeToString(sum[:8])
}

// reauthenticate notes in a session that the provider had its person prove anew who it
// is.
func (s *SignOn) reauthenticate(ctx context.Context, f flow, p oidc.Identity, r Callback) error {
	in, err := s.sessions.Get(ctx, r.Token)
	if err != nil {
		return err
	}
	var same bool
	begun := time.Unix(f.StartedAt, 0)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		user, err := tx.Identity(ctx, p.Issuer, p.Subject)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		same = err == nil && user == in.User && in.Name == f.Session
		if same && p.Role == "" { // the rules no longer admit the person
			if err := tx.DeleteSessionsOf(ctx, user); err != nil {
				return err
			}
			ctx = auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPerson, Name: user, Address: addressOf(r.Caller), Agent: r.Caller.Agent})
			return s.auditLog.Append(ctx, tx, "session.refused", user, nil, signInState{Issuer: p.Issuer, Subject: auditlog.Clip(p.Subject)})
		}
		if same {
			if err := tx.RecordSignIn(ctx, user, p.Role, time.Now()); err != nil {
				return err
			}
		}
		if !same || p.AuthTime.Before(begun.Add(-clockSkew)) {
			return nil
		}
		return tx.ConfirmSession(ctx, hashSession(r.Token), time.Now())
	})
	switch {
	case err != nil:
		return fmt.Errorf("prove a session: %w", err)
	case !same:
		return &AccessDenied{Reason: "You signed in as somebody else at " + s.provider.Label() + "."}
	case p.Role == "":
		return &AccessDenied{Reason: s.provider.Label() + " knows you, but you are not among those who may enter.", Known: true}
	case p.AuthTime.Before(begun.Add(-clockSkew)):
		return &AccessDenied{Reason: s.provider.Label() + " does not say that you have just proved who you are."}
	}
	return nil
}
