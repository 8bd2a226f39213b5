package cdn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// probeEvery is the pause between two probes; each is longer or shorter by up to half, so that origins
	// and installations do not probe in step.
	probeEvery = 30 * time.Second
	// probeAfter is when a CDN is probed after a purge: CDNs promise a second.
	probeAfter = time.Second
	// probeGap is the least pause between two probes, also while everything changes, and the pause after a
	// probe that failed.
	probeGap = 5 * time.Second
	// probeAgain is when a badge that differs is compared again. It may have changed between the two
	// requests, and until the second purge a CDN may have the badge of an edge that was behind.
	probeAgain = secondAfter + time.Second
	// verifiedAfter is how long probes and purges must succeed until a CDN is verified.
	verifiedAfter = 10 * time.Minute
	// failedAfter is how long they must fail until it no longer is: one lost packet ends nothing.
	failedAfter = 2 * time.Minute
	// unlistedFor is how long caches purged by address may serve what a change of the module made wrong: the
	// lifetime of badges, and a minute for what was on its way.
	unlistedFor = 6 * time.Minute
	// saveProbe is how often successes are stored while the state stays the same; well below verifiedFor.
	saveProbe = 20 * time.Second
	// maxProbe bounds the document of an edge, in bytes.
	maxProbe = 4 << 10
	// probeBrands bounds the brands among which a public one is looked for.
	probeBrands = 100
)

var (
	// errNoBadge is the error of a brand that has no badge any more.
	errNoBadge = errors.New("the brand has no badge")
	// errNoBrand is the error of an installation without a public brand: nothing is verified, and nothing failed.
	errNoBrand = errors.New("there is no public brand to probe with")
	// errUnlisted is the error of a difference that a cache purged by address may show for a while.
	errUnlisted = errors.New("a new module changes this cache within five minutes")
)

// prober compares what a CDN serves through its public name with what an edge serves.
//
// The origin reads the latter from an edge, through the same CDN: an address that no cache may store. It
// needs no address of an edge then, uses the route and the certificate that readers use, and computes no
// badge itself, which would be a second implementation to be wrong. A random number in the request, which the
// edge repeats, exposes a CDN that stores such responses regardless.
type prober struct {
	s    *Service
	row  store.CDN // the probe is as it was stored last
	base string    // Public without a slash at its end
	once bool      // do not wait to compare a badge that differs again
	wake chan struct{}

	mu       sync.Mutex
	brand    fieldmark.Slug // of the last purge
	unlisted time.Time      // of the last purge of more than a cache by address can list
}

func newProber(s *Service, row store.CDN) *prober {
	return &prober{s: s, row: row, base: strings.TrimSuffix(row.Settings.Public, "/"), wake: make(chan struct{}, 1),
		brand: row.Probe.Brand}
}

// purged makes the prober compare a badge of what was purged. One of them is enough: what makes a CDN miss purges,
// such as a wrong service or a cache that is not in its settings, does so for every key.
func (p *prober) purged(keys []string) {
	p.mu.Lock()
	for _, key := range keys {
		if slug, ok := strings.CutPrefix(key, "brand-"); ok {
			p.brand = fieldmark.Slug(slug)
		}
	}
	if slices.Contains(keys, string(fieldmark.TagModule)) || slices.Contains(keys, fieldmark.KeyAll) {
		p.unlisted = time.Now()
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // it will probe, and then sees this purge
	}
}

