package fieldmark_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

func TestKeyToken(t *testing.T) {
	token := fieldmark.NewKeyToken("AbC12xYz", strings.Repeat("k7", 16))
	s := token.String()
	if !regexp.MustCompile(`^fm_(live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$`).MatchString(s) {
		t.Errorf("token %q does not match the published pattern", s)
	}
	back, err := fieldmark.ParseKeyToken(s)
	if err != nil || back != token {
		t.Errorf("ParseKeyToken(%q) = %v, %v", s, back, err)
	}
	if got, want := back.Public(), "fm_live_AbC12xYz"; got != want {
		t.Errorf("Public = %q, want %q", got, want)
	}
	for i := range s {
		wrong := s[:i] + string('#') + s[i+1:]
		if _, err := fieldmark.ParseKeyToken(wrong); !fieldmark.IsCode(err, fieldmark.CodeInvalidAPIKey) {
			t.Errorf("ParseKeyToken(%q) = %v, want invalid_api_key", wrong, err)
		}
	}
}

func FuzzKeyToken(f *testing.F) {
	f.Add(fieldmark.NewKeyToken("AbC12xYz", strings.Repeat("k7", 16)).String())
	f.Add("fm_live_")
	f.Fuzz(func(t *testing.T, s string) {
		if token, err := fieldmark.ParseKeyToken(s); err == nil && token.String() != s {
			t.Errorf("ParseKeyToken(%q) became %q", s, token)
		}
	})
}
