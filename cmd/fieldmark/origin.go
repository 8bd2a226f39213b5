package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/author"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/listen"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/admin"
	"github.com/fieldmark/fieldmark/origin/api"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/botauth"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/dump"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/monitor"
	"github.com/fieldmark/fieldmark/origin/owner"
	"github.com/fieldmark/fieldmark/origin/portal"
	"github.com/fieldmark/fieldmark/origin/publiclog"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/technician"
	"github.com/fieldmark/fieldmark/origin/webhook"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// originSettings are those of an origin, whether it runs alone or with an edge.
type originSettings struct {
	dataSettings         `embed:""`
	replicaSettings      `embed:"" prefix:"database-"`
	command.NetworkFlags `embed:""`
	auditSettings        `embed:""`
	checkSettings        `embed:""`
	moduleSettings       `embed:""`
	signOnSettings       `embed:""`
	acmeSettings         `embed:""`
	PaymentDueOn         string        `env:"FIELDMARK_PAYMENT_DUE_ON" default:"CLOSED" enum:"CLOSED,COMPLETED" help:"Status of a mission that makes its payment due: CLOSED or COMPLETED; the same on every origin."`
	PublicAPI            bool          `name:"public-api" env:"MODULE_API_PUBLIC" help:"Enable the public mission API under /api/public/; without it, requests get 404 module_disabled."`
	publicURL            string        // "" if unknown
	tracing              *trace.Tracer // nil without tracing
	// demoNetworks contain the demo's websites and receivers. The linter must not connect
	// to them: anyone may pass it an address.
	demoNetworks      []netip.Prefix
	KeepDeliveries    time.Duration `env:"FIELDMARK_KEEP_DELIVERIES" default:"720h" help:"Retention of webhook deliveries and attempts, held ones included; below 0 forever."`
	KeepEvents        time.Duration `env:"FIELDMARK_KEEP_EVENTS" default:"2160h" help:"Retention of events for polling and replay; below 0 forever."`
	monitorSettings   `embed:""`
	claimSettings     `embed:""`
	mailSettings      `embed:""`
	cdnSettings       `embed:""`
	objectSettings    `embed:""`
	dumpSettings      `embed:""`
	mirrorSettings    `embed:""`
	publicLogSettings `embed:""`
	SecureCookies     bool `env:"FIELDMARK_SECURE_COOKIES" help:"Always mark the cookies of administrators Secure. They are Secure anyway if --base-url is https, or if an edge received the request over https."`
}

// auditSettings are how an origin audits brands.
type auditSettings struct {
	AuditEvery     time.Duration `env:"FIELDMARK_AUDIT_EVERY" default:"168h" help:"Interval of scheduled audits of a brand, plus or minus a tenth; 0: only on request, and once a day after an audit suspects text written to steer models."`
	AuditDelay     time.Duration `env:"FIELDMARK_AUDIT_DELAY" default:"1s" help:"Pause between an audit's requests."`
	RequestSigning string        `env:"FIELDMARK_REQUEST_SIGNING" default:"dictionary" enum:"dictionary,string,off" help:"Form of the signatures of the auditor's requests (Web Bot Auth): dictionary as the draft demands, string for verifiers that know only its older form, off. Signing needs an https URL in --base-url."`
	AuditRequests  int           `env:"FIELDMARK_AUDIT_REQUESTS" default:"${audit_requests}" help:"Maximum number of requests of one audit, redirects included; nine more ask for documents for agents."`
}

// monitorSettings are those of the list of issues.
type monitorSettings struct {
	BackupMaxAge time.Duration `env:"FIELDMARK_BACKUP_MAX_AGE" default:"192h" help:"Age of an outdated backup; 0: off."`
}

// cdnSettings are those of the CDNs that are purged.
type cdnSettings struct {
	CDNNetworks []netip.Prefix `name:"cdn-networks" env:"FIELDMARK_CDN_NETWORKS" help:"Networks of CDNs to purge."`
}

// dumpSettings are the terms of the daily dumps.
type dumpSettings struct {
	DumpLicence     string `env:"FIELDMARK_DUMP_LICENCE" placeholder:"NAME" help:"Licence of dumps, such as CC-BY-4.0."`
	DumpAttribution string `env:"FIELDMARK_DUMP_ATTRIBUTION" placeholder:"TEXT" help:"How to name the source of dumps."`
}

