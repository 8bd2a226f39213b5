package brand

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of the texts of brands.
const (
	// maxTexts is how many texts of a brand are stored: the largest samples of four audits,
	// so that pages that a draw misses keep the time at which they were first seen.
	maxTexts = 4 * fieldmark.MaxSampledPages

	// maxSimilar is how many texts are compared with one, those seen first at the start: more
	// than have a common phrase by chance among a million.
	maxSimilar = 500

	// minLead is how much earlier a text must have been seen at another brand. Brands that
	// are added together are audited in random order, which does not show whose text it
	// is; an audit that waits in the queue adds some hours.
	minLead = 24 * time.Hour
)

// ruleEarlierText is the rule of the passages of a dispute of FactText: URL is the page of
// the other brand, Passage that of the disputing one.
const ruleEarlierText = "earlier_text"

// earlierTexts returns where the texts of an audit of a brand were first seen, by the URL of
// its pages: at another public brand at least minLead earlier, or at one that the text was
// attributed to by an upheld dispute. Sites of the same domain, and two sites that claim
// each other's domain, have the same owner and are not compared.
func earlierTexts(ctx context.Context, db store.BrandReader, slug fieldmark.Slug,
	texts audit.Texts) (map[string]audit.EarlierText, error) {
	authors, err := attributedTexts(ctx, db)
	if err != nil {
		return nil, err
	}
	earlier := map[string]audit.EarlierText{}
	for _, page := range texts.Pages {
		similar, err := similarTexts(ctx, db, page.Sketch)
		if err != nil {
			return nil, err
		}
		// A text that was not stored yet was first seen now.
		first := time.Now()
		for i := range similar {
			if similar[i].Brand == slug {
				first = similar[i].FirstSeen
				break // they are in the order of time
			}
		}
		// The first in time that is not excluded counts: it is the most likely author.
		for i := range similar {
			t := &similar[i]
			sameOwner := t.Brand == slug || t.Domain == texts.Domain ||
				slices.Contains(t.Claims, texts.Domain) && slices.Contains(texts.Claims, t.Domain)
			decided := authors[t.Brand][texts.Domain]
			if sameOwner || !t.Public || authors[slug][t.Domain] || !decided && first.Sub(t.FirstSeen) < minLead {
				continue
			}
			earlier[page.URL] = audit.EarlierText{URL: t.URL, Since: t.FirstSeen, Decided: decided}
			break
		}
	}
	return earlier, nil
}

// similarTexts returns the stored texts that resemble one, those seen first at the start.
// The database finds candidates by keys; the sketches decide.
func similarTexts(ctx context.Context, db store.BrandReader, sketch audit.Sketch) ([]store.PageText, error) {
	list, err := db.SimilarTexts(ctx, sketch.Keys(), maxSimilar)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(t store.PageText) bool {
		other, parseErr := audit.ParseSketch(t.Sketch)
		if parseErr != nil {
			err = fmt.Errorf("the text of %s: %w", t.URL, parseErr)
		}
		return parseErr != nil || !sketch.Resembles(other)
	}), err
}

// attributedTexts returns the domains of which texts were attributed to a brand by upheld
// disputes.
// An upheld dispute is a decision about a whole site, so it is kept by domain.
func attributedTexts(ctx context.Context, db store.BrandReader) (map[fieldmark.Slug]map[string]bool, error) {
	upheld, err := db.Disputes(ctx, store.DisputeQuery{State: fieldmark.DisputeUpheld, Signal: fieldmark.FactText,
		Limit: maxUpheld})
	all := map[fieldmark.Slug]map[string]bool{}
	for i := range upheld {
		d := &upheld[i]
		for _, p := range d.Passages {
			if all[d.Brand] == nil {
				all[d.Brand] = map[string]bool{}
			}
			all[d.Brand][audit.Domain(p.URL)] = true
		}
	}
	return all, err
}

// earlierPassages returns the pages of other brands that the newest facts of a brand name as
// the first with the same text.
// They are what an administrator looks at to decide a dispute.
func earlierPassages(ctx context.Context, tx *store.Tx, slug fieldmark.Slug) (list []fieldmark.Suspicion, err error) {
	state, err := tx.BrandState(ctx, slug)
	if err != nil || state.Facts == nil || state.Facts.Sample == nil {
		return nil, err
	}
	for _, p := range state.Facts.Sample.Pages {
		if p.Earlier != "" {
			list = append(list, fieldmark.Suspicion{Rule: ruleEarlierText, URL: p.Earlier, Passage: p.URL,
				FirstSeen: state.Facts.AsOf})
		}
	}
	return list, nil
}

// putTexts stores the texts of an audit. A text that resembles one of the brand's texts keeps
// the sketch and the time of that one.
func putTexts(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, report audit.Report) error {
	// An audit that read no page has no texts, so the stored ones stay.
	if report.Facts.Pages == 0 {
		return nil
	}
	known, err := tx.PageTexts(ctx, slug)
	if err != nil {
		return err
	}
	sketches := make([]audit.Sketch, len(known))
	for i := range known {
		if sketches[i], err = audit.ParseSketch(known[i].Sketch); err != nil {
			return fmt.Errorf("the text of %s: %w", known[i].URL, err)
		}
	}
	at := report.Facts.AsOf.Std()
	var list []store.PageText
	for _, p := range report.Texts.Pages {
		t := store.PageText{URL: p.URL, Domain: report.Texts.Domain, Sketch: p.Sketch.String(), Keys: p.Sketch.Keys(),
			FirstSeen: at}
		if i := slices.IndexFunc(sketches, p.Sketch.Resembles); i >= 0 {
			t.Sketch, t.Keys, t.FirstSeen = known[i].Sketch, known[i].Keys, known[i].FirstSeen
		}
		list = append(list, t)
	}
	return tx.PutPageTexts(ctx, slug, report.Texts.Claims, list, at, maxTexts)
}
