package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/accesslog"
	"github.com/fieldmark/fieldmark/edge/compress"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/edge/eventlog"
	"github.com/fieldmark/fieldmark/edge/lifetime"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/edge/spool"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/client"
)

// Limits and timeouts of an edge.
const (
	// DefaultCacheBytes bounds the memory of cached responses, in bytes.
	DefaultCacheBytes = 256 << 20
	// fillTimeout bounds how long a client waits for an answer that has to be
	// derived first.
	fillTimeout = 5 * time.Second * timeout.Scale
	// drainTimeout bounds how long a stopping node finishes what it began.
	drainTimeout = 10 * time.Second
	// redirectDrain bounds the same for redirects and answers to challenges, which need a
	// request to the origin at most.
	redirectDrain = time.Second

	serverName = "fieldmark" // as answers name it
)

// Config holds the settings of a node.
type Config struct {
	Origin    *client.Client    // of the origin's internal interface; required
	OriginURL *url.URL          // where everything else is passed on to; required
	Transport http.RoundTripper // carries what is passed on; nil: a pooled transport
	NodeToken string            // authenticates the node, and the client addresses it sends, to the origin
	BaseURL   string            // the public address of this node, without a slash at the end; required

	Profile    rfc9111.Profile // how what is passed on is cached
	PassBytes  int64           // bound of proxied responses in memory; 0: proxy.DefaultBytes
	PassFields []string        // further request fields an origin may see of what is cached
	PassShared bool            // share them in Redis; needs RedisURL, a NodeToken and the strict profile
	// Site carries requests for hosts other than that of BaseURL to a site that is not
	// Fieldmark's; nil: the edge serves no other site. Without a NodeToken every request is
	// passed on, to the site or the origin, and the edge has no routes.
	Site http.RoundTripper
	// IgnoreCookies and CookielessPaths select the cookies that do not prevent the caching
	// of passed-on requests (see proxy.Config).
	IgnoreCookies, CookielessPaths []string
	// bound of a request's body that is passed on to a site; 0: DefaultPassBody, below 0: none
	PassBody int64

	CacheBytes   int64         // bound of cached answers in memory; 0: DefaultCacheBytes
	RedisURL     string        // of the tier shared with other nodes (see cache.RedisConfig); empty: none
	redisTimeout time.Duration // of a call of it; 0: the default of cache.RedisConfig, longer in a test
	// LogURL is of the Redis with the stream that mirrors the event log, best of the nearest replica (see
	// eventlog.Config); empty: the origin is polled
	LogURL    string
	HideAdmin bool // refuse /admin on this node
	// MCP is which tools of the Model Context Protocol are offered; empty: mcp.Read. MCPOrigins
	// are the origins of web pages, beside BaseURL, whose scripts may call them.
	MCP        mcp.Mode
	MCPOrigins []string

	ModuleKeys []fieldmark.ModuleKey // only modules one of them vouches for may score here; none: all may
	// run modules of the class wasi-null too, which may hold the process up for two seconds
	WASI    bool
	BuiltIn []fieldmark.Digest // modules that came with the program and need no signature

	// TrustedNetworks are the networks of the operator's proxies: the client address that a
	// proxy reports is used, and its connections are not counted.
	TrustedNetworks []netip.Prefix
	// ProxyProtocol are the networks of proxies whose connections begin with a header of the
	// PROXY protocol (see conn.Config).
	ProxyProtocol []netip.Prefix
	NetworkConns  int           // most connections of one client network; 0: conn.DefaultNetworkConns
	Inflight      int           // most requests answered at once; 0: DefaultInflight
	RateLimit     RateLimit     // where the requests of clients to the APIs are counted
	NetworkQuota  int           // requests to the origin a minute that one client network may cause; 0: any number
	H2C           bool          // accept HTTP/2 without TLS from clients that begin with its preface
	DrainDelay    time.Duration // how long a stopping node reports that it stops before it closes its listeners
	Version       string        // of the program, reported to the origin
	Name          string        // host and port, reported to the origin; a restarted node has it again
	ServerTiming  bool          // send Server-Timing to every client

	Certificates *certs.Store  // of the listeners; nil: they are not TLS
	HTTP3        *HTTP3Config  // nil: HTTP/3 is not served
	HSTS         time.Duration // max-age of Strict-Transport-Security on every answer; 0: a year, on pages alone
	// CertificatesFromOrigin makes the edge use the certificates that its origin ordered, and
	// answer the challenges of CAs. TLSState is a folder that keeps them for a start while
	// the origin is unreachable; empty: none.
	CertificatesFromOrigin bool
	TLSState               string
	// RedirectListener is a plain listener beside TLS: it answers the challenges of CAs and
	// redirects to https; nil: none.
	RedirectListener net.Listener

	// Spool stores requests that create missions while no origin can be reached; nil: they are refused. The
	// caller closes it after Run. It needs a NodeToken.
	Spool *spool.Spool

	Log       *slog.Logger
	AccessLog *accesslog.Log // gets every request, and must be run by the caller; nil: none
	Tracer    *trace.Tracer  // records fills and proxied requests; nil: no tracing
}

