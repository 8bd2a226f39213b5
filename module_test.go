package fieldmark_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"strings"
	"testing"

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
