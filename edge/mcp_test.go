package edge_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

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
	h := newHitFixture(t)
	h.brand("beta", "Beta", 100)
	h.until("both are ranked", func() bool { return strings.Contains(h.get("/api/v1/leaderboard").body, `"total":2`) })
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
	h := newFixture(t, func(cfg *edge.Config) { cfg.RateLimit = edge.RateLimitLocal })
	for range 30 {
		if result, failed := h.callTool("score", `{"brand":"x"}`); failed && result["code"] == "rate_limited" {
			t.Fatalf("refused early: %v", result)
		}
	}
	result, failed := h.callTool("score", `{"brand":"x"}`)
	if seconds, _ := result["retryAfterSeconds"].(float64); !failed || result["code"] != "rate_limited" || seconds < 1 {
		t.Errorf("the 31st call answers %v", result)
	}
}

// TestToolAllocations holds a score from the cache to its promise.
func TestToolAllocations(t *testing.T) {
	h := newHitFixture(t)
	handle, ctx := h.edge.Handler(), toolCall("score", `{"brand":"acme"}`)
	handle(ctx)
	const most = 5
	allocs := math.Inf(1)
	for range 200 { // the least of them: with the race detector, a sync.Pool drops values at random
		allocs = min(allocs, testing.AllocsPerRun(1, func() { ctx.Response.Reset(); handle(ctx) }))
	}
	if allocs > most {
		t.Errorf("tools/call score allocates %v times, at most %d", allocs, most)
	}
}

// BenchmarkToolCall is a score by the tool beside the same by GET.
func BenchmarkToolCall(b *testing.B) {
	h := newHitFixture(b)
	for _, bm := range []struct {
		name string
		ctx  *fasthttp.RequestCtx
	}{{"get", prepared("/api/v1/score/acme")}, {"tool", toolCall("score", `{"brand":"acme"}`)}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bm.ctx.Response.Reset()
				h.edge.Handler()(bm.ctx)
			}
			b.SetBytes(int64(len(bm.ctx.Response.Body())))
		})
	}
}
