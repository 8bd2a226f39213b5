package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// MissionQuery selects a page of missions. An index supports every combination of Account,
// Status, Priority, Source, Assignee and the ids; Labels and Search start from their own index.
// Without Account only Status and the ids filter.
type MissionQuery struct {
	Account    string
	Worlds     bool                      // without Account: those of test worlds, instead of all live ones
	Status     []fieldmark.MissionStatus // without duplicates
	Priority   fieldmark.Priority
	Source     string
	ExternalID string // with Source
	Assignee   string // id
	Labels     []Label
	Unplanned  bool   // only those without a visit; with ByDeadline
	Search     string // lower case; in title, external id, id or name of the assignee

	From, Until string // ids: not before the first, and before the second; empty means any
	Limit       int

	// Changes selects the order of changes instead of the newest first: those
	// after the stamp Since and, at that stamp, after the id SinceID.
	Changes bool
	Since   int64
	SinceID string

	Order MissionOrder // of the console, unless Changes is set
	After *MissionPosition
}

// Label is a filterable label of a mission.
type Label struct{ Key, Value string }

// MissionOrder is the order of a list in the console.
type MissionOrder string

// The orders. Those by due time and by visit list only missions that have one: a running SLA
// timer, or a planned visit that is not over.
const (
	NewestFirst MissionOrder = ""
	ByUpdate    MissionOrder = "updated" // the newest change first
	ByDeadline  MissionOrder = "due"
	ByVisit     MissionOrder = "planned"
	MostUrgent  MissionOrder = "priority"
)

// MissionPosition is the last mission of a page, in an order other than the newest first.
type MissionPosition struct {
	Value int64 // stamp, due time or start in microseconds, or the rank of the priority
	ID    string
}

// MaxSearch limits the missions that a search considers, the newest ones: a search for older ones needs
// more words.
const MaxSearch = 1000

// lastID sorts after every id.
const lastID = "~"

// Missions lists missions, the newest first or in the order of their changes.
func (db MissionReader) Missions(ctx context.Context, q MissionQuery) ([]Mission, error) {
	question, args := q.sql()
	rows, err := db.query(ctx, question, args...)
	list, err := collect(rows, err, scanMission)
	if err == nil {
		all := make([]*Mission, len(list))
		for i := range list {
			all[i] = &list[i]
		}
		err = addDetails(ctx, db, all)
	}
	if err != nil {
		return nil, fmt.Errorf("list missions: %w", err)
	}
	return list, nil
}

// sql returns the query and its arguments.
func (q *MissionQuery) sql() (string, []any) {
	if q.Until == "" {
		q.Until = lastID
	}
	var w where
	from, order := "mission", "id DESC"
	switch {
	case q.Changes:
		w.with("account = %s", q.Account)
		w.with("(updated_at, id) > (%s, %s)", q.Since, q.SinceID)
		order = "updated_at, id"
	case q.ExternalID != "":
		w.with("account = %s", q.Account)
		w.with("external_id = %s", q.ExternalID)
	case q.Order == ByUpdate:
		w.with("account = %s", q.Account)
		w.with("(updated_at, id) < (%s, %s)", q.after(math.MaxInt64).Value, q.after(math.MaxInt64).ID)
		order = "updated_at DESC, id DESC"
	case q.Order == ByVisit:
		w.with("account = %s", q.Account)
		w.with(visitAhead)
		w.with("(scheduled_start, id) > (%s, %s)", q.after(-1).Value, q.after(-1).ID)
		order = "scheduled_start, id"
	case q.Order == ByDeadline:
		// CROSS JOIN makes SQLite read the index of deadlines first, in their order.
		after := q.after(-1)
		from = `(SELECT mission AS late, deadline FROM sla WHERE account = ` + w.arg(q.Account) + `
			AND deadline IS NOT NULL
			AND (deadline, mission) > (` + w.arg(after.Value) + `, ` + w.arg(after.ID) + `)) AS d CROSS JOIN mission`
		w.with("id = late")
		order = "deadline, late"
	case q.Search != "" || len(q.Labels) > 0:
		return q.fromIndex(&w), w.args
	default:
		return q.newest(&w), w.args
	}
	q.filters(&w)
	return `SELECT ` + missionColumns + ` FROM ` + from + ` WHERE ` + w.text() + ` ORDER BY ` + order + `
		LIMIT ` + w.arg(q.Limit), w.args
}

