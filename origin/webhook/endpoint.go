package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of webhooks.
const (
	MaxEndpoints     = 50   // per account: every event is matched with each of them
	MaxEndpointList  = 1000 // in one response
	maxEndpointURL   = 2048 // bytes
	maxEventPatterns = 50
	maxEndpointNote  = 200 // code points of a description

	// of a score: no change is below the tenth that scores show, and more than half the scale is never crossed twice
	minThreshold = fieldmark.MilliOne / 10
	maxThreshold = 50 * fieldmark.MilliOne

	maxEndpointTTL   = 24 * time.Hour // a temporary endpoint is for a person who watches it
	maxHeaders       = 20             // custom header fields of an endpoint
	maxHeaderBytes   = 4 << 10        // of those together: receivers refuse more than 8 KiB in all
	defaultOverlap   = 24             // hours for which the previous secret keeps signing
	maxOverlap       = 7 * 24
	maxExpiredAtOnce = 100 // endpoints ended in one transaction
	maxSkippedAtOnce = 1000
	reasonExpired    = "the endpoint expired"
	reasonDeleted    = "the endpoint was deleted"
	reasonPaused     = "paused"
	reasonSkipped    = "skipped when the endpoint was enabled"
	reasonFailing    = "nothing was taken for 5 days"
)

// CreateEndpoint adds a URL that receives an account's events from now on. The response is the
// only place that contains its secret. The URL must be one that the HTTP client may reach; its
// host name is resolved before the transaction, and again for every connection, because names
// may change.
func (s *Service) CreateEndpoint(ctx context.Context, account string,
	r fieldmark.EndpointRequest) (fieldmark.NewEndpoint, error) {
	return s.createEndpoint(ctx, account, r, Listed{})
}

// Listed is what the page of an HTML form listed when it was opened.
type Listed struct {
	Newest  *string                        // id of the newest endpoint, "" without one; nil: unknown, and no condition
	Account string                         // of the endpoints; empty: all live ones
	Shows   func(*fieldmark.Endpoint) bool // which of them; nil: all
}

// CreateEndpointAfter is CreateEndpoint for an HTML form. If the list has a newer endpoint than when
// the form was opened, it returns CodeVersionMismatch, so a form that is submitted twice creates one endpoint.
func (s *Service) CreateEndpointAfter(ctx context.Context, seen Listed, account string,
	r fieldmark.EndpointRequest) (fieldmark.NewEndpoint, error) {
	if seen.Account == "" && fieldmark.IsTestAccount(account) { // chosen by a person, not that of a key
		return fieldmark.NewEndpoint{}, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such account")
	}
	return s.createEndpoint(ctx, account, r, seen)
}

// newest returns the id of the newest endpoint that the page lists now, or "".
func (l *Listed) newest(ctx context.Context, tx *store.Tx, now time.Time) (string, error) {
	rows, err := tx.WebhookTx.Endpoints(ctx, l.Account, false, now, MaxEndpointList)
	for i := range rows {
		if l.Shows == nil || l.Shows(&rows[i].Endpoint) {
			return rows[i].ID, err
		}
	}
	return "", err
}

