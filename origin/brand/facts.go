package brand

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

// MaxFacts limits the document of one audit in bytes: about a hundred facts with their
// evidence. Every edge reads it for every brand.
const MaxFacts = 512 << 10

// reconfirmAfter is how old the last event must be for an audit that found the same
// facts to emit another. The age of an audit limits what a score may claim, in steps
// of days; more events would only make edges refresh.
const reconfirmAfter = 24 * time.Hour

// PutFacts stores the facts of a brand and reports whether they differ from the ones
// before. Equal facts only update the time they were last confirmed. Facts older than
// the stored ones are ignored.
func (s *Service) PutFacts(ctx context.Context, slug fieldmark.Slug, f fieldmark.Facts) (changed bool, err error) {
	doc, err := newFactsDocument(f)
	if err != nil {
		return false, fmt.Errorf("store the facts of %s: %w", slug, err)
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		changed, err = s.putFacts(ctx, tx, slug, doc)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store the facts of %s: %w", slug, store.NotFound(err, "there is no such brand"))
	}
	return changed, nil
}

// factsDocument is the stored form of facts.
type factsDocument struct {
	digest fieldmark.Digest
	body   []byte // without AsOf, so that digest is the digest of these bytes
	bare   []byte // body without evidence, sampled pages and profiles
	asOf   fieldmark.Time
	result fieldmark.AuditResult
}

func newFactsDocument(f fieldmark.Facts) (factsDocument, error) {
	if !slices.IsSortedFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) }) {
		return factsDocument{}, errors.New("BUG: facts are not sorted by id")
	}
	asOf := f.AsOf
	f.AsOf = fieldmark.Time{}
	body, err := json.Marshal(f)
	if err != nil {
		return factsDocument{}, err
	}
	// Text from the web may be invalid UTF-8. Encode what JSON makes of it: every
	// reader must compute the same digest.
	var decoded fieldmark.Facts
	if err := json.Unmarshal(body, &decoded); err != nil {
		return factsDocument{}, err
	}
	if body, err = json.Marshal(decoded); err != nil {
		return factsDocument{}, err
	}
	if len(body) > MaxFacts {
		return factsDocument{}, fmt.Errorf("facts of %d bytes are larger than %d", len(body), MaxFacts)
	}
	for i := range decoded.Facts {
		decoded.Facts[i].Evidence = nil
	}
	if decoded.Sample != nil {
		decoded.Sample.Pages = nil
	}
	decoded.Profiles = nil
	bare, err := json.Marshal(decoded)
	if err != nil {
		return factsDocument{}, err
	}
	return factsDocument{digest: fieldmark.DigestOf(sha256.Sum256(body)), body: body, bare: bare, asOf: asOf,
		result: resultOf(&decoded, decoded.Refused)}, nil
}

// resultOf returns whether an audit that was refused or not could read the site. A home page
// that the auditor could not parse is unknown, too, but not refused.
func resultOf(f *fieldmark.Facts, refused bool) fieldmark.AuditResult {
	home, ok := f.Find("home.reachable")
	switch {
	case refused:
		return fieldmark.AuditRefused
	case ok && (home.State == fieldmark.Unknown || home.Value == 0):
		return fieldmark.AuditUnreachable
	}
	return fieldmark.AuditMeasured
}

// auditedData is the data of the brand.audited event that edges follow.
type auditedData struct {
	Slug        fieldmark.Slug   `json:"slug"`
	FactsDigest fieldmark.Digest `json:"factsDigest"`
	AsOf        fieldmark.Time   `json:"asOf"`
	Changed     bool             `json:"changed"`
}

func (s *Service) putFacts(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, doc factsDocument) (changed bool,
	err error) {
	b, err := tx.Brand(ctx, slug)
	if err != nil {
		return false, err
	}
	if b.FactsAt != nil && doc.asOf.Std().Before(b.FactsAt.Std()) {
		if !b.FactsAt.Std().After(time.Now()) {
			return false, nil
		}
		// The stored facts are from the future: the clock of their process was ahead.
		// Newer facts follow them in the history, or none could be stored until then.
		doc.asOf = fieldmark.At(b.FactsAt.Std().Add(time.Millisecond))
	}
	changed = doc.digest != b.FactsDigest
	if err := tx.PutFacts(ctx, slug, doc.digest, doc.body, doc.bare, doc.asOf); err != nil {
		return false, err
	}
	if err := tx.RequestStanding(ctx, slug, time.Now()); err != nil {
		return false, err
	}
	last, err := tx.LastEventTime(ctx, string(slug), fieldmark.EventBrandAudited)
	if err != nil {
		return false, err
	}
	if !changed && doc.asOf.Std().Sub(last.Std()) <= reconfirmAfter {
		return false, nil
	}
	if _, err = event.Emit(ctx, tx, "", newEvent(fieldmark.EventBrandAudited, slug),
		auditedData{Slug: slug, FactsDigest: doc.digest, AsOf: doc.asOf, Changed: changed}); err != nil {
		return false, err
	}
	return changed, event.EmitBrand(ctx, tx, slug, fieldmark.EventBrandAudited, fieldmark.BrandAudit{Slug: slug,
		URL: b.URL, Result: doc.result, Changed: changed, FactsDigest: doc.digest, AsOf: doc.asOf})
}
