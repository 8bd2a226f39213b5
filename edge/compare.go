package edge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// maxCompareText is the longest list of brands to compare, in bytes: four names of the
// maximum length with their commas.
const maxCompareText = 4*fieldmark.MaxBrandName + 8

// maxSuggested is how many brands are named where a text fits several.
const maxSuggested = 3

// serveCompare handles GET /compare?brands=a,b.
func (e *boardEndpoints) serveCompare(ctx *fasthttp.RequestCtx) route {
	return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
		p := site.ComparePage{BaseURL: e.baseURL, Asked: string(ctx.QueryArgs().Peek("brands"))}
		rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
		defer cancel()
		slugs, faults := e.namedBrands(p.Asked)
		for _, slug := range slugs {
			entry, _, err := e.scorer.get(rc, slug)
			if fieldmark.IsCode(err, fieldmark.CodeNotFound) { // removed since it was ranked
				faults = append(faults, fmt.Sprintf("No public brand is registered as “%s”.", slug))
				continue
			}
			if err != nil {
				e.failPage(ctx, err, "")
				return
			}
			score := entry.Value.(*scoreValue).score
			score.Rank = e.rankings.Rank(slug)
			p.Brands = append(p.Brands, score)
		}
		status := http.StatusOK
		if p.Faults = faults; faults != nil {
			status = http.StatusBadRequest
		}
		body, err := e.site.AppendCompare(nil, p)
		e.sendPage(ctx, status, body, err)
	})
}

// namedBrands returns the brands that a list of slugs, names and domains names, and what
// is wrong with the list.
func (e *boardEndpoints) namedBrands(list string) (slugs []fieldmark.Slug, faults []string) {
	s := e.rankings.Current()
	if s == nil || strings.TrimSpace(list) == "" {
		return nil, nil
	}
	if len(list) > maxCompareText || !utf8.ValidString(list) {
		return nil, []string{fmt.Sprintf("The list must be text of at most %d bytes.", maxCompareText)}
	}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		slug, fault := namedBrand(s, item)
		switch {
		case fault != "":
			faults = append(faults, fault)
		case !slices.Contains(slugs, slug):
			slugs = append(slugs, slug)
		}
	}
	if len(slugs) > site.MaxCompared {
		faults = append(faults, fmt.Sprintf("At most %d brands can be compared; the first %[1]d of %d are shown.",
			site.MaxCompared, len(slugs)))
		slugs = slugs[:site.MaxCompared]
	}
	return slugs, faults
}

// namedBrand returns the one brand whose slug is the text, or whose name, slug or host
// contains it.
func namedBrand(s *ranking.Snapshot, text string) (slug fieldmark.Slug, fault string) {
	if fieldmark.ValidSlug(text) {
		if r := s.Row(fieldmark.Slug(text)); r != nil {
			return cmp.Or(r.Target(), r.Slug()), ""
		}
	}
	found := s.Search(&ranking.Query{Limit: maxSuggested}, text)
	var all []string
	for _, e := range found.Board.Items {
		all = append(all, string(e.Slug))
	}
	for _, u := range found.Unranked {
		all = append(all, string(u.Slug))
	}
	switch n := found.Board.Total + found.UnrankedTotal; {
	case n == 0:
		return "", fmt.Sprintf("No public brand is registered as “%s”.", text)
	case n > 1:
		return "", fmt.Sprintf("“%s” matches %d brands: enter one of them, such as %s.", text, n,
			strings.Join(all[:min(len(all), maxSuggested)], " or "))
	}
	return fieldmark.Slug(all[0]), ""
}
