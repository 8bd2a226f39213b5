package acme

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/fieldmark/fieldmark/origin/store"
)

// registered returns the account at the CA, and registers it the first time. The key is stored
// before the registration. A CA returns the same account for the same key (RFC 8555, 7.3.1), so
// neither a restart between the two nor another process creates a second account. The lock avoids
// concurrent registrations of this process.
func (s *Service) registered(ctx context.Context) (a acme.Account, err error) {
	s.account.Lock()
	defer s.account.Unlock()
	row, err := s.accountRow(ctx)
	if err != nil {
		return a, err
	}
	a = acme.Account{Location: row.URL, TermsOfServiceAgreed: true, Contact: []string{"mailto:" + s.cfg.Email}}
	if a.PrivateKey, err = s.openKey(row.Directory, row.Key); err != nil || row.URL != "" {
		return a, err
	}
	// A commercial CA bills the customer account that this binds (RFC 8555, 7.3.4).
	if s.cfg.EABKeyID != "" {
		eab := acme.EAB{KeyID: s.cfg.EABKeyID, MACKey: s.cfg.EABKey}
		if err := a.SetExternalAccountBinding(ctx, s.client, eab); err != nil {
			return a, fmt.Errorf("bind the account: %w", err)
		}
	}
	if a, err = s.client.NewAccount(ctx, a); err != nil {
		return a, fmt.Errorf("register an account: %w", err)
	}
	// The log names the terms that --acme has agreed to. The registration is stored even if they
	// cannot be read.
	terms := ""
	if d, err := s.client.GetDirectory(ctx); err == nil && d.Meta != nil {
		terms = d.Meta.TermsOfService
	}
	s.log.Info("registered at the CA", slog.String("directory", s.cfg.Directory), slog.String("agreedTo", terms))
	row.URL = a.Location
	return a, s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutACMEAccount(ctx, row, time.Now())
	})
}

// accountRow returns the row of the account, and adds it with a new key if it is missing.
// The transaction reads it again, because several origins may start at once.
func (s *Service) accountRow(ctx context.Context) (row store.ACMEAccount, err error) {
	row, err = s.store.ACMEAccount(ctx, s.cfg.Directory)
	if !errors.Is(err, store.ErrNotFound) {
		return row, err
	}
	key, err := newKey()
	if err != nil {
		return row, err
	}
	text, err := encodeKey(key)
	if err != nil {
		return row, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if row, err = tx.ACMEAccount(ctx, s.cfg.Directory); !errors.Is(err, store.ErrNotFound) {
			return err // another process was first
		}
		row = store.ACMEAccount{Directory: s.cfg.Directory,
			Key: s.cfg.Keyring.Certificate.Seal(s.cfg.Directory, text)}
		return tx.PutACMEAccount(ctx, row, time.Now())
	})
	return row, err
}

// dropAccountURL deletes the URL of an account that the CA no longer has, for example a test CA after
// a restart. The next order registers again with the same key, so that a CA that still has the account
// returns it.
func (s *Service) dropAccountURL(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.ACMEAccount(ctx, s.cfg.Directory)
		if err != nil {
			return err
		}
		row.URL = ""
		return tx.PutACMEAccount(ctx, row, time.Now())
	})
}
