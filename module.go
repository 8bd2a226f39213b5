package fieldmark

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ModuleRef names a scoring module; the digest is of its bytes.
type ModuleRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  Digest `json:"digest"`
}

// MaxModule bounds a scoring module of the standard class, in bytes.
const MaxModule = 1 << 20

// MaxAnyModule bounds a module of any class, in bytes: one with the runtime of a
// whole language in it has two to three million.
const MaxAnyModule = 4 << 20

// Methodology names the published method a module implements. Scores of
// different methodologies never stand in one list.
type Methodology struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	URL     string `json:"url"`
}

// SignedModule names a module and who vouches for it, if anybody does.
type SignedModule struct {
	ModuleRef
	Signature *ModuleSignature `json:"signature,omitempty"`
}

// ModulePlan says which modules score: one for all, another for a share of the
// brands while it is on trial. The previous one is told so that a node can go
// back to it by itself.
type ModulePlan struct {
	SignedModule
	Previous *SignedModule `json:"previous,omitempty"`
	Canary   *ModuleCanary `json:"canary,omitempty"`
}

// ModuleCanary is a module on trial.
type ModuleCanary struct {
	SignedModule
	Percent int `json:"percent"` // of all brands, 1 to 99
}

// ModuleRollback is the news that a module went wrong on a node, which took the
// one before it back by itself.
type ModuleRollback struct {
	From  ModuleRef `json:"from"`
	To    ModuleRef `json:"to"`
	Kind  string    `json:"kind"`  // of the last fault: fuel, depth, trap, output, growth, declined, input
	Error string    `json:"error"` // of the last fault
	At    Time      `json:"at"`
}

// NodeReport is what an edge says of itself.
type NodeReport struct {
	Node       string          `json:"node"`             // nod_…, of one process
	Address    string          `json:"address"`          // under which clients reach it
	Module     ModuleRef       `json:"module"`           // that scores there; its digest is empty before the first
	Generation int64           `json:"generation"`       // how many modules it has put in force since it started
	Canary     *ModuleCanary   `json:"canary,omitempty"` // that is on trial there
	Error      string          `json:"error,omitempty"`  // why the wanted module does not score, or does not score every brand
	RolledBack *ModuleRollback `json:"rolledBack,omitempty"`
	Cursor     int64           `json:"cursor,omitempty"` // number of the newest event it has applied
	Hits       int64           `json:"hits,omitempty"`   // answers from its cache since it started
	Misses     int64           `json:"misses,omitempty"` // and those it had to ask for
	Version    string          `json:"version,omitempty"`
	SeenAt     Time            `json:"seenAt,omitzero"` // when the origin heard this
}

// ModuleKey is a public key that vouches for modules (Ed25519, RFC 8032). It is
// written ed25519: and base64 of its 32 bytes.
type ModuleKey string

const moduleKeyPrefix = "ed25519:"

// ModuleKeyOf writes a public key.
func ModuleKeyOf(public ed25519.PublicKey) ModuleKey {
	return ModuleKey(moduleKeyPrefix + base64.StdEncoding.EncodeToString(public))
}

// ParseModuleKey accepts the written form of a key.
func ParseModuleKey(s string) (ModuleKey, error) {
	if _, err := ModuleKey(s).public(); err != nil {
		return "", err
	}
	return ModuleKey(s), nil
}

func (k ModuleKey) public() (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(string(k), moduleKeyPrefix)
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, Errorf(CodeInvalidParameter, "a module key is written %s and base64 of 32 bytes", moduleKeyPrefix)
	}
	return raw, nil
}

// ModuleSignature is one key's word for a module.
type ModuleSignature struct {
	Digest    Digest    `json:"digest"`
	Key       ModuleKey `json:"key"`
	Signature string    `json:"signature"` // base64 of 64 bytes
}

// signedText is what a signature is over: the digest, and what it is said for,
// so that a signature given for something else is none for a module.
func signedText(d Digest) []byte { return []byte("fieldmark scoring module\x00" + string(d)) }

// SignModule vouches for a module.
func SignModule(d Digest, private ed25519.PrivateKey) ModuleSignature {
	return ModuleSignature{
		Digest: d, Key: ModuleKeyOf(private.Public().(ed25519.PublicKey)),
		Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(private, signedText(d))),
	}
}

// CheckSigned refuses a module for which none of the keys vouches. Without keys
// every module is welcome; where there are some, an unsigned module is not.
func CheckSigned(d Digest, s *ModuleSignature, keys []ModuleKey) error {
	switch {
	case len(keys) == 0:
		return nil
	case s == nil:
		return Errorf(CodeModuleRefused, "module %s is not signed, and only signed modules are taken here", d)
	case !slices.Contains(keys, s.Key):
		return Errorf(CodeModuleRefused, "module %s is signed by %s, which is not trusted here", d, s.Key)
	}
	if err := s.Check(d); err != nil {
		return err
	}
	return nil
}

