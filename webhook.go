package fieldmark

import (
	"encoding/json"
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
	EndpointSettings

	State       EndpointState `json:"state"`
	StateReason string        `json:"stateReason,omitempty"` // why it is paused or disabled
	StateAt     *Time         `json:"stateAt,omitempty"`     // since when

	Signing   Signing `json:"signing"`
	PublicKey string  `json:"publicKey,omitempty"` // whpk_ and base64, of v1a
	// OldSecretsUntil tells until when secrets from before a rotation sign too.
	OldSecretsUntil []Time `json:"oldSecretsUntil,omitempty"`

	Circuit       Circuit `json:"circuit"`
	ProbeAt       *Time   `json:"probeAt,omitempty"`      // when an open circuit lets one message through
	FailingSince  *Time   `json:"failingSince,omitempty"` // the first failure after the last success
	LastSuccessAt *Time   `json:"lastSuccessAt,omitempty"`

	CreatedAt Time  `json:"createdAt"`
	ExpiresAt *Time `json:"expiresAt"` // null: until deleted
}

// EndpointState says whether an endpoint is sent anything.
type EndpointState string

// An endpoint is enabled, paused by its owner, or disabled by us. What happens
// while it is not enabled is held for it.
const (
	EndpointEnabled  EndpointState = "enabled"
	EndpointPaused   EndpointState = "paused"
	EndpointDisabled EndpointState = "disabled"
)

// Circuit says how an endpoint's failures hold its messages back.
type Circuit string

// A closed circuit lets everything through, an open one a probe now and then,
// and one on its ramp more with every success.
const (
	CircuitClosed Circuit = "closed"
	CircuitOpen   Circuit = "open"
	CircuitRamp   Circuit = "ramp"
)

// Signing is a signature scheme of Standard Webhooks 1.0.
type Signing string

// The schemes: HMAC-SHA-256 with a shared secret, and Ed25519 with a key pair
// whose public half anybody may know.
const (
	SigningV1  Signing = "v1"
	SigningV1a Signing = "v1a"
)

// EndpointSettings is how an endpoint wants its messages. Values of headers and
// secrets of auth are told to nobody: answers show them as HiddenValue or not at all.
type EndpointSettings struct {
	Payload     Payload           `json:"payload,omitempty" enum:"full,thin" doc:"full (default) contains the whole object, thin only its id"`
	Format      MessageFormat     `json:"format,omitempty" enum:"standard,cloudevents,cloudevents-binary" doc:"standard (default) is the envelope of Standard Webhooks; the others are CloudEvents 1.0 in structured and binary mode"`
	Ordering    Ordering          `json:"ordering,omitempty" enum:"none,mission" doc:"mission sends the messages about one mission strictly in order"`
	RateLimit   int               `json:"rateLimit,omitempty" minimum:"0" maximum:"10000" doc:"Maximum messages per second; 0 means no limit"`
	MaxInFlight int               `json:"maxInFlight,omitempty" minimum:"0" maximum:"64" doc:"Maximum concurrent messages; 0 means 8"`
	Retry       *RetryPolicy      `json:"retry,omitempty"`
	Headers     map[string]string `json:"headers,omitempty" doc:"Headers of every message"`
	Auth        *EndpointAuth     `json:"auth,omitempty"`
}

// Payload says how much a message carries.
type Payload string

// The payloads: the thing itself, or its id alone for receivers that ask for it.
const (
	PayloadFull Payload = "full"
	PayloadThin Payload = "thin"
)

// MessageFormat is the form of a message.
type MessageFormat string

// The forms: the envelope of Standard Webhooks, and CloudEvents 1.0 in its
// structured and its binary mode.
const (
	FormatStandard          MessageFormat = "standard"
	FormatCloudEvents       MessageFormat = "cloudevents"
	FormatCloudEventsBinary MessageFormat = "cloudevents-binary"
)

// Ordering says what a message waits for.
type Ordering string

// A message waits for nothing, or for the one before it about the same mission.
const (
	OrderingNone    Ordering = "none"
	OrderingMission Ordering = "mission"
)

// RetryPolicy says when a failed message is sent again: a named schedule, or
// steps of one's own.
type RetryPolicy struct {
	Schedule RetrySchedule `json:"schedule,omitempty" enum:"standard,quick,patient" doc:"standard (default) spans three days, quick one hour, patient nine days"`
	Steps    []int         `json:"steps,omitempty" maxItems:"20" doc:"Seconds between attempts, instead of a schedule"`
}

// RetrySchedule names a schedule of attempts.
type RetrySchedule string

