package api

import (
	"net/http"
	"time"
)

// RetiringPath is the one route of NewRetiring.
const RetiringPath = "/api/public/v0/missions"

// NewRetiring builds the API with a route that will be gone one day, of which
// there is none yet.
func NewRetiring(cfg Config, since, until time.Time) (http.Handler, error) {
	return newServer(cfg, []*route{{"GET", RetiringPath, anyone, func(c *call) error { return c.sendEmpty(http.StatusNoContent) },
		op{id: "oldMissions", does: "What will be gone", status: []int{http.StatusNoContent},
			retiring: &retiring{since: since, until: until, about: "https://docs.example/v0"}}}})
}
