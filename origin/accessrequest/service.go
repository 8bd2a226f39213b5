package accessrequest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// MaxPage limits a list of requests.
	MaxPage = 200
	// maxPending limits the requests that wait for a decision: an administrator reads each, and a
	// network can send only fieldmark.AccessPerDay of them.
	maxPending = 500
	// maxNamed is how many requests of a day that name the same contact are confirmed by mail: the
	// contact may not have sent them.
	maxNamed = 2
	// sweepInterval is how often requests expire and are deleted. Their times are in days.
	sweepInterval = time.Hour
	day           = 24 * time.Hour
)

// Config is what a Service needs. All fields are required.
type Config struct {
	Store    *store.Store
	MAC      keyring.MAC
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Access   *access.Service
	Mail     *mail.Service
	BaseURL  string // of the public pages, for links in mail; without a slash at the end
}

// Service manages requests for API keys. Its methods may be called from any goroutine.
//
// The secret of a request is computed from the application secret and the id. The database has a hash
// of it, so a copy of the database shows no key, and mail can contain the address of the page although
// it is not stored.
type Service struct{ cfg Config }

// New returns a Service that has started nothing.
func New(cfg Config) *Service { return &Service{cfg} }

// Run ends requests in time and sends mail about them, until ctx ends. Any number of processes may run
// it on one database.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	if s.cfg.Mail.Enabled() {
		wg.Go(func() { _ = s.cfg.Jobs.Work(ctx, store.TopicAccessMail, maxSending, s.claimDue) })
	}
	s.cfg.Jobs.AtStartAndEvery(ctx, sweepInterval, "end requests for API keys", s.Sweep)
	return nil
}

// Sweep ends the requests whose time is over: an approved one expires, and others are deleted.
func (s *Service) Sweep(ctx context.Context) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		return tx.EndAccessRequests(ctx, now, now.Add(fieldmark.AccessKeptDays*day))
	})
}

// secret returns the secret of a request. It is 256 bits of a MAC, so it can be computed again
// for each mail and cannot be guessed from the id, which administrators see.
func (s *Service) secret(id string) string {
	sum, err := base64.StdEncoding.DecodeString(s.cfg.MAC.Sum("secret " + id))
	if err != nil {
		// The MAC encodes itself; anything else is a bug of package keyring.
		panic("BUG: a MAC is not base64: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// hash returns what the database has of a secret. The prefixes "secret " and "hash " keep the
// two uses of the MAC apart: no hash of a secret is itself a secret.
func (s *Service) hash(secret string) string { return s.cfg.MAC.Sum("hash " + secret) }

// Open stores a request. Its secret is in no later response. A network can send
// fieldmark.AccessPerDay requests a day; requests from unknown addresses share one budget.
func (s *Service) Open(ctx context.Context, by access.Caller, form fieldmark.AccessRequestForm) (
	fieldmark.NewAccessRequest, error) {
	if err := ValidateForm(&form).Err(); err != nil {
		return fieldmark.NewAccessRequest{}, err
	}
	now := time.Now()
	r := store.AccessRequest{ID: fieldmark.NewID(fieldmark.PrefixAccess, now), State: fieldmark.AccessPending,
		// Network and contact are stored as MACs: they are compared and counted, never shown.
		Network: s.cfg.MAC.Sum("network " + by.Network()), Contact: s.cfg.MAC.Sum("contact " +
			strings.ToLower(form.Email)), CreatedAt: now, EndsAt: now.Add(fieldmark.AccessKeptDays * day),
		AccessRequestBody: store.AccessRequestBody{Form: form}}
	secret := s.secret(r.ID)
	r.Hash = s.hash(secret)
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		sent, named, pending, err := tx.CountAccessRequests(ctx, r.Network, r.Contact, now.Add(-day))
		switch {
		case err != nil:
			return err
		case sent >= fieldmark.AccessPerDay:
			return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: time.Hour, Detail: fmt.Sprintf(
				"a network can send %d requests for a key a day", fieldmark.AccessPerDay)}
		case pending >= maxPending:
			return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: day,
				Detail: "too many requests wait for a decision"}
		}
		// Mail confirms a request only while few name the same contact, so the form cannot be
		// used to flood the mailbox of someone else.
		r.DueAt = time.Time{} // the transaction may run twice
		if s.cfg.Mail.Enabled() && named < maxNamed {
			r.DueAt = now
		}
		if err := tx.AddAccessRequest(ctx, &r); err != nil {
			return err
		}
		return s.record(ctx, tx, &r, fieldmark.EventAccessOpened, "")
	})
	if err != nil {
		return fieldmark.NewAccessRequest{}, fmt.Errorf("open a request for an API key: %w", err)
	}
	return fieldmark.NewAccessRequest{AccessStatus: statusOf(&r), Secret: secret}, nil
}

