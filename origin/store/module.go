package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// PutModule keeps a scoring module under its digest, with what its check said. A
// module that is there stays, but takes over a signature.
func (t *Tx) PutModule(ctx context.Context, m fieldmark.SignedModule, body []byte, report json.RawMessage, at fieldmark.Time) error {
	var signature, said *string
	if m.Signature != nil {
		text, err := json.Marshal(m.Signature)
		if err != nil {
			return fmt.Errorf("put module %s: %w", m.Digest, err)
		}
		signature = new(string(text))
	}
	if report != nil {
		said = new(string(report))
	}
	_, err := t.exec(ctx, `INSERT INTO module (digest, name, version, body, created_at, signature, report) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (digest) DO UPDATE SET signature = COALESCE(excluded.signature, module.signature), report = COALESCE(excluded.report, module.report)`,
		string(m.Digest), m.Name, m.Version, body, at.Micros(), signature, said)
	if err != nil {
		return fmt.Errorf("put module %s: %w", m.Digest, err)
	}
	return nil
}

// ActivateModule puts a kept module in force as of an event, or on trial where
// percent is below 100.
func (t *Tx) ActivateModule(ctx context.Context, digest fieldmark.Digest, event int64, percent int) error {
	_, err := t.exec(ctx, `INSERT INTO activation (event, digest, percent) VALUES ($1, $2, $3)`, event, string(digest), percent)
	if err != nil {
		return fmt.Errorf("activate module %s: %w", digest, err)
	}
	return nil
}

func scanSigned(row scanner, more ...any) (m fieldmark.SignedModule, err error) {
	var signature *string
	if err := none(row.Scan(append([]any{&m.Name, &m.Version, &m.Digest, &signature}, more...)...)); err != nil {
		return m, err
	}
	if signature != nil {
		m.Signature = new(fieldmark.ModuleSignature)
		err = json.Unmarshal([]byte(*signature), m.Signature)
	}
	return m, err
}

// modulePlan reads which modules score; the error is ErrNone where there is none.
func modulePlan(ctx context.Context, from asker) (plan fieldmark.ModulePlan, err error) {
	const chosen = `SELECT m.name, m.version, m.digest, m.signature, a.event, a.percent FROM activation a JOIN module m ON m.digest = a.digest `
	var event, newest int64
	var percent int
	if plan.SignedModule, err = scanSigned(from.queryRow(ctx, chosen+`WHERE a.percent = 100 ORDER BY a.event DESC LIMIT 1`), &event, &percent); err != nil {
		return plan, fmt.Errorf("read the active module: %w", err)
	}
	before, err := scanSigned(from.queryRow(ctx, chosen+`WHERE a.percent = 100 AND a.digest <> $1 ORDER BY a.event DESC LIMIT 1`, string(plan.Digest)), &newest, &percent)
	if err == nil {
		plan.Previous = &before
	} else if !errors.Is(err, ErrNone) {
		return plan, fmt.Errorf("read the module before: %w", err)
	}
	latest, err := scanSigned(from.queryRow(ctx, chosen+`ORDER BY a.event DESC LIMIT 1`), &newest, &percent)
	if err != nil {
		return plan, fmt.Errorf("read the module on trial: %w", err)
	}
	if newest > event && percent < 100 {
		plan.Canary = &fieldmark.ModuleCanary{SignedModule: latest, Percent: percent}
	}
	return plan, nil
}

// ModulePlan reads which modules score; the error is ErrNone where there is none.
func (s *Store) ModulePlan(ctx context.Context) (fieldmark.ModulePlan, error) {
	return modulePlan(ctx, s)
}

// ModulePlan reads which modules score, as the transaction sees it.
func (t *Tx) ModulePlan(ctx context.Context) (fieldmark.ModulePlan, error) {
	return modulePlan(ctx, t)
}

// SignedModule names a kept module by its digest.
func (t *Tx) SignedModule(ctx context.Context, digest fieldmark.Digest) (fieldmark.SignedModule, error) {
	m, err := scanSigned(t.queryRow(ctx, `SELECT name, version, digest, signature FROM module WHERE digest = $1`, string(digest)))
	if err != nil {
		return m, fmt.Errorf("read the name of module %s: %w", digest, err)
	}
	return m, nil
}

// Module reads the bytes of a kept module; the error is ErrNone where there is none.
func (s *Store) Module(ctx context.Context, digest fieldmark.Digest) ([]byte, error) {
	var body []byte
	if err := none(s.queryRow(ctx, `SELECT body FROM module WHERE digest = $1`, string(digest)).Scan(&body)); err != nil {
		return nil, fmt.Errorf("read module %s: %w", digest, err)
	}
	return body, nil
}

// Modules lists up to limit kept modules, the newest first, without reports.
func (s *Store) Modules(ctx context.Context, limit int) ([]fieldmark.ModuleRecord, error) {
	rows, err := s.query(ctx, `SELECT name, version, digest, signature, LENGTH(body), created_at FROM module
		ORDER BY created_at DESC, digest LIMIT $1`, limit)
	list, err := collect(rows, err, func(row scanner) (r fieldmark.ModuleRecord, err error) {
		var at int64
		r.SignedModule, err = scanSigned(row, &r.Bytes, &at)
		r.CreatedAt = fieldmark.AtMicros(at)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	return list, nil
}

// ModuleRecord reads what is known of one module, with its report.
func (s *Store) ModuleRecord(ctx context.Context, digest fieldmark.Digest) (r fieldmark.ModuleRecord, err error) {
	var at int64
	var report *string
	r.SignedModule, err = scanSigned(s.queryRow(ctx, `SELECT name, version, digest, signature, LENGTH(body), created_at, report
		FROM module WHERE digest = $1`, string(digest)), &r.Bytes, &at, &report)
	if err != nil {
		return r, fmt.Errorf("read the record of module %s: %w", digest, err)
	}
	if r.CreatedAt = fieldmark.AtMicros(at); report != nil {
		r.Report = json.RawMessage(*report)
	}
	return r, nil
}
