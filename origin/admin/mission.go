package admin

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// missionHandler serves the list of missions, the board, the pages of missions and their forms.
// It has no rules of missions: package mission decides what a status allows.
type missionHandler struct {
	*console
	missions *mission.Service
	attached *attachment.Service
	accounts *access.Accounts // for filters
	keys     *access.Keys     // for the names of actors
}

// missionRow is a mission in a list, with texts that depend on the time of the request.
type missionRow struct {
	mission.Row
	CanComplete bool
	CanSelect   bool
	Due         string // the time left or the delay: "in 2 h 5 min", "35 min late"
	Late        bool
}

// newMissionRow returns the row of a mission as of now.
func newMissionRow(r mission.Row, now time.Time, canWrite bool) missionRow {
	row := missionRow{Row: r, CanComplete: canWrite && mission.PathToCompleted(r.Status) != nil,
		CanSelect: canWrite && slices.Contains(fieldmark.OpenStatuses(), r.Status)}
	if r.Deadline != nil {
		left := r.Deadline.Std().Sub(now)
		if row.Late = left < 0; row.Late {
			row.Due = formatSpan(-left) + " late"
		} else {
			row.Due = "in " + formatSpan(left)
		}
	}
	return row
}

// formatSpan formats a duration in its two largest units.
// Two units are enough to judge urgency.
func formatSpan(d time.Duration) string {
	minutes := int(d / time.Minute)
	if days := minutes / (24 * 60); days > 0 {
		return fmt.Sprintf("%d d %d h", days, minutes/60%24)
	}
	return formatMinutes(minutes)
}

// missionsData is one page of missions with its filters.
type missionsData struct {
	Missions   []missionRow
	Statuses   []option
	Priorities []option
	Orders     []option
	Source     string
	Text       string
	Assignee   string
	Accounts   []option
	Account    string
	Views      []missionView
	Saved      []missionView     // filters that the user saved
	SaveName   string            // of the rejected form
	Query      string            // the filter of this page, without its cursor
	Sorts      map[string]string // addresses of this filter in other orders
	Sort       string
	Assignees  []fieldmark.Assignee // to choose from
	Next       string               // the address of the next page
	Export     string               // the address of the export; empty: this filter has no export
	Address    string               // the address of this page, to return to
	Searched   int                  // missions that a search considers; 0 without a search
}

// missionView is a link to a list with filters.
type missionView struct {
	Label, Address string
	Current        bool
}

// missionFilters are the parameters of the list that keep their value from page to page.
// The cursor is not among them: it belongs to one order and filter.
var missionFilters = []string{"q", "status", "priority", "source", "assignee", "account", "sort"}

// statusOpen is the filter for every status that still needs action.
const statusOpen = "OPEN"

// missionOrders are the orders of the list.
// Orders other than the newest first need an index of the account.
var missionOrders = []option{{Value: "", Label: "newest first"}, {Value: mission.ByDeadline, Label: "due first"},
	{Value: mission.ByVisit, Label: "next visit first"}, {Value: mission.ByPriority, Label: "most urgent first"},
	{Value: mission.ByUpdate, Label: "last changed first"}}

// list shows the missions in the query.
func (h *missionHandler) list(req *request) error {
	return h.showList(req, req.r.URL.Query(), http.StatusOK, nil)
}

// showList shows the missions of a query, and the errors of the form that saves it.
// The query is a parameter, because the form that saves it has it in its body.
func (h *missionHandler) showList(req *request, query url.Values, status int, bad []web.FormError) error {
	f, err := missionFilter(query)
	if err != nil {
		return err
	}
	d := missionsData{Source: f.Source, Text: f.Text, Assignee: f.Assignee, Sort: f.Order, Query: kept(query, "", ""),
		Address: missionsPath}
	if text := kept(query, "cursor", query.Get("cursor")); text != "" {
		d.Address += "?" + text
	}
	if d.Account, d.Accounts, err = h.chooseAccount(req, query); err != nil {
		return err
	}
	if d.Account != "" {
		if d.Assignees, err = h.missions.Assignees(req.r.Context(), d.Account); err != nil {
			return err
		}
	}
	var rows []mission.Row
	next := ""
	// These filters have no index over all accounts: without an account, they would read every mission.
	switch narrowed := f.Text != "" || f.Priority != "" || f.Source != "" || f.Assignee != "" || f.Order != ""; {
	case narrowed && d.Account == "":
		status = http.StatusUnprocessableEntity
		bad = []web.FormError{{Field: "account",
			Text: "Account: choose one to search, to sort, or to filter by priority, source or assignee."}}
	default:
		if rows, next, err = h.missions.Find(req.r.Context(), d.Account, f); err != nil {
			return err
		}
	}
	now := time.Now()
	for _, r := range rows {
		d.Missions = append(d.Missions, newMissionRow(r, now, req.canWrite()))
	}
	d.options(query)
	if err := d.addSaved(req, h.missions); err != nil {
		return err
	}
	if f.Text != "" {
		d.Searched = mission.MaxSearch
	}
	if next != "" {
		d.Next = missionsPath + "?" + kept(query, "cursor", next)
	}
	return h.show(req, status, "missions", web.Page{Title: "Missions", Errors: bad, Data: d})
}