// createEndpoint collects the errors of all fields before it returns, so that a client can
// correct everything at once. The limit of endpoints is checked in the transaction: two
// requests at once cannot exceed it.
func (s *Service) createEndpoint(ctx context.Context, account string, r fieldmark.EndpointRequest,
	seen Listed) (fieldmark.NewEndpoint, error) {
	var none fieldmark.NewEndpoint
	bad := checkEndpoint(&r)
	bad = append(bad, s.checkURL(ctx, account, "/url", r.URL)...)
	bad = append(bad, s.checkTokenURL(ctx, account, r.Auth)...)
	bad = append(bad, checkSettings(&r.EndpointSettings)...)
	if r.Signing == "" {
		r.Signing = fieldmark.SigningV1
	}
	missing, err := requireBrands(ctx, s.store.ClaimReader, account, &r)
	if err != nil {
		return none, err
	}
	bad = append(bad, missing...)
	secret, complaint := chooseSecret(r.Signing, r.Secret)
	if err := validation.Errors(append(bad, complaint...)).Err(); err != nil {
		return none, err
	}
	now := time.Now()
	row := store.Endpoint{Endpoint: fieldmark.Endpoint{
		ID: fieldmark.NewID(fieldmark.PrefixWebhook, now), Account: account, URL: r.URL, Events: r.Events,
		Description: r.Description, State: fieldmark.EndpointEnabled, CreatedAt: fieldmark.At(now),
	}, ChangedAt: now}
	if r.Paused {
		row.State, row.StateReason = fieldmark.EndpointPaused, reasonPaused
	}
	s.sealSecret(&row, secret)
	if err := s.sealSettings(&row, r.EndpointSettings); err != nil {
		return none, err
	}
	if r.TTLSeconds > 0 {
		ends := fieldmark.At(now.Add(time.Duration(r.TTLSeconds) * time.Second))
		row.ExpiresAt = &ends
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		unchanged := validation.IsNewest(ctx, seen.Newest,
			func(ctx context.Context) (string, error) { return seen.newest(ctx, tx, now) })
		if err := errors.Join(unchanged, access.RequireOwner(ctx, tx, account)); err != nil {
			return err
		}
		var err error
		if row.Brands, err = watched(ctx, tx, r.Brands); err != nil {
			return err
		}
		if err := checkAccount(ctx, tx, &row, now); err != nil {
			return err
		}
		if err := tx.AddEndpoint(ctx, &row); err != nil {
			return err
		}
		if err := tx.SetWatches(ctx, row.ID, row.Brands); err != nil {
			return err
		}
		return s.auditEndpoint(ctx, tx, "webhook.created", nil, &row)
	})
	if err != nil {
		return none, fmt.Errorf("create an endpoint: %w", err)
	}
	return s.newEndpoint(&row, secret)
}

func (s *Service) newEndpoint(row *store.Endpoint, secret string) (fieldmark.NewEndpoint, error) {
	e, err := s.shown(row)
	return fieldmark.NewEndpoint{Endpoint: e, Secret: secret}, err
}

// checkURL validates a URL to which messages or token requests are sent. It resolves the host
// name, so it must not run in a transaction.
func (s *Service) checkURL(ctx context.Context, account, pointer, address string) []fieldmark.FieldError {
	if err := httpOf(s, account).CheckURL(ctx, address); err != nil {
		return []fieldmark.FieldError{{Pointer: pointer, Code: "format", Detail: fieldmark.AsError(err).Detail}}
	}
	return nil
}

// checkEndpoint returns the errors of an endpoint request that need no network, and
// sets defaults.
func checkEndpoint(r *fieldmark.EndpointRequest) []fieldmark.FieldError {
	var bad validation.Errors
	if r.URL == "" || len(r.URL) > maxEndpointURL {
		bad.Add("/url", "range", fmt.Sprintf("must have 1 to %d bytes", maxEndpointURL))
	}
	switch {
	case len(r.Events) > 0:
	case len(r.Brands) > 0:
		r.Events = []string{string(fieldmark.EventScoreChanged)}
	default:
		r.Events = []string{fieldmark.AllMissionEvents}
	}
	bad = append(bad, checkBrands(r)...)
	bad = append(bad, checkFilter(r)...)
	if len(r.Events) > maxEventPatterns {
		bad.Add("/events", "too_long", fmt.Sprintf("at most %d patterns", maxEventPatterns))
	}
	for i, p := range r.Events {
		if !event.ValidPattern(p) {
			bad.Add(fmt.Sprintf("/events/%d", i), "enum", "must be an event type, a kind and .*, or *")
		} else if slices.Contains(r.Events[:i], p) {
			bad.Add(fmt.Sprintf("/events/%d", i), "conflict", "is there twice")
		}
	}
	if utf8.RuneCountInString(r.Description) > maxEndpointNote || !validation.IsText(r.Description, false) {
		bad.Add("/description", "too_long", fmt.Sprintf("must have at most %d characters and no control characters",
			maxEndpointNote))
	}
	if r.TTLSeconds < 0 || time.Duration(r.TTLSeconds)*time.Second > maxEndpointTTL {
		bad.Add("/ttlSeconds", "range", fmt.Sprintf("must be 0 to %d", maxEndpointTTL/time.Second))
	}
	return bad
}