// Check reports whether the signature is what it says: its key's, for the digest.
func (s *ModuleSignature) Check(d Digest) error {
	public, err := s.Key.public()
	if err != nil {
		return err
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s.Signature)
	if err != nil || s.Digest != d || !ed25519.Verify(public, signedText(d), raw) {
		return &Error{Code: CodeModuleRefused, Detail: fmt.Sprintf("the signature of module %s does not hold", d)}
	}
	return nil
}

// ModuleRecord is a module the origin keeps.
type ModuleRecord struct {
	SignedModule
	Bytes     int             `json:"bytes"`
	CreatedAt Time            `json:"createdAt"`
	State     ModuleState     `json:"state"`
	Report    json.RawMessage `json:"report,omitempty"` // what the check said when it came; only where one module is asked for
}

// ModuleState is where a module stands.
type ModuleState string

// A module that passed its check is kept; one may be in force and one on trial,
// and the one before is ready to be taken back.
const (
	ModuleKept     ModuleState = "kept"
	ModuleCanaried ModuleState = "canary"
	ModuleActive   ModuleState = "active"
	ModulePrevious ModuleState = "previous"
)

// StateOf says where a module stands in a plan; a nil plan has none.
func (p *ModulePlan) StateOf(d Digest) ModuleState {
	switch {
	case p == nil:
	case p.Digest == d:
		return ModuleActive
	case p.Canary != nil && p.Canary.Digest == d:
		return ModuleCanaried
	case p.Previous != nil && p.Previous.Digest == d:
		return ModulePrevious
	}
	return ModuleKept
}

// ModulePush is a module on its way to the origin.
type ModulePush struct {
	Module    []byte           `json:"module" doc:"The WebAssembly module in base64"`
	Signature *ModuleSignature `json:"signature,omitempty"`
}

// ModuleActivation asks for a module to be put in force, for all brands or on
// trial for a share of them.
type ModuleActivation struct {
	Percent int `json:"percent,omitempty" minimum:"0" maximum:"100" doc:"Percentage of brands for a canary, 1 to 99; 0 and 100 activate it for all brands"`
}

// ModuleStatus is the plan and what becomes of it on every edge.
type ModuleStatus struct {
	Plan  ModulePlan   `json:"plan"`
	Nodes []NodeReport `json:"nodes"` // heard of in the last minutes
}

// PreviewState is how far a preview is.
type PreviewState string

// A preview waits for an origin that works on it.
const (
	PreviewWaiting PreviewState = "waiting"
	PreviewRunning PreviewState = "running"
	PreviewDone    PreviewState = "done"
	PreviewFailed  PreviewState = "failed"
)

// ModulePreview is what a module would change, or how far finding out is.
type ModulePreview struct {
	Digest      Digest            `json:"digest"`  // of the module looked at
	Against     Digest            `json:"against"` // of the one in force when it was asked for
	State       PreviewState      `json:"state"`
	Done        int               `json:"done"`  // brands scored by both
	Total       int               `json:"total"` // public brands when it began
	Error       string            `json:"error,omitempty"`
	Result      *ModuleComparison `json:"result,omitempty"`
	RequestedAt Time              `json:"requestedAt"`
}

// ModuleComparison is what two modules make of the same brands.
type ModuleComparison struct {
	Brands          int    `json:"brands"`          // compared: those with facts
	GradesChanged   int    `json:"gradesChanged"`   // gaining or losing a score counts too
	GradeShare      Milli  `json:"gradeShare"`      // of the brands, 0 to 1
	Moved           int    `json:"moved"`           // whose score changes
	MeanMove        Milli  `json:"meanMove"`        // of the absolute moves of all scored by both
	LargestMove     Milli  `json:"largestMove"`     // up or down
	RankCorrelation Milli  `json:"rankCorrelation"` // Spearman's, -1 to 1; 1 where there is nothing to order
	Faults          int    `json:"faults"`          // brands the new one could not score
	FirstFault      string `json:"firstFault,omitempty"`
	// DirectionsBroken counts the brands whose score by the new module moves against
	// a direction it declares when one of their facts grows or shrinks a little.
	DirectionsBroken int          `json:"directionsBroken"`
	FirstDirection   string       `json:"firstDirection,omitempty"`
	Movers           []ModuleMove `json:"movers"` // the largest moves first
}

// ModuleMove is what a change does to one brand.
type ModuleMove struct {
	Slug    Slug           `json:"slug"`
	From    *Milli         `json:"from"` // null: no score
	To      *Milli         `json:"to"`
	Grades  [2]Grade       `json:"grades"` // before and after; empty without a score
	Reasons []ModuleReason `json:"reasons"`
}

// ModuleReason is a line of the method that counts otherwise, or a gate that
// caught or lets go.
type ModuleReason struct {
	ID    string `json:"id"` // of a signal or a gate
	Label string `json:"label"`
	From  Milli  `json:"from"` // points of a signal, limit of a gate; 100 where it does not catch
	To    Milli  `json:"to"`
}
