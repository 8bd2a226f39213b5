package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/trace"
	"github.com/fieldmark/fieldmark/origin/store/check"
	"github.com/fieldmark/fieldmark/origin/store/commit"
	"github.com/fieldmark/fieldmark/origin/store/partition"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

// Config names a database: a file of SQLite or a PostgreSQL server.
type Config struct {
	Path      string // of the SQLite file; created, readable by its owner only, if it does not exist
	URL       string // postgres://… of a PostgreSQL database; then Path is ignored
	ReadURL   string // postgres://… of a replica of URL, for ReadAt; empty: none
	Readers   int    // connections that read, of each server; 0 means twice the processors, at least 4
	NoMigrate bool   // return ErrOldSchema for a database older than this program instead of migrating it

	Tracer *trace.Tracer // records a span for each write; may be nil
	Hooks  Hooks         // for metrics
}

// Hooks are functions to call when something happens, for metrics. Each may be
// nil. They run while callers wait and must be quick.
type Hooks struct {
	Commit func(took time.Duration, writes int) // a transaction ended that ran this many callers' writes
	Query  func(took time.Duration)             // a query returned its first row
	Event  func(fieldmark.EventType)            // an event was committed
	// Refused: the database answered and did not write, for example because its
	// disk is full.
	Refused func()
}

// dialect holds the differences between the two engines. All other SQL is the same
// for both: $1 placeholders, BIGINT microseconds, TEXT states, 0 and 1.
type dialect struct {
	commit.Engine

	goose      goose.Dialect
	timeline   string       // SQL expression: what follows the id of the log in its name
	updateLog  string       // statement: the numbers of a commit, and the timeline that it is on
	snapshot   string       // statement: begins a transaction that sees one state of the database
	migrations string       // their directory
	shared     bool         // several processes may use the database at once
	checks     []check.Rule // of the engine itself
}

// Pool is the use of a pool of connections.
type Pool struct {
	Name        string // writer or readers
	InUse, Idle int    // connections
	Waits       int64  // requests for a connection that had to wait, since the start
}

// Pools returns how much the connections to the database are used.
func (s *Store) Pools() []Pool {
	pools := make([]Pool, 0, 2)
	for name, db := range map[string]*sql.DB{"writer": s.writer, "readers": s.readers} {
		use := db.Stats()
		pools = append(pools, Pool{Name: name, InUse: use.InUse, Idle: use.Idle, Waits: use.WaitCount})
	}
	return pools
}

// ReplicaStatus is the state of the replica.
type ReplicaStatus struct {
	replica.Counts
	Up  bool  // it answers and has the log of the primary
	Lag int64 // how many events it is behind the primary; 0 while it is not up
}

// Replica returns the state of the replica; false without one.
func (s *Store) Replica(ctx context.Context) (ReplicaStatus, bool, error) {
	if s.replica == nil {
		return ReplicaStatus{}, false, nil
	}
	status := ReplicaStatus{Counts: s.replica.Counts()}
	head, err := s.LogStatus(ctx, 0)
	if err != nil {
		return status, true, err
	}
	lag, err := s.replica.Lag(ctx, replica.Position{Log: head.Name, Event: head.Head})
	if err == nil {
		status.Up, status.Lag = true, lag
	}
	return status, true, nil // a replica that is unreachable is a state, not an error
}

