package fieldmark

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Endpoint is a webhook endpoint.
type Endpoint struct {
	ID          string   `json:"id"` // whk_…
	Account     string   `json:"account"`
	URL         string   `json:"url"`
	Events      []string `json:"events"` // exact types, or a prefix and .*
	Description string   `json:"description,omitempty"`
	EndpointSettings

	State       EndpointState `json:"state"`
	StateReason string        `json:"stateReason,omitempty"` // why it is paused or disabled
	StateAt     *Time         `json:"stateAt,omitempty"`     // since when

	Signing   Signing `json:"signing"`
	PublicKey string  `json:"publicKey,omitempty"` // whpk_ and base64, of v1a
	// OldSecretsUntil is the end of the overlap in which previous secrets also sign.
	OldSecretsUntil []Time `json:"oldSecretsUntil,omitempty"`

	Circuit       Circuit `json:"circuit"`
	ProbeAt       *Time   `json:"probeAt,omitempty"`      // when the open circuit allows the next probe
	FailingSince  *Time   `json:"failingSince,omitempty"` // the first failure after the last success
	LastSuccessAt *Time   `json:"lastSuccessAt,omitempty"`

	CreatedAt Time  `json:"createdAt"`
	ExpiresAt *Time `json:"expiresAt"` // null: never
}

// EndpointState is the state of an endpoint.
type EndpointState string

// An endpoint is enabled, paused by its owner, or disabled after failures. Messages are
// held while it is not enabled.
const (
	EndpointEnabled  EndpointState = "enabled"
	EndpointPaused   EndpointState = "paused"
	EndpointDisabled EndpointState = "disabled"
)

// Circuit is the state of the circuit breaker of an endpoint.
type Circuit string

// A closed circuit allows all messages, an open one only probes, and a ramping one more
// with every success.
const (
	CircuitClosed Circuit = "closed"
	CircuitOpen   Circuit = "open"
	CircuitRamp   Circuit = "ramp"
)

// Signing is a signature scheme of Standard Webhooks 1.0.
type Signing string

// The schemes: HMAC-SHA-256 with a shared secret, and Ed25519 with a key pair.
const (
	SigningV1  Signing = "v1"
	SigningV1a Signing = "v1a"
)

// EndpointSettings are the delivery settings of an endpoint. Header values and auth
// secrets are write-only: responses contain HiddenValue or omit them.
type EndpointSettings struct {
	Payload     Payload           `json:"payload,omitempty" enum:"full,thin" doc:"full (default) contains the resource, thin only its id"`
	Format      MessageFormat     `json:"format,omitempty" enum:"standard,cloudevents,cloudevents-binary" doc:"standard (default) is the Standard Webhooks envelope; the others are CloudEvents 1.0 in structured and binary mode"`
	Ordering    Ordering          `json:"ordering,omitempty" enum:"none,mission" doc:"mission delivers the messages of one mission strictly in order"`
	RateLimit   int               `json:"rateLimit,omitempty" minimum:"0" maximum:"10000" doc:"Maximum messages per second; 0 means no limit"`
	MaxInFlight int               `json:"maxInFlight,omitempty" minimum:"0" maximum:"64" doc:"Maximum messages in flight; 0 means 8"`
	Retry       *RetryPolicy      `json:"retry,omitempty"`
	Headers     map[string]string `json:"headers,omitempty" doc:"Headers of every message"`
	Auth        *EndpointAuth     `json:"auth,omitempty"`

	Brands         []Slug `json:"brands,omitempty" maxItems:"100" doc:"Public brands whose events the endpoint receives; those of brands that the account has claimed are sent without"`
	ScoreThreshold *Milli `json:"scoreThreshold,omitempty" minimum:"0.1" maximum:"50" doc:"Points by which a score must differ from the one that was last sent; default 1. Another grade, status or geoReady is always sent"`

	Customer string          `json:"customer,omitempty" maxLength:"64" doc:"Whose it is; needs filter, cannot change"`
	Filter   *EndpointFilter `json:"filter,omitempty"`
}

// EndpointFilter selects the missions whose events an endpoint receives. An endpoint with a filter
// receives no other events: those of brands, keys and endpoints are not of a mission.
type EndpointFilter struct {
	Labels map[string]string `json:"labels" doc:"1 to 4 that a mission must have at its event; {} in a patch: none"`
}