// run probes until ctx ends or another worker has the CDN.
func (p *prober) run(ctx context.Context) error {
	if p.base == "" {
		return nil
	}
	// The first probe follows a start at once: the state may be older than the process.
	for {
		brand, err := p.probe(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.save(ctx, brand, err); err != nil {
			return err
		}
		if err := timeout.Sleep(ctx, probeGap); err != nil {
			return err
		}
		if p.row.Probe.FailingSince != nil {
			// Soon again, so that one failure between successes is short.
			continue
		}
		timer := time.NewTimer(jittered(probeEvery) - probeGap)
		wait := time.Duration(0)
		select {
		case <-timer.C:
		case <-p.wake:
			wait = probeAfter
		case <-ctx.Done():
		}
		timer.Stop()
		if err := timeout.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// jittered returns a random duration from half of d to one and a half.
func jittered(d time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(d)))
	if err != nil {
		return d
	}
	return d/2 + time.Duration(n.Int64())
}

// probe compares a badge, preferably that of the brand that was purged last.
func (p *prober) probe(ctx context.Context) (fieldmark.Slug, error) {
	p.mu.Lock()
	brand := p.brand
	p.mu.Unlock()
	err := errNoBadge
	if brand != "" {
		err = p.compare(ctx, brand)
	}
	if !errors.Is(err, errNoBadge) {
		return brand, err
	}
	// It was removed, renamed or is not public.
	all, err := p.s.cfg.Store.Brands(ctx, "", probeBrands)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(b store.Brand) bool { return b.Public && b.Slug != brand })
	switch {
	case i < 0 && slices.ContainsFunc(all, func(b store.Brand) bool { return b.Public }):
		return brand, errNoBadge // the only public brand
	case i < 0:
		return "", errNoBrand
	}
	return all[i].Slug, p.compare(ctx, all[i].Slug)
}

// compare returns nil if the CDN serves the badge of a brand that an edge serves.
func (p *prober) compare(ctx context.Context, brand fieldmark.Slug) error {
	for again := false; ; again = true {
		// First the edge: what changes afterwards is newer at the CDN, and is equal when compared again.
		want, err := p.fromEdge(ctx, brand)
		if err != nil {
			return err
		}
		got, err := p.fromCDN(ctx, brand)
		if err != nil || got == want {
			return err
		}
		if again || p.once {
			break
		}
		if err := timeout.Sleep(ctx, probeAgain); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.row.Settings.Kind.ByAddress() && time.Since(p.unlisted) < unlistedFor {
		return errUnlisted
	}
	return fmt.Errorf("the badge of %s is outdated there", brand)
}

// fromEdge returns the entity tag of a badge that an edge serves now.
func (p *prober) fromEdge(ctx context.Context, brand fieldmark.Slug) (string, error) {
	nonce := rand.Text()
	resp, body, err := p.get(ctx, fieldmark.PathBadge+string(brand)+fieldmark.BadgeProbe+"?nonce="+nonce)
	if err != nil {
		return "", err
	}
	switch status := resp.StatusCode; {
	case status == http.StatusNotFound || status == http.StatusMovedPermanently || status == http.StatusGone:
		return "", errNoBadge
	case status != http.StatusOK:
		return "", fmt.Errorf("an edge behind it answered a probe with status %d", status)
	}
	var edge fieldmark.BadgeProbeResult
	if err := json.Unmarshal(body, &edge); err != nil || edge.ETag == "" {
		return "", errors.New("its response to a probe is not that of an edge")
	}
	if edge.Nonce != nonce {
		return "", errors.New("it stores responses with Cache-Control: no-store, or ignores the query")
	}
	return edge.ETag, nil
}

// fromCDN returns the entity tag of a badge that the CDN serves to everyone.
func (p *prober) fromCDN(ctx context.Context, brand fieldmark.Slug) (string, error) {
	resp, _, err := p.get(ctx, fieldmark.PathBadge+string(brand))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answered the request for a badge with status %d", resp.StatusCode)
	}
	tag := strings.TrimPrefix(resp.Header.Get("Etag"), "W/") // a CDN that compresses makes it weak
	if tag == "" {
		return "", errors.New("it removes ETag from responses")
	}
	return tag, nil
}

// get requests an address of the site through the CDN. It does not follow redirects: what another host serves says
// nothing about this CDN. A response of more than maxProbe bytes is cut, and is not the JSON of an edge then.
func (p *prober) get(ctx context.Context, path string) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return nil, nil, err
	}
	resp, err := p.s.cfg.HTTP.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("probe: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProbe))
	if err != nil {
		return nil, nil, fmt.Errorf("probe: %w", err)
	}
	return resp, body, nil
}

