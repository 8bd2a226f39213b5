package audit

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/observe"
	"github.com/fieldmark/fieldmark/origin/injection"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// agentFacts measures what the site offers to agents: llms.txt, Markdown, feeds. It reads what the
// crawl found and changes only the findings.
type agentFacts struct{ *site }

// feedTypes are the media types of feeds.
var feedTypes = setOf("application/rss+xml", "application/atom+xml", "application/feed+json")

// measure measures what the site offers to AI agents, and whether it tries to
// manipulate them.
func (f agentFacts) measure(found findings) {
	f.llmsFile(found)
	f.describedBy(found)
	f.markdownPages(found)
	f.feed(found)
	suspicionFacts(f).manipulation(found)
}

// llmsFile measures the level and the errors of llms.txt. A missing file has level 0
// and no errors.
func (f agentFacts) llmsFile(found findings) {
	l := &f.llms
	at := l.visit.asked
	switch {
	case l.visit.unanswered():
		found.unknown("llms.level", newEvidence(at, "%s", l.visit.outcome()))
		found.unknown("llms.errors", newEvidence(at, "%s", l.visit.outcome()))
	case !l.visit.ok():
		found.set("llms.level", 0, newEvidence(at, "%s", l.visit.outcome()))
		found.set("llms.errors", 0, newEvidence(at, "%s", l.visit.outcome()))
	case l.soft:
		found.set("llms.level", 0, newEvidence(at, "absent: every path returns the same page"))
		found.set("llms.errors", 0, newEvidence(at, "absent: every path returns the same page"))
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(string(trimBOM(l.visit.body))), "\n")
		found.set("llms.level", int64(l.report.Level)*one, newEvidence(at, "level %d of %d; starts with: %s",
			l.report.Level, llms.LevelLinked, first))
		seen := []fieldmark.Evidence{{}}
		errors := 0
		for _, i := range l.report.Issues {
			// Text that steers models is a matter of two audits, see manipulation.
			if i.Severity == llms.SeverityError && i.Code != llms.CodeInstructionOverride {
				errors += i.Count
				seen = append(seen, newEvidence(at, "%s in line %d: %s", i.Code, i.Line, i.Message))
			}
		}
		seen[0] = newEvidence(at, "%s", plural(errors, "error", "errors"))
		found.set("llms.errors", int64(errors)*one, seen...)
	}
}

// describedBy measures whether pages link to the llms.txt that covers them.
func (f agentFacts) describedBy(found findings) {
	for _, p := range f.fixed {
		for _, l := range p.rel("describedby") {
			if l.url != nil && path.Base(l.url.Path) == "llms.txt" {
				found.set("agent.describedby", one, newEvidence(p.url.String(), "describedby %s", l.href))
				return
			}
		}
	}
	found.set("agent.describedby", 0, newEvidence(f.home.url.String(), "no describedby link to an llms.txt on %s",
		plural(len(f.fixed), "page", "pages")))
}

// markdownPages measures whether pages are available as Markdown, by a link or by
// content negotiation.
func (f agentFacts) markdownPages(found findings) {
	const id = "agent.markdown"
	if list := markdownAlternates(f.fixed); len(list) > 0 {
		found.set(id, one, newEvidence(f.home.url.String(), "alternate of type text/markdown: %s", list[0].href))
		return
	}
	if f.markdown == nil || f.markdown.unanswered() {
		found.unknown(id, newEvidence(f.home.url.String(),
			"no alternate of type text/markdown, and content negotiation could not be tested"))
		return
	}
	kind, _, _ := mime.ParseMediaType(f.markdown.header.Get("Content-Type"))
	found.setBool(id, f.markdown.ok() && kind == "text/markdown", newEvidence(f.markdown.asked,
		"no alternate of type text/markdown; a request with Accept: text/markdown returned %d %s", f.markdown.status,
		kind))
}

