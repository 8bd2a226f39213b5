package monitor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The size of the database of BenchmarkIssues.
const (
	benchMissions  = 100_000
	benchEndpoints = 50     // the most of an account
	benchEvents    = 20_000 // each is delivered to every endpoint
)

// BenchmarkIssues measures everything that the overview reads of a database with 100,000 open
// missions and 1,000,000 deliveries, a tenth of which is held for endpoints that fail.
func BenchmarkIssues(b *testing.B) {
	in := install(b)
	in.fill()
	for name, read := range map[string]func(context.Context) error{
		"issues":   func(ctx context.Context) error { _, err := in.Monitor.Issues(ctx); return err },
		"stats":    func(ctx context.Context) error { _, err := in.Stats(ctx); return err },
		"activity": func(ctx context.Context) error { _, err := in.Activity(ctx); return err },
		"metrics": func(ctx context.Context) error {
			_, err := in.Monitor.Metrics(ctx, fieldmark.Range24h)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func (in *installation) fill() {
	var g errgroup.Group
	g.SetLimit(128) // they share transactions
	for i := range benchMissions {
		g.Go(func() error {
			_, _, err := in.Missions.Create(in.t.Context(), access.DefaultAccount, fieldmark.MissionRequest{
				ExternalID: fmt.Sprint(i), Source: "crm", Title: "t", Priority: fieldmark.PriorityHigh})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		in.t.Fatal(err)
	}
	in.url = "http://127.0.0.1:9/"
	ids := make([]string, benchEndpoints)
	for i := range ids {
		ids[i] = in.endpoint().ID
	}
	for range benchEvents / 100 {
		in.write(func(ctx context.Context, tx *store.Tx) error {
			for range 100 {
				if err := addEvent(ctx, tx, ids); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i, id := range ids {
		if i%10 == 0 {
			in.health(id, failing500+`,"circuit":"open","probeAt":"2100-01-01T00:00:00.000Z"}`,
				time.Now().Add(-time.Hour),
				time.Now().Add(time.Hour))
		}
	}
	for minute := range 24 * 60 {
		in.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddMetric(ctx, fieldmark.MetricBucket{At: fieldmark.At(time.Now().Add(-time.Duration(minute) *
				time.Minute)), MetricCounts: fieldmark.MetricCounts{Requests: 1000}, Latency: make([]int64, 16)})
		})
	}
}

// addEvent adds an event with a delivery to each endpoint, which is sent unless it is the last
// of ten endpoints.
func addEvent(ctx context.Context, tx *store.Tx, endpoints []string) error {
	now := time.Now()
	e := store.Event{Event: fieldmark.Event{ID: fieldmark.NewID(fieldmark.PrefixEvent, now), Type: fieldmark.EventPing,
		Time: fieldmark.At(now), Data: []byte("{}")}, Subject: "bench"}
	if err := tx.AppendEvent(ctx, &e); err != nil {
		return err
	}
	for _, id := range endpoints {
		to := store.Subscriber{ID: id}
		if err := tx.AddDelivery(ctx, fieldmark.NewID(fieldmark.PrefixDelivery, now), &to, e.Number, "",
			now.Add(time.Hour)); err != nil {
			return err
		}
	}
	return nil
}