// visitAhead is the condition of the index of planned visits.
const visitAhead = `scheduled_start IS NOT NULL AND status NOT IN ('COMPLETED', 'CLOSED', 'CANCELED')`

// filters adds the conditions that do not depend on the order.
func (q *MissionQuery) filters(w *where) {
	if q.Source != "" {
		w.with("source_key = %s", sourceKey(q.Source))
	}
	if len(q.Status) > 0 {
		values := make([]any, len(q.Status))
		for i, st := range q.Status {
			values[i] = string(st)
		}
		w.with("status IN (%s"+strings.Repeat(", %s", len(values)-1)+")", values...)
	}
	if q.Priority != "" {
		w.with("priority = %s", string(q.Priority))
	}
	if q.Assignee != "" {
		w.with("assignee_id = %s", q.Assignee)
	}
	if q.Unplanned {
		w.with("scheduled_start IS NULL")
	}
	for _, l := range q.Labels {
		// With EXISTS, orders other than that of the ids would look up every mission of the account.
		w.with("id IN (SELECT l.mission FROM mission_label l WHERE l.account = %s AND l.key = %s AND l.value = %s)",
			q.Account, l.Key, l.Value)
	}
	if q.Search != "" {
		w.with("id IN (" + q.matches(w) + ")")
	}
	// Without need, these would lead SQLite to the index by id.
	if q.From != "" {
		w.with("id >= %s", q.From)
	}
	if q.Until != lastID {
		w.with("id < %s", q.Until)
	}
}

// after returns the position that a page follows; without one, the one before every value from first
// on. A first page has the condition too, so that both engines use the index of the order.
func (q *MissionQuery) after(first int64) MissionPosition {
	if q.After != nil {
		return *q.After
	}
	return MissionPosition{Value: first, ID: lastID}
}

// matches returns a query for the ids of the newest missions that the search matches. It reads
// the index alone.
func (q *MissionQuery) matches(w *where) string {
	return `SELECT s.id FROM mission s WHERE s.account = ` + w.arg(q.Account) + ` AND s.search_text LIKE ` +
		w.arg("%"+likeText.Replace(q.Search)+"%") + ` ESCAPE '\' ORDER BY s.id DESC LIMIT ` + w.arg(MaxSearch)
}

// likeText escapes the wildcards of LIKE.
var likeText = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// fromIndex returns a query, the newest first or the most urgent first, that starts from the
// missions of a search or of a label.
func (q *MissionQuery) fromIndex(w *where) string {
	order := "id DESC"
	if q.Order == MostUrgent {
		order = priorityRank + " DESC, id DESC"
		if q.After != nil {
			w.with("("+priorityRank+" < %s OR "+priorityRank+" = %s AND id < %s)", q.After.Value, q.After.Value,
				q.After.ID)
		}
	}
	from := "mission"
	if q.Search == "" && q.Order == NewestFirst { // the index of labels has the order of the ids
		l := q.Labels[0]
		from = `(SELECT mission AS labeled FROM mission_label WHERE account = ` + w.arg(q.Account) + ` AND key = ` +
			w.arg(l.Key) + ` AND value = ` + w.arg(l.Value) + ` AND mission < ` + w.arg(q.Until) + `) AS d
			CROSS JOIN mission`
		w.with("id = labeled")
		order = "labeled DESC"
	}
	q.filters(w)
	w.with("account = %s", q.Account)
	return `SELECT ` + missionColumns + ` FROM ` + from + ` WHERE ` + w.text() + ` ORDER BY ` + order + `
		LIMIT ` + w.arg(q.Limit)
}

