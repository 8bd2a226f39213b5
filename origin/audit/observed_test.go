package audit_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/audit/observe"
)

// observedSite states everything that audits observe.
func observedSite() web {
	kind := func(kind, body string) answer { return answer{kind: kind, body: body} }
	return web{
		"/": {header: map[string]string{"Content-Usage": "train-ai=n", "TDM-Reservation": "1"},
			body: html("<title>An example page</title>", "<main>"+words(60)+
				`<form toolname="search" tooldescription="Finds things"></form>`+
				`<script>navigator.modelContext.registerTool({})</script></main>`).body},
		"/robots.txt": text("License: https://example.com/terms.xml\nUser-agent: *\nAllow: /\n" +
			"Content-Signal: search=yes, ai-train=no\nContent-Usage: train-ai=y, search=y\n"),
		"/terms.xml":                   kind(observe.TypeRSL, `<rsl xmlns="https://rslstandard.org/rsl"/>`),
		observe.PathKeys:               kind(observe.TypeKeys, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"a"}]}`),
		observe.PathAgentCard:          kind("application/json", `{"name":"Shop","url":"https://example.com/a2a"}`),
		observe.PathAPICatalog:         kind(observe.TypeAPICatalog, `{"linkset":[{"anchor":"https://example.com/"}]}`),
		"/.well-known/mcp/server-card": kind("application/json", `{"name":"io.example/shop","remotes":[]}`),
	}
}

// wide audits a site with wide facts.
func wide(t *testing.T, s *server) fieldmark.Facts {
	t.Helper()
	return auditOf(t, s, audit.Subject{URL: home, Name: "Example", Language: "en", Wide: true})
}

// TestObserved: what a site states for machines is measured with evidence; what it does not state
// is unknown for preferences and 0 for documents.
func TestObserved(t *testing.T) {
	slow := func(rw http.ResponseWriter, r *http.Request) { // longer than any document may be
		rw.Write([]byte(`{"name":"x","remotes":["`))
		for range 40 {
			rw.Write([]byte(strings.Repeat("a", 16<<10)))
		}
	}
	page := answer{body: "<!doctype html><title>App</title><div id=root></div>"}
	soft := web{"/": plainPage}
	for _, p := range append(observe.CardPaths(), observe.PathKeys, observe.PathAgentCard, observe.PathAPICatalog,
		observe.PathTDMRep) {
		soft[p] = page
	}
	for _, tt := range []factTest{
		{"everything", observedSite(), []string{"policy.content_signal.search 1", "policy.content_signal.ai_train 0",
			"policy.content_signal.ai_input unknown", "policy.content_usage.train_ai 0",
			"policy.content_usage.search 1",
			"policy.rsl 1", "policy.tdmrep 1", "agent.bot_keys 1", "agent.mcp_card 1", "agent.a2a_card 1",
			"agent.api_catalog 1", "agent.webmcp 2"}},
		{"nothing", web{"/": plainPage}, []string{"policy.content_signal.search unknown",
			"policy.content_usage.train_ai unknown", "policy.rsl 0", "policy.tdmrep 0", "agent.bot_keys 0",
			"agent.mcp_card 0", "agent.a2a_card 0", "agent.api_catalog 0", "agent.webmcp 0"}},
		{"the same page everywhere", soft, []string{"agent.bot_keys 0", "agent.mcp_card 0", "agent.a2a_card 0",
			"agent.api_catalog 0", "policy.tdmrep 0"}},
		{"failures", web{"/": plainPage, observe.PathKeys: {status: 503}, observe.CardPaths()[0]: {status: 500},
			observe.PathAgentCard: {status: 429}}, []string{"agent.bot_keys unknown", "agent.mcp_card unknown",
			"agent.a2a_card unknown", "agent.api_catalog 0"}},
		{"longer than any document", web{"/": plainPage, observe.CardPaths()[3]: {handler: slow}},
			[]string{"agent.mcp_card 0"}},
		{"forbidden to this crawler", web{"/": plainPage,
			"/robots.txt": text("User-agent: *\nDisallow: /.well-known/")},
			[]string{"agent.bot_keys unknown", "agent.mcp_card unknown", "policy.tdmrep unknown"}},
		{"terms that are none", web{"/": html(`<link rel=license type="application/rsl+xml" href=/terms>`, words(60)),
			"/terms": page}, []string{"policy.rsl 0"}},
		{"terms elsewhere", web{"/": plainPage, "/robots.txt": text("License: https://terms.example/a.xml")},
			[]string{"policy.rsl 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.site.serve(t, 0)
			facts := wide(t, s)
			for _, w := range tt.want {
				id, want, _ := strings.Cut(w, " ")
				if got := say(facts, id); got != want {
					t.Errorf("%s = %s, want %s; seen:\n%s", id, got, want, seen(facts, id))
				}
			}
			checkShape(t, facts)
		})
	}
}

// TestObservedRequests: documents are requested only for wide facts, at most nine, after the site,
// and the other facts stay as they are.
func TestObservedRequests(t *testing.T) {
	s := web{"/": plainPage}.serve(t, 0)
	core := auditOf(t, s, audit.Subject{URL: home, Name: "Example", Language: "en"})
	before := len(s.requests())
	facts := wide(t, s)
	if more := len(s.requests()) - 2*before; more < 1 || more > 9 {
		t.Errorf("wide facts took %d more requests than %d, want 1 to 9", more, before)
	}
	if core.Wide() || !facts.Wide() {
		t.Errorf("wide: %t without and %t with the documents", core.Wide(), facts.Wide())
	}
	for _, p := range s.requests()[:before] {
		if strings.HasPrefix(p, "/.well-known/") {
			t.Errorf("an audit of core facts requested %s", p)
		}
	}
	for _, f := range core.Facts {
		if !fieldmark.IsObserved(f.ID) && f.ID != "response.ttfb" && say(core, f.ID) != say(facts, f.ID) {
			t.Errorf("%s is %s with core facts and %s with wide ones", f.ID, say(core, f.ID), say(facts, f.ID))
		}
	}
	for _, o := range fieldmark.ObservedFacts() {
		if _, ok := facts.Find(o.ID); !ok {
			t.Errorf("%s is no fact of the vocabulary", o.ID)
		}
	}
}
