package client

import (
	"context"
	"io"
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

// AddNote adds a note to a mission of the key's account, and reports whether it is new. Repeating it with an
// externalId returns the same note.
func (c MissionAPI) AddNote(
	ctx context.Context, mission string, r fieldmark.NoteRequest,
) (n fieldmark.Note, created bool, err error) {
	header, err := c.do(ctx, c.public(http.MethodPost, "/"+url.PathEscape(mission)+"/notes", r), &n)
	return n, err == nil && header.Get(fieldmark.HeaderDeduplicated) == "", err
}

// Notes returns a page of the notes of a mission of the key's account, the oldest first.
func (c MissionAPI) Notes(ctx context.Context, mission, cursor string) (list fieldmark.List[fieldmark.Note],
	err error) {
	query := url.Values{}
	setParam(query, "cursor", cursor)
	_, err = c.do(ctx, c.public(http.MethodGet, "/"+url.PathEscape(mission)+"/notes?"+query.Encode(), nil), &list)
	return list, err
}

// ExportMissions writes the missions of the key's account that match a filter to w as they arrive, in the order
// of their changes. Format is ndjson or csv; fields are separated by commas, "" means all. After an error, the
// export can be resumed with UpdatedSince set to the updatedAt of the last line.
func (c MissionAPI) ExportMissions(
	ctx context.Context, w io.Writer, format, fields string, f fieldmark.MissionFilter,
) error {
	query := f.Query()
	setParam(query, "format", format)
	setParam(query, "fields", fields)
	r := c.public(http.MethodGet, "/export?"+query.Encode(), nil)
	r.timeout = bulkTimeout
	return c.read(ctx, r, func(resp *http.Response) error {
		_, err := io.Copy(w, resp.Body)
		return err
	})
}

func (c MissionAPI) public(method, path string, body any) call {
	return call{method: method, path: fieldmark.PathMissions + path, token: c.key, body: body}
}
