package mission

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// The orders of Find; newest first is "". Those by due time and by visit list only missions that
// have one: a running SLA timer, or a planned visit that is not over.
const (
	ByUpdate   = string(store.ByUpdate)
	ByDeadline = string(store.ByDeadline)
	ByVisit    = string(store.ByVisit)
	ByPriority = string(store.MostUrgent)
)

// MaxSearch limits the missions that a search considers, the newest ones.
const MaxSearch = store.MaxSearch

// Search selects missions in the console. Text is looked for in the title, the external id and the
// assignee, without regard to case; as KEY:VALUE with a filterable key of the account it is a label.
// Every field but Status needs an account.
type Search struct {
	Text     string
	Status   []fieldmark.MissionStatus
	Priority fieldmark.Priority
	Source   string
	Assignee string // id
	Order    string
	Limit    int
	Cursor   string
}

// Row is a mission in a list of the console.
type Row struct {
	fieldmark.Mission
	Account  string
	Deadline *fieldmark.Time // earliest due time of the SLA timers that have not stopped
	SLAState string          // breached, at risk, paused, on track, met, or "" without SLA
}

// newRow returns the row of a mission. It is at risk from the first threshold of its policy on.
func newRow(m *store.Mission) Row {
	r := Row{Mission: m.Mission, Account: m.Account}
	if m.StoredSLA == nil {
		return r
	}
	rank := -1
	for _, t := range m.StoredSLA.Timers {
		rank = max(rank, slaRank(t.State, t.Warned))
		if t.StoppedAt == nil && t.State != fieldmark.SLAMet && t.State != fieldmark.SLACanceled && t.DueAt != nil &&
			(r.Deadline == nil || t.DueAt.Std().Before(r.Deadline.Std())) {
			r.Deadline = t.DueAt
		}
	}
	r.SLAState = slaState(rank)
	return r
}

// newVisitRow returns the row of a visit. Its mission has only what a board shows, and its SLA state is
// empty unless a timer that has not stopped is breached or at risk.
func newVisitRow(v *store.Visit) Row {
	r := Row{Deadline: v.Deadline}
	r.ID, r.Title, r.Version, r.Status, r.Priority = v.ID, v.Title, v.Version, v.Status, v.Priority
	r.Scheduled, r.Assignee = &v.Scheduled, v.Assignee
	switch {
	case v.Breached:
		r.SLAState = slaBreached
	case v.AtRisk:
		r.SLAState = slaAtRisk
	}
	return r
}

// The SLA states of a row that need attention.
const (
	slaAtRisk   = "at risk"
	slaBreached = "breached"
)

// slaStates are the states of a row; the worst one of its timers wins.
var slaStates = []string{"met", "on track", "paused", slaAtRisk, slaBreached}

// slaRank returns the place of the state of a timer in slaStates, or -1.
func slaRank(state fieldmark.SLAState, warned int) int {
	switch {
	case state == fieldmark.SLABreached:
		return 4
	case state == fieldmark.SLARunning && warned > 0:
		return 3
	case state == fieldmark.SLAPaused:
		return 2
	case state == fieldmark.SLARunning:
		return 1
	case state == fieldmark.SLAMet:
		return 0
	}
	return -1
}

func slaState(rank int) string {
	if rank < 0 {
		return ""
	}
	return slaStates[rank]
}

// Find lists missions in the console, and returns the cursor of the next page, or "". It answers
// from an index whatever the filters are.
func (s *Service) Find(ctx context.Context, account string, f Search) (rows []Row, next string, err error) {
	limit := f.Limit
	q := store.MissionQuery{Account: account, Status: slices.Compact(slices.Sorted(slices.Values(f.Status))),
		Priority: f.Priority, Source: f.Source, Assignee: f.Assignee, Order: store.MissionOrder(f.Order),
		Limit: limit + 1} // shows if a page follows
	if account == "" && (f.Text != "" || f.Priority != "" || f.Source != "" || f.Assignee != "" || f.Order != "") {
		return nil, "", fieldmark.Errorf(fieldmark.CodeInvalidParameter, "these filters need an account")
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		if labels, err := parseLabels(ctx, s.store, account, []string{text}); err == nil {
			q.Labels = labels
		} else {
			q.Search = strings.ToLower(text)
		}
	}
	if err := continueSearch(&q, f); err != nil {
		return nil, "", err
	}
	list, err := s.store.Missions(ctx, q)
	if err != nil {
		return nil, "", err
	}
	for i := range list[:min(limit, len(list))] {
		rows = append(rows, newRow(&list[i]))
	}
	if len(list) > limit {
		next = searchCursor(f.Order, &rows[limit-1], list[limit-1].ChangedAt)
	}
	return rows, next, nil
}

// searchCursor encodes where a page of a search ended.
func searchCursor(order string, last *Row, changed int64) string {
	value := int64(0)
	switch order {
	case ByUpdate:
		value = changed
	case ByDeadline:
		value = last.Deadline.Micros()
	case ByVisit:
		value = last.Scheduled.Start.Micros()
	case ByPriority:
		value = int64(slices.Index(fieldmark.Priorities(), last.Priority))
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d %s", order, value, last.ID))
}

// continueSearch continues a query after the cursor of a search.
func continueSearch(q *store.MissionQuery, f Search) error {
	if f.Cursor == "" {
		return nil
	}
	at := &store.MissionPosition{}
	text, err := base64.RawURLEncoding.DecodeString(f.Cursor)
	rest, ok := strings.CutPrefix(string(text), f.Order+" ")
	if err == nil && ok {
		_, err = fmt.Sscanf(rest, "%d %s", &at.Value, &at.ID)
	}
	if err != nil || !ok || !fieldmark.CheckID(fieldmark.PrefixMission, at.ID) {
		return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "open the list again")
	}
	if f.Order == "" {
		q.Until = at.ID
	} else {
		q.After = at
	}
	return nil
}

