package botauth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// refreshInterval is the time between two reads of the keys: one that another process retired
// signs for this long at most.
const refreshInterval = 10 * time.Second

// errNoKey means that the database has no key although the Service added one: another process
// deleted it at the same moment.
var errNoKey = errors.New("there is no signing key")

// TagKeys is the cache tag of the key directory. Each change of the keys purges it.
const TagKeys fieldmark.Tag = "signing-keys"

// Config is what a Service needs; all fields but Signer are required.
type Config struct {
	Store    *store.Store
	Cipher   keyring.Cipher // encrypts private keys
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Signer   *Signer // nil: requests are not signed, and there is no key directory
}

// Service keeps the keys of a Signer.
type Service struct{ cfg Config }

// New returns a Service.
func New(cfg Config) *Service { return &Service{cfg} }

// Run replaces keys as their time comes and keeps those of the Signer up to date, until ctx
// ends. Any number of processes may run.
func (s *Service) Run(ctx context.Context) error {
	if s.cfg.Signer != nil {
		s.cfg.Jobs.AtStartAndEvery(ctx, refreshInterval, "maintain signing keys", s.Refresh)
	}
	return nil
}

// Refresh does what the schedule demands and loads the keys.
func (s *Service) Refresh(ctx context.Context) error {
	keys, err := s.cfg.Store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	if p := newPlan(keys, time.Now()); p.add || len(p.remove) > 0 {
		if err := s.apply(ctx); err != nil {
			return err
		}
	}
	return s.load(ctx)
}

// apply carries out the plan, as it is by then.
func (s *Service) apply(ctx context.Context) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		keys, err := tx.SigningKeys(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		p := newPlan(keys, now)
		for _, id := range p.remove {
			if err := tx.DeleteSigningKey(ctx, id); err != nil {
				return err
			}
		}
		if p.add {
			if _, err := s.add(ctx, tx, keys, now, p.useFrom); err != nil {
				return err
			}
		}
		return purge(ctx, tx, false)
	})
}

// add adds a key after those in keys, and reports whether it did.
func (s *Service) add(ctx context.Context, tx *store.Tx, keys []store.SigningKey, now, useFrom time.Time) (bool,
	error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	k := NewKey(seed, useFrom)
	last := ""
	if len(keys) > 0 {
		last = keys[len(keys)-1].ID
	}
	added, err := tx.AddSigningKey(ctx, last, store.SigningKey{ID: k.ID, PublicKey: k.public(), CreatedAt: now,
		UseFrom: useFrom, Sealed: s.cfg.Cipher.Seal(k.ID, base64.StdEncoding.EncodeToString(seed))})
	if added {
		s.cfg.Log.Info("signing key published", slog.String("key", k.ID), slog.Time("useFrom", useFrom))
	}
	return added, err
}

// purge makes edges drop the key directory. Hard: they do not serve the old one either while
// the origin is unreachable.
func purge(ctx context.Context, tx *store.Tx, hard bool) error {
	tags := []fieldmark.Tag{TagKeys}
	_, err := event.Emit(ctx, tx, "", store.Event{
		Event: fieldmark.Event{Type: fieldmark.EventCachePurged, Tags: tags}, Subject: "cache",
	}, fieldmark.Purged{Tags: tags, Hard: hard})
	return err
}

// load gives the keys to the Signer.
func (s *Service) load(ctx context.Context) error {
	_, keys, err := s.open(ctx)
	if err == nil {
		s.cfg.Signer.setKeys(keys)
	}
	return err
}

// open reads the keys with their private halves.
func (s *Service) open(ctx context.Context) ([]store.SigningKey, []Key, error) {
	rows, err := s.cfg.Store.SigningKeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	keys := make([]Key, len(rows))
	for i, row := range rows {
		text, err := s.cfg.Cipher.Open(row.ID, row.Sealed)
		if err != nil {
			return nil, nil, fmt.Errorf("open signing key %s: %w", row.ID, err)
		}
		seed, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(seed) != ed25519.SeedSize {
			return nil, nil, fmt.Errorf("open signing key %s: not the seed of an Ed25519 key", row.ID)
		}
		keys[i] = NewKey(seed, row.UseFrom)
	}
	return rows, keys, nil
}

// errOff is the error of calls while requests are not signed.
func errOff() error {
	return fieldmark.Errorf(fieldmark.CodeModuleDisabled,
		"the requests of the auditor are not signed: that needs a public https URL and request signing that is not off")
}

// List returns the keys in the directory.
func (s *Service) List(ctx context.Context) (fieldmark.SigningKeys, error) {
	if s.cfg.Signer == nil {
		return fieldmark.SigningKeys{}, errOff()
	}
	rows, err := s.cfg.Store.SigningKeys(ctx)
	if err != nil {
		return fieldmark.SigningKeys{}, err
	}
	return fieldmark.SigningKeys{Directory: s.cfg.Signer.directory, Form: string(s.cfg.Signer.form),
		Data: describe(rows, time.Now())}, nil
}

// Rotate publishes a new key, which comes into use after publishBefore. It does nothing while
// one is published that is not in use yet.
func (s *Service) Rotate(ctx context.Context) (fieldmark.SigningKeys, error) {
	return s.change(ctx, "signing_key.rotated", "", func(ctx context.Context, tx *store.Tx, keys []store.SigningKey,
		now time.Time) error {
		useFrom := now
		if n := len(keys); n > 0 {
			if keys[n-1].UseFrom.After(now) {
				return nil
			}
			useFrom = now.Add(publishBefore)
		}
		_, err := s.add(ctx, tx, keys, now, useFrom)
		return err
	})
}

// Retire deletes a key that others may know. The next one comes into use at once. There is no
// revocation but the directory: verifiers accept the key until they fetch it again.
func (s *Service) Retire(ctx context.Context, id string) (fieldmark.SigningKeys, error) {
	return s.change(ctx, "signing_key.retired", id, func(ctx context.Context, tx *store.Tx, keys []store.SigningKey,
		now time.Time) error {
		at := -1
		for i, k := range keys {
			if k.ID == id {
				at = i
			}
		}
		if at < 0 {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such signing key")
		}
		if at == current(keys, now) {
			if at < len(keys)-1 {
				if err := tx.UseSigningKey(ctx, keys[at+1].ID, now); err != nil {
					return err
				}
			} else if _, err := s.add(ctx, tx, keys, now, now); err != nil {
				return err
			}
		}
		return tx.DeleteSigningKey(ctx, id)
	})
}

// change changes the keys in one transaction with its entry in the audit log, and returns what
// they are then.
func (s *Service) change(ctx context.Context, act, target string, fn func(context.Context, *store.Tx,
	[]store.SigningKey, time.Time) error) (list fieldmark.SigningKeys, err error) {
	if s.cfg.Signer == nil {
		return list, errOff()
	}
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		before, err := tx.SigningKeys(ctx)
		if err != nil {
			return err
		}
		if err := fn(ctx, tx, before, now); err != nil {
			return err
		}
		after, err := tx.SigningKeys(ctx)
		if err != nil {
			return err
		}
		if len(after) == 0 {
			return errNoKey
		}
		if err := s.cfg.AuditLog.Append(ctx, tx, act, "signing_key:"+target, describe(before, now),
			describe(after, now)); err != nil {
			return err
		}
		return purge(ctx, tx, true)
	})
	if err != nil {
		return list, fmt.Errorf("change the signing keys: %w", err)
	}
	if err := s.load(ctx); err != nil {
		return list, err
	}
	return s.List(ctx)
}