// priorityRank is the place of a priority in fieldmark.Priorities.
const priorityRank = `CASE priority WHEN 'CRITICAL' THEN 3 WHEN 'HIGH' THEN 2 WHEN 'MEDIUM' THEN 1 ELSE 0 END`

// newest returns a query with one index range for each pair of a status and a priority,
// and selects the newest missions of each range. For a simpler query, neither engine
// chooses a plan that reads at most one page of each range.
func (q *MissionQuery) newest(w *where) string {
	var equal []string
	statuses := q.Status
	switch {
	case q.Account != "":
		equal = append(equal, "account = "+w.arg(q.Account))
	case q.Worlds:
		equal = append(equal, "world <> ''")
	default:
		equal = append(equal, "world = ''")
		if len(statuses) == 0 { // the index of statuses has no rows of test worlds
			statuses = fieldmark.MissionStatuses()
		}
	}
	if q.Source != "" {
		equal = append(equal, "source_key = "+w.arg(sourceKey(q.Source)))
	}
	if q.Assignee != "" {
		equal = append(equal, "assignee_id = "+w.arg(q.Assignee))
	}
	from, before, limit := w.arg(q.From), w.arg(q.Until), w.arg(q.Limit)
	until := before
	indexRange := func(conditions ...string) string {
		conditions = append(conditions, "id >= "+from, "id < "+until)
		return `SELECT id FROM mission WHERE ` + strings.Join(append(equal[:len(equal):len(equal)], conditions...),
			" AND ") + ` ORDER BY id DESC LIMIT ` + limit
	}
	var ranges []string
	switch {
	case len(statuses) == 0 && q.Priority == "" && q.Source == "" && q.Assignee == "" && q.Order == NewestFirst:
		ranges = []string{indexRange()}
	case q.Account == "":
		for _, st := range statuses {
			ranges = append(ranges, indexRange("status = "+w.arg(string(st))))
		}
	default:
		priorities := fieldmark.Priorities()
		if q.Priority != "" {
			priorities = []fieldmark.Priority{q.Priority}
		}
		if len(statuses) == 0 {
			statuses = fieldmark.MissionStatuses()
		}
		for rank, p := range priorities {
			if q.After != nil && q.Order == MostUrgent {
				if rank = slices.Index(fieldmark.Priorities(), p); int64(rank) > q.After.Value {
					continue
				}
				if until = before; int64(rank) == q.After.Value {
					until = w.arg(min(q.Until, q.After.ID))
				}
			}
			priority := w.arg(string(p))
			for _, st := range statuses {
				ranges = append(ranges, indexRange("status = "+w.arg(string(st)), "priority = "+priority))
			}
		}
	}
	if q.Order == MostUrgent {
		return `SELECT ` + missionColumns + ` FROM mission WHERE id IN (SELECT id FROM (` +
			strings.Join(ranges, `) AS s UNION ALL SELECT id FROM (`) + `) AS s)
			ORDER BY ` + priorityRank + ` DESC, id DESC LIMIT ` + limit
	}
	return `SELECT ` + missionColumns + ` FROM mission WHERE id IN (SELECT id FROM (SELECT id FROM (` +
		strings.Join(ranges, `) AS s UNION ALL SELECT id FROM (`) + `) AS s) AS page ORDER BY id DESC
			LIMIT ` + limit + `) ORDER BY id DESC`
}

// where collects conditions and their arguments.
type where struct {
	conditions []string
	args       []any
}

// arg returns the placeholder of a value.
func (w *where) arg(value any) string {
	w.args = append(w.args, value)
	return fmt.Sprintf("$%d", len(w.args))
}