// mirrorSettings are where the event log is mirrored for edges.
type mirrorSettings struct {
	Mirror     string `name:"mirror-url" env:"FIELDMARK_MIRROR_URL" placeholder:"URL" help:"Redis for the event log."`
	MirrorFile string `name:"mirror-url-file" env:"FIELDMARK_MIRROR_URL_FILE" type:"path" help:"File that holds it."`
}

// publicLogSettings are those of the public log of scores.
type publicLogSettings struct {
	PublicLog string `env:"FIELDMARK_PUBLIC_LOG" default:"on" help:"Public log of scores: on, off or a host."`
}

// logName returns the name that signs the public log; empty: no log is kept.
func (l *publicLogSettings) logName(publicURL string) string {
	switch l.PublicLog {
	case "on":
		return publiclog.NameOf(publicURL)
	case "off":
		return ""
	}
	return l.PublicLog
}

// claimSettings are how owners of websites claim their brands.
type claimSettings struct {
	Owners    string   `env:"FIELDMARK_OWNERS" default:"on" enum:"on,off" help:"Whether owners of websites can claim and manage their brands; off: their calls and pages get 404 module_disabled."`
	ClaimNew  string   `env:"FIELDMARK_CLAIM_NEW" default:"review" enum:"off,review,on" help:"What a proven claim does whose site is not registered: off refuses it, review registers an unlisted brand, on a public one."`
	Resolvers []string `env:"FIELDMARK_RESOLVERS" placeholder:"ADDRESS" help:"Addresses of one to five DNS servers, each asked for the records that prove claims: a majority must have them. The system's servers if omitted."`
}

// mailSettings are how digests are sent to owners of brands.
type mailSettings struct {
	SMTP     string `name:"smtp-url" env:"FIELDMARK_SMTP_URL" placeholder:"URL" help:"SMTP relay of mail to owners."`
	SMTPFile string `name:"smtp-url-file" env:"FIELDMARK_SMTP_URL_FILE" type:"path" help:"File that holds its URL."`
	MailFrom string `env:"FIELDMARK_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of mail to owners."`
}

// relay returns what sends mail; nil: mail is off.
func (m *mailSettings) relay(publicURL string) (*mail.Relay, error) {
	address, err := command.ReadSecret(m.SMTP, m.SMTPFile)
	if err != nil || address == "" {
		return nil, err
	}
	if publicURL == "" {
		return nil, errors.New("--smtp-url needs --base-url: mail links to pages")
	}
	relay, err := mail.ParseRelay(address, m.MailFrom)
	if err != nil {
		return nil, fmt.Errorf("--smtp-url, --mail-from: %w", err)
	}
	return relay, nil
}

// prover returns what looks for proofs of claims.
func (c *claimSettings) prover(client *safehttp.Client) (*claim.Prover, error) {
	servers, err := claim.ParseResolvers(c.Resolvers)
	if err != nil {
		return nil, fmt.Errorf("--resolvers: %w", err)
	}
	return claim.NewProver(servers, client), nil
}

// every returns the interval as origin.Config expects it.
func (a *auditSettings) every() time.Duration {
	if a.AuditEvery == 0 {
		return -1
	}
	return a.AuditEvery
}

// checkSettings are those of checks of sites, which anyone may request.
type checkSettings struct {
	Checks         string   `env:"FIELDMARK_CHECKS" default:"on" enum:"on,off" help:"Anyone may check any public site."`
	CheckDeny      []string `env:"FIELDMARK_CHECK_DENY" placeholder:"DOMAIN" help:"Domains (and below) not checked."`
	CheckConnectTo []string `env:"FIELDMARK_CHECK_CONNECT_TO" placeholder:"HOST:PORT:HOST:PORT" help:"Connect to the second address for checks of the first, as in curl. Only sites that are named here are checked on private addresses; --allow-networks does not apply."`
}

// siteChecks returns the configuration of checks, whose auditor is like that of brands with
// lower limits and its own client: anyone names its addresses, so it must not reach the
// networks that the operator's own audits may. signer may be nil.
func (c *checkSettings) siteChecks(auditing audit.Config, signer *botauth.Signer) (sitecheck.Config, error) {
	connect, err := command.ParseConnectTo("--check-connect-to", c.CheckConnectTo)
	if err != nil {
		return sitecheck.Config{}, err
	}
	cfg := sitecheck.Config{Off: c.Checks == "off", Advise: scoring.Advise, Sites: slices.Sorted(maps.Keys(connect))}
	for _, domain := range c.CheckDeny {
		domain = strings.ToLower(strings.Trim(domain, " ."))
		if domain == "" || strings.ContainsAny(domain, "/:@* ") {
			return cfg, fmt.Errorf("--check-deny: %q is not a domain such as acme.example", domain)
		}
		cfg.Deny = append(cfg.Deny, domain)
	}
	client := safehttp.Config{ConnectTo: connect, Targets: true}
	if signer != nil {
		client.Sign = signer.Sign
	}
	auditing.HTTP, auditing.MaxRequests = safehttp.New(client), sitecheck.MaxRequests
	auditing.Timeout = sitecheck.AuditTimeout
	cfg.Auditor, err = audit.New(auditing)
	return cfg, err
}

