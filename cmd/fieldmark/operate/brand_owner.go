package operate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// brandClaimCmd manages the claims of brands by their owners.
type brandClaimCmd struct {
	List   claimListCmd   `cmd:"" help:"List claims, newest first."`
	Show   claimShowCmd   `cmd:"" help:"Print a claim as JSON, with its proofs, its last check and its history."`
	Revoke claimRevokeCmd `cmd:"" help:"Revoke a claim; its keys end."`
}

type claimListCmd struct {
	adminFlags `embed:""`
	Brand      string     `placeholder:"SLUG" help:"Only claims of this brand."`
	State      claimState `help:"Only claims in this state; contested ones contest the brand of another claim."`
}

// claimState is a flag with a state of claims.
type claimState fieldmark.ClaimState

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *claimState) UnmarshalText(text []byte) error {
	return parseState(text, fieldmark.ClaimStates(), (*fieldmark.ClaimState)(s))
}

// Run prints a line for each claim.
func (c *claimListCmd) Run(ctx context.Context, s *command.Streams) error {
	return eachOfPages(c, s, c.Brand, func(api *client.Client, brand fieldmark.Slug,
		cursor string) (fieldmark.List[fieldmark.Claim], error) {
		return api.Claims(ctx, fieldmark.ClaimState(c.State), brand, cursor)
	}, func(claim *fieldmark.Claim) string {
		return fmt.Sprintf("%s  %-11s  %-4s  %s  %-24s %s", claim.ID, claim.State, cmp.Or(claim.Method, "-"),
			claim.CreatedAt, cmp.Or(claim.Brand, "-"), claim.URL)
	})
}

// claimFlags name one claim.
type claimFlags struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Id of the claim: clm_…"`
}

type claimShowCmd struct {
	claimFlags `embed:""`
}

// Run prints the claim.
func (c *claimShowCmd) Run(ctx context.Context, s *command.Streams) error {
	return runJSON(c, s, func(api *client.Client) (fieldmark.Claim, error) { return api.AnyClaim(ctx, c.ID) })
}

type claimRevokeCmd struct {
	claimFlags `embed:""`
	Reason     string `required:"" help:"Reason, shown to the owner."`
}

// Run revokes the claim.
func (c *claimRevokeCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Claim, error) {
		return api.RevokeClaim(ctx, c.ID, fieldmark.ClaimRevocation{Reason: c.Reason})
	}, func(claim fieldmark.Claim) error { return printf(s, "%s is %s\n", claim.ID, claim.State) })
}

// brandRequestCmd decides the changes of brands that owners request.
type brandRequestCmd struct {
	List    requestListCmd    `cmd:"" help:"List the pending requests, newest first."`
	Approve requestApproveCmd `cmd:"" help:"Approve a request; the brand changes at once."`
	Reject  requestRejectCmd  `cmd:"" help:"Reject a request."`
}

type requestListCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each request. Text of owners is quoted, as it may contain control characters.
func (c *requestListCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.BrandRequest, error) { return api.BrandRequests(ctx) },
		func(list []fieldmark.BrandRequest) error {
			for i := range list {
				r := &list[i]
				change := joined(r.Change.Aliases)
				if p := r.Change.Profile; p != nil {
					change = fmt.Sprintf("%q in %s", p.Name, p.Niche)
				}
				fmt.Fprintf(s.Out, "%s  %-7s  %s  %-24s %s\n", r.ID, r.Kind, r.RequestedAt, r.Brand, change)
			}
			return nil
		})
}

// requestFlags name one request.
type requestFlags struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Id of the request: brq_…"`
}

func (f *requestFlags) decide(ctx context.Context, s *command.Streams, d fieldmark.RequestDecision) error {
	return run(f, func(api *client.Client) (fieldmark.BrandRequest, error) {
		return api.DecideBrandRequest(ctx, f.ID, d)
	}, func(r fieldmark.BrandRequest) error { return printf(s, "%s is %s\n", r.ID, r.State) })
}

type requestApproveCmd struct {
	requestFlags `embed:""`
	Answer       string `help:"Text for the owner."`
}

// Run approves the request.
func (c *requestApproveCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.decide(ctx, s, fieldmark.RequestDecision{State: fieldmark.RequestApproved, Answer: c.Answer})
}

type requestRejectCmd struct {
	requestFlags `embed:""`
	Answer       string `required:"" help:"Reason, shown to the owner."`
}

// Run rejects the request.
func (c *requestRejectCmd) Run(ctx context.Context, s *command.Streams) error {
	return c.decide(ctx, s, fieldmark.RequestDecision{State: fieldmark.RequestRejected, Answer: c.Answer})
}
