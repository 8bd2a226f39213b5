package cdn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The APIs of CDNs that have one.
const (
	fastlyURL     = "https://api.fastly.com"
	cloudflareURL = "https://api.cloudflare.com/client/v4"
)

const (
	// callTimeout bounds one request: Fastly and Cloudflare answer within a second, and a CDN that
	// hangs must not delay the purges after it for longer than an outage is noticed.
	callTimeout = 5 * time.Second * timeout.Scale
	// maxResponse bounds the response read. Cloudflare's has a few hundred bytes.
	maxResponse = 64 << 10
	// maxRetryAfter bounds the wait that a CDN sets: a wrong clock must not end purges for a day.
	maxRetryAfter = time.Hour
)

// maxKeys is how many keys one request may have: Fastly refuses more than 256 and Cloudflare more than
// 100; a header of a Varnish has at most 8 KB, of which a key takes up to 70 bytes.
var maxKeys = map[fieldmark.CDNKind]int{fieldmark.CDNFastly: 256, fieldmark.CDNCloudflare: 100,
	fieldmark.CDNVarnish: 64, fieldmark.CDNVarnishBan: 64, fieldmark.CDNTemplate: 100}

// purgedAtOnce is how many addresses are purged from one cache at the same time. A change of a brand has
// nine, and a purge takes less than a millisecond.
const purgedAtOnce = 8

// purgeField is in every response to a purge by address with the configurations in deploy/. Without it, the
// 404 of an address that is not stored would look like that of a server that purges nothing.
const purgeField = "Fieldmark-Purge"

// planLimit is a limit of Cloudflare: a bucket of calls, to which one comes back each interval.
type planLimit struct {
	interval time.Duration
	burst    int
}

// planLimits are the limits of an account by plan: 5 calls a minute on the free one, and 5, 10 and 50 a second
// on the others. Purges wait in the log meanwhile, and those that have waited share a call.
var planLimits = map[string]planLimit{"free": {12 * time.Second, 25}, "pro": {200 * time.Millisecond, 25},
	"business": {100 * time.Millisecond, 50}, "enterprise": {20 * time.Millisecond, 500}}

// errRefused is the error of a CDN that does not accept the token.
var errRefused = errors.New("the CDN refuses the token")

// limitedError is the error of a CDN that limits the rate of purges.
// It is no failure of the settings: the same purge is sent again after that time.
type limitedError struct{ after time.Duration }

func (e limitedError) Error() string { return "the CDN limits the rate of purges (status 429)" }

// target is a CDN with its token, which is in memory only while a worker purges or an administrator tests.
type target struct {
	fieldmark.CDNSettings
	token string
	hard  bool // the next purge removes responses, where it can be soft otherwise
}

// target opens the token, which the database has encrypted for the name of the CDN. A token that was
// copied to the row of another CDN cannot be opened.
func (s *Service) target(c *store.CDN) (*target, error) {
	t := &target{CDNSettings: c.Settings}
	if c.Token == "" {
		return t, nil
	}
	var err error
	if t.token, err = s.cfg.Cipher.Open(c.Name, c.Token); err != nil {
		return nil, fmt.Errorf("open the token of CDN %s: %w", c.Name, err)
	}
	return t, nil
}

// purge purges keys, in as many requests as the limits of the CDN need. KeyAll alone purges everything.
func (s *Service) purge(ctx context.Context, t *target, keys []string) error {
	if t.Kind.ByAddress() {
		return s.purgeAddresses(ctx, t, keys)
	}
	// In order: a part that fails is repeated with all parts, and a repeated purge does no harm.
	for part := range slices.Chunk(keys, maxKeys[t.Kind]) {
		if err := s.purgePart(ctx, t, part); err != nil {
			return err
		}
	}
	return nil
}

// purgeAddresses purges every address of keys from every cache.
func (s *Service) purgeAddresses(ctx context.Context, t *target, keys []string) error {
	// The first error cancels the others: the whole purge is sent again anyway.
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(purgedAtOnce)
	for _, key := range keys {
		paths := fieldmark.CDNAddresses(key)
		if key == testKey {
			// Kinds by address cannot purge a key that nothing has, but an address that no page has.
			paths = []string{"/" + testKey}
		}
		for _, path := range paths {
			for _, u := range t.URLs {
				g.Go(func() error { return s.call(ctx, t, strings.TrimSuffix(u, "/")+path, nil) })
			}
		}
	}
	return g.Wait()
}

