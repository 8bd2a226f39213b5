package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/fieldmark/fieldmark"
)

const auditColumns = `number, at, kind, actor, act, target, was, becomes, address, agent, request, sum`

func scanAudit(row scanner) (e fieldmark.AuditEntry, err error) {
	var was, becomes string
	err = row.Scan(&e.Number, timeCol{&e.At}, &e.Kind, &e.Actor, &e.Act, &e.Target, &was, &becomes, &e.Address,
		&e.Agent, &e.Request, &e.Sum)
	e.Before, e.After = json.RawMessage(was), json.RawMessage(becomes)
	if was == "" {
		e.Before = nil
	}
	if becomes == "" {
		e.After = nil
	}
	return e, queryErr(err)
}

// LastAuditEntry reads the newest entry of the audit log, or a zero one.
func (t AccessTx) LastAuditEntry(ctx context.Context) (fieldmark.AuditEntry, error) {
	e, err := scanAudit(t.queryRow(ctx, `SELECT `+auditColumns+` FROM audit_log ORDER BY number DESC LIMIT 1`))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return e, fmt.Errorf("read the newest entry of the audit log: %w", err)
	}
	return e, nil
}

// AddAuditEntry adds an entry to the audit log. Its number is one more than that
// of the newest. Entries are never changed.
func (t AccessTx) AddAuditEntry(ctx context.Context, e *fieldmark.AuditEntry) error {
	_, err := t.exec(ctx, `INSERT INTO audit_log (`+auditColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
		$11, $12)`,
		e.Number, e.At.Micros(), string(e.Kind), e.Actor, e.Act, e.Target, string(e.Before), string(e.After),
		e.Address, e.Agent, e.Request, e.Sum)
	if err != nil {
		return fmt.Errorf("add entry %d to the audit log: %w", e.Number, err)
	}
	return nil
}

// AuditEntriesAfter lists up to limit entries after a number, the oldest first.
func (db AccessReader) AuditEntriesAfter(ctx context.Context, after int64, limit int) ([]fieldmark.AuditEntry, error) {
	rows, err := db.query(ctx, `SELECT `+auditColumns+` FROM audit_log WHERE number > $1 ORDER BY number LIMIT $2`,
		after, limit)
	return audits(rows, err)
}

// AuditEntriesBefore lists up to limit entries before a number, the newest
// first; 0 begins at the newest. A non-empty actor or target filters the list.
func (db AccessReader) AuditEntriesBefore(ctx context.Context, before int64, actor, target string,
	limit int) ([]fieldmark.AuditEntry, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	rows, err := db.query(ctx, `SELECT `+auditColumns+` FROM audit_log WHERE number < $1
		AND ($2 = '' OR actor = $2) AND ($3 = '' OR target = $3) ORDER BY number DESC LIMIT $4`, before, actor,
		target, limit)
	return audits(rows, err)
}

func audits(rows *sql.Rows, err error) ([]fieldmark.AuditEntry, error) {
	list, err := collect(rows, err, scanAudit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return list, nil
}
