package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldmark/fieldmark"
)

// primary is the part of a result code of SQLite that names the kind of failure.
const primary = 0xff

// detailRefuses is what a caller is told when the database answers and does not
// write.
const detailRefuses = "the database takes nothing just now"

// unreachable tells a caller that the server is away or the record takes nothing,
// if that is what went wrong; he may come again.
func unreachable(err error) error {
	if err == nil || fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err // a caller's deadline is a time-out of the network too, in Go's eyes
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	away, detail := connecting || network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone), "the database cannot be reached"
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch said.Code {
		// Shut down, crashed, starting; too many connections; the lock did not come
		// within lock_timeout.
		case "57P01", "57P02", "57P03", "53300", "55P03":
			away = true
		}
	}
	if refusesWrites(err) {
		away, detail = true, detailRefuses
	}
	if !away {
		return err
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable, Detail: detail, RetryAfter: comeBack, Err: err}
}

// refusesWrites reports whether the database answers and does not write.
func refusesWrites(err error) bool {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch said.Code {
		// Out of disk, out of memory, a failing disk; a standby that was not promoted yet.
		case "53100", "53200", "58030", "25006":
			return true
		}
	}
	if said, ok := errors.AsType[*modernc.Error](err); ok {
		switch said.Code() & primary {
		// A full or failing disk, or another process that does not let go of the file.
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY:
			return true
		}
	}
	return false
}
