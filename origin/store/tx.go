package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// Tx is the database inside a transaction. It is valid until the function that received
// it returns. Its methods are grouped by noun, as those of Store are: each part writes the
// rows of its noun and also has the methods of the reader, which see the writes of the
// transaction.
type Tx struct {
	AccessTx
	AccessRequestTx
	AttachmentTx
	BrandTx
	CDNTx
	CertificateTx
	ClaimTx
	EventTx
	IntakeTx
	MailTx
	MissionTx
	ModuleTx
	NoteTx
	OfferTx
	PublicLogTx
	SiteCheckTx
	StandingTx
	StatsTx
	StudyTx
	TechnicianTx
	WebhookTx
	WorldTx
	*tx
}

// tx is the state that all parts of a Tx share.
type tx struct {
	db      *commit.Tx
	state   *txState
	touched [topics]bool
	emitted []fieldmark.EventType
	wrote   bool // it ran or queued a statement that is not a query

	// Values that RolledBack restores in state if the function fails.
	events    int64 // numbered before
	missions  []MissionKey
	responses []ResponseKey
}

func newTx(db *commit.Tx, state *txState) *Tx {
	t := &tx{db: db, state: state, events: state.log.numbered}
	return &Tx{
		AccessTx{AccessReader{t}, t}, AccessRequestTx{AccessRequestReader{t}, t}, AttachmentTx{AttachmentReader{t}, t},
		BrandTx{BrandReader{t}, t}, CDNTx{CDNReader{t}, t}, CertificateTx{CertificateReader{t}, t},
		ClaimTx{ClaimReader{t}, t}, EventTx{EventReader{t}, t},
		IntakeTx{IntakeReader{t}, t}, MailTx{MailReader{t}, t},
		MissionTx{MissionReader{t}, t},
		ModuleTx{ModuleReader{t}, t}, NoteTx{NoteReader{t}, t}, OfferTx{OfferReader{t}, t},
		PublicLogTx{PublicLogReader{t, state.timeline}, t},
		SiteCheckTx{SiteCheckReader{t}, t}, StandingTx{StandingReader{t}, t}, StatsTx{StatsReader{t}, t},
		StudyTx{StudyReader{t}, t},
		TechnicianTx{TechnicianReader{t}, t},
		WebhookTx{WebhookReader{t}, t}, WorldTx{WorldReader{t}, t}, t,
	}
}

func (t *tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	t.wrote = true
	return t.db.Exec(ctx, text, args...)
}

// queueExec is exec of a statement whose result is not needed.
func (t *tx) queueExec(ctx context.Context, text string, args ...any) error {
	t.wrote = true
	return t.db.Queue(ctx, text, args...)
}

// queueInsert is queueExec of an INSERT of one row; see commit.Tx.QueueInsert for
// the order of rows that refer to others.
func (t *tx) queueInsert(ctx context.Context, text string, args ...any) error {
	t.wrote = true
	return t.db.QueueInsert(ctx, text, args...)
}

func (t *tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return t.db.Query(ctx, text, args...)
}

func (t *tx) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	return t.db.QueryRow(ctx, text, args...)
}

// txState is the state that the writes of one transaction share. The transaction holds
// the writer lock, so only its own statements change the rows that it has read. Only the
// leader of the group accesses txState.
type txState struct {
	args       func([]any) []any
	timeline   string // see dialect
	log        logState
	endpoints  map[string][]Subscriber // by account
	rules      *SLARules               // nil until they are read
	accounts   map[string]accountState
	used       map[string]dayUse // by group
	prefetched prefetched

	// Sums over the writes of a transaction, for Done.
	touched [topics]bool
}

// Prefetch names rows that a write is likely to read. Each query is a round trip to the
// server, and all members of a group wait for it. Prefetched rows of all members are read
// in one batch when the transaction begins. A write may also read other rows, and does
// not have to read the named ones.
type Prefetch struct {
	Missions  []MissionKey  // that may be added
	Responses []ResponseKey // of responses that may be saved or repeated
}

