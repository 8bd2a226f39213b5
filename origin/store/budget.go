package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Budget limits how often something may happen on all origins together: at most Quota times
// in any Window, and at most Burst times at once, from 1 to Quota. It is a generic cell rate
// algorithm, so a budget needs one row, and no refusal writes. Limits that must hold without
// Redis are budgets.
type Budget struct {
	Name   string // unique among all budgets; stored
	Quota  int
	Window time.Duration
	Burst  int
}

// interval is the time in which one use is regained. Burst uses at once and then one per
// interval are Quota in a Window: one interval more would be Quota + 1.
func (b Budget) interval() time.Duration {
	n := time.Duration(b.Quota - b.Burst + 1)
	return (b.Window + n - 1) / n
}

// wait returns how long until a use is allowed, 0 if it is now. fullAt is the time at which
// nothing of the budget is used.
func (b Budget) wait(fullAt, now time.Time) time.Duration {
	return max(fullAt.Add(-time.Duration(b.Burst-1)*b.interval()).Sub(now), 0)
}

// BudgetError is the error of a use that a budget does not allow.
type BudgetError struct {
	Budget     Budget
	RetryAfter time.Duration // until this budget allows it
}

// Error implements error.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget %s allows no use for %s", e.Budget.Name, e.RetryAfter)
}

// Spend uses every budget once, or none of them: the error is a *BudgetError of the first
// that does not allow it.
func (t SiteCheckTx) Spend(ctx context.Context, now time.Time, budgets ...Budget) error {
	args := make([]any, len(budgets))
	list := make([]string, len(budgets))
	for i := range budgets {
		args[i], list[i] = budgets[i].Name, fmt.Sprintf("$%d", i+1)
	}
	rows, err := t.query(ctx, `SELECT name, full_at FROM budget WHERE name IN (`+strings.Join(list, ", ")+`)`, args...)
	full := map[string]time.Time{}
	if _, err := collect(rows, err, func(row scanner) (none struct{}, err error) {
		var name string
		var at int64
		err = row.Scan(&name, &at)
		full[name] = time.UnixMicro(at)
		return none, err
	}); err != nil {
		return fmt.Errorf("read budgets: %w", err)
	}
	for _, b := range budgets {
		if wait := b.wait(full[b.Name], now); wait > 0 {
			return &BudgetError{b, wait}
		}
	}
	for _, b := range budgets {
		at := full[b.Name]
		if at.Before(now) {
			at = now
		}
		if err := t.queueExec(ctx, `INSERT INTO budget (name, full_at) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET full_at = excluded.full_at`, b.Name,
			at.Add(b.interval()).UnixMicro()); err != nil {
			return fmt.Errorf("spend budget %s: %w", b.Name, err)
		}
	}
	return nil
}

// AcquireHost reserves a host for one request until a time, unless another request is
// being made to it or its pause is not over: then it returns false and when that ends, at
// the latest. The request must call ReleaseHost; a process that dies blocks the host until
// that time.
func (t SiteCheckTx) AcquireHost(ctx context.Context, host string, now, until time.Time) (next time.Time, ok bool,
	err error) {
	n, err := t.exec(ctx, `INSERT INTO host_pause (host, next_at) VALUES ($1, $2)
		ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at WHERE host_pause.next_at <= $3`, host,
		until.UnixMicro(), now.UnixMicro())
	var at int64
	if err == nil && n == 0 {
		err = t.queryRow(ctx, `SELECT next_at FROM host_pause WHERE host = $1`, host).Scan(&at)
	}
	if err != nil {
		return next, false, fmt.Errorf("acquire host %s: %w", host, err)
	}
	return time.UnixMicro(at), n > 0, nil
}

// ReleaseHost ends a reservation until a time: the next request may be made at next.
func (t SiteCheckTx) ReleaseHost(ctx context.Context, host string, until, next time.Time) error {
	err := t.queueExec(ctx, `UPDATE host_pause SET next_at = $1 WHERE host = $2 AND next_at = $3`, next.UnixMicro(),
		host, until.UnixMicro())
	if err != nil {
		return fmt.Errorf("release host %s: %w", host, err)
	}
	return nil
}
