package fieldmark

import "encoding/json"

// AuditEntry is one act of an administrator. Its sum covers the entry and the sum
// of the one before, so that no entry can be changed or taken out unseen.
type AuditEntry struct {
	Number  int64           `json:"number"` // from 1, without gaps
	At      Time            `json:"at"`
	Kind    ActorKind       `json:"kind"`
	Actor   string          `json:"actor"`  // a user name, a key's id, or who ran a command
	Act     string          `json:"act"`    // as in key.create
	Target  string          `json:"target"` // what was acted on
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
	Address string          `json:"address,omitempty"` // the actor's
	Agent   string          `json:"agent,omitempty"`   // the actor's User-Agent
	Request string          `json:"requestId,omitempty"`
	Sum     string          `json:"sum"` // HMAC-SHA-256 in base 64
}

// ActorKind says by which door an administrator came.
type ActorKind string

// The doors: a person at the pages, an API key, and a command beside the database.
const (
	ActorPerson  ActorKind = "person"
	ActorKey     ActorKind = "key"
	ActorCommand ActorKind = "command"
)

// AuditVerdict is what checking the whole audit log came to.
type AuditVerdict struct {
	Entries int64  `json:"entries"`          // that hold
	Sum     string `json:"sum,omitempty"`    // of the newest that holds
	Broken  int64  `json:"broken,omitempty"` // the first number that does not hold; 0: all do
	Why     string `json:"why,omitempty"`
}
