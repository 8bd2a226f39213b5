package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/admin"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// originSettings are those of an origin, whether it runs alone or with an edge.
type originSettings struct {
	dataSettings         `embed:""`
	command.NetworkFlags `embed:""`
	auditSettings        `embed:""`
	moduleSettings       `embed:""`
	signOnSettings       `embed:""`
	PaymentDueOn         string        `env:"FIELDMARK_PAYMENT_DUE_ON" default:"CLOSED" enum:"CLOSED,COMPLETED" help:"What makes a payment due: that its mission is CLOSED, or already that it is COMPLETED; the same on every origin."`
	PublicAPI            bool          `name:"public-api" env:"MODULE_API_PUBLIC" help:"Answer the public mission API under /api/public/; otherwise it is 404 module_disabled."`
	publicURL            string        // the address clients know, if it is told
	tracing              *trace.Tracer // nil: spans go nowhere
	// demoNetworks are where the demo's own sites and receivers are. The linter,
	// which anyone may send to an address, does not go there.
	demoNetworks   []netip.Prefix
	KeepDeliveries time.Duration `env:"FIELDMARK_KEEP_DELIVERIES" default:"720h" help:"How long webhook deliveries and their attempts are kept, also what is held for an endpoint; below 0 for ever."`
	KeepEvents     time.Duration `env:"FIELDMARK_KEEP_EVENTS" default:"2160h" help:"How long events are kept for polling and replay; below 0 for ever."`
	SecureCookies  bool          `env:"FIELDMARK_SECURE_COOKIES" help:"Mark administrators' cookies Secure in any case. They are where --base-url is https, and where an edge says that the request came over https."`
}

// auditSettings are how an origin audits brands.
type auditSettings struct {
	AuditEvery    time.Duration `env:"FIELDMARK_AUDIT_EVERY" default:"168h" help:"How often a brand is audited unasked, give or take a tenth; 0 means only when asked."`
	AuditDelay    time.Duration `env:"FIELDMARK_AUDIT_DELAY" default:"1s" help:"Pause between two requests of an audit to one host."`
	AuditRequests int           `env:"FIELDMARK_AUDIT_REQUESTS" default:"20" help:"Requests one audit may make, redirects included."`
}

// every is the interval as a Service takes it.
func (a *auditSettings) every() time.Duration {
	if a.AuditEvery == 0 {
		return -1
	}
	return a.AuditEvery
}

// originNode is an origin, opened.
type originNode struct {
	at      string // where the record is, for the log
	store   *store.Store
	service *origin.Service
	handler http.Handler
	meters  *originMeters
}

// open opens the record and builds everything over it. auditDelay paces audits
// per host; zero is the auditor's own politeness.
func (o *originSettings) open(ctx context.Context, nodeToken string, auditDelay time.Duration, log *slog.Logger) (*originNode, error) {
	secret, err := o.appSecret()
	if err != nil {
		return nil, err
	}
	at, err := o.record()
	if err != nil {
		return nil, err
	}
	meters := newOriginMeters()
	at.Tracer, at.Events = o.tracing, meters.record()
	st, err := store.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	n := &originNode{at: place(at), store: st, meters: meters}
	if err := n.build(ctx, o, secret, nodeToken, auditDelay, log); err != nil {
		return nil, fmt.Errorf("%w%s", err, closing(st.Close()))
	}
	return n, nil
}

// closing adds what went wrong while giving up.
func closing(err error) string {
	if err == nil {
		return ""
	}
	return "; closing the database: " + err.Error()
}

func (n *originNode) build(ctx context.Context, o *originSettings, secret []byte, nodeToken string, auditDelay time.Duration, log *slog.Logger) error {
	lint := o.Client(nil)
	o.AllowNetworks = append(slices.Clone(o.AllowNetworks), o.demoNetworks...)
	outbound := safehttp.New(safehttp.Config{Allow: o.AllowNetworks, ConnsPerHost: origin.MaxSending})
	if auditDelay == 0 {
		auditDelay = o.AuditDelay
	}
	auditor, err := audit.New(audit.Config{HTTP: o.Client(nil), Delay: auditDelay, MaxRequests: o.AuditRequests})
	if err != nil {
		return err
	}
	prober, err := probe.New(probe.Config{HTTP: lint, Delay: auditDelay})
	if err != nil {
		return err
	}
	ref, err := wasm.Ref(geo.Module())
	if err != nil {
		return fmt.Errorf("built-in module: %w", err)
	}
	keys, err := o.keys()
	if err != nil {
		return err
	}
	signOn, err := o.provider(o.publicURL)
	if err != nil {
		return err
	}
	if n.service, err = origin.New(origin.Config{
		Store: n.store, Secret: secret, HTTP: outbound, Auditor: auditor, AuditEvery: o.every(),
		Module: geo.Module(), ModuleRef: ref, ModuleKeys: keys, Desk: moduleDesk(), Log: log, PublicAPI: o.PublicAPI, PaymentDueOn: fieldmark.MissionStatus(o.PaymentDueOn),
		KeepDeliveries: o.KeepDeliveries, KeepEvents: o.KeepEvents, SignOn: signOn, SignOnOnly: o.OIDCOnly, Tracer: o.tracing, Swept: func(took time.Duration) { n.meters.swept.Update(took.Seconds()) },
	}); err != nil {
		return err
	}
	if err := n.service.Prepare(ctx); err != nil {
		return err
	}
	apiHandler, err := api.New(api.Config{Service: n.service, NodeToken: nodeToken, BaseURL: o.publicURL, PublicAPI: o.PublicAPI, Log: log, Version: version, Prober: prober})
	if err != nil {
		return err
	}
	adminHandler, err := admin.New(admin.Config{Service: n.service, Log: log, NodeToken: nodeToken, Secure: o.secureCookies(), Facts: o.facts(n.at)})
	if err != nil {
		return err
	}
	n.meters.service, n.meters.pools = n.service, n.store.Pools
	n.handler = n.meters.wrap(traced(o.tracing, side(apiHandler, adminHandler)))
	return nil
}

