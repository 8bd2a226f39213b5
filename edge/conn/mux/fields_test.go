package mux_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

// TestParseUrgency parses fields Priority; those that browsers never send have the default.
func TestParseUrgency(t *testing.T) {
	for value, want := range map[string]int{
		"":                                  3,
		"i":                                 3,
		"u=1":                               1,
		"u=0, i":                            0,
		"i, u=7":                            7,
		"u=8":                               3,
		"u=12":                              3,
		strings.Repeat(",", 250) + "u=1":    1,
		strings.Repeat(",", 16_000) + "u=1": 3, // not read: each item costs time
	} {
		if got := mux.ParseUrgency(value); got != want {
			t.Errorf("%.20q of %d bytes: %d, want %d", value, len(value), got, want)
		}
	}
}
