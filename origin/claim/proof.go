package claim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The places of proofs.
const (
	dnsLabel = "_fieldmark-challenge."
	filePath = "/.well-known/fieldmark-verify.txt"
	metaName = "fieldmark-verify"
)

// Limits of one check. An untrusted site decides how slow it is and how much it sends.
const (
	MaxResolvers   = 5                               // more do not make a majority harder to forge
	lookupTimeout  = 5 * time.Second * timeout.Scale // of one question to one DNS server
	fetchTimeout   = 8 * time.Second * timeout.Scale // of a file or page with its redirects: a person waits for it
	maxFile        = 4 << 10                         // bytes: the line has 90
	maxPage        = 512 << 10                       // bytes: the head is at the start
	maxHops        = 4                               // http to https, to www, and one of the site's own
	maxNames       = 5                               // names of a DNS record: of the host and of its parents
	maxRecords     = 100                             // TXT records of one name
	parallelParses = 2                               // pages at once: bounds the memory that hostile pages take
)

// Lookup queries one DNS server for the TXT records of a name, as net.Resolver does.
type Lookup interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// Fetcher sends a request that cannot reach internal networks. It does not follow redirects.
type Fetcher interface {
	Do(req *http.Request) (*http.Response, error)
}

// Prover looks for proofs. It is immutable and safe for concurrent use.
// It sends no more than a few requests for each claim; policy.go decides when.
type Prover struct {
	dns   []Lookup
	http  Fetcher
	parse chan struct{}
}

// NewProver returns a Prover that queries the given DNS servers, the system's if the list is empty.
// Several servers that the operator chose protect against one that is poisoned or lies.
func NewProver(dns []Lookup, http Fetcher) *Prover {
	if len(dns) == 0 {
		dns = []Lookup{net.DefaultResolver}
	}
	return &Prover{dns: dns, http: http, parse: make(chan struct{}, parallelParses)}
}

// ParseResolvers parses addresses of DNS servers; the port is 53 where none is named.
// Names are refused: resolving them would need a DNS server that is trusted already.
func ParseResolvers(list []string) ([]Lookup, error) {
	if len(list) > MaxResolvers {
		return nil, fmt.Errorf("%d resolvers, at most %d", len(list), MaxResolvers)
	}
	var resolvers []Lookup
	for _, text := range list {
		server, err := netip.ParseAddrPort(text)
		if addr, aerr := netip.ParseAddr(text); aerr == nil {
			server, err = netip.AddrPortFrom(addr, 53), nil
		}
		if err != nil || server.Port() == 0 {
			return nil, fmt.Errorf("resolver %q is not an IP address with an optional port", text)
		}
		// PreferGo, because only the resolver of Go uses Dial.
		resolvers = append(resolvers, &net.Resolver{PreferGo: true,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, server.String())
			}})
	}
	return resolvers, nil
}

// target is what a claim proves control of.
type target struct {
	id, token string
	ignored   []string // other tokens that the claim has or had
	url       *url.URL
}

// newTarget returns the target of a claim with a token: the claim's, or that of an objection.
func newTarget(id, token, address string) (target, error) {
	u, err := url.Parse(address)
	if err != nil {
		return target{}, fmt.Errorf("parse the URL of claim %s: %w", id, err)
	}
	return target{id: id, token: token, url: u}, nil
}

// line is the text of a DNS record and of a file. The version comes first, so that other
// records at the name are not mistaken for one.
func (t target) line() string { return "v=fm1; claim=" + t.id + "; token=" + t.token }

// wholeHost reports whether the brand is a host and not a page of one, whose other pages may
// have other owners.
// A meta element proves a page; a file and a DNS record prove all pages of a host.
func (t target) wholeHost() bool { return t.url.Path == "" || t.url.Path == "/" }

func (t target) host() string { return hostOf(t.url) }

func hostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// names are the names of a DNS record: those of the host and of its parents down to the
// registrable domain, at most maxNames, the host and the shortest ones.
// The limit keeps a host of many labels from causing many lookups.
func (t target) names() []string {
	host, domain := t.host(), registrable(t.url)
	var zones []string
	for zone := host; ; {
		zones = append(zones, zone)
		_, parent, ok := strings.Cut(zone, ".")
		if zone == domain || !ok || len(parent) < len(domain) {
			break
		}
		zone = parent
	}
	// The owner may control the zone of the domain but not a delegated one, so the shortest
	// names are kept.
	if len(zones) > maxNames {
		zones = append(zones[:1], zones[len(zones)-maxNames+1:]...)
	}
	for i := range zones {
		zones[i] = dnsLabel + zones[i]
	}
	return zones
}

// file is the URL of the file. Names below localhost never leave the machine (RFC 6761), so
// that they need no certificate.
// An untrusted network could change an answer over plain HTTP, so the file must come over TLS.
func (t target) file() *url.URL {
	u := &url.URL{Scheme: "https", Host: t.url.Host, Path: filePath}
	if isLocal(t.url) {
		u.Scheme = t.url.Scheme
	} else if t.url.Port() == "80" {
		u.Host = t.url.Hostname()
	}
	return u
}

func isLocal(u *url.URL) bool {
	host := hostOf(u)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// proofs are the ways to prove the claim, the strongest first.
// A claim needs one of them; a stronger one wins a contest.
func (t target) proofs() []fieldmark.ClaimProof {
	list := []fieldmark.ClaimProof{{Method: fieldmark.ClaimDNS, Names: t.names(), Value: t.line()}}
	if t.wholeHost() {
		list = append(list, fieldmark.ClaimProof{Method: fieldmark.ClaimFile, Names: []string{t.file().String()},
			Value: t.line()})
	}
	return append(list, fieldmark.ClaimProof{Method: fieldmark.ClaimMeta, Names: []string{t.url.String()},
		Value: `<meta name="` + metaName + `" content="` + t.token + `">`})
}

// registrable returns the registrable domain of a URL, "" if its host has none. Private
// suffixes, such as those of hosting providers, count as public: their customers are strangers.
// They are in the Public Suffix List.
func registrable(u *url.URL) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(hostOf(u))
	if err != nil {
		return ""
	}
	return domain
}

// finding is what a check found.
// tried is shown to the owner, who must see what was looked for and what was wrong.
type finding struct {
	tried     []fieldmark.ClaimAttempt
	proven    []store.ProvenMethod
	answered  bool // false: a server did not answer, so that nothing is known
	resolvers int
}

// best returns the strongest method that was found.
func (f *finding) best() (best fieldmark.ClaimMethod) {
	for _, p := range f.proven {
		if p.Method.Strength() > best.Strength() {
			best = p.Method
		}
	}
	return best
}

// result is what looking for one proof found.
type result struct {
	found    bool
	answered bool // meaningful if it was not found
	detail   string
	domain   string
}

// check looks for the proofs of the given methods, of all if methods is nil.
// The methods are tried at the same time, because a person waits.
func (p *Prover) check(ctx context.Context, t target, methods []fieldmark.ClaimMethod) finding {
	checks := map[fieldmark.ClaimMethod]func(context.Context, target) result{
		fieldmark.ClaimDNS: p.checkDNS, fieldmark.ClaimFile: p.checkFile, fieldmark.ClaimMeta: p.checkMeta}
	proofs := slices.DeleteFunc(t.proofs(), func(proof fieldmark.ClaimProof) bool {
		return methods != nil && !slices.Contains(methods, proof.Method)
	})
	results := make([]result, len(proofs))
	var wg sync.WaitGroup
	for i, proof := range proofs {
		// Each writes to its own element, so no lock is needed.
		wg.Go(func() { results[i] = checks[proof.Method](ctx, t) })
	}
	wg.Wait()
	f := finding{answered: true, resolvers: len(p.dns)}
	for i, r := range results {
		f.tried = append(f.tried, fieldmark.ClaimAttempt{Method: proofs[i].Method, Found: r.found, Detail: r.detail})
		if r.found {
			f.proven = append(f.proven, store.ProvenMethod{Method: proofs[i].Method, Domain: r.domain})
		}
		// One method that did not answer makes an absence uncertain.
		f.answered = f.answered && (r.found || r.answered)
	}
	return f
}