// feed measures whether a page links to a feed.
func (f agentFacts) feed(found findings) {
	for _, p := range f.fixed {
		for _, l := range p.rel("alternate") {
			if feedTypes[l.media] {
				found.set("agent.feed", one, newEvidence(p.url.String(), "%s %s", l.media, l.href))
				return
			}
		}
	}
	found.set("agent.feed", 0, newEvidence(f.home.url.String(), "no RSS, Atom or JSON feed linked on %s",
		plural(len(f.fixed), "page", "pages")))
}

// observedRequests is the number of requests for the documents of observed facts in one audit,
// redirects included. Like recheckRequests they are not part of MaxRequests: facts about pages must
// not depend on them.
const observedRequests = 9

// observedFiles are the responses for the documents of observed facts. Nil: not requested.
type observedFiles struct {
	tdm, keys, agentCard, catalog, license *visit
	cards                                  []*visit // until one was found, in the order of observe.CardPaths
}

// readObserved requests the documents of observed facts.
func (r *crawl) readObserved(ctx context.Context, f *site) {
	r.progress("documents for agents")
	left := r.requestsLeft
	r.requestsLeft = observedRequests
	defer func() { r.requestsLeft = left }()
	get := func(at *url.URL, accept string) *visit {
		v := r.get(ctx, request{url: at, accept: accept, read: readDocument})
		return &v
	}
	onSite := func(path, accept string) *visit {
		return get(&url.URL{Scheme: f.home.url.Scheme, Host: f.home.url.Host, Path: path}, accept)
	}
	o := &f.observed
	if at := (observedFacts{f}).license(); at != nil && at.Host == f.home.url.Host {
		o.license = get(at, observe.TypeRSL+",application/xml;q=0.9,*/*;q=0.1")
	}
	o.tdm = onSite(observe.PathTDMRep, "application/json")
	o.keys = onSite(observe.PathKeys, observe.TypeKeys)
	o.agentCard = onSite(observe.PathAgentCard, "application/json")
	o.catalog = onSite(observe.PathAPICatalog, observe.TypeAPICatalog)
	for _, path := range observe.CardPaths() {
		v := onSite(path, "application/json")
		o.cards = append(o.cards, v)
		if v.ok() && observe.Card(v.body) != "" {
			return
		}
	}
}

// readDocument reads a document of at most observe.MaxDocument. A longer one is no such document,
// and the rest of it is not received.
func readDocument(r io.Reader, v *visit) error {
	body, err := io.ReadAll(io.LimitReader(r, observe.MaxDocument+1))
	if v.cut = len(body) > observe.MaxDocument; v.cut {
		return nil
	}
	if v.body = body; err != nil {
		v.body = nil
		return errTruncated
	}
	return nil
}

// observedFacts measures what the site states for machines and agents, which is reported and not
// scored. It reads what the crawl found and changes only the findings.
type observedFacts struct{ *site }

// measure measures all observed facts.
func (f observedFacts) measure(found findings) {
	stated := observe.ParseRobots(f.robots.Text(), f.home.url.EscapedPath())
	f.contentSignals(found, stated.Signal)
	f.contentUsage(found, stated.Usage)
	f.rsl(found)
	f.reservation(found)
	f.webMCP(found)
	o := &f.observed
	f.document(found, "agent.bot_keys", o.keys, "key directory", func(v *visit) (string, bool) {
		keys, signed := observe.Keys(v.header, v.body)
		how := "without a signature"
		if signed {
			how = "with a signature, which was not verified"
		}
		return plural(keys, "key", "keys") + ", " + how, keys > 0
	})
	f.document(found, "agent.a2a_card", o.agentCard, "agent card", func(v *visit) (string, bool) {
		name := observe.AgentCard(v.body)
		return "agent card of " + name, name != ""
	})
	f.document(found, "agent.api_catalog", o.catalog, "catalogue of APIs", func(v *visit) (string, bool) {
		n := observe.APICatalog(v.header, v.body)
		return plural(n, "link context", "link contexts"), n > 0
	})
	f.card(found)
}

