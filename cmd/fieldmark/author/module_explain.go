package author

import (
	"fmt"
	"io"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

type moduleExplainCmd struct {
	cardFile
	Facts string `placeholder:"FILE" help:"Facts as JSON (fieldmark audit --json): also explain their score."`
	JSON  bool   `name:"json" help:"Print the explanation as JSON."`
}

// Help is printed below the flags.
func (moduleExplainCmd) Help() string {
	return `Prints for each component the points of its signals, the inputs of each signal, the
points for each value, and when a gate caps the score. With --facts, also the values
of one site, the points they earn, and the score.

  fieldmark audit --json https://example.com > facts.json
  fieldmark module explain card.json --facts facts.json`
}

// Run prints the explanation.
func (c *moduleExplainCmd) Run(s *command.Streams) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	parsed, err := c.parse(s, text)
	if err != nil {
		return err
	}
	var values []int64
	var states []byte
	if c.Facts != "" {
		facts, err := readFacts(c.Facts)
		if err != nil {
			return err
		}
		if values, states, err = cardInputs(parsed.Manifest().Inputs, &facts); err != nil {
			return fmt.Errorf("%s: %w", c.Facts, err)
		}
	}
	e := parsed.Explain(values, states)
	if c.JSON {
		return s.PrintJSON(e)
	}
	var b strings.Builder
	printExplanation(&b, &e, values != nil)
	_, err = io.WriteString(s.Out, b.String())
	return err
}

// cardInputs binds facts to inputs by name, as a host does.
func cardInputs(inputs []abi.Input, facts *fieldmark.Facts) ([]int64, []byte, error) {
	values, states := make([]int64, len(inputs)), make([]byte, len(inputs))
	for i, in := range inputs {
		fact, ok := facts.Find(in.Name)
		switch {
		case ok && fact.State == fieldmark.NotApplicable:
			states[i] = abi.StateNotApplicable
		case ok && fact.State == fieldmark.Measured && fact.Unit != in.Unit:
			return nil, nil, fmt.Errorf("fact %s has the unit %q, the card reads it in %q", in.Name, fact.Unit, in.Unit)
		case ok && fact.State == fieldmark.Measured:
			values[i], states[i] = fact.Value, abi.StateMeasured
		}
	}
	return values, states, nil
}

// printExplanation prints a block for each component.
func printExplanation(w io.Writer, e *card.Explanation, worked bool) {
	for _, c := range e.Components {
		fmt.Fprintf(w, "%s (%s), %s", c.Label, c.ID, command.Count(c.Weight, "point", "points"))
		if worked {
			fmt.Fprintf(w, ": %s of %d that could be measured", c.Reached, c.Measured)
		}
		fmt.Fprintln(w)
		for _, s := range c.Signals {
			fmt.Fprintf(w, "  %s (%s), %s, %s", s.Label, s.ID, command.Count(s.Points, "point", "points"), s.Rule)
			if worked {
				fmt.Fprint(w, ": ", valueOrReason(s.Status, s.Reached.String()))
			}
			fmt.Fprintln(w)
			for _, p := range s.Parts {
				fmt.Fprintf(w, "    %s", p.Input)
				if len(s.Parts) > 1 && p.Weight != 1 {
					fmt.Fprintf(w, ", weight %d", p.Weight)
				}
				fmt.Fprintf(w, ": %s\n", p.Rule)
				if worked {
					fmt.Fprintf(w, "      → %s\n", valueOrReason(p.Status,
						fmt.Sprintf("%s %s: %s %%", p.Value, p.Unit, p.Mark*100)))
				}
			}
		}
	}
	for _, g := range e.Gates {
		fmt.Fprintf(w, "gate %s: at most %d if %s", g.ID, g.Limit, g.When)
		if g.ID == fieldmark.GateUnreachable {
			fmt.Fprint(w, " (and no score at all)")
		}
		if worked {
			fmt.Fprint(w, map[bool]string{true: ": caught", false: ": open"}[g.Caught])
		}
		fmt.Fprintln(w)
	}
	switch {
	case !worked:
	case e.Score == nil:
		fmt.Fprintln(w, "no score")
	default:
		fmt.Fprintf(w, "score %s\n", e.Score)
	}
}

// valueOrReason returns the value, or the reason why it is missing.
func valueOrReason(status fieldmark.FactState, found string) string {
	switch status {
	case fieldmark.NotApplicable:
		return "does not apply, so it does not count"
	case fieldmark.Unknown:
		return "unknown, so it does not count"
	}
	return found
}
