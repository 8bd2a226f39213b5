package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/trace"
)

// TestOneTrace follows one mission from its sender through edge and origin to the
// receiver of its webhook, as a collector sees it.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	spans := map[string]*collector.Span{} // by name and trace
	roles := map[string]bool{}
	telling := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data collector.TracesData // as ExportTraceServiceRequest on the wire
		if err == nil {
			err = proto.Unmarshal(body, &data)
		}
		if err != nil {
			t.Errorf("the collector cannot read what it is told: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range data.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				roles[a.Key+" "+a.Value.GetStringValue()] = true
			}
			for _, s := range rs.ScopeSpans[0].Spans {
				spans[hex.EncodeToString(s.TraceId)+" "+s.Name] = s
			}
		}
	}))
	defer telling.Close()
	heard := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		heard <- r.Header.Get("Traceparent")
	}))
	defer receiver.Close()

	dir := t.TempDir()
	token := []string{"--node-token", strings.Repeat("n", minSecret), "--debug-listen", "127.0.0.1:0",
		"--otlp-endpoint", telling.URL}
	admin := "Bearer " + newKeyAt(t, dir, nil, "admin:*")
	key := "Bearer " + newKeyAt(t, dir, nil, "mission:create", "webhook:manage")
	o := start(t, dir, append([]string{"origin", "--data", "var", "--origin-listen", "127.0.0.1:0", "--public-api",
		"--allow-networks", "127.0.0.0/8"}, token...)...)
	e := start(t, dir, append([]string{"edge", "--origin", o.logged("origin", "listen"), "--listen", "127.0.0.1:0"},
		token...)...)
	base, debug := e.logged("edge", "listen"), e.logged("edge", "debug")
	waittest.Until(t, "the edge is ready", func() bool {
		status, _, _, err := try("GET", debug+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	send := func(method, path, body string, header ...string) {
		t.Helper()
		if status, _, answer := ask(t, method, base+path, body, header...); status >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
	}
	send("POST", "/api/public/v1/webhooks", fmt.Sprintf(`{"url":%q,"events":["mission.*"]}`, receiver.URL+"/"),
		"Authorization", key)
	const sender = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	send("POST", "/api/public/v1/missions", `{"source":"t","externalId":"1","title":"t"}`, "Authorization", key,
		"Traceparent", sender)
	told := trace.Parse(<-heard)

	send("PUT", "/api/admin/v1/brands/acme",
		`{"name":"Acme","url":"https://acme.example/","niche":"tools","language":"en","public":true}`, "Authorization",
		admin)
	waittest.Until(t, "the edge scores the brand", func() bool {
		status, _, _, err := try("GET", base+"/api/v1/score/acme", "")
		return err == nil && status == http.StatusOK
	})
	filled := "" // the trace in which the score was filled
	// A process that stops exports its spans for two seconds only.
	waittest.Until(t, "the collector has the spans", func() bool {
		mu.Lock()
		defer mu.Unlock()
		has := func(id string, names ...string) bool {
			return !slices.ContainsFunc(names, func(name string) bool { return spans[id+" "+name] == nil })
		}
		for name, s := range spans {
			id := strings.Fields(name)[0]
			if strings.HasSuffix(name, " edge.fill") && len(s.ParentSpanId) == 0 &&
				has(id, "edge.ask", "origin.internal") {
				filled = "00-" + id + "-" + hex.EncodeToString(s.SpanId) + "-01"
			}
		}
		return filled != "" && has(strings.Split(sender, "-")[1], "edge.pass", "origin.public", "database.write",
			"webhook.attempt")
	})
	e.stop()
	o.stop()

	mu.Lock()
	defer mu.Unlock()
	// Each span is a child of the previous one.
	for _, chain := range [][]string{
		{sender, "edge.pass", "origin.public", "database.write"},
		{sender, "edge.pass", "origin.public", "webhook.attempt"},
		{filled, "edge.ask", "origin.internal"},
	} {
		parent := trace.Parse(chain[0])
		id := hex.EncodeToString(parent.Trace[:])
		above := parent.Span[:]
		for _, name := range chain[1:] {
			s := spans[id+" "+name]
			if s == nil || !slices.Equal(s.ParentSpanId, above) {
				t.Fatalf("%s is %v, want it under %x of %s; there are %v", name, s, above, id,
					slices.Sorted(maps.Keys(spans)))
			}
			above = s.SpanId
		}
		if last := chain[len(chain)-1]; last == "webhook.attempt" &&
			(!slices.Equal(told.Span[:], above) || told.Trace != parent.Trace || !told.Sampled) {
			t.Errorf("the receiver heard of %s, want the span %x of %s", told, above, id)
		}
	}
	for _, want := range []string{"service.name fieldmark", "fieldmark.role edge", "fieldmark.role origin"} {
		if !roles[want] {
			t.Errorf("no process says %s: %v", want, roles)
		}
	}
}

// TestTraceWithoutCollector checks that the sender's trace reaches the receiver without
// a collector.
func TestTraceWithoutCollector(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		heard <- r.Header.Get("Traceparent")
	}))
	defer receiver.Close()
	dir := t.TempDir()
	key := "Bearer " + newKeyAt(t, dir, nil, "mission:create", "webhook:manage")
	p := start(t, dir, append([]string{"serve", "--public-api", "--allow-networks", "127.0.0.0/8"},
		freePorts("var")...)...)
	base := p.logged("serve", "listen")
	var hook fieldmark.NewEndpoint
	_, _, answer := ask(t, "POST", base+"/api/public/v1/webhooks",
		fmt.Sprintf(`{"url":%q,"events":["mission.*"]}`, receiver.URL+"/"), "Authorization", key)
	must(t, json.Unmarshal([]byte(answer), &hook))
	const sender = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for i, parent := range []string{sender, ""} {
		ask(t, "POST", base+"/api/public/v1/missions", missionJSON(fmt.Sprint(i)), "Authorization", key, "Traceparent",
			parent)
		if got := <-heard; got != parent {
			t.Errorf("the receiver of %s heard of %q, want %q", hook.ID, got, parent)
		}
	}
	p.stop()
}
