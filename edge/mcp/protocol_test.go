package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// host is a Host with one brand, whose texts a test chooses.
type host struct {
	mcp.Host // what a test does not expect panics

	score fieldmark.Score
	calls []mcp.Call
	reply func(*mcp.Call) (*mcp.Answer, error)
}

func (h *host) Admit(*fasthttp.RequestCtx) error { return nil }

func (h *host) LimitKey(_ *fasthttp.RequestCtx, _ bool, next func()) error { next(); return nil }

func (h *host) Slug(brand string) (fieldmark.Slug, error) {
	if !strings.HasPrefix(brand, "acme") {
		return "", fieldmark.Errorf(fieldmark.CodeNotFound, "no public brand has this slug")
	}
	return fieldmark.Slug(brand), nil
}

func (h *host) Score(*fasthttp.RequestCtx, fieldmark.Slug) (*mcp.Document, *fieldmark.Rank, error) {
	d, err := mcp.NewScore(&h.score)
	return d, &fieldmark.Rank{Overall: 1, OverallLast: 2, Of: 3, Niche: 1, NicheLast: 1, OfNiche: 1}, err
}

func (h *host) FullScore(_ *fasthttp.RequestCtx, slug fieldmark.Slug, _ string) (*fieldmark.Score, error) {
	score := h.score
	score.Slug = slug
	return &score, nil
}

func (h *host) Search(string, int) (*ranking.Found, error) {
	return &ranking.Found{Unranked: []ranking.Unranked{{Slug: "acme", Name: h.score.Name}}, UnrankedTotal: 1}, nil
}

func (h *host) Call(_ *fasthttp.RequestCtx, c *mcp.Call) (*mcp.Answer, error) {
	h.calls = append(h.calls, *c)
	return h.reply(c)
}