// The schedules: about three days as Standard Webhooks recommends, about an
// hour, and about nine days.
const (
	RetryStandard RetrySchedule = "standard"
	RetryQuick    RetrySchedule = "quick"
	RetryPatient  RetrySchedule = "patient"
)

// EndpointAuth is how a receiver that cannot check signatures knows us.
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
	Certificate  string   `json:"certificate,omitempty" maxLength:"20000" doc:"mtls: the client certificate and its chain, PEM"`
	PrivateKey   string   `json:"privateKey,omitempty" maxLength:"20000" doc:"mtls: its private key, PEM; write-only"`
}

// AuthKind names a way to be known.
type AuthKind string

// The ways to be known, beside the signature that every message has.
const (
	AuthNone   AuthKind = "none"
	AuthBasic  AuthKind = "basic"
	AuthBearer AuthKind = "bearer"
	AuthHeader AuthKind = "header"
	AuthOAuth2 AuthKind = "oauth2"
	AuthMTLS   AuthKind = "mtls"
)

// HiddenValue stands for the value of a header field in answers.
const HiddenValue = "********"

// Shown returns the settings without what is told to nobody.
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

// EndpointRequest asks for an endpoint. Without events it gets mission.*.
type EndpointRequest struct {
	URL         string   `json:"url" minLength:"1" maxLength:"2048"`
	Events      []string `json:"events,omitempty" maxItems:"50"`
	Description string   `json:"description,omitempty" maxLength:"200"`
	EndpointSettings
	Signing    Signing `json:"signing,omitempty" enum:"v1,v1a" doc:"v1 (default) is HMAC-SHA-256 with a shared secret, v1a Ed25519"`
	Secret     string  `json:"secret,omitempty" maxLength:"200" doc:"Your own secret: whsec_ (v1) or whsk_ (v1a) and base64; generated by default"`
	Paused     bool    `json:"paused,omitempty" doc:"Hold all messages until the endpoint is enabled"`
	TTLSeconds int     `json:"ttlSeconds,omitempty" minimum:"0" maximum:"86400" doc:"Lifetime of a temporary endpoint; 0 keeps it until it is deleted"`
}

// EndpointPatch changes what it names of an endpoint. Headers, retry and auth
// are replaced whole; an auth of kind none removes it.
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
	State       *EndpointState     `json:"state,omitempty" enum:"enabled,paused"`
	Reason      string             `json:"reason,omitempty" maxLength:"200" doc:"Reason for pausing"`
	Held        HeldChoice         `json:"held,omitempty" enum:"deliver,newest,skip" doc:"With state enabled, which held messages are sent: all (default), the newest for each object, or none"`
}

// HeldChoice says what becomes of held messages when an endpoint is enabled.
type HeldChoice string

// Held messages are all sent, only the newest about each thing is, or none is.
const (
	HeldDeliver HeldChoice = "deliver"
	HeldNewest  HeldChoice = "newest"
	HeldSkip    HeldChoice = "skip"
)

// NewEndpoint is an endpoint just made, or one whose secret was just rotated:
// the only time a secret is told.
type NewEndpoint struct {
	Endpoint
	Secret string `json:"secret"` // whsec_ (v1) or whsk_ (v1a) and base64 (Standard Webhooks 1.0)
}

// SecretRequest asks for a new secret. The one before signs too for a while.
type SecretRequest struct {
	Signing      Signing `json:"signing,omitempty" enum:"v1,v1a" doc:"The new signature scheme; unchanged by default"`
	Secret       string  `json:"secret,omitempty" maxLength:"200" doc:"Your own secret; generated by default"`
	OverlapHours *int    `json:"overlapHours,omitempty" minimum:"0" maximum:"168" doc:"How long the old secret also signs; the default is 24"`
}

// AllMissionEvents is the pattern an endpoint gets when it names none.
const AllMissionEvents = "mission.*"

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

// A delivery waits for its time, is held while its endpoint is not enabled or
// its circuit is open, waits for another about the same mission, was taken by
// the receiver, or was given up.
const (
	DeliveryDue     DeliveryState = "due"
	DeliveryHeld    DeliveryState = "held"
	DeliveryWaiting DeliveryState = "waiting"
	DeliveryDone    DeliveryState = "done"
	DeliveryFailed  DeliveryState = "failed"
)

