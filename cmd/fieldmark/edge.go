package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/listen"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
	"github.com/fieldmark/fieldmark/edge/spool"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/client"
)

// edgeSettings are the settings of an edge, alone or with an origin in the process.
type edgeSettings struct {
	listenerSettings `embed:""`

	Listen      string `env:"FIELDMARK_LISTEN" default:"127.0.0.1:8080" help:"Address to listen on for clients."`
	BaseURL     string `name:"base-url" env:"FIELDMARK_BASE_URL" placeholder:"URL" help:"Public URL, used in links; that of --listen if unset."`
	CacheBytes  int64  `env:"FIELDMARK_CACHE_BYTES" default:"${cache_bytes}" help:"Memory for cached answers, in bytes."`
	RedisURL    string `name:"redis-url" env:"FIELDMARK_REDIS_URL" placeholder:"URL" help:"Redis that edges share cached answers in: redis://, rediss:// or unix://; ?master_name=NAME for Sentinel, ?cluster=true for Cluster, more nodes as &addr=HOST:PORT. None if unset."`
	RedisFile   string `name:"redis-url-file" env:"FIELDMARK_REDIS_URL_FILE" type:"path" placeholder:"FILE" help:"File that holds the Redis URL, which may contain a password."`
	logSettings `embed:""`
	Profile     string   `name:"cache-profile" env:"FIELDMARK_CACHE_PROFILE" enum:"strict,rfc" default:"strict" help:"How the reverse proxy caches: strict for production, rfc for everything that RFC 9111 allows."`
	PassBytes   int64    `env:"FIELDMARK_PASS_BYTES" default:"${pass_bytes}" help:"Memory for proxied answers, in bytes."`
	PassFields  []string `env:"FIELDMARK_PASS_FIELDS" placeholder:"NAME" help:"Additional request fields that are sent to the origin for cacheable requests; each value is cached separately."`
	passSetting `embed:""`
	PassBody    int64 `env:"FIELDMARK_PASS_BODY" default:"${pass_body}" help:"Maximum size of a request body to a site, in bytes; 0 means no limit. Bodies are streamed and not held in memory."`
	WASIModules bool  `name:"wasi-modules" env:"FIELDMARK_WASI_MODULES" help:"Also run scoring modules of the class wasi-null, such as those of the Go toolchain. Compiling one may block the process for two seconds."`
	tracing     *trace.Tracer
	spool       *spool.Spool  // nil without one
	site        *siteSettings // nil without a site
	MCP         string        `name:"mcp" env:"FIELDMARK_MCP" enum:"on,read,off" default:"read" help:"Tools for agents at /mcp (Model Context Protocol): read for those of scores, on for those of missions too, off for none."`
	MCPOrigins  []string      `name:"mcp-origins" env:"FIELDMARK_MCP_ORIGINS" placeholder:"ORIGIN" help:"Origins of web pages, beside the base URL, whose scripts may call /mcp."`
	HideAdmin   bool          `env:"FIELDMARK_HIDE_ADMIN" help:"Do not serve /admin and /api/admin on this edge."`
}

// spoolSettings are where an edge stores requests that create missions while no origin can be reached: alerts,
// and missions sent with Prefer: respond-async.
type spoolSettings struct {
	Spool string `env:"FIELDMARK_SPOOL" type:"path" placeholder:"DIR" help:"Folder for requests without an origin."`
}

// open opens the spool, nil if none is set. tokens are the node tokens.
func (c *spoolSettings) open(ctx context.Context, tokens string, log *slog.Logger) (*spool.Spool, error) {
	switch {
	case c.Spool == "":
		return nil, nil
	case tokens == "":
		return nil, errUsage("--spool needs FIELDMARK_NODE_TOKEN, which encrypts what is stored")
	}
	return spool.Open(ctx, spool.Config{Dir: c.Spool, Tokens: fieldmark.SplitNodeTokens(tokens), Log: log})
}

// passSetting is whether edges share the answers of a site.
type passSetting struct {
	PassShared string `env:"FIELDMARK_PASS_SHARED" enum:"off,on" default:"off" help:"Share a site's answers in Redis."`
}

