package admin

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// maxCounted bounds what the overview counts by reading it; beyond it says so.
const maxCounted = 10_000

// openStatuses are those of missions that still want something done.
var openStatuses = []fieldmark.MissionStatus{
	fieldmark.MissionNew, fieldmark.MissionScheduled, fieldmark.MissionDispatched,
	fieldmark.MissionEnRoute, fieldmark.MissionInProgress, fieldmark.MissionOnHold,
}

// overviewData is the state of the house at a glance.
type overviewData struct {
	Healthy         bool
	Brands          string
	OpenMissions    string
	Keys, Endpoints int
	Waiting         int // audits
	Running         int
	Due, Failed     int // of the newest deliveries
	Deliveries      int
	Head            int64 // of the event log
	Module          *fieldmark.ModuleRef
}

// overview shows counts, health and what waits.
func (a *area) overview(v *visit) error {
	ctx := v.r.Context()
	d := overviewData{Healthy: a.origin.Health(ctx) == nil}
	var err error
	if d.Brands, err = a.countBrands(v); err != nil {
		return err
	}
	if d.OpenMissions, err = a.countOpen(v); err != nil {
		return err
	}
	keys, err := a.origin.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.RevokedAt == nil {
			d.Keys++
		}
	}
	endpoints, err := a.origin.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	d.Endpoints = len(endpoints)
	deliveries, err := a.origin.Deliveries(ctx, origin.DeliveryPage{Limit: newestDeliveries})
	if err != nil {
		return err
	}
	d.Deliveries = len(deliveries.Data)
	for _, one := range deliveries.Data {
		switch one.State {
		case fieldmark.DeliveryDue:
			d.Due++
		case fieldmark.DeliveryFailed:
			d.Failed++
		}
	}
	if d.Waiting, d.Running, err = a.origin.AuditStatus(ctx); err != nil {
		return err
	}
	if d.Head, err = a.origin.Head(ctx); err != nil {
		return err
	}
	if ref, err := a.origin.ActiveModule(ctx); err == nil {
		d.Module = &ref
	} else if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	return a.show(v, http.StatusOK, "overview", page{Title: "Overview", Data: d})
}

func (a *area) countBrands(v *visit) (string, error) {
	n := 0
	for after := fieldmark.Slug(""); n < maxCounted; {
		some, err := a.origin.Brands(v.r.Context(), after, origin.MaxBrands)
		if err != nil {
			return "", err
		}
		n += len(some)
		if len(some) < origin.MaxBrands {
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