// Edge is one node.
type Edge struct {
	cfg        Config
	cache      *cache.Cache
	redis      *cache.Redis // nil: none
	routes     routes
	conns      *conn.Server
	redirects  *conn.Server      // of the RedirectListener
	compressor *compress.Worker  // of own responses
	transport  http.RoundTripper // carries what is passed on
	meters     *meters
	log        *slog.Logger

	id            string // of this process
	startedAt     fieldmark.Time
	drainTime     time.Duration // drainTimeout, or longer in a test
	redisDown     atomic.Int64  // since when Redis does not answer, in microseconds; 0: it answers
	modules       *modules
	rankings      ranking.Store
	replica       replicaState
	originVersion originVersion
	lifetime      lifetime.State // for CDNs
	replicator    *replicator
	streaming     atomic.Bool // whether the last page of the log came from the stream
	certificates  *certs.Store
	loader        *certificateLoader // nil: certificates do not come from the origin

	clients    clients
	requestLog requestLog
	hosts      *siteHosts
	auth       *originAuth
	responder  *responder
	limiter    *requestLimiter
	fetcher    *fetcher
	scorer     *scorer
	developers *developer.Pages
	pages      *pageWriter
	badges     *badgeEndpoints
	brands     *brandEndpoints
	proxied    *proxyEndpoints

	inFlight atomic.Int64
	leaving  atomic.Bool // the node is stopping
	// What ends the header of a fast path response: Alt-Svc over TLS, and the rest.
	packedAltSvc, packedEnd []byte
}

// New checks cfg and builds a node that has not started anything.
func New(cfg Config) (*Edge, error) {
	var missing []error
	if cfg.Origin == nil {
		missing = append(missing, errors.New("a client of the origin is required"))
	}
	if cfg.OriginURL == nil {
		missing = append(missing, errors.New("the origin's address is required"))
	}
	if cfg.BaseURL == "" {
		missing = append(missing, errors.New("a public base address is required"))
	}
	if cfg.HTTP3 != nil && cfg.Certificates == nil {
		missing = append(missing, errors.New("HTTP/3 needs certificates"))
	}
	if err := errors.Join(missing...); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = DefaultCacheBytes
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Inflight = cmp.Or(cfg.Inflight, DefaultInflight)
	cfg.MCP = cmp.Or(cfg.MCP, mcp.Read)
	cfg.PassBody = cmp.Or(cfg.PassBody, DefaultPassBody)
	if cfg.RateLimit == RateLimitShared && cfg.RedisURL == "" {
		return nil, errors.New("edge: rates can be shared through Redis alone, and none is named")
	}
	if cfg.PassShared && (cfg.RedisURL == "" || cfg.NodeToken == "" || cfg.Profile != rfc9111.Strict) {
		return nil, errors.New("edge: shared proxied responses need a Redis, a node token and the strict profile")
	}
	e := &Edge{cfg: cfg, log: cfg.Log, meters: newMeters(), compressor: compress.NewWorker(),
		id: fieldmark.NewID(fieldmark.PrefixNode, time.Now()), startedAt: fieldmark.At(time.Now()),
		drainTime: drainTimeout, replica: replicaState{backlog: newBacklog()}}
	e.meters.watch(e)
	var err error
	if cfg.RedisURL != "" {
		if e.redis, err = cache.NewRedis(cache.RedisConfig{URL: cfg.RedisURL, Secret: []byte(cfg.NodeToken),
			Timeout: cfg.redisTimeout, Events: e.meters.redisEvents()}); err != nil {
			return nil, fmt.Errorf("edge: %w", err)
		}
	}
	e.replicator = &replicator{edge: e}
	if e.replicator.source, err = eventlog.New(eventlog.Config{URL: cfg.LogURL, Poll: e.replicator.pollEvents,
		Log: e.log, OnGap: e.meters.logGaps.Inc, OnFallback: e.meters.logFallback, OnSource: e.streaming.Store,
	}); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	if e.cache, err = cache.New(cache.Config{Bytes: cfg.CacheBytes, FillTimeout: fillTimeout, Redis: e.redis,
		Events: e.meters.cacheEvents(), Prepare: addKeys}); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	if e.modules, err = newModules(cfg, e.meters); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("edge: the public base address: %w", err)
	}
	if err := e.connect(cfg, base); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	if e.certificates, err = newCertificates(&cfg); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	if cfg.CertificatesFromOrigin {
		e.loader = newCertificateLoader(e, cfg.TLSState)
	}
	e.routes = e.newRoutes()
	e.packedEnd, e.packedAltSvc = packEnd(cfg.HSTS), []byte(packedAltSvc+cfg.altSvc())
	e.conns, e.redirects = conn.New(e.connConfig()), newRedirector(e, base)
	return e, nil
}

