package fieldmark

import (
	"cmp"
	"slices"
	"time"
)

// Grade is the letter grade of a score, A to E.
type Grade string

// ScoreStatus states whether a brand has a score, and if not, why.
type ScoreStatus string

// A score is known, missing for one of five reasons, or too old.
const (
	StatusScored           ScoreStatus = "scored"
	StatusPending          ScoreStatus = "pending"           // not audited yet
	StatusUnreachable      ScoreStatus = "unreachable"       // its site did not respond
	StatusRefused          ScoreStatus = "refused"           // its site refused every audit so far
	StatusInsufficientData ScoreStatus = "insufficient_data" // confidence below low
	StatusStale            ScoreStatus = "stale"             // audited more than StaleAfter ago
	StatusUnlisted         ScoreStatus = "unlisted"          // taken out of all lists by its owner
)

// Age limits of a score.
const (
	ReadyWithin = 30 * 24 * time.Hour // an older audit cannot make a brand GEO-ready
	StaleAfter  = 90 * 24 * time.Hour // an older audit is shown as stale and not ranked
)

// ConfidenceLevel is a confidence as a word.
type ConfidenceLevel string

// Confidence levels with their lowest value.
const (
	ConfidenceHigh         ConfidenceLevel = "high"   // 0.85
	ConfidenceMedium       ConfidenceLevel = "medium" // 0.60
	ConfidenceLow          ConfidenceLevel = "low"    // 0.40
	ConfidenceInsufficient ConfidenceLevel = "insufficient"
)

// Confidence describes how much of the method was measured, on how many pages, and how
// long ago.
type Confidence struct {
	Value            Milli           `json:"value"` // 0 to 1
	Level            ConfidenceLevel `json:"level"`
	MeasuredWeight   int             `json:"measuredWeight"`
	ApplicableWeight int             `json:"applicableWeight"`
}

// Range contains the score and what it could as well be: under another draw of pages,
// with other defensible weights, and with every unknown signal at its worst and best.
type Range struct {
	Low  Milli `json:"low"`
	High Milli `json:"high"`
}

// Uncertainty are the parts of a range, in points on each side of the score. Sampling
// and weights are independent: together they count as the root of the sum of their
// squares.
type Uncertainty struct {
	Sampling *Milli `json:"sampling"` // another draw of pages, 95 %; 0 if all were read; null if not estimated
	Weights  Milli  `json:"weights"`  // each weight up to WeightBand times larger or smaller, 90 %
	Unknown  Milli  `json:"unknown"`  // from the lowest to the highest score that unknown signals allow
}

// EvidenceGrade is how well it is known that a signal matters to answer engines.
type EvidenceGrade string

// Evidence grades, the strongest first.
const (
	EvidenceReproduced EvidenceGrade = "reproduced" // an effect or association measured more than once
	EvidenceDocumented EvidenceGrade = "documented" // a condition in the documentation of an engine
	EvidenceOneStudy   EvidenceGrade = "one_study"  // measured once, or contested
	EvidenceJudgement  EvidenceGrade = "judgement"  // plausible; no study
)

// Signal is the result of one signal of the method.
type Signal struct {
	ID       string     `json:"id"`
	Label    string     `json:"label"`
	Status   FactState  `json:"status"`
	Value    *Milli     `json:"value"` // of Unit; null unless measured
	Unit     string     `json:"unit"`
	Points   Milli      `json:"points"`
	Max      int        `json:"max"`
	Evidence []Evidence `json:"evidence"`
	Advice   string     `json:"advice,omitempty"` // how to raise it; empty at full points

	EvidenceGrade EvidenceGrade `json:"evidenceGrade,omitempty"` // empty if the module does not state it
	Effort        int           `json:"effort,omitempty"`        // to reach full points: 1 hours, 2 days, 3 weeks
}

// Component is a group of signals with a weight; the weights add up to 100.
type Component struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Weight   int      `json:"weight"`
	Points   Milli    `json:"points"`
	Measured int      `json:"measured"` // weight of its measured signals
	Signals  []Signal `json:"signals"`
}

// GateUnreachable is the gate that prevents a score.
const GateUnreachable = "unreachable"

