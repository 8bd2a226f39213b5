package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
)

// The bounds of a page of deliveries and of one of events.
const (
	defaultDeliveryLimit = 50
	maxDeliveryLimit     = 500
	defaultPollLimit     = 100
	maxPollLimit         = 500
)

// deliveryPage is the parameters of the list of all deliveries, deliveryFilters
// of those to one endpoint, and pollPage of the list of events.
var (
	deliveryPage = []param{
		{name: "limit", does: "Deliveries, newest first", lowest: 1, highest: maxDeliveryLimit, preset: defaultDeliveryLimit},
		{name: "cursor", does: "nextCursor of the page before"},
		{name: "state", does: "Only those that stand so; held is a kind of due", enum: deliveryStates()},
	}
	pollPage = []param{
		{name: "after", does: "The last number you know; 0 begins at the oldest that is kept", highest: 1 << 53},
		{name: "limit", does: "Events on a page", lowest: 1, highest: maxPollLimit, preset: defaultPollLimit},
		{name: "type", does: "Only events of this type or, with .* at the end, of this kind", many: true},
		{name: "payload", does: "thin leaves ids alone of data", enum: []string{"FULL", "THIN"}},
	}
)

func deliveryStates() []string {
	var all []string
	for _, s := range fieldmark.DeliveryStates() {
		all = append(all, strings.ToUpper(string(s)))
	}
	return append(all, strings.ToUpper(string(fieldmark.DeliveryHeld)))
}

// account is whose endpoints a caller may see: those of its key, or all of them
// for an administrator.
func (c *call) account() string {
	if strings.HasPrefix(c.route.path, fieldmark.PathAdminAPI) {
		return ""
	}
	return c.key.Account
}

// owner is who gets what is made.
func (c *call) owner() string {
	if account := c.account(); account != "" {
		return account
	}
	return access.DefaultAccount
}

// listEndpoints lists endpoints, without their secrets.
func (s *server) listEndpoints(c *call) error {
	endpoints, err := s.origin.Endpoints(c.r.Context(), c.account())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(endpoints))
}

// getEndpoint reads one endpoint.
func (s *server) getEndpoint(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	e, err := s.origin.Endpoint(c.r.Context(), c.account(), id)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, e)
}

// createEndpoint registers an address.
func (s *server) createEndpoint(c *call) error {
	var req fieldmark.EndpointRequest
	if err := c.decode(&req, func() []fieldmark.FieldError { return unknownPatterns(req.Events) }); err != nil {
		return err
	}
	e, err := s.origin.CreateEndpoint(c.r.Context(), c.owner(), req)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, e)
}

func unknownPatterns(patterns []string) (bad []fieldmark.FieldError) {
	for i, pattern := range patterns {
		if !fieldmark.ValidEventPattern(pattern) {
			bad = append(bad, fieldmark.FieldError{Pointer: "/events/" + strconv.Itoa(i), Code: "enum", Detail: "must be an event type, or mission.*"})
		}
	}
	return bad
}

// patchEndpoint changes an endpoint.
func (s *server) patchEndpoint(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	var req fieldmark.EndpointPatch
	if err := c.decode(&req, func() []fieldmark.FieldError { return unknownPatterns(req.Events) }); err != nil {
		return err
	}
	e, err := s.origin.PatchEndpoint(c.r.Context(), c.account(), id, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, e)
}

// deleteEndpoint removes an endpoint.
func (s *server) deleteEndpoint(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	if err := s.origin.DeleteEndpoint(c.r.Context(), c.account(), id); err != nil {
		return err
	}
	return c.sendEmpty(http.StatusNoContent)
}

// rotateSecret gives an endpoint a new secret.
func (s *server) rotateSecret(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	var req fieldmark.SecretRequest
	if err := c.decodeMaybe(&req); err != nil {
		return err
	}
	e, err := s.origin.RotateSecret(c.r.Context(), c.account(), id, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, e)
}

// publicKeys tells an endpoint's public keys to whoever knows its id.
func (s *server) publicKeys(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	keys, err := s.origin.PublicKeys(c.r.Context(), id)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	return c.send(http.StatusOK, keys)
}

// testEndpoint sends a test message and tells what became of it.
func (s *server) testEndpoint(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	var req fieldmark.PingRequest
	if err := c.decodeMaybe(&req); err != nil {
		return err
	}
	result, err := s.origin.Ping(c.r.Context(), c.account(), id, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, result)
}

// startReplay begins to send messages again.
func (s *server) startReplay(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	var req fieldmark.ReplayRequest
	if err := c.decode(&req, nil); err != nil {
		return err
	}
	replay, err := s.origin.StartReplay(c.r.Context(), c.account(), id, req)
	if err != nil {
		return err
	}
	return c.send(http.StatusAccepted, replay)
}

// listReplays lists an endpoint's replays.
func (s *server) listReplays(c *call) error {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err != nil {
		return err
	}
	replays, err := s.origin.Replays(c.r.Context(), c.account(), id)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(replays))
}

// listDeliveries lists the newest deliveries of all endpoints, or of one.
func (s *server) listDeliveries(c *call) error {
	page := origin.DeliveryPage{
		Limit: c.asked.number("limit"), Cursor: c.asked.text("cursor"), State: fieldmark.DeliveryState(strings.ToLower(c.asked.text("state"))),
	}
	if c.r.PathValue("id") != "" {
		var err error
		if page.Endpoint, err = c.endpoint(s); err != nil {
			return err
		}
	}
	deliveries, err := s.origin.Deliveries(c.r.Context(), page)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, deliveries)
}

// endpoint returns the id in the path, of an endpoint the caller may see.
func (c *call) endpoint(s *server) (string, error) {
	id, err := c.id(fieldmark.PrefixWebhook)
	if err == nil {
		_, err = s.origin.Endpoint(c.r.Context(), c.account(), id)
	}
	return id, err
}

// getDelivery reads a delivery and its attempts.
func (s *server) getDelivery(c *call) error { return c.onDelivery(s, http.StatusOK, s.origin.Delivery) }

// resendDelivery sends a message again.
func (s *server) resendDelivery(c *call) error {
	return c.onDelivery(s, http.StatusAccepted, s.origin.Resend)
}

// onDelivery does something with the delivery in the path.
func (c *call) onDelivery(s *server, status int, do deliveryAct) error {
	endpoint, err := c.endpoint(s)
	if err != nil {
		return err
	}
	id := c.r.PathValue("delivery")
	if !fieldmark.CheckID(fieldmark.PrefixDelivery, id) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such delivery")
	}
	record, err := do(c.r.Context(), endpoint, id)
	if err != nil {
		return err
	}
	return c.send(status, record)
}

// pollEvents tells an account's events to receivers that cannot be reached.
func (s *server) pollEvents(c *call) error {
	patterns := c.asked.values["type"]
	if i := slices.IndexFunc(patterns, func(p string) bool { return !fieldmark.ValidEventPattern(p) }); i >= 0 {
		var bad complaints
		bad.add("?type", "enum", "must be event types, or a kind and .*")
		return bad.err(fieldmark.CodeInvalidParameter)
	}
	thin := strings.EqualFold(c.asked.text("payload"), "thin")
	page, err := s.origin.PollEvents(c.r.Context(), c.key.Account, int64(c.asked.number("after")), patterns, thin, c.asked.number("limit"))
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, page)
}

// listEventTypes describes every type of event.
func (s *server) listEventTypes(c *call) error {
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	if c.unchanged(s.eventTypes.etag) {
		return nil
	}
	return c.sendBytes(http.StatusOK, jsonType, s.eventTypes.bytes)
}