// contentSignals measures the preferences of robots.txt by Content-Signal (contentsignals.org). A
// site that states none neither grants nor refuses: the fact is unknown.
func (f observedFacts) contentSignals(found findings, s *observe.Statement) {
	for name, id := range map[string]string{"search": "policy.content_signal.search",
		"ai-input": "policy.content_signal.ai_input", "ai-train": "policy.content_signal.ai_train"} {
		f.preference(found, id, name, s)
	}
}

// preference records what a line of robots.txt states under a name.
func (f observedFacts) preference(found findings, id, name string, s *observe.Statement) {
	if s == nil {
		found.unknown(id, newEvidence(f.robots.URL, "states nothing of %s", name))
		return
	}
	value, ok := s.Values[name]
	if !ok {
		found.unknown(id, newEvidence(f.robots.URL, "states nothing of %s: %s", name, s.Line))
		return
	}
	found.setBool(id, value, newEvidence(f.robots.URL, "%s", s.Line))
}

// contentUsage measures the preferences of the home page by Content-Usage, in robots.txt and its
// header field. Of two that differ the one that refuses counts (draft-ietf-aipref-vocab).
func (f observedFacts) contentUsage(found findings, s *observe.Statement) {
	field := strings.Join(f.home.header.Values("Content-Usage"), ", ")
	values := observe.Usage(field)
	for name, id := range map[string]string{"train-ai": "policy.content_usage.train_ai",
		"search": "policy.content_usage.search"} {
		f.preference(found, id, name, s)
		value, ok := values[name]
		if fact := found.fact(id); ok && (fact.State == fieldmark.Unknown || fact.Value != 0 && !value) {
			found.setBool(id, value, newEvidence(f.home.url.String(), "Content-Usage: %s", field))
		}
	}
}

// license returns the address of the RSL terms that the site declares: in robots.txt, or by a link
// of the home page with the type of RSL. It returns nil if it declares none.
func (f observedFacts) license() *url.URL {
	if list := observe.ParseRobots(f.robots.Text(), "/").Licenses; len(list) > 0 {
		if u, err := url.Parse(list[0]); err == nil {
			return u
		}
	}
	for _, l := range f.home.rel("license") {
		if l.url != nil && strings.HasPrefix(l.media, observe.TypeRSL) {
			return l.url
		}
	}
	return nil
}

// rsl measures whether RSL terms are declared. A document of the site is read if the facts are wide.
func (f observedFacts) rsl(found findings) {
	const id = "policy.rsl"
	at, v := f.license(), f.observed.license
	switch {
	case at == nil:
		found.set(id, 0, newEvidence(f.home.url.String(), "no RSL terms in robots.txt or the links of the page"))
	case v == nil:
		found.set(id, one, newEvidence(at.String(), "declared; the document was not read"))
	case v.unanswered() || v.refused():
		found.unknown(id, newEvidence(at.String(), "declared, but: %s", v.outcome()))
	case !v.ok():
		found.set(id, 0, newEvidence(at.String(), "declared, but: %s", v.outcome()))
	default:
		what := "an RSL document"
		if !observe.RSL(v.body) {
			what = "declared, but no RSL document"
		}
		found.setBool(id, observe.RSL(v.body), newEvidence(at.String(), "%s", what))
	}
}

// reservation measures whether rights are reserved by TDMRep: by the header field of the home page,
// or by the file.
func (f observedFacts) reservation(found findings) {
	const id = "policy.tdmrep"
	if field := strings.TrimSpace(f.home.header.Get("TDM-Reservation")); field == "1" || field == "0" {
		found.setBool(id, field == "1", newEvidence(f.home.url.String(), "tdm-reservation: %s", field))
		return
	}
	f.document(found, id, f.observed.tdm, "tdmrep.json", func(v *visit) (string, bool) {
		reserved, valid := observe.TDM(v.body, f.home.url.EscapedPath())
		if !valid {
			return "no tdmrep.json", false
		}
		return fmt.Sprintf("tdmrep.json, reserved for the home page: %t", reserved), reserved
	})
}

