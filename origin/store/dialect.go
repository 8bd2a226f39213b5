package store

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pressly/goose/v3"
)

// dialect holds what the two engines do not share. All other texts are one for
// both: $1 placeholders, BIGINT microseconds, TEXT states, 0 and 1.
type dialect struct {
	goose  goose.Dialect
	folder string // of its migrations

	// begin opens a transaction that no other Write runs beside, in whatever
	// process. Functions given to Write may read and then write what follows
	// from it, without locks of their own.
	begin []string

	prepares bool          // a text is prepared once for each connection; otherwise the driver sees to it
	patience time.Duration // bounds a transaction; 0 where the engine's own time-outs do
	shared   bool          // several processes may work on the record at once
	plain    bool          // a text must be UTF-8 without NUL

	engine []rule // what the engine says of itself
}

// lockKey names the advisory lock of writers, and lockKey+1 that of migrations:
// "fieldmar" in ASCII, so that nobody else's lock in the database is the same.
const lockKey = "7379540980639031666"

// groupPatience bounds a transaction on a server that may be far away: its lock
// is everybody's. 256 members at ten slow milliseconds each fit into it.
const groupPatience = 15 * time.Second

func sqlite() *dialect {
	return &dialect{
		goose: goose.DialectSQLite3, folder: "migrations/sqlite",
		begin: []string{`BEGIN IMMEDIATE`}, prepares: true,
		engine: []rule{
			{"the file is whole", `SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok'`},
			{"every reference leads to a row", `SELECT "table" || ' names none of ' || parent FROM pragma_foreign_key_check`},
		},
	}
}

func postgres() *dialect {
	return &dialect{
		goose: goose.DialectPostgres, folder: "migrations/postgres",
		// Statements see what was committed before they began, so once the lock
		// is held everything earlier writers did is seen. The lock is not on the
		// row of table log, because locking a row writes, and a claim that finds
		// nothing should not.
		begin:    []string{`BEGIN ISOLATION LEVEL READ COMMITTED`, `SELECT pg_advisory_xact_lock(` + lockKey + `)`},
		patience: groupPatience, shared: true, plain: true,
		engine: []rule{
			{"every index is valid", `SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
				WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)`},
			{"every reference leads to a row", `SELECT c.conname::text FROM pg_constraint c
				WHERE c.connamespace = current_schema()::regnamespace AND NOT c.convalidated`},
		},
	}
}

// args makes arguments fit for the engine. PostgreSQL refuses texts that SQLite
// takes: as a name to look for such a text finds nothing either way, and what is
// kept was cleaned at the door already.
func (d *dialect) args(args []any) []any {
	if !d.plain {
		return args
	}
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if !isPlain(a) {
				args[i] = plain(a)
			}
		case []string:
			for j, s := range a {
				a[j] = plain(s)
			}
		}
	}
	return args
}

func isPlain(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

func plain(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}
