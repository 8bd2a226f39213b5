package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// A brand that is renamed keeps the value of every column of its row. A migration that adds a column must add it here
// and to RenameBrand.
func TestRenameKeepsEveryColumn(t *testing.T) {
	cfg := storetest.New(t)
	s := open(t, cfg)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutBrand(ctx, fieldmark.Brand{Slug: "acme", Name: "Acme", URL: "https://acme.example/",
			Niche: "tools", Language: "en", Description: "Anvils", Public: true, CreatedAt: fieldmark.At(minutes(0)),
			UpdatedAt: fieldmark.At(minutes(0))})
	})
	storetest.Exec(t, cfg, `INSERT INTO facts (digest, body, created_at) VALUES ('d', '{}', 1)`,
		`UPDATE brand SET facts_digest = 'd', facts_at = 1, audit_due = 2, audit_rules = 'r', audit_refusals = 3,
			domains = 'acme.example', unlisted_at = 4`)
	before, err := s.BrandRow(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	for column, value := range before {
		if text := fmt.Sprint(value); text == "" || text == "0" || text == "<nil>" {
			t.Errorf("column %s is %q: the test must set it", column, text)
		}
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.RenameBrand(ctx, "acme", "anvils", fieldmark.At(minutes(1)))
	})
	after, err := s.BrandRow(t.Context(), "anvils")
	if err != nil {
		t.Fatal(err)
	}
	delete(after, "slug")
	delete(after, "updated_at")
	for column, value := range after {
		if value != before[column] {
			t.Errorf("column %s of a renamed brand is %v, was %v", column, value, before[column])
		}
	}
}
