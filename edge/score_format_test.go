package edge_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestScoreFormat: the form of a score document does not change without its version
// in edge/score.go. Nodes of two programs that share a Redis would read each other's.
func TestScoreFormat(t *testing.T) {
	const version, want = "9", "c82971673998ab89"
	var form strings.Builder
	describe(&form, reflect.TypeFor[fieldmark.Score](), map[reflect.Type]bool{})
	sum := sha256.Sum256([]byte(form.String()))
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("the form of version %s is %s, want %s: raise scoreFormat, and both constants here", version, got,
			want)
	}
}

// describe writes the fields of a type and of the types in it.
func describe(w *strings.Builder, typ reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintln(w, typ)
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		describe(w, typ.Elem(), seen)
	case reflect.Map:
		describe(w, typ.Key(), seen)
		describe(w, typ.Elem(), seen)
	case reflect.Struct:
		if seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			fmt.Fprintln(w, f.Name, f.Tag.Get("json"))
			describe(w, f.Type, seen)
		}
	}
}
