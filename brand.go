package fieldmark

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Slug is a brand's name in addresses: 1 to 63 of a-z, 0-9 and single hyphens,
// none at either end (so that it also fits a DNS label, RFC 1035).
type Slug string

// MaxSlug is the longest slug, in bytes.
const MaxSlug = 63

// ParseSlug is the only way to a Slug.
func ParseSlug(s string) (Slug, error) {
	if !ValidSlug(s) {
		return "", Errorf(CodeInvalidParameter, "a slug is 1 to %d of a-z, 0-9 and single hyphens", MaxSlug)
	}
	return Slug(s), nil
}

// ValidSlug reports whether s is a slug, without allocating.
func ValidSlug(s string) bool {
	if len(s) == 0 || len(s) > MaxSlug {
		return false
	}
	hyphen := true // as if one stood before the first character
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			hyphen = false
		case c == '-' && !hyphen:
			hyphen = true
		default:
			return false
		}
	}
	return !hyphen
}

// Bounds of a brand's fields, in code points; they are those of the llms.txt
// generator, so that whatever is registered can also be described.
const (
	MaxBrandName        = 100
	MaxBrandDescription = 2000
	MaxBrandURL         = 2048 // bytes; the common denominator of browsers and crawlers
	MaxLanguageTag      = 35   // bytes; the longest registered tag (RFC 5646, section 4.4.1)
)

// Brand is a name with a website.
type Brand struct {
	Slug        Slug   `json:"slug"`
	Name        string `json:"name"`
	URL         string `json:"url"`      // absolute, http or https
	Niche       string `json:"niche"`    // a slug too; the field it works in
	Language    string `json:"language"` // BCP 47
	Description string `json:"description,omitempty"`
	Public      bool   `json:"public"` // only public brands are ranked and shown
	CreatedAt   Time   `json:"createdAt"`
	UpdatedAt   Time   `json:"updatedAt"`
}

// FactState says what an audit knows of one fact.
type FactState string

// A fact was measured, does not apply to the site, or could not be found out.
// Unknown is never counted as zero.
const (
	Measured      FactState = "measured"
	NotApplicable FactState = "not_applicable"
	Unknown       FactState = "unknown"
)

// Evidence is where a fact was seen and what stood there.
type Evidence struct {
	URL  string `json:"url"`
	Fact string `json:"fact"`
}

// Bounds of evidence: enough to check a claim by hand, never a copy of the page.
const (
	MaxEvidence     = 5   // entries per fact
	MaxEvidenceText = 240 // code points per entry
)

// Fact is one finding about a brand's site.
type Fact struct {
	ID       string     `json:"id"`
	State    FactState  `json:"state"`
	Value    int64      `json:"value"` // thousandths of Unit; 0 unless measured
	Unit     string     `json:"unit"`  // bool, share, count, words, ms, days, level, per_1000_words
	Evidence []Evidence `json:"evidence,omitempty"`
}

// FactsVersion names the vocabulary of fact ids; a new id does not change it.
const FactsVersion = "geo-facts/1"

// Facts is what one audit found out. Facts are immutable: a new audit makes a
// new revision, and their digest names them.
type Facts struct {
	Version string `json:"version"`
	URL     string `json:"url"`   // the audited home page, after redirects
	Pages   int    `json:"pages"` // sampled, the home page included
	AsOf    Time   `json:"asOf"`
	Facts   []Fact `json:"facts"` // sorted by id
}

// Find returns the fact with the given id.
func (f *Facts) Find(id string) (Fact, bool) {
	i, ok := slices.BinarySearchFunc(f.Facts, id, func(a Fact, id string) int { return strings.Compare(a.ID, id) })
	if !ok {
		return Fact{}, false
	}
	return f.Facts[i], true
}

// Digest names the facts by content. When they were found out is not part of
// it: the same site audited twice has the same digest.
func (f *Facts) Digest() (Digest, error) {
	undated := *f
	undated.AsOf = Time{}
	b, err := json.Marshal(undated)
	if err != nil {
		return "", fmt.Errorf("digest facts of %s: %w", f.URL, err)
	}
	return DigestOf(sha256.Sum256(b)), nil
}

// BrandState is a brand and the newest facts about it, as the origin tells an
// edge. Facts is nil until the first audit is done.
type BrandState struct {
	Brand       Brand  `json:"brand"`
	FactsDigest Digest `json:"factsDigest,omitempty"`
	Facts       *Facts `json:"facts,omitempty"`

	FactsSince *Time              `json:"factsSince,omitempty"` // when these facts were first found
	Past       []Revision         `json:"past,omitempty"`       // those that trends look at, oldest first, evidence left out
	Visibility []VisibilitySample `json:"visibility,omitempty"` // the newest of each engine, surface and locale
	Aliases    []Slug             `json:"aliases,omitempty"`    // other slugs that lead to this one
}

// Revision is what was true of a brand from its first to its last audit that
// found the same.
type Revision struct {
	FirstAt Time   `json:"firstAt"`
	LastAt  Time   `json:"lastAt"`
	Digest  Digest `json:"digest"` // of the facts with their evidence
	Facts   *Facts `json:"facts"`  // may lack its evidence
}

// Activation is a change of the module in force.
type Activation struct {
	At     Time      `json:"at"`
	Module ModuleRef `json:"module"`
}

// BrandHistory is what is known of a brand's past, as the origin tells an edge.
type BrandHistory struct {
	Brand       Brand        `json:"brand"`
	Revisions   []Revision   `json:"revisions"`   // oldest first
	Activations []Activation `json:"activations"` // oldest first
}

// MaxRevisions bounds a brand's history in revisions, of which the newest are
// kept: more than seven years of weekly audits.
const MaxRevisions = 400

// AuditRun is an audit in line, and how far it has come. One that failed stays in
// the list until the next is asked for.
type AuditRun struct {
	Brand       Slug   `json:"brand"`
	RequestedAt Time   `json:"requestedAt"`
	DueAt       Time   `json:"dueAt"`
	Attempts    int    `json:"attempts"` // begun
	Running     bool   `json:"running"`
	Step        string `json:"step,omitempty"`    // what it does, in a few words
	Steps       int    `json:"steps,omitempty"`   // begun so far
	Failure     string `json:"failure,omitempty"` // why it failed; it neither waits nor runs
}

// ImportReport says what became of each brand of an import.
type ImportReport struct {
	Added     int          `json:"added"`
	Unchanged int          `json:"unchanged"`
	Updated   int          `json:"updated"`
	Rejected  []FieldError `json:"rejected,omitempty"`        // Pointer names the record: /12/url; the first 1,000
	Omitted   int          `json:"rejectedOmitted,omitempty"` // further problems
}