// purgePart sends one request to each URL of the CDN. All Varnishes must accept it.
func (s *Service) purgePart(ctx context.Context, t *target, keys []string) error {
	urls := t.URLs
	switch t.Kind {
	case fieldmark.CDNFastly:
		urls = []string{strings.TrimSuffix(cmp.Or(first(t.URLs), fastlyURL), "/") + "/service/" + t.Zone + "/purge"}
	case fieldmark.CDNCloudflare:
		urls = []string{strings.TrimSuffix(cmp.Or(first(t.URLs), cloudflareURL), "/") + "/zones/" + t.Zone +
			"/purge_cache"}
		if err := s.takeCall(ctx, t); err != nil {
			return err
		}
	}
	for _, u := range urls {
		err := s.call(ctx, t, u, keys)
		// Cloudflare refuses a request as a whole, and does not name the tag.
		if _, bad := errors.AsType[unsuccessfulError](err); bad && len(keys) > 1 {
			// A single tag that fails ends this: then the account is the reason.
			if err = s.purgePart(ctx, t, keys[:len(keys)/2]); err == nil {
				err = s.purgePart(ctx, t, keys[len(keys)/2:])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeCall waits until the account at Cloudflare may make another call. Its zones share the limit, also if
// different origins purge them, so the bucket is in the database.
func (s *Service) takeCall(ctx context.Context, t *target) error {
	limit := planLimits[t.Plan]
	for {
		var wait time.Duration
		err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			wait, err = tx.TakeCDNCall(ctx, t.Plan+"/"+t.Account, time.Now(), limit.interval, limit.burst)
			return err
		})
		if err != nil || wait <= 0 {
			return err
		}
		if err := timeout.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// first returns the first element, or "" if the list is empty.
func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// call sends one purge and judges the response.
func (s *Service) call(ctx context.Context, t *target, url string, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := t.request(ctx, url, keys)
	if err != nil {
		return err
	}
	resp, err := s.cfg.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	defer resp.Body.Close()
	// The status decides before an error of the body: a refusal with a cut body is one.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w (status %d)", errRefused, status)
	case status == http.StatusTooManyRequests:
		return limitedError{retryAfter(resp.Header.Get("Retry-After"))}
	case t.Kind.ByAddress():
		return purgedAddress(resp)
	case status < 200 || status > 299:
		return fmt.Errorf("purge: the CDN answered with status %d", status)
	case err != nil:
		return fmt.Errorf("purge: read the response: %w", err)
	}
	if t.Kind == fieldmark.CDNCloudflare {
		return successOf(body)
	}
	return nil
}

// purgedAddress returns nil if an address is no longer stored: 200 means that it was, 404 that it was
// not, as 412 does of later versions of the module of nginx.
func purgedAddress(resp *http.Response) error {
	statuses := []int{http.StatusOK, http.StatusNotFound, http.StatusPreconditionFailed}
	if !slices.Contains(statuses, resp.StatusCode) {
		return fmt.Errorf("purge: the cache answered with status %d", resp.StatusCode)
	}
	if resp.Header.Get(purgeField) == "" {
		return errors.New("purge: the cache is not configured for purges: its response has no field " + purgeField)
	}
	return nil
}

// retryAfter parses the seconds of Retry-After; without them it is a second. Dates are not used by
// the APIs of CDNs.
func retryAfter(value string) time.Duration {
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 1 {
		return time.Second
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// unsuccessfulError is the error of a response of Cloudflare with status 200 that reports a failure.
type unsuccessfulError string

func (e unsuccessfulError) Error() string { return "purge: Cloudflare reports: " + string(e) }

// maxReported bounds the message of a CDN in the status, in bytes.
const maxReported = 200

// successOf returns the error in a response of Cloudflare, whose status is 200 also if nothing was purged.
func successOf(body []byte) error {
	var r struct {
		Success bool `json:"success"`
		Errors  []struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return errors.New("purge: the response of Cloudflare is not JSON")
	}
	if r.Success {
		return nil
	}
	message := "no success"
	if len(r.Errors) > 0 {
		message = fmt.Sprintf("%d %s", r.Errors[0].Code, r.Errors[0].Message)
	}
	return unsuccessfulError(strings.ToValidUTF8(message[:min(len(message), maxReported)], ""))
}

// request builds a purge of keys, or of the URL itself for a kind by address. A soft purge lets the CDN
// serve what it has while it requests from an edge. Fastly does so for the whole stale-while-revalidate of a
// response that is rarely requested, so its second purge is hard, except of everything.
func (t *target) request(ctx context.Context, url string, keys []string) (*http.Request, error) {
	method, body, fields := http.MethodPost, "", map[string]string{}
	switch t.Kind {
	case fieldmark.CDNVarnish:
		// Soft: Varnish serves what it has for a second while it fetches, and longer only without an edge.
		method = "PURGE"
		fields["xkey-softpurge"] = strings.Join(keys, " ")
		fields["Fieldmark-Purge-Token"] = t.token
	case fieldmark.CDNTrafficServer, fieldmark.CDNNginx:
		// The URL names what to purge.
		method = "PURGE"
		fields["Fieldmark-Purge-Token"] = t.token
	case fieldmark.CDNVarnishBan:
		// Keys have only a-z, 0-9 and -, so they need no quoting; the ends keep brand-a from matching brand-ab.
		method = "BAN"
		fields["Fieldmark-Ban"] = `(^|\s)(` + strings.Join(keys, "|") + `)(\s|$)`
		fields["Fieldmark-Purge-Token"] = t.token
	case fieldmark.CDNFastly:
		body = `{"surrogate_keys":` + jsonOf(keys) + `}`
		fields["Fastly-Key"], fields["Content-Type"] = t.token, "application/json"
		if !t.hard || keys[0] == fieldmark.KeyAll {
			fields["Fastly-Soft-Purge"] = "1"
		}
	case fieldmark.CDNCloudflare:
		// It has no soft purge. Everything is purged by another operation, also what has no tag.
		body = `{"tags":` + jsonOf(keys) + `}`
		if slices.Equal(keys, []string{fieldmark.KeyAll}) {
			body = `{"purge_everything":true}`
		}
		fields["Authorization"], fields["Content-Type"] = "Bearer "+t.token, "application/json"
	case fieldmark.CDNTemplate:
		fill := strings.NewReplacer("{keys}", strings.Join(keys, ","), "{keys_json}", jsonOf(keys), "{token}", t.token)
		method, body, url = cmp.Or(t.Method, method), fill.Replace(t.Body), fill.Replace(url)
		for name, value := range t.Headers {
			fields[name] = fill.Replace(value)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, errors.New("purge: the URL is not valid") // err may contain the token
	}
	for name, value := range fields {
		req.Header.Set(name, value)
	}
	return req, nil
}

// jsonOf returns keys as a JSON array.
func jsonOf(keys []string) string {
	b, err := json.Marshal(keys)
	if err != nil {
		panic("BUG: keys that cannot be encoded: " + err.Error())
	}
	return string(b)
}
