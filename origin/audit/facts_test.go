package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// TestVocabulary expects a meaning for every fact, in the order of their ids.
func TestVocabulary(t *testing.T) {
	all := audit.Vocabulary()
	if !slices.IsSortedFunc(all, func(a, b audit.FactDescription) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not sorted by id")
	}
	for _, k := range all {
		if k.Meaning == "" || k.Unit == "" {
			t.Errorf("%s: unit %q, meaning %q", k.ID, k.Unit, k.Meaning)
		}
	}
}
