package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/brand"
)

// maxCounted bounds what the overview counts by reading it; beyond it says so.
const maxCounted = 10_000

// openStatuses are those of missions that still want something done.
var openStatuses = []fieldmark.MissionStatus{
	fieldmark.MissionNew, fieldmark.MissionScheduled, fieldmark.MissionDispatched,
	fieldmark.MissionEnRoute, fieldmark.MissionInProgress, fieldmark.MissionOnHold,
}

// overviewData is the state of the origin on one page.
type overviewData struct {
	Problems        []problem
	Brands          string
	OpenMissions    string
	Keys, Endpoints int
	Vitals          origin.Vitals
	Activity        origin.Activity
	Module          *fieldmark.ModuleRef
}

// problem is something that needs attention and the page to act on it.
type problem struct{ Text, Link string }

// latePending is how long a due delivery may wait for a worker before the overview
// calls it a problem: dispatch takes seconds when it works.
const latePending = time.Minute

// problemsOf lists what needs attention; no entry means healthy.
func (d *overviewData) problemsOf() {
	add := func(n int, one, many, link string) {
		switch {
		case n == 1:
			d.Problems = append(d.Problems, problem{"1 " + one, link})
		case n > 1:
			d.Problems = append(d.Problems, problem{strconv.Itoa(n) + " " + many, link})
		}
	}
	add(max(d.Vitals.Failing, d.Vitals.Open), "webhook endpoint is failing", "webhook endpoints are failing", hooksPath)
	add(d.Vitals.Stopped, "webhook endpoint is paused or disabled", "webhook endpoints are paused or disabled", hooksPath)
	add(d.Vitals.Held, "message is held until its endpoint recovers", "messages are held until their endpoints recover", hooksPath)
	add(d.Activity.Failed, "delivery failed in the last 24 hours", "deliveries failed in the last 24 hours", hooksPath)
	if d.Vitals.Oldest > latePending {
		d.Problems = append(d.Problems, problem{"Deliveries are late; the oldest has been due for " + d.Vitals.Oldest.Round(time.Second).String(), hooksPath})
	}
	add(d.Activity.Breached, "open mission has breached its SLA", "open missions have breached their SLA", missions)
	if d.Module == nil {
		d.Problems = append(d.Problems, problem{"No scoring module is active", modulesPath})
	}
}

// overview shows problems, counts and the active module.
func (a *area) overview(v *visit) error {
	ctx := v.r.Context()
	var d overviewData
	var err error
	if d.Brands, err = a.countBrands(v); err != nil {
		return err
	}
	if d.OpenMissions, err = a.countOpen(v); err != nil {
		return err
	}
	keys, err := a.origin.Access.Keys.List(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.RevokedAt == nil {
			d.Keys++
		}
	}
	endpoints, err := a.origin.Webhooks.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	d.Endpoints = len(endpoints)
	if d.Vitals, err = a.origin.Vitals(ctx); err != nil {
		return err
	}
	if d.Activity, err = a.origin.Activity(ctx); err != nil {
		return err
	}
	if ref, err := a.origin.Modules.ActiveModule(ctx); err == nil {
		d.Module = &ref
	} else if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	d.problemsOf()
	return a.show(v, http.StatusOK, "overview", page{Title: "Overview", Data: d})
}

func (a *area) countBrands(v *visit) (string, error) {
	n := 0
	for after := fieldmark.Slug(""); n < maxCounted; {
		some, err := a.origin.Brands.ListBrands(v.r.Context(), after, brand.MaxBrands)
		if err != nil {
			return "", err
		}
		n += len(some)
		if len(some) < brand.MaxBrands {
			return strconv.Itoa(n), nil
		}
		after = some[len(some)-1].Slug
	}
	return strconv.Itoa(n) + " or more", nil
}

func (a *area) countOpen(v *visit) (string, error) {
	f := fieldmark.MissionFilter{Status: openStatuses, Limit: fieldmark.MaxMissionLimit}
	list, err := a.origin.Missions(v.r.Context(), "", f)
	if err != nil {
		return "", err
	}
	n := strconv.Itoa(len(list.Data))
	if list.HasMore {
		n += " or more"
	}
	return n, nil
}
