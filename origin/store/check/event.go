package check

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// eventPage bounds how many events one query of a check reads, so that no query
// runs into the server's time limit and no read transaction of SQLite stays open
// long enough to keep the write-ahead log from being reused.
const eventPage = 1000

// castagnoli is the polynomial of CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EventColumns are the columns that the checksum of an event covers, in this order.
const EventColumns = `number, id, type, at, subject, brand, tags, data, account, trace`

// Checksum returns the CRC-32C of the values of EventColumns. It detects accidental
// changes by storage, not manipulation. A value that is neither an integer nor a
// text, as after damage to the header of a row, has no checksum.
func Checksum(values []any) (sum int64, ok bool) {
	row := make([]byte, 0, 2048) // most events fit
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			row = binary.BigEndian.AppendUint64(row, uint64(v))
		case string:
			row = binary.BigEndian.AppendUint64(row, uint64(len(v))) // separates adjacent values
			// A length before each text keeps ("ab", "c") and ("a", "bc") apart.
			row = append(row, v...)
		default:
			return 0, false
		}
	}
	return int64(crc32.Checksum(row, castagnoli)), true
}

// Events describes the events that do not match their checksum, at most
// maxFindings of them. Events without a checksum are skipped.
func Events(ctx context.Context, query Query) (broken []string, err error) {
	return corrupt(brokenEvents(ctx, query))
}

// brokenEvents pages by number, not by OFFSET, which would read all earlier events for each page.
func brokenEvents(ctx context.Context, query Query) ([]string, error) {
	var broken []string
	for after := int64(0); len(broken) < maxFindings; {
		rows, err := query(ctx, `SELECT sum, `+EventColumns+` FROM event WHERE number > $1 ORDER BY number LIMIT $2`,
			after, eventPage)
		if err != nil {
			return broken, err
		}
		page, last, read, err := brokenPage(rows)
		broken = append(broken, page...)
		if err != nil {
			return broken, err
		}
		if read < eventPage || last <= after { // a damaged index may lead back
			break
		}
		after = last
	}
	return broken[:min(len(broken), maxFindings)], nil
}

// brokenPage checks one page of events. It returns the number of the last event
// and how many were read.
func brokenPage(rows *sql.Rows) (broken []string, last int64, read int, err error) {
	defer rows.Close()
	// Of any type: damage may have changed the type of a value, which SQLite stores with it.
	var values [11]any // the checksum and EventColumns
	var into [len(values)]any
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into[:]...); err != nil {
			return broken, last, read, err
		}
		read++
		last, _ = values[1].(int64)
		// Events from before the column was added have no checksum.
		if values[0] == nil {
			continue
		}
		if sum, ok := Checksum(values[1:]); !ok || values[0] != any(sum) {
			broken = append(broken,
				fmt.Sprintf("event %v (%.64v, %.64v of %.64v), "+
					"whose row changed after it was written; restore a backup",
					values[1], values[2], values[3], values[5]))
		}
	}
	return broken, last, read, rows.Err()
}