// Store is an open database. Its methods may be called from any goroutine. Those
// that read rows are grouped by noun: BrandReader, MissionReader and so on.
type Store struct {
	AccessReader
	AccessRequestReader
	CDNReader
	AttachmentReader
	BrandReader
	CertificateReader
	ClaimReader
	EventReader
	IntakeReader
	MailReader
	MissionReader
	ModuleReader
	NoteReader
	OfferReader
	PublicLogReader
	TechnicianReader
	SiteCheckReader
	StandingReader
	StatsReader
	StudyReader
	WebhookReader
	WorldReader

	dialect *dialect
	writer  *sql.DB
	readers *sql.DB
	replica *replica.Replica // nil: none
	logID   string
	watch   watch
	group   *commit.Group[*write]
	state   txState
	tracer  *trace.Tracer
	events  Hooks
	outage  outage

	// Reads that come with every request.
	keys, ids commit.Loader[string, Key] // by the public part, by id
	intake    commit.Loader[string, Intake]
	responses commit.Loader[ResponseKey, SavedResponse]

	divided atomic.Pointer[partition.Status] // nil: not known yet

	prepared sync.Map // SQL text -> *sql.Stmt of readers
}

// Open opens the database cfg names, and creates and migrates it as needed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{dialect: sqlite(), tracer: cfg.Tracer, events: cfg.Hooks}
	name := redacted(cfg.URL)
	if cfg.URL != "" {
		s.dialect = postgres()
	} else {
		path, err := absolute(cfg.Path)
		if err != nil {
			return nil, err
		}
		cfg.Path, name = path, path
	}
	if err := s.open(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", name, err), s.Close())
	}
	return s, nil
}

// open opens the database with its pools. Readers are bounded, because each connection of PostgreSQL is a process
// there; SQLite has one writer, which the group uses.
func (s *Store) open(ctx context.Context, cfg Config) (err error) {
	if cfg.URL != "" {
		err = s.openPostgres(ctx, cfg.URL, cfg)
	} else {
		err = s.openSQLite(ctx, cfg.Path, cfg)
	}
	if err != nil {
		return err
	}
	if cfg.Readers <= 0 {
		cfg.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if err := s.openReplica(cfg); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(cfg.Readers)
	s.readers.SetMaxIdleConns(cfg.Readers)
	s.group = s.newGroup()
	s.OfferReader = OfferReader{s}
	s.PublicLogReader = PublicLogReader{s, s.dialect.timeline}
	s.AccessReader, s.BrandReader, s.EventReader = AccessReader{s}, BrandReader{s}, EventReader{s}
	s.AccessRequestReader, s.AttachmentReader = AccessRequestReader{s}, AttachmentReader{s}
	s.CDNReader, s.CertificateReader, s.ClaimReader = CDNReader{s}, CertificateReader{s}, ClaimReader{s}
	s.IntakeReader, s.MailReader = IntakeReader{s}, MailReader{s}
	s.MissionReader, s.ModuleReader, s.NoteReader = MissionReader{s}, ModuleReader{s}, NoteReader{s}
	s.TechnicianReader, s.SiteCheckReader, s.StandingReader = TechnicianReader{s}, SiteCheckReader{s}, StandingReader{s}
	s.StatsReader, s.WebhookReader, s.WorldReader = StatsReader{s}, WebhookReader{s}, WorldReader{s}
	s.StudyReader = StudyReader{s}
	s.keys.Load, s.ids.Load = loadKeys(s, "public"), loadKeys(s, "id")
	s.responses.Load, s.intake.Load = s.loadResponses, loadIntake(s)
	s.watch.make()
	return s.readLogID(ctx)
}

// logName is the one row of table log.
const logName = "main"

// readLogID reads the id of the event log, and gives a new log one.
func (s *Store) readLogID(ctx context.Context) error {
	read := func() error {
		return queryErr(s.queryRow(ctx, `SELECT id FROM log WHERE name = $1`, logName).Scan(&s.logID))
	}
	err := read()
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	err = s.Write(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.exec(ctx, `INSERT INTO log (name, id, number) VALUES ($1, $2, 0) ON CONFLICT (name) DO NOTHING`,
			logName, rand.Text())
		return err
	})
	if err != nil {
		return err
	}
	return read()
}

// Log returns the id of the event log. Event numbers of different logs must not be
// compared, nor those of one log before and after a failover: the names in LogStatus differ.
func (s *Store) Log() string { return s.logID }