const (
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}`
	modernHead = "MCP-Protocol-Version: 2026-07-28\nMcp-Method: %s"
)

// exchange sends a request whose fields are given as lines, and returns the answer.
func exchange(t *testing.T, s *mcp.Server, method, fields, body string) (status int, header *fasthttp.ResponseHeader,
	answer string) {
	t.Helper()
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.SetMethod(method)
	ctx.Request.Header.SetContentType("application/json")
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		ctx.Request.Header.Add(name, value)
	}
	ctx.Request.SetBodyString(body)
	s.Serve(ctx)
	answer = string(ctx.Response.Body())
	if answer != "" && !json.Valid([]byte(answer)) {
		t.Fatalf("%s %s: answer is not JSON: %s", fields, body, answer)
	}
	return ctx.Response.StatusCode(), &ctx.Response.Header, answer
}

func newServer(h *host) *mcp.Server {
	return mcp.New(mcp.Config{Host: h, BaseURL: "https://fieldmark.example", Origins: []string{"https://app.example"},
		Mode: mcp.On, Version: "1.2.3"})
}

// TestProtocol holds the answers of both eras against the specification of 2026-07-28.
func TestProtocol(t *testing.T) {
	s := newServer(&host{score: fieldmark.Score{Slug: "acme", Name: "Acme"}})
	modern := func(method string) string { return fmt.Sprintf(modernHead, method) }
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
	}
	call := `"name":"score","arguments":{"brand":"acme"},` + modernMeta
	for _, tt := range []struct {
		name, fields, body string
		status             int
		want               string // in the answer; after ! what must not be there
	}{
		{"discover", modern("server/discover"), request("server/discover", modernMeta), 200,
			`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`},
		{"discover may be cached", modern("server/discover"), request("server/discover", modernMeta), 200,
			`"ttlMs":3600000,"cacheScope":"public","resultType":"complete"`},
		{"tools/list", modern("tools/list"), request("tools/list", modernMeta), 200, `"cacheScope":"public"`},
		{"call", modern("tools/call") + "\nMcp-Name: score", request("tools/call", call), 200,
			`"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fieldmark"`},
		{"Base64 name", modern("tools/call") + "\nMcp-Name: =?base64?c2NvcmU=?=", request("tools/call", call), 200,
			`"rank":{"overall":1,"overallLast":2,"of":3,`},
		{"bad Base64", modern("tools/call") + "\nMcp-Name: =?base64?c2NvcmU?=", request("tools/call", call), 400,
			`-32020`},
		{"name missing", modern("tools/call"), request("tools/call", call), 400, `-32020`},
		{"name differs", modern("tools/call") + "\nMcp-Name: method", request("tools/call", call), 400, `-32020`},
		{"name twice", modern("tools/call") + "\nMcp-Name: score\nMcp-Name: score", request("tools/call", call), 400,
			`-32020`},
		{"method differs", modern("tools/list"), request("tools/call", call), 400, `-32020`},
		{"method missing", "MCP-Protocol-Version: 2026-07-28", request("tools/list", modernMeta), 400, `-32020`},
		{"version missing", "Mcp-Method: tools/list", request("tools/list", modernMeta), 400, `-32020`},
		{"version differs", "MCP-Protocol-Version: 2025-11-25\nMcp-Method: tools/list",
			request("tools/list", modernMeta),
			400, `-32020`},
		{"version twice", modern("tools/list") + "\nMCP-Protocol-Version: 2025-11-25",
			request("tools/list", modernMeta),
			400, `-32020`},
		{"version unknown", "MCP-Protocol-Version: 1900-01-01\nMcp-Method: tools/list",
			strings.ReplaceAll(request("tools/list", modernMeta), "2026-07-28", "1900-01-01"), 400,
			`"code":-32022,"message":"Unsupported protocol version","data":{"requested":"1900-01-01","supported":["`},
		{"version unknown, header alone", "MCP-Protocol-Version: 1900-01-01", request("ping", ""), 400, `-32022`},
		{"meta missing", modern("tools/list"), request("tools/list", ""), 400, `"id":7,"error":{"code":-32602`},
		{"capabilities missing", modern("tools/list"), request("tools/list",
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), 400, `-32602`},
		{"unknown method", modern("prompts/list"), request("prompts/list", modernMeta), 404, `-32601`},
		{"initialize is of the past", modern("initialize"), request("initialize", modernMeta), 404, `-32601`},
		{"unknown tool", modern("tools/call") + "\nMcp-Name: x",
			request("tools/call", strings.Replace(call, "score", "x", 1)), 400, `-32602`},

		{"initialize", "", request("initialize", `"protocolVersion":"2025-06-18"`), 200,
			`"protocolVersion":"2025-06-18"`},
		{"initialize, newer", "", request("initialize", `"protocolVersion":"2027-01-01"`), 200,
			`"protocolVersion":"2025-11-25"`},
		{"legacy has no new members", "MCP-Protocol-Version: 2025-11-25", request("tools/list", ""), 200,
			`!resultType`},
		{"legacy list has no ttl", "", request("tools/list", ""), 200, `!ttlMs`},
		{"legacy call", "", request("tools/call", `"name":"score","arguments":{"brand":"acme"}`), 200, `!_meta`},
		{"ping", "MCP-Protocol-Version: 2025-11-25", request("ping", ""), 200, `"result":{}`},
		{"notification", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ``},
		{"legacy unknown method", "", request("prompts/list", ""), 200, `-32601`},
		{"discover is modern", "", request("server/discover", ""), 200, `-32601`},
		{"legacy unknown tool", "", request("tools/call", `"name":"x"`), 200, `-32602`},

		{"batch", "", `[` + request("ping", "") + `]`, 400, `-32600`},
		{"not JSON", "", `{"jsonrpc":`, 400, `-32700`},
		{"empty", "", ``, 400, `-32700`},
		{"not UTF-8", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", 400, `-32700`},
		{"method twice", "", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400, `-32600`},
		{"method twice, escaped", "", `{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"x"}`, 400, `-32600`},
		{"name twice", "", request("tools/call", `"name":"score","name":"method"`), 400, `-32602`},
		{"id null", "", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, `-32600`},
		{"id too long", "", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 130) + `","method":"ping"}`, 400, `-32600`},
		{"no id", "", `{"jsonrpc":"2.0","method":"tools/list"}`, 400, `-32600`},
		{"JSON-RPC 1", "", `{"id":1,"method":"ping"}`, 400, `-32600`},
		{"response", "", `{"jsonrpc":"2.0","id":1,"result":{}}`, 400, `-32600`},
		{"params a list", "", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, 400, `-32602`},
		{"arguments a list", "", request("tools/call", `"name":"score","arguments":[]`), 400, `-32602`},
		{"deep", "", request("ping", `"x":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)), 200, `"result":{}`},
		{"another page", "Origin: https://evil.example", request("ping", ""), 403, `-32600`},
		{"two origins", "Origin: https://app.example\nOrigin: https://evil.example", request("ping", ""), 403,
			`-32600`},
		{"own page", "Origin: https://fieldmark.example", request("ping", ""), 200, `"result":{}`},
		{"admitted page", "Origin: https://APP.example", request("ping", ""), 200, `"result":{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, h, answer := exchange(t, s, "POST", tt.fields, tt.body)
			want, not := strings.CutPrefix(tt.want, "!")
			if status != tt.status || strings.Contains(answer, want) == not || tt.want == "" && answer != "" {
				t.Errorf("%s\n%s\nanswered %d %s, want %d %s", tt.fields, tt.body, status, answer, tt.status, tt.want)
			}
			if h.Peek("Mcp-Session-Id") != nil {
				t.Error("a session was begun")
			}
		})
	}
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		if status, h, _ := exchange(t, s, method, "", ""); status != 405 || string(h.Peek("Allow")) != "POST, OPTIONS" {
			t.Errorf("%s: %d, Allow %q", method, status, h.Peek("Allow"))
		}
	}
	if status, h, _ := exchange(t, s, "OPTIONS", "Origin: https://app.example", ""); status != 204 ||
		!strings.Contains(string(h.Peek("Access-Control-Allow-Headers")), "Mcp-Name") {
		t.Errorf("preflight: %d\n%s", status, h)
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.Header.SetContentType("text/plain") // which a browser sends without asking
	ctx.Request.SetBodyString(request("ping", ""))
	if s.Serve(ctx); ctx.Response.StatusCode() != 415 {
		t.Errorf("text/plain: %d", ctx.Response.StatusCode())
	}
}

// TestTools holds the table of tools to what clients rely on.
func TestTools(t *testing.T) {
	want := "score compare history leaderboard find_brand method llms_write llms_lint check_site mission_open " +
		"mission_find mission_edit mission_move mission_cancel"
	var names []string
	for _, tool := range mcp.Tools() {
		names = append(names, tool.Name)
		if writes := strings.HasPrefix(tool.Name, "mission_") && tool.Name != "mission_find"; writes &&
			tool.Annotations.ReadOnly {
			t.Errorf("%s is marked as reading", tool.Name)
		}
		for _, schema := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			var s struct{ Type string }
			if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" {
				t.Errorf("%s: schema %s: %v", tool.Name, schema, err)
			}
		}
		if !strings.Contains(string(tool.InputSchema), `"https://json-schema.org/draft/2020-12/schema"`) {
			t.Errorf("%s: the input schema names no dialect", tool.Name)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
}

func FuzzServe(f *testing.F) {
	s := newServer(&host{score: fieldmark.Score{Slug: "acme"}})
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"score","arguments":{"brand":"acme"}}}`)
	f.Add(`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{},"x":[1,"]",{"}":"\""}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		status, _, answer := exchange(t, s, "POST", "", body)
		if status == 200 && !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":`) {
			t.Errorf("%q: %d %s", body, status, answer)
		}
	})
}