// connect makes the parts that serve requests, each with the others that it uses.
func (e *Edge) connect(cfg Config, base *url.URL) error {
	pages, err := site.New()
	if err != nil {
		return err
	}
	e.clients = clients{trusted: cfg.TrustedNetworks}
	e.requestLog = requestLog{log: cfg.AccessLog, clients: e.clients}
	e.hosts = &siteHosts{own: base.Hostname(), origin: cfg.OriginURL.Host, proxyOnly: cfg.NodeToken == "",
		hasSite: cfg.Site != nil, passBody: cfg.PassBody}
	e.auth = &originAuth{token: cfg.NodeToken, spools: cfg.Spool != nil, proven: &e.replica.originProven}
	e.responder = &responder{baseURL: cfg.BaseURL, log: e.log, meters: e.meters, compressor: e.compressor}
	e.limiter = &requestLimiter{responder: e.responder, clients: e.clients,
		limits: newRateLimiter(cfg.RateLimit, cfg.NetworkQuota, e.redis)}
	e.fetcher = &fetcher{cache: e.cache, clients: e.clients, limits: e.limiter.limits, meters: e.meters,
		fetches: newSlots(maxFetches, maxFetches), tracer: cfg.Tracer}
	e.scorer = &scorer{origin: cfg.Origin, cache: e.cache, fetcher: e.fetcher, modules: e.modules,
		rankings: &e.rankings, replica: &e.replica, meters: e.meters, log: e.log}
	e.pages = &pageWriter{responder: e.responder, fetcher: e.fetcher, site: pages}
	if e.developers, err = developer.New(pages, developer.Config{BaseURL: cfg.BaseURL, HideAdmin: cfg.HideAdmin,
		Limits: quotaLimits(cfg.RateLimit, cfg.NetworkQuota), Tools: documentedTools()}); err != nil {
		return err
	}
	e.badges = &badgeEndpoints{responder: e.responder, cache: e.cache, fetcher: e.fetcher, scorer: e.scorer,
		rankings: &e.rankings, lifetime: &e.lifetime, replica: &e.replica, clients: e.clients, limiter: e.limiter,
		renderers: badgeRenderers{png: newPNGs()}}
	e.brands = &brandEndpoints{pageWriter: e.pages, scorer: e.scorer, origin: cfg.Origin, rankings: &e.rankings}
	if e.transport, err = e.newTransport(cfg); err != nil {
		return err
	}
	e.proxied, err = e.newProxyEndpoints(cfg)
	return err
}

// connConfig returns the configuration of the connection server.
func (e *Edge) connConfig() conn.Config {
	cfg := conn.Config{
		Name:             serverName,
		Handler:          e.serve,
		ErrorHandler:     e.badRequest,
		HeaderReceived:   e.hosts.refuseLargeBody,
		ExpectHandler:    e.checkExpect,
		FastPath:         e.appendCached,
		FastPathPrefix:   fieldmark.PathBadge,
		FastResponse:     e.respondCached,
		ConstantFields:   constantFields(e.cfg.HSTS),
		AltSvc:           e.cfg.altSvc(),
		H2C:              e.cfg.H2C,
		Network:          e.clients.network,
		NetworkConns:     e.cfg.NetworkConns,
		Inflight:         e.cfg.Inflight,
		ProxyProtocol:    e.cfg.ProxyProtocol,
		OnReject:         e.meters.rejected.Inc,
		OnBadProxyHeader: e.onBadProxyHeader(),
		OnFastPath:       func(took time.Duration) { e.meters.fastPath.Update(took.Seconds()) },
		OnHandshake:      e.meters.handshake,
		OnStreamReset:    e.meters.streamReset,
		OnGoAway:         e.meters.goAway,
		OnCalm:           e.meters.countCalmed,
		Log:              e.log,
		AccessLog:        e.cfg.AccessLog,
	}
	if e.cfg.Site != nil { // the host decides whose badge it is
		cfg.FastPath, cfg.FastResponse = nil, nil
	}
	return cfg
}

