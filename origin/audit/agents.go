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

// agents measures what the site offers to programs that read on their own, and
// whether it tries to give them orders.
func (f *site) agents(found findings) {
	f.llmsFile(found)
	f.describedBy(found)
	f.markdownPages(found)
	f.feed(found)
	f.manipulation(found)
}

func (f *site) llmsFile(found findings) {
	l := &f.llms
	at := l.visit.asked
	switch {
	case l.visit.unanswered():
		found.unknown("llms.level", note(at, "%s", l.visit.outcome()))
		found.unknown("llms.errors", note(at, "%s", l.visit.outcome()))
	case !l.visit.ok():
		found.set("llms.level", 0, note(at, "%s", l.visit.outcome()))
		found.set("llms.errors", 0, note(at, "%s", l.visit.outcome()))
	case l.soft:
		found.set("llms.level", 0, note(at, "absent: any path answers the same"))
		found.set("llms.errors", 0, note(at, "absent: any path answers the same"))
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(string(trimBOM(l.visit.body))), "\n")
		found.set("llms.level", int64(l.report.Level)*one, note(at, "level %d of %d; begins: %s", l.report.Level, llms.LevelLinked, first))
		seen := []fieldmark.Evidence{note(at, "%s", count(l.report.Errors(), "error", "errors"))}
		for _, i := range l.report.Issues {
			if i.Severity == llms.SeverityError {
				seen = append(seen, note(at, "%s in line %d: %s", i.Code, i.Line, i.Message))
			}
		}
		found.set("llms.errors", int64(l.report.Errors())*one, seen...)
	}
}

// describedBy says whether pages point to the llms.txt that covers them.
func (f *site) describedBy(found findings) {
	for _, p := range f.pages {
		for _, l := range p.rel("describedby") {
			if l.url != nil && path.Base(l.url.Path) == "llms.txt" {
				found.set("agent.describedby", one, note(p.url.String(), "describedby %s", l.href))
				return
			}
		}
	}
	found.set("agent.describedby", 0, note(f.home.url.String(), "no describedby link to an llms.txt on %s", count(len(f.pages), "page", "pages")))
}

// markdownPages says whether pages are offered as Markdown, by a link or to
// whoever asks for it.
func (f *site) markdownPages(found findings) {
	const id = "agent.markdown"
	if list := markdownTwins(f.pages); len(list) > 0 {
		found.set(id, one, note(f.home.url.String(), "alternate of type text/markdown: %s", list[0].href))
		return
	}
	if f.markdown == nil || f.markdown.unanswered() {
		found.unknown(id, note(f.home.url.String(), "no alternate of type text/markdown, and asking for one could not be tried"))
		return
	}
	kind, _, _ := mime.ParseMediaType(f.markdown.header.Get("Content-Type"))
	found.setBool(id, f.markdown.ok() && kind == "text/markdown", note(f.markdown.asked, "no alternate of type text/markdown; Accept: text/markdown answered %d %s", f.markdown.status, kind))
}

func (f *site) feed(found findings) {
	for _, p := range f.pages {
		for _, l := range p.rel("alternate") {
			if feedTypes[l.media] {
				found.set("agent.feed", one, note(p.url.String(), "%s %s", l.media, l.href))
				return
			}
		}
	}
	found.set("agent.feed", 0, note(f.home.url.String(), "no RSS, Atom or JSON feed linked on %s", count(len(f.pages), "page", "pages")))
}

// manipulation says whether the site speaks to models behind its readers' back:
// orders in llms.txt or in text nobody sees, or letters made of invisible tag
// characters.
func (f *site) manipulation(found findings) {
	const id = "manipulation.found"
	var seen []fieldmark.Evidence
	if f.llms.visit.ok() && !f.llms.soft {
		seen = append(seen, manipulates(f.llms.visit.asked, "llms.txt", string(f.llms.visit.body))...)
	}
	for _, p := range f.pages {
		at := p.url.String()
		seen = append(seen, manipulates(at, "hidden text", p.hidden)...)
		seen = append(seen, manipulates(at, "a comment", p.comments)...)
		for _, visible := range []string{p.text, p.title, p.description} {
			if smuggled(visible) {
				seen = append(seen, note(at, "invisible tag characters in visible text"))
				break
			}
		}
	}
	if len(seen) == 0 {
		found.set(id, 0, note(f.home.url.String(), "no orders to models in llms.txt or in the hidden text of %s", count(len(f.pages), "page", "pages")))
		return
	}
	found.set(id, one, seen...)
}

// manipulates looks for orders and smuggled letters in one text.
func manipulates(at, where, text string) (seen []fieldmark.Evidence) {
	if smuggled(text) {
		seen = append(seen, note(at, "invisible tag characters in %s", where))
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
	return append(seen, note(at, "an order to models in %s: %s", where, example))
}

// smuggled reports whether a text holds tag characters (U+E0000 to U+E007F)
// outside of the flags of regions, which are made of them (UTS 51, section
// C.1): a black flag, up to six of them, and a cancel tag.
func smuggled(s string) bool {
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
