package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// missionHandler serves the missions page, the pages of missions, and the forms that plan, move and pay for one.
type missionHandler struct {
	*console
	missions *mission.Service
	accounts *access.Accounts // for the filter of the list
}

// missionRow is a mission on the missions page.
type missionRow struct {
	fieldmark.Mission
	CanComplete bool
}

// missionsData is one page of missions with its filters.
type missionsData struct {
	Missions   []missionRow
	Statuses   []option
	Priorities []option
	Source     string
	Accounts   []option
	Next       string // the address of the next page
	Address    string // the address of this page, to return to
}

func (h *missionHandler) list(req *request) error {
	query := req.r.URL.Query()
	f, err := missionFilter(query)
	if err != nil {
		return err
	}
	account := strings.TrimSpace(query.Get("account"))
	d := missionsData{Source: f.Source, Address: req.r.URL.RequestURI()}
	if d.Accounts, err = accountFilter(req, h.accounts, account); err != nil {
		return err
	}
	var list fieldmark.List[fieldmark.Mission]
	var bad []web.FormError
	status := http.StatusOK
	switch filtered := f.Priority != "" || f.Source != ""; {
	case filtered && account == "" && len(d.Accounts) > 1:
		status = http.StatusUnprocessableEntity
		bad = []web.FormError{{Field: "account", Text: "Account: choose one to filter by priority or source."}}
	default:
		if filtered && account == "" { // there is only one account
			account = access.DefaultAccount
		}
		if list, err = h.missions.List(req.r.Context(), account, f); err != nil {
			return err
		}
	}
	for _, m := range list.Data {
		canComplete := req.canWrite() && mission.PathToCompleted(m.Status) != nil
		d.Missions = append(d.Missions, missionRow{Mission: m, CanComplete: canComplete})
	}
	for _, s := range fieldmark.MissionStatuses() {
		selected := len(f.Status) > 0 && f.Status[0] == s
		d.Statuses = append(d.Statuses, option{Value: string(s), Label: web.StateWords(s), Selected: selected})
	}
	for _, p := range fieldmark.Priorities() {
		d.Priorities = append(d.Priorities, option{Value: string(p), Label: web.StateWords(p),
			Selected: f.Priority == p})
	}
	if list.HasMore {
		next := url.Values{"cursor": {list.NextCursor}}
		for _, name := range []string{"status", "priority", "source", "account"} {
			if value := query.Get(name); value != "" {
				next.Set(name, value)
			}
		}
		d.Next = missionsPath + "?" + next.Encode()
	}
	return h.show(req, status, "missions", web.Page{Title: "Missions", Errors: bad, Data: d})
}

// accountFilter returns the options of a filter by account.
func accountFilter(req *request, accounts *access.Accounts, chosen string) ([]option, error) {
	list, err := accountChoices(req, accounts, chosen)
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list, err
}

// missionFilter returns the filters of the list. There are indexes for priority and source only within an
// account.
func missionFilter(query url.Values) (f fieldmark.MissionFilter, err error) {
	f = fieldmark.MissionFilter{Cursor: query.Get("cursor"), Limit: fieldmark.DefaultMissionLimit,
		Source: strings.TrimSpace(query.Get("source"))}
	if text := query.Get("status"); text != "" {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return f, err
		}
		f.Status = []fieldmark.MissionStatus{status}
	}
	if text := query.Get("priority"); text != "" {
		priority, ok := fieldmark.ParsePriority(text)
		if !ok {
			return f, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown priority.")
		}
		f.Priority = priority
	}
	return f, nil
}

func (h *missionHandler) complete(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	if _, err := h.missions.Complete(req.r.Context(), id); err != nil {
		return err
	}
	h.audit(req, "mission.complete", id)
	back := web.NextPage(homePath, req.r.PostForm.Get("back"))
	if back == homePath {
		back = missionsPath
	}
	return req.redirectWithNotice(back, "completed")
}
