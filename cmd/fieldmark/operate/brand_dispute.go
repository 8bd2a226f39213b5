package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

type brandShowCmd struct {
	brandFlags `embed:""`
}

// Run prints a brand, its suspicions and its open disputes. Text from websites and from
// senders is quoted, as it may contain control characters.
func (c *brandShowCmd) Run(ctx context.Context, s *command.Streams) error {
	api, slug, err := c.connectBrand()
	if err != nil {
		return err
	}
	b, err := api.Brand(ctx, slug)
	if err != nil {
		return err
	}
	found, err := api.Suspicions(ctx, b.Slug)
	if err != nil {
		return err
	}
	var open []fieldmark.Dispute
	for _, state := range fieldmark.DisputeStates() {
		if !state.Undecided() {
			continue
		}
		page, err := api.Disputes(ctx, b.Slug, state, "")
		if err != nil {
			return err
		}
		open = append(open, page.Data...)
	}
	next := "only on request"
	if found.NextAudit != nil {
		next = found.NextAudit.String()
	}
	visibility := "public"
	if !b.Public {
		visibility = "not public"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n%s  niche %s  language %s  %s\nnext audit: %s\n", b.Slug, b.Name, b.URL, b.Niche,
		b.Language, visibility, next)
	if len(found.Suspicions) > 0 {
		fmt.Fprintf(&out, "\nSuspected manipulation. The score is not affected; text that an audit at least a day "+
			"later finds again becomes a fact.\n")
	}
	for i := range found.Suspicions {
		fmt.Fprintf(&out, "  %s\n", command.SuspicionText(&found.Suspicions[i]))
	}
	if len(open) > 0 {
		fmt.Fprintf(&out, "\nOpen disputes\n")
	}
	for i := range open {
		fmt.Fprintf(&out, "  %s\n", disputeLine(&open[i]))
	}
	_, err = s.Out.Write([]byte(out.String()))
	return err
}

func disputeLine(d *fieldmark.Dispute) string {
	return fmt.Sprintf("%s  %-10s  %s  %-24s %s %s", d.ID, d.State, d.OpenedAt, d.Brand, d.Signal, d.Kind)
}

// brandDisputeCmd lists and decides disputes of findings.
type brandDisputeCmd struct {
	List   disputeListCmd   `cmd:"" help:"List disputes, newest first."`
	Show   disputeShowCmd   `cmd:"" help:"Print a dispute as JSON, with its text and its sender."`
	Uphold disputeUpholdCmd `cmd:"" help:"Uphold a dispute; the site is audited again at once."`
	Reject disputeRejectCmd `cmd:"" help:"Reject a dispute."`
}

type disputeListCmd struct {
	adminFlags `embed:""`
	Brand      string       `placeholder:"SLUG" help:"Only disputes of this brand."`
	State      disputeState `default:"open" help:"State. Those of owners that wait for a decision are in_review."`
}

// disputeState is a flag with a state of disputes.
type disputeState fieldmark.DisputeState

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *disputeState) UnmarshalText(text []byte) error {
	return parseState(text, fieldmark.DisputeStates(), (*fieldmark.DisputeState)(s))
}

// parseState parses a flag with one of some states.
func parseState[S ~string](text []byte, states []S, s *S) error {
	if *s = S(text); !slices.Contains(states, *s) {
		return fmt.Errorf("%q is not one of %s", text, joined(states))
	}
	return nil
}

// joined lists values.
func joined[S ~string](values []S) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return strings.Join(list, ", ")
}

// Run prints a line for each dispute.
func (c *disputeListCmd) Run(ctx context.Context, s *command.Streams) error {
	return eachOfPages(c, s, c.Brand, func(api *client.Client, brand fieldmark.Slug,
		cursor string) (fieldmark.List[fieldmark.Dispute], error) {
		return api.Disputes(ctx, brand, fieldmark.DisputeState(c.State), cursor)
	}, disputeLine)
}

// disputeFlags name one dispute.
type disputeFlags struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Id of the dispute: dsp_…"`
}

type disputeShowCmd struct {
	disputeFlags `embed:""`
}

// Run prints the dispute.
func (c *disputeShowCmd) Run(ctx context.Context, s *command.Streams) error {
	return runJSON(c, s, func(api *client.Client) (fieldmark.Dispute, error) { return api.Dispute(ctx, c.ID) })
}

// decisionFlags are a dispute and the reason of its decision.
type decisionFlags struct {
	disputeFlags `embed:""`
	Answer       string `required:"" help:"Reason of the decision, which is published."`
}

func (f *decisionFlags) decide(ctx context.Context, s *command.Streams, state fieldmark.DisputeState) error {
	return run(f, func(api *client.Client) (fieldmark.Dispute, error) {
		return api.DecideDispute(ctx, f.ID, fieldmark.DisputeDecision{State: state, Answer: f.Answer})
	}, func(d fieldmark.Dispute) error { return printf(s, "%s is %s\n", d.ID, d.State) })
}

type disputeUpholdCmd struct {
	decisionFlags `embed:""`
}

// Run upholds the dispute.
func (c *disputeUpholdCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.decide(ctx, s, fieldmark.DisputeUpheld)
}

type disputeRejectCmd struct {
	decisionFlags `embed:""`
}

// Run rejects the dispute.
func (c *disputeRejectCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.decide(ctx, s, fieldmark.DisputeRejected)
}
