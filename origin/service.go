package origin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
	"github.com/fieldmark/fieldmark/origin/accessrequest"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/botauth"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/cdn"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/dump"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/intake"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/logstream"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/monitor"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/offer"
	"github.com/fieldmark/fieldmark/origin/playground"
	"github.com/fieldmark/fieldmark/origin/portal"
	"github.com/fieldmark/fieldmark/origin/publiclog"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/snapshot"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/technician"
	"github.com/fieldmark/fieldmark/origin/testclock"
	"github.com/fieldmark/fieldmark/origin/testworld"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// Config is what a Service needs. Only Store and Secret are required.
type Config struct {
	Store *store.Store
	// application secret, at least keyring.MinSecret bytes; the keys that protect stored secrets are derived from it
	Secret  []byte
	HTTP    *safehttp.Client // for outbound requests; nil: a client that reaches public addresses only
	CDNHTTP *safehttp.Client // for purges of CDNs, which may be in the operator's networks; nil: HTTP
	Auditor *audit.Auditor   // nil: audits wait in the queue for a process that has one
	// between audits of a brand, plus or minus a tenth; 0: brand.DefaultAuditInterval; negative: only on request
	AuditEvery time.Duration
	// scoring modules, the oldest first; Prepare stores them and activates the last on a new database
	BuiltIn    []module.BuiltIn
	SignOn     *oidc.Provider // nil: administrators sign in with passwords
	SignOnOnly bool           // refuse passwords; ignored without a provider
	// of the contents of attachments, dumps and ranking files; nil: nothing can be attached, the contents
	// cannot be read, and neither dumps nor ranking files are made
	Objects objects.Store
	// under which dumps are published; zero: the list of dumps names none
	DumpTerms fieldmark.DumpTerms
	Checker   module.Checker  // zero: modules can be neither uploaded nor previewed
	Scorer    standing.Scorer // nil: no scores are computed, and none sent to who watches brands
	// facts that a signal of a module depends on; nil: owners of brands can dispute facts, but no signals
	SignalFacts func(module []byte, signal string) ([]string, error)
	Playground  playground.Runner     // nil: the playground runs no card and no module
	Log         *slog.Logger          // nil: nothing is logged
	Tracer      *trace.Tracer         // traces webhook attempts; nil: none
	Swept       func(time.Duration)   // called with the time it took to process one due deadline; may be nil
	ModuleKeys  []fieldmark.ModuleKey // signers of modules; empty: modules need no signature
	PublicAPI   bool                  // whether the mission API is public; logged by Run
	// PaymentDueOn is the status of a mission that makes its payment due: CLOSED or
	// COMPLETED; empty: CLOSED. All origins must have the same value.
	PaymentDueOn fieldmark.MissionStatus

	Prover    *claim.Prover   // looks for proofs of claims; nil: by the system's DNS servers and HTTP
	NewBrands claim.NewBrands // what claims of sites do that are not registered; empty: claim.NewBrandsReview
	OwnersOff bool            // owners of brands have no calls and no pages
	Signer    *botauth.Signer // of the requests of Auditor; nil: they are not signed

	MailRelay *mail.Relay // of digests to owners of brands; nil: no mail is sent
	BaseURL   string      // of the public pages, which mail links to; without a slash at the end

	// Certificates are the settings of certificate orders; the fields that a Service has
	// itself are set by New.
	Certificates acme.Config

	// Monitor are the settings of the list of issues; the fields that a Service has itself are
	// set by New.
	Monitor monitor.Config

	// SiteChecks are the settings of checks of sites; the fields that a Service has itself are
	// set by New.
	SiteChecks sitecheck.Config

	// number of brands above which ranking files are made; 0: fieldmark.MinRankingFile
	MinRankingFile int

	// retention of deliveries, also of held ones; 0: webhook.DefaultKeepDeliveries, negative: forever
	KeepDeliveries time.Duration
	// retention of events that no delivery needs; 0: webhook.DefaultKeepEvents, negative: forever
	KeepEvents time.Duration
	// MirrorURL is of the Redis with the stream that mirrors the event log (see logstream.Config); empty:
	// it is not mirrored
	MirrorURL string
	// PublicLog is the host name that signs the public log of scores; empty: there is no log
	PublicLog string
}

// Service is the origin without its HTTP interface. Its methods may be called from
// any goroutine.
// It wires the services: rules are in their packages.
type Service struct {
	Access      *access.Service
	Offers      *offer.Service
	Brands      *brand.Service
	Modules     *module.Service
	Events      *event.Log
	Mirror      *logstream.Mirror
	AuditLog    *auditlog.Log
	Webhooks    *webhook.Service
	Missions    *mission.Service
	Links       *technician.Links
	Portal      *portal.Links
	Attachments *attachment.Service
	Responses   *idempotency.Service // to requests with an Idempotency-Key

	Certificates *acme.Service
	Claims       *claim.Service

	AccessRequests *accessrequest.Service

	Mail        *mail.Service
	SigningKeys *botauth.Service
	TestWorlds  *testworld.Service
	SiteChecks  *sitecheck.Service
	Playground  *playground.Service

	CDNs       *cdn.Service
	Standings  *standing.Service
	Dumps      *dump.Service
	Visibility *visibility.Service
	Snapshots  *snapshot.Service
	Intake     *intake.Service
	Monitor    *monitor.Service
	TestClocks *testclock.Service
	PublicLog  *publiclog.Log

	store     *store.Store
	log       *slog.Logger
	publicAPI bool
	audits    bool // this process audits
	jobs      *job.Runner
}

