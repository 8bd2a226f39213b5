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
	FlowFor    = 10 * time.Minute // from the sign-in page to coming back; people look for a phone meanwhile
	maxNext    = 512              // bytes of the page to go to afterwards: the rest must fit into a cookie
	maxFlow    = 2048             // bytes of a sealed flow
	proofSlack = time.Minute      // how far the provider's clock may be behind ours
	flowBound  = "sign-on"        // what a sealed flow is bound to
	strangerID = "sso-"           // begins the name of who has no verified address
)

// flow is a sign-in under way, as the browser keeps it, sealed.
type flow struct {
	oidc.Flow
	Next   string `json:"x"`
	Proves string `json:"u,omitempty"` // the session that is to be proved; empty: a new one is begun
	Begun  int64  `json:"t"`           // seconds since 1970
}

// Departure says why a browser is sent to the provider.
type Departure struct {
	Next   string // the page to go to afterwards
	Proves string // the session whose person is to prove anew who it is; empty: a new one is begun
	Again  bool   // the person chooses anew who it is, whoever the provider thinks it is
}

// Return is what a browser brings back from the provider.
type Return struct {
	Flow   string     // what BeginSignOn gave it
	Query  url.Values // of the address it was sent to
	Token  string     // of the session it has, if any
	Caller Caller
}

// Refused says why nobody was let in, in words for who was not.
type Refused struct {
	Why   string
	Known bool  // the provider vouched for the person; the rules do not
	Err   error // for the log; nil where there is no more to say
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Err == nil {
		return r.Why
	}
	return r.Why + ": " + r.Err.Error()
}

// Unwrap returns what was behind it.
func (r *Refused) Unwrap() error { return r.Err }

// SignOn is signing in at an OpenID Connect provider.
type SignOn struct {
	store    *store.Store
	auditLog *auditlog.Log
	flows    keyring.Cipher
	throttle *throttle
	sessions *Sessions
	sso      *oidc.Provider // nil: there is none
	ssoOnly  bool
}

// Provider is what people call the sign-in provider; empty without one.
func (s *SignOn) Provider() string {
	if s.sso == nil {
		return ""
	}
	return s.sso.Label()
}

// Passwords reports whether administrators may sign in with one.
func (s *SignOn) Passwords() bool { return !s.ssoOnly }

// BeginSignOn returns the provider's address for a sign-in, or for a proof of
// who is in a session, and what the browser must keep meanwhile.
func (s *SignOn) BeginSignOn(ctx context.Context, d Departure) (address, kept string, err error) {
	if s.sso == nil {
		return "", "", fieldmark.Errorf(fieldmark.CodeNotFound, "there is no sign-in provider")
	}
	if len(d.Next) > maxNext {
		d.Next = ""
	}
	f := flow{Flow: oidc.NewFlow(d.Again || d.Proves != ""), Next: d.Next, Proves: d.Proves, Begun: time.Now().Unix()}
	if address, err = s.sso.Begin(ctx, f.Flow); err != nil {
		return "", "", s.away(err)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return "", "", fmt.Errorf("keep a sign-in: %w", err)
	}
	return address, s.flows.Seal(flowBound, string(b)), nil
}

func (s *SignOn) away(err error) error {
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: s.sso.Label() + " does not answer just now.", Err: err}
}

// EndSignOn judges what a browser brought back. It returns the page to go to and
// the token of a new session, or none where the session it has was proved. Who is
// not let in gets *Refused.
func (s *SignOn) EndSignOn(ctx context.Context, r Return) (token, next string, err error) {
	if s.sso == nil {
		return "", "", fieldmark.Errorf(fieldmark.CodeNotFound, "there is no sign-in provider")
	}
	f, err := s.flowOf(r)
	if err != nil {
		return "", "", err
	}
	names := s.throttle.names("", r.Caller)
	if err := s.throttle.check(ctx, names); err != nil {
		return "", "", err
	}
	person, err := s.sso.Finish(ctx, r.Query.Get("code"), f.Flow)
	if errors.Is(err, oidc.ErrRefused) {
		return "", "", errors.Join(&Refused{Why: s.sso.Label() + " did not vouch for you.", Err: err}, s.throttle.fail(ctx, Credentials{By: r.Caller}, false, names))
	}
	if err != nil {
		return "", "", s.away(err)
	}
	if f.Proves != "" {
		return "", f.Next, s.proveBy(ctx, f, person, r)
	}
	token, err = s.enter(ctx, person, r.Caller)
	return token, f.Next, err
}

