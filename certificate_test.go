package fieldmark_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestValidDNSName checks which names a certificate can be ordered for.
func TestValidDNSName(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, want := range map[string]bool{
		"marks.example.org": true, "localhost": true, "xn--bcher-kva.example": true, "1.example": true,
		"a." + long: true, "a." + long + "a": false, strings.Repeat(long+".", 4) + "a": false,
		"": false, ".": false, "example.": false, ".example": false, "*.example.org": false, "Example.org": false,
		"192.0.2.1": false, "-a.example": false, "a-.example": false, "a_b.example": false, "bücher.example": false,
		"a b.example": false, "a.example:443": false,
	} {
		if got := fieldmark.ValidDNSName(name); got != want {
			t.Errorf("ValidDNSName(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestDaysUntil checks that a certificate that expires within the day has 0 days left, and
// an expired one fewer.
func TestDaysUntil(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]int{
		0: 0, 23 * time.Hour: 0, 24 * time.Hour: 1, 49 * time.Hour: 2, -time.Second: -1, -25 * time.Hour: -2,
	} {
		if got := fieldmark.DaysUntil(now.Add(after), now); got != want {
			t.Errorf("DaysUntil(now%+v) = %d, want %d", after, got, want)
		}
	}
}