// prefetched contains the prefetched rows. A key that is not in a map was not read.
type prefetched struct {
	missions  map[MissionKey]bool            // whether there is one
	responses map[ResponseKey]*SavedResponse // nil if it does not exist
}

// write is one call of Store.Write.
type write struct {
	fn       func(context.Context, *Tx) error
	prefetch *Prefetch // nil: fn must not run twice
	priority commit.Priority
	store    *Store
	tx       *Tx
}

// Run implements commit.Write.
func (w *write) Run(ctx context.Context, db *commit.Tx) error {
	w.tx = newTx(db, &w.store.state)
	return w.fn(ctx, w.tx)
}

// Repeatable implements commit.Write.
func (w *write) Repeatable() bool { return w.prefetch != nil }

// Priority implements commit.Write.
func (w *write) Priority() commit.Priority { return w.priority }

// RolledBack implements commit.Write: it removes the changes of the write from the
// shared state.
func (w *write) RolledBack() {
	t, state := w.tx.tx, &w.store.state
	state.log.numbered = t.events
	if t.wrote { // other members may have read what it wrote
		clear(state.endpoints)
		clear(state.accounts)
		clear(state.used)
		state.rules = nil
	}
	for _, name := range t.missions {
		delete(state.prefetched.missions, name)
	}
	for _, name := range t.responses {
		delete(state.prefetched.responses, name)
	}
}

// Committed implements commit.Write.
func (w *write) Committed() {
	for topic, hit := range w.tx.touched {
		w.store.state.touched[topic] = w.store.state.touched[topic] || hit
	}
	if w.store.events.Event != nil {
		for _, kind := range w.tx.emitted {
			w.store.events.Event(kind)
		}
	}
}

func (s *Store) newGroup() *commit.Group[*write] {
	s.state.args = s.dialect.Args
	return commit.NewGroup(commit.Config[*write]{
		Engine: s.dialect.Engine, DB: s.writer,
		Begin: func() {
			s.state = txState{args: s.dialect.Args, timeline: s.dialect.timeline,
				endpoints: make(map[string][]Subscriber),
				accounts:  make(map[string]accountState), used: make(map[string]dayUse)}
		},
		Prefetch: s.prefetch,
		End:      s.updateLog,
		Done: func(took time.Duration, writes int) {
			if s.events.Commit != nil {
				s.events.Commit(took, writes)
			}
			s.state.touched[TopicCommits] = true
			s.watch.notify(s.state.touched)
		},
	})
}

// prefetch returns the queries for the rows that the writes name, and for the rows that
// every write reads.
func (s *Store) prefetch(writes []*write) []commit.Query {
	state := &s.state
	state.prefetched = prefetched{make(map[MissionKey]bool), make(map[ResponseKey]*SavedResponse)}
	var missions []MissionKey
	var responses []ResponseKey
	accounts := make(map[string]bool)
	for _, w := range writes {
		for _, name := range w.prefetch.Missions {
			name = name.normalized()
			if _, ok := state.prefetched.missions[name]; !ok {
				state.prefetched.missions[name] = false
				missions, accounts[name.Account] = append(missions, name), true
			}
		}
		for _, name := range w.prefetch.Responses {
			if _, ok := state.prefetched.responses[name]; !ok {
				state.prefetched.responses[name] = nil
				responses = append(responses, name)
			}
		}
	}
	queries := []commit.Query{{Text: logQuery, Args: []any{logName}, Scan: state.log.scan}}
	if len(missions) > 0 {
		state.rules = defaultRules()
		queries = append(queries,
			commit.Query{Text: rulesQuery, Scan: state.rules.scan}, state.prefetchEndpoints(accounts),
			state.prefetchAccounts(accounts),
			state.prefetchMissions(missions))
	}
	if len(responses) > 0 {
		queries = append(queries, state.prefetchResponses(responses))
	}
	return queries
}

