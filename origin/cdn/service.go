package cdn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Config is what a Service needs. All fields are required.
type Config struct {
	Store    *store.Store
	Events   *event.Log
	Cipher   keyring.Cipher
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	HTTP     *safehttp.Client // reaches public addresses, and the networks that the operator opened for CDNs
}

// Service manages CDNs and purges them. Its methods may be called from any goroutine.
type Service struct {
	cfg Config

	lifetimeTurn chan struct{} // holds one while the lifetime is read

	mu            sync.Mutex
	lifetime      fieldmark.CDNLifetime   // as it was read last
	lifetimeAt    time.Time               // when that read began
	lifetimeReads int                     // that have begun
	lifetimeTimes [lifetimeRate]time.Time // when the last of them began
	lifetimeErr   error                   // of the last one
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service { return &Service{cfg: cfg, lifetimeTurn: make(chan struct{}, 1)} }

// Run purges CDNs until ctx ends. Any number of processes may run it on one database; each CDN has one
// worker. All have a place at once, because a CDN that hangs must not delay the purges of another.
func (s *Service) Run(ctx context.Context) error {
	return s.cfg.Jobs.Work(ctx, store.TopicCDNs, fieldmark.MaxCDNs, s.claim)
}

// notFound makes a CDN that is not stored an error with a code.
func notFound(err error) error { return store.NotFound(err, "there is no such CDN") }

// List returns all CDNs by name.
func (s *Service) List(ctx context.Context) ([]fieldmark.CDN, error) {
	rows, err := s.cfg.Store.CDNs(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.CDN, len(rows))
	for i := range rows {
		if list[i], err = s.public(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// public returns what may be shown of a CDN.
// The token is left out: it can be set, but not read. The lag is the age of the oldest event that the
// CDN was not purged of, in seconds.
func (s *Service) public(ctx context.Context, c *store.CDN) (fieldmark.CDN, error) {
	public := fieldmark.CDN{Name: c.Name, CDNSettings: c.Settings, HasToken: c.Token != "", State: c.State,
		Event: c.At.Number, LastError: c.Status.LastError, FailingSince: c.Status.FailingSince,
		PurgedAt: c.Status.PurgedAt, EmptiedAt: c.Status.EmptiedAt, EmptiedFor: c.Status.EmptiedFor,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
	if c.Probe.State != "" {
		public.Probe = &c.Probe.CDNProbe
	}
	oldest, err := s.cfg.Store.EventAfter(ctx, c.At.Number)
	if !oldest.IsZero() {
		public.LagSeconds = max(int(time.Since(oldest).Seconds()), 0)
	}
	return public, err
}

// Put creates a CDN, which is purged of what happens from then on, or replaces the settings of one. A
// token that is left out is kept while the requests go to the same place: another address must not be
// sent a token to a server that its administrator did not choose.
func (s *Service) Put(ctx context.Context, name string, r fieldmark.CDNRequest) (fieldmark.CDN, error) {
	return s.PutAfter(ctx, nil, name, r)
}

// Version identifies the settings of a CDN, for forms.
func Version(c *fieldmark.CDN) string { return c.UpdatedAt.String() }

// PutAfter is Put for an HTML form, which has every setting: seen is the version of the CDN when the form was opened,
// "" if it is the form for a new one, and nil is no condition. A CDN that was changed or created since is
// CodeVersionMismatch, and one that was deleted CodeNotFound.
func (s *Service) PutAfter(ctx context.Context, seen *string, name string, r fieldmark.CDNRequest) (fieldmark.CDN,
	error) {
	bad := validate(name, &r)
	for i, u := range r.URLs {
		// The client checks addresses again at each connection: a name can resolve to another one later.
		if err := s.cfg.HTTP.CheckURL(ctx, strings.ReplaceAll(u, "{keys}", "all")); err != nil {
			bad.Add(fmt.Sprintf("/urls/%d", i), "address", fieldmark.AsError(err).Detail)
		}
	}
	if r.Public != "" {
		if err := s.cfg.HTTP.CheckURL(ctx, r.Public); err != nil {
			bad.Add("/public", "address", fieldmark.AsError(err).Detail)
		}
	}
	if err := bad.Err(); err != nil {
		return fieldmark.CDN{}, err
	}
	// A new CDN has nothing in its cache from before, so it starts at the head of the log. The head is read before
	// the transaction: an event in between is purged needlessly, never missed.
	log, err := s.cfg.Store.LogStatus(ctx, 0)
	if err != nil {
		return fieldmark.CDN{}, err
	}
	var row store.CDN
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := fieldmark.At(time.Now())
		old, err := tx.CDN(ctx, name)
		created := errors.Is(err, store.ErrNotFound)
		if err != nil && !created {
			return err
		}
		version := ""
		if !created {
			version = Version(&fieldmark.CDN{UpdatedAt: old.UpdatedAt})
		} else if seen != nil && *seen != "" {
			return notFound(err)
		}
		if err := validation.IsCurrent(seen, version); err != nil {
			return err
		}
		row = store.CDN{Name: name, Settings: r.CDNSettings, State: fieldmark.CDNActive, Version: old.Version + 1,
			Log: log.Name, At: fieldmark.EventCursor{Number: log.Head}, CreatedAt: now, UpdatedAt: now}
		action, before := "cdn.created", any(nil)
		if !created {
			// The position stays, so no event is missed. A failure ends, because the new settings may be
			// right.
			row.At, row.Log, row.CreatedAt, action, before = old.At, old.Log, old.CreatedAt, "cdn.updated", old.Settings
			row.Status = store.CDNStatus{PurgedAt: old.Status.PurgedAt, Confirmed: old.Status.Confirmed}
		} else if err := requireRoom(ctx, tx); err != nil {
			return err
		}
		if row.Token, err = s.sealToken(&old, &row, r.Token); err != nil {
			return err
		}
		if row.Settings.Public != "" { // other settings have to be verified again
			row.Probe.State, row.Probe.Since = fieldmark.CDNPending, now
		}
		if err := changing(ctx, tx, func() error { return tx.PutCDN(ctx, &row) }); err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(ctx, tx, action, name, before, row.Settings)
	})
	if err != nil {
		return fieldmark.CDN{}, fmt.Errorf("put CDN %s: %w", name, err)
	}
	return s.public(ctx, &row)
}

// requireRoom returns an error if there are MaxCDNs CDNs.
// It runs in the transaction, so two requests at once cannot exceed the limit.
func requireRoom(ctx context.Context, tx *store.Tx) error {
	all, err := tx.CDNs(ctx, time.Now())
	if err == nil && len(all) >= fieldmark.MaxCDNs {
		return fieldmark.Errorf(fieldmark.CodeTooMany, "there are at most %d CDNs", fieldmark.MaxCDNs)
	}
	return err
}

// sealToken returns the sealed token of a CDN: a new one, or the stored one.
func (s *Service) sealToken(old, row *store.CDN, token string) (string, error) {
	if token != "" {
		return s.cfg.Cipher.Seal(row.Name, token), nil
	}
	// An administrator who changes the address must not receive the token there.
	same := old.Settings.Kind == row.Settings.Kind && slices.Equal(old.Settings.URLs, row.Settings.URLs)
	if old.Token != "" && !same {
		return "", validation.Error("/token", "required", "must be given again, because kind or urls changed")
	}
	if old.Token == "" && row.Settings.Kind != fieldmark.CDNTemplate {
		return "", validation.Error("/token", "required", "must be given")
	}
	return old.Token, nil
}

// Delete deletes a CDN. It is no longer purged: what it serves from then on may be outdated for its whole lifetime.
// Its follower notices within idleWait and ends.
func (s *Service) Delete(ctx context.Context, name string) error {
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := tx.CDN(ctx, name)
		if err != nil {
			return notFound(err)
		}
		if err := changing(ctx, tx, func() error { return tx.DeleteCDN(ctx, name) }); err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(ctx, tx, "cdn.deleted", name, old.Settings, nil)
	})
	if err != nil {
		return fmt.Errorf("delete CDN %s: %w", name, err)
	}
	return nil
}

// testKey is a key that no response has.
const testKey = "fieldmark-test"

// Test purges a key that no response has, and probes the CDN if it has a public name. A success makes a CDN
// active that had refused the token. The probe changes no state: one success is not enough.
func (s *Service) Test(ctx context.Context, name string) (fieldmark.CDNResult, error) {
	result, err := s.try(ctx, name, "cdn.tested", testKey)
	if err != nil {
		return result, err
	}
	row, err := s.cfg.Store.CDN(ctx, name)
	if err != nil || row.Settings.Public == "" {
		return result, err
	}
	p := newProber(s, row)
	p.once = true
	brand, err := p.probe(ctx)
	at, probe := fieldmark.At(time.Now()), row.Probe.CDNProbe
	probe.At, probe.Brand, probe.Error = &at, brand, ""
	if err != nil {
		probe.Error = err.Error()
	}
	result.Probe = &probe
	return result, nil
}

// Purge purges everything from a CDN now. It is CodeCDNByAddress for a kind that is purged by address.
// The error of the CDN is in the result; other errors are about the database or the name.
// The position does not move: the events after it are purged in their order as before.
func (s *Service) Purge(ctx context.Context, name string) (fieldmark.CDNResult, error) {
	row, err := s.cfg.Store.CDN(ctx, name)
	if err != nil {
		return fieldmark.CDNResult{}, notFound(err)
	}
	if kind := row.Settings.Kind; kind.ByAddress() {
		return fieldmark.CDNResult{}, fieldmark.Errorf(fieldmark.CodeCDNByAddress,
			"a cache of kind %s is purged of exact addresses and cannot be purged of everything", kind)
	}
	return s.try(ctx, name, "cdn.purged", fieldmark.KeyAll)
}

// try sends one purge outside of a transaction, which may run twice, and then stores its result.
func (s *Service) try(ctx context.Context, name, action, key string) (result fieldmark.CDNResult, err error) {
	row, err := s.cfg.Store.CDN(ctx, name)
	if err != nil {
		return result, notFound(err)
	}
	t, err := s.target(&row)
	if err != nil {
		return result, err
	}
	start := time.Now()
	if err := s.purge(ctx, t, []string{key}); err != nil {
		result.Error = err.Error()
	}
	result.OK, result.TookMs = result.Error == "", time.Since(start).Milliseconds()
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now, err := tx.CDN(ctx, name)
		if err != nil {
			return notFound(err)
		}
		// Only if the settings are those that were tried. The new version makes a worker follow it
		// again.
		if result.OK && now.State == fieldmark.CDNRefused && now.Version == row.Version {
			now.State, now.Version = fieldmark.CDNActive, now.Version+1
			now.Status.LastError, now.Status.FailingSince = "", nil
			if err := tx.PutCDN(ctx, &now); err != nil {
				return err
			}
		}
		return s.cfg.AuditLog.Append(ctx, tx, action, name, nil, result)
	})
	if err != nil {
		return result, fmt.Errorf("try CDN %s: %w", name, err)
	}
	return result, nil
}

