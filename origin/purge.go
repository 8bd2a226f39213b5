package origin

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// maxPurgeURL limits the address of a purge, in bytes.
const maxPurgeURL = 2048

// Purge appends a purge to the event log, with the key that requested it. Every
// edge that follows the log applies it, also one that was disconnected at the time.
func (s *Service) Purge(ctx context.Context, by string, r fieldmark.PurgeRequest) (fieldmark.Purged, error) {
	tags, bad := checkPurge(r)
	if err := validation.Errors(bad).Err(); err != nil {
		return fieldmark.Purged{}, err
	}
	p := fieldmark.Purged{Tags: tags, Everything: r.Everything, Hard: r.Hard, URL: r.URL, By: by}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		p.Event = 0 // the number of the event is in the event itself
		p.Event, err = event.Emit(ctx, tx, "", store.Event{
			Event:   fieldmark.Event{Type: fieldmark.EventCachePurged, Tags: tags},
			Subject: "cache",
		}, p)
		if err != nil {
			return err
		}
		return s.AuditLog.Append(ctx, tx, "cache.purged", "cache", nil, p)
	})
	if err != nil {
		return fieldmark.Purged{}, fmt.Errorf("purge: %w", err)
	}
	return p, nil
}

// checkPurge returns the tags of a purge and all errors of the request.
func checkPurge(r fieldmark.PurgeRequest) ([]fieldmark.Tag, []fieldmark.FieldError) {
	var bad validation.Errors
	// Two ways in one request could purge more than was meant.
	ways := 0
	for _, given := range []bool{len(r.Tags) > 0, r.URL != "", r.Everything} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		bad.Add("", "conflict", "give exactly one of tags, url and everything")
		return nil, bad
	}
	if r.URL != "" {
		tag, ok := tagOfURL(r.URL)
		if !ok {
			bad.Add("/url", "pattern",
				"must be an http address or a path; of a badge, a score or a brand's page, one with a slug in it")
		}
		return []fieldmark.Tag{tag}, bad
	}
	if len(r.Tags) > fieldmark.MaxPurgeTags {
		bad.Add("/tags", "too_long", fmt.Sprintf("must be at most %d", fieldmark.MaxPurgeTags))
		return nil, bad
	}
	for i, tag := range r.Tags {
		if !fieldmark.ValidTag(tag) {
			bad.Add(fmt.Sprintf("/tags/%d", i), "pattern",
				"must be module, board, brand: and a slug, or a tag of a proxied response")
		}
	}
	tags := slices.Clone(r.Tags)
	// Sorted and without repetitions: edges apply each tag once.
	slices.Sort(tags)
	return slices.Compact(tags), bad
}

// tagOfURL returns the tag of the response at an address, and whether the address is
// valid. All forms of a brand have one tag: an error in one comes from the facts they
// share. Any other address is one that edges proxy, and has a separate tag; a path
// without a host applies to every host.
func tagOfURL(address string) (fieldmark.Tag, bool) {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxPurgeURL || u.Path == "" || u.Path[0] != '/' ||
		u.Host != "" && u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	if u.Path == "/" || u.Path == fieldmark.PathLeaderboard {
		return fieldmark.TagBoard, true
	}
	for _, prefix := range []string{fieldmark.PathBadge, fieldmark.PathScore, fieldmark.PathBrandPage} {
		slug, ok := strings.CutPrefix(u.Path, prefix)
		if !ok {
			continue
		}
		if prefix == fieldmark.PathBadge {
			for _, end := range []string{".svg", ".png", ".json", "/embed"} {
				slug = strings.TrimSuffix(slug, end)
			}
		}
		return fieldmark.TagBrand(fieldmark.Slug(slug)), fieldmark.ValidSlug(slug)
	}
	return fieldmark.TagURL(u.Host, u.RequestURI()), true
}
