package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
)

const key = "key-that-must-stay-secret"

// vendor is a local server in the documented shape of an engine.
type vendor struct {
	adapter   string
	path      string
	header    string // field that has the key
	cited     []string
	retrieved []string
	searches  int
	cost      int64             // reported; 0: none
	required  string            // part of the request that demands a search
	bad       map[string]string // bodies that are no answers
}

const acme, other = "https://acme.example/", "https://other.example/"

var vendors = []vendor{
	{adapter: "openai-responses", path: "/v1/responses", header: "Authorization", cited: []string{acme},
		retrieved: []string{acme, other}, searches: 1, required: `"tool_choice":"required"`,
		bad: map[string]string{
			"cut off": `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`,
			"refused": `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal"}]}]}`,
			"empty":   `{"status":"completed","output":[]}`,
			"failed":  `{"status":"failed","error":{"code":"server_error"},"output":[]}`,
		}},
	{adapter: "xai-responses", path: "/v1/responses", header: "Authorization", cited: []string{acme},
		retrieved: []string{acme, other}, searches: 2, cost: 1235, required: `"tool_choice":"required"`,
		bad: map[string]string{"no status": `{"output":[]}`}},
	{adapter: "perplexity-agent", path: "/v1/agent", header: "Authorization", cited: []string{acme},
		retrieved: []string{acme, other}, searches: 2, cost: 5_000_001,
		bad: map[string]string{"incomplete": `{"status":"incomplete","output":[]}`}},
	{adapter: "anthropic-messages", path: "/v1/messages", header: "X-Api-Key", cited: []string{acme},
		retrieved: []string{acme, other}, searches: 1, required: `"tool_choice":{"name":"web_search","type":"tool"}`,
		bad: map[string]string{
			"cut off": `{"type":"message","stop_reason":"max_tokens","content":[{"type":"text","text":"Acme"}]}`,
			"refused": `{"type":"message","stop_reason":"refusal","content":[]}`,
			"search failed": `{"type":"message","stop_reason":"end_turn","content":[{"type":"web_search_tool_result",` +
				`"content":{"type":"web_search_tool_result_error","error_code":"too_many_requests"}},` +
				`{"type":"text","text":"I cannot search."}]}`,
		}},
	{adapter: "mistral-conversations", path: "/v1/conversations", header: "Authorization", cited: []string{acme},
		searches: 1, bad: map[string]string{"wrong type": `{"outputs":[{"type":"message.output","content":7}]}`}},
	{adapter: "gemini", path: "/v1beta/models/m:generateContent", header: "X-Goog-Api-Key",
		bad: map[string]string{"cut off": `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`,
			"blocked": `{"promptFeedback":{}}`}},
	{adapter: "openai-chat", path: "/chat/completions", header: "Authorization", cited: []string{acme},
		retrieved: []string{acme, other},
		bad: map[string]string{
			"cut off": `{"choices":[{"finish_reason":"length","message":{"content":"Acme"}}]}`,
			"refused": `{"choices":[{"finish_reason":"stop","message":{"content":"","refusal":"no"}}]}`,
			"empty":   `{"choices":[{"finish_reason":"stop","message":{"content":" "}}]}`,
		}},
}

