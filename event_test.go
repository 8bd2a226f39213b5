package fieldmark_test

import (
	"testing"

	"github.com/fieldmark/fieldmark"
)

func TestMatchEvent(t *testing.T) {
	f := func(pattern string, want bool) {
		t.Helper()
		if got := fieldmark.MatchEvent(pattern, fieldmark.EventMissionCompleted); got != want {
			t.Errorf("MatchEvent(%q, mission.completed) = %v, want %v", pattern, got, want)
		}
	}
	f("mission.completed", true)
	f("mission.*", true)
	f("*", true)
	f("mission.comp*", false)
	f("miss.*", false)
	f("sla.*", false)
	f("", false)
}