// flowOf opens what the browser kept and holds what it brought against it.
func (s *SignOn) flowOf(r Return) (f flow, err error) {
	stale := &Refused{Why: "This sign-in was begun elsewhere or too long ago. Begin again."}
	if len(r.Flow) > maxFlow {
		return f, stale
	}
	plain, err := s.flows.Open(flowBound, r.Flow)
	if err != nil || json.Unmarshal([]byte(plain), &f) != nil {
		return f, stale
	}
	age := time.Since(time.Unix(f.Begun, 0))
	if age < -proofSlack || age > FlowFor || subtle.ConstantTimeCompare([]byte(r.Query.Get("state")), []byte(f.State)) != 1 {
		return f, stale
	}
	if from := r.Query.Get("iss"); from != "" && from != s.sso.Issuer() { // RFC 9207
		return f, &Refused{Why: "The answer came from another provider."}
	}
	if said := r.Query.Get("error"); said != "" || r.Query.Get("code") == "" {
		return f, &Refused{Why: s.sso.Label() + " did not let you in.", Err: fmt.Errorf("the provider says %q", auditlog.Clip(said))}
	}
	return f, nil
}

// signedOn is what the audit log keeps of a sign-in at the provider.
type signedOn struct {
	Issuer  string         `json:"issuer"`
	Subject string         `json:"subject"`
	Role    fieldmark.Role `json:"role,omitempty"`
}

// enter begins a session for who may enter. Who may no more loses the sessions
// that are open.
func (s *SignOn) enter(ctx context.Context, p oidc.Person, by Caller) (token string, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		token = ""
		user, err := s.identify(ctx, tx, p)
		if err != nil && !errors.Is(err, store.ErrNone) {
			return err
		}
		ctx = auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPerson, Name: subjectName(user, p), Address: addressOf(by), Agent: by.Agent})
		what := signedOn{Issuer: p.Issuer, Subject: auditlog.Clip(p.Subject), Role: p.Role}
		if p.Role == "" {
			if err := tx.EndSessionsOf(ctx, user); err != nil {
				return err
			}
			return s.auditLog.Append(ctx, tx, "session.refused", subjectName(user, p), nil, what)
		}
		var row store.Session
		token, row = newSession(user, by)
		if row.ProvedAt = time.Unix(0, 0); !p.ProvedAt.IsZero() && p.ProvedAt.Before(row.CreatedAt) {
			row.ProvedAt = p.ProvedAt // the provider may have let the person in long before
		}
		if err := tx.SeeIdentity(ctx, user, p.Role, row.CreatedAt); err != nil {
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
		return "", &Refused{Why: s.sso.Label() + " knows you, but you are not among those who may enter.", Known: true}
	}
	return token, nil
}

// identify returns the administrator somebody is, making one of who may enter and
// was never here; ErrNone is who may not.
func (s *SignOn) identify(ctx context.Context, tx *store.Tx, p oidc.Person) (user string, err error) {
	user, err = tx.Identity(ctx, p.Issuer, p.Subject)
	if !errors.Is(err, store.ErrNone) || p.Role == "" {
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
func subjectName(user string, p oidc.Person) string {
	if user != "" {
		return user
	}
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.Subject))
	return strangerID + hex.EncodeToString(sum[:8])
}

// proveBy notes in a session that the provider had its person prove anew who it
// is.
func (s *SignOn) proveBy(ctx context.Context, f flow, p oidc.Person, r Return) error {
	in, err := s.sessions.Session(ctx, r.Token)
	if err != nil {
		return err
	}
	var same bool
	begun := time.Unix(f.Begun, 0)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		user, err := tx.Identity(ctx, p.Issuer, p.Subject)
		if err != nil && !errors.Is(err, store.ErrNone) {
			return err
		}
		same = err == nil && user == in.User && in.Session == f.Proves
		if same && p.Role == "" { // the rules no longer admit the person
			if err := tx.EndSessionsOf(ctx, user); err != nil {
				return err
			}
			ctx = auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorPerson, Name: user, Address: addressOf(r.Caller), Agent: r.Caller.Agent})
			return s.auditLog.Append(ctx, tx, "session.refused", user, nil, signedOn{Issuer: p.Issuer, Subject: auditlog.Clip(p.Subject)})
		}
		if same {
			if err := tx.SeeIdentity(ctx, user, p.Role, time.Now()); err != nil {
				return err
			}
		}
		if !same || p.ProvedAt.Before(begun.Add(-proofSlack)) {
			return nil
		}
		return tx.ProveSession(ctx, hashSession(r.Token), time.Now())
	})
	switch {
	case err != nil:
		return fmt.Errorf("prove a session: %w", err)
	case !same:
		return &Refused{Why: "You signed in as somebody else at " + s.sso.Label() + "."}
	case p.Role == "":
		return &Refused{Why: s.sso.Label() + " knows you, but you are not among those who may enter.", Known: true}
	case p.ProvedAt.Before(begun.Add(-proofSlack)):
		return &Refused{Why: s.sso.Label() + " does not say that you have just proved who you are."}
	}
	return nil
}
