package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// rule is something that must hold of the record: a question whose every answer
// is a row that breaks it.
type rule struct{ name, question string }

// rules are asked by Check. Each names the rows that break it.
var rules = []rule{
	{"the log counts its events", `SELECT l.number FROM log l
		WHERE l.number <> (SELECT COALESCE(MAX(e.number), 0) FROM event e)`},
	{"event numbers have no gap", `SELECT e.number FROM event e
		WHERE e.number > (SELECT MIN(f.number) FROM event f)
		AND NOT EXISTS (SELECT 1 FROM event f WHERE f.number = e.number - 1)`},
	{"every mission was created by an event", `SELECT m.id FROM mission m
		WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.created')`},
	{"every completed mission has its event", `SELECT m.id FROM mission m
		WHERE m.completed_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = m.id AND e.type = 'mission.completed')`},
	{"a mission has one event per version", `SELECT m.id FROM mission m
		WHERE m.version <> (SELECT COUNT(*) FROM event e WHERE e.subject = m.id AND e.type LIKE 'mission.%')`},
	{"a delivery has its endpoint and its event", `SELECT d.id FROM delivery d
		WHERE NOT EXISTS (SELECT 1 FROM endpoint p WHERE p.id = d.endpoint)
		OR NOT EXISTS (SELECT 1 FROM event e WHERE e.number = d.event)`},
	{"a delivery counts its attempts", `SELECT d.id FROM delivery d
		WHERE d.attempts <> (SELECT COUNT(*) FROM attempt a WHERE a.delivery = d.id)`},
	{"only due deliveries are leased", `SELECT d.id FROM delivery d WHERE d.state <> 'due' AND d.lease_until IS NOT NULL`},
	{"a delivery's state is known", `SELECT d.id FROM delivery d WHERE d.state NOT IN ('due', 'done', 'failed')`},
	{"a brand's facts are its newest revision", `SELECT b.slug FROM brand b
		WHERE b.facts_digest IS NOT NULL AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.brand = b.slug
			AND r.digest = b.facts_digest AND r.last_at = b.facts_at
			AND r.first_at = (SELECT MAX(q.first_at) FROM revision q WHERE q.brand = b.slug))`},
}

// Check reads the whole record and returns every way in which it is wrong. It
// is for tests and for an operator's peace of mind, not for the request path.
func (s *Store) Check(ctx context.Context) error {
	var wrong []error
	for _, r := range rules {
		rows, err := s.query(ctx, r.question)
		broken, err := collect(rows, err, func(row scanner) (name string, err error) { return name, row.Scan(&name) })
		if err != nil {
			return fmt.Errorf("check that %s: %w", r.name, err)
		}
		for _, name := range broken {
			wrong = append(wrong, fmt.Errorf("%s: not %s", r.name, name))
		}
	}
	digests, err := s.checkDigests(ctx)
	if err != nil {
		return err
	}
	engine, err := s.checkEngine(ctx)
	if err != nil {
		return err
	}
	return errors.Join(append(append(wrong, digests...), engine...)...)
}

// checkDigests computes the digest of every document that is named by one.
func (s *Store) checkDigests(ctx context.Context) ([]error, error) {
	rows, err := s.query(ctx, `SELECT digest, body FROM facts UNION ALL SELECT digest, body FROM module`)
	return collectWrong(rows, err, func(row scanner) error {
		var digest fieldmark.Digest
		var body []byte
		if err := row.Scan(&digest, &body); err != nil {
			return err
		}
		if got := fieldmark.DigestOf(sha256.Sum256(body)); got != digest {
			return broken(fmt.Sprintf("a digest names its bytes: %s holds %s", digest, got))
		}
		return nil
	})
}

// checkEngine asks SQLite itself.
func (s *Store) checkEngine(ctx context.Context) ([]error, error) {
	rows, err := s.query(ctx, `PRAGMA quick_check`)
	wrong, err := collectWrong(rows, err, func(row scanner) error {
		var word string
		if err := row.Scan(&word); err != nil {
			return err
		}
		if word != "ok" {
			return broken(word)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = s.query(ctx, `PRAGMA foreign_key_check`)
	loose, err := collectWrong(rows, err, func(row scanner) error {
		var table, parent string
		var id, key any
		if err := row.Scan(&table, &id, &parent, &key); err != nil {
			return err
		}
		return broken(fmt.Sprintf("a row of %s names none of %s: %v", table, parent, id))
	})
	return append(wrong, loose...), err
}

// broken is a finding, told apart from a failure to look.
type broken string

// Error implements error.
func (b broken) Error() string { return string(b) }

// maxFindings bounds what one kind of damage may add to a report.
const maxFindings = 100

// collectWrong gathers findings from rows until there are enough.
func collectWrong(rows interface {
	scanner
	Next() bool
	Close() error
	Err() error
}, err error, look func(scanner) error) ([]error, error) {
	if err != nil {
		return nil, fmt.Errorf("check the record: %w", err)
	}
	defer rows.Close()
	var wrong []error
	for rows.Next() && len(wrong) < maxFindings {
		err := look(rows)
		if _, ok := errors.AsType[broken](err); ok {
			wrong = append(wrong, err)
		} else if err != nil {
			return nil, fmt.Errorf("check the record: %w", err)
		}
	}
	return wrong, rows.Err()
}