// Gate is an upper limit that applies to a score.
type Gate struct {
	ID     string `json:"id"`
	Limit  int    `json:"limit"`
	Reason string `json:"reason"`

	Evidence []Evidence `json:"evidence,omitempty"` // of GateManipulation: the words that it is about
	Dispute  string     `json:"dispute,omitempty"`  // of GateManipulation: path of the page on which it is disputed
}

// Basis of a score: the site of the brand, or the site and visibility samples. They
// are never in one list.
const (
	BasisReadiness  = "readiness"
	BasisVisibility = "visibility"
	BasisFull       = "full"
)

// EligibilityState is the answer to one question of an Eligibility, or to all of them.
type EligibilityState string

// Yes for every engine, for some, for none, or not known.
const (
	Eligible           EligibilityState = "yes"
	PartlyEligible     EligibilityState = "partly"
	NotEligible        EligibilityState = "no"
	EligibilityUnknown EligibilityState = "unknown"
)

// Eligibility is whether answer engines can use a site at all: fetch it, index it and
// read it. It contains conditions that engines document, and no points: it is decided by
// the facts and does not depend on the module.
type Eligibility struct {
	State  EligibilityState   `json:"state"` // the worst of the checks
	Checks []EligibilityCheck `json:"checks"`
}

// EligibilityCheck is one condition of eligibility.
type EligibilityCheck struct {
	ID       string           `json:"id"` // fetch, index or read
	State    EligibilityState `json:"state"`
	Reason   string           `json:"reason"`
	Evidence []Evidence       `json:"evidence,omitempty"`
}

// The checks of an Eligibility, in their order.
const (
	CheckFetch = "fetch"
	CheckIndex = "index"
	CheckRead  = "read"
)

// ReadableWords is the fewest words of main text in the HTML of a home page that is
// readable without JavaScript.
const ReadableWords = 50

// Assessment is the result of a module for facts, without the brand.
type Assessment struct {
	Status       ScoreStatus  `json:"status"`
	Score        *Milli       `json:"score"`           // 0 to 100, one decimal; null unless scored or stale
	Grade        Grade        `json:"grade,omitempty"` // of the lower end of Range
	Basis        string       `json:"basis"`
	Range        *Range       `json:"range"`
	Uncertainty  *Uncertainty `json:"uncertainty"` // null without a range
	Confidence   Confidence   `json:"confidence"`
	GeoReady     bool         `json:"geoReady"`    // eligible, by an audit within ReadyWithin
	Eligibility  *Eligibility `json:"eligibility"` // null before the first audit
	Practice     *Practice    `json:"practice"`    // null without a score
	Gates        []Gate       `json:"gates"`
	Components   []Component  `json:"components"`
	AsOf         *Time        `json:"asOf"`
	PagesSampled int          `json:"pagesSampled"`
	FactsDigest  Digest       `json:"factsDigest,omitempty"`
	Methodology  Methodology  `json:"methodology"`
	Module       ModuleRef    `json:"module"`
	Canary       bool         `json:"canary,omitempty"` // scored by a canary module; rankings use the active one
}

// Practice is the score without gates: good practice, whose effect on answers is not
// proven.
type Practice struct {
	Score Milli `json:"score"`
	Range Range `json:"range"`
}

// Rank is the range of ranks that a brand may have among the public brands of a
// snapshot. A brand is certainly ahead of another if its range is above that of the
// other; brands whose ranges overlap cannot be distinguished.
type Rank struct {
	Overall     int `json:"overall"`     // one more than the brands that are certainly ahead
	OverallLast int `json:"overallLast"` // the number of brands less those certainly behind
	Of          int `json:"of"`
	Niche       int `json:"niche"`
	NicheLast   int `json:"nicheLast"`
	OfNiche     int `json:"ofNiche"`
}

// Score is the score document of one brand: GET /api/v1/score/{slug}.
type Score struct {
	Slug     Slug   `json:"slug"`
	Name     string `json:"name"`
	URL      string `json:"url"`
	Niche    string `json:"niche"`
	Language string `json:"language"`
	Assessment
	Visibility *Visibility `json:"visibility"` // null without visibility samples
	Full       *Milli      `json:"full"`       // combined score; null unless both can be ranked
	Trend      Trend       `json:"trend"`
	Previous   *PastScore  `json:"previous"`             // score of the previous revision; null for the first
	UnlistedAt *Time       `json:"unlistedAt,omitempty"` // with StatusUnlisted: since when
	// null unless ranked; last required member, because it changes with other brands
	Rank  *Rank  `json:"rank"`
	Stale bool   `json:"stale,omitempty"` // the last good score, because a refresh failed
	Gains []Gain `json:"gains,omitempty"` // with ?advice=1: what to improve, the most worthwhile first
	// with ?owner=1: the verified claim of the brand; absent if it is not claimed
	Claim *BrandClaim `json:"claim,omitempty"`
	// with ?disputes=1: the published disputes of findings, the newest first
	Disputes []DisputeStatus `json:"disputes,omitempty"`
	// with ?proof=1: that the public log has the score; the error is CodeScoreNotLogged while it does not
	Proof *ScoreProof `json:"proof,omitempty"`
}