// New checks cfg and returns a Service that has started nothing.
// The order matters where a service needs another one.
func New(cfg Config) (*Service, error) {
	keys, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("configure origin: %w", err)
	}
	s := &Service{
		store: cfg.Store, audits: cfg.Auditor != nil, log: cfg.Log, publicAPI: cfg.PublicAPI,
		jobs: job.NewRunner(cfg.Store, cfg.Log), AuditLog: auditlog.New(cfg.Store, keys.AuditLog),
		Events: event.NewLog(cfg.Store),
	}
	if s.Mirror, err = logstream.New(logstream.Config{Store: cfg.Store, Events: s.Events, Jobs: s.jobs, Log: cfg.Log,
		URL: cfg.MirrorURL}); err != nil {
		return nil, fmt.Errorf("configure origin: %w", err)
	}
	certificates := cfg.Certificates
	certificates.Store, certificates.Keyring, certificates.AuditLog = cfg.Store, keys, s.AuditLog
	certificates.Jobs, certificates.Log = s.jobs, cfg.Log
	if s.Certificates, err = acme.New(certificates); err != nil {
		return nil, fmt.Errorf("configure origin: %w", err)
	}
	s.SigningKeys = botauth.New(botauth.Config{Store: cfg.Store, Cipher: keys.RequestSigning, AuditLog: s.AuditLog,
		Jobs: s.jobs, Log: cfg.Log, Signer: cfg.Signer})
	s.Access = access.New(access.Config{Store: cfg.Store, Keyring: keys, AuditLog: s.AuditLog, Jobs: s.jobs,
		Log: cfg.Log, Provider: cfg.SignOn, NoPasswords: cfg.SignOnOnly})
	s.Brands = brand.New(brand.Config{Store: cfg.Store, AuditLog: s.AuditLog, Jobs: s.jobs, Log: cfg.Log,
		Auditor: cfg.Auditor, AuditInterval: cfg.AuditEvery, SignalFacts: cfg.SignalFacts,
		RevokeKeys: s.Access.Keys.RevokeAll})
	s.Claims = claim.New(claim.Config{Store: cfg.Store, Keyring: keys, AuditLog: s.AuditLog, Jobs: s.jobs, Log: cfg.Log,
		Access: s.Access, Brands: s.Brands, Prover: cfg.Prover, NewBrands: cfg.NewBrands, Off: cfg.OwnersOff})
	s.Mail = mail.New(mail.Config{Store: cfg.Store, MAC: keys.Mail, AuditLog: s.AuditLog, Jobs: s.jobs, Log: cfg.Log,
		Relay: cfg.MailRelay, BaseURL: cfg.BaseURL})
	s.AccessRequests = accessrequest.New(accessrequest.Config{Store: cfg.Store, MAC: keys.AccessRequest,
		AuditLog: s.AuditLog, Jobs: s.jobs, Log: cfg.Log, Access: s.Access, Mail: s.Mail, BaseURL: cfg.BaseURL})
	s.Standings = standing.New(standing.Config{Store: cfg.Store, Jobs: s.jobs, Scorer: cfg.Scorer, Log: cfg.Log})
	studies := visibility.Config{Store: cfg.Store, Jobs: s.jobs}
	if cfg.Scorer != nil {
		studies.Score = s.Standings.ScoreAt
	}
	s.Visibility = visibility.New(studies)
	s.Modules = module.New(module.Config{Store: cfg.Store, AuditLog: s.AuditLog, Jobs: s.jobs, Log: cfg.Log,
		Brands: s.Brands, BuiltIn: cfg.BuiltIn, Keys: cfg.ModuleKeys, Checker: cfg.Checker, Studies: s.Visibility})
	checks := cfg.SiteChecks
	checks.Store, checks.Jobs, checks.Log, checks.Scorer = cfg.Store, s.jobs, cfg.Log, cfg.Scorer
	checks.Wishes = s.Brands.Owners.AllowsChecks
	s.SiteChecks = sitecheck.New(checks)
	s.Playground = playground.New(cfg.Store, cfg.Playground)
	s.Dumps = dump.New(dump.Config{Store: cfg.Store, Objects: cfg.Objects, Jobs: s.jobs, Log: cfg.Log,
		Terms: cfg.DumpTerms})
	s.PublicLog = publiclog.New(publiclog.Config{Store: cfg.Store, Jobs: s.jobs, Log: cfg.Log, AuditLog: s.AuditLog,
		MAC: keys.PublicLog, Name: cfg.PublicLog})
	s.Snapshots = snapshot.New(snapshot.Config{Store: cfg.Store, Objects: cfg.Objects, Jobs: s.jobs, Log: cfg.Log,
		Min: cfg.MinRankingFile})
	s.Webhooks = webhook.New(webhook.Config{Store: cfg.Store, HTTP: cfg.HTTP, Keyring: keys, AuditLog: s.AuditLog,
		Jobs: s.jobs, Log: cfg.Log, Tracer: cfg.Tracer, KeepDeliveries: cfg.KeepDeliveries, KeepEvents: cfg.KeepEvents})
	_, events := webhook.Retention(s.Webhooks)
	s.TestWorlds = testworld.New(testworld.Config{Store: cfg.Store, Jobs: s.jobs, Log: cfg.Log})
	s.Offers = offer.New(offer.Config{Store: cfg.Store, AuditLog: s.AuditLog, Keys: s.Access.Keys,
		Endpoints: webhook.MaxEndpoints, History: events})
	s.Responses = idempotency.New(idempotency.Config{Store: cfg.Store, Cipher: keys.SavedResponse, Jobs: s.jobs,
		Log: cfg.Log})
	s.Attachments = attachment.New(attachment.Config{Store: cfg.Store, Objects: cfg.Objects, Cipher: keys.Attachment,
		AuditLog: s.AuditLog, Responses: s.Responses, Jobs: s.jobs, Log: cfg.Log})
	s.CDNs = cdn.New(cdn.Config{Store: cfg.Store, Events: s.Events, Cipher: keys.CDNToken, AuditLog: s.AuditLog,
		Jobs: s.jobs, Log: cfg.Log, HTTP: cfg.CDNHTTP})
	watch := cfg.Monitor
	watch.Store, watch.Webhooks, watch.Certificates, watch.Modules = cfg.Store, s.Webhooks, s.Certificates, s.Modules
	watch.Jobs, watch.Log, watch.CDNs = s.jobs, cfg.Log, s.CDNs
	s.Monitor = monitor.New(watch)
	s.Links = technician.NewLinks(technician.LinksConfig{Store: cfg.Store, MAC: keys.Technician, AuditLog: s.AuditLog,
		Jobs: s.jobs, Log: cfg.Log, BaseURL: cfg.BaseURL})
	s.Portal = portal.NewLinks(portal.LinksConfig{Store: cfg.Store, MAC: keys.Portal, AuditLog: s.AuditLog,
		Webhooks: s.Webhooks})
	s.Missions = mission.New(mission.Config{TechnicianPage: s.Links.Address, Store: cfg.Store, Keyring: keys,
		AuditLog: s.AuditLog, Jobs: s.jobs, Responses: s.Responses, Log: cfg.Log, PaymentDueOn: cfg.PaymentDueOn,
		TimerFired: cfg.Swept})
	s.Intake = intake.New(intake.Config{Store: cfg.Store, Jobs: s.jobs})
	s.TestClocks = testclock.New(testclock.Config{Store: cfg.Store, Jobs: s.jobs, Missions: s.Missions,
		Webhooks: s.Webhooks, Log: cfg.Log})
	return s, nil
}