// String returns the labels in the form key=value, by key and with commas between them; "" without a filter.
func (f *EndpointFilter) String() string {
	if f == nil {
		return ""
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		labels = append(labels, key+"="+f.Labels[key])
	}
	return strings.Join(labels, ",")
}

// Limits of the endpoints of customers.
const (
	// MaxEndpointFilterLabels limits the labels of a filter: each event is compared with all of them.
	MaxEndpointFilterLabels = 4
	MaxEndpointCustomer     = 64 // code points
	// MaxCustomerEndpoints limits the endpoints of one customer.
	MaxCustomerEndpoints = 20
	// MaxEndpointsOfCustomers limits those of all customers of an account: each event of the account is
	// matched with all of them, which takes about a millisecond.
	MaxEndpointsOfCustomers = 500
)

// Matches reports whether a mission with labels is selected. A nil filter selects every event, also
// those of no mission, which have no labels.
func (f *EndpointFilter) Matches(labels map[string]string) bool {
	if f == nil {
		return true
	}
	for key, want := range f.Labels {
		if value, ok := labels[key]; !ok || value != want {
			return false
		}
	}
	return len(f.Labels) > 0
}

// MaxWatchedBrands limits the brands that one endpoint watches: each is matched with every
// change of a score.
const MaxWatchedBrands = 100

// DefaultScoreThreshold is the threshold of endpoints that set none: less is within the
// range of most scores.
const DefaultScoreThreshold = MilliOne

// Payload is the amount of data in a message.
type Payload string

// The payloads: the resource, or only its id.
const (
	PayloadFull Payload = "full"
	PayloadThin Payload = "thin"
)

// MessageFormat is the format of a message.
type MessageFormat string

// The formats: the Standard Webhooks envelope, and CloudEvents 1.0 in structured and
// binary mode.
const (
	FormatStandard          MessageFormat = "standard"
	FormatCloudEvents       MessageFormat = "cloudevents"
	FormatCloudEventsBinary MessageFormat = "cloudevents-binary"
)

// Ordering is the delivery order of an endpoint.
type Ordering string

// Messages are unordered, or ordered per mission.
const (
	OrderingNone    Ordering = "none"
	OrderingMission Ordering = "mission"
)

// RetryPolicy is the schedule of retries: a named schedule or custom steps.
type RetryPolicy struct {
	Schedule RetrySchedule `json:"schedule,omitempty" enum:"standard,quick,patient" doc:"standard (default) spans three days, quick an hour, patient nine days"`
	Steps    []int         `json:"steps,omitempty" maxItems:"20" doc:"Seconds between attempts, instead of a schedule"`
}

// RetrySchedule names a retry schedule.
type RetrySchedule string

// The schedules: about three days as Standard Webhooks recommends, about an hour, and
// about nine days.
const (
	RetryStandard RetrySchedule = "standard"
	RetryQuick    RetrySchedule = "quick"
	RetryPatient  RetrySchedule = "patient"
)

// EndpointAuth authenticates Fieldmark to receivers that cannot verify signatures.
type EndpointAuth struct {
	Kind         AuthKind `json:"kind" enum:"none,basic,bearer,header,oauth2,mtls"`
	Username     string   `json:"username,omitempty" maxLength:"200" doc:"basic"`
	Password     string   `json:"password,omitempty" maxLength:"1000" doc:"basic; write-only"`
	Token        string   `json:"token,omitempty" maxLength:"4000" doc:"bearer; write-only"`
	Name         string   `json:"name,omitempty" maxLength:"100" doc:"header: its name"`
	Value        string   `json:"value,omitempty" maxLength:"4000" doc:"header: its value; write-only"`
	TokenURL     string   `json:"tokenUrl,omitempty" maxLength:"2048" doc:"oauth2: token endpoint (client credentials, RFC 6749 section 4.4)"`
	ClientID     string   `json:"clientId,omitempty" maxLength:"500" doc:"oauth2"`
	ClientSecret string   `json:"clientSecret,omitempty" maxLength:"1000" doc:"oauth2; write-only"`
	Scope        string   `json:"scope,omitempty" maxLength:"1000" doc:"oauth2"`
	Certificate  string   `json:"certificate,omitempty" maxLength:"20000" doc:"mtls: client certificate and chain, PEM"`
	PrivateKey   string   `json:"privateKey,omitempty" maxLength:"20000" doc:"mtls: private key, PEM; write-only"`
}

