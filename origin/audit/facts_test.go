package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// TestVocabulary: every fact has a description, and the list is sorted by id.
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
