package audit

import (
	"context"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Config holds what an Auditor needs.
type Config struct {
	HTTP        *safehttp.Client // required: the only way out
	Delay       time.Duration    // between requests to one host; 0 means DefaultDelay, negative means none
	MaxRequests int              // per audit; 0 means DefaultMaxRequests
}

// Subject is the site to audit and who it claims to be.
type Subject struct {
	URL      string // of the home page, http or https
	Name     string // of the brand
	Language string // BCP 47; may be empty
}

// Auditor audits sites. It is safe for concurrent use; each audit keeps its own
// pace.
type Auditor struct {
	config Config
}

// New checks the configuration and returns an Auditor; it fetches nothing.
func New(c Config) (*Auditor, error) { return &Auditor{config: c}, nil }

// Audit reads the site of s and returns its facts. A site that does not answer
// is a finding, not an error: home.reachable is 0 and the rest unknown. An
// error means that s is no site that may be audited or that ctx ended.
// Progress, if not nil, is told each step in a few words.
func (a *Auditor) Audit(ctx context.Context, s Subject, progress func(step string)) (fieldmark.Facts, error) {
	return fieldmark.Facts{}, nil
}
