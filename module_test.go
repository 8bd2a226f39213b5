package fieldmark_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestCheckSigned checks that a module is accepted only with a valid signature of a
// trusted key.
func TestCheckSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	digest := fieldmark.DigestOf(sha256.Sum256([]byte("module")))
	other := fieldmark.DigestOf(sha256.Sum256([]byte("another")))
	keys := []fieldmark.ModuleKey{fieldmark.ModuleKeyOf(public)}
	good, foreign := fieldmark.SignModule(digest, private), fieldmark.SignModule(digest, stranger)
	moved, broken := fieldmark.SignModule(other, private), good
	moved.Digest = digest
	broken.Signature = strings.Repeat("A", 86) + "=="
	for _, tt := range []struct {
		name      string
		signature *fieldmark.ModuleSignature
		keys      []fieldmark.ModuleKey
		want      string // in the error; empty: accepted
	}{
		{"no keys, no signature", nil, nil, ""},
		{"no keys, any signature", &foreign, nil, ""},
		{"signed", &good, keys, ""},
		{"unsigned", nil, keys, "is not signed"},
		{"by a stranger", &foreign, keys, "not trusted here"},
		{"of another module", &moved, keys, "does not hold"},
		{"broken", &broken, keys, "does not hold"},
	} {
		err := fieldmark.CheckSigned(digest, tt.signature, tt.keys)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) ||
			!fieldmark.IsCode(err, fieldmark.CodeModuleRefused)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, bad := range []string{"", "ed25519:", "ed25519:AAAA", string(keys[0])[8:], string(keys[0]) + "="} {
		if _, err := fieldmark.ParseModuleKey(bad); err == nil {
			t.Errorf("key %q was accepted", bad)
		}
	}
	if k, err := fieldmark.ParseModuleKey(string(keys[0])); err != nil || k != keys[0] {
		t.Errorf("key %s: %q, %v", keys[0], k, err)
	}
}

// TestAdvise checks that the advice contains the exact gain of each full mark, the
// largest first.
func TestAdvise(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	facts := &fieldmark.Facts{AsOf: fieldmark.At(now), Pages: 10}
	signal := func(id string, max int, mark fieldmark.Milli, state fieldmark.FactState) fieldmark.Signal {
		return fieldmark.Signal{ID: id, Label: id, Status: state, Points: fieldmark.Milli(max) * mark, Max: max,
			Advice: "do " + id}
	}
	components := []fieldmark.Component{{ID: "all", Weight: 100, Signals: []fieldmark.Signal{
		signal("full", 40, 1000, fieldmark.Measured),
		signal("half", 30, 500, fieldmark.Measured),
		signal("none", 20, 0, fieldmark.Measured),
		signal("apart", 10, 0, fieldmark.NotApplicable),
	}}}
	a := fieldmark.Judge(components, []fieldmark.Gate{}, facts, now)
	gains := a.Advise(now)
	if len(gains) != 2 || gains[0].ID != "none" || gains[1].ID != "half" || gains[0].Gain != 22_200 ||
		gains[1].Gain != 16_700 ||
		gains[0].Score != *a.Score+gains[0].Gain || gains[0].Advice != "do none" {
		t.Errorf("from %v: %+v", a.Score, gains)
	}
	if components[0].Signals[1].Points != 15_000 {
		t.Error("the assessment was changed")
	}
	capped := fieldmark.Judge(components, []fieldmark.Gate{{ID: "g", Limit: 10}}, facts, now)
	if gains := capped.Advise(now); len(gains) != 0 {
		t.Errorf("under a gate that decides: %+v", gains)
	}
	none := fieldmark.PendingAssessment()
	if gains := none.Advise(now); gains == nil || len(gains) != 0 {
		t.Errorf("without a score: %v", gains)
	}
}