// complete fills in what has a default and derives the keys. It returns every error of the
// configuration at once.
func (cfg *Config) complete() (*keyring.Keyring, error) {
	var bad []error
	if cfg.Store == nil {
		bad = append(bad, errors.New("a store is required"))
	}
	keys, err := keyring.New(cfg.Secret)
	if err != nil {
		bad = append(bad, err)
	}
	switch cfg.PaymentDueOn {
	case "":
		cfg.PaymentDueOn = fieldmark.MissionClosed
	case fieldmark.MissionClosed, fieldmark.MissionCompleted:
	default:
		bad = append(bad, fmt.Errorf("payments cannot become due on %s; it may be COMPLETED or CLOSED",
			cfg.PaymentDueOn))
	}
	if cfg.HTTP == nil {
		cfg.HTTP = safehttp.New(safehttp.Config{})
	}
	if cfg.CDNHTTP == nil {
		cfg.CDNHTTP = cfg.HTTP
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Prover == nil {
		cfg.Prover = claim.NewProver(nil, cfg.HTTP)
	}
	if cfg.OwnersOff {
		cfg.MailRelay = nil
	}
	return keys, errors.Join(bad...)
}

// Prepare creates what the origin needs: the default account, offers, the built-in modules
// and an active one.
// It may be called any number of times.
func (s *Service) Prepare(ctx context.Context) error {
	err := s.Access.Accounts.EnsureDefault(ctx)
	if err != nil {
		return fmt.Errorf("prepare origin: %w", err)
	}
	if err := s.Offers.EnsureDefaults(ctx); err != nil {
		return fmt.Errorf("prepare origin: %w", err)
	}
	err = s.Modules.RegisterBuiltIn(ctx)
	if err != nil {
		return fmt.Errorf("prepare origin: %w", err)
	}
	return nil
}

// Health returns an error if the origin cannot serve requests.
func (s *Service) Health(ctx context.Context) error {
	return s.store.Ping(ctx)
}
