package store

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// PutModule keeps a scoring module under its digest.
func (t *Tx) PutModule(ctx context.Context, ref fieldmark.ModuleRef, body []byte, at fieldmark.Time) error {
	_, err := t.exec(ctx, `INSERT INTO module (digest, name, version, body, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (digest) DO NOTHING`, string(ref.Digest), ref.Name, ref.Version, body, at.Micros())
	if err != nil {
		return fmt.Errorf("put module %s: %w", ref.Digest, err)
	}
	return nil
}

// ActivateModule puts a kept module in force as of an event.
func (t *Tx) ActivateModule(ctx context.Context, digest fieldmark.Digest, event int64) error {
	_, err := t.exec(ctx, `INSERT INTO activation (event, digest) VALUES ($1, $2)`, event, string(digest))
	if err != nil {
		return fmt.Errorf("activate module %s: %w", digest, err)
	}
	return nil
}

func scanRef(row scanner) (r fieldmark.ModuleRef, err error) {
	err = row.Scan(&r.Name, &r.Version, &r.Digest)
	return r, none(err)
}

func activeModule(ctx context.Context, from asker) (fieldmark.ModuleRef, error) {
	ref, err := scanRef(from.queryRow(ctx, `SELECT m.name, m.version, m.digest FROM activation a
		JOIN module m ON m.digest = a.digest ORDER BY a.event DESC LIMIT 1`))
	if err != nil {
		return fieldmark.ModuleRef{}, fmt.Errorf("read the active module: %w", err)
	}
	return ref, nil
}

// ActiveModule names the module in force; the error is ErrNone where there is none.
func (s *Store) ActiveModule(ctx context.Context) (fieldmark.ModuleRef, error) {
	return activeModule(ctx, s)
}

// ActiveModule names the module in force as the transaction sees it.
func (t *Tx) ActiveModule(ctx context.Context) (fieldmark.ModuleRef, error) {
	return activeModule(ctx, t)
}

// ModuleRef names a kept module by its digest.
func (t *Tx) ModuleRef(ctx context.Context, digest fieldmark.Digest) (fieldmark.ModuleRef, error) {
	ref, err := scanRef(t.queryRow(ctx, `SELECT name, version, digest FROM module WHERE digest = $1`, string(digest)))
	if err != nil {
		return fieldmark.ModuleRef{}, fmt.Errorf("read the name of module %s: %w", digest, err)
	}
	return ref, nil
}

// Module reads the bytes of a kept module; the error is ErrNone where there is none.
func (s *Store) Module(ctx context.Context, digest fieldmark.Digest) ([]byte, error) {
	var body []byte
	if err := none(s.queryRow(ctx, `SELECT body FROM module WHERE digest = $1`, string(digest)).Scan(&body)); err != nil {
		return nil, fmt.Errorf("read module %s: %w", digest, err)
	}
	return body, nil
}