// originNode is an origin with its database open.
type originNode struct {
	dbName  string // for log lines
	store   *store.Store
	service *origin.Service
	handler http.Handler
	metrics *originMetrics
}

// open opens the database and builds the services and handlers on it. auditDelay overrides
// --audit-delay unless it is 0.
func (o *originSettings) open(ctx context.Context, nodeToken string, auditDelay time.Duration,
	log *slog.Logger) (*originNode, error) {
	secret, err := o.appSecret()
	if err != nil {
		return nil, err
	}
	cfg, err := o.storeConfig()
	if err != nil {
		return nil, err
	}
	if cfg.ReadURL, err = command.ReadSecret(o.ReadURL, o.ReadURLFile); err != nil {
		return nil, err
	}
	metrics := newOriginMetrics()
	cfg.Tracer, cfg.Hooks = o.tracing, metrics.storeEvents()
	st, err := store.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	n := &originNode{dbName: dbName(cfg), store: st, metrics: metrics}
	if err := n.build(ctx, o, secret, nodeToken, auditDelay, log); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return n, nil
}

func (n *originNode) build(ctx context.Context, o *originSettings, secret []byte, nodeToken string,
	auditDelay time.Duration, log *slog.Logger) error {
	lint := o.Client(nil)
	o.AllowNetworks = append(slices.Clone(o.AllowNetworks), o.demoNetworks...)
	outbound := safehttp.New(safehttp.Config{Allow: o.AllowNetworks, ConnsPerHost: webhook.MaxSending})
	if auditDelay == 0 {
		auditDelay = o.AuditDelay
	}
	auditor, checks, signer, err := n.auditors(o, auditDelay, log)
	if err != nil {
		return err
	}
	prober, err := probe.New(probe.Config{HTTP: lint, Delay: auditDelay})
	if err != nil {
		return err
	}
	builtIn, err := builtInModules()
	if err != nil {
		return err
	}
	keys, err := o.keys()
	if err != nil {
		return err
	}
	signOn, err := o.provider(o.publicURL)
	if err != nil {
		return err
	}
	certificates, err := o.config()
	if err != nil {
		return err
	}
	prover, err := o.prover(o.Client(nil))
	if err != nil {
		return err
	}
	relay, err := o.relay(o.publicURL)
	if err != nil {
		return err
	}
	place, err := o.place(o.Data)
	if err != nil {
		return err
	}
	terms, err := dump.ParseTerms(o.DumpLicence, o.DumpAttribution)
	if err != nil {
		return fmt.Errorf("--dump-licence and --dump-attribution: %w", err)
	}
	mirror, err := command.ReadSecret(o.Mirror, o.MirrorFile)
	if err != nil {
		return err
	}
	if n.service, err = origin.New(origin.Config{
		MirrorURL: mirror, MailRelay: relay, BaseURL: strings.TrimSuffix(o.publicURL, "/"), Prover: prover,
		PublicLog: o.logName(o.publicURL), NewBrands: claim.NewBrands(o.ClaimNew), OwnersOff: o.Owners == "off",
		CDNHTTP: safehttp.New(safehttp.Config{Allow: slices.Concat(o.AllowNetworks, o.CDNNetworks)}),
		Store:   n.store, Secret: secret, Objects: place, DumpTerms: terms, HTTP: outbound,
		Auditor: auditor, Signer: signer, AuditEvery: o.every(), BuiltIn: builtIn, ModuleKeys: keys,
		Checker: moduleChecker(), Scorer: &wasm.Scorer{}, SignalFacts: wasm.SignalFacts,
		Playground: author.RunPlayground, Log: log, PublicAPI: o.PublicAPI, KeepEvents: o.KeepEvents,
		PaymentDueOn: fieldmark.MissionStatus(o.PaymentDueOn), KeepDeliveries: o.KeepDeliveries,
		SignOn: signOn, SignOnOnly: o.OIDCOnly, Certificates: certificates, SiteChecks: checks,
		Monitor: monitor.Config{Disk: o.disk(n.store), Count: n.metrics.count, BackupAge: o.backupAge()},
		Tracer:  o.tracing, Swept: func(took time.Duration) { n.metrics.timerTime.Update(took.Seconds()) },
	}); err != nil {
		return err
	}
	if err := n.service.Prepare(ctx); err != nil {
		return err
	}
	apiHandler, err := api.New(api.Config{Service: n.service, NodeToken: nodeToken, BaseURL: o.publicURL,
		PublicAPI: o.PublicAPI, Log: log, Version: version, Prober: prober})
	if err != nil {
		return err
	}
	pages, err := n.pages(o, nodeToken, log)
	n.metrics.service, n.metrics.store = n.service, n.store
	n.handler = n.metrics.wrap(traceRequests(o.tracing, splitPages(apiHandler, pages)))
	return err
}

