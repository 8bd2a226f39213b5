package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// missionLine is a mission with whether it can be completed from where it stands.
type missionLine struct {
	fieldmark.Mission
	CanComplete bool
}

// missionsData is one page of missions and how it was narrowed.
type missionsData struct {
	Missions   []missionLine
	Statuses   []choice
	Priorities []choice
	Source     string
	Account    string
	Next       string // the address of the next page
}

func (a *area) missions(v *visit) error {
	asked := v.r.URL.Query()
	f, account, err := missionFilter(asked)
	if err != nil {
		return err
	}
	list, err := a.origin.Missions(v.r.Context(), account, f)
	if err != nil {
		return err
	}
	d := missionsData{Source: f.Source, Account: account}
	for _, m := range list.Data {
		d.Missions = append(d.Missions, missionLine{Mission: m, CanComplete: v.may() && fieldmark.PathToCompleted(m.Status) != nil})
	}
	for _, s := range fieldmark.MissionStatuses() {
		d.Statuses = append(d.Statuses, choice{Value: string(s), Label: lower(s), Chosen: len(f.Status) > 0 && f.Status[0] == s})
	}
	for _, p := range fieldmark.Priorities() {
		d.Priorities = append(d.Priorities, choice{Value: string(p), Label: lower(p), Chosen: f.Priority == p})
	}
	if list.HasMore {
		next := url.Values{"cursor": {list.NextCursor}}
		for _, name := range []string{"status", "priority", "source", "account"} {
			if value := asked.Get(name); value != "" {
				next.Set(name, value)
			}
		}
		d.Next = missions + "?" + next.Encode()
	}
	return a.show(v, http.StatusOK, "missions", page{Title: "Missions", Data: d})
}

// missionFilter reads what the list is narrowed to. Priority and source narrow
// the missions of one account: the default one, if none is named.
func missionFilter(asked url.Values) (f fieldmark.MissionFilter, account string, err error) {
	f = fieldmark.MissionFilter{Cursor: asked.Get("cursor"), Limit: fieldmark.DefaultMissionLimit, Source: strings.TrimSpace(asked.Get("source"))}
	if text := asked.Get("status"); text != "" {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return f, "", err
		}
		f.Status = []fieldmark.MissionStatus{status}
	}
	if text := asked.Get("priority"); text != "" {
		priority, ok := fieldmark.ParsePriority(text)
		if !ok {
			return f, "", fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown priority")
		}
		f.Priority = priority
	}
	account = strings.TrimSpace(asked.Get("account"))
	if f.Priority != "" || f.Source != "" {
		account = cmp.Or(account, origin.DefaultAccount)
	}
	return f, account, nil
}

func (a *area) completeMission(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := a.origin.CompleteMission(v.r.Context(), id); err != nil {
		return err
	}
	a.did(v, "complete mission", id)
	return v.done(missions, "completed")
}