// ScoreProof proves that the public log has a record of a score. The entry of the leaf is the
// HMAC-SHA-256 of Record under Salt; its hash is SHA-256 of a zero byte and the entry, and with Hashes
// it leads to the root in Checkpoint (RFC 6962, section 2.1.1).
type ScoreProof struct {
	Log    string   `json:"log"`    // the first line of its checkpoints: its address without the scheme
	Index  int64    `json:"index"`  // of the leaf, from 0
	Record string   `json:"record"` // 5 lines, each with a line feed; see the guide
	Salt   string   `json:"salt"`   // base64 of 32 bytes
	Hashes []string `json:"hashes"` // base64 of 32 bytes each, from the leaf to the root
	// Checkpoint is the signed note of a state of the log that has the leaf.
	Checkpoint string `json:"checkpoint"`
}

// PublicLog describes a public log of scores (C2SP tlog-tiles).
type PublicLog struct {
	Number int64  `json:"number"` // from 1; its files are below PathLog
	Origin string `json:"origin"` // the first line of its checkpoints
	Size   int64  `json:"size"`   // leaves
	// Keys verify its checkpoints, the newest first, each as name+id+base64.
	Keys  []string `json:"keys"`
	Ended bool     `json:"ended"` // it has no more leaves: another log has followed it
}

// Trend is the change of a score over time. Past facts are scored by the current module,
// so a new module does not change trends.
type Trend struct {
	D7  *Milli `json:"d7"` // null if no audit is that old
	D30 *Milli `json:"d30"`
	D90 *Milli `json:"d90"`
}

// TrendTimes returns the times that D7, D30 and D90 compare with: the start of the day
// in UTC, so that every node computes the same.
func TrendTimes(now time.Time) [3]time.Time {
	day := now.UTC().Truncate(24 * time.Hour)
	return [3]time.Time{day.AddDate(0, 0, -7), day.AddDate(0, 0, -30), day.AddDate(0, 0, -90)}
}

// PastScore is the score of past facts with the current module.
type PastScore struct {
	Score Milli `json:"score"`
	AsOf  Time  `json:"asOf"`
}

// Standing is what a change of a score is measured by: the verdict of the active module on
// the newest facts, without ranks.
type Standing struct {
	Status   ScoreStatus `json:"status"`
	Score    *Milli      `json:"score"` // null unless scored or stale
	Grade    Grade       `json:"grade,omitempty"`
	GeoReady bool        `json:"geoReady"`
	Full     *Milli      `json:"full,omitempty"` // combined with visibility; absent unless both can be ranked
	AsOf     *Time       `json:"asOf"`           // of the facts; null before the first audit
}

// Standing returns the standing that a score document shows.
func (s *Score) Standing() Standing {
	return Standing{Status: s.Status, Score: s.Score, Grade: s.Grade, GeoReady: s.GeoReady, Full: s.Full, AsOf: s.AsOf}
}

// Differs reports whether two standings differ in more than the time of the audit, and
// one of their scores by at least threshold.
func (s Standing) Differs(from Standing, threshold Milli) bool {
	return s.Status != from.Status || s.Grade != from.Grade || s.GeoReady != from.GeoReady ||
		pointsDiffer(s.Score, from.Score, threshold) || pointsDiffer(s.Full, from.Full, threshold)
}

func pointsDiffer(a, b *Milli, threshold Milli) bool {
	if a == nil || b == nil {
		return a != b
	}
	return max(*a-*b, *b-*a) >= max(threshold, 1)
}

// ChangeCause is why a score changed.
type ChangeCause string

