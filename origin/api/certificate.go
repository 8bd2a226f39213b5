package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/acme"
)

// certificateAPI serves TLS certificates to administrators and to edges.
type certificateAPI struct{ certificates *acme.Service }

// challengeKinds are the kinds of challenges that edges ask for.
var challengeKinds = []string{"http-01", "tls-alpn-01"}

// sendAll sends all certificates, their keys encrypted under the token of the request.
func (a *certificateAPI) sendAll(c *call) error {
	token, _ := bearer(c.r.Header.Get("Authorization"))
	all, err := a.certificates.ForEdges(c.r.Context(), token)
	if err != nil {
		return fmt.Errorf("certificates for an edge: %w", err)
	}
	return c.send(http.StatusOK, all)
}

// sendChallenge sends the answer to an open challenge of a CA.
func (a *certificateAPI) sendChallenge(c *call) error {
	kind := c.r.PathValue("kind")
	if !slices.Contains(challengeKinds, kind) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such kind of challenge")
	}
	answer, err := a.certificates.Challenge(c.r.Context(), kind, c.r.PathValue("answer"))
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, answer)
}
