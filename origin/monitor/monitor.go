package monitor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/cdn"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// DefaultBackupAge is the age of the last backup from which it is outdated: a weekly backup
// that failed is noticed the day after.
const DefaultBackupAge = 8 * 24 * time.Hour

// Config configures a Service. Disk, Count and BackupAge may be zero; the others are required.
type Config struct {
	Store        *store.Store
	Webhooks     *webhook.Service
	Certificates *acme.Service
	Modules      *module.Service
	CDNs         *cdn.Service
	Jobs         *job.Runner
	Log          *slog.Logger

	// Disk returns the free and the total bytes of the disk of the database; nil: it is on
	// another machine.
	Disk func() (free, total uint64, err error)
	// Count returns how many events of a type this process has committed; nil: none.
	Count func(fieldmark.EventType) int64
	// BackupAge is the age of the last backup from which it is outdated; 0: DefaultBackupAge,
	// negative: backups are not watched.
	BackupAge time.Duration
}

// Service lists issues and counts. Its methods may be called from any goroutine.
type Service struct {
	cfg        Config
	started    time.Time
	filling    atomic.Int64 // since when the disk fills, in Unix seconds; 0: it does not
	lastCounts counts       // only Run uses it
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	cfg.BackupAge = cmp.Or(cfg.BackupAge, DefaultBackupAge)
	if cfg.Count == nil {
		cfg.Count = func(fieldmark.EventType) int64 { return 0 }
	}
	return &Service{cfg: cfg, started: time.Now()}
}

// maxPerCode limits the issues of one code in the list: a page of a hundred failing endpoints
// hides the other problems.
const maxPerCode = 20

// maxWait bounds the check. A database that does not answer in this time is an issue itself.
const maxWait = 3 * time.Second * timeout.Scale

// Issues returns everything that is wrong, critical issues first. It reads a bounded number of
// rows through indexes. A database that cannot be read is an issue, not an error.
func (s *Service) Issues(ctx context.Context) (fieldmark.IssueList, error) {
	now := time.Now()
	// The checks that need no database come first: they are the answer when it is unreachable.
	list := append(s.Outage(), s.disk(now)...)
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	// They run one after the other: a page that is opened during an incident must not add load.
	for _, check := range []func(context.Context, time.Time) ([]fieldmark.Issue, error){
		s.endpoints, s.overdue, s.slas, s.keys, s.certificates, s.edges, s.backup, s.cdns,
	} {
		found, err := check(ctx, now)
		if fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) || ctx.Err() != nil {
			if !slices.ContainsFunc(list, isDatabase) {
				list = append(list, databaseUnavailable(now))
			}
			break
		}
		if err != nil {
			return fieldmark.IssueList{}, fmt.Errorf("look for issues: %w", err)
		}
		list = append(list, found...)
	}
	// Critical first, then the oldest: the first issue of an incident often explains the
	// others. The sort is stable, so equal ones keep the order of the checks.
	slices.SortStableFunc(list, func(a, b fieldmark.Issue) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), a.Since.Std().Compare(b.Since.Std()))
	})
	return fieldmark.IssueList{Data: limit(list), CheckedAt: fieldmark.At(now)}, nil
}

// isDatabase keeps the issue of an outage single: Outage and a failed check may both find it.
func isDatabase(i fieldmark.Issue) bool { return i.Code == fieldmark.IssueDatabaseUnavailable }

// limit replaces the issues of a code after maxPerCode by one that counts them.
// The list is sorted, so the most urgent issues of a code are those that stay.
func limit(list []fieldmark.Issue) []fieldmark.Issue {
	kept, seen := []fieldmark.Issue{}, map[fieldmark.IssueCode]int{}
	last := map[fieldmark.IssueCode]int{} // index of the issue that counts the others
	for _, i := range list {
		seen[i.Code]++
		switch n := seen[i.Code]; {
		case n < maxPerCode:
			kept = append(kept, i)
		case n == maxPerCode:
			last[i.Code] = len(kept)
			kept = append(kept, i)
		default:
			more := &kept[last[i.Code]]
			more.Title, more.Subject = fmt.Sprintf("%d more like these", n-maxPerCode+1), ""
		}
	}
	return kept
}

// Outage returns the issues of a database that cannot be reached or refuses writes, as of the
// last write of this process, which is at most a second ago. It reads nothing.
func (s *Service) Outage() (list []fieldmark.Issue) {
	unreachable, refuses := s.cfg.Store.Outage(time.Now())
	if !unreachable.IsZero() {
		list = append(list, databaseUnavailable(unreachable))
	}
	if !refuses.IsZero() {
		list = append(list, fieldmark.Issue{
			Code: fieldmark.IssueDatabaseReadOnly, Severity: fieldmark.SeverityCritical, Since: fieldmark.At(refuses),
			Title:  "The database refuses writes",
			Effect: "Reads work. Changes, new missions and webhook attempts fail with 503.",
			Action: "Check the disk of the database: it may be full, or the server may be a standby.",
		})
	}
	return list
}

// databaseUnavailable returns the issue of an unreachable database. It names the effect for
// callers, who see the service and not the database.
func databaseUnavailable(since time.Time) fieldmark.Issue {
	return fieldmark.Issue{
		Code: fieldmark.IssueDatabaseUnavailable, Severity: fieldmark.SeverityCritical, Since: fieldmark.At(since),
		Title: "The database cannot be reached",
		Effect: "Edges serve badges, scores and pages from their caches. Missions, changes and this console fail " +
			"with 503; callers retry.",
		Action: "Start PostgreSQL, or correct FIELDMARK_DATABASE_URL. Nothing has to be restarted afterwards.",
	}
}

// The disk fills if less than a tenth or a gigabyte is free, and is critical at a third of that.
const (
	leastFreeShare = 10 // per cent
	leastFree      = 1 << 30
	criticalPart   = 3
)

// disk returns the issue of a disk that fills. The time since when is kept in memory, so it
// starts again with the process.
func (s *Service) disk(now time.Time) []fieldmark.Issue {
	if s.cfg.Disk == nil {
		return nil
	}
	free, total, err := s.cfg.Disk()
	// On a large disk a gigabyte is enough to act in time, on a small one a tenth would be too
	// little warning.
	least := min(total*leastFreeShare/100, leastFree)
	if err != nil || free >= least {
		s.filling.Store(0)
		return nil
	}
	// Only the first finding sets the time; later checks keep it until enough is free.
	s.filling.CompareAndSwap(0, now.Unix())
	severity := fieldmark.SeverityWarning
	if free < least/criticalPart {
		severity = fieldmark.SeverityCritical
	}
	return []fieldmark.Issue{{
		Code: fieldmark.IssueDiskFilling, Severity: severity, Since: fieldmark.At(time.Unix(s.filling.Load(), 0)),
		Title:  fmt.Sprintf("The disk of the database has %d MiB left", free>>20),
		Effect: "Writes fail when it is full: no missions, no changes, no webhooks.",
		Action: "Free space or enlarge the volume. A shorter --keep-deliveries or --keep-events needs less.",
	}}
}