// document measures whether a response is a document; describe returns what it is, and whether it is one.
func (f observedFacts) document(found findings, id string, v *visit, what string,
	describe func(*visit) (string, bool)) {
	switch {
	case v == nil:
		found.unknown(id, newEvidence(f.home.url.String(), "not requested by this audit"))
	case v.unanswered() || v.refused():
		found.unknown(id, newEvidence(v.asked, "%s", v.outcome()))
	case !v.ok():
		found.set(id, 0, newEvidence(v.asked, "%s", v.outcome()))
	case v.cut:
		found.set(id, 0, newEvidence(v.asked, "more than %d kB, which no %s has", observe.MaxDocument>>10, what))
	default:
		text, ok := describe(v)
		if !ok && id != "policy.tdmrep" {
			text = "no " + what
		}
		found.setBool(id, ok, newEvidence(v.asked, "%s", text))
	}
}

// card measures whether the card of an MCP server is published at one of its addresses. The last
// one that was requested decides, unless another could not be read.
func (f observedFacts) card(found findings) {
	const id = "agent.mcp_card"
	describe := func(v *visit) (string, bool) {
		name := observe.Card(v.body)
		return "card of " + name, name != ""
	}
	cards := f.observed.cards
	if len(cards) == 0 {
		f.document(found, id, nil, "", nil)
		return
	}
	f.document(found, id, cards[len(cards)-1], "card of an MCP server", describe)
	if fact := found.fact(id); fact.Value != 0 {
		return
	}
	for _, v := range cards {
		if v.unanswered() || v.refused() {
			found.unknown(id, newEvidence(v.asked, "%s", v.outcome()))
			return
		}
	}
}

// webMCP counts the tools that the pages always read offer to agents. The drawn pages do not count,
// so that the fact does not depend on the draw.
func (f observedFacts) webMCP(found findings) {
	seen := []fieldmark.Evidence{{}}
	var tools int
	for _, p := range f.fixed {
		tools += len(p.tools)
		for _, name := range p.tools {
			seen = append(seen, newEvidence(p.url.String(), "form with the tool %s", name))
		}
		if p.registers {
			tools++
			seen = append(seen, newEvidence(p.url.String(), "an inline script registers tools"))
		}
	}
	seen[0] = newEvidence(f.home.url.String(), "%s on %s", plural(tools, "tool", "tools"),
		plural(len(f.fixed), "page", "pages"))
	found.set("agent.webmcp", int64(tools)*one, seen...)
}

// maxSuspicions limits the suspicions of one audit, which a person reads.
const maxSuspicions = 100

// ruleTagCharacters is the rule of text in tag characters, which no reader sees and a
// tokenizer may read. The other rules are the kinds of package injection.
const ruleTagCharacters = "tag_characters"

// ruleStuffing is the rule of hidden lists of repeated keywords, which readers do not see
// and which are written for engines. Google's spam policies name both: hidden text and keyword
// stuffing. Hidden text alone is no suspicion: menus, tabs and labels are hidden.
const ruleStuffing = "keyword_stuffing"

// The ways in which text is hidden from the readers of a page, besides those of package
// style.
const (
	inComment = "in a comment"
	inAlt     = "in the alternative text of an image"
)

// suspect adds the suspicions about a text of a page: what it says to models. hidden says
// how the text is hidden from readers; it is empty if they see it.
func (f suspicionFacts) suspect(p *page, text, hidden string) {
	f.suspectText(p.url.String(), text, hidden, injection.People)
}

// suspectText adds the suspicions about a text of an address.
func (f suspicionFacts) suspectText(at, text, hidden string, audience injection.Audience) {
	if text == "" {
		return
	}
	for _, m := range f.detector.Find(text, audience) {
		if m.Kind != injection.Steering { // a hint to a model does not favour a brand
			f.addSuspicion(Suspicion{Rule: string(m.Kind), URL: at, Passage: m.Words, Hidden: hidden})
		}
	}
	if hasTagCharacters(text) {
		f.addSuspicion(Suspicion{Rule: ruleTagCharacters, URL: at, Passage: shorten(tagLetters(text),
			injection.MaxWords), Hidden: "in invisible characters"})
	}
}