// save stores the result of a probe, if it matters, and emits an event if the lifetime for CDNs changes.
func (p *prober) save(ctx context.Context, brand fieldmark.Slug, result error) error {
	// Read again: the follower writes to the same row whether purges fail, which is a part of the judgement.
	c, err := p.s.cfg.Store.CDN(ctx, p.row.Name)
	if err != nil || c.Version != p.row.Version {
		return errors.Join(err, errEnded)
	}
	now := time.Now()
	old, next := c.Probe, nextProbe(&c, brand, result, now)
	p.row.Probe = next
	// A state that stays the same is written once in saveProbe, not with each probe.
	same := next.State == old.State && next.Error == old.Error && next.Brand == old.Brand &&
		(next.CleanSince == nil) == (old.CleanSince == nil) && old.At != nil && now.Sub(old.At.Std()) < saveProbe
	if same {
		return nil
	}
	err = p.s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// And in the transaction: the follower may have stored just now that the token is refused.
		if c, err = tx.CDN(ctx, p.row.Name); errors.Is(err, store.ErrNotFound) {
			return errEnded
		} else if err != nil {
			return err
		}
		next = nextProbe(&c, brand, result, now)
		c.Probe = next
		return changing(ctx, tx, func() error {
			held, err := tx.PutProbe(ctx, &c, p.s.cfg.Jobs.Worker(), now)
			if err == nil && !held {
				err = errEnded
			}
			return err
		})
	})
	p.row.Probe = next
	if err == nil && next.State != old.State {
		log := p.s.cfg.Log.Info
		if next.State == fieldmark.CDNFailed {
			log = p.s.cfg.Log.Warn
		}
		log("probes of a CDN have another state", slog.String("cdn", c.Name), slog.String("state", string(next.State)),
			slog.String("error", next.Error))
	}
	return err
}

// nextProbe returns the state of the probes of c after the result of one. Purges that fail count as probes
// that fail since then: what cannot be purged will be outdated.
func nextProbe(c *store.CDN, brand fieldmark.Slug, result error, now time.Time) store.CDNProbe {
	p, at := c.Probe, fieldmark.At(now)
	p.At, p.Error = &at, ""
	if brand != "" {
		p.Brand = brand
	}
	set := func(state fieldmark.CDNProbeState) {
		if p.State != state {
			p.State, p.Since = state, at
		}
	}
	// An installation without a brand is not an issue, but nothing is known of its CDN.
	switch {
	case errors.Is(result, errNoBrand):
		p.Error, p.CleanSince, p.FailingSince = result.Error(), nil, nil
		set(fieldmark.CDNPending)
		return p
	case errors.Is(result, errUnlisted):
		// Neither a success nor a failure: the cache does what its kind can.
		p.Error = result.Error()
		return p
	case result == nil && c.Status.FailingSince == nil:
		p.VerifiedAt, p.FailingSince = &at, nil
		if p.CleanSince == nil {
			p.CleanSince = &at
		}
		switch clean := now.Sub(p.CleanSince.Std()); {
		case clean >= verifiedAfter:
			set(fieldmark.CDNVerified)
		case p.State != fieldmark.CDNVerified:
			set(fieldmark.CDNPending)
		}
		return p
	}
	p.Error = c.Status.LastError
	if result != nil {
		p.Error = result.Error()
	}
	p.Error = strings.ToValidUTF8(p.Error[:min(len(p.Error), maxReported)], "")
	if p.FailingSince == nil {
		p.FailingSince = &at
	}
	since := *p.FailingSince
	if purges := c.Status.FailingSince; purges != nil && purges.Std().Before(since.Std()) {
		since = *purges
	}
	// One failure starts the ten minutes over, but does not end a verified state: that would shorten the lifetime
	// of everything that is filled meanwhile.
	p.CleanSince = nil
	// A refused token does not pass as an outage does, so it ends the state at once.
	if c.State == fieldmark.CDNRefused || now.Sub(since.Std()) >= failedAfter {
		set(fieldmark.CDNFailed)
	}
	return p
}
