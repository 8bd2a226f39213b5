package monitor_test

import (
	"context"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

func (in *installation) brand() {
	in.t.Helper()
	if _, _, err := in.Brands.Put(in.t.Context(), fieldmark.Brand{Slug: "acme", Name: "Acme",
		URL:   "https://acme.example",
		Niche: "shops", Language: "en", Public: true}); err != nil {
		in.t.Fatal(err)
	}
}

// openMission opens a mission that must be answered in 15 minutes.
func (in *installation) openMission(id string) fieldmark.Mission {
	in.t.Helper()
	m, _, err := in.Missions.Create(in.t.Context(), access.DefaultAccount, fieldmark.MissionRequest{ExternalID: id,
		Source: "crm", Title: "t", Priority: fieldmark.PriorityCritical})
	if err != nil {
		in.t.Fatal(err)
	}
	return m
}

func (in *installation) complete(id string) func() {
	return func() { must[fieldmark.Mission](in.t)(in.Missions.Complete(in.t.Context(), id)) }
}

// waiting opens a mission and lets a time pass while the timers run.
func (in *installation) waiting(d time.Duration) (clear func()) {
	m := in.openMission("1")
	in.runTimers(d)
	return in.complete(m.ID)
}

// runTimers lets a time pass while the timers and all other jobs run.
func (in *installation) runTimers(d time.Duration) {
	ctx, cancel := context.WithCancel(in.t.Context())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	time.Sleep(d)
	cancel()
	if err := <-done; err != nil {
		in.t.Error(err)
	}
}

// certificate stores a certificate and returns what deletes it.
func (in *installation) certificate(c store.Certificate) (clear func()) {
	in.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddCertificate(ctx, c.Name, time.Now())
		c.Challenge = "http-01"
		_, uerr := tx.UpdateCertificate(ctx, c, "")
		return errors.Join(err, uerr)
	})
	return func() {
		in.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteCertificate(ctx, c.Name) })
	}
}