// with adds a condition with a %s for each value.
func (w *where) with(condition string, values ...any) {
	marks := make([]any, len(values))
	for i, v := range values {
		marks[i] = w.arg(v)
	}
	w.conditions = append(w.conditions, fmt.Sprintf(condition, marks...))
}

func (w *where) text() string { return strings.Join(w.conditions, " AND ") }

// maxLabelValue limits the values of labels that are indexed, in bytes: an index entry of
// PostgreSQL has at most 2,704 bytes. Lists cannot filter by longer values.
const maxLabelValue = 512

// FilterLabels returns the keys of labels by which lists of an account filter, and whether the
// labels of all its missions are indexed.
func (db MissionReader) FilterLabels(ctx context.Context, account string) (keys []string, indexed bool, err error) {
	var after *string
	err = db.queryRow(ctx, `SELECT filter_labels, labels_indexed FROM account WHERE id = $1`, account).
		Scan(jsonCol{&keys}, &after)
	if err = queryErr(err); err != nil && !errors.Is(err, ErrNotFound) {
		return nil, false, fmt.Errorf("read the filterable labels of %s: %w", account, err)
	}
	return keys, after == nil, nil
}

// accountState is what every new mission needs of its account. The writes of a transaction share
// it.
type accountState struct {
	labels []string // keys of labels that lists filter by
	group  string   // the account whose limits apply: its parent, or itself
	limit  int      // missions a day of the group; 0: none

	clockOffset time.Duration // of the time of a test world
}

// dayUse is how many missions a group has created on a day, which is counted since 1970 in UTC.
type dayUse struct {
	day      int64
	missions int
}

// account reads the state of an account in a transaction; one that does not exist has no labels
// and no limit.
func (t *tx) account(ctx context.Context, id string) (accountState, error) {
	if a, known := t.state.accounts[id]; known {
		return a, nil
	}
	err := t.state.scanAccount(t.queryRow(ctx, accountStateOf+` = $1`, id))
	if err = queryErr(err); err != nil && !errors.Is(err, ErrNotFound) {
		return accountState{}, fmt.Errorf("read account %s for a mission: %w", id, err)
	}
	return t.state.accounts[id], nil
}

const accountStateOf = `SELECT a.id, a.filter_labels, a.clock_offset, g.id, COALESCE(o.missions, 0), COALESCE(u.day, 0),
	COALESCE(u.missions, 0) FROM account a JOIN account g ON g.id = COALESCE(a.parent, a.id)
	LEFT JOIN offer o ON o.id = g.offer LEFT JOIN account_use u ON u.account = g.id WHERE a.id`

func (state *txState) scanAccount(row commit.Scanner) error {
	var id string
	var a accountState
	var used dayUse
	var offset int64
	if err := row.Scan(&id, jsonCol{&a.labels}, &offset, &a.group, &a.limit, &used.day, &used.missions); err != nil {
		return err
	}
	a.clockOffset = time.Duration(offset) * time.Microsecond
	state.accounts[id] = a
	if _, known := state.used[a.group]; !known {
		state.used[a.group] = used
	}
	return nil
}

// prefetchAccounts reads the states of accounts.
func (state *txState) prefetchAccounts(accounts map[string]bool) commit.Query {
	names := slices.Collect(maps.Keys(accounts))
	for _, account := range names {
		state.accounts[account] = accountState{}
	}
	return commit.Query{Text: accountStateOf + ` = ANY($1)`, Args: []any{names}, Scan: state.scanAccount}
}

// addLabels indexes the filterable labels of a mission.
func (t MissionTx) addLabels(ctx context.Context, m *Mission) error {
	if len(m.Labels) == 0 {
		return nil
	}
	account, err := t.account(ctx, m.Account)
	if err != nil {
		return err
	}
	for _, key := range account.labels {
		if value, ok := m.Labels[key]; ok && len(value) <= maxLabelValue {
			err := t.queueInsert(ctx, `INSERT INTO mission_label (account, key, value, mission)
				VALUES ($1, $2, $3, $4)`, m.Account, key, value, m.ID)
			if err != nil {
				return fmt.Errorf("index the labels of mission %s: %w", m.ID, err)
			}
		}
	}
	return nil
}