// DeliveryStates lists the states a delivery is kept in; held is due and told
// of its endpoint.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{DeliveryDue, DeliveryWaiting, DeliveryDone, DeliveryFailed}
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID          string        `json:"id"` // dlv_…
	EventID     string        `json:"eventId"`
	EventNumber int64         `json:"eventNumber,omitempty"`
	EventType   EventType     `json:"eventType"`
	EndpointID  string        `json:"endpointId"`
	State       DeliveryState `json:"state"`
	Attempts    int           `json:"attempts"`
	DueAt       Time          `json:"dueAt"`
	LastStatus  int           `json:"lastStatus,omitempty"` // HTTP status of the newest attempt
	LastError   string        `json:"lastError,omitempty"`
	CreatedAt   Time          `json:"createdAt"`
	UpdatedAt   Time          `json:"updatedAt"`
}

// DeliveryRecord is a delivery with everything that was tried.
type DeliveryRecord struct {
	Delivery
	Log []DeliveryAttempt `json:"log"`
}

// DeliveryAttempt is what became of one try.
type DeliveryAttempt struct {
	Number int    `json:"number"`
	At     Time   `json:"at"`
	Millis int64  `json:"millis"`
	Status int    `json:"status,omitempty"` // HTTP; absent when no answer came
	Error  string `json:"error,omitempty"`
	Body   string `json:"body,omitempty"` // the first 4 KiB of the answer
	AttemptDetail
}

// AttemptDetail is what an attempt met on its way.
type AttemptDetail struct {
	Class           string `json:"class,omitempty"`   // of failure: dns, connect, tls, timeout, status, redirect, refused, auth, other
	Address         string `json:"address,omitempty"` // that was reached
	DNSMillis       int64  `json:"dnsMillis,omitempty"`
	ConnectMillis   int64  `json:"connectMillis,omitempty"`
	TLSMillis       int64  `json:"tlsMillis,omitempty"`
	FirstByteMillis int64  `json:"firstByteMillis,omitempty"` // after the request was written
}

// PingRequest asks for a test message. Without a type it is a ping; with one it
// is the example of that type.
type PingRequest struct {
	Type EventType `json:"type,omitempty" maxLength:"64"`
}

// PingResult tells what became of a test message.
type PingResult struct {
	DeliveryID string          `json:"deliveryId"`
	OK         bool            `json:"ok"`
	Verdict    string          `json:"verdict"` // in a sentence
	Attempt    DeliveryAttempt `json:"attempt"`
}

// ReplayRequest asks for messages to be sent again: all that failed since a
// time, or everything after an event number. One of the two must be said.
type ReplayRequest struct {
	FailedSince *Time  `json:"failedSince,omitempty" format:"date-time" doc:"Resend the failed messages of events since this time"`
	AfterEvent  *int64 `json:"afterEvent,omitempty" minimum:"0" doc:"Send all messages after this event number; 0 for all stored events"`
	Until       *Time  `json:"until,omitempty" format:"date-time" doc:"Only events before this time"`
	MissingOnly bool   `json:"missingOnly,omitempty" doc:"With afterEvent: only messages that were not delivered"`
}

// Replay is a replay under way or at its end.
type Replay struct {
	ID         string `json:"id"` // rpl_…
	EndpointID string `json:"endpointId"`
	ReplayRequest
	State     ReplayState `json:"state"`
	Looked    int64       `json:"looked"` // events or deliveries looked at so far
	Queued    int64       `json:"queued"` // of those, sent again
	CreatedAt Time        `json:"createdAt"`
	UpdatedAt Time        `json:"updatedAt"`
}

// ReplayState says whether a replay still goes on.
type ReplayState string

// A replay runs until everything it was asked for is queued.
const (
	ReplayRunning ReplayState = "running"
	ReplayDone    ReplayState = "done"
)

// PolledEvent is an event as a webhook carries it, with its number in the log.
type PolledEvent struct {
	Number int64 `json:"number"`
	Envelope
}

// PolledEvents is a stretch of an account's events. Next is what to ask for
// after it; it moves on even where nothing was of interest.
type PolledEvents struct {
	Data    []PolledEvent `json:"data"`
	Next    int64         `json:"next"`
	HasMore bool          `json:"hasMore"`
}

// EventTypeInfo describes one type of event to integrators.
type EventTypeInfo struct {
	Type        EventType       `json:"type"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`  // of data, JSON Schema 2020-12
	Example     Envelope        `json:"example"` // a whole message
}

// KeySet is a JSON Web Key Set (RFC 7517) of keys that sign webhooks.
type KeySet struct {
	Keys []PublicJWK `json:"keys"`
}

// PublicJWK is the public half of an Ed25519 key (RFC 8037).
type PublicJWK struct {
	Type      string `json:"kty"` // OKP
	Curve     string `json:"crv"` // Ed25519
	X         string `json:"x"`   // base64url without padding
	ID        string `json:"kid"`
	Use       string `json:"use"` // sig
	Algorithm string `json:"alg"` // EdDSA
}