// kept returns the query with the filters of the list and one more parameter.
// Unknown parameters are dropped, so that a link cannot carry anything into a saved filter.
func kept(query url.Values, name, value string) string {
	next := url.Values{}
	for _, filter := range missionFilters {
		if text := query.Get(filter); text != "" {
			next.Set(filter, text)
		}
	}
	if value != "" {
		next.Set(name, value)
	}
	return next.Encode()
}

// addSaved adds the links of the filters that the user saved.
// A filter that is shown now is marked.
func (d *missionsData) addSaved(req *request, missions *mission.Service) error {
	saved, err := missions.SavedFilters(req.r.Context(), req.user)
	for _, f := range saved {
		d.Saved = append(d.Saved, missionView{f.Name, missionsPath + "?" + f.Query, f.Query == d.Query})
	}
	if req.formPrefix == "save-" {
		d.SaveName = req.r.PostForm.Get("name")
	}
	return err
}

// saveFilter saves the filter of a list under a name, or deletes one.
// Saved filters are of the user and not of the browser.
func (h *missionHandler) saveFilter(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("save-")
	page := req.back()
	list, err := url.Parse(page)
	if err != nil {
		return err
	}
	if name := form.posted.Get("delete"); name != "" {
		if err := h.missions.DeleteFilter(req.r.Context(), req.user, name); err != nil {
			return err
		}
		h.audit(req, "filter.deleted", name)
		return req.redirectWithNotice(page, "unsaved")
	}
	err = h.missions.SaveFilter(req.r.Context(), req.user, mission.SavedFilter{
		Name: strings.TrimSpace(form.posted.Get("name")), Query: kept(list.Query(), "", "")})
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeTooMany) {
		return h.showList(req, list.Query(), statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "filter.saved", form.posted.Get("name"))
	return req.redirectWithNotice(page, "saved")
}

