package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/dump"
	"github.com/fieldmark/fieldmark/origin/export"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/publiclog"
	"github.com/fieldmark/fieldmark/origin/snapshot"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/visibility"
)

// ndjsonType is the media type of lines of JSON.
const ndjsonType = "application/x-ndjson"

// exportParams are the query parameters of an export: those of the list that filter, and its own.
// An export has no pages and one order, so what belongs to a page or to another order is left out.
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
	// NDJSON by default: it keeps types and nesting, and a client can parse it line by line.
	format, mediaType := mission.FormatNDJSON, ndjsonType
	if strings.EqualFold(c.params.text("format"), mission.FormatCSV) {
		format, mediaType = mission.FormatCSV, csvType+"; charset=utf-8; header=present"
	}
	// Unknown names are an error of NewEncoder, before the first byte is sent.
	var fields []string
	if text := c.params.text("fields"); text != "" {
		fields = strings.Split(text, ",")
	}
	encode, err := mission.NewEncoder(format, fields)
	if err != nil {
		return err
	}
	// The limit of exports at a time is by key, because each reads the database for seconds.
	return a.missions.Export(c.r.Context(), c.key.ID, c.account(), f, encode,
		export.Send(c.w, mediaType, "missions."+format))
}

// bulkAPI serves the scores of all brands, and what edges need to rank them.
// Its reads are public or of nodes; each streams or has a page limit, so none holds all brands in memory.
type bulkAPI struct {
	standings *standing.Service
	dumps     *dump.Service
	studies   *visibility.Service
	snapshots *snapshot.Service
	log       *publiclog.Log
}

// routes are the bulk reads that the origin serves. They need no key.
func (a *bulkAPI) routes() []*route {
	return []*route{
		{"GET", fieldmark.PathScores, anyone, handleRaw[none, fieldmark.ScoreChanges](a.changes), operation{
			id: "listScoreChanges",
			summary: "Follow all scores; each brand once at its newest, in the order of the events that changed " +
				"them, and the brands that are gone",
			query:   changesParams,
			timeout: fieldmark.MaxScoreWait*time.Second + handlerTimeout}},
		{"GET", fieldmark.PathDumps, anyone, handleRaw[none, fieldmark.List[fieldmark.Dump]](a.listDumps), operation{
			id: "listDumps", summary: "List the daily files with the scores of all brands, the newest first"}},
		// Ranges (206) resume a download that was cut.
		{"GET", fieldmark.PathDumps + "/{file}", anyone, handleRaw[none, none](a.dump), operation{
			id: "getDump", status: []int{200, 206, 304}, produces: []string{dumpType}, timeout: dumpTimeout,
			summary: "Download a file of a dump, or a range of it; file is its SHA-256 in hexadecimal, and " +
				".ndjson.zst or .csv.zst"}},
		{"GET", fieldmark.PathStudies + "{digest}", anyone, handleRaw[none, fieldmark.StudyDocuments](a.study),
			operation{id: "getStudy", timeout: bulkTimeout,
				summary: "Get the rows of a study of answers: the documents of its engines, as they are imported"}},
		{"GET", fieldmark.PathValidity, anyone, handle(a.studies.Validity), operation{id: "getValidity",
			summary: "Get how scores relate to how often answer engines name and cite brands, by signal"}},
		// For edges, which cache the answer until an event of the study purges it.
		{"GET", fieldmark.PathInternalStudies + "{niche}", node, handleParam(nicheParam, a.newestStudy), operation{
			hidden: true, query: []param{{name: "locale", description: "BCP 47; any if omitted"}}}},
		{"GET", fieldmark.PathInternalSnapshots, node, handle(a.snapshots.List), operation{hidden: true}},
		{"GET", fieldmark.PathInternalSnapshots + "/{sha256}", node, handleRaw[none, none](a.snapshot), operation{
			hidden: true, status: []int{200, 206}, produces: []string{dumpType}, timeout: dumpTimeout}},
		{"GET", fieldmark.PathInternalLog, node, handleList(a.log.List),
			operation{hidden: true}},
		{"GET", fieldmark.PathInternalLog + "/{number}/{path...}", node, handleRaw[none, none](a.publicLogFile),
			operation{hidden: true}},
		{"GET", fieldmark.PathInternalLog + "/proof", node, handleCall[none](a.scoreProof),
			operation{hidden: true, query: []param{{name: "brand", description: "Slug"},
				{name: "facts", description: "Digest of its facts"},
				{name: "module", description: "Digest of its module"}}}},
		{"POST", fieldmark.PathAdminAPI + "log/key", key(fieldmark.ScopeAdmin), handle(a.log.Rotate), operation{
			id:      "rotatePublicLogKey",
			summary: "Sign the public log of scores with a new key; the one before signs too for 30 days"}},
	}
}

// logOperations are those of the public log, which edges serve.
// They have no handler: the document lists them, and edges answer them from what they read at PathInternalLog.
func logOperations() []*route {
	read := []int{http.StatusOK, http.StatusNotModified}
	return []*route{
		{"GET", fieldmark.PathLog, anyone, handleRaw[none, fieldmark.List[fieldmark.PublicLog]](nil), operation{
			id: "listPublicLogs", status: read,
			summary: "List the public logs of scores and their keys; the newest first"}},
		{"GET", fieldmark.PathLog + "/{number}/" + fieldmark.LogCheckpoint, anyone, handleRaw[none, none](nil),
			operation{id: "getPublicLogCheckpoint", status: read, produces: []string{"text/plain"},
				summary: "Get the signed checkpoint of a public log; its tiles are beside it (C2SP tlog-tiles)"}},
	}
}

