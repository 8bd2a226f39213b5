package api

import (
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark/origin/export"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// ndjsonType is the media type of lines of JSON.
const ndjsonType = "application/x-ndjson"

// exportParams are the query parameters of an export: those of the list that filter, and its own.
var exportParams = append([]param{
	{name: "format", description: "ndjson (default): one JSON object a line; or csv, with a header line",
		enum: []string{mission.FormatNDJSON, mission.FormatCSV}},
	{name: "fields", description: "Names of members, or of columns of CSV, separated by commas; all if omitted"},
}, slices.DeleteFunc(slices.Clone(missionFilters), func(p param) bool {
	return slices.Contains([]string{"externalId", "createdSince", "createdUntil", "limit", "cursor"},
		p.name)
})...)

// export streams the missions of the account in the order of their changes, up to the changes
// before the request. A client resumes with the updatedAt of the last line that it has; the lines
// of that millisecond come again. After the first bytes an error can only abort the connection.
func (a *missionAPI) export(c *call) error {
	f, err := c.missionFilter()
	if err != nil {
		return err
	}
	format, mediaType := mission.FormatNDJSON, ndjsonType
	if strings.EqualFold(c.params.text("format"), mission.FormatCSV) {
		format, mediaType = mission.FormatCSV, csvType+"; charset=utf-8; header=present"
	}
	var fields []string
	if text := c.params.text("fields"); text != "" {
		fields = strings.Split(text, ",")
	}
	encode, err := mission.NewEncoder(format, fields)
	if err != nil {
		return err
	}
	return a.missions.Export(c.r.Context(), c.key.ID, c.account(), f, encode,
		export.Send(c.w, mediaType, "missions."+format))
}