// Write runs fn in a transaction and returns when its writes are on disk. No other fn
// runs at the same time, in any process, so fn can base its writes on what it reads.
// The functions of several callers share one transaction, each under a separate
// savepoint: an error or panic of fn rolls back fn alone and is returned to its caller.
// The caller may cancel until fn starts. After that fn runs to completion under a
// context that ignores the cancellation of the caller's context but has its values,
// because interrupting one statement would roll back the other functions.
func (s *Store) Write(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return s.write(ctx, nil, fn)
}

// WriteWithPrefetch is Write for a function that names the rows that it reads and that
// can run twice. With a server, the statements of all such functions of a group are sent
// in one batch without savepoints. If a statement fails, the server does not report which
// function it belongs to: the transaction is rolled back, and each function runs once
// more under its own savepoint. So fn must have no effects other than database writes and
// results that the second run overwrites.
func (s *Store) WriteWithPrefetch(ctx context.Context, prefetch Prefetch, fn func(context.Context, *Tx) error) error {
	return s.write(ctx, &prefetch, fn)
}

func (s *Store) write(ctx context.Context, prefetch *Prefetch, fn func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, span := s.tracer.Child(trace.From(ctx), "database.write", trace.Internal)
	defer span.End()
	priority, _ := ctx.Value(priorityKey{}).(commit.Priority)
	w := &write{prefetch: prefetch, priority: priority, store: s, fn: func(group context.Context, t *Tx) error {
		own := context.WithoutCancel(ctx)
		if ends, ok := group.Deadline(); ok {
			bounded, cancel := context.WithDeadline(own, ends)
			defer cancel()
			own = bounded
		}
		if err := fn(own, t); err != nil || !IsDryRun(ctx) {
			return err
		}
		return errDryRun
	}}
	result, err := s.group.Do(ctx, w)
	if errors.Is(err, errDryRun) {
		err = nil
	}
	recordOutcome(ctx, w, result.Uncertain || err == nil && result.Panicked == "")
	span.SetInt("fieldmark.group", int64(result.Writes))
	if err != nil && span != nil {
		span.SetError(string(fieldmark.AsError(err).Code))
	}
	if result.Panicked != "" {
		panic("BUG: a write panicked: " + result.Panicked)
	}
	err = unavailable(err)
	s.outage.record(err, time.Now())
	if e, ok := errors.AsType[*fieldmark.Error](err); ok && e.Detail == detailRefuses && s.events.Refused != nil {
		s.events.Refused()
	}
	return err
}

type dryRunKey struct{}

// errDryRun ends a write that must not be committed.
var errDryRun = errors.New("dry run")

// WithDryRun returns a context under which every write runs, is rolled back and then succeeds. It
// ends as a write that failed does, so that the numbers of its events are given to the next one.
// Results must be read in the transaction.
func WithDryRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, dryRunKey{}, true)
}

// IsDryRun reports whether writes under a context are rolled back.
func IsDryRun(ctx context.Context) bool { return ctx.Value(dryRunKey{}) != nil }

// Outcome records whether a write may have been committed. It is safe for
// concurrent use.
type Outcome struct{ committed atomic.Bool }

// MayHaveCommitted reports whether a write under the context of the Outcome was
// committed, or ended without a response to its COMMIT. False means that the database
// is unchanged.
func (o *Outcome) MayHaveCommitted() bool { return o.committed.Load() }

type outcomeKey struct{}

// WithOutcome returns a context under which writes are recorded in o.
func WithOutcome(ctx context.Context, o *Outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, o)
}

// recordOutcome records the end of w in the Outcome of ctx, if there is one.
func recordOutcome(ctx context.Context, w *write, committed bool) {
	o, ok := ctx.Value(outcomeKey{}).(*Outcome)
	if ok && committed && w.tx != nil && w.tx.wrote {
		o.committed.Store(true)
	}
}

// LeaseKind is a table whose rows are processed under leases. An expired lease
// belongs to no worker, whatever owner the row names.
type LeaseKind string