// AuthKind is an authentication method.
type AuthKind string

// The authentication methods, in addition to the signature of every message.
const (
	AuthNone   AuthKind = "none"
	AuthBasic  AuthKind = "basic"
	AuthBearer AuthKind = "bearer"
	AuthHeader AuthKind = "header"
	AuthOAuth2 AuthKind = "oauth2"
	AuthMTLS   AuthKind = "mtls"
)

// HiddenValue replaces the value of a header field in responses.
const HiddenValue = "********"

// Shown returns the settings without secrets.
func (s EndpointSettings) Shown() EndpointSettings {
	if s.Headers != nil {
		shown := make(map[string]string, len(s.Headers))
		for name := range s.Headers {
			shown[name] = HiddenValue
		}
		s.Headers = shown
	}
	if s.Auth != nil {
		a := *s.Auth
		a.Password, a.Token, a.Value, a.ClientSecret, a.PrivateKey = "", "", "", "", ""
		s.Auth = &a
	}
	return s
}

// EndpointRequest creates an endpoint. The default of events is mission.*.
type EndpointRequest struct {
	URL         string   `json:"url" minLength:"1" maxLength:"2048"`
	Events      []string `json:"events,omitempty" maxItems:"50"`
	Description string   `json:"description,omitempty" maxLength:"200"`
	EndpointSettings
	Signing    Signing `json:"signing,omitempty" enum:"v1,v1a" doc:"v1 (default) is HMAC-SHA-256 with a shared secret, v1a Ed25519"`
	Secret     string  `json:"secret,omitempty" maxLength:"200" doc:"Your own secret: whsec_ (v1) or whsk_ (v1a) and base64; generated if omitted"`
	Paused     bool    `json:"paused,omitempty" doc:"Hold messages until it is enabled"`
	TTLSeconds int     `json:"ttlSeconds,omitempty" minimum:"0" maximum:"86400" doc:"Lifetime of a temporary endpoint; 0 means unlimited"`
}

// EndpointPatch changes the members it contains. Headers, retry and auth are replaced
// as a whole; auth with kind none removes it.
type EndpointPatch struct {
	URL         *string            `json:"url,omitempty" minLength:"1" maxLength:"2048"`
	Events      []string           `json:"events,omitempty" minItems:"1" maxItems:"50"`
	Description *string            `json:"description,omitempty" maxLength:"200"`
	Payload     *Payload           `json:"payload,omitempty" enum:"full,thin"`
	Format      *MessageFormat     `json:"format,omitempty" enum:"standard,cloudevents,cloudevents-binary"`
	Ordering    *Ordering          `json:"ordering,omitempty" enum:"none,mission"`
	RateLimit   *int               `json:"rateLimit,omitempty" minimum:"0" maximum:"10000"`
	MaxInFlight *int               `json:"maxInFlight,omitempty" minimum:"0" maximum:"64"`
	Retry       *RetryPolicy       `json:"retry,omitempty"`
	Headers     *map[string]string `json:"headers,omitempty"`
	Auth        *EndpointAuth      `json:"auth,omitempty"`
	Brands      *[]Slug            `json:"brands,omitempty" maxItems:"100"`

	ScoreThreshold *Milli `json:"scoreThreshold,omitempty" minimum:"0.1" maximum:"50"`

	Filter *EndpointFilter `json:"filter,omitempty"`

	State  *EndpointState `json:"state,omitempty" enum:"enabled,paused"`
	Reason string         `json:"reason,omitempty" maxLength:"200" doc:"Reason for pausing"`
	Held   HeldChoice     `json:"held,omitempty" enum:"deliver,newest,skip" doc:"With state enabled, how to handle held messages: send all (default), only the newest per resource, or none"`
}

// HeldChoice selects how held messages are handled when an endpoint is enabled.
type HeldChoice string

