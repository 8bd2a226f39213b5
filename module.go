package fieldmark

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ModuleRef names a scoring module; the digest is of its bytes.
type ModuleRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  Digest `json:"digest"`
}

// MaxModule limits a scoring module of the standard class, in bytes.
const MaxModule = 1 << 20

// MaxAnyModule limits a module of any class, in bytes: a module with a language runtime
// has two to three million.
const MaxAnyModule = 4 << 20

// Methodology names the published method a module implements. Scores of
// different methodologies are never in one list.
type Methodology struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	URL     string `json:"url"`
}

// SignedModule is a module with its signature, if it has one.
type SignedModule struct {
	ModuleRef
	Signature *ModuleSignature `json:"signature,omitempty"`
}

// ModulePlan is the deployment of scoring modules: the active module, the canary for a
// share of the brands, and the previous module, to which a node can roll back.
type ModulePlan struct {
	SignedModule
	Previous *SignedModule `json:"previous,omitempty"`
	Canary   *ModuleCanary `json:"canary,omitempty"`
}

// ModuleCanary is a canary module.
type ModuleCanary struct {
	SignedModule
	Percent int `json:"percent"` // of all brands, 1 to 99
}

// canaryBuckets divides all brands for canaries, in hundredths of a percent.
const canaryBuckets = 10_000

// Covers decides the canary share: it reports whether a brand belongs to it. The share is the same everywhere, differs
// between modules, and is part of any larger share of the module.
func (c *ModuleCanary) Covers(slug Slug) bool {
	sum := sha256.Sum256([]byte(string(c.Digest) + "\x00" + string(slug)))
	return binary.BigEndian.Uint64(sum[:8])%canaryBuckets < uint64(c.Percent)*(canaryBuckets/100)
}

// DigestFor returns the module that scores a brand: the active one, or the canary.
func (p *ModulePlan) DigestFor(slug Slug) Digest {
	if p.Canary != nil && p.Canary.Covers(slug) {
		return p.Canary.Digest
	}
	return p.Digest
}

// ModuleRollback is the data of module.rolled_back: a node rolled back a failing module.
type ModuleRollback struct {
	From  ModuleRef `json:"from"`
	To    ModuleRef `json:"to"`
	Kind  string    `json:"kind"`  // of the last fault: fuel, depth, trap, output, growth, declined, input
	Error string    `json:"error"` // of the last fault
	At    Time      `json:"at"`
}

// NodeReport is the status that an edge reports every ReportInterval, and when it changes.
type NodeReport struct {
	Node    string `json:"node"`    // nod_…, unique per process
	Address string `json:"address"` // public address
	// active module; the digest is empty before the first one is loaded
	Module     ModuleRef     `json:"module"`
	Generation int64         `json:"generation"`       // modules activated since the start
	Canary     *ModuleCanary `json:"canary,omitempty"` // canary on this node
	// why the planned module is not active, or fails for some brands
	Error      string          `json:"error,omitempty"`
	RolledBack *ModuleRollback `json:"rolledBack,omitempty"`
	Cursor     int64           `json:"cursor,omitempty"` // number of the newest event it has applied
	Hits       int64           `json:"hits,omitempty"`   // cache hits since the start
	Misses     int64           `json:"misses,omitempty"` // cache misses since the start
	Version    string          `json:"version,omitempty"`
	SeenAt     Time            `json:"seenAt,omitzero"` // when the origin received this report

	// host and port; a node that starts under a name takes the place of an older one
	Name      string `json:"name,omitempty"`
	StartedAt Time   `json:"startedAt,omitzero"`
	Stopping  bool   `json:"stopping,omitempty"` // the last report: the node leaves the list
	// since when Redis does not answer this node; absent: it answers, or is not configured
	RedisDownSince *Time `json:"redisDownSince,omitempty"`
	// expiry of the TLS certificate of this node that expires first; absent: it has none
	CertificateEnds *Time  `json:"certificateEnds,omitempty"`
	CertificateName string `json:"certificateName,omitempty"`
	// full minutes that the origin has not accepted yet, the oldest first
	Buckets []MetricBucket `json:"buckets,omitempty"`
	// begin of the newest accepted bucket, as the origin stores it
	CountedUntil Time `json:"countedUntil,omitzero"`
}

// ServiceStatus is the status of the origin: GET /internal/v1/status.
type ServiceStatus struct {
	Since   Time     `json:"since,omitzero"` // first report of an edge in the record; zero: none yet
	Outages []Outage `json:"outages"`        // within OutageWindow, the newest first

	AuditsWaiting int   `json:"auditsWaiting"` // audits and checks of sites in the queue
	DeliveryDelay int64 `json:"deliveryDelay"` // seconds that the oldest due webhook delivery has been due
}

// Outage is a period in which no edge could report to the origin, or the origin could not
// store the report.
type Outage struct {
	Began Time `json:"began"`
	Ended Time `json:"ended"`
}

// Limits of the record of outages. Edges report every few seconds: a gap of two minutes may be
// a slow network or a restart.
const (
	OutageWindow = 90 * 24 * time.Hour
	OutageAfter  = 2 * time.Minute
	MaxOutages   = 1_000 // more make the record begin later
)

// ModuleKey is a public key that signs modules (Ed25519, RFC 8032). Its text form is
// ed25519: and base64 of 32 bytes.
type ModuleKey string

const moduleKeyPrefix = "ed25519:"

