package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/web"
)

// maxCount bounds the rows that the overview reads to count them; it shows a larger number as "or more".
const maxCount = 10_000

// openStatuses are those of missions that are not finished.
var openStatuses = []fieldmark.MissionStatus{
	fieldmark.MissionNew, fieldmark.MissionScheduled, fieldmark.MissionDispatched,
	fieldmark.MissionEnRoute, fieldmark.MissionInProgress, fieldmark.MissionOnHold,
}

// overviewHandler serves the first page. It counts the objects of every service of the origin.
type overviewHandler struct {
	*console
	origin *origin.Service
}

// overviewData is the overview page.
type overviewData struct {
	Problems        []problem
	Brands          string
	OpenMissions    string
	Keys, Endpoints int
	Stats           origin.Stats
	Activity        origin.Activity
	Module          *fieldmark.ModuleRef
	Waiting         brand.Waiting
	Suspected       []fieldmark.Slug // brands with unconfirmed suspicions
}

// problem is something that needs attention, with a link to the page about it.
type problem struct{ Text, Link string }

// maxDispatchDelay is the delay of a due delivery that the overview reports as a problem. Normal dispatch takes
// seconds.
const maxDispatchDelay = time.Minute

// maxSuspected bounds the brands that the overview names for suspected manipulation.
const maxSuspected = 5

// findProblems adds everything that needs attention.
func (d *overviewData) findProblems() {
	add := func(n int, one, many, link string) {
		switch {
		case n == 1:
			d.Problems = append(d.Problems, problem{"1 " + one, link})
		case n > 1:
			d.Problems = append(d.Problems, problem{strconv.Itoa(n) + " " + many, link})
		}
	}
	failing := max(d.Stats.Failing, d.Stats.CircuitOpen)
	add(failing, "webhook endpoint is failing", "webhook endpoints are failing", webhooksPath)
	add(d.Stats.Stopped, "webhook endpoint is paused or disabled", "webhook endpoints are paused or disabled",
		webhooksPath)
	add(d.Stats.Held, "message is held until its endpoint recovers", "messages are held until their endpoints recover",
		webhooksPath)
	add(d.Activity.Failed, "delivery failed in the last 24 hours", "deliveries failed in the last 24 hours",
		webhooksPath)
	if d.Stats.Oldest > maxDispatchDelay {
		delay := d.Stats.Oldest.Round(time.Second)
		text := fmt.Sprintf("The oldest pending delivery is late by %s", delay)
		d.Problems = append(d.Problems, problem{text, webhooksPath})
	}
	add(d.Waiting.Disputes, "dispute of a finding needs a decision", "disputes of findings need a decision",
		disputesPath)
	add(d.Waiting.Requests, "request of a brand owner needs a decision", "requests of brand owners need a decision",
		requestsPath)
	add(d.Waiting.Contests, "brand is contested by a second claim", "brands are contested by a second claim",
		claimsPath+"?state="+string(fieldmark.ClaimContested))
	for _, slug := range d.Suspected[:min(len(d.Suspected), maxSuspected)] {
		d.Problems = append(d.Problems, problem{fmt.Sprintf("Suspected manipulation on the site of %s; the score "+
			"is not affected until a second audit finds it again", slug), brandsPath + "/" + string(slug)})
	}
	add(len(d.Suspected)-maxSuspected, "more brand is suspected of manipulation",
		"more brands are suspected of manipulation", brandsPath)
	add(d.Activity.Breached, "open mission has breached its SLA", "open missions have breached their SLA", missionsPath)
	if d.Module == nil {
		d.Problems = append(d.Problems, problem{"No scoring module is active", modulesPath})
	}
}

// serve shows problems, counts and the active module.
func (h *overviewHandler) serve(req *request) error {
	ctx := req.r.Context()
	var d overviewData
	var err error
	if d.Brands, err = h.countBrands(req); err != nil {
		return err
	}
	if d.OpenMissions, err = h.countOpen(req); err != nil {
		return err
	}
	keys, err := h.origin.Access.Keys.List(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.RevokedAt == nil {
			d.Keys++
		}
	}
	endpoints, err := h.origin.Webhooks.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	d.Endpoints = len(endpoints)
	if d.Stats, err = h.origin.Stats(ctx); err != nil {
		return err
	}
	if d.Activity, err = h.origin.Activity(ctx); err != nil {
		return err
	}
	if ref, err := h.origin.Modules.Active(ctx); err == nil {
		d.Module = &ref
	} else if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	if d.Suspected, err = h.origin.Brands.Suspected(ctx); err != nil {
		return err
	}
	if d.Waiting, err = h.brands.Waiting(ctx); err != nil {
		return err
	}
	d.findProblems()
	return h.show(req, http.StatusOK, "overview", web.Page{Title: "Overview", Data: d})
}

func (h *overviewHandler) countBrands(req *request) (string, error) {
	n := 0
	for after := fieldmark.Slug(""); n < maxCount; {
		some, err := h.origin.Brands.List(req.r.Context(), after, brand.MaxPage)
		if err != nil {
			return "", err
		}
		n += len(some)
		if len(some) < brand.MaxPage {
			return strconv.Itoa(n), nil
		}
		after = some[len(some)-1].Slug
	}
	return strconv.Itoa(n) + " or more", nil
}

func (h *overviewHandler) countOpen(req *request) (string, error) {
	f := fieldmark.MissionFilter{Status: openStatuses, Limit: fieldmark.MaxMissionLimit}
	list, err := h.origin.Missions.List(req.r.Context(), "", f)
	if err != nil {
		return "", err
	}
	n := strconv.Itoa(len(list.Data))
	if list.HasMore {
		n += " or more"
	}
	return n, nil
}
