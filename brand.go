package fieldmark

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Slug identifies a brand in URLs: 1 to 63 characters of a-z, 0-9 and single hyphens,
// not at either end, so that it is also a DNS label (RFC 1035).
type Slug string

// MaxSlug is the maximum length of a slug, in bytes.
const MaxSlug = 63

// ParseSlug parses a slug.
func ParseSlug(s string) (Slug, error) {
	if !ValidSlug(s) {
		return "", Errorf(CodeInvalidParameter, "a slug is 1 to %d of a-z, 0-9 and single hyphens", MaxSlug)
	}
	return Slug(s), nil
}

// ValidSlug reports whether s is a valid slug. It does not allocate.
func ValidSlug(s string) bool {
	if len(s) == 0 || len(s) > MaxSlug {
		return false
	}
	hyphen := true // refuses a hyphen at the start
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

// Limits of the fields of a brand, in code points. They match the llms.txt generator, so
// that every registered brand can be described.
const (
	MaxBrandName        = 100
	MaxBrandDescription = 2000
	MaxBrandURL         = 2048 // bytes; supported by all browsers and crawlers
	MaxLanguageTag      = 35   // bytes; the longest registered tag (RFC 5646, section 4.4.1)
)

// Brand is a registered brand with its website.
type Brand struct {
	Slug        Slug   `json:"slug"`
	Name        string `json:"name"`
	URL         string `json:"url"`      // absolute, http or https
	Niche       string `json:"niche"`    // category, in the form of a slug
	Language    string `json:"language"` // BCP 47
	Description string `json:"description,omitempty"`
	Public      bool   `json:"public"` // only public brands are ranked and published
	CreatedAt   Time   `json:"createdAt"`
	UpdatedAt   Time   `json:"updatedAt"`
}

// FactState is the state of a fact.
type FactState string

// A fact was measured, does not apply to the site, or could not be determined. An unknown
// fact never counts as zero.
const (
	Measured      FactState = "measured"
	NotApplicable FactState = "not_applicable"
	Unknown       FactState = "unknown"
)

// Evidence is the source of a fact: a page, what was found on it, and what to change.
type Evidence struct {
	URL     string `json:"url"`
	Fact    string `json:"fact"`
	Passage string `json:"passage,omitempty"` // the words of the page, verbatim
	Patch   string `json:"patch,omitempty"`   // text to paste into the page, its headers or robots.txt
}

// Patch is text to paste into a page or a file of a site.
type Patch struct {
	URL  string // of the page or file
	Text string
}

// Patches joins the patches of each page or file, so that they are pasted at once. Lines that
// begin with # are comments in robots.txt; the same one is kept once.
func Patches(evidence []Evidence) (patches []Patch) {
	for _, e := range evidence {
		if e.Patch == "" {
			continue
		}
		i := slices.IndexFunc(patches, func(p Patch) bool { return p.URL == e.URL })
		if i < 0 {
			patches = append(patches, Patch{e.URL, e.Patch})
			continue
		}
		text := e.Patch
		if comment, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(comment, "#") &&
			strings.Contains(patches[i].Text, comment+"\n") {
			text = rest
		}
		patches[i].Text = strings.TrimSuffix(patches[i].Text, "\n") + "\n\n" + text
	}
	return patches
}

// Limits of evidence: enough to verify a claim by hand, never a copy of the page.
const (
	MaxEvidence      = 5     // entries per fact
	MaxEvidenceText  = 240   // code points of Fact and of Passage
	MaxEvidencePatch = 1_000 // code points of Patch: an Organization in JSON-LD fits
)

// Fact is a measured property of a website.
type Fact struct {
	ID       string     `json:"id"`
	State    FactState  `json:"state"`
	Value    int64      `json:"value"` // thousandths of Unit; 0 unless measured
	Unit     string     `json:"unit"`  // bool, share, count, words, ms, days, level, per_1000_words
	Evidence []Evidence `json:"evidence,omitempty"`
}

// ObservedFact is a fact that audits measure and report, and for which the built-in module gives no
// points: no study relates it to answers. Another module may read it.
type ObservedFact struct {
	ID    string
	Label string
	Wide  bool // it needs another request, which only audits with wide facts make
}

// ObservedFacts returns the observed facts in the order in which they are shown.
func ObservedFacts() []ObservedFact {
	return []ObservedFact{
		{"policy.content_signal.search", "Content-Signal: may be used for search", false},
		{"policy.content_signal.ai_input", "Content-Signal: may be used as input of AI", false},
		{"policy.content_signal.ai_train", "Content-Signal: may be used for training", false},
		{"policy.content_usage.search", "Content-Usage: may be used for search", false},
		{"policy.content_usage.train_ai", "Content-Usage: may be used for training", false},
		{"policy.rsl", "RSL licence terms", false},
		{"policy.tdmrep", "TDMRep: text and data mining reserved", false},
		{"agent.bot_keys", "Directory of keys for Web Bot Auth", true},
		{"agent.mcp_card", "Card of an MCP server", true},
		{"agent.a2a_card", "A2A agent card", true},
		{"agent.webmcp", "WebMCP tools on the pages", false},
		{"agent.api_catalog", "Catalogue of APIs", true},
	}
}

// IsObserved reports whether a fact is one of ObservedFacts.
func IsObserved(id string) bool {
	return slices.ContainsFunc(ObservedFacts(), func(f ObservedFact) bool { return f.ID == id })
}

// Answer returns the value of a fact in a word: yes, no, a number, or that it is unknown or does not
// apply.
func (f Fact) Answer() string {
	switch {
	case f.State == NotApplicable:
		return "n/a"
	case f.State != Measured:
		return "unknown"
	case f.Unit != "bool":
		return Milli(f.Value).String()
	case f.Value == 0:
		return "no"
	}
	return "yes"
}

// FactsVersion is the version of the vocabulary of fact ids; new ids do not change it.
const FactsVersion = "geo-facts/1"

// Facts are the results of one audit. They are immutable and identified by their digest;
// a new audit creates a new revision.
type Facts struct {
	Version string `json:"version"`
	URL     string `json:"url"`   // the audited home page, after redirects
	Pages   int    `json:"pages"` // sampled pages, including the home page
	AsOf    Time   `json:"asOf"`
	Facts   []Fact `json:"facts"` // sorted by id

	Sample     *Sample     `json:"sample,omitempty"`     // nil: audited by rules that did not record it
	Replicates *Replicates `json:"replicates,omitempty"` // nil: every page was read, or too few to estimate
	Profiles   []Profile   `json:"profiles,omitempty"`   // profiles that the site claims, in the order of its data

	// Refused: bot protection answered in place of the home page, so that every fact that
	// rests on pages is unknown.
	Refused bool `json:"refused,omitempty"`
}

// Sample describes which pages an audit read, so that the audit can be repeated.
type Sample struct {
	// Seed selects the drawn pages. It is random and generated after the sitemap was
	// read, so that a site cannot arrange its sample; 32 hexadecimal digits. Empty if
	// every known page was read.
	Seed       string        `json:"seed,omitempty"`
	Population int           `json:"population"` // pages known from the sitemap and links, including the home page
	Pages      []SampledPage `json:"pages,omitempty"`
}

// SampledPage is a page that an audit requested.
type SampledPage struct {
	URL    string   `json:"url"`
	Role   PageRole `json:"role"`
	Status int      `json:"status"`           // of the response; 0 without one
	Hash   string   `json:"hash,omitempty"`   // SHA-256 of its main text, hexadecimal; empty if it was not read
	Since  string   `json:"since,omitempty"`  // date on which an audit first found this hash
	Dated  string   `json:"dated,omitempty"`  // date of the last change that the page claims
	Reason string   `json:"reason,omitempty"` // why it was not read

	// Earlier is the page of another brand on which the registry saw this text first. It is
	// empty unless most pages of the site have such a text.
	Earlier string `json:"earlier,omitempty"`

	// What the page says about itself, to describe a link to it. Empty
	// unless it answered 200 and may be indexed.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Language    string `json:"language,omitempty"` // BCP 47
}

// Limits of the texts of a SampledPage, in code points: what the generator of llms.txt
// accepts as the title and the note of a link.
const (
	MaxPageTitle       = 100
	MaxPageDescription = 200
)

// PageRole is the reason why a page is in a sample.
type PageRole string

// The home page and the pages linked from it as about, contact and offer are always read;
// the others are drawn. Translations of the home page are read for their links alone:
// they are not part of the sample that facts are computed from. Nor are pages that are read
// again because an earlier audit suspected their text; they are listed if the text is still
// there a day later, because until then nothing public may mention it.
const (
	PageHome        PageRole = "home"
	PageAbout       PageRole = "about"
	PageContact     PageRole = "contact"
	PageOffer       PageRole = "offer"
	PageDrawn       PageRole = "drawn"
	PageTranslation PageRole = "translation"
	PageRecheck     PageRole = "recheck"
)

// MaxSampledPages limits the pages of a sample.
const MaxSampledPages = 32

// Replicates are facts recomputed on bootstrap samples of the drawn pages. A host scores
// each replicate to estimate how much the score depends on the draw.
type Replicates struct {
	Drawn  int        `json:"drawn"`  // drawn pages that were read, at least 2
	Facts  []string   `json:"facts"`  // ids of the facts that vary, sorted
	Values [][]*Milli `json:"values"` // for each replicate, in the order of Facts; null: unknown
}

// Without returns the replicates with a fact left out, as if it did not vary.
func (r *Replicates) Without(id string) *Replicates {
	if r == nil || !slices.Contains(r.Facts, id) {
		return r
	}
	at := slices.Index(r.Facts, id)
	rest := &Replicates{Drawn: r.Drawn, Facts: slices.Delete(slices.Clone(r.Facts), at, at+1)}
	for _, values := range r.Values {
		if at < len(values) {
			values = slices.Delete(slices.Clone(values), at, at+1)
		}
		rest.Values = append(rest.Values, values)
	}
	return rest
}

// MaxReplicates limits the replicates. The standard deviation of 24 is known to 15 %,
// which is less than what the sample itself leaves open.
const MaxReplicates = 24

// Profile is a page elsewhere that a site claims as its own with sameAs.
type Profile struct {
	URL    string       `json:"url"`
	State  ProfileState `json:"state"`
	Reason string       `json:"reason"`
}

// ProfileState reports whether a profile leads back to the site that claims it.
type ProfileState string

// A profile leads back, does not, or could not be read.
const (
	ProfileVerified ProfileState = "verified"
	ProfileRefuted  ProfileState = "refuted"
	ProfileUnknown  ProfileState = "unknown"
)

// Find returns the fact with the given id.
func (f *Facts) Find(id string) (Fact, bool) {
	i, ok := slices.BinarySearchFunc(f.Facts, id, func(a Fact, id string) int { return strings.Compare(a.ID, id) })
	if !ok {
		return Fact{}, false
	}
	return f.Facts[i], true
}

// Wide reports whether the audit requested the documents of observed facts: one of those that need a
// request besides the pages is known.
func (f *Facts) Wide() bool {
	return slices.ContainsFunc(ObservedFacts(), func(o ObservedFact) bool {
		fact, ok := f.Find(o.ID)
		return o.Wide && ok && fact.State != Unknown
	})
}

// Digest returns the digest of the content. The time of the audit is not part of it: the
// same site audited twice has the same digest.
func (f *Facts) Digest() (Digest, error) {
	undated := *f
	undated.AsOf = Time{}
	b, err := json.Marshal(undated)
	if err != nil {
		return "", fmt.Errorf("digest facts of %s: %w", f.URL, err)
	}
	return DigestOf(sha256.Sum256(b)), nil
}

// BrandState is a brand with its newest facts, as edges receive it. Facts is nil before
// the first audit.
type BrandState struct {
	Brand       Brand  `json:"brand"`
	FactsDigest Digest `json:"factsDigest,omitempty"`
	Facts       *Facts `json:"facts,omitempty"`

	FactsSince *Time              `json:"factsSince,omitempty"` // when these facts were first measured
	Past       []Revision         `json:"past,omitempty"`       // revisions for trends, oldest first, without evidence
	Visibility []VisibilitySample `json:"visibility,omitempty"` // newest sample per engine, surface and locale
	// The newest study of each niche and locale, with this brand only.
	Studies []StudyResult `json:"studies,omitempty"`
	Aliases []Slug        `json:"aliases,omitempty"` // other slugs that redirect to this one
	Claim   *BrandClaim   `json:"claim,omitempty"`   // nil: the brand is not claimed
	// Only in the state of one brand: the newest disputes, at most MaxPublicDisputes. Those of
	// the public are published while they are undecided, those of the owner also for
	// StaleAfter after the decision.
	Disputes []DisputeStatus `json:"disputes,omitempty"`
	// When the owner of the brand unlisted it; nil: it is listed, or was not by its owner. An
	// unlisted brand is not public, and its state has no facts.
	UnlistedAt *Time `json:"unlistedAt,omitempty"`
}

// Revision is the period in which audits of a brand returned the same facts.
type Revision struct {
	FirstAt Time   `json:"firstAt"`
	LastAt  Time   `json:"lastAt"`
	Digest  Digest `json:"digest"` // of the facts with their evidence
	Facts   *Facts `json:"facts"`  // possibly without evidence
}

// Activation is a change of the active module.
type Activation struct {
	At     Time      `json:"at"`
	Module ModuleRef `json:"module"`
}

// BrandHistory is the past of a brand, as edges receive it.
type BrandHistory struct {
	Brand       Brand        `json:"brand"`
	Revisions   []Revision   `json:"revisions"`   // oldest first
	Activations []Activation `json:"activations"` // oldest first

	// that were settled, upheld or rejected, the newest first, at most MaxHistoryDisputes
	Disputes []DisputeStatus `json:"disputes,omitempty"`

	// that ended until the period does, oldest first, at most MaxHistoryStudies of each niche and locale
	Studies []StudyPoint `json:"studies,omitempty"`
}

// MaxHistoryDisputes limits the disputes of a BrandHistory: the feed of a brand has no more
// entries.
const MaxHistoryDisputes = 50

// MaxRevisions limits the stored revisions of a brand; the oldest are dropped. It is more
// than seven years of weekly audits.
const MaxRevisions = 400

// AuditRun is a queued, running or failed audit. A failed audit stays in the list until
// the next one is requested.
type AuditRun struct {
	Brand       Slug   `json:"brand"`
	RequestedAt Time   `json:"requestedAt"`
	DueAt       Time   `json:"dueAt"`
	Attempts    int    `json:"attempts"` // started
	Running     bool   `json:"running"`
	Step        string `json:"step,omitempty"`    // description of the current step
	Steps       int    `json:"steps,omitempty"`   // started so far
	Failure     string `json:"failure,omitempty"` // reason, if it failed
}

// ImportReport is the result of an import of brands.
type ImportReport struct {
	Added     int          `json:"added"`
	Unchanged int          `json:"unchanged"`
	Updated   int          `json:"updated"`
	Rejected  []FieldError `json:"rejected,omitempty"`        // Pointer identifies the item: /12/url; the first 1,000
	Omitted   int          `json:"rejectedOmitted,omitempty"` // further problems
}
