package acme

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// List returns the certificates and how much of the limits of orders is used.
// Private keys are never part of it.
func (s *Service) List(ctx context.Context) (list fieldmark.CertificateList, err error) {
	rows, err := s.store.Certificates(ctx, maxListed)
	if err != nil {
		return list, err
	}
	list.Data = make([]fieldmark.Certificate, 0, len(rows))
	for _, row := range rows {
		list.Data = append(list.Data, describe(row, time.Now()))
	}
	if list.OrdersHour, err = s.store.CountOrders(ctx, time.Now().Add(-time.Hour)); err != nil {
		return list, err
	}
	list.OrdersDay, err = s.store.CountOrders(ctx, time.Now().Add(-24*time.Hour))
	return list, err
}

// maxListed bounds the certificates that are listed and sent to edges. Besides those that are
// ordered there are imported ones.
const maxListed = 500

// describe returns what administrators see of a certificate.
func describe(row store.Certificate, now time.Time) fieldmark.Certificate {
	c := fieldmark.Certificate{Name: row.Name, Source: row.Source, Failures: row.Failures, LastError: row.LastError,
		Ordering: row.Ordering, NotBefore: optional(row.NotBefore), NotAfter: optional(row.NotAfter),
		RenewAt: optional(row.RenewAt)}
	if row.Failures > 0 || row.LimitedUntil.After(now) {
		c.NextTryAt = optional(row.DueAt)
	}
	if row.LimitedUntil.After(now) {
		c.RateLimitedUntil = optional(row.LimitedUntil)
	}
	if leaf, err := leafOf(row.Chain); err == nil {
		c.Issuer, c.Serial = leaf.Issuer.String(), leaf.SerialNumber.Text(16)
	}
	return c
}

func optional(t time.Time) *fieldmark.Time {
	if t.IsZero() {
		return nil
	}
	return new(fieldmark.At(t))
}

// ForEdges returns all certificates with their keys, encrypted for the edge that sent
// nodeToken, and the names whose certificate is still being issued.
func (s *Service) ForEdges(ctx context.Context, nodeToken string) (all fieldmark.EdgeCertificates, err error) {
	cipher, err := keyring.ForEdges(nodeToken)
	if err != nil {
		return all, err
	}
	rows, err := s.store.Certificates(ctx, maxListed)
	if err != nil {
		return all, err
	}
	all.Certificates = make([]fieldmark.SealedCertificate, 0, len(rows))
	for _, row := range rows {
		c := fieldmark.SealedCertificate{Name: row.Name, Chain: row.Chain}
		if row.Chain != "" {
			key, err := s.cfg.Keyring.Certificate.Open(row.Name, row.Key)
			if err != nil {
				return all, fmt.Errorf("open the key of %s: %w", row.Name, err)
			}
			c.Key = cipher.Seal(row.Name, key)
		}
		all.Certificates = append(all.Certificates, c)
	}
	return all, nil
}

// Challenge returns the answer to an open challenge: of http-01 by its token, of tls-alpn-01
// by the name.
func (s *Service) Challenge(ctx context.Context, kind, tokenOrName string) (a fieldmark.CertificateChallenge,
	err error) {
	a.KeyAuthorization, err = s.store.ChallengeAnswer(ctx, kind, tokenOrName, time.Now())
	return a, store.NotFound(err, "no such challenge is open")
}

// Renew orders a new certificate for a name now, within the limits of orders. A name of an
// imported certificate is ordered from then on.
func (s *Service) Renew(ctx context.Context, name string) (fieldmark.Certificate, error) {
	if !slices.Contains(s.cfg.Names, name) {
		return fieldmark.Certificate{}, fieldmark.Errorf(fieldmark.CodeNotFound,
			"this origin does not order certificates for the name; start it with --domain and the name")
	}
	return s.change(ctx, "certificate.renewal_requested", name, func(c *store.Certificate, now time.Time) error {
		c.DueAt, c.RenewAt = now, now
		if c.LimitedUntil.After(now) {
			c.DueAt = c.LimitedUntil
		}
		return nil
	})
}

