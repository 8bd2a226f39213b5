package store

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

// summedColumns are the columns of an event its checksum covers, in this order.
const summedColumns = `number, id, type, at, subject, brand, tags, data, account, trace`

// checksum returns the CRC-32C of a row's values. It finds bytes that storage
// changed by accident; it does not protect from people. A value that is neither
// an integer nor a text, as after damage to a row's header, has no checksum.
func checksum(values []any) (sum int64, ok bool) {
	row := make([]byte, 0, 2048) // most events fit
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			row = binary.BigEndian.AppendUint64(row, uint64(v))
		case string:
			row = binary.BigEndian.AppendUint64(row, uint64(len(v))) // keeps neighbours apart
			row = append(row, v...)
		default:
			return 0, false
		}
	}
	return int64(crc32.Checksum(row, castagnoli)), true
}

// damagedEvents describes the events that do not match their checksum, at most
// maxFindings of them. Events without one are skipped.
func damagedEvents(ctx context.Context, query func(context.Context, string, ...any) (*sql.Rows, error)) ([]string, error) {
	var wrong []string
	for after := int64(0); len(wrong) < maxFindings; {
		rows, err := query(ctx, `SELECT sum, `+summedColumns+` FROM event WHERE number > $1 ORDER BY number LIMIT $2`, after, eventPage)
		if err != nil {
			return wrong, err
		}
		page, last, read, err := damagedOf(rows)
		wrong = append(wrong, page...)
		if err != nil {
			return wrong, err
		}
		if read < eventPage || last <= after { // a damaged index may lead back
			break
		}
		after = last
	}
	return wrong[:min(len(wrong), maxFindings)], nil
}

// damagedOf checks one page of events and closes it. It returns the number of
// the last event and how many were read.
func damagedOf(rows *sql.Rows) (wrong []string, last int64, read int, err error) {
	defer rows.Close()
	var values [11]any // sum and summedColumns
	var into [len(values)]any
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into[:]...); err != nil {
			return wrong, last, read, err
		}
		read++
		last, _ = values[1].(int64)
		if values[0] == nil {
			continue
		}
		if sum, ok := checksum(values[1:]); !ok || values[0] != any(sum) {
			wrong = append(wrong, fmt.Sprintf("event %v (%.64v, %.64v of %.64v), whose row changed after it was written; restore a backup",
				values[1], values[2], values[3], values[5]))
		}
	}
	return wrong, last, read, rows.Err()
}