// good returns the answer of the vendor in testdata: "Acme is good.", which cites acme, after 10 tokens of input
// and with 5 of output.
func (v *vendor) good(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", v.adapter+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// stream returns the same answer as a stream; empty if the engine has none in another shape.
func (v *vendor) stream(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", v.adapter+".sse"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// serve starts a server for a vendor and returns the engine.
func (v *vendor) serve(t *testing.T, search string, h http.HandlerFunc) *engine.Engine {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	e, err := engine.New(engine.Config{Adapter: v.adapter, Model: "m", BaseURL: srv.URL, Key: key, Search: search,
		Country: "AT", MaxOutputTokens: 100, MaxSearches: 3})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// answer asks once and reads.
func answer(t *testing.T, e *engine.Engine) (engine.Answer, error) {
	t.Helper()
	x, err := e.Ask(t.Context(), "Which rope is good?", nil)
	if strings.Contains(x.Body, key) || strings.Contains(string(x.Request), key) {
		t.Errorf("the stored exchange has the key: %+v", x)
	}
	if err != nil {
		return engine.Answer{}, err
	}
	return e.Read([]engine.Exchange{x})
}

func (v *vendor) search() string {
	if v.adapter == "gemini" {
		return engine.SearchOff
	}
	return engine.SearchAuto
}

// TestAnswers reads the answer of each engine, whole and as a stream although the request asks for none.
func TestAnswers(t *testing.T) {
	for _, v := range vendors {
		for form, body := range map[string]string{"application/json": v.good(t), "text/event-stream": v.stream(t)} {
			if body == "" {
				continue
			}
			var sent map[string]any
			e := v.serve(t, v.search(), func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != v.path || !strings.Contains(r.Header.Get(v.header), key) {
					t.Errorf("%s: %s with %s %q", v.adapter, r.URL.Path, v.header, r.Header.Get(v.header))
				}
				if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", form)
				_, _ = io.WriteString(w, body)
			})
			a, err := answer(t, e)
			if err != nil {
				t.Errorf("%s %s: %v", v.adapter, form, err)
				continue
			}
			a.Text = strings.TrimSuffix(a.Text, "[1]")
			cost := int64(0)
			if a.Cost != nil {
				cost = *a.Cost
			}
			if a.Text != "Acme is good." || a.Model != "m-1" || !slices.Equal(a.Cited, v.cited) ||
				!slices.Equal(a.Retrieved, v.retrieved) || a.Searches != v.searches ||
				a.Usage != (engine.Usage{Input: 10, Output: 5}) || cost != v.cost {
				t.Errorf("%s %s: %+v, cost %d", v.adapter, form, a, cost)
			}
			for _, name := range []string{"system", "temperature", "instructions", "top_p", "preset"} {
				if _, ok := sent[name]; ok {
					t.Errorf("%s sends %s; a person would not", v.adapter, name)
				}
			}
			if store, ok := sent["store"]; ok && store != false {
				t.Errorf("%s: store %v", v.adapter, store)
			}
		}
	}
}

// TestNotAnswers: what stopped short, is empty or cannot be read is a failure, never an answer without names.
func TestNotAnswers(t *testing.T) {
	for _, v := range vendors {
		bad := map[string]string{"HTML": "<html>", "cut JSON": v.good(t)[:len(v.good(t))/2],
			"wrong types": `{"output":7,"choices":7,` +
				`"content":7,"outputs":7,"candidates":7,"type":"message","status":7}`, "null": "null", "list": "[]",
			"nothing":  "",
			"too long": strings.Repeat(" ", 5<<20)}
		for name, body := range v.bad {
			bad[name] = body
		}
		for name, body := range bad {
			e := v.serve(t, v.search(), func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			a, err := answer(t, e)
			if f, ok := errors.AsType[*engine.Failure](err); !ok || f.Action != engine.FailCell {
				t.Errorf("%s %s: %+v, %v; want a failed cell", v.adapter, name, a, err)
			}
		}
		if stream := v.stream(t); stream != "" {
			e := v.serve(t, v.search(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				whole := strings.TrimSuffix(strings.TrimSuffix(stream, "\r\n\r\n"), "\n\n")
				_, _ = io.WriteString(w, whole[:max(strings.LastIndex(whole, "\n\n"), 0)])
			})
			if a, err := answer(t, e); err == nil {
				t.Errorf("%s: a stream without an end is %+v", v.adapter, a)
			}
		}
		if v.required != "" {
			var sent string
			e := v.serve(t, engine.SearchRequired, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent = string(body)
				_, _ = io.WriteString(w, strings.NewReplacer("web_search_call", "reasoning", `"web_search_calls":2`,
					`"web_search_calls":0`, `"web_search_requests":1`, `"web_search_requests":0`).Replace(v.good(t)))
			})
			if _, err := answer(t, e); err == nil || !strings.Contains(err.Error(), "did not search") ||
				!strings.Contains(sent, v.required) {
				t.Errorf("%s: a required search that is not made: %v, sent %s", v.adapter, err, sent)
			}
		}
	}
}

// TestRefusals: what follows from each status and error.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		action engine.Action
		wait   time.Duration // at least; at most a second more
	}{
		{"bad request", 400, nil, "", engine.FailCell, 0},
		{"no key", 401, nil, "", engine.StopEngine, 0},
		{"no money", 402, nil, "", engine.StopEngine, 0},
		{"forbidden", 403, nil, "", engine.StopEngine, 0},
		{"not found", 404, nil, "", engine.FailCell, 0},
		{"too large", 413, nil, "", engine.FailCell, 0},
		{"unprocessable", 422, nil, "", engine.FailCell, 0},
		{"redirect", 302, map[string]string{"Location": "https://evil.example/"}, "", engine.StopEngine, 0},
		{"busy", 429, nil, "", engine.Retry, 0},
		{"seconds", 429, map[string]string{"Retry-After": "7"}, "", engine.Retry, 7 * time.Second},
		{"duration", 429, map[string]string{"X-Ratelimit-Remaining-Requests": "0",
			"X-Ratelimit-Reset-Requests": "6m0s"}, "",
			engine.Retry, 6 * time.Minute},
		{"RetryInfo", 429, nil, `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"12s"}]}}`,
			engine.Retry,
			12 * time.Second},
		{"quota of the day", 429, nil, `{"error":{"details":[{"quotaId":"GenerateRequestsPerDay"}]}}`,
			engine.StopEngine, 0},
		{"quota", 429, nil, `{"error":{"code":"insufficient_quota"}}`, engine.StopEngine, 0},
		{"balance", 400, nil, `{"error":{"message":"Your credit balance is too low"}}`, engine.StopEngine, 0},
		{"timeout", 408, nil, "", engine.Retry, 0}, {"conflict", 409, nil, "", engine.Retry, 0},
		{"error", 500, nil, "", engine.Retry, 0}, {"gateway", 502, nil, "<html>", engine.Retry, 0},
		{"unavailable", 503, map[string]string{"Retry-After": "2"}, "", engine.Retry, 2 * time.Second},
		{"late", 504, nil, "", engine.Retry, 0}, {"overloaded", 529, nil, "", engine.Retry, 0},
	} {
		for _, v := range vendors {
			e := v.serve(t, v.search(), func(w http.ResponseWriter, r *http.Request) {
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				w.Header().Set("X-Request-Id", r.Header.Get(v.header)) // echoes the key
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body+" key "+key)
			})
			x, err := e.Ask(t.Context(), "Which rope is good?", nil)
			f, ok := errors.AsType[*engine.Failure](err)
			if !ok || f.Action != c.action || f.Status != c.status || f.Wait < c.wait ||
				f.Wait > c.wait+2*time.Second ||
				f.Charged != (c.status >= 500) {
				t.Errorf("%s %s: %+v", v.adapter, c.name, err)
			}
			if stored, _ := json.Marshal(x); strings.Contains(string(stored), key) || strings.Contains(err.Error(),
				key) {
				t.Errorf("%s %s: the key is in %s or %v", v.adapter, c.name, stored, err)
			}
		}
	}
}