// The kinds of lease.
const (
	LeaseDelivery LeaseKind = "delivery"
	LeaseAudit    LeaseKind = "audit"
	LeasePreview  LeaseKind = "preview"
	LeaseSLA      LeaseKind = "sla"
	LeasePayment  LeaseKind = "payment"
	LeaseAlert    LeaseKind = "pending_alert"

	LeaseCertificate LeaseKind = "certificate"
	LeaseClaim       LeaseKind = "claim"
	LeaseSiteCheck   LeaseKind = "site_check"
	LeaseDailyJob    LeaseKind = "daily_job"
	LeaseMail        LeaseKind = "mail_address"
	LeaseAccess      LeaseKind = "access_request"
	LeaseCDN         LeaseKind = "cdn"
	LeaseMirror      LeaseKind = "log_mirror"
)

// leaseKeys are the key columns of the tables.
var leaseKeys = map[LeaseKind]string{
	LeaseDelivery: "id", LeaseAudit: "brand", LeasePreview: "digest", LeaseSLA: "mission", LeasePayment: "id",
	LeaseAlert: "mission", LeaseCertificate: "name", LeaseClaim: "id", LeaseSiteCheck: "id",
	LeaseDailyJob: "name", LeaseMail: "id", LeaseAccess: "id", LeaseCDN: "name", LeaseTestClock: "account",
	LeaseMirror: "name",
}

// Lease identifies a leased row.
type Lease struct {
	Kind LeaseKind
	ID   string
}

// RenewLease extends a lease of owner that has not expired.
func (t *Tx) RenewLease(ctx context.Context, l Lease, owner string, now, until time.Time) error {
	err := t.queueExec(ctx, `UPDATE `+string(l.Kind)+` SET lease_until = $1 WHERE `+leaseKeys[l.Kind]+` = $2
		AND lease_owner = $3 AND lease_until > $4`,
		until.UnixMicro(), l.ID, owner, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("renew the lease of %s %s: %w", l.Kind, l.ID, err)
	}
	return nil
}

// claimCounts are the columns that count claims without a result. A worker that stops in order undoes its
// count. After a crash, when the leases of all workers are released, the count stays.
var claimCounts = map[LeaseKind]string{
	LeaseDelivery: "claims", LeasePreview: "claims", LeaseClaim: "claims", LeaseDailyJob: "claims",
	LeaseTestClock: "claims", LeaseAudit: "attempts", LeaseMail: "attempts", LeaseAccess: "attempts",
}

// ReleaseLeases ends all leases of owner; those of all owners if it is empty,
// which is right only while no worker runs.
func (t *Tx) ReleaseLeases(ctx context.Context, owner string) error {
	for table := range leaseKeys {
		uncount := ""
		if n := claimCounts[table]; n != "" {
			uncount = `, ` + n + ` = CASE WHEN $1 = '' OR ` + n + ` = 0 THEN ` + n + ` ELSE ` + n + ` - 1 END`
		}
		n, err := t.exec(ctx, `UPDATE `+string(table)+` SET lease_until = NULL, lease_owner = NULL`+uncount+`
			WHERE lease_owner IS NOT NULL AND (lease_owner = $1 OR $1 = '')`, owner)
		if err != nil {
			return fmt.Errorf("release the leases of %s: %w", table, err)
		}
		if n > 0 {
			t.touched[TopicDeliveries], t.touched[TopicAudits], t.touched[TopicPreviews],
				t.touched[TopicDeadlines], t.touched[TopicCertificates] = true, true, true, true, true
			t.touched[TopicClaims], t.touched[TopicTestDeliveries], t.touched[TopicTestDeadlines] = true, true, true
			t.touched[TopicSiteChecks], t.touched[TopicMail], t.touched[TopicAccessMail] = true, true, true
			t.touched[TopicCDNs] = true
		}
	}
	return t.ScheduleEndpoints(ctx)
}

