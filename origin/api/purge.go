package api

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// purge has every edge derive something again.
func (s *server) purge(c *call) error {
	var req fieldmark.PurgeRequest
	if err := c.decode(&req, nil); err != nil {
		return err
	}
	p, err := s.origin.Purge(c.r.Context(), c.key.ID, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, p)
}
