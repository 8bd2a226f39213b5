package fieldmark

import (
	"slices"
	"strings"
)

// Endpoint is an address that gets webhooks.
type Endpoint struct {
	ID          string   `json:"id"` // whk_…
	Account     string   `json:"account"`
	URL         string   `json:"url"`
	Events      []string `json:"events"` // exact types, or a kind and .*
	Description string   `json:"description,omitempty"`
	CreatedAt   Time     `json:"createdAt"`
	ExpiresAt   *Time    `json:"expiresAt"` // null: until deleted
}

// EndpointRequest asks for an endpoint. Without events it gets mission.*.
type EndpointRequest struct {
	URL         string   `json:"url" minLength:"1" maxLength:"2048"`
	Events      []string `json:"events,omitempty" maxItems:"50"`
	Description string   `json:"description,omitempty" maxLength:"200"`
	TTLSeconds  int      `json:"ttlSeconds,omitempty" minimum:"0" maximum:"86400" doc:"Life of a temporary endpoint; 0 keeps it until it is deleted"`
}

// NewEndpoint is an endpoint just made: the only time its secret is told.
type NewEndpoint struct {
	Endpoint
	Secret string `json:"secret"` // whsec_ and base64 (Standard Webhooks 1.0)
}

// AllMissionEvents is the pattern an endpoint gets when it names none.
const AllMissionEvents = "mission.*"

// ValidEventPattern reports whether a subscription pattern can match anything.
func ValidEventPattern(pattern string) bool {
	return slices.ContainsFunc(slices.Concat(MissionEvents(), SLAEvents(), PaymentEvents(), []EventType{EventModuleRolledBack}), func(t EventType) bool { return MatchEvent(pattern, t) })
}

// MatchEvent reports whether a subscription pattern covers an event type: the
// type itself, a kind and .*, or * alone.
func MatchEvent(pattern string, t EventType) bool {
	if pattern == "*" || pattern == string(t) {
		return true
	}
	kind, ok := strings.CutSuffix(pattern, ".*")
	return ok && strings.HasPrefix(string(t), kind+".")
}

// Wants reports whether the endpoint subscribed to t.
func (e *Endpoint) Wants(t EventType) bool {
	return slices.ContainsFunc(e.Events, func(p string) bool { return MatchEvent(p, t) })
}

// DeliveryState is where a delivery stands.
type DeliveryState string

// A delivery waits for its time, was taken by the receiver, or was given up.
const (
	DeliveryDue    DeliveryState = "due"
	DeliveryDone   DeliveryState = "done"
	DeliveryFailed DeliveryState = "failed"
)

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID         string        `json:"id"` // dlv_…
	EventID    string        `json:"eventId"`
	EventType  EventType     `json:"eventType"`
	EndpointID string        `json:"endpointId"`
	State      DeliveryState `json:"state"`
	Attempts   int           `json:"attempts"`
	DueAt      Time          `json:"dueAt"`
	LastStatus int           `json:"lastStatus,omitempty"` // HTTP status of the newest attempt
	LastError  string        `json:"lastError,omitempty"`
	CreatedAt  Time          `json:"createdAt"`
	UpdatedAt  Time          `json:"updatedAt"`
}