// answer is the result of one DNS server for one name.
// other is a token of the claim that is not the one looked for, and not known to be old.
type answer struct{ shown, other, silent bool }

// checkDNS queries every DNS server for every name. A majority of the servers must show the token
// at one name, and none may show another token of the same claim: it would be that of a claim
// that was taken apart, or of a server that lies. A server that fails has not answered.
func (p *Prover) checkDNS(ctx context.Context, t target) result {
	// All questions are sent at once: one after the other, five names at five servers would
	// take longer than a request may.
	names := t.names()
	answers := make([][]answer, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		answers[i] = make([]answer, len(p.dns))
		for j, server := range p.dns {
			wg.Go(func() { answers[i][j] = queryTXT(ctx, server, name, t) })
		}
	}
	wg.Wait()
	silent := false
	for i, list := range answers {
		shown, unknown := 0, 0
		for _, a := range list {
			// One server is enough: an honest one shows no other token.
			if a.other {
				return result{answered: true, detail: "a DNS server has another token of this claim at " + names[i]}
			}
			if a.shown {
				shown++
			}
			if a.silent {
				unknown++
			}
		}
		// With the silent servers the record could have a majority, so its absence is not
		// known.
		silent = silent || 2*(shown+unknown) > len(list)
		if 2*shown > len(list) {
			return result{found: true, detail: "found at " + names[i], domain: strings.TrimPrefix(names[i], dnsLabel)}
		}
		// Some servers have it: the record is new or lost, and the detail says what to wait
		// for.
		if shown > 0 {
			return result{answered: !silent, detail: fmt.Sprintf(
				"only %d of %d DNS servers have the record at %s; new records can take an hour to become visible",
				shown, len(list), names[i])}
		}
	}
	if silent {
		return result{detail: "the DNS servers did not answer"}
	}
	return result{answered: true, detail: "no TXT record with the token at " + strings.Join(names, " or ")}
}

// queryTXT looks for the token in the TXT records of one name at one server.
func queryTXT(ctx context.Context, server Lookup, name string, t target) answer {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	records, err := server.LookupTXT(ctx, name+".") // the dot keeps search domains out
	if err != nil {
		// NXDOMAIN and an empty answer are answers; timeouts and SERVFAIL are silence.
		dns, ok := errors.AsType[*net.DNSError](err)
		return answer{silent: !ok || !dns.IsNotFound}
	}
	var a answer
	for _, record := range records[:min(len(records), maxRecords)] {
		shown, other := t.matches(record)
		a.shown, a.other = a.shown || shown, a.other || other
	}
	return a
}

// matches reports whether a record or a line has the token of the claim, or another one.
// Unknown members are ignored, so later versions can add some.
func (t target) matches(text string) (shown, other bool) {
	var version, claim, token string
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "v":
			version = value
		case "claim":
			claim = value
		case "token":
			token = value
		}
	}
	// Records of other claims, and those of other products at the same name, are neither.
	if version != "fm1" || claim != t.id {
		return false, false
	}
	return token == t.token, token != t.token && !slices.Contains(t.ignored, token)
}

// checkFile reads the file of the host. Robots.txt does not apply: the owner requested this one
// request.
func (p *Prover) checkFile(ctx context.Context, t target) result {
	domain := registrable(t.url)
	// Redirects may lead to other hosts of the domain, such as www, and never away from TLS.
	body, _, r := p.fetch(ctx, t.file(), maxFile+1, func(next *url.URL) bool {
		return registrable(next) == domain && (next.Scheme == "https" || isLocal(next))
	})
	switch {
	case r.detail != "":
		return r
	case len(body) > maxFile:
		return result{answered: true, detail: fmt.Sprintf("the file has more than %d bytes", maxFile)}
	}
	var shown, other bool
	// A file may have lines of several claims, such as of a contest. Editors on Windows add a
	// byte order mark.
	for line := range strings.Lines(string(bytes.TrimPrefix(body, []byte("\uFEFF")))) {
		s, o := t.matches(strings.TrimSpace(line))
		shown, other = shown || s, other || o
	}
	switch {
	// A file with another token is refused even if it also has the right one: someone else can
	// write to it.
	case other:
		return result{answered: true, detail: "the file has another token of this claim"}
	case shown:
		return result{found: true, detail: "found in " + t.file().String(), domain: t.host()}
	}
	return result{answered: true, detail: "the file does not have the line"}
}

