package audit

import (
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
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
