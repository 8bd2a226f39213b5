package claim

import (
	"context"

	"github.com/fieldmark/fieldmark"
)

// Look looks for the proofs of a claim and changes nothing.
func (s *Service) Look(ctx context.Context, c fieldmark.Claim) []fieldmark.ClaimAttempt {
	row, err := s.store.Claim(ctx, c.ID)
	if err != nil {
		panic(err)
	}
	f, err := s.find(ctx, &row, true)
	if err != nil {
		panic(err)
	}
	return f.tried
}
