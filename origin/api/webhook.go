package api

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// The bounds of a page of deliveries.
const (
	defaultDeliveryLimit = 50
	maxDeliveryLimit     = 500
)

// deliveryPage is the parameter of the list of deliveries.
var deliveryPage = []param{
	{name: "limit", does: "Deliveries, newest first", lowest: 1, highest: maxDeliveryLimit, preset: defaultDeliveryLimit},
}

// listEndpoints lists every endpoint, without its secret.
func (s *server) listEndpoints(c *call) error {
	endpoints, err := s.origin.Endpoints(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(endpoints))
}

// createEndpoint registers an address for the default account.
func (s *server) createEndpoint(c *call) error {
	var req fieldmark.EndpointRequest
	err := c.decode(&req, func() (bad []fieldmark.FieldError) {
		for i, pattern := range req.Events {
			if !fieldmark.ValidEventPattern(pattern) {
				bad = append(bad, fieldmark.FieldError{Pointer: "/events/" + strconv.Itoa(i), Code: "enum", Detail: "must be an event type, or mission.*"})
			}
		}
		return bad
	})
	if err != nil {
		return err
	}
	e, err := s.origin.CreateEndpoint(c.r.Context(), origin.DefaultAccount, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, e)
}

// deleteEndpoint removes an endpoint.
func (s *server) deleteEndpoint(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	if err := s.origin.DeleteEndpoint(c.r.Context(), id); err != nil {
		return err
	}
	return c.sendEmpty(http.StatusNoContent)
}

// listDeliveries lists the newest deliveries of all endpoints.
func (s *server) listDeliveries(c *call) error {
	deliveries, err := s.origin.Deliveries(c.r.Context(), c.asked.number("limit"))
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(deliveries))
}
