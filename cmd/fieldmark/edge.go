package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/upstream"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// edgeSettings are those of an edge, whether it runs alone or with an origin.
type edgeSettings struct {
	frontSettings `embed:""`

	Listen      string   `env:"FIELDMARK_LISTEN" default:"127.0.0.1:8080" help:"Address clients reach this edge at."`
	BaseURL     string   `name:"base-url" env:"FIELDMARK_BASE_URL" placeholder:"URL" help:"Public address, as it stands in links; that of --listen if unset."`
	CacheBytes  int64    `env:"FIELDMARK_CACHE_BYTES" default:"268435456" help:"Bound of cached answers in memory, in bytes."`
	RedisURL    string   `name:"redis-url" env:"FIELDMARK_REDIS_URL" placeholder:"URL" help:"Redis that edges share scores through: redis://, rediss:// or unix://; ?master_name=NAME for Sentinel, ?cluster=true for Cluster, further nodes as &addr=HOST:PORT. None if unset."`
	RedisFile   string   `name:"redis-url-file" env:"FIELDMARK_REDIS_URL_FILE" type:"path" placeholder:"FILE" help:"File that holds that address, as it may have a password in it."`
	Profile     string   `name:"cache-profile" env:"FIELDMARK_CACHE_PROFILE" enum:"strict,rfc" default:"strict" help:"How answers that are passed on are cached: strict for production, rfc for all that RFC 9111 allows."`
	PassBytes   int64    `env:"FIELDMARK_PASS_BYTES" default:"268435456" help:"Bound of passed answers in memory, in bytes."`
	PassFields  []string `env:"FIELDMARK_PASS_FIELDS" placeholder:"NAME" help:"Further request fields that an origin may see of what is cached; each value has answers of its own."`
	PassBody    int64    `env:"FIELDMARK_PASS_BODY" default:"1073741824" help:"Bound of a request's body that is passed on to a site, in bytes; 0 for none. It is passed on as it comes and not held in memory."`
	WASIModules bool     `name:"wasi-modules" env:"FIELDMARK_WASI_MODULES" help:"Run scoring modules of the class wasi-null too, such as those of the Go tool chain; one may hold the process up for two seconds."`
	tracing     *trace.Tracer
	site        *siteSettings // nil: the edge is before no site
	HideAdmin   bool          `env:"FIELDMARK_HIDE_ADMIN" help:"Refuse /admin and /api/admin on this edge."`
}

// build makes an edge that asks the origins. What is asked for by no address of
// its own goes to whichever of them has the least to do.
func (c *edgeSettings) build(origins *upstream.Upstream, token string, modules *moduleSettings, ln net.Listener, log *slog.Logger) (*edge.Edge, error) {
	keys, err := modules.keys()
	if err != nil {
		return nil, err
	}
	token = fieldmark.SplitNodeTokens(token)[0]
	target := &url.URL{Scheme: "http", Host: anyOrigin}
	asking := origins.Internal()
	if c.tracing != nil {
		asking = &trace.Transport{Next: asking, Tracer: c.tracing, Name: "edge.ask"}
	}
	origin, err := client.New(client.Config{BaseURL: target.String(), Transport: asking, NodeToken: token})
	if err != nil {
		return nil, err
	}
	redis, err := command.ReadSecret(c.RedisURL, c.RedisFile)
	if err != nil {
		return nil, err
	}
	profile, _ := rfc9111.ParseProfile(c.Profile) // the parser lets nothing else in
	cfg := edge.Config{
		Origin: origin, OriginURL: target, Transport: origins, NodeToken: token,
		Profile: profile, PassBytes: c.PassBytes, PassFields: c.PassFields, PassBody: cmp.Or(c.PassBody, -1),
		BaseURL: c.base(ln), CacheBytes: c.CacheBytes, RedisURL: redis, HideAdmin: c.HideAdmin, Log: log, Version: version, Tracer: c.tracing,
		ModuleKeys: keys, WASI: c.WASIModules, BuiltIn: []fieldmark.Digest{fieldmark.DigestOf(sha256.Sum256(geo.Module()))},
	}
	c.apply(&cfg)
	c.site.apply(&cfg)
	return edge.New(cfg)
}

