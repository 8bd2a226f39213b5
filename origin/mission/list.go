package mission

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// List lists missions of an account. Account "" means all live accounts or, with World, all test
// accounts; only status and creation time may filter that list. It returns one page, and the
// cursor of the next. With UpdatedSince the order is that of the changes, and the cursor of the
// last page is valid as well: it returns what changes later.
func (s *Service) List(ctx context.Context, account string,
	f fieldmark.MissionFilter) (fieldmark.List[fieldmark.Mission], error) {
	var none fieldmark.List[fieldmark.Mission]
	if err := checkFilter(account, &f); err != nil {
		return none, err
	}
	// The API refuses more than the maximum; callers without a schema get the maximum.
	limit := f.Limit
	if limit <= 0 {
		limit = fieldmark.DefaultMissionLimit
	}
	limit = min(limit, fieldmark.MaxMissionLimit)
	q := store.MissionQuery{
		Account: account, Worlds: f.World != "",
		Status: slices.Compact(slices.Sorted(slices.Values(f.Status))), Priority: f.Priority,
		Source: f.Source, ExternalID: f.ExternalID, Assignee: f.Assignee, Limit: limit + 1, // shows if a page follows
		Changes: !f.UpdatedSince.IsZero(), Since: f.UpdatedSince.Micros(),
	}
	if !f.CreatedSince.IsZero() {
		q.From = firstID(f.CreatedSince.Std())
	}
	if !f.CreatedUntil.IsZero() {
		// one millisecond more includes those of CreatedUntil itself
		q.Until = cmp.Or(firstID(f.CreatedUntil.Std().Add(time.Millisecond)), fieldmark.PrefixMission)
	}
	var err error
	if q.Labels, err = parseLabels(ctx, s.store, account, f.Labels); err != nil {
		return none, err
	}
	if err := applyCursor(f.Cursor, &q); err != nil {
		return none, err
	}
	rows, err := s.store.Missions(ctx, q)
	if err != nil {
		return none, err
	}
	list := fieldmark.List[fieldmark.Mission]{Data: []fieldmark.Mission{}}
	if list.HasMore = len(rows) > limit; list.HasMore {
		rows = rows[:limit]
	}
	switch {
	// A list of changes has no last page: what changes next follows it.
	case len(rows) > 0 && (list.HasMore || q.Changes):
		list.NextCursor = newCursor(q.Changes, &rows[len(rows)-1])
	case q.Changes: // nothing changed; the caller continues from the same position
		list.NextCursor = f.Cursor
	}
	for _, m := range rows {
		list.Data = append(list.Data, m.Mission)
	}
	return list, nil
}

// checkFilter rejects combinations that no index supports. They would read every mission of the
// table.
func checkFilter(account string, f *fieldmark.MissionFilter) error {
	var bad validation.Errors
	if f.ExternalID != "" && f.Source == "" {
		bad.Add("?externalId", "conflict", "names a mission only together with source")
	}
	if account == "" {
		for _, one := range []struct {
			name  string
			given bool
		}{
			{"priority", f.Priority != ""}, {"source", f.Source != ""}, {"updatedSince", !f.UpdatedSince.IsZero()},
			{"assignee", f.Assignee != ""}, {"label", len(f.Labels) > 0},
		} {
			if one.given {
				bad.Add("?"+one.name, "conflict", "narrows the missions of one account: name it in account")
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "see errors", Fields: bad}
}

// parseLabels parses the labels of a filter, in the form key:value. Keys may contain colons, so the
// filterable keys of the account decide where the value begins.
func parseLabels(ctx context.Context, from *store.Store, account string, texts []string) ([]store.Label, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > fieldmark.MaxLabelFilters {
		return nil, badLabel("too_long", fmt.Sprintf("at most %d labels can filter a list", fieldmark.MaxLabelFilters))
	}
	keys, indexed, err := from.FilterLabels(ctx, account)
	if err != nil {
		return nil, err
	}
	if !indexed {
		return nil, &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: indexPause,
			Detail: "the labels of the account are being indexed"}
	}
	var labels []store.Label
	for _, text := range texts {
		var label store.Label
		for _, key := range keys {
			if value, ok := strings.CutPrefix(text, key+":"); ok && len(key) > len(label.Key) {
				label = store.Label{Key: key, Value: value}
			}
		}
		if label.Key == "" {
			detail := "the account lists no label keys to filter by; an administrator sets them"
			if len(keys) > 0 {
				detail = "must be key:value with a filterable key of the account: " + strings.Join(keys, ", ")
			}
			return nil, badLabel("enum", detail)
		}
		labels = append(labels, label)
	}
	return labels, nil
}

func badLabel(code, detail string) error {
	return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "see errors",
		Fields: validation.Errors{{Pointer: "?label", Code: code, Detail: detail}}}
}

// Limits of indexing labels in the background. A transaction of 500 missions takes some 20 ms, and
// other writers wait for it.
const (
	indexPause = 2 * time.Second // after which a caller may try again
	indexBatch = 500             // missions in one transaction
)

// indexLabels indexes the missions of accounts whose filterable labels changed.
func (s *Service) indexLabels(ctx context.Context) error {
	for {
		account, err := s.store.AccountToIndex(ctx)
		if err != nil || account == "" || ctx.Err() != nil {
			return err
		}
		err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.IndexLabels(ctx, account, indexBatch)
		})
		if err != nil {
			return err
		}
	}
}

// firstID sorts before the ids of all missions created at a time or later, and
// after all others: an id begins with its time, and the rest is random.
func firstID(at time.Time) string {
	if at.Before(time.UnixMilli(0)) {
		return ""
	}
	return fieldmark.FirstID(fieldmark.PrefixMission, at)
}

// The kinds of cursor: the id of a mission, or the stamp of its change and its id.
const (
	cursorNewest  = "c "
	cursorChanges = "u "
)

// newCursor encodes where a page ended. It is opaque: clients must not build
// cursors.
func newCursor(changes bool, last *store.Mission) string {
	place := cursorNewest + last.ID
	if changes {
		place = fmt.Sprintf("%s%d %s", cursorChanges, last.ChangedAt, last.ID)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(place))
}

// applyCursor continues a query where the previous page ended. A cursor is untrusted: it must have the
// canonical form that newCursor writes, and for changes must not lie before the time that the
// request names.
func applyCursor(cursor string, q *store.MissionQuery) error {
	if cursor == "" {
		return nil
	}
	place, err := base64.RawURLEncoding.DecodeString(cursor)
	// Each error below is reported in the same way: a cursor is opaque, so which part of it is
	// wrong is of no use to the client.
	ok := err == nil
	kind := cursorNewest
	if q.Changes {
		kind = cursorChanges
	}
	rest, isKind := strings.CutPrefix(string(place), kind)
	id, stamp := rest, q.Since
	if q.Changes {
		_, err = fmt.Sscanf(rest, "%d %s", &stamp, &id)
		ok = ok && err == nil && rest == fmt.Sprintf("%d %s", stamp, id) && stamp >= q.Since
	}
	if !ok || !isKind || !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor,
			"take the cursor from nextCursor of the page before, and leave the other parameters as they were")
	}
	if q.Changes {
		q.Since, q.SinceID = stamp, id
	} else {
		q.Until = min(cmp.Or(q.Until, id), id)
	}
	return nil
}
