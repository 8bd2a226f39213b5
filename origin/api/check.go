package api

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
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