// export sends the missions of an account as CSV, with the filters of the list but not its search: an export
// has the order of the changes.
// The rows are streamed, so the export of an account may be large.
func (h *missionHandler) export(req *request) error {
	query := req.r.URL.Query()
	f, err := missionFilter(query)
	if err != nil {
		return err
	}
	account, _, err := h.chooseAccount(req, query)
	if err != nil {
		return err
	}
	if account == "" {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose an account to export.")
	}
	encode, err := mission.NewEncoder(mission.FormatCSV, nil)
	if err != nil {
		return err
	}
	// After the first bytes an error can only abort the response.
	begun := false
	err = h.missions.Export(req.r.Context(), "person "+req.user, account, fieldmark.MissionFilter{Status: f.Status,
		Priority: f.Priority, Source: f.Source, Assignee: f.Assignee}, encode, func(lines []byte) error {
		begun = true
		req.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		req.w.Header().Set("Content-Disposition", `attachment; filename="missions.csv"`)
		_, err := req.w.Write(lines)
		return err
	})
	if begun && err != nil {
		h.log.Error("export missions", "user", req.user, "error", err)
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
	if err == nil {
		h.audit(req, "mission.exported", account)
	}
	return err
}

// options fills the inputs of the filter and the links to views.
// Views are links, so they work without scripts and can be bookmarked.
func (d *missionsData) options(query url.Values) {
	status := strings.ToUpper(query.Get("status"))
	d.Statuses = []option{{Value: statusOpen, Label: "open", Selected: status == statusOpen}}
	for _, s := range fieldmark.MissionStatuses() {
		d.Statuses = append(d.Statuses, option{Value: string(s), Label: web.StateWords(s),
			Selected: status == string(s)})
	}
	for _, p := range fieldmark.Priorities() {
		d.Priorities = append(d.Priorities, option{Value: string(p), Label: web.StateWords(p),
			Selected: strings.EqualFold(query.Get("priority"), string(p))})
	}
	for _, o := range missionOrders {
		o.Selected = query.Get("sort") == o.Value
		d.Orders = append(d.Orders, o)
	}
	d.Sorts = map[string]string{}
	for _, o := range missionOrders {
		by := maps.Clone(query)
		by.Del("sort")
		by.Set("account", d.Account)
		d.Sorts[cmp.Or(o.Value, "newest")] = missionsPath + "?" + kept(by, "sort", o.Value)
	}
	if d.Account != "" && d.Text == "" {
		by := maps.Clone(query)
		by.Del("sort")
		d.Export = missionsPath + "/export?" + kept(by, "account", d.Account)
	}
	for _, v := range []struct {
		label  string
		filter url.Values
	}{
		{"All", url.Values{}},
		{"Open", url.Values{"status": {statusOpen}}},
		{"New", url.Values{"status": {"NEW"}}},
		{"Due first", url.Values{"status": {statusOpen}, "sort": {mission.ByDeadline}}},
		{"Next visits", url.Values{"sort": {mission.ByVisit}}},
		{"Most urgent", url.Values{"status": {statusOpen}, "sort": {mission.ByPriority}}},
		{"On hold", url.Values{"status": {"ON_HOLD"}}},
	} {
		v.filter.Set("account", d.Account)
		same := true
		for _, name := range missionFilters {
			same = same && (name == "account" || query.Get(name) == v.filter.Get(name))
		}
		d.Views = append(d.Views, missionView{v.label, missionsPath + "?" + v.filter.Encode(), same})
	}
}

// chooseAccount returns the account in the query and the options of its input. Without one it is the
// only account, or all of them: a filter never changes it.
// An installation with one account never asks for it.
func (h *missionHandler) chooseAccount(req *request, query url.Values) (string, []option, error) {
	chosen := strings.TrimSpace(query.Get("account"))
	list, err := accountChoices(req, h.accounts, chosen)
	if err != nil {
		return "", nil, err
	}
	if chosen == "" && len(list) == 1 {
		chosen = list[0].Value
	}
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return chosen, list, nil
}

// accountFilter returns the options of a filter by account.
func accountFilter(req *request, accounts *access.Accounts, chosen string) ([]option, error) {
	list, err := accountChoices(req, accounts, chosen)
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list, err
}

// missionFilter returns the filters of the list.
// Its errors are about a link that was edited by hand.
func missionFilter(query url.Values) (f mission.Search, err error) {
	f = mission.Search{Cursor: query.Get("cursor"), Limit: fieldmark.DefaultMissionLimit, Order: query.Get("sort"),
		Source: strings.TrimSpace(query.Get("source")), Assignee: strings.TrimSpace(query.Get("assignee")),
		Text: strings.TrimSpace(query.Get("q"))}
	if !slices.ContainsFunc(missionOrders, func(o option) bool { return o.Value == f.Order }) {
		return f, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown order.")
	}
	switch text := query.Get("status"); {
	case strings.EqualFold(text, statusOpen):
		f.Status = fieldmark.OpenStatuses()
	case text != "":
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

// complete moves a mission to COMPLETED through the steps between, after a confirmation.
func (h *missionHandler) complete(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id := req.r.PathValue("id")
	versions, err := req.readForm("").versions()
	if err != nil {
		return err
	}
	if !web.Confirmed(req.r) {
		return h.confirmMove(req, fieldmark.MissionCompleted)
	}
	if _, err := h.missions.CompleteAt(req.r.Context(), id, versions); err != nil {
		return h.showMissionError(req, err)
	}
	h.audit(req, "mission.completed", id)
	return req.redirectWithNotice(req.back(), "completed")
}

// back returns the page of the console that the form returns to: the one in its input, or the list of missions.
// web.NextPage rejects addresses outside of the console.
func (req *request) back() string {
	if back := web.NextPage(homePath, req.r.PostForm.Get("back")); back != homePath {
		return back
	}
	return missionsPath
}

// maxBulk limits the missions of one form: a page of the list has as many.
// Each mission is a transaction.
const maxBulk = fieldmark.DefaultMissionLimit

// bulkItem is a mission of a form for several, and its result.
type bulkItem struct {
	fieldmark.Mission
	Ref   string // id:version, as in the form
	Error string
}

// bulkData is the page of a form for several missions: the confirmation before they are canceled, the rejected form
// that assigns them, or the result.
type bulkData struct {
	Items   []bulkItem
	Confirm bool // they are not canceled yet
	Assign  bool // they are not assigned yet
	Back    string
	Done    int
}

// bulk assigns or cancels several missions, each at the version that the list showed. It cancels after a
// confirmation.
// A mission that changed since is left as it is and listed with who changed it; the others are done.
func (h *missionHandler) bulk(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	form := req.readForm("bulk-")
	refs := form.posted["mission"]
	cancel := form.posted.Get("do") == "cancel"
	d := bulkData{Back: req.back()}
	reason := newReason(form.code("code", "Reason", reasonCode), form.text("text", "Note", maxReasonText))
	who := fieldmark.Assignee{ID: form.text("assignee", "Assignee ID", maxAssignee),
		Name: form.text("assignee-name", "Assignee name", maxAssigneeName)}
	switch {
	case len(refs) == 0:
		form.reject("Select at least one mission.")
	case len(refs) > maxBulk:
		form.reject(fmt.Sprintf("Select at most %d missions.", maxBulk))
	case !cancel && who.ID == "":
		form.addError("assignee", "Assignee ID: enter the ID of the assignee.")
	}
	d.Confirm = cancel && (form.posted.Get("confirm") == "" || form.errors != nil)
	d.Assign = !cancel && form.errors != nil
	status := http.StatusOK
	if form.errors != nil {
		status, refs = http.StatusUnprocessableEntity, refs[:min(len(refs), maxBulk)]
	}
	// Each is a separate transaction: one that fails does not undo the others.
	for _, ref := range refs {
		id, text, _ := strings.Cut(ref, ":")
		version, _ := strconv.Atoi(text)
		m, err := h.missions.Get(req.r.Context(), "", id)
		if err == nil && !d.Confirm && !d.Assign {
			// The revision is the newest, because SLA timers raise it without a change that a
			// person would see.
			versions := mission.Versions{{Number: version, Revision: m.Revision()}}
			op, act := mission.Cancel("", id, reason, versions), "mission.canceled"
			if !cancel {
				op = mission.Plan("", id, fieldmark.MissionPlan{Scheduled: m.Scheduled, Assignee: &who}, versions)
				act = "mission.planned"
			}
			if _, err = h.missions.Apply(req.r.Context(), op); err == nil {
				h.auditEach(req, act, id)
				d.Done++
			}
		}
		item := bulkItem{Mission: m, Ref: ref}
		switch {
		case hasCode(err, fieldmark.CodeVersionMismatch):
			if item.Error, err = h.conflictText(req, id, version); err != nil {
				return err
			}
		case isClientError(err):
			item.Error = fieldmark.AsError(err).Detail
		case err != nil:
			return err
		}
		d.Items = append(d.Items, item)
	}
	title := "Missions assigned"
	switch {
	case d.Assign:
		title = "Assign missions"
	case d.Confirm:
		title = "Cancel missions?"
	case cancel:
		title = "Missions canceled"
	}
	return h.show(req, status, "bulk", web.Page{Title: title, Errors: form.errors, Data: d})
}

// conflictText returns a sentence about the first change of a mission since the version that the list showed: who
// made it, and of which members. The page of the mission shows all changes.
func (h *missionHandler) conflictText(req *request, id string, version int) (string, error) {
	story, err := h.missions.History(req.r.Context(), id)
	if err != nil {
		return "", err
	}
	who, err := h.actors(req)
	if err != nil {
		return "", err
	}
	changes := story.ChangesSince(version)
	if len(changes) == 0 {
		return "was changed after the list was opened; nothing was done", nil
	}
	words := make([]string, len(changes[0].Members))
	for i, m := range changes[0].Members {
		words[i] = memberWords[m.Name]
	}
	return fmt.Sprintf("%s changed it after the list was opened (%s); nothing was done",
		who(changes[0].Actor).Name, strings.Join(words, ", ")), nil
}