// putLabels indexes the filterable labels of a mission in place of those before.
func (t MissionTx) putLabels(ctx context.Context, m *Mission) error {
	if _, err := t.exec(ctx, `DELETE FROM mission_label WHERE mission = $1`, m.ID); err != nil {
		return fmt.Errorf("index the labels of mission %s: %w", m.ID, err)
	}
	return t.addLabels(ctx, m)
}

// CountMissions counts the missions of an account, limit at most.
func (db MissionReader) CountMissions(ctx context.Context, account string, limit int) (n int, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT id FROM mission WHERE account = $1 LIMIT $2) AS those`,
		account, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the missions of %s: %w", account, queryErr(err))
	}
	return n, nil
}

// AccountToIndex returns an account whose missions are being indexed after its filterable labels
// changed, or "".
func (db MissionReader) AccountToIndex(ctx context.Context) (account string, err error) {
	err = db.queryRow(ctx, `SELECT COALESCE(MIN(id), '') FROM account WHERE labels_indexed IS NOT NULL`).Scan(&account)
	if err != nil {
		return "", fmt.Errorf("read which labels to index: %w", queryErr(err))
	}
	return account, nil
}

// IndexLabels indexes the labels of up to limit further missions of an account.
func (t MissionTx) IndexLabels(ctx context.Context, account string, limit int) error {
	fail := func(err error) error { return fmt.Errorf("index the labels of %s: %w", account, err) }
	var after *string
	err := t.queryRow(ctx, `SELECT labels_indexed FROM account WHERE id = $1`, account).Scan(&after)
	if err != nil || after == nil {
		return queryErr(err)
	}
	rows, err := t.query(ctx, `SELECT id, account, request FROM mission WHERE account = $1 AND id > $2
		ORDER BY id LIMIT $3`, account, *after, limit)
	list, err := collect(rows, err, func(row scanner) (m Mission, err error) {
		return m, row.Scan(&m.ID, &m.Account, jsonCol{&m.MissionRequest})
	})
	if err != nil {
		return fail(err)
	}
	for i := range list {
		if err := t.putLabels(ctx, &list[i]); err != nil {
			return err
		}
	}
	var next any
	if len(list) == limit {
		next = list[limit-1].ID
	}
	if _, err := t.exec(ctx, `UPDATE account SET labels_indexed = $1 WHERE id = $2`, next, account); err != nil {
		return fail(err)
	}
	return nil
}

// maxSearchText limits the text that the console searches, in bytes: an index entry of PostgreSQL
// has at most 2,704.
const maxSearchText = 2000

// searchText returns the text that the console searches.
func (m *Mission) searchText() string {
	text := m.Title + "\n" + m.ExternalID
	if m.Assignee != nil {
		text += "\n" + m.Assignee.ID + "\n" + m.Assignee.Name
	}
	text = strings.ToLower(text)
	return strings.ToValidUTF8(text[:min(len(text), maxSearchText)], "")
}

// Visit is a planned mission with what a board shows of it. A week has thousands of them, so that reading whole
// missions would take most of the time of the page.
type Visit struct {
	ID        string
	Title     string
	Version   int
	Status    fieldmark.MissionStatus
	Priority  fieldmark.Priority
	Scheduled fieldmark.Span
	Assignee  *fieldmark.Assignee
	Deadline  *fieldmark.Time // the earliest of the SLA timers that have not stopped
	Breached  bool            // such a timer is breached
	AtRisk    bool            // such a timer was reported to be at risk
}

// Visits lists planned missions by their start, without their details: of more than p.Limit those that end first.
// It reads them in the order of the index, because a sort in SQL would copy every column of every row.
func (db MissionReader) Visits(ctx context.Context, p PlanQuery) ([]Visit, error) {
	condition, args := p.where()
	rows, err := db.query(ctx, fmt.Sprintf(`SELECT v.id, v.version, v.status, v.priority, v.scheduled_start,
		v.scheduled_end, v.assignee, v.request, s.deadline, s.breached_at IS NOT NULL, s.at_risk_due IS NOT NULL
		FROM (SELECT id, version, status, priority, scheduled_start, scheduled_end, assignee, request FROM mission
			WHERE %s ORDER BY scheduled_end, scheduled_start LIMIT $%d) AS v
		LEFT JOIN sla s ON s.mission = v.id`, condition, len(args)+1), append(args, p.Limit)...)
	assignees := map[string]*fieldmark.Assignee{} // by their JSON: each has many visits
	list, err := collect(rows, err, func(row scanner) (v Visit, err error) {
		var request string
		var assignee *string
		err = row.Scan(&v.ID, &v.Version, &v.Status, &v.Priority, timeCol{&v.Scheduled.Start},
			timeCol{&v.Scheduled.End}, &assignee, &request, nullTime{&v.Deadline}, &v.Breached, &v.AtRisk)
		if err != nil {
			return v, err
		}
		if v.Title, err = titleOf(request); err != nil || assignee == nil {
			return v, err
		}
		if v.Assignee = assignees[*assignee]; v.Assignee == nil {
			err = json.Unmarshal([]byte(*assignee), &v.Assignee)
			assignees[*assignee] = v.Assignee
		}
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("list visits: %w", err)
	}
	slices.SortFunc(list, func(a, b Visit) int {
		return cmp.Or(a.Scheduled.Start.Std().Compare(b.Scheduled.Start.Std()), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// titleOf returns the title of an encoded request, as fast as the thousands of a week need it. The quotes
// within a JSON string are escaped and the title precedes every object, so the first match is that member.
func titleOf(request string) (string, error) {
	_, rest, _ := strings.Cut(request, `,"title":"`)
	if end := strings.IndexAny(rest, `"\`); end >= 0 && rest[end] == '"' {
		return rest[:end], nil
	}
	var r struct {
		Title string `json:"title"`
	}
	err := json.Unmarshal([]byte(request), &r)
	return r.Title, err
}

// assigneesOf lists the ids of assignees in their order. Each step is one lookup in the index of
// assignees: DISTINCT would read the whole index.
const assigneesOf = `WITH RECURSIVE who (id) AS (
		SELECT MIN(assignee_id) FROM mission WHERE account = $1 AND assignee_id IS NOT NULL
		UNION ALL
		SELECT (SELECT MIN(m.assignee_id) FROM mission m WHERE m.account = $1 AND m.assignee_id > who.id)
			FROM who WHERE who.id IS NOT NULL)
	SELECT (SELECT m.assignee FROM mission m WHERE m.account = $1 AND m.assignee_id = who.id AND m.scheduled_end > $2
			ORDER BY m.scheduled_end DESC LIMIT 1)
		FROM who WHERE who.id IS NOT NULL LIMIT $3`

// Assignees lists those of at most limit assignees of an account, by id, who have a visit that ends after
// a time. Their names are those of the latest visit.
func (db MissionReader) Assignees(ctx context.Context, account string, since time.Time,
	limit int) ([]fieldmark.Assignee, error) {
	rows, err := db.query(ctx, assigneesOf, account, since.UnixMicro(), limit)
	list, err := collect(rows, err, func(row scanner) (a fieldmark.Assignee, err error) {
		return a, row.Scan(jsonCol{&a})
	})
	if err != nil {
		return nil, fmt.Errorf("list the assignees of %s: %w", account, err)
	}
	return slices.DeleteFunc(list, func(a fieldmark.Assignee) bool { return a.ID == "" }), nil
}
