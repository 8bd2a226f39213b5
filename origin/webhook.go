package origin

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// Bounds of webhooks.
const (
	MaxEndpoints     = 50   // per account: every event asks each of them
	MaxEndpointList  = 1000 // in one answer
	MaxDeliveries    = 500  // in one answer
	maxEndpointURL   = 2048 // bytes
	maxEventPatterns = 50
	maxEndpointNote  = 200            // code points of a description
	maxEndpointTTL   = 24 * time.Hour // a temporary endpoint is for a person who watches
	reasonExpired    = "the endpoint expired"
	reasonDeleted    = "the endpoint was deleted"
	maxExpiredAtOnce = 100 // endpoints ended in one round
)

// CreateEndpoint adds an address that gets an account's events from now on. Its
// secret is in the answer and nowhere else.
func (s *Service) CreateEndpoint(ctx context.Context, account string, r fieldmark.EndpointRequest) (fieldmark.NewEndpoint, error) {
	var none fieldmark.NewEndpoint
	bad := checkEndpoint(&r)
	if err := s.http.CheckURL(ctx, r.URL); err != nil {
		bad = append(bad, fieldmark.FieldError{Pointer: "/url", Code: "format", Detail: fieldmark.AsError(err).Detail})
	}
	if err := invalid(bad); err != nil {
		return none, err
	}
	secret, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		return none, fmt.Errorf("create an endpoint: %w", err)
	}
	now := time.Now()
	row := store.Endpoint{Endpoint: fieldmark.Endpoint{
		ID: newID(fieldmark.PrefixWebhook, now), Account: account, URL: r.URL, Events: r.Events,
		Description: r.Description, CreatedAt: fieldmark.At(now),
	}}
	row.Secret = s.vault.seal(row.ID, secret)
	if r.TTLSeconds > 0 {
		ends := fieldmark.At(now.Add(time.Duration(r.TTLSeconds) * time.Second))
		row.ExpiresAt = &ends
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := hasAccount(ctx, tx, account); err != nil {
			return err
		}
		live, err := tx.LiveEndpoints(ctx, account, now)
		if err != nil {
			return err
		}
		if len(live) >= MaxEndpoints {
			return invalid([]fieldmark.FieldError{{Pointer: "", Code: "conflict",
				Detail: fmt.Sprintf("an account has at most %d endpoints", MaxEndpoints)}})
		}
		return tx.AddEndpoint(ctx, &row)
	})
	if err != nil {
		return none, fmt.Errorf("create an endpoint: %w", err)
	}
	return fieldmark.NewEndpoint{Endpoint: row.Endpoint, Secret: secret}, nil
}

// checkEndpoint returns the complaints about an endpoint that need no network,
// and fills in what it did not say.
func checkEndpoint(r *fieldmark.EndpointRequest) []fieldmark.FieldError {
	var bad complaints
	if r.URL == "" || len(r.URL) > maxEndpointURL {
		bad.add("/url", "range", fmt.Sprintf("must have 1 to %d bytes", maxEndpointURL))
	}
	if len(r.Events) == 0 {
		r.Events = []string{fieldmark.AllMissionEvents}
	}
	if len(r.Events) > maxEventPatterns {
		bad.add("/events", "too_long", fmt.Sprintf("at most %d patterns", maxEventPatterns))
	}
	for i, p := range r.Events {
		if !fieldmark.ValidEventPattern(p) {
			bad.add(fmt.Sprintf("/events/%d", i), "enum", "must be an event type, a kind and .*, or *")
		} else if slices.Contains(r.Events[:i], p) {
			bad.add(fmt.Sprintf("/events/%d", i), "conflict", "is there twice")
		}
	}
	if utf8.RuneCountInString(r.Description) > maxEndpointNote || !plain(r.Description, false) {
		bad.add("/description", "too_long", fmt.Sprintf("must have at most %d characters and no control characters", maxEndpointNote))
	}
	if r.TTLSeconds < 0 || time.Duration(r.TTLSeconds)*time.Second > maxEndpointTTL {
		bad.add("/ttlSeconds", "range", fmt.Sprintf("must be 0 to %d", maxEndpointTTL/time.Second))
	}
	return bad
}

// Endpoints lists the endpoints that are neither deleted nor expired, the newest
// first.
func (s *Service) Endpoints(ctx context.Context) ([]fieldmark.Endpoint, error) {
	rows, err := s.store.Endpoints(ctx, time.Now(), MaxEndpointList)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Endpoint, len(rows))
	for i, e := range rows {
		list[i] = e.Endpoint
	}
	return list, nil
}

// DeleteEndpoint ends an endpoint; what was due to it is given up.
func (s *Service) DeleteEndpoint(ctx context.Context, id string) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		there, err := tx.EndEndpoint(ctx, id, reasonDeleted, time.Now())
		if err == nil && !there {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such endpoint")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete an endpoint: %w", err)
	}
	return nil
}

// endExpired ends endpoints whose time is over.
func (s *Service) endExpired(ctx context.Context) error {
	now := time.Now()
	ids, err := s.store.ExpiredEndpoints(ctx, now, maxExpiredAtOnce)
	if err != nil || len(ids) == 0 {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, id := range ids {
			if _, err := tx.EndEndpoint(ctx, id, reasonExpired, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Deliveries lists up to limit deliveries, the newest first.
func (s *Service) Deliveries(ctx context.Context, limit int) ([]fieldmark.Delivery, error) {
	if limit <= 0 || limit > MaxDeliveries {
		limit = MaxDeliveries
	}
	return s.store.Deliveries(ctx, limit)
}