// base is the public address of the edge.
func (c *edgeSettings) base(ln net.Listener) string {
	if c.BaseURL != "" {
		return strings.TrimSuffix(c.BaseURL, "/")
	}
	if c.TLSCert != "" {
		return strings.Replace(command.ListenerURL(ln), "http://", "https://", 1)
	}
	return command.ListenerURL(ln)
}

// edgeCmd runs an edge alone.
type edgeCmd struct {
	edgeSettings   `embed:""`
	tokenSettings  `embed:""`
	moduleSettings `embed:""`
	traceSettings  `embed:""`
	siteSettings   `embed:""`
	Origin         []string `env:"FIELDMARK_ORIGIN" default:"http://127.0.0.1:8081" help:"Addresses of the origins, with commas between; requests go to the one with the fewest under way."`
	HealthPath     string   `name:"origin-health-path" env:"FIELDMARK_ORIGIN_HEALTH_PATH" placeholder:"PATH" help:"Path that several origins are asked every 5 s how they are; any status below 400 is well. If unset, a connection that opens is."`
	DebugListen    string   `env:"FIELDMARK_DEBUG_LISTEN" default:"127.0.0.1:8090" help:"Private address of /livez, /readyz, /metrics and /debug/pprof."`
}

// Run serves until ctx ends.
func (c *edgeCmd) Run(ctx context.Context, s *command.Streams) error {
	token, err := c.edgeToken(s.Log)
	if err != nil {
		return err
	}
	ln, err := listen(c.Listen, "--listen")
	if err != nil {
		return err
	}
	debug, err := listen(c.DebugListen, "--debug-listen")
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
	e, err := c.build(origins, token, &c.moduleSettings, ln, s.Log)
	if err != nil {
		return err
	}
	limitMemory(s.Log)
	s.Log.Info("edge", "version", version, "listen", command.ListenerURL(ln), "debug", command.ListenerURL(debug), "origin", c.Origin)
	public, renew, err := c.secure(ln, s.Log)
	if err != nil {
		return err
	}
	return telling(ctx, c.tracing, func() error {
		return runEdge(ctx, e, []func(context.Context) error{origins.Run, c.runSite, renew}, public, debug,
			debugHandler(func(context.Context) error { return e.Ready() }, buildInfo("edge"), e.WriteMetrics, c.writeMetrics, c.tracing.WriteMetrics))
	})
}

// anyOrigin stands for the origins where an address needs a host; nothing
// resolves it.
const anyOrigin = "origin.internal"

// origins reads the addresses of the origins.
func (c *edgeCmd) origins(log *slog.Logger) (*upstream.Upstream, error) {
	all, err := addresses(c.Origin, "--origin")
	if err != nil {
		return nil, err
	}
	return upstream.New(upstream.Config{Origins: all, HealthPath: c.HealthPath, Log: log})
}

// edgeToken is the node token. Without one the edge is a caching reverse proxy
// before a site that knows nothing of it, and has nothing of its own.
func (c *edgeCmd) edgeToken(log *slog.Logger) (string, error) {
	token, err := c.token()
	if err != nil || token != "" {
		return c.requireToken()
	}
	log.Warn("no node token: passing everything on and caching it; badges, scores and Fieldmark's pages need FIELDMARK_NODE_TOKEN")
	return "", nil
}

// runEdge serves clients on ln and operators on debug until ctx ends. What the
// edge holds is given back after the last request. What it needs runs as long as
// it drains, and operators are told so.
func runEdge(ctx context.Context, e *edge.Edge, needs []func(context.Context) error, ln, debug net.Listener, debugging http.Handler) error {
	g, ctx := errgroup.WithContext(ctx)
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { defer stop(); return e.Run(ctx, ln) })
	g.Go(func() error { return serveHTTP(behind, debugging, debug) })
	for _, run := range needs {
		g.Go(func() error { return run(behind) })
	}
	return g.Wait()
}
