package edge_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/mcp"
)

// toolCall prepares a call of a tool as the server hands it to the handler.
func toolCall(tool, arguments string) *fasthttp.RequestCtx {
	ctx := prepared(mcp.Path)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.Header.Set("MCP-Protocol-Version", mcp.Modern)
	ctx.Request.Header.Set("Mcp-Method", "tools/call")
	ctx.Request.Header.Set("Mcp-Name", tool)
	ctx.Request.SetBodyString(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool +
		`","arguments":` + arguments + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcp.Modern +
		`","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	return ctx
}

// callTool calls a tool and returns its result.
func (h *fixture) callTool(tool, arguments string) (result map[string]any, failed bool) {
	h.t.Helper()
	ctx := toolCall(tool, arguments)
	h.edge.Handler()(ctx)
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent map[string]any
			Content           []struct{ Text string }
		}
	}
	if err := json.Unmarshal(ctx.Response.Body(), &answer); err != nil || len(answer.Result.Content) != 1 {
		h.t.Fatalf("%s %s: %v\n%s", tool, arguments, err, ctx.Response.Body())
	}
	if answer.Result.IsError {
		must(h.t, json.Unmarshal([]byte(answer.Result.Content[0].Text), &result))
		return result, true
	}
	return answer.Result.StructuredContent, false
}

// TestTools calls the tools that read, with the origin and without it.
func TestTools(t *testing.T) {
	t.Parallel()
	h := newHitFixture(t)
	h.brand("beta", "Beta", 100)
	h.catchUp()
	calls := []struct{ tool, arguments, member string }{
		{"score", `{"brand":"acme"}`, "rank"},
		{"score", `{"brand":"beta","advice":true}`, "gains"},
		{"compare", `{"brands":["acme","beta"]}`, "overlaps"},
		{"history", `{"brand":"acme","days":30}`, "points"},
		{"leaderboard", `{"limit":1}`, "nextCursor"},
		{"find_brand", `{"text":"Bet"}`, "items"},
		{"method", `{}`, "components"},
		{"llms_lint", `{"content":"# Acme\n"}`, "issues"},
		{"llms_write", `{"name":"Acme","description":"Acme sells skis to people in the Alps."}`, "content"},
	}
	check := func(when string) {
		t.Helper()
		for _, c := range calls {
			if result, failed := h.callTool(c.tool, c.arguments); failed || result[c.member] == nil {
				t.Errorf("%s: %s %s answers %v", when, c.tool, c.arguments, result)
			}
		}
	}
	check("with the origin")
	score := h.get("/api/v1/score/acme").body
	result, _ := h.callTool("score", `{"brand":"acme"}`)
	rank, err := json.Marshal(result["rank"])
	must(t, err)
	var document map[string]any
	must(t, json.Unmarshal([]byte(score), &document))
	want, err := json.Marshal(document["rank"])
	must(t, err)
	if result["score"] != document["score"] || string(rank) != string(want) {
		t.Errorf("the tool says %v %s, the API %v %s", result["score"], rank, document["score"], want)
	}
	h.down.Store(true)
	check("without the origin")
	for arguments, code := range map[string]string{`{"brand":"unknown"}`: "not_found", `{}`: "invalid_parameter",
		`{"brand":"acme","asof":"x"}`: "invalid_parameter"} {
		if result, failed := h.callTool("score", arguments); !failed || result["code"] != code {
			t.Errorf("score %s answers %v, want %s", arguments, result, code)
		}
	}
	if result, failed := h.callTool("mission_find", `{}`); !failed || result["code"] != "method_not_allowed" {
		t.Errorf("mission_find answers %v where only reading is on", result)
	}
}

// TestToolRate: calls of clients without a key are counted, and the answer says when to go on.
func TestToolRate(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(cfg *edge.Config) { cfg.RateLimit = edge.RateLimitLocal })
	const rate = 30
	began, passed := time.Now(), 0
	h.until("a call is refused", func() bool {
		result, failed := h.callTool("score", `{"brand":"x"}`)
		if !failed || result["code"] != "rate_limited" {
			passed++
			return false
		}
		if seconds, _ := result["retryAfterSeconds"].(float64); seconds < 1 {
			t.Errorf("the refused call answers %v", result)
		}
		return true
	})
	if most := rate + earned(began, rate); passed < rate || passed > most {
		t.Errorf("%d calls passed, want %d to %d", passed, rate, most)
	}
}

// TestToolAllocations holds a score from the cache to its promise, with rate limits and without.
func TestToolAllocations(t *testing.T) {
	// Of several tries the least counts: with the race detector, a sync.Pool drops values at random. Each is two
	// calls, and a client may make 60 at once.
	const most, tries = 5, 25
	for name, where := range map[string]edge.RateLimit{"unlimited": edge.RateLimitOff, "limited": edge.RateLimitLocal} {
		h := newHitFixture(t, func(cfg *edge.Config) { cfg.RateLimit = where })
		handle, ctx := h.edge.Handler(), toolCall("score", `{"brand":"acme"}`)
		check := func(who string, next func()) {
			t.Helper()
			allocs := math.Inf(1)
			for range tries {
				next()
				allocs = min(allocs, testing.AllocsPerRun(1, func() { ctx.Response.Reset(); handle(ctx) }))
			}
			if strings.Contains(string(ctx.Response.Body()), "isError") {
				t.Fatalf("%s %s: %s", name, who, ctx.Response.Body())
			}
			if allocs > most {
				t.Errorf("%s: tools/call score of %s allocates %v times, at most %d", name, who, allocs, most)
			}
		}
		client := 0
		check("clients without a key", func() { // which may make 30 calls for each network
			client++
			ctx.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(client)), Port: 1})
		})
		many := fieldmark.RateLimit{Reads: 100}
		for who, bearer := range map[string]string{"a key": h.key(many.Reads, 0),
			"a key of a group": h.groupKeys(many.Reads, many)[0]} {
			h.do("GET", fieldmark.PathMissions, "", "Authorization", bearer) // the edge records the key by it
			ctx.Request.Header.Set("Authorization", bearer)
			check(who, func() {})
		}
	}
}

// BenchmarkToolCall is a score by the tool beside the same by GET, and with rate limits.
func BenchmarkToolCall(b *testing.B) {
	h := newHitFixture(b)
	limited := newHitFixture(b, func(cfg *edge.Config) { cfg.RateLimit = edge.RateLimitLocal })
	for _, bm := range []struct {
		name string
		edge *edge.Edge
		ctx  *fasthttp.RequestCtx
	}{
		{"get", h.edge, prepared("/api/v1/score/acme")},
		{"tool", h.edge, toolCall("score", `{"brand":"acme"}`)},
		{"limited", limited.edge, toolCall("score", `{"brand":"acme"}`)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			handle, client, calls := bm.edge.Handler(), &net.TCPAddr{IP: make(net.IP, net.IPv4len)}, uint32(0)
			b.ReportAllocs()
			for b.Loop() {
				calls++
				binary.BigEndian.PutUint32(client.IP, calls/16) // a network may make 30 calls a minute
				bm.ctx.SetRemoteAddr(client)
				bm.ctx.Response.Reset()
				handle(bm.ctx)
			}
			b.SetBytes(int64(len(bm.ctx.Response.Body())))
		})
	}
}