// record appends a change of a request to the event log and the audit log. Neither gets the texts of
// the applicant, because both outlive the request.
// before is the state before the change, empty for a new request.
func (s *Service) record(ctx context.Context, tx *store.Tx, r *store.AccessRequest, t fieldmark.EventType,
	before fieldmark.AccessState) error {
	e := store.Event{Event: fieldmark.Event{Type: t}, Subject: r.ID}
	if _, err := event.Emit(ctx, tx, "", e, fieldmark.AccessChange{ID: r.ID, State: r.State}); err != nil {
		return err
	}
	type entry struct {
		State fieldmark.AccessState  `json:"state"`
		Grant *fieldmark.AccessGrant `json:"grant,omitempty"`
		KeyID string                 `json:"keyId,omitempty"`
	}
	var old any
	if before != "" {
		old = entry{State: before}
	}
	return s.cfg.AuditLog.Append(ctx, tx, string(t), r.ID, old, entry{r.State, r.Grant, r.KeyID})
}

// errUnknown is the same for every wrong secret.
var errUnknown = fieldmark.Errorf(fieldmark.CodeNotFound,
	"there is no such request; requests are deleted %d days after they ended", fieldmark.AccessKeptDays)

// find reads the request of a secret.
// A secret of the wrong length is refused before it is hashed. Found by hash, so the comparison
// leaks no timing.
func (s *Service) find(ctx context.Context, db store.AccessRequestReader, secret string) (store.AccessRequest, error) {
	if len(secret) != fieldmark.AccessSecretChars {
		return store.AccessRequest{}, errUnknown
	}
	r, err := db.AccessRequestByHash(ctx, s.hash(secret))
	if errors.Is(err, store.ErrNotFound) {
		return r, errUnknown
	}
	return r, err
}

// Status returns the request of a secret.
func (s *Service) Status(ctx context.Context, secret string) (fieldmark.AccessStatus, error) {
	r, err := s.find(ctx, s.cfg.Store.AccessRequestReader, secret)
	if err != nil {
		return fieldmark.AccessStatus{}, err
	}
	return statusOf(&r), nil
}

// Issue creates the key of the approved request of a secret and returns it. No key exists before, so
// none is stored for the applicant, and of two calls at once only one gets a key.
// The caller must show the key at once: it is in this response only. An error leaves the
// request approved, so the applicant can try again until it expires.
func (s *Service) Issue(ctx context.Context, secret string) (k fieldmark.NewKey, err error) {
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := s.find(ctx, tx.AccessRequestReader, secret)
		if err != nil {
			return err
		}
		now := time.Now()
		switch status := statusOf(&r); status.State {
		case fieldmark.AccessApproved:
		case fieldmark.AccessExpired:
			return fieldmark.Errorf(fieldmark.CodeLinkExpired,
				"the key could be shown within %d days of the approval; send another request", fieldmark.AccessDays)
		case fieldmark.AccessIssued:
			return fieldmark.Errorf(fieldmark.CodeAccessState,
				"the key was shown on %s and cannot be shown again; send another request if it is lost",
				date(*r.IssuedAt))
		default:
			return fieldmark.Errorf(fieldmark.CodeAccessState, "the request is %s", r.State)
		}
		// The key is created by what was approved, not by what was requested.
		g := r.Grant
		k, err = s.cfg.Access.Keys.CreateIn(ctx, tx, g.Account, fieldmark.KeyRequest{Name: r.Form.Organization,
			Scopes: g.Scopes, RateLimit: g.RateLimit, Networks: g.Networks, ExpiresInDays: g.ExpiresInDays})
		if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) { // the applicant has no fields to correct
			return fieldmark.Errorf(fieldmark.CodeAccessState,
				"the limits of the account have changed since the approval and do not allow this key; ask the "+
					"operator of this service")
		}
		if err != nil {
			return err
		}
		at := fieldmark.At(now)
		r.State, r.IssuedAt, r.KeyID = fieldmark.AccessIssued, &at, k.ID
		r.EndsAt, r.DueAt = now.Add(fieldmark.AccessKeptDays*day), time.Time{}
		moved, err := tx.MoveAccessRequest(ctx, &r, fieldmark.AccessApproved)
		if err == nil && !moved { // another process was faster; the error takes this key back
			err = fieldmark.Errorf(fieldmark.CodeAccessState, "the key was shown just now")
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, &r, fieldmark.EventAccessIssued, fieldmark.AccessApproved)
	})
	if err != nil {
		return fieldmark.NewKey{}, fmt.Errorf("show the key of a request: %w", err)
	}
	return k, nil
}

// statusOf returns what the applicant sees of a request.
func statusOf(r *store.AccessRequest) fieldmark.AccessStatus {
	v := fieldmark.AccessStatus{ID: r.ID, State: r.State, Organization: r.Form.Organization, Scopes: r.Form.Scopes,
		Offer: r.Form.Offer, RequestedAt: fieldmark.At(r.CreatedAt), DecidedAt: r.DecidedAt, Reason: r.Reason,
		Grant: r.Grant, IssuedAt: r.IssuedAt, DeletedAt: fieldmark.At(r.EndsAt)}
	if r.State == fieldmark.AccessApproved {
		ends := fieldmark.At(r.EndsAt)
		v.ExpiresAt, v.DeletedAt = &ends, fieldmark.At(r.EndsAt.Add(fieldmark.AccessKeptDays*day))
		if !time.Now().Before(r.EndsAt) { // the sweep comes within the hour
			v.State = fieldmark.AccessExpired
		}
	}
	return v
}

func date(t fieldmark.Time) string { return t.Std().UTC().Format("2 January 2006") }
