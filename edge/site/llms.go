package site

import (
	"fmt"
	"strings"
)

// maxMarkedLines bounds how many lines of a checked file are shown with their
// marks: a page, not a mirror. Issues further down are listed by number alone.
const maxMarkedLines = 400

// maxMarkedBytes bounds the same in bytes, for a file of one long line.
const maxMarkedBytes = 24 << 10

// markLines puts each issue at its line.
func markLines(r *LLMsResult) []llmsLine {
	content := strings.TrimSuffix(r.Content, "\n")
	if len(content) > maxMarkedBytes {
		content = strings.ToValidUTF8(content[:maxMarkedBytes], "")
	}
	texts := strings.Split(content, "\n")
	texts = texts[:min(len(texts), maxMarkedLines)]
	lines := make([]llmsLine, len(texts))
	for i, text := range texts {
		lines[i] = llmsLine{Number: i + 1, Text: plain(strings.TrimSuffix(text, "\r"))}
	}
	for _, issue := range r.Issues {
		for _, p := range issue.Places {
			if p.Line < 1 || p.Line > len(lines) {
				continue
			}
			l := &lines[p.Line-1]
			l.Issues = append(l.Issues, issue.at(p))
			if gravity[issue.Severity] > gravity[l.Tone] {
				l.Tone = issue.Severity
			}
		}
	}
	return lines
}

// at returns the issue as it is shown at one of its places.
func (i LLMsIssue) at(p LLMsPlace) LLMsIssue {
	if p.Text != "" {
		i.Message += ": “" + p.Text + "”"
	}
	return i
}

var gravity = map[string]int{"": 0, "advice": 1, "info": 1, "warning": 2, "error": 3}

// Elsewhere lists the issues that are not marked at a shown line: those of the
// whole file, those beyond the shown lines, and all of a generated file, which is
// shown as a text to copy.
func (v *llmsView) Elsewhere() []LLMsIssue {
	var rest []LLMsIssue
	for _, issue := range v.Page.Result.Issues {
		if v.Page.Result.Made || issue.Line < 1 || issue.Line > len(v.Lines) {
			if len(issue.Places) > 0 {
				issue = issue.at(issue.Places[0])
			}
			if issue.Count > 1 {
				issue.Message += fmt.Sprintf(" (%d times)", issue.Count)
			}
			rest = append(rest, issue)
		}
	}
	return rest
}