// logSettings are where an edge reads the event log, beside the origins.
type logSettings struct {
	LogURL  string `name:"log-url" env:"FIELDMARK_LOG_URL" placeholder:"URL" help:"Redis with the event log."`
	LogFile string `name:"log-url-file" env:"FIELDMARK_LOG_URL_FILE" type:"path" help:"File that holds its URL."`
}

// build creates an edge whose requests go to the origin with the fewest requests in flight.
func (c *edgeSettings) build(origins *upstream.Upstream, token string, modules *moduleSettings, ln net.Listener,
	log *slog.Logger) (*edge.Edge, error) {
	keys, err := modules.keys()
	if err != nil {
		return nil, err
	}
	token = fieldmark.SplitNodeTokens(token)[0]
	target := &url.URL{Scheme: "http", Host: anyOrigin}
	transport := origins.Internal()
	if c.tracing != nil {
		transport = &trace.Transport{Next: transport, Tracer: c.tracing, Name: "edge.ask"}
	}
	origin, err := client.New(client.Config{BaseURL: target.String(), Transport: transport, NodeToken: token})
	if err != nil {
		return nil, err
	}
	redis, err := command.ReadSecret(c.RedisURL, c.RedisFile)
	if err != nil {
		return nil, err
	}
	logURL, err := command.ReadSecret(c.LogURL, c.LogFile)
	if err != nil {
		return nil, err
	}
	if c.PassShared == "on" && (redis == "" || token == "" || c.Profile != "strict") {
		return nil, errUsage("--pass-shared on needs FIELDMARK_REDIS_URL, FIELDMARK_NODE_TOKEN " +
			"and --cache-profile strict")
	}
	profile, _ := rfc9111.ParseProfile(c.Profile) // kong accepts only the values of the enum
	cfg := edge.Config{
		Origin: origin, OriginURL: target, Transport: origins, NodeToken: token,
		Profile: profile, PassBytes: c.PassBytes, PassFields: c.PassFields,
		PassShared: c.PassShared == "on", PassBody: cmp.Or(c.PassBody, -1),
		BaseURL: c.base(ln), CacheBytes: c.CacheBytes, RedisURL: redis, LogURL: logURL, HideAdmin: c.HideAdmin,
		Log:     log,
		Version: version, Name: nodeName(ln), Tracer: c.tracing, Spool: c.spool,
		ModuleKeys: keys, WASI: c.WASIModules,
		BuiltIn: builtInDigests(), MCP: mcp.Mode(c.MCP), MCPOrigins: c.MCPOrigins,
	}
	c.apply(&cfg)
	c.site.apply(&cfg)
	return edge.New(cfg)
}

// nodeName returns the name of a node among others: it is the same after a restart on the same
// host and port.
func nodeName(ln net.Listener) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String()) // empty for a socket in the file system
	return strings.TrimSuffix(host+":"+port, ":")
}

// base returns the public URL of the edge.
func (c *edgeSettings) base(ln net.Listener) string {
	if c.BaseURL != "" {
		return strings.TrimSuffix(c.BaseURL, "/")
	}
	return c.listenURL(ln)
}

// listenURL returns the URL of the listener for clients.
func (c *edgeSettings) listenURL(ln net.Listener) string {
	if c.isTLS() {
		return strings.Replace(command.ListenerURL(ln), "http://", "https://", 1)
	}
	return command.ListenerURL(ln)
}

// openListener opens what the edge has beside its listener: TLS, HTTP/3 and the access log. data
// is the folder for a self-signed certificate, or empty. background are the functions that
// must run beside the edge.
func (c *edgeSettings) openListener(ln net.Listener, tokens, data string, log *slog.Logger) (public net.Listener,
	background []func(context.Context) error, err error) {
	public, runCertificates, err := c.secure(ln, tokens, data, log)
	if err == nil {
		err = c.openHTTP3(ln, log)
	}
	if err != nil {
		return nil, nil, err
	}
	runAccessLog, err := c.openAccessLog(log)
	return public, []func(context.Context) error{runCertificates, runAccessLog}, err
}

