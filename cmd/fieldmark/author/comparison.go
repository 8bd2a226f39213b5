package author

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/fieldmark/fieldmark"
)

// PrintComparison prints what a new module would change.
func PrintComparison(w io.Writer, r *fieldmark.ModuleComparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "compared\t%d brands\n", r.Brands)
	fmt.Fprintf(t, "grade changed\t%d, %s %%\n", r.GradesChanged, (r.GradeShare * 100))
	fmt.Fprintf(t, "score changed\t%d, by %s on average, %s at most\n", r.Moved, r.MeanMove, r.LargestMove)
	fmt.Fprintf(t, "rank correlation\t%s\n", r.RankCorrelation)
	if r.Faults > 0 {
		fmt.Fprintf(t, "cannot score\t%d, the first: %s\n", r.Faults, r.FirstFault)
	}
	if r.DirectionsBroken > 0 {
		fmt.Fprintf(t, "against a declared direction\t%d, the first: %s\n", r.DirectionsBroken, r.FirstDirection)
	}
	for i := range r.Foretells {
		fmt.Fprintln(t, ForetellingText(&r.Foretells[i]))
	}
	for _, m := range r.Movers {
		fmt.Fprintf(t, "%s\t%s → %s\t%s → %s", m.Slug, orDash(m.From), orDash(m.To), gradeOrDash(m.Grades[0]),
			gradeOrDash(m.Grades[1]))
		for _, reason := range m.Reasons {
			fmt.Fprintf(t, "\t%s %s → %s", reason.ID, reason.From, reason.To)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// ForetellingText returns a line that says how scores are associated with measured answers, after its name
// and a tab. It shows no cause.
func ForetellingText(f *fieldmark.Foretelling) string {
	name := "studies seen"
	if f.Basis == fieldmark.ForetellingHeldOut {
		name = "studies held out by time"
	}
	if f.Tau == nil {
		return fmt.Sprintf("%s\ttoo few yet: %d brands in %d studies, at least %d needed", name, f.Brands, f.Studies,
			f.MinBrands)
	}
	text := fmt.Sprintf("%s\ttau with the %s rate %s (%s to %s), %d brands in %d studies", name, f.Metric, f.Tau, f.Low,
		f.High, f.Brands, f.Studies)
	if a := f.Against; a != nil {
		text += fmt.Sprintf("; active module %s, difference %s (%s to %s)", a.Tau, a.Difference, a.Low, a.High)
	}
	return text
}

func orDash(m *fieldmark.Milli) string {
	if m == nil {
		return "-"
	}
	return m.String()
}

func gradeOrDash(g fieldmark.Grade) string {
	if g == "" {
		return "-"
	}
	return string(g)
}