// A score changes because audits found other facts, the address or the name of the brand
// is another one, another module is active, visibility samples were imported, or facts or
// samples grew old. Of several causes the first of these is given.
const (
	CauseAlias   ChangeCause = "alias"
	CauseFacts   ChangeCause = "facts"
	CauseModule  ChangeCause = "module"
	CauseSamples ChangeCause = "samples"
	CauseAge     ChangeCause = "age"
)

// ScoreChange is the data of EventScoreChanged.
type ScoreChange struct {
	Slug    Slug           `json:"slug"`
	Name    string         `json:"name"`
	URL     string         `json:"url"`
	Cause   ChangeCause    `json:"cause" enum:"alias,facts,module,samples,age"`
	From    Standing       `json:"from"`
	To      Standing       `json:"to"`
	Delta   *Milli         `json:"delta"` // null unless both have a score
	Module  DigestChange   `json:"module"`
	Facts   DigestChange   `json:"facts"`
	Signals []SignalChange `json:"signals"` // that changed most, at most MaxSignalChanges
	Gates   []GateChange   `json:"gates"`   // that started or stopped applying
}

// RankChange is the data of EventRankChanged.
type RankChange struct {
	Slug  Slug   `json:"slug"`
	Name  string `json:"name"`
	URL   string `json:"url"`
	Basis string `json:"basis" enum:"readiness"`
	From  *Rank  `json:"from"` // null: not in the ranking
	To    *Rank  `json:"to"`
	AsOf  Time   `json:"asOf"` // of the ranking
}

// BrandAudit is the data of EventBrandAudited as endpoints receive it.
type BrandAudit struct {
	Slug        Slug        `json:"slug"`
	URL         string      `json:"url"`
	Result      AuditResult `json:"result" enum:"measured,refused,unreachable"`
	Changed     bool        `json:"changed"` // whether the facts differ from those before
	FactsDigest Digest      `json:"factsDigest,omitempty"`
	AsOf        Time        `json:"asOf"`
}

// AuditResult is whether an audit could read a site.
type AuditResult string

// An audit measured the site, the site refused the auditor, or its home page did not
// respond with a page.
const (
	AuditMeasured    AuditResult = "measured"
	AuditRefused     AuditResult = "refused"
	AuditUnreachable AuditResult = "unreachable"
)

// MaxSignalChanges limits the signals of a ScoreChange: the page of the brand has the rest.
const MaxSignalChanges = 5

// DigestChange is the digest before and after a change.
type DigestChange struct {
	From Digest `json:"from,omitempty"`
	To   Digest `json:"to,omitempty"`
}

// Gain is the effect of full points for one signal, or a condition of eligibility that is
// not met.
type Gain struct {
	ID     string `json:"id"` // of the signal, or eligibility.fetch, .index or .read
	Label  string `json:"label"`
	Gain   Milli  `json:"gain"`  // increase of the score; 0 for eligibility
	Score  Milli  `json:"score"` // resulting score
	Advice string `json:"advice"`

	EvidenceGrade EvidenceGrade `json:"evidenceGrade,omitempty"`
	Effort        int           `json:"effort,omitempty"`
	Evidence      []Evidence    `json:"evidence,omitempty"` // where: page, passage and a patch to paste
}

// NewScore returns the score document of a brand.
func NewScore(b Brand, a Assessment) Score {
	return Score{Slug: b.Slug, Name: b.Name, URL: b.URL, Niche: b.Niche, Language: b.Language, Assessment: a}
}

// Substantiate adds to GateManipulation, if it applies, the words that it is about and
// where it is disputed.
func (s *Score) Substantiate(f *Facts) {
	for i := range s.Gates {
		if s.Gates[i].ID == GateManipulation {
			found, _ := f.Find(FactManipulation)
			s.Gates[i].Evidence, s.Gates[i].Dispute = found.Evidence, DisputePath(s.Slug, GateManipulation)
		}
	}
}

// PendingAssessment is the assessment of a brand before its first audit.
func PendingAssessment() Assessment {
	return Assessment{
		Status: StatusPending, Basis: BasisReadiness, Gates: []Gate{}, Components: []Component{},
		Confidence: Confidence{Level: ConfidenceInsufficient},
	}
}

// Ranked reports whether a score is part of the leaderboard: scored, not stale, and with
// at least medium confidence.
func (a *Assessment) Ranked() bool {
	return a.Status == StatusScored && a.Confidence.Value >= 600
}

