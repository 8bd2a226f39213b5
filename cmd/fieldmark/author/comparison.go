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
