package author

import (
	"fmt"
	"text/tabwriter"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/wasm"
)

type moduleFactsCmd struct {
	JSON bool `name:"json" help:"Print the list as JSON."`
}

// Help is printed below the flags.
func (moduleFactsCmd) Help() string {
	return `A module reads facts by name and in this unit. A bool is 1 for yes; a share is 0 to 1;
per_1000_words counts per thousand words of main text. A scorecard uses plain numbers,
code uses thousandths. The built-in module gives no points for facts marked (observed).`
}

// Run lists the facts.
func (c *moduleFactsCmd) Run(s *command.Streams) error {
	all := audit.Vocabulary()
	if c.JSON {
		return s.PrintJSON(all)
	}
	t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FACT\tUNIT\tMEANING")
	for _, k := range all {
		if k.Observed {
			k.Meaning += " (observed)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", k.ID, k.Unit, k.Meaning)
	}
	return t.Flush()
}

// checkInputs complains of inputs no audit could ever fill: a module that reads
// them would score, and score less than its author meant.
func checkInputs(r *wasm.Report) {
	if r.Manifest == nil {
		return
	}
	units := map[string]string{}
	for _, k := range audit.Vocabulary() {
		units[k.ID] = k.Unit
	}
	for _, in := range r.Manifest.Inputs {
		switch unit, ok := units[in.Name]; {
		case !ok:
			r.Problems = append(r.Problems,
				fmt.Sprintf("input %s: no audit measures it; fieldmark module facts lists what there is", in.Name))
		case unit != in.Unit:
			r.Problems = append(r.Problems, fmt.Sprintf("input %s is read in %s, audits measure it in %s", in.Name,
				in.Unit, unit))
		}
	}
}
