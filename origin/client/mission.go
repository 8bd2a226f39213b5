package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// MissionAPI contains the calls for missions and calendars.
type MissionAPI struct{ *caller }

// CreateMission creates a mission of the key's account, and reports whether it is new. Repeating it returns the
// same mission.
func (c MissionAPI) CreateMission(
	ctx context.Context, r fieldmark.MissionRequest,
) (m fieldmark.Mission, created bool, err error) {
	header, err := c.do(ctx, c.public(http.MethodPost, "", r), &m)
	return m, err == nil && header.Get(fieldmark.HeaderDeduplicated) == "", err
}

// Mission returns a mission of the key's account.
func (c MissionAPI) Mission(ctx context.Context, id string) (m fieldmark.Mission, err error) {
	_, err = c.do(ctx, c.public(http.MethodGet, "/"+url.PathEscape(id), nil), &m)
	return m, err
}

// EditMission applies a merge patch (RFC 7396) to a mission of the key's account.
func (c MissionAPI) EditMission(ctx context.Context, id string, patch json.RawMessage) (m fieldmark.Mission,
	err error) {
	_, err = c.do(ctx, c.public(http.MethodPatch, "/"+url.PathEscape(id), patch), &m)
	return m, err
}

// CancelMission cancels a mission of the key's account; reason may be nil. Repeating it has no further effect.
func (c MissionAPI) CancelMission(
	ctx context.Context, id string, reason *fieldmark.Reason,
) (m fieldmark.Mission, err error) {
	body := struct {
		Reason *fieldmark.Reason `json:"reason,omitempty"`
	}{reason}
	_, err = c.do(ctx, c.public(http.MethodPost, "/"+url.PathEscape(id)+"/cancel", body), &m)
	return m, err
}

func (c MissionAPI) public(method, path string, body any) call {
	return call{method: method, path: fieldmark.PathMissions + path, token: c.key, body: body}
}