// Import stores a certificate that was issued elsewhere. It is not renewed.
func (s *Service) Import(ctx context.Context, name string, in fieldmark.CertificateImport) (fieldmark.Certificate,
	error) {
	var bad validation.Errors
	if !fieldmark.ValidDNSName(name) {
		return fieldmark.Certificate{}, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"the name must be a host name: lower case, no wildcard, no port")
	}
	sealed := s.cfg.Keyring.Certificate.Seal(name, in.Key)
	next, err := s.parsePair(name, in.Chain, sealed)
	switch {
	case err != nil && strings.Contains(err.Error(), "key"):
		bad.Add("/key", "invalid", "must be the private key of the certificate, in PEM")
	case err != nil:
		bad.Add("/chain", "invalid", "must be a certificate chain in PEM that is valid for the name")
	case time.Now().After(next.NotAfter):
		bad.Add("/chain", "expired", "the certificate has expired")
	}
	if err := bad.Err(); err != nil {
		return fieldmark.Certificate{}, err
	}
	next.Source = fieldmark.CertificateImported
	return s.change(ctx, "certificate.imported", name, func(c *store.Certificate, _ time.Time) error {
		next.Challenge = c.Challenge
		*c = next
		return nil
	})
}

// change changes the row of a name, notifies edges and appends the act to the audit log.
// The event and the entry are committed with the change: edges and auditors see it or none of it.
func (s *Service) change(ctx context.Context, act, name string,
	fn func(*store.Certificate, time.Time) error) (after fieldmark.Certificate, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		if act == "certificate.imported" {
			if _, err := tx.AddCertificate(ctx, name, now); err != nil {
				return err
			}
		}
		c, err := tx.Certificate(ctx, name)
		if err != nil {
			return store.NotFound(err,
				"there is no certificate for this name; start an origin with --domain to order one")
		}
		before := describe(c, now)
		if err := fn(&c, now); err != nil {
			return err
		}
		if _, err := tx.UpdateCertificate(ctx, c, ""); err != nil {
			return err
		}
		after = describe(c, now)
		if err := s.emitChanged(ctx, tx, name); err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(ctx, tx, act, name, before, after)
	})
	if err != nil {
		return after, fmt.Errorf("change certificate %s: %w", name, err)
	}
	return after, nil
}

// Remove deletes the certificate of a name; edges stop serving it. A name in --domain is
// ordered again at the next start of an origin.
// The key goes with it. Edges close no connection: those that exist keep their session.
func (s *Service) Remove(ctx context.Context, name string) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.Certificate(ctx, name)
		if err != nil {
			return store.NotFound(err, "there is no certificate for this name")
		}
		if err := tx.DeleteCertificate(ctx, name); err != nil {
			return err
		}
		if err := s.emitChanged(ctx, tx, name); err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(ctx, tx, "certificate.removed", name, describe(c, time.Now()), nil)
	})
	if err != nil {
		return fmt.Errorf("remove the certificate of %s: %w", name, err)
	}
	return nil
}

// OrderResult is a count of orders with one result.
type OrderResult struct {
	Result string
	Count  int64
}

// OrderResults counts the orders of this process by result.
func (s *Service) OrderResults() (all []OrderResult) {
	for i, name := range orderResults {
		all = append(all, OrderResult{name, s.results[i].Load()})
	}
	return all
}

// Status counts the names whose order or renewal is overdue, and those whose last order failed.
// It is what /readyz and the metrics show, so it reads indexes only.
func (s *Service) Status(ctx context.Context) (due, failing int, err error) {
	late, err := s.store.DueCertificates(ctx, time.Now().Add(-overdue), maxListed)
	if err != nil {
		return 0, 0, err
	}
	failing, err = s.store.CountFailingCertificates(ctx)
	return len(late), failing, err
}

// overdue is how late work on a name may begin before it counts as due: it is claimed within
// a second if an origin runs that has the name in its settings.
const overdue = time.Minute