// publicLogFile sends a checkpoint, a tile or an entry bundle of a public log to an edge.
func (a *bulkAPI) publicLogFile(c *call) error {
	// A malformed number is not found, as any other file that does not exist.
	number, err := strconv.ParseInt(c.r.PathValue("number"), 10, 64)
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such public log")
	}
	path, mediaType := c.r.PathValue("path"), "application/octet-stream"
	var body []byte
	if path == fieldmark.LogCheckpoint {
		mediaType = "text/plain; charset=utf-8"
		body, err = a.log.Checkpoint(c.r.Context(), number)
	} else {
		body, err = a.log.Tile(c.r.Context(), number, path)
	}
	if err != nil {
		return err
	}
	return c.sendBytes(http.StatusOK, mediaType, body)
}

// scoreProof returns the proof of a score to an edge.
func (a *bulkAPI) scoreProof(c *call) (proof fieldmark.ScoreProof, err error) {
	slug, err := fieldmark.ParseSlug(c.params.text("brand"))
	if err != nil {
		return proof, err
	}
	// The edge states what it scored: a proof of other facts would not fit its response.
	facts, err := fieldmark.ParseDigest(c.params.text("facts"))
	if err != nil {
		return proof, err
	}
	module, err := fieldmark.ParseDigest(c.params.text("module"))
	if err != nil {
		return proof, err
	}
	return a.log.Proof(c.r.Context(), slug, facts, module)
}

// study sends the documents of a study. They never change under a digest.
func (a *bulkAPI) study(c *call) error {
	digest, err := fieldmark.ParseDigest(c.r.PathValue("digest"))
	if err != nil {
		// A malformed digest names no study either.
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no study has this digest")
	}
	found, err := a.studies.Documents(c.r.Context(), digest)
	if err != nil {
		return err
	}
	h := c.w.Header()
	// Pages of any origin may read it: it is public, and the request has no credentials.
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", dumpControl)
	return c.send(http.StatusOK, found)
}

// nicheQuery is a niche in a path, and the locale of a study.
type nicheQuery struct{ niche, locale string }

func nicheParam(c *call) (nicheQuery, error) {
	return nicheQuery{c.r.PathValue("niche"), c.params.text("locale")}, nil
}

// newestStudy returns the newest study of a niche that can be ranked.
func (a *bulkAPI) newestStudy(ctx context.Context, q nicheQuery) (fieldmark.StudyResult, error) {
	return a.studies.Newest(ctx, q.niche, q.locale)
}

const (
	// dumpType is the registered media type of Zstandard (RFC 8878, section 7.2).
	dumpType = "application/zstd"
	// dumpTimeout limits a download: a million brands have up to 150 MB, at 50 kB a second.
	dumpTimeout = 50 * time.Minute
	// dumpsControl is short, so that a dump that was withdrawn leaves the list.
	dumpsControl = "public, max-age=60"
	// dumpControl is for clients: a file never changes under its digest.
	dumpControl = "public, max-age=31536000, immutable"
)

// listDumps sends the list of dumps.
func (a *bulkAPI) listDumps(c *call) error {
	all, err := a.dumps.List(c.r.Context())
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", dumpsControl)
	return c.send(http.StatusOK, list(all))
}

// dump sends a file of a dump. Shared caches do not store it (RFC 9213): each request must find out
// whether the dump was withdrawn.
func (a *bulkAPI) dump(c *call) error {
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	file, err := a.dumps.Open(c.r.Context(), c.r.PathValue("file"))
	if err != nil {
		return err
	}
	defer file.Close()
	// The timeout of the route bounds the handler; this one bounds a client that reads slowly.
	defer c.limitWrites(dumpTimeout)()
	h.Set("Content-Type", dumpType)
	h.Set("Cache-Control", dumpControl)
	// A client that has the file may keep it; a CDN that has it would go on serving a withdrawn one.
	h.Set("CDN-Cache-Control", "no-store")
	h.Set("ETag", `"`+file.SHA256+`"`)
	// It answers conditions and ranges (RFC 9110, sections 13 and 14) by the ETag.
	http.ServeContent(c.w, c.r, "", time.Time{}, file)
	return nil
}

// snapshot sends a ranking file to an edge. Its digest is in the address, so a range is of the same file.
func (a *bulkAPI) snapshot(c *call) error {
	sum := c.r.PathValue("sha256")
	file, err := a.snapshots.Open(c.r.Context(), sum)
	if err != nil {
		return err
	}
	defer file.Close()
	defer c.limitWrites(dumpTimeout)()
	h := c.w.Header()
	h.Set("Content-Type", dumpType)
	h.Set("ETag", `"`+sum+`"`)
	http.ServeContent(c.w, c.r, "", time.Time{}, file)
	return nil
}

// changesParams are the query parameters of changes.
var changesParams = []param{
	{name: "since", description: "next of the previous page, or event of a batch; 0, the default, is the beginning"},
	{name: "limit", description: "Brands per page", lowest: 1, highest: fieldmark.MaxScoreChanges,
		preset: fieldmark.MaxScoreChanges},
	{name: "wait", description: "How long to wait for a change, such as 20s; the default is not to wait"},
}

// changesControl lets an edge answer all followers at one place with one request a second.
const changesControl = "public, max-age=1"

// changes sends a page of changes.
func (a *bulkAPI) changes(c *call) error {
	wait, err := c.params.duration("wait", fieldmark.MaxScoreWait*time.Second)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	page, err := a.standings.Changes(c.r.Context(), cmp.Or(c.params.text("since"), "0"), c.params.number("limit"), wait)
	if err != nil {
		return err
	}
	h.Set("Cache-Control", changesControl)
	return c.send(http.StatusOK, page)
}