// validate returns everything that is wrong with a CDN.
func validate(name string, r *fieldmark.CDNRequest) (bad validation.Errors) {
	if !fieldmark.ValidAccount(name) { // the same characters, because both appear in commands and addresses
		bad.Add("/name", "pattern", "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	if !slices.Contains(fieldmark.CDNKinds(), r.Kind) {
		bad.Add("/kind", "enum", "must be varnish, varnish_ban, fastly, cloudflare, template, trafficserver or nginx")
		return bad
	}
	validateAddress(&bad, r)
	validateProbe(&bad, r)
	// The token is a header field: a line break would add another one.
	if len(r.Token) > fieldmark.MaxCDNToken || !httpguts.ValidHeaderFieldValue(r.Token) {
		bad.Add("/token", "pattern", "must be one line of at most 1024 bytes")
	}
	if r.Kind != fieldmark.CDNTemplate {
		if r.Method != "" || len(r.Headers) > 0 || r.Body != "" {
			bad.Add("/kind", "conflict", "method, headers and body belong to the kind template")
		}
		return bad
	}
	// GET is not among them: a purge that a prefetch could repeat is a mistake.
	methods := []string{"", http.MethodPost, http.MethodPut, http.MethodDelete, "PURGE"}
	if !slices.Contains(methods, r.Method) {
		bad.Add("/method", "enum", "must be POST, PUT, DELETE or PURGE")
	}
	if len(r.Body) > fieldmark.MaxCDNTemplate {
		bad.Add("/body", "length", "must have at most 4096 bytes")
	}
	if len(r.Headers) > fieldmark.MaxCDNHeaders {
		bad.Add("/headers", "length", "must have at most 10 members")
	}
	for _, field := range slices.Sorted(maps.Keys(r.Headers)) {
		if !httpguts.ValidHeaderFieldName(field) || !httpguts.ValidHeaderFieldValue(r.Headers[field]) ||
			len(field)+len(r.Headers[field]) > fieldmark.MaxCDNTemplate || strings.EqualFold(field, "Host") {
			// Another Host would reach a site at the same address that the check of urls has not seen.
			bad.Add("/headers", "pattern", "must be names and values of header fields other than Host")
		}
	}
	// Without the keys a request could purge nothing, or everything each time.
	whole := r.Body + strings.Join(slices.Collect(maps.Values(r.Headers)), " ") + strings.Join(r.URLs, " ")
	if !strings.Contains(whole, "{keys}") && !strings.Contains(whole, "{keys_json}") {
		bad.Add("/body", "required", "must contain {keys} or {keys_json}, or else urls or a header must")
	}
	return bad
}

// validateAddress validates where the requests go.
// Fastly and Cloudflare have fixed addresses, which one in urls replaces.
func validateAddress(bad *validation.Errors, r *fieldmark.CDNRequest) {
	// Each wrong member is one error: the caller gets all of them at once.
	hosted := r.Kind == fieldmark.CDNFastly || r.Kind == fieldmark.CDNCloudflare
	switch {
	case len(r.URLs) > fieldmark.MaxCDNURLs || hosted && len(r.URLs) > 1:
		bad.Add("/urls", "length", "must have at most 20 members, or 1 of Fastly and Cloudflare")
	case !hosted && len(r.URLs) == 0:
		bad.Add("/urls", "required", "must have the address of each cache")
	}
	for i, address := range r.URLs {
		u, err := url.Parse(address)
		if err == nil && r.Kind.ByAddress() && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
			bad.Add(fmt.Sprintf("/urls/%d", i), "pattern", "must have no path: the addresses to purge are added")
		}
	}
	// The zone is a part of the path: with a slash or a dot it would name another operation of the API.
	alphanumeric := func(c rune) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	switch {
	case hosted && (r.Zone == "" || len(r.Zone) > 64 ||
		strings.ContainsFunc(r.Zone, func(c rune) bool { return !alphanumeric(c) })):
		bad.Add("/zone", "pattern", "must be the id of the service or zone, of letters and digits")
	case !hosted && r.Zone != "":
		bad.Add("/zone", "conflict", "belongs to the kinds fastly and cloudflare")
	}
	if r.Kind == fieldmark.CDNCloudflare {
		if r.Plan == "" {
			r.Plan = "free" // the slowest
		}
		if _, ok := planLimits[r.Plan]; !ok {
			bad.Add("/plan", "enum", "must be free, pro, business or enterprise")
		}
	} else if r.Plan != "" {
		bad.Add("/plan", "conflict", "belongs to the kind cloudflare")
	}
	if r.Account != "" && (r.Kind != fieldmark.CDNCloudflare || !fieldmark.ValidAccount(r.Account)) {
		bad.Add("/account", "pattern", "must be the id of an account of Cloudflare, of letters and digits")
	}
}

// validateProbe validates the public name, and the lifetime while that is verified.
func validateProbe(bad *validation.Errors, r *fieldmark.CDNRequest) {
	if r.Public != "" {
		u, err := url.Parse(r.Public)
		if err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			bad.Add("/public", "pattern", "must be the URL of the site without a path, such as https://marks.example")
		}
	}
	if r.Seconds == 0 {
		return
	}
	// When probes fail, what a CDN has already stored keeps this lifetime, hence at most a day; less than that
	// without verification would be no gain.
	if r.Seconds < fieldmark.MinCDNSeconds || r.Seconds > fieldmark.MaxCDNSeconds {
		bad.Add("/seconds", "range", "must be 300 to 86400")
	} else if r.Kind.ByAddress() {
		bad.Add("/seconds", "conflict", "belongs to kinds that are purged by key")
	}
}
