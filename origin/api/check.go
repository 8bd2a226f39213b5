package api

import (
	"cmp"
	"net/http"
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/dump"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/standing"
)

// checkAPI accepts checks of sites from anyone, and sends what they found.
// Requests are counted by the network of the client, which an edge reports.
type checkAPI struct {
	*server
	checks *sitecheck.Service
}

// routes are the checks of sites. They need no key.
func (a *checkAPI) routes() []*route {
	const path = fieldmark.PathChecks
	return []*route{
		{"POST", path, anyone, handleRaw[fieldmark.SiteCheckRequest, fieldmark.SiteCheck](a.create), operation{
			id: "requestCheck", status: []int{202, 200}, bodyLimit: fieldmark.MaxCheckBody,
			summary: "Check a site; it need not be registered, and a recent check of the same URL is returned " +
				"again"}},
		{"GET", path + "/{id}", anyone, handleRaw[none, fieldmark.SiteCheck](a.get), operation{
			// The timeout of a request that waits is longer by its wait.
			id: "getCheck", summary: "Get a check of a site; with its report once it is done", query: checkParams,
			timeout: fieldmark.MaxCheckWait*time.Second + handlerTimeout}},
	}
}

// checkParams are the query parameters of a check.
var checkParams = []param{
	{name: "wait", description: "How long to wait for the check to end, such as 20s; the default is not to wait"},
}

// checkRetry is when a client may ask for a new check again, in seconds.
const checkRetry = "2"

// create queues a check.
// 202 is a new check, 200 one that exists.
func (a *checkAPI) create(c *call) error {
	r, err := decodeBody[fieldmark.SiteCheckRequest](c)
	if err != nil {
		return err
	}
	client, _ := netip.ParseAddr(a.clientAddr(c.r)) // an unknown one shares its budget with all of them
	check, existing, err := a.checks.Request(c.r.Context(), client, r)
	if err != nil {
		return err
	}
	a.link(c, &check)
	h := c.w.Header()
	h.Set("Location", fieldmark.PathChecks+"/"+check.ID)
	// A client that repeats a request gets the same check and knows it by this field.
	if existing {
		h.Set(fieldmark.HeaderCheckDeduplicated, "true")
		return c.send(http.StatusOK, check)
	}
	h.Set("Retry-After", checkRetry)
	return c.send(http.StatusAccepted, check)
}

// get sends a check. One that has ended never changes.
// It is not indexed: the id in its address is its only protection.
func (a *checkAPI) get(c *call) error {
	wait, err := c.params.duration("wait", fieldmark.MaxCheckWait*time.Second)
	if err != nil {
		return err
	}
	id, err := idParam(fieldmark.PrefixCheck)(c)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("X-Robots-Tag", "noindex")
	check, err := a.checks.Get(c.r.Context(), id, wait)
	if err != nil {
		return err
	}
	// It is private to the client that knows the id.
	if check.State.Ended() {
		h.Set("Cache-Control", "private, max-age=60")
	}
	a.link(c, &check)
	return c.send(http.StatusOK, check)
}

// link adds the addresses of a check, which depend on the public address of the service.
func (a *checkAPI) link(c *call, check *fieldmark.SiteCheck) {
	check.Links = fieldmark.SiteCheckLinks{Self: c.w.base + fieldmark.PathChecks + "/" + check.ID,
		Page: c.w.base + fieldmark.PathCheckPage + "/" + check.ID}
}

// bulkAPI serves the scores of all brands.
type bulkAPI struct {
	standings *standing.Service
	dumps     *dump.Service
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
		{"GET", fieldmark.PathDumps + "/{file}", anyone, handleRaw[none, none](a.dump), operation{
			id: "getDump", status: []int{200, 206, 304}, produces: []string{dumpType}, timeout: dumpTimeout,
			summary: "Download a file of a dump, or a range of it; file is its SHA-256 in hexadecimal, and " +
				".ndjson.zst or .csv.zst"}},
	}
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
	// Connections without deadlines, such as those of tests, have no limit.
	ctl := http.NewResponseController(c.w)
	_ = ctl.SetWriteDeadline(time.Now().Add(dumpTimeout))
	defer func() { _ = ctl.SetWriteDeadline(time.Time{}) }()
	h.Set("Content-Type", dumpType)
	h.Set("Cache-Control", dumpControl)
	h.Set("CDN-Cache-Control", "no-store")
	h.Set("ETag", `"`+file.SHA256+`"`)
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