// ModuleKeyOf returns the text form of a public key.
func ModuleKeyOf(public ed25519.PublicKey) ModuleKey {
	return ModuleKey(moduleKeyPrefix + base64.StdEncoding.EncodeToString(public))
}

// ParseModuleKey parses the text form of a key.
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

// ModuleSignature is the signature of a module by a key.
type ModuleSignature struct {
	Digest    Digest    `json:"digest"`
	Key       ModuleKey `json:"key"`
	Signature string    `json:"signature"` // base64 of 64 bytes
}

// signedText is the signed message: the digest with a context, so that a signature made
// for another purpose is not valid for a module.
func signedText(d Digest) []byte { return []byte("fieldmark scoring module\x00" + string(d)) }

// SignModule signs a module.
func SignModule(d Digest, private ed25519.PrivateKey) ModuleSignature {
	return ModuleSignature{
		Digest: d, Key: ModuleKeyOf(private.Public().(ed25519.PublicKey)),
		Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(private, signedText(d))),
	}
}

// CheckSigned returns an error if the module is not signed by one of the keys. Without
// keys every module is accepted.
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

// Check verifies the signature of a digest by its key.
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

// ModuleRecord is a stored module.
type ModuleRecord struct {
	SignedModule
	Bytes     int         `json:"bytes"`
	CreatedAt Time        `json:"createdAt"`
	State     ModuleState `json:"state"`
	// result of its validation; only if a single module is requested
	Report json.RawMessage `json:"report,omitempty"`
}

// ModuleState is the deployment state of a module.
type ModuleState string

// A valid module is stored. One can be active and one canary; the previous one is
// ready for a rollback.
const (
	ModuleKept     ModuleState = "kept"
	ModuleCanaried ModuleState = "canary"
	ModuleActive   ModuleState = "active"
	ModulePrevious ModuleState = "previous"
)

// StateOf returns the state of a module in a plan, which may be nil.
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

// ModulePush uploads a module.
type ModulePush struct {
	Module    []byte           `json:"module" doc:"The WebAssembly module in base64"`
	Signature *ModuleSignature `json:"signature,omitempty"`
}

// ModuleActivation activates a module for all brands or as canary for a share.
type ModuleActivation struct {
	Percent int `json:"percent,omitempty" minimum:"0" maximum:"100" doc:"Share of the brands for a canary, 1 to 99; 0 and 100 activate it for all"`
}

// ModuleStatus is the plan and its state on every edge.
type ModuleStatus struct {
	Plan  ModulePlan   `json:"plan"`
	Nodes []NodeReport `json:"nodes"` // that reported in the last minutes

	// HeldOut compares the scores of the active module with studies that began after its upload, as of the
	// last computation of the validity. Absent: it was not computed for this module.
	HeldOut *Foretelling `json:"heldOut,omitempty"`
}

// PreviewState is the state of a preview.
type PreviewState string

// A preview is queued, running, done or failed.
const (
	PreviewWaiting PreviewState = "waiting"
	PreviewRunning PreviewState = "running"
	PreviewDone    PreviewState = "done"
	PreviewFailed  PreviewState = "failed"
)

// ModulePreview is the effect of a module on all brands, or the progress of computing
// it.
type ModulePreview struct {
	Digest      Digest            `json:"digest"`  // of the previewed module
	Against     Digest            `json:"against"` // of the module that was active at the request
	State       PreviewState      `json:"state"`
	Done        int               `json:"done"`  // brands scored so far
	Total       int               `json:"total"` // public brands at the start
	Error       string            `json:"error,omitempty"`
	Result      *ModuleComparison `json:"result,omitempty"`
	RequestedAt Time              `json:"requestedAt"`
}

// ModuleComparison compares the scores of two modules for the same brands.
type ModuleComparison struct {
	Brands          int    `json:"brands"`          // with facts
	GradesChanged   int    `json:"gradesChanged"`   // including gained and lost scores
	GradeShare      Milli  `json:"gradeShare"`      // of the brands, 0 to 1
	Moved           int    `json:"moved"`           // brands whose score changes
	MeanMove        Milli  `json:"meanMove"`        // mean absolute change of brands scored by both
	LargestMove     Milli  `json:"largestMove"`     // up or down
	RankCorrelation Milli  `json:"rankCorrelation"` // Spearman's coefficient, -1 to 1; 1 if there is nothing to order
	Faults          int    `json:"faults"`          // brands that the new module cannot score
	FirstFault      string `json:"firstFault,omitempty"`
	// DirectionsBroken counts brands whose score changes against a declared direction
	// when a fact changes slightly.
	DirectionsBroken int    `json:"directionsBroken"`
	FirstDirection   string `json:"firstDirection,omitempty"`
	// Foretells compares both modules with what ranked studies measured. Absent: there is no such study.
	Foretells []Foretelling `json:"foretells,omitempty"`
	Movers    []ModuleMove  `json:"movers"` // largest changes first
}

// ModuleMove is the effect of a module on one brand.
type ModuleMove struct {
	Slug    Slug           `json:"slug"`
	From    *Milli         `json:"from"` // null: no score
	To      *Milli         `json:"to"`
	Grades  [2]Grade       `json:"grades"` // before and after; empty without a score
	Reasons []ModuleReason `json:"reasons"`
}

// ModuleReason is a signal or gate that changes a score.
type ModuleReason struct {
	ID    string `json:"id"` // of a signal or a gate
	Label string `json:"label"`
	From  Milli  `json:"from"` // points of a signal, limit of a gate; 100 if the gate does not apply
	To    Milli  `json:"to"`
}
