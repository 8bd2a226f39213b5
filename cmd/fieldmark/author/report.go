package author

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// maxFixes is the number of recommendations at the top of a report: the most that readers
// act on.
const maxFixes = 10

// ansi colors text for a terminal if it is true.
type ansi bool

func (on ansi) paint(code, text string) string {
	if !on || text == "" {
		return text
	}
	if code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (on ansi) bold(text string) string { return on.paint("1", text) }
func (on ansi) dim(text string) string  { return on.paint("2", text) }

// grade colors a text like the badge of a grade.
func (on ansi) grade(g fieldmark.Grade, text string) string {
	return on.paint(map[fieldmark.Grade]string{"A": "32", "B": "32", "C": "33", "D": "33", "E": "31"}[g], text)
}

// printReport prints an assessment of the site of facts, of which the observed ones are shown if
// facts has them: the score or the reason why the site has no score,
// what to improve first, and every signal with its evidence.
func printReport(w io.Writer, facts *fieldmark.Facts, a *fieldmark.Assessment, notes []note, color bool) error {
	var b bytes.Buffer
	on := ansi(color)
	fmt.Fprintf(&b, "\n%s\n", on.bold(facts.URL))
	writeVerdict(&b, on, a)
	for _, n := range notes {
		fmt.Fprintf(&b, "%s %s\n", on.bold(n.label), n.text)
	}
	writeFixes(&b, on, a)
	for _, c := range a.Components {
		fmt.Fprintf(&b, "\n%s  %s of %d\n", on.bold(c.Label), c.Points.Tenth(), c.Weight)
		for _, s := range c.Signals {
			writeSignal(&b, on, s)
		}
	}
	writeObserved(&b, on, facts)
	fmt.Fprintf(&b, "\n%s\n",
		on.dim(fmt.Sprintf("%s %s · module %s\nfacts %s", a.Methodology.ID, a.Methodology.Version, a.Module.Digest,
			a.FactsDigest)))
	_, err := w.Write(b.Bytes())
	return err
}

// writeVerdict writes whether engines can use the site, then its practice. They are
// independent.
func writeVerdict(b *bytes.Buffer, on ansi, a *fieldmark.Assessment) {
	writeEligibility(b, on, a)
	if a.Score == nil || a.Range == nil {
		fmt.Fprintf(b, "No score: %s\n", a.Status)
	} else {
		fmt.Fprintf(b, "practice %s of 100, between %s and %s, %s by the lower end; its effect on answers is "+
			"not proven\n",
			on.bold(a.Score.String()), a.Range.Low, a.Range.High, on.grade(a.Grade, "grade "+string(a.Grade)))
	}
	if u := a.Uncertainty; u != nil {
		sampling := "not estimated"
		if u.Sampling != nil {
			sampling = "±" + u.Sampling.String()
		}
		fmt.Fprintf(b, "range: draw of pages %s, weights ±%s, unknown signals %s\n", sampling, u.Weights, u.Unknown)
	}
	fmt.Fprintf(b, "confidence %s (%s): %d of %d applicable points measured, %s sampled, as of %s\n",
		a.Confidence.Level, a.Confidence.Value, a.Confidence.MeasuredWeight, a.Confidence.ApplicableWeight,
		command.Count(a.PagesSampled, "page", "pages"), a.AsOf)
	for _, g := range a.Gates {
		fmt.Fprintf(b, "%s %s: %s\n", on.paint("31", "gate"), on.bold(gateWords(g)), g.Reason)
		for _, e := range g.Evidence {
			fmt.Fprintf(b, "     %s: %q %q\n", e.URL, e.Fact, e.Passage)
		}
	}
}

// writeEligibility writes one line for each condition that engines document.
func writeEligibility(b *bytes.Buffer, on ansi, a *fieldmark.Assessment) {
	if a.Eligibility == nil {
		return
	}
	ready := "not yet GEO-ready"
	if a.GeoReady {
		ready = "GEO-ready"
	}
	fmt.Fprintf(b, "%s, eligible: %s\n", on.bold(ready), on.eligibility(a.Eligibility.State))
	for _, c := range a.Eligibility.Checks {
		fmt.Fprintf(b, "- %s: %s. %s\n", c.ID, on.eligibility(c.State), c.Reason)
	}
	b.WriteByte('\n')
}

// eligibility colors an answer.
func (on ansi) eligibility(s fieldmark.EligibilityState) string {
	return on.paint(map[fieldmark.EligibilityState]string{fieldmark.Eligible: "32", fieldmark.PartlyEligible: "33",
		fieldmark.NotEligible: "31"}[s], string(s))
}

func gateWords(g fieldmark.Gate) string {
	if g.ID == fieldmark.GateUnreachable {
		return g.ID
	}
	return fmt.Sprintf("%s, at most %d", g.ID, g.Limit)
}

// advice returns what to improve, the most worthwhile first.
func advice(a *fieldmark.Assessment) []fieldmark.Gain {
	gains := scoring.Advise(a)
	return gains[:min(len(gains), maxFixes)]
}

var gradeWords = map[fieldmark.EvidenceGrade]string{
	fieldmark.EvidenceReproduced: "measured more than once", fieldmark.EvidenceDocumented: "documented by an engine",
	fieldmark.EvidenceOneStudy: "one study, or contested", fieldmark.EvidenceJudgement: "judgement, no study",
}

var effortWords = map[int]string{1: "hours", 2: "days", 3: "weeks"}

// worth returns the points of a recommendation, and the evidence and effort if the module
// states them.
func worth(g *fieldmark.Gain) (points, why string) {
	var parts []string
	if words := gradeWords[g.EvidenceGrade]; words != "" {
		parts = append(parts, "evidence: "+words)
	}
	if words := effortWords[g.Effort]; words != "" {
		parts = append(parts, "effort: "+words)
	}
	points = "+" + g.Gain.String()
	if g.Gain == 0 {
		points = "first"
	}
	return points, strings.Join(parts, " · ")
}

func writeFixes(b *bytes.Buffer, on ansi, a *fieldmark.Assessment) {
	gains := advice(a)
	if len(gains) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", on.bold("What to improve first"))
	for i := range gains {
		g := &gains[i]
		points, why := worth(g)
		fmt.Fprintf(b, "%3d. %-7s %s\n     %s\n", i+1, points, g.Label, on.dim(g.Advice))
		if why != "" {
			fmt.Fprintf(b, "     %s\n", on.dim(why))
		}
		for _, e := range g.Evidence {
			if e.Passage == "" && e.Patch == "" {
				continue
			}
			fmt.Fprintf(b, "     %s\n", e.URL)
			if e.Passage != "" {
				fmt.Fprintf(b, "       found: %s\n", e.Passage)
			}
			if e.Patch != "" {
				fmt.Fprintf(b, "       paste: %s\n", strings.ReplaceAll(e.Patch, "\n", "\n              "))
			}
		}
	}
}

// observedFact is a fact that the report shows without points.
type observedFact struct{ label, value, seen string }

// observedOf returns the observed facts with the first of their evidence.
func observedOf(facts *fieldmark.Facts) (list []observedFact) {
	for _, o := range fieldmark.ObservedFacts() {
		f, ok := facts.Find(o.ID)
		if !ok {
			continue
		}
		v := observedFact{label: o.Label, value: f.Answer()}
		if len(f.Evidence) > 0 {
			v.seen = f.Evidence[0].Fact
		}
		list = append(list, v)
	}
	return list
}

// writeObserved writes the observed facts.
func writeObserved(b *bytes.Buffer, on ansi, facts *fieldmark.Facts) {
	for i, o := range observedOf(facts) {
		if i == 0 {
			fmt.Fprintf(b, "\n%s\n", on.bold("Observed, not scored"))
		}
		fmt.Fprintf(b, "  %-8s %-48s %s\n", o.value, o.label, on.dim(o.seen))
	}
}

// pointsOf returns the points of a signal, as a mark and as text.
func pointsOf(s fieldmark.Signal) (mark, points string) {
	switch s.Status {
	case fieldmark.NotApplicable:
		return "-", "not applicable"
	case fieldmark.Measured:
		points = fmt.Sprintf("%s of %d", s.Points.Tenth(), s.Max)
		switch full := fieldmark.Milli(s.Max) * fieldmark.MilliOne; {
		case s.Points == full:
			return "+", points
		case s.Points == 0:
			return "x", points
		}
		return "~", points
	}
	return "?", "unknown"
}

func valueOf(s fieldmark.Signal) string {
	if s.Value == nil {
		return ""
	}
	return s.Value.String() + " " + strings.ReplaceAll(s.Unit, "_", " ")
}

func writeSignal(b *bytes.Buffer, on ansi, s fieldmark.Signal) {
	mark, points := pointsOf(s)
	mark = on.paint(map[string]string{"+": "32", "x": "31", "~": "33"}[mark], mark)
	fmt.Fprintf(b, "  %s %-14s %-34s %s\n", mark, points, s.Label, valueOf(s))
	if s.Status == fieldmark.Unknown {
		fmt.Fprintf(b, "      %s\n", s.Advice) // names what could not be measured
	}
	for _, e := range s.Evidence {
		fmt.Fprintf(b, "      %s\n", on.dim(e.Fact+"  "+e.URL))
	}
}

// printMarkdown prints an assessment as GitHub Flavored Markdown, for comments of
// pipelines.
func printMarkdown(w io.Writer, facts *fieldmark.Facts, a *fieldmark.Assessment, notes []note) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", inCell(facts.URL))
	writeVerdict(&b, false, a)
	for _, n := range notes {
		fmt.Fprintf(&b, "\n**%s** %s\n", n.label, inCell(n.text))
	}
	writeMarkdownFixes(&b, advice(a))
	for _, c := range a.Components {
		fmt.Fprintf(&b, "\n## %s: %s of %d\n\n| signal | points | value | seen |\n|---|---:|---|---|\n",
			inCell(c.Label), c.Points.Tenth(), c.Weight)
		for _, s := range c.Signals {
			_, points := pointsOf(s)
			var seen []string
			if s.Status == fieldmark.Unknown {
				seen = append(seen, inCell(s.Advice)) // names what could not be measured
			}
			for _, e := range s.Evidence {
				seen = append(seen, inCell(e.Fact))
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", inCell(s.Label), points, inCell(valueOf(s)),
				strings.Join(seen, "<br>"))
		}
	}
	for i, o := range observedOf(facts) {
		if i == 0 {
			b.WriteString("\n## Observed, not scored\n\n| fact | value | seen |\n|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", inCell(o.label), inCell(o.value), inCell(o.seen))
	}
	fmt.Fprintf(&b, "\n%s %s, module `%s`, facts `%s`\n", a.Methodology.ID, a.Methodology.Version, a.Module.Digest,
		a.FactsDigest)
	_, err := w.Write(b.Bytes())
	return err
}

// writeMarkdownFixes writes the recommendations as a table, then what to paste, in fenced
// blocks that no text of the site can close.
func writeMarkdownFixes(b *bytes.Buffer, gains []fieldmark.Gain) {
	if len(gains) == 0 {
		return
	}
	b.WriteString("\n## What to improve first\n\n| worth | signal | advice | why |\n|---:|---|---|---|\n")
	for i := range gains {
		points, why := worth(&gains[i])
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", points, inCell(gains[i].Label), inCell(gains[i].Advice), inCell(why))
	}
	for _, g := range gains {
		for _, e := range g.Evidence {
			if e.Passage != "" {
				fmt.Fprintf(b, "\n%s, on %s: “%s”\n", inCell(g.Label), inCell(e.URL), inCell(e.Passage))
			}
			if e.Patch != "" {
				fence := "```"
				for strings.Contains(e.Patch, fence) {
					fence += "`"
				}
				fmt.Fprintf(b, "\n%s, paste into %s:\n\n%s\n%s\n%s\n", inCell(g.Label), inCell(e.URL), fence, e.Patch,
					fence)
			}
		}
	}
}

// inCell escapes text from a website for a table cell: it must not become markup, a link
// or a mention.
func inCell(text string) string {
	return cellEscapes.Replace(strings.Join(strings.Fields(text), " "))
}

var cellEscapes = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "&", "&amp;", "`", "\\`", "*", "\\*", "_",
	"\\_", "[", "\\[", "]", "\\]", "@", "@\u200b", "#", "\\#", "~", "\\~")