// Subqueries that select due rows for claims, by index.
const (
	dueSLAs = `SELECT s.mission FROM sla s WHERE s.due_at <= $3 AND s.world = '' AND (s.lease_until IS NULL
		OR s.lease_until <= $3)
		ORDER BY s.due_at LIMIT $4`
	staleSLAs = `SELECT s.mission FROM sla s WHERE s.rules < $5 AND s.world = '' AND (s.lease_until IS NULL
		OR s.lease_until <= $3)
		ORDER BY s.rules LIMIT $4`
	duePayments = `SELECT p.id FROM payment p WHERE p.check_at <= $3 AND p.world = '' AND (p.lease_until IS NULL
		OR p.lease_until <= $3)
		ORDER BY p.check_at LIMIT $4`
	duePendingAlerts = `SELECT p.mission FROM pending_alert p WHERE p.due_at <= $3 AND p.world = ''
		AND (p.lease_until IS NULL OR p.lease_until <= $3)
		ORDER BY p.due_at LIMIT $4`

	// Those of test worlds. Due times are in the time of the world, leases in real time. CROSS JOIN makes SQLite
	// begin with the worlds.
	worldSLAs = `SELECT s.mission FROM account a CROSS JOIN sla s WHERE ` + standing + ` AND s.world = a.id
		AND s.world <> '' AND s.due_at <= $3 + a.clock_offset AND (s.lease_until IS NULL OR s.lease_until <= $3)
		LIMIT $4`
	worldStaleSLAs = `SELECT s.mission FROM sla s WHERE s.rules < $5 AND s.world <> '' AND (s.lease_until IS NULL
		OR s.lease_until <= $3) ORDER BY s.rules LIMIT $4`
	worldPayments = `SELECT p.id FROM account a CROSS JOIN payment p WHERE ` + standing + ` AND p.world = a.id
		AND p.world <> '' AND p.check_at <= $3 + a.clock_offset AND (p.lease_until IS NULL OR p.lease_until <= $3)
		LIMIT $4`
	worldPendingAlerts = `SELECT p.mission FROM account a CROSS JOIN pending_alert p WHERE ` + standing + `
		AND p.world = a.id AND p.world <> '' AND p.due_at <= $3 + a.clock_offset
		AND (p.lease_until IS NULL OR p.lease_until <= $3) LIMIT $4`
)

func (t *tx) claim(ctx context.Context, question string, args ...any) ([]string, error) {
	rows, err := t.query(ctx, question, args...)
	ids, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("claim due rows: %w", err)
	}
	return ids, nil
}

// SavedResponse is the response to a request with an idempotency key, for
// repetitions of the request.
type SavedResponse struct {
	Account, Key string
	Request      fieldmark.Digest
	Mission      string // empty if the response is about none or several
	Status       int
	Fields       map[string]string
	Body         []byte
	Sealed       bool // the body is encrypted, because it has a secret
	At           time.Time
}

const responseColumns = `k.request, COALESCE(k.mission, ''), k.status, k.fields, k.body, k.sealed = 1, k.at`

// scanResponse reads a saved response, after other columns.
func scanResponse(row scanner, before ...any) (k SavedResponse, err error) {
	err = row.Scan(append(before, &k.Request, &k.Mission, &k.Status, jsonCol{&k.Fields}, &k.Body, &k.Sealed,
		exactTime{&k.At})...)
	return k, queryErr(err)
}

func readResponse(ctx context.Context, db querier, account, key string, since time.Time) (SavedResponse, error) {
	k, err := scanResponse(db.queryRow(ctx, `SELECT `+responseColumns+` FROM idempotency k
		WHERE k.account = $1 AND k.name = $2 AND k.at > $3`, account, key, since.UnixMicro()))
	if err != nil {
		return SavedResponse{}, fmt.Errorf("read a saved response: %w", err)
	}
	k.Account, k.Key = account, key
	return k, nil
}

// SavedResponse reads the response saved under a key of an account since a time;
// the error is ErrNotFound if it does not exist.
func (s *Store) SavedResponse(ctx context.Context, account, key string, since time.Time) (SavedResponse, error) {
	if s.dialect.Prepare {
		return readResponse(ctx, s, account, key, since)
	}
	k, err := s.responses.Get(ctx, ResponseKey{account, key})
	if err == nil && !k.At.After(since) {
		err = ErrNotFound
	}
	if err != nil {
		return SavedResponse{}, fmt.Errorf("read a saved response: %w", queryErr(err))
	}
	k.Account, k.Key = account, key
	return k, nil
}