// health decodes the health of an endpoint.
func health(e *store.Endpoint) (*Health, error) {
	h := &Health{}
	if err := json.Unmarshal([]byte(e.Health), h); err != nil {
		return nil, fmt.Errorf("read the health of endpoint %s: %w", e.ID, err)
	}
	return h, nil
}

// putHealth writes the health of an endpoint, and beside it the two times by which the database
// finds endpoints to review and to probe.
func putHealth(ctx context.Context, tx *store.Tx, id string, h *Health) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write the health of endpoint %s: %w", id, err)
	}
	return tx.PutEndpointHealth(ctx, id, string(b), h.FailingSince.Std(), h.ProbeAt.Std())
}

// shown returns an endpoint as its account may see it.
func (s *Service) shown(row *store.Endpoint) (fieldmark.Endpoint, error) {
	if row.Health == "" {
		row.Health = "{}"
	}
	h, err := health(row)
	if err != nil {
		return fieldmark.Endpoint{}, err
	}
	e := row.Endpoint
	e.EndpointSettings = withDefaults(e.EndpointSettings)
	e.Signing = signingOf(row)
	for _, old := range row.PreviousSecrets {
		if old.Until.Std().After(time.Now()) {
			e.OldSecretsUntil = append(e.OldSecretsUntil, old.Until)
		}
	}
	given := func(t fieldmark.Time) *fieldmark.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	e.Circuit = h.Circuit
	if e.Circuit == "" {
		e.Circuit = fieldmark.CircuitClosed
	}
	e.ProbeAt, e.FailingSince, e.LastSuccessAt = given(h.ProbeAt), given(h.FailingSince), given(h.LastSuccess)
	return e, nil
}

// auditEndpoint appends a change of an endpoint to the audit log, without its
// secrets.
func (s *Service) auditEndpoint(ctx context.Context, tx *store.Tx, act string, before, after *store.Endpoint) error {
	var states [2]any
	id := ""
	for i, row := range []*store.Endpoint{before, after} {
		if row == nil {
			continue
		}
		e, err := s.shown(row)
		if err != nil {
			return err
		}
		e.EndpointSettings = e.EndpointSettings.Shown()
		states[i], id = e, row.ID
	}
	return s.auditLog.Append(ctx, tx, act, id, states[0], states[1])
}

// errNoEndpoint is the same for an unknown id and for an id of another account.
func errNoEndpoint() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such endpoint")
}

// of returns errNoEndpoint if an account must not see an endpoint; account "" sees
// all.
func of(e *store.Endpoint, account string, err error) error {
	if errors.Is(err, store.ErrNotFound) || err == nil && account != "" && e.Account != account {
		return errNoEndpoint()
	}
	return err
}

// Endpoint returns an endpoint of an account; account "" means any.
func (s *Service) Endpoint(ctx context.Context, account, id string) (fieldmark.Endpoint, error) {
	row, err := s.store.Endpoint(ctx, id, time.Now())
	if err := of(&row, account, err); err != nil {
		return fieldmark.Endpoint{}, err
	}
	return s.shown(&row)
}

// Endpoints lists the endpoints of an account that are neither deleted nor expired, the newest
// first; account "" means all live ones. There are at most MaxEndpointList in the answer.
func (s *Service) Endpoints(ctx context.Context, account string) ([]fieldmark.Endpoint, error) {
	return s.Stats.Endpoints(ctx, account, false)
}