// edgeCmd runs an edge alone.
type edgeCmd struct {
	edgeSettings   `embed:""`
	tokenSettings  `embed:""`
	moduleSettings `embed:""`
	traceSettings  `embed:""`
	siteSettings   `embed:""`
	spoolSettings  `embed:""`
	Origin         []string `env:"FIELDMARK_ORIGIN" default:"http://127.0.0.1:8081" help:"URLs of the origins, separated by commas; each request goes to the origin with the fewest requests in flight."`
	HealthPath     string   `name:"origin-health-path" env:"FIELDMARK_ORIGIN_HEALTH_PATH" placeholder:"PATH" help:"Path of health checks of several origins, every 5 s; a status below 400 is healthy. If unset, an origin is healthy if it accepts connections."`
	DebugListen    string   `env:"FIELDMARK_DEBUG_LISTEN" default:"127.0.0.1:8090" help:"Private address to listen on for /livez, /readyz, /metrics and /debug/pprof."`
}

// Run serves until ctx ends.
func (c *edgeCmd) Run(ctx context.Context, s *command.Streams) error {
	if _, err := c.checkTLS(); err != nil {
		return err
	}
	token, err := c.edgeToken(s.Log)
	if err != nil {
		return err
	}
	ln, err := listen.Open(c.Listen, "--listen")
	if err != nil {
		return err
	}
	debug, err := listen.Open(c.DebugListen, "--debug-listen")
	if err != nil {
		return err
	}
	public, background, err := c.openListener(ln, token, "", s.Log)
	if err != nil {
		return err
	}
	origins, err := c.origins(s.Log)
	if err != nil {
		return err
	}
	if c.tracing, err = c.tracer("edge", s.Log); err != nil {
		return err
	}
	if c.edgeSettings.site, err = c.openSite(s.Log); err != nil {
		return err
	}
	if c.edgeSettings.spool, err = c.spoolSettings.open(ctx, token, s.Log); err != nil {
		return err
	}
	e, err := c.build(origins, token, &c.moduleSettings, ln, s.Log)
	if err != nil {
		return err
	}
	if c.edgeSettings.spool != nil {
		defer c.edgeSettings.spool.Close()
	}
	limitMemory(s.Log)
	s.Log.Info("edge", "version", version, "listen", c.listenURL(ln), "debug", command.ListenerURL(debug),
		"origin", c.Origin)
	return withTracing(ctx, c.tracing, func() error {
		return runEdge(ctx, e, append(background, origins.Run, c.runSite), public, debug,
			debugHandler(func(context.Context) error { return e.Ready() }, buildInfo("edge"), e.WriteMetrics,
				c.tracing.WriteMetrics))
	})
}

// anyOrigin is the host name in requests to the origins. It is never resolved.
const anyOrigin = "origin.internal"

// origins returns the upstream of the origins.
func (c *edgeCmd) origins(log *slog.Logger) (*upstream.Upstream, error) {
	all, err := addresses(c.Origin, "--origin")
	if err != nil {
		return nil, err
	}
	return upstream.New(upstream.Config{Origins: all, HealthPath: c.HealthPath, Log: log})
}

// edgeToken returns the node token. Without one the edge is only a caching reverse proxy.
func (c *edgeCmd) edgeToken(log *slog.Logger) (string, error) {
	token, err := c.token()
	if err != nil || token != "" {
		return c.requireToken()
	}
	log.Warn("no node token: this edge is only a reverse proxy; badges, scores and pages need FIELDMARK_NODE_TOKEN")
	return "", nil
}

// runEdge serves clients on ln and the debug handler on debug until ctx ends. The debug
// listener and the functions in background keep running while the edge drains.
func runEdge(ctx context.Context, e *edge.Edge, background []func(context.Context) error, ln, debug net.Listener,
	debugHandler http.Handler) error {
	g, ctx := errgroup.WithContext(ctx)
	backgroundCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { defer stop(); return e.Run(ctx, ln) })
	g.Go(func() error { return listen.ServeHTTP(backgroundCtx, debugHandler, debug) })
	for _, run := range background {
		g.Go(func() error { return run(backgroundCtx) })
	}
	return g.Wait()
}