// Send all held messages, only the newest per resource, or none.
const (
	HeldDeliver HeldChoice = "deliver"
	HeldNewest  HeldChoice = "newest"
	HeldSkip    HeldChoice = "skip"
)

// NewEndpoint is a created endpoint, or one with a rotated secret. The secret is
// returned only once.
type NewEndpoint struct {
	Endpoint
	Secret string `json:"secret"` // whsec_ (v1) or whsk_ (v1a) and base64 (Standard Webhooks 1.0)
}

// SecretRequest rotates the secret. The previous secret also signs for an overlap.
type SecretRequest struct {
	Signing      Signing `json:"signing,omitempty" enum:"v1,v1a" doc:"The new scheme; unchanged if omitted"`
	Secret       string  `json:"secret,omitempty" maxLength:"200" doc:"Your own secret; generated if omitted"`
	OverlapHours *int    `json:"overlapHours,omitempty" minimum:"0" maximum:"168" doc:"How long the previous secret also signs; default 24"`
}

// AllMissionEvents is the default pattern of an endpoint.
const AllMissionEvents = "mission.*"

// MatchEvent reports whether a subscription pattern matches an event type: the type
// itself, a prefix and .*, or *.
func MatchEvent(pattern string, t EventType) bool {
	if pattern == "*" || pattern == string(t) {
		return true
	}
	kind, ok := strings.CutSuffix(pattern, ".*")
	return ok && strings.HasPrefix(string(t), kind+".")
}

// Wants reports whether the endpoint is subscribed to t.
func (e *Endpoint) Wants(t EventType) bool {
	return slices.ContainsFunc(e.Events, func(p string) bool { return MatchEvent(p, t) })
}

// DeliveryState is the state of a delivery.
type DeliveryState string

// A delivery is due, held while its endpoint is not enabled or its circuit is open,
// waiting for another one of the same mission, delivered, or failed.
const (
	DeliveryDue     DeliveryState = "due"
	DeliveryHeld    DeliveryState = "held"
	DeliveryWaiting DeliveryState = "waiting"
	DeliveryDone    DeliveryState = "done"
	DeliveryFailed  DeliveryState = "failed"
)

// DeliveryStates returns the stored states; held is derived from due and the state of
// the endpoint.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{DeliveryDue, DeliveryWaiting, DeliveryDone, DeliveryFailed}
}

// Delivery is the delivery of one event to one endpoint.
type Delivery struct {
	ID          string        `json:"id"` // dlv_…
	EventID     string        `json:"eventId"`
	EventNumber int64         `json:"eventNumber,omitempty"`
	EventType   EventType     `json:"eventType"`
	EndpointID  string        `json:"endpointId"`
	State       DeliveryState `json:"state"`
	Attempts    int           `json:"attempts"`
	DueAt       Time          `json:"dueAt"`
	LastStatus  int           `json:"lastStatus,omitempty"` // HTTP status of the last attempt
	LastError   string        `json:"lastError,omitempty"`
	CreatedAt   Time          `json:"createdAt"`
	UpdatedAt   Time          `json:"updatedAt"`
}

// DeliveryRecord is a delivery with its attempts.
type DeliveryRecord struct {
	Delivery
	Log []DeliveryAttempt `json:"log"`
}

// DeliveryAttempt is the result of one attempt.
type DeliveryAttempt struct {
	Number int    `json:"number"`
	At     Time   `json:"at"`
	Millis int64  `json:"millis"`
	Status int    `json:"status,omitempty"` // HTTP; absent without a response
	Error  string `json:"error,omitempty"`
	Body   string `json:"body,omitempty"` // the first 4 KiB of the response
	AttemptDetail
}

// AttemptDetail describes the connection of an attempt.
type AttemptDetail struct {
	// of failure: dns, connect, tls, timeout, status, redirect, refused, auth, other
	Class           string `json:"class,omitempty"`
	Address         string `json:"address,omitempty"` // to which the connection was made
	DNSMillis       int64  `json:"dnsMillis,omitempty"`
	ConnectMillis   int64  `json:"connectMillis,omitempty"`
	TLSMillis       int64  `json:"tlsMillis,omitempty"`
	FirstByteMillis int64  `json:"firstByteMillis,omitempty"` // after the request was written
}