// Endpoints is Service.Endpoints; with worlds and account "" it lists those of test worlds.
func (s *Stats) Endpoints(ctx context.Context, account string, worlds bool) ([]fieldmark.Endpoint, error) {
	rows, err := s.service.store.Endpoints(ctx, account, worlds, time.Now(), MaxEndpointList)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Endpoint, len(rows))
	for i := range rows {
		if list[i], err = s.service.shown(&rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// changeEndpoint reads an endpoint of an account, applies change, writes it and appends an
// audit log entry, all in one transaction. It increases ChangedAt, which makes every process
// replace its cached Sender.
func (s *Service) changeEndpoint(ctx context.Context, act, account, id string,
	change func(ctx context.Context, tx *store.Tx, row *store.Endpoint) error) (row store.Endpoint, err error) {

	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		row, err = tx.Endpoint(ctx, id, now)
		if err := of(&row, account, err); err != nil {
			return err
		}
		before := row
		if row.ChangedAt = now; !now.After(before.ChangedAt) { // it identifies a cached sender
			row.ChangedAt = before.ChangedAt.Add(time.Microsecond)
		}
		if err := change(ctx, tx, &row); err != nil {
			return err
		}
		if err := tx.PutEndpoint(ctx, &row); err != nil {
			return err
		}
		return s.auditEndpoint(ctx, tx, act, &before, &row)
	})
	if err != nil {
		return row, fmt.Errorf("change endpoint %s: %w", id, err)
	}
	return row, nil
}

// PatchEndpoint changes the fields of an endpoint that p sets; account "" means any. It applies
// p to the endpoint as the transaction reads it, so that concurrent patches do not undo each
// other. Enabling an endpoint first discards or expedites what was held, as the patch says; if
// that is interrupted, the endpoint is still paused and the request can be repeated.
func (s *Service) PatchEndpoint(ctx context.Context, account, id string, p fieldmark.EndpointPatch) (fieldmark.Endpoint,
	error) {
	var none fieldmark.Endpoint
	before, err := s.store.Endpoint(ctx, id, time.Now())
	if err := of(&before, account, err); err != nil {
		return none, err
	}
	// Host names are resolved here and not in the transaction, which all writers
	// wait for.
	r, bad, err := s.patched(&before, &p)
	if err != nil {
		return none, err
	}
	if p.Events != nil || p.Brands != nil {
		missing, err := requireBrands(ctx, s.store.ClaimReader, before.Account, &r)
		if err != nil {
			return none, err
		}
		bad = append(bad, missing...)
	}
	if p.URL != nil {
		bad = append(bad, s.checkURL(ctx, before.Account, "/url", *p.URL)...)
	}
	bad = append(bad, s.checkTokenURL(ctx, before.Account, p.Auth)...)
	if err := validation.Errors(bad).Err(); err != nil {
		return none, err
	}
	enable := p.State != nil && *p.State == fieldmark.EndpointEnabled
	if enable && before.State != fieldmark.EndpointEnabled {
		if err := s.discardHeld(ctx, id, p.Held); err != nil {
			return none, err
		}
		if err := s.expediteHeld(ctx, id); err != nil {
			return none, err
		}
	}
	row, err := s.changeEndpoint(ctx, "webhook.updated", account, id,
		func(ctx context.Context, tx *store.Tx, row *store.Endpoint) error {
			return s.applyPatch(ctx, tx, row, &p)
		})
	if err != nil {
		return none, err
	}
	return s.shown(&row)
}

// applyPatch applies a patch to an endpoint. The addresses in the patch are validated already.
// Leaving ordering by mission releases the messages that wait for others.
func (s *Service) applyPatch(ctx context.Context, tx *store.Tx, row *store.Endpoint, p *fieldmark.EndpointPatch) error {
	r, bad, err := s.patched(row, p)
	if err = errors.Join(err, validation.Errors(bad).Err()); err != nil {
		return err
	}
	if row.Ordering == fieldmark.OrderingMission && r.Ordering != fieldmark.OrderingMission {
		if err := tx.ReleaseWaiting(ctx, row.ID, row.ChangedAt); err != nil {
			return err
		}
	}
	row.URL, row.Events, row.Description = r.URL, r.Events, r.Description
	if err := s.sealSettings(row, r.EndpointSettings); err != nil {
		return err
	}
	if p.Brands != nil {
		if row.Brands, err = watched(ctx, tx, r.Brands); err != nil {
			return err
		}
		if err := checkAccount(ctx, tx, row, row.ChangedAt); err != nil {
			return err
		}
		if err := tx.SetWatches(ctx, row.ID, row.Brands); err != nil {
			return err
		}
	}
	if p.State == nil || *p.State == row.State && p.Reason == "" {
		return nil
	}
	return setState(ctx, tx, row, *p.State, p.Reason)
}