// Shared reports whether other processes may use the database: then their leases
// are valid until they expire.
func (s *Store) Shared() bool { return s.dialect.shared }

// Ping reports whether the database can be read.
func (s *Store) Ping(ctx context.Context) error {
	var n int64
	if err := s.queryRow(ctx, `SELECT number FROM log WHERE name = $1`, logName).Scan(&n); err != nil {
		return fmt.Errorf("ping store: %w", unavailable(err))
	}
	return nil
}

// Inspect reads the whole database and reports on every consistency rule. It is
// for tests and operators, not for the request path.
func (s *Store) Inspect(ctx context.Context) ([]check.Finding, error) {
	return check.Inspect(ctx, s.query, s.dialect.checks)
}

// Check returns every violated consistency rule as one error.
func (s *Store) Check(ctx context.Context) error {
	findings, err := s.Inspect(ctx)
	all := []error{err}
	for _, f := range findings {
		for _, name := range f.Broken {
			all = append(all, fmt.Errorf("%s: not %s", f.Rule, name))
		}
	}
	return errors.Join(all...)
}

// MaintainPartitions adds the partitions of events, deliveries and attempts that will be needed, and
// drops those whose rows are all from before two times, of which a zero one keeps all rows. The status
// has no ranges if the tables are not divided.
func (s *Store) MaintainPartitions(ctx context.Context, events, deliveries time.Time) (partition.Status, error) {
	if !s.dialect.shared {
		return partition.Status{}, nil
	}
	status, err := partitions(s.readers).Maintain(ctx, partition.Keep{Events: events, Deliveries: deliveries,
		Delivery: fieldmark.FirstID(fieldmark.PrefixDelivery, deliveries)})
	s.divided.Store(&status)
	return status, unavailable(err)
}

// PartitionsAhead returns how many partitions have no event yet, as of the last MaintainPartitions; false if the
// tables are not divided. Without any, and with the one of the newest event full, every write fails.
func (s *Store) PartitionsAhead() (n int, divided bool) {
	if status := s.divided.Load(); status != nil {
		return status.Ahead, len(status.Ranges) > 0
	}
	return 0, false
}

