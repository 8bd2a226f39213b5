package admin

import (
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// missionLine is a mission with whether it can be completed from where it stands.
type missionLine struct {
	fieldmark.Mission
	CanComplete bool
}

// missionsData is one page of missions.
type missionsData struct {
	Missions []missionLine
	Statuses []choice
	Next     string // the address of the next page
}

// shownStatuses are what the list can be narrowed to.
var shownStatuses = append(openStatuses[:len(openStatuses):len(openStatuses)],
	fieldmark.MissionCompleted, fieldmark.MissionUnableToComplete, fieldmark.MissionClosed, fieldmark.MissionCanceled)

func (a *area) missions(v *visit) error {
	asked := v.r.URL.Query()
	f := fieldmark.MissionFilter{Cursor: asked.Get("cursor"), Limit: fieldmark.DefaultMissionLimit}
	if text := asked.Get("status"); text != "" {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return err
		}
		f.Status = []fieldmark.MissionStatus{status}
	}
	list, err := a.origin.Missions(v.r.Context(), "", f)
	if err != nil {
		return err
	}
	var d missionsData
	for _, m := range list.Data {
		d.Missions = append(d.Missions, missionLine{Mission: m, CanComplete: fieldmark.PathToCompleted(m.Status) != nil})
	}
	for _, s := range shownStatuses {
		d.Statuses = append(d.Statuses, choice{Value: string(s), Label: lower(s), Chosen: len(f.Status) > 0 && f.Status[0] == s})
	}
	if list.HasMore {
		next := url.Values{"cursor": {list.NextCursor}}
		if len(f.Status) > 0 {
			next.Set("status", string(f.Status[0]))
		}
		d.Next = missions + "?" + next.Encode()
	}
	return a.show(v, http.StatusOK, "missions", page{Title: "Missions", Data: d})
}

func (a *area) completeMission(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := a.origin.CompleteMission(v.r.Context(), id); err != nil {
		return err
	}
	a.did(v, "complete mission", id)
	return v.done(missions, "completed")
}