// addSuspicion adds a suspicion unless it is known, with the time at which it was first
// seen. Earlier audits quoted the same words under the same rule on the same host.
func (f suspicionFacts) addSuspicion(s Suspicion) {
	known := func(o Suspicion) bool { return sameWords(o, s) }
	if len(f.suspicions) == maxSuspicions || slices.ContainsFunc(f.suspicions, func(o Suspicion) bool {
		return o.URL == s.URL && known(o)
	}) {
		return
	}
	s.FirstSeen = fieldmark.At(f.now)
	for _, o := range f.subject.Suspicions {
		if known(o) && o.FirstSeen.Std().Before(s.FirstSeen.Std()) {
			s.FirstSeen = o.FirstSeen
		}
	}
	f.suspicions = append(f.suspicions, s)
}

// sameWords reports whether two suspicions quote the same words under the same rule on the
// same host.
func sameWords(a, b Suspicion) bool {
	return a.Rule == b.Rule && hostOf(a.URL) == hostOf(b.URL) &&
		slices.Equal(plainWords(a.Passage), plainWords(b.Passage))
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// manipulation collects the suspicions about llms.txt and every page of the sample, and
// measures whether one of them is confirmed: found again at least ConfirmAfter after it was
// seen first. Until then the facts, which are public, do not name it.
func (f suspicionFacts) manipulation(found findings) {
	f.detector = injection.New(f.subject.Name, hostLabel(f.home.url.Hostname()), f.home.url.Hostname(),
		f.home.meta("og:site_name"), entityFacts(f).structuredName(entityFacts(f).organization()))
	if f.llms.visit.ok() && !f.llms.soft {
		f.suspectText(f.llms.visit.asked, string(f.llms.visit.body), "", injection.Models)
	}
	for _, p := range f.suspectedPages() {
		for _, shown := range []string{p.title, p.description, p.prose} {
			f.suspect(p, shown, "")
		}
		for _, h := range p.hidden {
			f.suspect(p, h.text, h.how)
			if h.stuffed != "" {
				f.addSuspicion(Suspicion{Rule: ruleStuffing, URL: p.url.String(),
					Passage: shorten(h.stuffed, injection.MaxWords), Hidden: h.how})
			}
		}
		f.suspect(p, p.comments, inComment)
		f.suspect(p, p.alts, inAlt)
	}
	var seen []fieldmark.Evidence
	for _, s := range f.suspicions {
		if f.confirmed(s) {
			what := "text that is written to steer models"
			if s.Rule == ruleStuffing {
				what = "repeated keywords"
			}
			if s.Hidden != "" {
				what += ", " + s.Hidden
			}
			e := newEvidence(s.URL, "%s, also found by an earlier audit", what)
			e.Passage = s.Passage
			seen = append(seen, e)
		}
	}
	if len(seen) > 0 {
		found.set(fieldmark.FactManipulation, one, seen...)
		return
	}
	found.set(fieldmark.FactManipulation, 0, newEvidence(f.home.url.String(),
		"no text in llms.txt or on %s that two audits a day apart found to be written to steer models",
		plural(len(f.pages), "page", "pages")))
}

// tagLetters returns the letters for which the tag characters of a text stand.
func tagLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0xE0020 || r > 0xE007E {
			return -1
		}
		return r - 0xE0000
	}, s)
}

// hasTagCharacters reports whether a text has tag characters (U+E0000 to U+E007F)
// outside of regional flags, which consist of them (UTS 51, section C.1): a black
// flag, up to six tag characters, and a cancel tag.
func hasTagCharacters(s string) bool {
	const first, cancel, last, flag = 0xE0000, 0xE007F, 0xE007F, 0x1F3F4
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		if runes[i] < first || runes[i] > last {
			continue
		}
		end := i
		for end < len(runes) && runes[end] >= first && runes[end] <= last {
			end++
		}
		if i == 0 || runes[i-1] != flag || runes[end-1] != cancel || end-i > 7 {
			return true
		}
		i = end
	}
	return false
}
