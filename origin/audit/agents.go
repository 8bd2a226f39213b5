package audit

import (
	"mime"
	"path"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// feedTypes are the media types of feeds.
var feedTypes = setOf("application/rss+xml", "application/atom+xml", "application/feed+json")

// agents measures what the site offers to AI agents, and whether it tries to
// manipulate them.
func (f *site) agents(found findings) {
	f.llmsFile(found)
	f.describedBy(found)
	f.markdownPages(found)
	f.feed(found)
	f.manipulation(found)
}

// llmsFile measures the level and the errors of llms.txt. A missing file has level 0
// and no errors.
func (f *site) llmsFile(found findings) {
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
		seen := []fieldmark.Evidence{newEvidence(at, "%s", plural(l.report.Errors(), "error", "errors"))}
		for _, i := range l.report.Issues {
			if i.Severity == llms.SeverityError {
				seen = append(seen, newEvidence(at, "%s in line %d: %s", i.Code, i.Line, i.Message))
			}
		}
		found.set("llms.errors", int64(l.report.Errors())*one, seen...)
	}
}

// describedBy measures whether pages link to the llms.txt that covers them.
func (f *site) describedBy(found findings) {
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
func (f *site) markdownPages(found findings) {
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
func (f *site) feed(found findings) {
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

// manipulation measures whether the site addresses models without its readers
// seeing it: instructions in llms.txt or in hidden text, or text encoded in
// invisible tag characters.
func (f *site) manipulation(found findings) {
	const id = "manipulation.found"
	var seen []fieldmark.Evidence
	if f.llms.visit.ok() && !f.llms.soft {
		seen = append(seen, findInstructions(f.llms.visit.asked, "llms.txt", string(f.llms.visit.body))...)
	}
	for _, p := range f.pages {
		at := p.url.String()
		seen = append(seen, findInstructions(at, "hidden text", p.hidden)...)
		seen = append(seen, findInstructions(at, "a comment", p.comments)...)
		for _, visible := range []string{p.text, p.title, p.description} {
			if hasTagCharacters(visible) {
				seen = append(seen, newEvidence(at, "invisible tag characters in visible text"))
				break
			}
		}
	}
	if len(seen) == 0 {
		found.set(id, 0, newEvidence(f.home.url.String(),
			"no instructions to models in llms.txt or in hidden text of %s", plural(len(f.pages), "page", "pages")))
		return
	}
	found.set(id, one, seen...)
}

// findInstructions looks for instructions to models and for tag characters in a
// text.
func findInstructions(at, where, text string) (seen []fieldmark.Evidence) {
	if hasTagCharacters(text) {
		seen = append(seen, newEvidence(at, "invisible tag characters in %s", where))
	}
	if llms.InstructionLevel(text) < llms.InstructionPromotional {
		return seen
	}
	example := text
	for line := range strings.SplitSeq(text, "\n") {
		if llms.InstructionLevel(line) >= llms.InstructionPromotional {
			example = line
			break
		}
	}
	return append(seen, newEvidence(at, "an instruction to models in %s: %s", where, example))
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