// secureCookies reports whether cookies are Secure whatever a request says: a public
// address of https has no other clients.
func (o *originSettings) secureCookies() bool {
	return o.SecureCookies || strings.HasPrefix(o.publicURL, "https://")
}

// side sends what is of the admin area there and all else to the API. A mux here
// would answer an address such as //test with a redirect instead of a problem.
func side(api, admin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == fieldmark.PathAdmin || strings.HasPrefix(r.URL.Path, fieldmark.PathAdmin+"/") {
			admin.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// facts are the settings that administrators may see: nothing secret.
func (o *originSettings) facts(record string) []admin.Fact {
	kept := func(d time.Duration) string {
		if d < 0 {
			return "for ever"
		}
		return inDays(d)
	}
	yes := map[bool]string{true: "on", false: "off"}
	return []admin.Fact{
		{Name: "Version", Value: version},
		{Name: "Database", Value: record},
		{Name: "Address", Value: o.publicURL},
		{Name: "Mission API", Value: yes[o.PublicAPI]},
		{Name: "Secure cookies", Value: yes[o.secureCookies()]},
		{Name: "Sign-in provider", Value: o.OIDCIssuer},
		{Name: "Payments due", Value: "when a mission is " + o.PaymentDueOn},
		{Name: "Audit interval", Value: "every " + inDays(o.AuditEvery)},
		{Name: "Delivery retention", Value: kept(o.KeepDeliveries)},
		{Name: "Event retention", Value: kept(o.KeepEvents)},
		{Name: "Module keys", Value: strings.Join(o.ModuleKeys, " ")},
	}
}

// inDays writes whole days as days: 720h0m0s is 30 days.
func inDays(d time.Duration) string {
	switch n := d / (24 * time.Hour); {
	case n == 0 || d%(24*time.Hour) != 0:
		return d.String()
	case n == 1:
		return "1 day"
	default:
		return strconv.Itoa(int(n)) + " days"
	}
}

// run answers on the listeners and works in the background until ctx ends.
func (n *originNode) run(ctx context.Context, listeners ...net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, n.handler, listeners...) })
	g.Go(func() error { return n.service.Run(ctx) })
	return errors.Join(g.Wait(), n.store.Close())
}

// originCmd runs an origin alone.
type originCmd struct {
	originSettings `embed:""`
	tokenSettings  `embed:""`
	traceSettings  `embed:""`
	BaseURL        string `name:"base-url" env:"FIELDMARK_BASE_URL" placeholder:"URL" help:"Public address of the edges, for the types of errors; an https address makes cookies Secure."`
	OriginListen   string `env:"FIELDMARK_ORIGIN_LISTEN" default:"127.0.0.1:8081" help:"Address edges reach this origin at."`
	DebugListen    string `env:"FIELDMARK_DEBUG_LISTEN" default:"127.0.0.1:8091" help:"Private address of /livez, /readyz, /metrics and /debug/pprof."`
}

// Run serves until ctx ends.
func (c *originCmd) Run(ctx context.Context, s *command.Streams) error {
	token, err := c.requireToken()
	if err != nil {
		return err
	}
	c.publicURL = c.BaseURL
	if c.tracing, err = c.tracer("origin", s.Log); err != nil {
		return err
	}
	n, err := c.open(ctx, token, 0, s.Log)
	if err != nil {
		return err
	}
	ln, err := listen(c.OriginListen, "--origin-listen")
	if err != nil {
		return err
	}
	debug, err := listen(c.DebugListen, "--debug-listen")
	if err != nil {
		return err
	}
	limitMemory(s.Log)
	s.Log.Info("origin", "version", version, "listen", command.ListenerURL(ln), "debug", command.ListenerURL(debug), "database", n.at, "publicAPI", c.PublicAPI)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.run(ctx, ln) })
	g.Go(func() error {
		return serveHTTP(ctx, debugHandler(n.meters.ready, buildInfo("origin"), n.meters.write, n.service.WriteMetrics, c.tracing.WriteMetrics), debug)
	})
	return telling(ctx, c.tracing, g.Wait)
}
