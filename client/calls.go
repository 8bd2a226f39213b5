package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// The calls of integrators: missions, webhooks and events.

// Open creates a mission. Source and ExternalID identify it: opening it again returns the existing one.
func (c *Client) Open(ctx context.Context, r fieldmark.MissionRequest, w *Write) (m fieldmark.Mission, err error) {
	if r.Source == "" || r.ExternalID == "" { // without a natural key, repetitions need another one
		return m, c.Do(ctx, http.MethodPost, fieldmark.PathMissions, r, &m, w)
	}
	q := request{method: http.MethodPost, path: fieldmark.PathMissions}
	if w != nil {
		q.setWrite(w)
		q.idempotencyKey = w.IdempotencyKey
	}
	return m, c.do(ctx, q, r, &m)
}

// Get returns a mission.
func (c *Client) Get(ctx context.Context, id string) (m fieldmark.Mission, err error) {
	return m, c.Do(ctx, http.MethodGet, missionPath(id, ""), nil, &m, nil)
}

// Find yields the missions that match a filter, page by page. Filter.Cursor is where it begins.
func (c *Client) Find(ctx context.Context, f fieldmark.MissionFilter) iter.Seq2[fieldmark.Mission, error] {
	return pages[fieldmark.Mission](ctx, c, fieldmark.PathMissions, f.Query())
}

// Edit applies a merge patch (RFC 7396) to a mission: a null member of patch removes that of the mission.
func (c *Client) Edit(ctx context.Context, id string, patch any, w *Write) (m fieldmark.Mission, err error) {
	return m, c.Do(ctx, http.MethodPatch, missionPath(id, ""), patch, &m, w)
}

// Move is a change of the status of a mission.
type Move struct {
	Status    fieldmark.MissionStatus `json:"status"`
	Reason    *fieldmark.Reason       `json:"reason,omitempty"`
	Scheduled *fieldmark.Span         `json:"scheduled,omitempty"` // nil: unchanged
	Assignee  *fieldmark.Assignee     `json:"assignee,omitempty"`  // nil: unchanged
}

// Move changes the status of a mission.
func (c *Client) Move(ctx context.Context, id string, move Move, w *Write) (m fieldmark.Mission, err error) {
	return m, c.Do(ctx, http.MethodPost, missionPath(id, "/transitions"), move, &m, w)
}

// Cancel cancels a mission; reason may be nil. Repeating it has no further effect.
func (c *Client) Cancel(
	ctx context.Context, id string, reason *fieldmark.Reason, w *Write,
) (m fieldmark.Mission, err error) {
	body := struct {
		Reason *fieldmark.Reason `json:"reason,omitempty"`
	}{reason}
	return m, c.Do(ctx, http.MethodPost, missionPath(id, "/cancel"), body, &m, w)
}

// Batch creates up to fieldmark.MaxBatch missions, and returns a result for each in the same order.
func (c *Client) Batch(
	ctx context.Context, missions []fieldmark.MissionRequest, w *Write,
) ([]fieldmark.BatchResult, error) {
	body := struct {
		Missions []fieldmark.MissionRequest `json:"missions"`
	}{missions}
	var report fieldmark.BatchReport
	err := c.Do(ctx, http.MethodPost, fieldmark.PathMissionBatch, body, &report, w)
	return report.Results, err
}

// Endpoints returns the webhook endpoints of the account.
func (c *Client) Endpoints(ctx context.Context) ([]fieldmark.Endpoint, error) {
	var list fieldmark.List[fieldmark.Endpoint]
	err := c.Do(ctx, http.MethodGet, fieldmark.PathWebhooks, nil, &list, nil)
	return list.Data, err
}

// Deliveries yields the deliveries to an endpoint, the newest first, page by page. State "" means any.
func (c *Client) Deliveries(
	ctx context.Context, endpoint string, state fieldmark.DeliveryState,
) iter.Seq2[fieldmark.Delivery, error] {
	query := url.Values{}
	set(query, "state", string(state))
	return pages[fieldmark.Delivery](ctx, c, endpointPath(endpoint, "/deliveries"), query)
}

// Replay sends messages to an endpoint again.
func (c *Client) Replay(
	ctx context.Context, endpoint string, r fieldmark.ReplayRequest,
) (replay fieldmark.Replay, err error) {
	return replay, c.Do(ctx, http.MethodPost, endpointPath(endpoint, "/replays"), r, &replay, nil)
}

// EventFilter selects events. Its zero value selects all.
type EventFilter struct {
	Types    []string // event types, or groups such as mission.*; none: all
	Endpoint string   // only what this webhook endpoint selects by its types and its filter; empty: all
}

// Poll yields the events of the account after a number, to the end of the log. Continue later after the
// number of the last event.
func (c *Client) Poll(ctx context.Context, after int64, f EventFilter) iter.Seq2[fieldmark.PolledEvent, error] {
	return func(yield func(fieldmark.PolledEvent, error) bool) {
		for {
			query := url.Values{"after": {strconv.FormatInt(after, 10)}, "type": f.Types}
			set(query, "endpoint", f.Endpoint)
			var page fieldmark.PolledEvents
			if err := c.Do(ctx, http.MethodGet, fieldmark.PathPublicEvents+"?"+query.Encode(), nil, &page,
				nil); err != nil {
				yield(fieldmark.PolledEvent{}, err)
				return
			}
			for _, e := range page.Data {
				if !yield(e, nil) {
					return
				}
			}
			if !page.HasMore || page.Next <= after {
				return
			}
			after = page.Next
		}
	}
}

// Score returns the score of a brand. It needs no key.
func (c *Client) Score(ctx context.Context, slug fieldmark.Slug) (s fieldmark.Score, err error) {
	return s, c.Do(ctx, http.MethodGet, fieldmark.PathScore+url.PathEscape(string(slug)), nil, &s, nil)
}

// pages yields the objects of a list. It ends at a cursor that the server repeats.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			var list fieldmark.List[T]
			if err := c.Do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &list, nil); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range list.Data {
				if !yield(one, nil) {
					return
				}
			}
			if !list.HasMore || list.NextCursor == "" || list.NextCursor == query.Get("cursor") {
				return
			}
			query.Set("cursor", list.NextCursor)
		}
	}
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func missionPath(id, rest string) string {
	return fieldmark.PathMissions + "/" + url.PathEscape(id) + rest
}

func endpointPath(id, rest string) string {
	return fieldmark.PathWebhooks + "/" + url.PathEscape(id) + rest
}
