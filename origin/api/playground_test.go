package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/playground"
)

// TestPlayground: each call needs no key and reaches the runner as what its media type says; a mistake of a
// card has its line in the problem document; bodies are limited.
func TestPlayground(t *testing.T) {
	var got playground.Input
	run := func(_ context.Context, in playground.Input) (json.RawMessage, error) {
		got = in
		if string(in.Body) == "bad" {
			return nil, &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Fields: []fieldmark.FieldError{
				{Pointer: "/inputs/0", Code: "format", Detail: "inputs[0] is bad", Line: 3, Column: 5}}}
		}
		return json.RawMessage(`{"problems":[]}`), nil
	}
	fx := openFixture(t, storetest.New(t), nil, func(c *origin.Config) { c.Playground = run })
	for _, tt := range []struct {
		path, kind, body string
		want             playground.Kind
		code             fieldmark.Code
	}{
		{"cards", "application/json", "{}", playground.KindCardJSON, ""},
		{"cards", "application/yaml", "a: 1", playground.KindCardYAML, ""},
		{"cards", "application/yaml", "bad", "", fieldmark.CodeValidationFailed},
		{"cards", "application/wasm", "\x00asm", "", fieldmark.CodeUnsupportedMediaType},
		{"cards", "application/json", strings.Repeat(" ", playground.MaxCard+1), "", fieldmark.CodeBodyTooLarge},
		{"modules", "application/wasm", "\x00asm", playground.KindModule, ""},
		{"modules", "application/json", "{}", "", fieldmark.CodeUnsupportedMediaType},
		{"modules", "application/wasm", strings.Repeat(" ", fieldmark.MaxAnyModule+1), "", fieldmark.CodeBodyTooLarge},
		{"calls", "application/json", `{"module":"AGFzbQ==","values":[1000],"states":"1"}`, playground.KindCall, ""},
		{"calls", "application/json", `{"module":"AGFzbQ==","values":[1000],"states":"9"}`, "",
			fieldmark.CodeValidationFailed},
		{"calls", "application/json", `{"module":7}`, "", fieldmark.CodeValidationFailed},
	} {
		r := request{method: http.MethodPost, path: fieldmark.PathPlayground + tt.path, body: tt.body,
			header: map[string]string{"Content-Type": tt.kind}}
		if tt.code == "" {
			var report playground.Report
			fx.mustSend(http.StatusOK, r, &report)
			if got.Kind != tt.want {
				t.Errorf("%s as %s ran as %q, want %q", tt.path, tt.kind, got.Kind, tt.want)
			}
			continue
		}
		p := fx.problem(fx.send(r))
		if p.Code != tt.code {
			t.Errorf("%s as %s, %.20q: %s, want %s", tt.path, tt.kind, tt.body, p.Code, tt.code)
		}
		if tt.body == "bad" && (len(p.Errors) != 1 || p.Errors[0].Line != 3 || p.Errors[0].Column != 5) {
			t.Errorf("the mistakes of a card: %+v", p.Errors)
		}
	}
	if p := newFixture(t, nil); p.problem(p.send(request{method: http.MethodPost,
		path: fieldmark.PathPlayground + "cards", body: "{}",
		header: map[string]string{"Content-Type": "application/json"}})).Code != fieldmark.CodeModuleDisabled {
		t.Error("a server without a runner compiles cards")
	}
}
