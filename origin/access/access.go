package access

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// pruneInterval is how often expired rows are deleted and expiring keys are looked for.
const pruneInterval = time.Hour

// Config is what a Service needs. All fields but Provider are required.
type Config struct {
	Store       *store.Store
	Keyring     *keyring.Keyring
	AuditLog    *auditlog.Log
	Jobs        *job.Runner
	Log         *slog.Logger
	Provider    *oidc.Provider // nil: administrators sign in with passwords
	NoPasswords bool           // refuse passwords; ignored without a Provider
}

// Service decides who may do what: API keys for programs, sessions for people, and the accounts
// to which both the keys and the objects belong. Its parts may be called from any goroutine.
type Service struct {
	Accounts *Accounts
	Keys     *Keys
	Admins   *Admins
	Sessions *Sessions
	SignOn   *SignOn
	Owners   *OwnerSessions

	jobs *job.Runner
	log  *slog.Logger
}

// New returns a Service that has started nothing.
// noPasswords counts only with a provider: without one no administrator could sign in.
func New(cfg Config) *Service {
	noPasswords := cfg.NoPasswords && cfg.Provider != nil
	hash := newHasher()
	slow := &throttle{store: cfg.Store, auditLog: cfg.AuditLog, mac: cfg.Keyring.LoginThrottle}
	sessions := &Sessions{store: cfg.Store, auditLog: cfg.AuditLog, totp: cfg.Keyring.TOTP, hasher: hash,
		throttle:    slow,
		noPasswords: noPasswords}
	keys := &Keys{store: cfg.Store, auditLog: cfg.AuditLog, mac: cfg.Keyring.APIKey}
	return &Service{
		Accounts: &Accounts{store: cfg.Store, auditLog: cfg.AuditLog},
		Keys:     keys,
		Owners:   &OwnerSessions{store: cfg.Store, keys: keys},
		Admins: &Admins{store: cfg.Store, auditLog: cfg.AuditLog, totp: cfg.Keyring.TOTP, hasher: hash,
			throttle: slow},
		Sessions: sessions,
		SignOn: &SignOn{store: cfg.Store, auditLog: cfg.AuditLog, flows: cfg.Keyring.SignOn, throttle: slow,
			sessions: sessions,
			provider: cfg.Provider, noPasswords: noPasswords},
		jobs: cfg.Jobs, log: cfg.Log,
	}
}

// Run writes the last uses of keys and sessions, notifies of expiring keys and deletes expired sessions,
// until ctx ends. Any number of processes may run it on one database.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.jobs.Every(ctx, LastUsedPrecision, "write the last uses of keys", s.Keys.writeLastUsed) })
	wg.Go(func() {
		s.jobs.Every(ctx, LastUsedPrecision, "write the last uses of sessions", s.Sessions.writeLastUsed)
	})
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, pruneInterval, "notify of expiring keys", s.Keys.notifyExpiring) })
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, pruneInterval, "prune sessions", s.Sessions.prune) })
	wg.Wait()
	// Uses are collected in memory for a minute; a restart should not lose those.
	last, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := errors.Join(s.Keys.writeLastUsed(last), s.Sessions.writeLastUsed(last)); err != nil {
		s.log.Error("write the last uses of keys and sessions", slog.Any("error", err))
	}
	return nil
}

// prune deletes sessions and failed sign-ins that no longer count.
// Expired rows are refused when they are read; this only keeps the tables small.
func (s *Sessions) prune(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		if err := tx.PruneLoginThrottles(ctx, now.Add(-throttleReset)); err != nil {
			return err
		}
		if err := tx.PruneOwnerSessions(ctx, now.Add(-OwnerSessionLifetime)); err != nil {
			return err
		}
		return tx.PruneSessions(ctx, now.Add(-SessionAbsolute), now.Add(-SessionIdle))
	})
}

// EnsureDefault creates the default account if it does not exist.
func (s *Accounts) EnsureDefault(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutAccount(ctx, DefaultAccount, fieldmark.At(time.Now()))
	})
}