// pages returns the handlers of HTML pages by the path that they begin with.
func (n *originNode) pages(o *originSettings, nodeToken string, log *slog.Logger) (map[string]http.Handler, error) {
	console, err := admin.New(admin.Config{Service: n.service, Log: log, NodeToken: nodeToken,
		Secure: o.secureCookies(), Settings: o.consoleSettings(n.dbName)})
	if err != nil {
		return nil, err
	}
	owners, err := owner.New(owner.Config{Service: n.service, Advise: scoring.Advise, Log: log,
		NodeToken: nodeToken, Secure: o.secureCookies()})
	if err != nil {
		return nil, err
	}
	technicians, err := technician.New(technician.Config{Links: n.service.Links, Missions: n.service.Missions,
		Attachments: n.service.Attachments, Responses: n.service.Responses, Log: log, NodeToken: nodeToken,
		Secure: o.secureCookies(), BaseURL: strings.TrimSuffix(o.publicURL, "/")})
	if err != nil {
		return nil, err
	}
	portals, err := portal.New(portal.Config{Links: n.service.Portal, Webhooks: n.service.Webhooks,
		AuditLog: n.service.AuditLog, Log: log, NodeToken: nodeToken, Secure: o.secureCookies()})
	return map[string]http.Handler{fieldmark.PathAdmin: console, fieldmark.PathOwner: owners,
		strings.TrimSuffix(fieldmark.PathTechnician, "/"): technicians,
		strings.TrimSuffix(fieldmark.PathPortal, "/"):     portals}, err
}

// auditors returns the auditor of brands, the configuration of checks, and the signer of
// their requests, which is nil if they are not signed. Both keep the same pauses.
func (n *originNode) auditors(o *originSettings, delay time.Duration, log *slog.Logger) (auditor *audit.Auditor,
	checks sitecheck.Config, signer *botauth.Signer, err error) {
	signer, crawler, err := o.crawler(log)
	if err != nil {
		return nil, checks, nil, err
	}
	pauses := &sitecheck.Pauses{Store: n.store, Log: log}
	auditing := audit.Config{HTTP: crawler, UserAgent: audit.UserAgentOf(o.publicURL), Delay: delay,
		MaxRequests: o.AuditRequests, Acquire: pauses.Acquire}
	if auditor, err = audit.New(auditing); err != nil {
		return nil, checks, nil, err
	}
	auditing.Delay = o.AuditDelay // not that of the demo: a check may be of any site
	checks, err = o.siteChecks(auditing, signer)
	return auditor, checks, signer, err
}

// crawler returns the client of the auditor and its signer, which is nil if requests are not
// signed.
func (o *originSettings) crawler(log *slog.Logger) (*botauth.Signer, *safehttp.Client, error) {
	if o.RequestSigning == "off" || !strings.HasPrefix(o.publicURL, "https://") {
		log.Info("requests of the auditor are not signed", "requestSigning", o.RequestSigning, "baseURL", o.publicURL)
		return nil, o.Client(nil), nil
	}
	signer, err := botauth.NewSigner(o.publicURL, botauth.Form(o.RequestSigning))
	if err != nil {
		return nil, nil, err
	}
	return signer, safehttp.New(safehttp.Config{Allow: o.AllowNetworks, Targets: true, Sign: signer.Sign}), nil
}

// backupAge returns the age as monitor.Config expects it.
func (o *monitorSettings) backupAge() time.Duration {
	if o.BackupMaxAge == 0 {
		return -1
	}
	return o.BackupMaxAge
}