// Run serves requests on the listeners, replicates the origin's event log, and blocks until
// ctx ends and all its work is finished. It must be called at most once.
func (e *Edge) Run(ctx context.Context, listeners ...net.Listener) error {
	defer e.close()
	g, ctx := errgroup.WithContext(ctx)
	stopHTTP3, err := e.serveHTTP3(ctx, g)
	if err != nil {
		return err
	}
	if e.cfg.NodeToken != "" {
		g.Go(func() error { return e.replicate(ctx) })
		g.Go(func() error { return e.runRanker(ctx) })
		g.Go(func() error { return e.runReports(ctx) })
		if e.cfg.Spool != nil {
			g.Go(func() error { return e.cfg.Spool.Run(ctx, e.cfg.Origin.SendIntake) })
		}
	}
	g.Go(func() error { return e.conns.Run(ctx) })
	g.Go(func() error { return e.certificates.Run(ctx) })
	if e.loader != nil {
		g.Go(func() error { return e.loader.run(ctx) })
	}
	g.Go(func() error { e.compressor.Run(ctx.Done()); return nil })
	accept := func(s *conn.Server, ln net.Listener) {
		g.Go(func() error {
			if err := s.Serve(ln); ctx.Err() == nil {
				return fmt.Errorf("serve %s: %w", ln.Addr(), err)
			}
			return nil
		})
	}
	for _, ln := range listeners {
		accept(e.conns, ln)
	}
	if ln := e.cfg.RedirectListener; ln != nil {
		accept(e.redirects, ln)
		listeners = append(listeners, ln)
	}
	g.Go(func() error {
		<-ctx.Done()
		e.leaving.Store(true)
		time.Sleep(e.cfg.DrainDelay) // balancers stop sending requests while they are still answered
		for _, ln := range listeners {
			_ = ln.Close() // a second listener is closed whatever the first returns
		}
		closeHTTP3 := stopHTTP3()
		defer closeHTTP3()
		if cut := e.redirects.Drain(redirectDrain) + e.conns.Drain(e.drainTime); cut > 0 {
			e.log.Warn("drained for long enough; what was still open is cut off", "after", e.drainTime, "connections",
				cut)
		}
		return nil
	})
	return g.Wait()
}

// Handler returns what answers a request, for a server the caller runs.
func (e *Edge) Handler() fasthttp.RequestHandler { return e.serve }

// Ready returns why the node is not ready for requests, or nil: it has no module or no
// ranking yet, or it is stopping. A node without a token only passes requests on, for
// which it is always ready.
func (e *Edge) Ready() error {
	if e.leaving.Load() {
		return errors.New("this node is stopping")
	}
	if e.cfg.NodeToken == "" {
		return nil
	}
	// Names without a certificate do not matter here: a node that got no requests could not
	// answer the challenge for the first one.
	if e.loader != nil && !e.loader.loaded.Load() {
		return errors.New("certificates are not loaded yet")
	}
	if e.modules.require() != nil {
		return errors.New("no scoring module is loaded")
	}
	if e.rankings.Current() == nil {
		return errors.New("brands are not ranked yet")
	}
	return nil
}

// close releases the resources that New acquired.
func (e *Edge) close() {
	e.proxied.proxy.Close()
	e.cache.Close()
	if e.redis != nil {
		if err := e.redis.Close(); err != nil {
			e.log.Error("close the connections to redis", "err", err)
		}
	}
	if err := e.replicator.source.Close(); err != nil {
		e.log.Error("close the connections to the stream", "err", err)
	}
	if err := e.modules.close(context.Background()); err != nil {
		e.log.Error("close the scoring modules", "err", err)
	}
}

// newRequestID returns the id for a request that arrived without one.
func newRequestID() string { return fieldmark.NewID(fieldmark.PrefixRequest, time.Now()) }
