package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/store"
)

// TestCertificatesPage shows a certificate whose renewal is limited by the CA, one that is
// valid, and one that was never issued.
func TestCertificatesPage(t *testing.T) {
	b := newBrowser(t, true)
	b.signIn()
	b.page("/admin/certificates", "This installation orders no certificates")
	now := time.Now()
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for _, c := range []store.Certificate{
			{Name: "limited.example", Source: "acme", Chain: "x", Key: "y", NotBefore: now.Add(-80 * 24 * time.Hour),
				NotAfter: now.Add(9*24*time.Hour + time.Hour), RenewAt: now.Add(-time.Hour), Failures: 3,
				LastError: "too many <certificates>", DueAt: now.Add(2 * time.Hour),
				LimitedUntil: now.Add(2 * time.Hour)},
			{Name: "valid.example", Source: "acme", Chain: "x", Key: "y", NotBefore: now,
				NotAfter: now.Add(61*24*time.Hour + time.Hour), RenewAt: now.Add(30 * 24 * time.Hour)},
			{Name: "own.example", Source: "imported", Chain: "x", Key: "y", NotBefore: now.Add(-86 * 24 * time.Hour),
				NotAfter: now.Add(4*24*time.Hour + time.Hour)},
			{Name: "new.example", Source: "acme", DueAt: now},
		} {
			if _, err := tx.AddCertificate(ctx, c.Name, now); err != nil {
				return err
			}
			if _, err := tx.UpdateCertificate(ctx, c, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.page("/admin/certificates", `>rate limited</span>`,
		`<td data-label="Days left" class="number">9</td>`, "too many &lt;certificates&gt;",
		"failures in a row: 3", "rate limited until then", `>valid</span>`,
		`<td data-label="Days left" class="number">61</td>`,
		`>expires soon</span>`, "imported, not renewed", `>waiting</span>`, "Orders in the last hour: 0 of 10",
		"/admin/certificates/limited.example/renew")
}