// disk returns what reads the free bytes of the disk of a database in a file; nil for a server.
func (o *originSettings) disk(st *store.Store) func() (free, total uint64, err error) {
	if st.Shared() {
		return nil
	}
	return func() (uint64, uint64, error) { return monitor.DiskSpace(o.Data) }
}

// secureCookies reports whether cookies are always Secure: if the public address is https,
// every client uses TLS.
func (o *originSettings) secureCookies() bool {
	return o.SecureCookies || strings.HasPrefix(o.publicURL, "https://")
}

// splitPages routes each path in pages, and everything below it, to its handler, and everything else
// to api. ServeMux would answer a path such as //test with a redirect instead of a problem document.
func splitPages(api http.Handler, pages map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if page, ok := pages["/"+first]; ok {
			page.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// consoleSettings returns the settings that the admin console shows: none is secret.
func (o *originSettings) consoleSettings(database string) []admin.Setting {
	retention := func(d time.Duration) string {
		if d < 0 {
			return "forever"
		}
		return formatDays(d)
	}
	onOff := map[bool]string{true: "on", false: "off"}
	return []admin.Setting{
		{Name: "Version", Value: version},
		{Name: "Database", Value: database},
		{Name: "Address", Value: o.publicURL},
		{Name: "Mission API", Value: onOff[o.PublicAPI]},
		{Name: "Secure cookies", Value: onOff[o.secureCookies()]},
		{Name: "Sign-in provider", Value: o.OIDCIssuer},
		{Name: "Payments due", Value: "when a mission is " + o.PaymentDueOn},
		{Name: "Audit interval", Value: "every " + formatDays(o.AuditEvery)},
		{Name: "Delivery retention", Value: retention(o.KeepDeliveries)},
		{Name: "Event retention", Value: retention(o.KeepEvents)},
		{Name: "Pages of owners", Value: o.Owners},
		{Name: "Claims of new sites", Value: o.ClaimNew},
		{Name: "DNS servers of claims", Value: strings.Join(o.Resolvers, " ")},
		{Name: "Module keys", Value: strings.Join(o.ModuleKeys, " ")},
	}
}

// formatDays formats whole days as days: 720h0m0s is 30 days.
func formatDays(d time.Duration) string {
	switch n := d / (24 * time.Hour); {
	case n == 0 || d%(24*time.Hour) != 0:
		return d.String()
	case n == 1:
		return "1 day"
	default:
		return strconv.Itoa(int(n)) + " days"
	}
}

// run serves on the listeners and runs the background jobs until ctx ends.
func (n *originNode) run(ctx context.Context, listeners ...net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return listen.ServeHTTP(ctx, n.handler, listeners...) })
	g.Go(func() error { return n.service.Run(ctx) })
	return errors.Join(g.Wait(), n.store.Close())
}

// originCmd runs an origin alone.
type originCmd struct {
	originSettings `embed:""`
	tokenSettings  `embed:""`
	traceSettings  `embed:""`
	BaseURL        string `name:"base-url" env:"FIELDMARK_BASE_URL" placeholder:"URL" help:"Public URL of the edges, used in links; an https URL makes cookies Secure."`
	OriginListen   string `env:"FIELDMARK_ORIGIN_LISTEN" default:"127.0.0.1:8081" help:"Listen address for edges."`
	DebugListen    string `env:"FIELDMARK_DEBUG_LISTEN" default:"127.0.0.1:8091" help:"Private address to listen on for /livez, /readyz, /metrics and /debug/pprof."`
}

// Run serves until ctx ends.
func (c *originCmd) Run(ctx context.Context, s *command.Streams) error {
	if err := c.acmeSettings.check(); err != nil {
		return err
	}
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
	ln, err := listen.Open(c.OriginListen, "--origin-listen")
	if err != nil {
		return err
	}
	debug, err := listen.Open(c.DebugListen, "--debug-listen")
	if err != nil {
		return err
	}
	limitMemory(s.Log)
	s.Log.Info("origin", "version", version, "listen", command.ListenerURL(ln), "debug", command.ListenerURL(debug),
		"database", n.dbName, "publicAPI", c.PublicAPI)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.run(ctx, ln) })
	g.Go(func() error {
		return listen.ServeHTTP(ctx, debugHandler(n.metrics.ready, buildInfo("origin"), n.metrics.write,
			n.service.Webhooks.WriteMetrics, c.tracing.WriteMetrics), debug)
	})
	return withTracing(ctx, c.tracing, g.Wait)
}