// checkMeta reads the page of the brand. Of a brand that is a page of a host, it is that very
// page.
func (p *Prover) checkMeta(ctx context.Context, t target) result {
	domain := registrable(t.url)
	// A page that redirects to another page of the host proves nothing about itself.
	body, kind, r := p.fetch(ctx, t.url, maxPage, func(next *url.URL) bool {
		return registrable(next) == domain && (next.Scheme == "https" || t.url.Scheme == "http") &&
			(t.wholeHost() || hostOf(next) == t.host() &&
				strings.TrimSuffix(next.Path, "/") == strings.TrimSuffix(t.url.Path, "/"))
	})
	if r.detail != "" {
		return r
	}
	// A text or an image may contain what looks like the element.
	if !strings.Contains(strings.ToLower(kind), "html") {
		return result{answered: true, detail: "the page is not HTML"}
	}
	// Waiting for a place keeps memory bounded; the time of the check goes on.
	p.parse <- struct{}{}
	contents, err := audit.HeadMeta(ctx, body, metaName)
	<-p.parse
	// Scripts, comments and the body are not read: users of a site can write there.
	switch {
	case err != nil:
		return result{answered: ctx.Err() == nil, detail: "the page cannot be parsed"}
	case slices.Contains(contents, t.token):
		return result{found: true, detail: "found in the head of " + t.url.String()}
	case len(contents) > 0:
		return result{answered: true, detail: "the element in the head has another token"}
	}
	return result{answered: true, detail: "no such meta tag in the head of " + t.url.String()}
}

// fetch reads at most limit bytes of a document and returns its media type. It follows
// redirects that allow permits. Result has a detail if there is no document.
// A detail is a sentence for the owner. It names no content of the response, which is a
// stranger's.
func (p *Prover) fetch(ctx context.Context, from *url.URL, limit int64,
	allow func(next *url.URL) bool) ([]byte, string, result) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	at := from
	for range maxHops {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, "", result{answered: true, detail: "the address is not valid"}
		}
		// Each hop is requested on its own, so the address of each is checked by the guarded client.
		resp, err := p.http.Do(req)
		if errors.Is(err, safehttp.ErrNotAllowed) {
			return nil, "", result{answered: true, detail: "the address of the site is not allowed"}
		}
		if err != nil {
			return nil, "", result{detail: at.String() + " did not answer, or without a valid certificate"}
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
		_ = resp.Body.Close()
		next, redirect := resp.Location()
		switch {
		case resp.StatusCode == http.StatusOK && err == nil:
			return body, resp.Header.Get("Content-Type"), result{}
		// The site is overloaded or broken, so the proof may exist.
		case resp.StatusCode == http.StatusOK || resp.StatusCode >= 500 ||
			resp.StatusCode == http.StatusTooManyRequests:
			return nil, "", result{detail: fmt.Sprintf("%s answered %d without a document", at, resp.StatusCode)}
		case resp.StatusCode < 300 || resp.StatusCode >= 400 || redirect != nil:
			return nil, "", result{answered: true, detail: fmt.Sprintf("%s answered %d", at, resp.StatusCode)}
		// An open redirect of the site must not lead to a proof elsewhere.
		case !allow(next):
			return nil, "", result{answered: true, detail: "redirects to a place that does not speak for the site"}
		}
		at = next
	}
	return nil, "", result{answered: true, detail: "too many redirects"}
}
