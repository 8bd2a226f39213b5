package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
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
	Accounts   []choice
	Next       string // the address of the next page
	Here       string // the address of this page, to come back to
}

func (a *area) missions(v *visit) error {
	asked := v.r.URL.Query()
	f, err := missionFilter(asked)
	if err != nil {
		return err
	}
	account := strings.TrimSpace(asked.Get("account"))
	d := missionsData{Source: f.Source, Here: v.r.URL.RequestURI()}
	if d.Accounts, err = a.accountFilter(v, account); err != nil {
		return err
	}
	var list fieldmark.List[fieldmark.Mission]
	var bad []complaint
	status := http.StatusOK
	switch narrow := f.Priority != "" || f.Source != ""; {
	case narrow && account == "" && len(d.Accounts) > 1:
		bad, status = []complaint{{"account", "Account: choose one to filter by priority or source."}}, http.StatusUnprocessableEntity
	default:
		if narrow && account == "" { // there is only one
			account = access.DefaultAccount
		}
		if list, err = a.origin.Missions(v.r.Context(), account, f); err != nil {
			return err
		}
	}
	for _, m := range list.Data {
		d.Missions = append(d.Missions, missionLine{Mission: m, CanComplete: v.may() && mission.PathToCompleted(m.Status) != nil})
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
	return a.show(v, status, "missions", page{Title: "Missions", Complaints: bad, Data: d})
}

// accountFilter lists the accounts that a list can be narrowed to.
func (a *area) accountFilter(v *visit, chosen string) ([]choice, error) {
	list, err := a.accountChoices(v, chosen)
	for i := range list {
		list[i].Chosen = list[i].Value == chosen
	}
	return list, err
}

// missionFilter reads what the list is narrowed to. The indexes answer priority
// and source only within an account.
func missionFilter(asked url.Values) (f fieldmark.MissionFilter, err error) {
	f = fieldmark.MissionFilter{Cursor: asked.Get("cursor"), Limit: fieldmark.DefaultMissionLimit, Source: strings.TrimSpace(asked.Get("source"))}
	if text := asked.Get("status"); text != "" {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return f, err
		}
		f.Status = []fieldmark.MissionStatus{status}
	}
	if text := asked.Get("priority"); text != "" {
		priority, ok := fieldmark.ParsePriority(text)
		if !ok {
			return f, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown priority")
		}
		f.Priority = priority
	}
	return f, nil
}

func (a *area) completeMission(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id := v.r.PathValue("id")
	if _, err := a.origin.CompleteMission(v.r.Context(), id); err != nil {
		return err
	}
	a.did(v, "mission.complete", id)
	back := nextPage(v.r.PostForm.Get("back"))
	if back == home {
		back = missions
	}
	return v.done(back, "completed")
}