// Limits of a board: what a person can work with on one page.
const (
	MaxBoardVisits    = 2500 // 60 people with six visits a day
	MaxBoardUnplanned = 50
	maxAssignees      = 200
	// recentVisits is how long an assignee is on the board and in the lists of forms after the last visit.
	recentVisits = 28 * 24 * time.Hour
)

// Week is what a board shows of an account.
type Week struct {
	Planned   []Row                // missions with a visit in the period, by their start; at most MaxBoardVisits
	Unplanned []Row                // open missions without a time, the earliest deadline first
	Assignees []fieldmark.Assignee // who had a visit lately or has one planned
	More      bool                 // the period has more visits than Planned
}

// Board returns the missions of an account whose visit is in a period, and the first MaxBoardUnplanned open
// missions without a time.
func (s *Service) Board(ctx context.Context, account string, from, until time.Time) (w Week, err error) {
	now := time.Now()
	visits, err := s.store.Visits(ctx, store.PlanQuery{Account: account, From: from, Until: until, Ended: now,
		Limit: MaxBoardVisits + 1})
	if err != nil {
		return w, err
	}
	if w.More = len(visits) > MaxBoardVisits; w.More {
		visits = visits[:MaxBoardVisits]
	}
	w.Planned = make([]Row, len(visits))
	for i := range visits {
		w.Planned[i] = newVisitRow(&visits[i])
	}
	open, err := s.store.Missions(ctx, store.MissionQuery{Account: account, Order: store.ByDeadline, Unplanned: true,
		Status: fieldmark.OpenStatuses(), Limit: MaxBoardUnplanned})
	if err != nil {
		return w, err
	}
	for i := range open {
		w.Unplanned = append(w.Unplanned, newRow(&open[i]))
	}
	w.Assignees, err = s.Assignees(ctx, account)
	return w, err
}

// Assignees lists who had a visit of an account in the last four weeks or has one planned, by id.
func (s *Service) Assignees(ctx context.Context, account string) ([]fieldmark.Assignee, error) {
	return s.store.Assignees(ctx, account, time.Now().Add(-recentVisits), maxAssignees)
}

// SavedFilter is a filter of the list of missions that an administrator saved.
type SavedFilter = store.SavedFilter

// Limits of saved filters: each is a link above the list.
const (
	MaxSavedFilters = 20
	MaxFilterName   = 40   // characters
	maxFilterQuery  = 1000 // bytes; every filter of the list together has fewer
)

// SavedFilters lists the filters of an administrator by name.
func (s *Service) SavedFilters(ctx context.Context, user string) ([]SavedFilter, error) {
	return s.store.SavedFilters(ctx, user)
}

// SaveFilter saves a filter of an administrator in place of the one with its name. More than MaxSavedFilters
// are CodeTooMany.
func (s *Service) SaveFilter(ctx context.Context, user string, f SavedFilter) error {
	var bad validation.Errors
	bad.Line("/name", f.Name)
	if fieldmark.IsBlank(f.Name) || utf8.RuneCountInString(f.Name) > MaxFilterName {
		bad.Add("/name", "too_long", fmt.Sprintf("must have 1 to %d characters", MaxFilterName))
	}
	if len(f.Query) > maxFilterQuery {
		bad.Add("/query", "too_long", fmt.Sprintf("must have at most %d bytes", maxFilterQuery))
	}
	if err := bad.Err(); err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context, t *txn) error {
		saved, err := t.tx.SavedFilters(ctx, user)
		if err != nil {
			return err
		}
		if len(saved) >= MaxSavedFilters &&
			!slices.ContainsFunc(saved, func(one SavedFilter) bool { return one.Name == f.Name }) {
			return fieldmark.Errorf(fieldmark.CodeTooMany, "at most %d filters can be saved", MaxSavedFilters)
		}
		return t.tx.PutSavedFilter(ctx, user, f)
	})
}

// DeleteFilter deletes a filter of an administrator, if there is one with this name.
func (s *Service) DeleteFilter(ctx context.Context, user, name string) error {
	return s.write(ctx, func(ctx context.Context, t *txn) error { return t.tx.DeleteSavedFilter(ctx, user, name) })
}

// Change is a change of a mission: who made it, and what it changed.
type Change struct {
	HistoryEvent
	Members []MemberChange
}

// MemberChange is a member of a mission and its value after a change, as JSON; nil: it was removed.
type MemberChange struct {
	Name string
	Now  json.RawMessage
}

// ChangesSince returns the changes of a mission after a version, the newest first, for a person whose
// form was overtaken.
func (h *History) ChangesSince(version int) (changes []Change) {
	type snapshot struct {
		event   HistoryEvent
		version int
		members map[string]json.RawMessage
	}
	var states []snapshot
	for _, e := range h.Events {
		var v struct{ Version int }
		var members map[string]json.RawMessage
		if e.Type != fieldmark.EventMissionNoted && strings.HasPrefix(string(e.Type), "mission.") &&
			json.Unmarshal(e.Data, &v) == nil && json.Unmarshal(e.Data, &members) == nil {
			states = append(states, snapshot{e, v.Version, members})
		}
	}
	for i, state := range states {
		if state.version <= version {
			break
		}
		c := Change{HistoryEvent: state.event}
		if i+1 < len(states) {
			for _, name := range []string{"status", "scheduled", "assignee", "priority", "description", "window",
				"contact", "labels", "metadata", "payment", "occurrences"} {
				if string(state.members[name]) != string(states[i+1].members[name]) {
					c.Members = append(c.Members, MemberChange{name, state.members[name]})
				}
			}
		}
		changes = append(changes, c)
	}
	return changes
}
