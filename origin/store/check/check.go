package check

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldmark/fieldmark"
)

// maxFindings bounds what one kind of damage adds to a report.
// A hundred names are enough to find the cause; a damaged table would otherwise fill the
// report.
const maxFindings = 100

// Query runs a query, as sql.DB.QueryContext does.
// A backup and a live database are checked by the same code.
type Query func(ctx context.Context, text string, args ...any) (*sql.Rows, error)

// Finding is a rule and the rows that break it.
type Finding struct {
	Rule   string
	Broken []string // the names of the first hundred rows; empty if the rule holds
}

// Inspect reads the whole database and reports on every rule, those of the engine
// included.
// It reads every row, so it takes minutes for a large database. A finding is no error: the
// error is of the check itself.
func Inspect(ctx context.Context, query Query, engine []Rule) ([]Finding, error) {
	var findings []Finding
	for _, r := range slices.Concat(rules, engine) {
		// The limit is set around the query, so that rules need not repeat it.
		rows, err := query(ctx, fmt.Sprintf(`SELECT * FROM (%s) AS broken LIMIT %d`, r.Query, maxFindings))
		broken, err := corrupt(names(rows, err))
		if err != nil {
			return findings, fmt.Errorf("check that %s: %w", r.Name, err)
		}
		findings = append(findings, Finding{Rule: r.Name, Broken: broken})
	}
	// The rules in SQL cannot hash, so documents are compared here.
	// A document with another digest would be served under the name of content that a signature covers.
	digests := Finding{Rule: "a digest matches its document"}
	for _, text := range []string{`SELECT digest, body FROM facts`, `SELECT digest, body FROM module`} {
		rows, err := query(ctx, text)
		broken, err := corrupt(mismatches(rows, err))
		if err != nil {
			// The errors of the query and of the rows are handled alike: a damaged page shows
			// in either.
			return findings, fmt.Errorf("check that %s: %w", digests.Rule, err)
		}
		digests.Broken = append(digests.Broken, broken...)
	}
	// By pages, because a log may have hundreds of millions of events.
	events := Finding{Rule: "every event matches its checksum"}
	var err error
	if events.Broken, err = Events(ctx, query); err != nil {
		return findings, fmt.Errorf("check that %s: %w", events.Rule, err)
	}
	// Last, because it reads every tile: an error before it is found sooner.
	logs := Finding{Rule: "the leaves of a public log lead to its checkpoint"}
	if logs.Broken, err = corrupt(publicLogs(ctx, query)); err != nil {
		return findings, fmt.Errorf("check that %s: %w", logs.Rule, err)
	}
	return append(findings, digests, events, logs), nil
}

// names reads the first column of each row.
func names(rows *sql.Rows, err error) (all []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// corrupt turns the error by which SQLite reports a damaged file into a row that
// breaks a rule, so that the other rules are checked as well.
// A damaged page breaks one rule; the others may still be readable and show what is lost.
func corrupt(broken []string, err error) ([]string, error) {
	e, ok := errors.AsType[*modernc.Error](err)
	if !ok || e.Code()&0xff != sqlite3.SQLITE_CORRUPT && e.Code() != sqlite3.SQLITE_NOTADB {
		return broken, err
	}
	return append(broken, "(unreadable) "+e.Error()+"; restore a backup with fieldmark restore"), nil
}

// mismatches returns the digests of documents that do not match them.
// A digest that does not match means that the bytes changed on the disk, or that another program wrote
// to the table.
func mismatches(rows *sql.Rows, err error) (broken []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(broken) < maxFindings {
		var digest fieldmark.Digest
		var body []byte
		if err := rows.Scan(&digest, &body); err != nil {
			return nil, err
		}
		// Facts and modules are named by their digest, so a changed byte is found without another copy.
		if fieldmark.DigestOf(sha256.Sum256(body)) != digest {
			broken = append(broken, string(digest))
		}
	}
	return broken, rows.Err()
}