// ResponseKey is the idempotency key of an account.
type ResponseKey struct{ Account, Key string }

// prefetchResponses reads saved responses by their keys.
func (state *txState) prefetchResponses(names []ResponseKey) commit.Query {
	return commit.Query{Text: responsesQuery, Args: responseKeyArgs(names), Scan: func(row commit.Scanner) error {
		var i int
		k, err := scanResponse(row, &i)
		if err == nil {
			k.Account, k.Key = names[i-1].Account, names[i-1].Key
			state.prefetched.responses[names[i-1]] = &k
		}
		return err
	}}
}

const responsesQuery = `SELECT n.i, ` + responseColumns + ` FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n
	(account, name, i),
	LATERAL (SELECT * FROM idempotency k WHERE k.account = n.account AND k.name = n.name LIMIT 1) k`

func responseKeyArgs(names []ResponseKey) []any {
	return columns(names, func(n ResponseKey) []string { return []string{n.Account, n.Key} })
}

// loadResponses reads saved responses for several callers.
func (s *Store) loadResponses(ctx context.Context, names []ResponseKey) (map[ResponseKey]SavedResponse, error) {
	return load(ctx, s, names, responsesQuery, responseKeyArgs(names), scanResponse)
}

// SavedResponse is Store.SavedResponse in the transaction.
func (t MissionTx) SavedResponse(ctx context.Context, account, key string, since time.Time) (SavedResponse, error) {
	k, known := t.state.prefetched.responses[ResponseKey{account, key}]
	if !known {
		return readResponse(ctx, t, account, key, since)
	}
	if k == nil || !k.At.After(since) {
		return SavedResponse{}, fmt.Errorf("read a saved response: %w", ErrNotFound)
	}
	return *k, nil
}

// SaveResponse saves a response in place of one that has expired.
func (t MissionTx) SaveResponse(ctx context.Context, k SavedResponse) error {
	fields, err := jsonText(k.Fields)
	if err != nil {
		return fmt.Errorf("write the header of a saved response: %w", err)
	}
	var mission any
	if k.Mission != "" {
		mission = k.Mission
	}
	err = t.queueInsert(ctx, `INSERT INTO idempotency (account, name, request, mission, status, fields, body, at,
		sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account, name) DO UPDATE SET request = excluded.request, mission = excluded.mission,
			status = excluded.status, fields = excluded.fields, body = excluded.body, at = excluded.at,
				sealed = excluded.sealed`,
		k.Account, k.Key, string(k.Request), mission, k.Status, fields, string(k.Body), k.At.UnixMicro(),
		boolInt(k.Sealed))
	if err != nil {
		return fmt.Errorf("save a response: %w", err)
	}
	name := ResponseKey{k.Account, k.Key}
	if _, known := t.state.prefetched.responses[name]; known {
		t.state.prefetched.responses[name], t.responses = &k, append(t.responses, name)
	}
	return nil
}

// DeleteSavedResponse deletes the response saved under a key of an account.
func (t MissionTx) DeleteSavedResponse(ctx context.Context, account, key string) error {
	if _, err := t.exec(ctx, `DELETE FROM idempotency WHERE account = $1 AND name = $2`, account, key); err != nil {
		return fmt.Errorf("delete a saved response: %w", err)
	}
	if name := (ResponseKey{account, key}); t.state.prefetched.responses != nil {
		delete(t.state.prefetched.responses, name)
	}
	return nil
}

// PruneSavedResponses deletes up to limit responses saved before a time, the
// oldest first, and returns how many.
func (t MissionTx) PruneSavedResponses(ctx context.Context, before time.Time, limit int) (int64, error) {
	n, err := t.exec(ctx, `DELETE FROM idempotency WHERE (account, name) IN
		(SELECT account, name FROM idempotency WHERE at <= $1 ORDER BY at LIMIT $2)`, before.UnixMicro(), limit)
	if err != nil {
		return 0, fmt.Errorf("prune saved responses: %w", err)
	}
	return n, nil
}
