package observe_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/audit/observe"
)

// say writes a statement in the order of its names.
func say(s *observe.Statement) string {
	if s == nil {
		return "nothing"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		parts = append(parts, fmt.Sprintf("%s=%t", name, s.Values[name]))
	}
	return strings.Join(parts, " ")
}

func TestRobots(t *testing.T) {
	tests := []struct{ name, body, path, signal, usage, licenses string }{
		{"empty", "", "/", "nothing", "nothing", ""},
		{"all of it", "License: https://a.example/l.xml\nUser-agent: *\nAllow: /\nContent-Signal: search=yes, " +
			"ai-input=no,ai-train=no\nContent-Usage: train-ai=n, search=y", "/",
			"ai-input=false ai-train=false search=true", "search=true train-ai=false", "https://a.example/l.xml"},
		{"key use and unknown names", "User-agent: *\nContent-Signal: use=reference, search=yes, foo=no", "/",
			"search=true", "nothing", ""},
		{"bad values", "User-agent: *\nContent-Signal: search=maybe\nContent-Usage: train-ai=no", "/", "nothing",
			"nothing", ""},
		{"a malformed dictionary", "User-agent: *\nContent-Usage: train-ai=n,,", "/", "nothing", "nothing", ""},
		{"parameters and other labels", "User-agent: *\nContent-Usage: bots=y, train-ai=y;a=1", "/", "nothing",
			"train-ai=true", ""},
		{"another crawler", "User-agent: GPTBot\nContent-Signal: search=no", "/", "nothing", "nothing", ""},
		{"a group of two crawlers", "User-agent: GPTBot\nUser-agent: *\nContent-Signal: search=no", "/",
			"search=false", "nothing", ""},
		{"a group after the group for all", "User-agent: *\nDisallow:\nUser-agent: GPTBot\nContent-Signal: search=no",
			"/", "nothing", "nothing", ""},
		{"no group", "Content-Signal: search=no", "/", "search=false", "nothing", ""},
		{"the longest path", "User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: /a train-ai=n\n" +
			"Content-Usage: /b/longer train-ai=y", "/a/x", "nothing", "train-ai=false", ""},
		{"wildcards", "User-agent: *\nContent-Usage: /*.html$ train-ai=n", "/a/b.html", "nothing", "train-ai=false",
			""},
		{"end of the path", "User-agent: *\nContent-Usage: /a$ train-ai=n", "/a/b", "nothing", "nothing", ""},
		{"comments and carriage returns", "User-agent: * # all\r\nContent-Signal: search=yes # yes\r\n", "/",
			"search=true", "nothing", ""},
		{"licences that are no address", "License: /terms\nLicense: javascript:x\nLicense: https://u:p@a.example/", "/",
			"nothing", "nothing", ""},
		{"a line that is too long", "User-agent: *\nContent-Signal: search=yes," + strings.Repeat("x", 2000), "/",
			"nothing", "nothing", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := observe.ParseRobots(tt.body, tt.path)
			if got := say(r.Signal); got != tt.signal {
				t.Errorf("Content-Signal states %s, want %s", got, tt.signal)
			}
			if got := say(r.Usage); got != tt.usage {
				t.Errorf("Content-Usage states %s, want %s", got, tt.usage)
			}
			if got := strings.Join(r.Licenses, " "); got != tt.licenses {
				t.Errorf("licences %q, want %q", got, tt.licenses)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	page := "<!doctype html><title>App</title>"
	deep := strings.Repeat("[", 100_000)
	long := `{"name":"` + strings.Repeat("x", observe.MaxDocument) + `","remotes":[],"url":"https://a.example/"}`
	typed := func(t string) http.Header { return http.Header{"Content-Type": {t}} }
	tests := []struct{ name, got, want string }{
		{"card", observe.Card([]byte(`{"name":"io.a/b","remotes":[]}`)), "io.a/b"},
		{"card without remotes", observe.Card([]byte(`{"name":"io.a/b"}`)), ""},
		{"catalogue", observe.Card([]byte(`{"entries":[{"type":"application/a2a-agent-card+json","url":"x"},` +
			`{"type":"application/mcp-server-card+json","displayName":"Shop","url":"y"}]}`)), "Shop"},
		{"catalogue without a server", observe.Card([]byte(`{"entries":[{"type":"text/plain","url":"x"}]}`)), ""},
		{"page as a card", observe.Card([]byte(page)), ""},
		{"wrong type in a card", observe.Card([]byte(`{"name":1,"remotes":[]}`)), ""},
		{"nested card", observe.Card([]byte(deep)), ""},
		{"long card", observe.Card([]byte(long)), ""},
		{"cut card", observe.Card([]byte(`{"name":"a","remotes":[`)), ""},
		{"agent", observe.AgentCard([]byte(`{"name":"A","url":"https://a.example/"}`)), "A"},
		{"agent of 1.0", observe.AgentCard([]byte(`{"name":"A","supportedInterfaces":[{"url":"x"}]}`)), "A"},
		{"agent without an address", observe.AgentCard([]byte(`{"name":"A"}`)), ""},
		{"long agent", observe.AgentCard([]byte(long)), ""},
		{"catalogue of APIs", fmt.Sprint(observe.APICatalog(typed(observe.TypeAPICatalog+"; charset=utf-8"),
			[]byte(`{"linkset":[{"anchor":"https://a.example/"}]}`))), "1"},
		{"catalogue of APIs of another type", fmt.Sprint(observe.APICatalog(typed("application/json"),
			[]byte(`{"linkset":[{"anchor":"https://a.example/"}]}`))), "0"},
		{"terms", fmt.Sprint(observe.RSL([]byte(`<?xml version="1.0"?><!-- x -->` +
			`<rsl xmlns="https://rslstandard.org/rsl"/>`))), "true"},
		{"terms of another namespace", fmt.Sprint(observe.RSL([]byte(`<rsl xmlns="https://a.example/"/>`))), "false"},
		{"page as terms", fmt.Sprint(observe.RSL([]byte(page))), "false"},
		{"entities in terms", fmt.Sprint(observe.RSL([]byte(`<!DOCTYPE rsl [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` +
			`<rsl xmlns="&b;"/>`))), "false"},
		{"endless prolog", fmt.Sprint(observe.RSL([]byte(strings.Repeat("<!-- -->", 1000)))), "false"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	header := http.Header{"Content-Type": {observe.TypeKeys}, "Signature": {"s=:YQ==:"}, "Signature-Input": {"s=()"}}
	for _, tt := range []struct {
		name   string
		header http.Header
		body   string
		keys   int
		signed bool
	}{
		{"signed", header, `{"keys":[{"kty":"OKP"},{}]}`, 1, true},
		{"unsigned", http.Header{"Content-Type": {observe.TypeKeys}}, `{"keys":[{"kty":"OKP"}]}`, 1, false},
		{"no key", header, `{"keys":[]}`, 0, false},
		{"another type", http.Header{"Content-Type": {"application/json"}}, `{"keys":[{"kty":"OKP"}]}`, 0, false},
		{"no JSON", header, `<html>`, 0, false},
	} {
		if keys, signed := observe.Keys(tt.header, []byte(tt.body)); keys != tt.keys || signed != tt.signed {
			t.Errorf("%s: %d keys, signed %t; want %d, %t", tt.name, keys, signed, tt.keys, tt.signed)
		}
	}
}

func TestTDM(t *testing.T) {
	for _, tt := range []struct {
		name, body, path string
		reserved, valid  bool
	}{
		{"all", `[{"location":"/","tdm-reservation":1}]`, "/", true, true},
		{"first match", `[{"location":"/open/*","tdm-reservation":0},{"location":"/","tdm-reservation":1}]`,
			"/open/a", false, true},
		{"another path", `[{"location":"/closed","tdm-reservation":1}]`, "/", false, true},
		{"no rule", `[]`, "/", false, false},
		{"an object", `{"location":"/"}`, "/", false, false},
		{"not a number", `[{"location":"/","tdm-reservation":"yes"}]`, "/", false, false},
	} {
		if reserved, valid := observe.TDM([]byte(tt.body), tt.path); reserved != tt.reserved || valid != tt.valid {
			t.Errorf("%s: reserved %t, valid %t; want %t, %t", tt.name, reserved, valid, tt.reserved, tt.valid)
		}
	}
}

// FuzzObserve: no input panics, takes long, or yields more than the limits.
func FuzzObserve(f *testing.F) {
	f.Add("User-agent: *\nContent-Usage: /a*b*c$ train-ai=n\nLicense: https://a.example/", "/a")
	f.Add(`{"name":"a","remotes":[],"entries":[{"type":"mcp-server"}],"linkset":[{}],"keys":[{"kty":"a"}]}`, "/")
	f.Add(`[{"location":"/*","tdm-reservation":1}]`, "/")
	f.Add(`<rsl xmlns="https://rslstandard.org/rsl">`, "/")
	f.Fuzz(func(t *testing.T, body, path string) {
		start := time.Now()
		if r := observe.ParseRobots(body, path); len(r.Licenses) > 5 {
			t.Errorf("%d licences", len(r.Licenses))
		}
		for _, kind := range []string{observe.TypeKeys, observe.TypeAPICatalog} {
			header := http.Header{"Content-Type": {kind}}
			observe.Keys(header, []byte(body))
			observe.APICatalog(header, []byte(body))
		}
		observe.Card([]byte(body))
		observe.AgentCard([]byte(body))
		observe.TDM([]byte(body), path)
		observe.RSL([]byte(body))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %s", took)
		}
	})
}