// patched returns the request that a patch turns the endpoint into, and its errors
// that need no network.
func (s *Service) patched(e *store.Endpoint, p *fieldmark.EndpointPatch) (r fieldmark.EndpointRequest,
	bad validation.Errors, err error) {
	if r.EndpointSettings, err = s.settings(e); err != nil {
		return r, nil, err
	}
	r.URL, r.Events, r.Description = e.URL, e.Events, e.Description
	if p.Events != nil {
		r.Events = p.Events
	}
	set(&r.URL, p.URL)
	set(&r.Description, p.Description)
	set(&r.Payload, p.Payload)
	set(&r.Format, p.Format)
	set(&r.Ordering, p.Ordering)
	set(&r.RateLimit, p.RateLimit)
	set(&r.MaxInFlight, p.MaxInFlight)
	set(&r.Brands, p.Brands)
	if p.Filter != nil {
		if r.Filter = p.Filter; len(p.Filter.Labels) == 0 {
			r.Filter = nil
		}
	}
	if p.ScoreThreshold != nil {
		r.ScoreThreshold = p.ScoreThreshold
	}
	bad = checkCredentialsForHost(e, &r, p)
	set(&r.Headers, p.Headers)
	if p.Retry != nil {
		r.Retry = p.Retry
	}
	if p.Auth != nil {
		r.Auth = p.Auth
	}
	bad = append(bad, checkEndpoint(&r)...)
	bad = append(bad, checkSettings(&r.EndpointSettings)...)
	if !validation.IsText(p.Reason, false) || utf8.RuneCountInString(p.Reason) > maxEndpointNote {
		bad.Add("/reason", "too_long", fmt.Sprintf("must have at most %d characters and no control characters",
			maxEndpointNote))
	}
	return r, bad, nil
}

// checkCredentialsForHost returns the credentials that a patch must set, because it
// changes the host of the URL: credentials are write-only, so they must not be sent
// to a host for which they were not set.
func checkCredentialsForHost(e *store.Endpoint, r *fieldmark.EndpointRequest,
	p *fieldmark.EndpointPatch) (bad validation.Errors) {
	if p.URL == nil || sameHost(e.URL, *p.URL) {
		return nil
	}
	if len(r.Headers) > 0 && p.Headers == nil {
		bad.Add("/headers", "required",
			"the new url is on another host, which must not get the header fields of the old one: give them again, "+
				"or {} for none")
	}
	if r.Auth != nil && p.Auth == nil {
		bad.Add("/auth", "required",
			`the new url is on another host, which must not get the credentials of the old one: give them again, or `+
				`{"kind":"none"}`)
	}
	return bad
}

// sameHost reports whether two addresses have the same scheme, host and port (the
// origin of RFC 6454). An address that cannot be parsed has no origin.
func sameHost(a, b string) bool {
	of := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
	}
	return of(a) != "" && of(a) == of(b)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// DeleteEndpoint deletes an endpoint of an account and fails the deliveries that are due to it.
// Account "" means any. A message in flight may still arrive.
func (s *Service) DeleteEndpoint(ctx context.Context, account, id string) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Endpoint(ctx, id, time.Now())
		if err := of(&row, account, err); err != nil {
			return err
		}
		if _, err = tx.DeleteEndpoint(ctx, id, reasonDeleted, time.Now()); err != nil {
			return err
		}
		return s.auditEndpoint(ctx, tx, "webhook.deleted", &row, nil)
	})
	if err != nil {
		return fmt.Errorf("delete an endpoint: %w", err)
	}
	return nil
}

// endExpired deletes endpoints that have expired. Their deliveries fail as if the owner had
// deleted them.
func (s *maintainer) endExpired(ctx context.Context) error {
	now := time.Now()
	ids, err := s.store.ExpiredEndpoints(ctx, now, maxExpiredAtOnce)
	if err != nil || len(ids) == 0 {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, id := range ids {
			if _, err := tx.DeleteEndpoint(ctx, id, reasonExpired, now); err != nil {
				return err
			}
		}
		return nil
	})
}