// ScoreHistory is the score of a brand over time: GET /api/v1/score/{slug}/history. Past
// facts are scored by the current module, so that a new module does not change it;
// Changes lists the activations.
type ScoreHistory struct {
	Slug        Slug            `json:"slug"`
	Name        string          `json:"name"`
	From        Time            `json:"from"`
	To          Time            `json:"to"`
	Step        string          `json:"step"`    // StepDay or StepWeek
	Points      []HistoryPoint  `json:"points"`  // oldest first, at the end of each step
	Changes     []HistoryChange `json:"changes"` // oldest first
	Methodology Methodology     `json:"methodology"`
	Module      ModuleRef       `json:"module"`

	// that ended in the period, oldest first, at most MaxHistoryStudies of each niche and locale
	Studies []StudyPoint `json:"studies,omitempty"`
}

// Steps of a history.
const (
	StepDay  = "day"
	StepWeek = "week"
)

// MaxHistoryPoints limits a history: more than a year of days.
const MaxHistoryPoints = 400

// HistoryPoint is the score at a time.
type HistoryPoint struct {
	At          Time            `json:"at"`
	Status      ScoreStatus     `json:"status"`
	Score       *Milli          `json:"score"` // null unless scored or stale
	Grade       Grade           `json:"grade,omitempty"`
	Range       *Range          `json:"range"`
	Confidence  ConfidenceLevel `json:"confidence"`
	AsOf        *Time           `json:"asOf"` // of the audit
	FactsDigest Digest          `json:"factsDigest,omitempty"`
}

// Kinds of changes in a history.
const (
	ChangeFacts  = "facts"  // an audit returned other facts
	ChangeModule = "module" // another module was activated
)

// HistoryChange is a change of the facts or of the active module.
type HistoryChange struct {
	At          Time           `json:"at"`
	Kind        string         `json:"kind"`
	FactsDigest Digest         `json:"factsDigest,omitempty"`
	Score       *Milli         `json:"score,omitempty"` // after a change of facts
	Moved       *Milli         `json:"moved,omitempty"` // change, if there was a score before
	Signals     []SignalChange `json:"signals,omitempty"`
	Gates       []GateChange   `json:"gates,omitempty"` // gates that started or stopped applying
	Module      *ModuleRef     `json:"module,omitempty"`
}

// SignalChange is a signal whose points changed.
type SignalChange struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	From  Milli  `json:"from"`
	To    Milli  `json:"to"`
}

// GateChange is a gate that started or stopped limiting the score.
type GateChange struct {
	Gate
	Applied bool `json:"applied"` // false if it stopped applying
}

// Points returns the points of all signals by their ids.
func (a *Assessment) Points() map[string]Milli {
	points := map[string]Milli{}
	for _, c := range a.Components {
		for _, s := range c.Signals {
			points[s.ID] = s.Points
		}
	}
	return points
}

// ChangedSignals returns at most limit signals whose points differ, the largest change
// first. A signal that only one of the two modules has is left out.
func ChangedSignals(before map[string]Milli, after *Assessment, limit int) []SignalChange {
	changes := []SignalChange{}
	for _, c := range after.Components {
		for _, s := range c.Signals {
			if was, ok := before[s.ID]; ok && was != s.Points {
				changes = append(changes, SignalChange{ID: s.ID, Label: s.Label, From: was, To: s.Points})
			}
		}
	}
	size := func(c SignalChange) Milli { return max(c.From-c.To, c.To-c.From) }
	slices.SortStableFunc(changes, func(a, b SignalChange) int { return cmp.Compare(size(b), size(a)) })
	return changes[:min(len(changes), limit)]
}

// ChangedGates returns the gates that started to apply, and then those that stopped.
func ChangedGates(before, after []Gate) []GateChange {
	changes := []GateChange{}
	without := func(gates, others []Gate, applied bool) {
		for _, g := range gates {
			if !slices.ContainsFunc(others, func(o Gate) bool { return o.ID == g.ID }) {
				changes = append(changes, GateChange{Gate: g, Applied: applied})
			}
		}
	}
	without(after, before, true)
	without(before, after, false)
	return changes
}

// WeightBand is how many times larger or smaller each weight may be, in thousandths: the
// root of 3. Published weights of comparable methods differ by about as much.
const WeightBand Milli = 1732
