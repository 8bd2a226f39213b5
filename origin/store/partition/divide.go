package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// errFull: while the tables were read, a step of events was written.
var errFull = errors.New("the first partition was filled meanwhile; repeat with a larger step")

// divide makes each table the first partition of a new table with its name.
func divide(ctx context.Context, tx *sql.Tx, first Range, step int64) error {
	if err := run(ctx, tx, lockTables); err != nil {
		return err
	}
	if newest, err := head(ctx, tx); err != nil || newest >= first.To {
		return errors.Join(err, errFull)
	}
	between, err := texts(ctx, tx, `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
		FROM pg_constraint WHERE contype = 'f' AND conrelid IN ('delivery'::regclass, 'attempt'::regclass)
		AND confrelid IN ('event'::regclass, 'delivery'::regclass)`)
	if err == nil {
		err = run(ctx, tx, between...)
	}
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := replace(ctx, tx, t.name, t.column, first); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return extend(ctx, tx, first.To, step, ahead)
}

// replace makes a table the first partition of a new one with its name, owner, privileges, foreign keys
// and indexes. Later migrations change indexes by the names that they have in the new table.
func replace(ctx context.Context, tx *sql.Tx, table, column string, first Range) error {
	leaf := first.table(table)
	// A unique index without the column of the partition cannot be one of the whole table.
	after, err := texts(ctx, tx, `SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
		WHERE i.indrelid = $1::regclass AND (NOT i.indisunique OR (SELECT a.attnum FROM pg_attribute a
			WHERE a.attrelid = i.indrelid AND a.attname = $2) = ANY (i.indkey::int2[])) ORDER BY 1`, table, column)
	if err != nil {
		return err
	}
	// Both name the new table by its name, which the old one has no more.
	more, err := texts(ctx, tx, `SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', $1::text, conname,
			pg_get_constraintdef(oid)) FROM pg_constraint WHERE contype = 'f' AND conrelid = $1::regclass
		UNION ALL SELECT format('ALTER TABLE %I OWNER TO %s', $1::text, relowner::regrole) FROM pg_class
			WHERE oid = $1::regclass
		UNION ALL SELECT format('GRANT %s ON %I TO %s', p.privilege_type, $1::text,
			CASE p.grantee WHEN 0 THEN 'PUBLIC' ELSE p.grantee::regrole::text END)
			FROM pg_class c, aclexplode(c.relacl) p WHERE c.oid = $1::regclass AND p.grantee <> c.relowner`, table)
	if err != nil {
		return err
	}
	names, err := texts(ctx, tx, `SELECT format('ALTER INDEX %s RENAME TO %I', i.indexrelid::regclass,
		left(c.relname, 40) || '_from_0') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = $1::regclass`, table)
	if err != nil {
		return err
	}
	statements := append(names, fmt.Sprintf(`ALTER TABLE %s RENAME TO %s`, table, leaf),
		fmt.Sprintf(`CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)
			PARTITION BY RANGE (%s)`, table, leaf, column))
	statements = append(append(statements, after...), more...)
	return run(ctx, tx, append(statements,
		fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%d)`, table, leaf, first.To),
		fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT %s`, leaf, bound))...)
}

// extend adds n partitions from a number on, like the newest ones.
func extend(ctx context.Context, tx *sql.Tx, from, step int64, n int) error {
	all, err := ranges(ctx, tx)
	if err != nil || len(all) == 0 {
		return err
	}
	like := all[len(all)-1]
	for ; n > 0; n-- {
		r := Range{From: from, To: from + step}
		for _, t := range tables {
			err := run(ctx, tx,
				fmt.Sprintf(`CREATE TABLE %s (LIKE %s INCLUDING ALL)`, r.table(t.name), like.table(t.name)),
				fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)`, t.name, r.table(t.name),
					r.From, r.To))
			if err != nil {
				return err
			}
		}
		from = r.To
	}
	return nil
}

// texts reads the first column of each row.
func texts(ctx context.Context, db query, text string, args ...any) (all []string, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}