// Close closes all connections once the writes that have begun are done. Reads and later writes fail.
func (s *Store) Close() error {
	var errs []error
	if s.group != nil { // first: until it returns, writes are running
		errs = append(errs, s.group.Close())
	}
	s.prepared.Range(func(_, st any) bool {
		errs = append(errs, st.(*sql.Stmt).Close())
		return true
	})
	if s.replica != nil {
		errs = append(errs, s.replica.Close())
	}
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Topic is something a reader may wait for.
type Topic int

// The topics: the event log grew; a delivery, an audit, a preview, a replay, a
// deadline, a certificate, a standing, a claim, a mail or a mail about a request for a key became due; a
// check of a site changed its state; a delivery or a deadline of a test world became due; a CDN was
// added or changed; a clock of a test world began or ended to advance; the event log grew by an
// event that edges act on; leases of deliveries or endpoints expired; a test world is to be reset;
// labels are to be indexed; another process shares work; anything was committed.
const (
	TopicEvents Topic = iota
	TopicDeliveries
	TopicAudits
	TopicPreviews
	TopicReplays
	TopicDeadlines
	TopicCertificates
	TopicStandings
	TopicClaims
	TopicSiteChecks
	TopicMail
	TopicAccessMail
	TopicTestDeliveries
	TopicTestDeadlines
	TopicCDNs
	TopicTestClocks
	TopicEdgeEvents
	TopicDeliveryLeases
	TopicExpiredEndpoints
	TopicWorldResets
	TopicLabels
	TopicWorkers
	TopicCommits
	topics
)

// dueTimes select when the next work of a topic is due, in microseconds, and NULL if none is. All use indexes: their
// cost does not depend on how many rows wait. Leased rows count as due unless they are leased for as long as they
// exist, so rows whose worker stopped are found when their leases end. Those of test worlds are due in the time of
// their world. That of work is of the shares of the process. $1 is the name of the process.
var dueTimes = []struct {
	topic Topic
	query string
	work  Work
	one   bool // only the process with the first share looks: the query reads all rows that any process works on
}{
	{topic: TopicWorkers, query: `SELECT 0 FROM worker WHERE name <> $1 LIMIT 1`},
	{topic: TopicDeadlines, query: `SELECT MIN(due_at) FROM sla WHERE due_at IS NOT NULL AND world = ''`},
	{topic: TopicDeadlines, query: olderRules(`world = ''`)},
	{topic: TopicDeadlines, query: `SELECT MIN(check_at) FROM payment WHERE check_at IS NOT NULL AND world = ''`},
	{topic: TopicDeadlines, query: `SELECT MIN(due_at) FROM pending_alert WHERE world = ''`},
	{topic: TopicTestDeadlines, query: worldDue(`SELECT MIN(due_at) FROM sla WHERE due_at IS NOT NULL`)},
	{topic: TopicTestDeadlines, query: olderRules(`world <> ''`)},
	{topic: TopicTestDeadlines, query: worldDue(`SELECT MIN(check_at) FROM payment WHERE check_at IS NOT NULL`)},
	{topic: TopicTestDeadlines, query: worldDue(`SELECT MIN(due_at) FROM pending_alert WHERE true`)},
	{topic: TopicDeliveries, work: WorkDeliveries, query: `SELECT MIN(wake_at) FROM endpoint
		WHERE wake_at IS NOT NULL AND deleted_at IS NULL AND world = ''`},
	{topic: TopicTestDeliveries, query: worldDue(`SELECT MIN(wake_at) FROM endpoint WHERE wake_at IS NOT NULL
		AND deleted_at IS NULL`)},
	{topic: TopicDeliveryLeases, work: WorkDeliveries, one: true,
		query: `SELECT MIN(lease_until) FROM delivery WHERE lease_owner IS NOT NULL`},
	{topic: TopicExpiredEndpoints, query: `SELECT MIN(expires_at) FROM endpoint WHERE deleted_at IS NULL
		AND expires_at IS NOT NULL`},
	{topic: TopicReplays, query: `SELECT 0 FROM replay WHERE state = 'running' LIMIT 1`},
	{topic: TopicTestClocks, query: `SELECT MIN(COALESCE(lease_until, 0)) FROM test_clock WHERE advancing = 1`},
	{topic: TopicWorldResets, query: `SELECT 0 FROM account WHERE reset_at IS NOT NULL LIMIT 1`},
	{topic: TopicLabels, query: `SELECT 0 FROM account WHERE labels_indexed IS NOT NULL LIMIT 1`},
	{topic: TopicAudits, work: WorkAudits, query: `SELECT MIN(due_at) FROM audit WHERE failure = ''`},
	{topic: TopicSiteChecks, query: `SELECT MIN(due_at) FROM site_check WHERE due_at IS NOT NULL`},
	{topic: TopicPreviews, query: `SELECT 0 FROM preview WHERE state IN ('waiting', 'running') LIMIT 1`},
	{topic: TopicStandings, query: `SELECT MIN(due_at) FROM standing WHERE due_at IS NOT NULL`},
	{topic: TopicStandings, query: `SELECT 0 FROM activation a WHERE a.event = (SELECT MAX(event) FROM activation
			WHERE percent = 100) AND ((SELECT MIN(module) FROM standing) < a.digest
			OR (SELECT MAX(module) FROM standing) > a.digest)`},
	{topic: TopicCertificates, query: `SELECT MIN(due_at) FROM certificate`},
	{topic: TopicClaims, query: `SELECT MIN(due_at) FROM claim WHERE due_at IS NOT NULL`},
	{topic: TopicMail, query: `SELECT MIN(due_at) FROM mail_address WHERE due_at IS NOT NULL`},
	{topic: TopicAccessMail, query: `SELECT MIN(due_at) FROM access_request WHERE due_at IS NOT NULL`},
	{topic: TopicCDNs, query: `SELECT MIN(COALESCE(lease_until, 0)) FROM cdn WHERE state <> 'refused'`},
}

// olderRules is 0 if an SLA was computed with older rules. PostgreSQL has no statistics of how
// many are, and would scan all for a condition on each; the minimum is in an index.
func olderRules(where string) string {
	return `CASE WHEN (SELECT MIN(rules) FROM sla WHERE rules IS NOT NULL AND ` + where + `)
		< (SELECT COALESCE(MAX(revision), 0) FROM sla_rule) THEN 0 END`
}

// worldDue selects the first real time of what query finds in the world of each test account.
func worldDue(query string) string {
	return `SELECT MIN((` + query + ` AND world = a.id AND world <> '') - a.clock_offset) FROM account a
		WHERE ` + standing
}

// dueQuery reads all dueTimes in one round trip.
func dueQuery(of map[Work]Shares) string {
	columns := make([]string, len(dueTimes))
	for i, due := range dueTimes {
		shares := of[due.work]
		if due.one && shares.HasFirst() {
			shares = nil
		} else if due.one {
			shares = Shares{}
		}
		columns[i] = "(" + shares.minimum(due.query) + ")"
	}
	return "SELECT " + strings.Join(columns, ", ")
}

// PublishDue wakes the readers of each topic that has work due at a time: what became due since, and what another
// process wrote. Shared work counts if the process, whose name is worker, has its share. It returns when the next work
// is due; zero means that none is planned. It is one read, however many rows wait.
func (s *Store) PublishDue(ctx context.Context, worker string, of map[Work]Shares,
	now time.Time) (next time.Time, err error) {
	times, columns := make([]*int64, len(dueTimes)), make([]any, len(dueTimes))
	for i := range times {
		columns[i] = &times[i]
	}
	if err := s.queryRow(ctx, dueQuery(of), worker).Scan(columns...); err != nil {
		return next, fmt.Errorf("look for due work: %w", queryErr(err))
	}
	var due [topics]bool
	for i, micros := range times {
		if micros == nil {
			continue
		}
		at := time.UnixMicro(*micros)
		if due[dueTimes[i].topic] = due[dueTimes[i].topic] || !at.After(now); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	s.watch.notify(due)
	return next, nil
}

// Work is work that the processes of a shared database divide among each other.
type Work string

// The kinds of work.
const (
	WorkDeliveries Work = "deliveries"
	WorkAudits     Work = "audits"
)

// shareCount is the number of shares of each kind of work. It limits how many processes get a part,
// and how equal the parts are: of 5 processes, the largest part is 13 of 64.
const shareCount = 64

// ShareOf returns the share of the row with an id.
func ShareOf(id string) int { return int(crc32.ChecksumIEEE([]byte(id)) % shareCount) }

// Shares are the shares of a kind of work that one process does; nil: all. They decide which rows a
// process reads. The lease of a row ensures that only one process works on it: two processes
// may have a share for a moment.
type Shares []int

// SharesOf returns every nth share from a first one on.
func SharesOf(first, n int) Shares {
	s := make(Shares, 0, shareCount/n+1)
	for ; first < shareCount; first += n {
		s = append(s, first)
	}
	return s
}

// HasFirst reports whether the first share is one of them: one process has it, and does what needs
// doing once.
func (s Shares) HasFirst() bool { return s == nil || slices.Contains(s, 0) }

// list returns the numbers with a format for each.
func (s Shares) list(format string) string {
	all := make([]string, len(s))
	for i, n := range s {
		all[i] = fmt.Sprintf(format, n)
	}
	return strings.Join(all, ", ")
}

// minimum restricts a query for a minimum, which ends with a condition, to the shares: one step into
// an index for each, so that rows of other shares are not read.
func (s Shares) minimum(query string) string {
	switch {
	case s == nil:
		return query
	case len(s) == 0:
		return `SELECT CAST(NULL AS BIGINT)`
	}
	return `WITH one(n) AS (VALUES ` + s.list("(%d)") + `) SELECT MIN((` + query + ` AND share = one.n)) FROM one`
}

// first returns a query for the first rows of a table in an order, at most limit, that meet a
// condition. Of several shares it takes one after the other, in random order, until it has enough: the
// first rows of all shares would mean to read and sort all rows that are due.
func (s Shares) first(columns, table, condition, order, limit string) string {
	text := `SELECT ` + columns + ` FROM ` + table + ` WHERE ` + condition
	end := ` ORDER BY ` + order + ` LIMIT ` + limit
	if len(s) == 0 {
		return text + s.condition() + end
	}
	return `SELECT due.* FROM (SELECT n FROM (VALUES ` + s.list("(%d)") + `) AS v(n) ORDER BY random()) AS one
		CROSS JOIN LATERAL (` + text + ` AND share = one.n` + end + `) AS due LIMIT ` + limit
}

// condition restricts a query, whose condition it continues, to the shares.
func (s Shares) condition() string {
	switch {
	case s == nil:
		return ""
	case len(s) == 0:
		return ` AND 1 = 0`
	}
	return ` AND share IN (` + s.list("%d") + `)`
}

// Worker is a process that shares work with others, until its lease ends.
type Worker struct {
	Name       string
	Work       []Work
	LeaseUntil time.Time
}

// Workers lists the processes that share work, also those whose lease has ended, by name.
func (s *Store) Workers(ctx context.Context) ([]Worker, error) { return workers(ctx, s) }

func workers(ctx context.Context, db querier) ([]Worker, error) {
	rows, err := db.query(ctx, `SELECT name, work, lease_until FROM worker ORDER BY name`)
	list, err := collect(rows, err, func(row scanner) (w Worker, err error) {
		return w, row.Scan(&w.Name, jsonCol{&w.Work}, exactTime{&w.LeaseUntil})
	})
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return list, nil
}

// PutWorker stores the lease of a process that shares work, deletes those that have ended, and lists
// the processes that remain.
func (t *Tx) PutWorker(ctx context.Context, w Worker, now time.Time) ([]Worker, error) {
	work, err := jsonText(w.Work)
	if err == nil {
		_, err = t.exec(ctx, `INSERT INTO worker (name, work, lease_until) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET work = excluded.work, lease_until = excluded.lease_until`,
			w.Name, work, w.LeaseUntil.UnixMicro())
	}
	if err == nil {
		_, err = t.exec(ctx, `DELETE FROM worker WHERE lease_until <= $1`, now.UnixMicro())
	}
	if err != nil {
		return nil, fmt.Errorf("put worker %s: %w", w.Name, err)
	}
	return workers(ctx, t)
}

// DeleteWorker ends the lease of a process: the others take its shares.
func (t *Tx) DeleteWorker(ctx context.Context, name string) error {
	if _, err := t.exec(ctx, `DELETE FROM worker WHERE name = $1`, name); err != nil {
		return fmt.Errorf("delete worker %s: %w", name, err)
	}
	return nil
}

// watch wakes readers of this process after a commit, and when PublishDue finds work for them.
type watch struct {
	mu      sync.Mutex
	changed [topics]chan struct{}
}

func (w *watch) make() {
	for i := range w.changed {
		w.changed[i] = make(chan struct{})
	}
}

// Watch returns a channel that is closed at the next commit that touches t. Take
// it before reading, or a commit in between goes unnoticed.
func (s *Store) Watch(t Topic) <-chan struct{} {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.changed[t]
}

// notify wakes all waiters of touched topics.
func (w *watch) notify(touched [topics]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, hit := range touched {
		if hit {
			close(w.changed[i])
			w.changed[i] = make(chan struct{})
		}
	}
}