// PingRequest sends a test message: a ping, or the example of an event type.
type PingRequest struct {
	Type EventType `json:"type,omitempty" maxLength:"64"`
}

// PingResult is the result of a test message.
type PingResult struct {
	DeliveryID string          `json:"deliveryId"`
	OK         bool            `json:"ok"`
	Verdict    string          `json:"verdict"` // one sentence
	Attempt    DeliveryAttempt `json:"attempt"`
}

// ReplayRequest resends messages: those that failed since a time, or everything after
// an event number. Exactly one of the two is required.
type ReplayRequest struct {
	FailedSince *Time  `json:"failedSince,omitempty" format:"date-time" doc:"Resend failed messages of events since this time"`
	AfterEvent  *int64 `json:"afterEvent,omitempty" minimum:"0" doc:"Send everything after the event with this number; 0 for all stored events"`
	Until       *Time  `json:"until,omitempty" format:"date-time" doc:"Only events before this time"`
	MissingOnly bool   `json:"missingOnly,omitempty" doc:"With afterEvent: skip delivered messages"`
}

// Replay is a running or finished replay.
type Replay struct {
	ID         string `json:"id"` // rpl_…
	EndpointID string `json:"endpointId"`
	ReplayRequest
	State     ReplayState `json:"state"`
	Looked    int64       `json:"looked"` // events or deliveries examined so far
	Queued    int64       `json:"queued"` // of those, queued
	CreatedAt Time        `json:"createdAt"`
	UpdatedAt Time        `json:"updatedAt"`
}

// ReplayState is the state of a replay.
type ReplayState string

// A replay runs until every matching message is queued.
const (
	ReplayRunning ReplayState = "running"
	ReplayDone    ReplayState = "done"
)

// PolledEvent is an event in the format of a webhook, with its number in the log.
type PolledEvent struct {
	Number int64 `json:"number"`
	Envelope
}

// PolledEvents is a page of events of an account. Next is the position of the next
// page; it advances even if no event matched.
type PolledEvents struct {
	Data    []PolledEvent `json:"data"`
	Next    int64         `json:"next"`
	HasMore bool          `json:"hasMore"`
}

// EventTypeInfo describes an event type for integrators.
type EventTypeInfo struct {
	Type        EventType       `json:"type"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`  // of data, JSON Schema 2020-12
	Example     Envelope        `json:"example"` // a complete message
}

// KeySet is a JSON Web Key Set (RFC 7517) of keys that sign webhooks.
type KeySet struct {
	Keys []PublicJWK `json:"keys"`
}

// PublicJWK is the public key of an Ed25519 pair (RFC 8037).
type PublicJWK struct {
	Type      string `json:"kty"` // OKP
	Curve     string `json:"crv"` // Ed25519
	X         string `json:"x"`   // base64url without padding
	ID        string `json:"kid"`
	Use       string `json:"use"` // sig
	Algorithm string `json:"alg"` // EdDSA
}

// PathPortal is where pages of portal links begin, followed by a token or by a page of a session.
const PathPortal = "/portal/"

// PathPortalLinks creates portal links.
const PathPortalLinks = "/api/public/v1/portal-links"

// PortalLinkRequest creates a link to the webhook pages of an account, or of one of its customers.
type PortalLinkRequest struct {
	Customer  string          `json:"customer,omitempty" maxLength:"64" doc:"Only its endpoints; requires filter"`
	Endpoints []string        `json:"endpoints,omitempty" maxItems:"10" doc:"Only these; the page creates no others"`
	Filter    *EndpointFilter `json:"filter,omitempty" doc:"Filter of endpoints that the page creates"`
	ReadOnly  bool            `json:"readOnly,omitempty" doc:"The page changes and sends nothing"`
	Minutes   int             `json:"minutes,omitempty" minimum:"0" maximum:"60" doc:"Until the link ends; default 15"`
	ReturnURL string          `json:"returnUrl,omitempty" maxLength:"2048" doc:"HTTPS address the page links back to"`
}

// PortalLink is the address of the pages. It works once.
type PortalLink struct {
	URL       string `json:"url"`
	ExpiresAt Time   `json:"expiresAt"`
}