// TestRetryInstants: a header that names an instant makes a call wait until then, however long the answer took.
func TestRetryInstants(t *testing.T) {
	for _, c := range []struct {
		header, layout string
		other          map[string]string
	}{
		{"Retry-After", http.TimeFormat, nil},
		{"Anthropic-Ratelimit-Requests-Reset", time.RFC3339,
			map[string]string{"Anthropic-Ratelimit-Requests-Remaining": "0"}},
	} {
		for _, v := range vendors {
			before := time.Now()
			until := before.Add(4 * time.Minute).Truncate(time.Second)
			e := v.serve(t, v.search(), func(w http.ResponseWriter, r *http.Request) {
				for name, value := range c.other {
					w.Header().Set(name, value)
				}
				w.Header().Set(c.header, until.UTC().Format(c.layout))
				w.WriteHeader(http.StatusTooManyRequests)
			})
			_, err := e.Ask(t.Context(), "Which rope is good?", nil)
			f, ok := errors.AsType[*engine.Failure](err)
			if !ok || f.Action != engine.Retry || f.Wait < time.Until(until) || f.Wait > until.Sub(before)+time.Second {
				t.Errorf("%s %s %v: %+v", v.adapter, c.header, until, err)
			}
		}
	}
}

// TestConnections: a call that reached nothing may be repeated; one that was cut may have been answered.
func TestConnections(t *testing.T) {
	v := vendors[len(vendors)-1]
	cut := func(w http.ResponseWriter, body string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, body)
		_ = conn.Close()
	}
	for name, body := range map[string]string{"before the answer": "", "in the header": "HTTP/1.1 200 OK\r\nConte",
		"in the body": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"} {
		e := v.serve(t, engine.SearchAuto, func(w http.ResponseWriter, _ *http.Request) { cut(w, body) })
		_, err := e.Ask(t.Context(), "Which rope is good?", nil)
		if f, ok := errors.AsType[*engine.Failure](err); !ok || f.Action != engine.FailCell || !f.Charged {
			t.Errorf("cut %s: %+v", name, err)
		}
	}
	e, err := engine.New(engine.Config{Adapter: v.adapter, Model: "m", BaseURL: "http://" + porttest.Address(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Ask(t.Context(), "Which rope is good?", nil)
	if f, ok := errors.AsType[*engine.Failure](err); !ok || f.Action != engine.Retry || f.Charged {
		t.Errorf("nothing listens: %+v", err)
	}
	// A name of a private address is refused by the guarded client.
	private, err := engine.New(engine.Config{Adapter: v.adapter, Model: "m", BaseURL: "https://10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = private.Ask(t.Context(), "Which rope is good?", nil)
	if f, ok := errors.AsType[*engine.Failure](err); !ok || f.Action != engine.StopEngine {
		t.Errorf("a private address: %+v", err)
	}
}

// TestPaused: an answer that is paused twice is one answer, and the content so far is sent back.
func TestPaused(t *testing.T) {
	i := slices.IndexFunc(vendors, func(v vendor) bool { return v.adapter == "anthropic-messages" })
	calls := 0
	e := vendors[i].serve(t, engine.SearchAuto, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got := strings.Count(string(body), `"role":"assistant"`); got != calls {
			t.Errorf("call %d sends %d answers back: %s", calls, got, body)
		}
		calls++
		text := vendors[i].good(t)
		if calls < 3 {
			text = strings.Replace(text, "end_turn", "pause_turn", 1)
		}
		_, _ = io.WriteString(w, text)
	})
	var all []engine.Exchange
	for range 3 {
		x, err := e.Ask(t.Context(), "Which rope is good?", all)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
		a, err := e.Read(all)
		if len(all) < 3 {
			if !errors.Is(err, engine.ErrPaused) {
				t.Fatalf("after %d calls: %v", len(all), err)
			}
			continue
		}
		if err != nil || a.Searches != 3 || a.Usage.Input != 30 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	for len(all) <= engine.MaxContinuations {
		all = slices.Insert(all, 0, all[0])
	}
	all[len(all)-1] = all[0]
	if _, err := e.Read(all); err == nil || errors.Is(err, engine.ErrPaused) {
		t.Errorf("paused %d times: %v", len(all), err)
	}
}

// TestLimits: numbers that an engine invents do not add to a budget.
func TestLimits(t *testing.T) {
	v := vendors[slices.IndexFunc(vendors, func(v vendor) bool { return v.adapter == "xai-responses" })]
	e := v.serve(t, engine.SearchAuto, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.NewReplacer(`"input_tokens":10`, `"input_tokens":-10`, `"output_tokens":5`,
			`"output_tokens":9000000000000000000`, "12345", "9000000000000000000").Replace(v.good(t)))
	})
	a, err := answer(t, e)
	if err != nil || a.Usage.Input != 0 || a.Usage.Output != 1e9 || *a.Cost != 1e15 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestCheckAddress(t *testing.T) {
	got := map[string]bool{}
	want := map[string]bool{"https://gateway.example/v1": true, "http://127.0.0.1:8081/v1": true,
		"http://[::1]:1":            true,
		"http://localhost:11434/v1": true, "http://gateway.example": false, "ftp://a.example": false,
		"https://u:p@a.example":    false,
		"https://a.example/?key=1": false, "": false}
	for address := range want {
		got[address] = engine.Check("openai-chat", address) == ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if engine.Check("openai", "") == "" || engine.Check("openai-responses", "") != "" {
		t.Error("an unknown adapter is accepted, or the vendor's address is not used")
	}
}
