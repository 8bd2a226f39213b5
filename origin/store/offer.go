package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/check"
)

// Offers, sub-accounts and test worlds.

// OfferReader reads offers.
type OfferReader struct{ querier }

// OfferTx writes offers and reads the accounts under them, in a transaction.
type OfferTx struct {
	OfferReader
	*tx
}

const offerColumns = `o.id, o.name, o.kind, o.reads, o.writes, o.endpoints, o.missions, o.history_days, o.max_key_days,
	o.scopes, o.note, o.version, o.created_at, o.updated_at, (SELECT COUNT(*) FROM account a WHERE a.offer = o.id)`

func scanOffer(row scanner) (o fieldmark.Offer, err error) {
	l := &o.Limits
	err = row.Scan(&o.ID, &o.Name, &o.Kind, &l.ReadsPerMinute, &l.WritesPerMinute, &l.Endpoints, &l.MissionsPerDay,
		&l.HistoryDays, &o.MaxKeyDays, jsonCol{&o.Scopes}, &o.Note, &o.Version, timeCol{&o.CreatedAt},
		timeCol{&o.UpdatedAt}, &o.Accounts)
	return o, queryErr(err)
}

// Offer reads an offer; the error is ErrNotFound if it does not exist.
func (db OfferReader) Offer(ctx context.Context, id string) (fieldmark.Offer, error) {
	o, err := scanOffer(db.queryRow(ctx, `SELECT `+offerColumns+` FROM offer o WHERE o.id = $1`, id))
	if err != nil {
		return o, fmt.Errorf("read offer %s: %w", id, err)
	}
	return o, nil
}

// OfferOf reads the offer whose limits an account has: its parent's, or its own. The error is
// ErrNotFound without one.
func (db OfferReader) OfferOf(ctx context.Context, account string) (fieldmark.Offer, error) {
	o, err := scanOffer(db.queryRow(ctx, `SELECT `+offerColumns+` FROM account a
		JOIN account g ON g.id = COALESCE(a.parent, a.id) JOIN offer o ON o.id = g.offer WHERE a.id = $1`, account))
	if err != nil {
		return o, fmt.Errorf("read the offer of account %s: %w", account, err)
	}
	return o, nil
}

// Offers lists offers by id.
func (db OfferReader) Offers(ctx context.Context, limit int) ([]fieldmark.Offer, error) {
	rows, err := db.query(ctx, `SELECT `+offerColumns+` FROM offer o ORDER BY o.id LIMIT $1`, limit)
	list, err := collect(rows, err, scanOffer)
	if err != nil {
		return nil, fmt.Errorf("list offers: %w", err)
	}
	return list, nil
}

// PutOffer creates or replaces an offer.
func (t OfferTx) PutOffer(ctx context.Context, o *fieldmark.Offer) error {
	if o.Scopes == nil {
		o.Scopes = []fieldmark.Scope{}
	}
	scopes, err := jsonText(o.Scopes)
	if err != nil {
		return fmt.Errorf("write the scopes of offer %s: %w", o.ID, err)
	}
	l := o.Limits
	_, err = t.exec(ctx, `INSERT INTO offer (id, name, kind, reads, writes, endpoints, missions, history_days,
		max_key_days, scopes, note, version, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, kind = excluded.kind, reads = excluded.reads,
			writes = excluded.writes, endpoints = excluded.endpoints, missions = excluded.missions,
			history_days = excluded.history_days, max_key_days = excluded.max_key_days, scopes = excluded.scopes,
			note = excluded.note, version = excluded.version, updated_at = excluded.updated_at`,
		o.ID, o.Name, string(o.Kind), l.ReadsPerMinute, l.WritesPerMinute, l.Endpoints, l.MissionsPerDay,
		l.HistoryDays, o.MaxKeyDays, scopes, o.Note, o.Version, o.CreatedAt.Micros(), o.UpdatedAt.Micros())
	if err != nil {
		return fmt.Errorf("put offer %s: %w", o.ID, err)
	}
	clear(t.state.accounts)
	return nil
}

// DeleteOffer deletes an offer that no account has.
func (t OfferTx) DeleteOffer(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `DELETE FROM offer WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete offer %s: %w", id, err)
	}
	return nil
}

// SubAccountsUnder counts the sub-accounts of all accounts with an offer.
func (t OfferTx) SubAccountsUnder(ctx context.Context, offer string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM account a JOIN account p ON p.id = a.parent
		WHERE p.offer = $1 AND a.removed_at IS NULL`, offer).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the sub-accounts under offer %s: %w", offer, err)
	}
	return n, nil
}

// CountSubAccounts counts the sub-accounts of an account.
func (t OfferTx) CountSubAccounts(ctx context.Context, parent string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE parent = $1 AND removed_at IS NULL`, parent).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the sub-accounts of %s: %w", parent, err)
	}
	return n, nil
}

// DailyLimit is the limit of missions a day of an account.
type DailyLimit struct {
	Group string // the account that it is counted for: the parent, or the account itself
	Limit int    // 0: none, and nothing is counted
	Used  int    // on the requested day
}

// DailyLimit returns the limit of an account and its use on a day, which is counted since 1970 in
// UTC.
func (t OfferTx) DailyLimit(ctx context.Context, account string, day int64) (DailyLimit, error) {
	a, err := t.account(ctx, account)
	l := DailyLimit{Group: a.group, Limit: a.limit}
	if used := t.state.used[a.group]; used.day == day {
		l.Used = used.missions
	}
	return l, err
}

// CountMission counts a mission of a group on a day. A count of another day is replaced.
func (t OfferTx) CountMission(ctx context.Context, group string, day int64) error {
	used := t.state.used[group]
	if used.day != day {
		used = dayUse{day: day}
	}
	used.missions++
	t.state.used[group] = used
	err := t.queueExec(ctx, `INSERT INTO account_use (account, day, missions) VALUES ($1, $2, $3)
		ON CONFLICT (account) DO UPDATE SET day = excluded.day, missions = excluded.missions`, group, day,
		used.missions)
	if err != nil {
		return fmt.Errorf("count a mission of %s: %w", group, err)
	}
	return nil
}

// TakeDelivery counts a delivery of a test world on a day, which is counted since 1970 in UTC of
// the real time, and reports whether there were fewer than limit.
func (t OfferTx) TakeDelivery(ctx context.Context, account string, day int64, limit int) (bool, error) {
	n, err := t.exec(ctx, `INSERT INTO account_use (account, day, missions, deliveries) VALUES ($1, $2, 0, 1)
		ON CONFLICT (account) DO UPDATE SET day = excluded.day,
			deliveries = CASE WHEN account_use.day = excluded.day THEN account_use.deliveries + 1 ELSE 1 END
		WHERE account_use.day <> excluded.day OR account_use.deliveries < $3`, account, day, limit)
	if err != nil {
		return false, fmt.Errorf("count a delivery of %s: %w", account, err)
	}
	return n == 1, nil
}

// GroupEndpoints counts the endpoints of the group of an account, other than one.
func (t OfferTx) GroupEndpoints(ctx context.Context, account, except string) (n int, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM endpoint e WHERE e.deleted_at IS NULL AND e.id <> $1
		AND e.account IN (`+groupOf+`)`, except, account).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the endpoints of the group of %s: %w", account, err)
	}
	return n, nil
}

// groupOf selects the accounts that share the limits of account $2.
const groupOf = `SELECT m.id FROM account a JOIN account g ON g.id = COALESCE(a.parent, a.id)
	JOIN account m ON m.id = g.id OR m.parent = g.id WHERE a.id = $2`

// SubAccounts lists up to limit sub-accounts by id, with the number of their live keys.
func (db OfferReader) SubAccounts(ctx context.Context, parent string, now time.Time,
	limit int) ([]fieldmark.SubAccount, error) {
	rows, err := db.query(ctx, subAccounts+` ORDER BY a.id LIMIT $3`, parent, now.UnixMicro(), limit)
	list, err := collect(rows, err, scanSubAccount)
	if err != nil {
		return nil, fmt.Errorf("list the sub-accounts of %s: %w", parent, err)
	}
	return list, nil
}

const subAccounts = `SELECT a.id, a.name, a.created_at, (SELECT COUNT(*) FROM api_key k WHERE k.account = a.id
	AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2))
	FROM account a WHERE a.parent = $1 AND a.removed_at IS NULL`

func scanSubAccount(row scanner) (a fieldmark.SubAccount, err error) {
	err = row.Scan(&a.ID, &a.Name, timeCol{&a.CreatedAt}, &a.Keys)
	return a, queryErr(err)
}

// SubAccount reads a sub-account of an account; the error is ErrNotFound if it does not exist.
func (db OfferReader) SubAccount(ctx context.Context, parent, id string,
	now time.Time) (fieldmark.SubAccount, error) {
	a, err := scanSubAccount(db.queryRow(ctx, subAccounts+` AND a.id = $3`, parent, now.UnixMicro(), id))
	if err != nil {
		return a, fmt.Errorf("read sub-account %s: %w", id, err)
	}
	return a, nil
}

// CountEverSubAccounts counts the sub-accounts of an account, removed ones included.
func (t OfferTx) CountEverSubAccounts(ctx context.Context, parent string) (n int, err error) {
	if err = t.queryRow(ctx, `SELECT COUNT(*) FROM account WHERE parent = $1`, parent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the sub-accounts of %s: %w", parent, err)
	}
	return n, nil
}

// RenameAccount sets the display name of an account.
func (t OfferTx) RenameAccount(ctx context.Context, id, name string) error {
	if _, err := t.exec(ctx, `UPDATE account SET name = $1 WHERE id = $2`, name, id); err != nil {
		return fmt.Errorf("rename account %s: %w", id, err)
	}
	return nil
}

// RemoveSubAccount marks a sub-account as removed. Its missions and its id stay.
func (t OfferTx) RemoveSubAccount(ctx context.Context, id string, at time.Time) error {
	if _, err := t.exec(ctx, `UPDATE account SET removed_at = $1 WHERE id = $2`, at.UnixMicro(), id); err != nil {
		return fmt.Errorf("remove sub-account %s: %w", id, err)
	}
	return nil
}

// KeysOf lists up to limit keys of an account, the newest first.
func (db OfferReader) KeysOf(ctx context.Context, account string, limit int) ([]Key, error) {
	rows, err := db.query(ctx, `SELECT `+keyColumns+` FROM api_key WHERE account = $1 ORDER BY id DESC LIMIT $2`,
		account, limit)
	list, err := collect(rows, err, func(row scanner) (Key, error) { return scanKey(row) })
	if err != nil {
		return nil, fmt.Errorf("list the keys of %s: %w", account, err)
	}
	return list, nil
}

// AccountUse reads how much the group of an account has used: its endpoints, and the missions
// created on a day, which is counted since 1970 in UTC.
func (db OfferReader) AccountUse(ctx context.Context, account string, day int64) (u fieldmark.LimitsUsed, err error) {
	err = db.queryRow(ctx, `SELECT (SELECT COUNT(*) FROM endpoint e WHERE e.deleted_at IS NULL AND e.account IN (
			`+groupOf+`)), COALESCE((SELECT u.missions FROM account a JOIN account_use u
			ON u.account = COALESCE(a.parent, a.id) WHERE a.id = $2 AND u.day = $1), 0),
		(SELECT COUNT(*) FROM account s WHERE s.parent = $2 AND s.removed_at IS NULL)`, day, account).
		Scan(&u.Endpoints, &u.MissionsToday, &u.SubAccounts)
	if err != nil {
		return u, fmt.Errorf("read the use of account %s: %w", account, err)
	}
	return u, nil
}

// WorldReader reads test worlds.
type WorldReader struct{ querier }

// WorldTx empties test worlds, in a transaction.
type WorldTx struct {
	WorldReader
	*tx
}

// ResetBegan returns when the reset of a test world began that has not ended, or the zero Time; the
// error is ErrNotFound if there is no such world.
func (db WorldReader) ResetBegan(ctx context.Context, world string) (at time.Time, err error) {
	err = queryErr(db.queryRow(ctx, `SELECT reset_at FROM account WHERE id = $1 AND world <> ''`,
		world).Scan(exactTime{&at}))
	if err != nil {
		return at, fmt.Errorf("read the state of %s: %w", world, err)
	}
	return at, nil
}

// WorldsToReset lists test worlds that are being reset.
func (db WorldReader) WorldsToReset(ctx context.Context, limit int) ([]string, error) {
	return db.worlds(ctx, worldsToReset, limit)
}

// IdleWorlds lists test worlds that have rows and whose keys were not used since a time.
func (db WorldReader) IdleWorlds(ctx context.Context, since time.Time, limit int) ([]string, error) {
	return db.worlds(ctx, idleWorlds, limit, since.UnixMicro())
}

// WorldsWithEvents lists test worlds that have events from before a time.
func (db WorldReader) WorldsWithEvents(ctx context.Context, before time.Time, limit int) ([]string, error) {
	return db.worlds(ctx, worldsWithEvents, limit, fieldmark.FirstID(fieldmark.PrefixEvent, before))
}

func (db WorldReader) worlds(ctx context.Context, question string, args ...any) ([]string, error) {
	rows, err := db.query(ctx, question, args...)
	list, err := collect(rows, err, scanText)
	if err != nil {
		return nil, fmt.Errorf("list test worlds: %w", err)
	}
	return list, nil
}

// BeginReset marks a test world as being reset, unless it is, and deletes its endpoints, so that no
// message is sent any more; the error is ErrNotFound if there is no such world.
func (t WorldTx) BeginReset(ctx context.Context, world string, at time.Time) error {
	fail := func(err error) error { return fmt.Errorf("begin the reset of %s: %w", world, err) }
	if c, err := (OfferReader{t.WorldReader.querier}).TestClock(ctx, world); err == nil && c.Advancing {
		return fieldmark.Errorf(fieldmark.CodeClockAdvancing, "the clock advances to %s", fieldmark.At(c.Goal))
	}
	if _, err := t.exec(ctx, `DELETE FROM test_clock WHERE account = $1`, world); err != nil {
		return fail(err)
	}
	n, err := t.exec(ctx, `UPDATE account SET reset_at = COALESCE(reset_at, $1), clock_offset = 0
		WHERE id = $2 AND world <> ''`, at.UnixMicro(), world)
	if err != nil {
		return fail(err)
	}
	if n == 0 {
		return fail(ErrNotFound)
	}
	_, err = t.exec(ctx, `UPDATE endpoint SET deleted_at = $1, wake_at = NULL WHERE world = $2 AND world <> ''
		AND deleted_at IS NULL`, at.UnixMicro(), world)
	if err == nil {
		_, err = t.exec(ctx, `UPDATE replay SET state = 'done' WHERE state = 'running'
			AND endpoint IN (`+endpointsOfWorld+`)`, world)
	}
	if err != nil {
		return fail(err)
	}
	t.touched[TopicWorldResets] = true
	clear(t.state.endpoints)
	clear(t.state.accounts)
	return nil
}

// Up to $1 worlds: those that are being reset, that were not used since $2, and that have events before the id $2.
const (
	worldsToReset = `SELECT id FROM account WHERE reset_at IS NOT NULL ORDER BY id LIMIT $1`
	idleWorlds    = `SELECT a.id FROM account a WHERE a.world <> '' AND a.reset_at IS NULL AND a.created_at < $2
		AND NOT EXISTS (SELECT 1 FROM api_key k WHERE k.account = a.id AND (k.created_at >= $2 OR k.last_used_at >= $2))
		AND ((SELECT m.id FROM mission m WHERE m.account = a.id AND m.world <> '' ORDER BY m.id LIMIT 1) IS NOT NULL
			OR EXISTS (SELECT 1 FROM endpoint e WHERE e.world = a.id AND e.world <> ''))
		ORDER BY a.id LIMIT $1`
	worldsWithEvents = `SELECT a.id FROM account a WHERE a.world <> '' AND (SELECT e.id FROM event e
		WHERE e.account = a.id AND e.account <> '' ORDER BY e.number LIMIT 1) < $2 ORDER BY a.id LIMIT $1`
)

// The rows of test world $1. A delivery under a lease is being sent.
const (
	endpointsOfWorld     = `SELECT e.id FROM endpoint e WHERE e.world = $1 AND e.world <> ''`
	deliveriesOfWorld    = `SELECT d.id FROM delivery d WHERE d.world = $1 AND d.world <> '' AND d.lease_owner IS NULL`
	oldDeliveriesOfWorld = deliveriesOfWorld + ` AND EXISTS (SELECT 1 FROM event v
		WHERE v.number = d.event AND v.id < $3) LIMIT $2`
	missionsOfWorld = `SELECT m.id FROM mission m WHERE m.account = $1 ORDER BY m.id LIMIT $2`
	eventsOfWorld   = `SELECT ` + check.EventColumns + ` FROM event WHERE account = $1 AND account <> ''
		AND id < $2 ORDER BY number LIMIT $3`
	// Earlier versions stored test messages to the endpoints of a world as live ones.
	misplacedDeliveries = `SELECT d.id FROM delivery d WHERE d.world = '' AND d.endpoint IN (` + endpointsOfWorld + `)`
)

// ResetWorld deletes up to limit missions of a test world that is being reset, or as many other rows,
// and returns how many; 0: the world is empty and ready, or has deliveries that are being sent.
func (t WorldTx) ResetWorld(ctx context.Context, world string, limit int) (int64, error) {
	if n, err := t.deleteDeliveries(ctx, world, "", limit); n > 0 || err != nil {
		return n, err
	}
	responses, err := t.exec(ctx, `DELETE FROM idempotency WHERE account = $1 AND name IN (
		SELECT i.name FROM idempotency i WHERE i.account = $1 LIMIT $2)`, world, limit)
	if responses > 0 || err != nil {
		return responses, err
	}
	if n, err := t.deleteMissions(ctx, world, limit); n > 0 || err != nil {
		return n, err
	}
	if _, err := t.exec(ctx, `DELETE FROM intake WHERE account = $1`, world); err != nil {
		return 0, fmt.Errorf("delete the accepted requests of %s: %w", world, err)
	}
	if n, err := t.eraseEvents(ctx, world, "~", limit); n > 0 || err != nil {
		return n, err
	}
	misplaced, err := t.exec(ctx, `UPDATE delivery SET world = $1 WHERE id IN (`+misplacedDeliveries+`)`, world)
	if misplaced > 0 || err != nil {
		return misplaced, err // they are deleted next: the endpoints cannot be deleted before
	}
	return 0, t.endReset(ctx, world)
}

// deleteDeliveries deletes up to limit deliveries with their attempts; before is the id of an event
// that is not deleted, empty: any.
func (t WorldTx) deleteDeliveries(ctx context.Context, world, before string, limit int) (int64, error) {
	question, args := deliveriesOfWorld+` LIMIT $2`, []any{world, limit}
	if before != "" {
		question, args = oldDeliveriesOfWorld, append(args, before)
	}
	rows, err := t.query(ctx, question, args...)
	ids, err := collect(rows, err, scanText)
	for _, id := range ids {
		for _, text := range []string{`DELETE FROM attempt WHERE delivery = $1`, `DELETE FROM delivery WHERE id = $1`} {
			if err == nil {
				err = t.queueExec(ctx, text, id)
			}
		}
	}
	if err != nil {
		return 0, fmt.Errorf("delete the deliveries of %s: %w", world, err)
	}
	return int64(len(ids)), nil
}

// deleteMissions deletes up to limit missions with everything that belongs to them. The content of
// attachments is deleted as that of any without a row is.
func (t WorldTx) deleteMissions(ctx context.Context, world string, limit int) (n int64, err error) {
	for _, text := range []string{
		`DELETE FROM refund WHERE payment IN (SELECT p.id FROM payment p WHERE p.mission IN (` + missionsOfWorld + `))`,
		`DELETE FROM payment WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM sla_event WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM sla WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM pending_alert WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM mission_note WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM attachment WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM mission_label WHERE mission IN (` + missionsOfWorld + `)`,
		`DELETE FROM mission WHERE id IN (` + missionsOfWorld + `)`,
	} {
		if n, err = t.exec(ctx, text, world, limit); err != nil {
			return 0, fmt.Errorf("delete the missions of %s: %w", world, err)
		}
	}
	return n, nil
}

// eraseEvents removes the content of up to limit events of a test world before the id of one. Their
// rows stay, because the numbers of the log have no gap.
func (t WorldTx) eraseEvents(ctx context.Context, world, before string, limit int) (int64, error) {
	fail := func(err error) (int64, error) { return 0, fmt.Errorf("erase the events of %s: %w", world, err) }
	rows, err := t.query(ctx, eventsOfWorld, world, before, limit)
	events, err := collect(rows, err, scanEventRow)
	if err != nil {
		return fail(err)
	}
	now := time.Now().UnixMicro()
	for _, row := range events {
		// The columns are number, id, type, at, subject, brand, tags, data, account and trace. The time is
		// the real one from now on: the log is pruned by it.
		row[3], row[4], row[eventData], row[8], row[9] = now, "", "{}", "", ""
		sum, _ := check.Checksum(t.state.args(row[:]))
		if err := t.queueExec(ctx, `UPDATE event SET at = $1, subject = '', data = '{}', account = '', trace = '',
			actor = '', labels = '', sum = $2 WHERE number = $3`, now, sum, row[0]); err != nil {
			return fail(err)
		}
	}
	return int64(len(events)), nil
}

// endReset deletes the endpoints of an empty test world and marks it as ready, unless deliveries are being sent.
func (t WorldTx) endReset(ctx context.Context, world string) error {
	fail := func(err error) error { return fmt.Errorf("end the reset of %s: %w", world, err) }
	var sending bool
	err := t.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM delivery d WHERE d.world = $1 AND d.world <> '')`,
		world).Scan(&sending)
	if err != nil {
		return fail(queryErr(err))
	}
	if sending {
		return nil
	}
	for _, text := range []string{
		`DELETE FROM replay WHERE endpoint IN (` + endpointsOfWorld + `)`,
		`DELETE FROM watch WHERE endpoint IN (` + endpointsOfWorld + `)`,
		`DELETE FROM endpoint WHERE world = $1 AND world <> ''`,
		`UPDATE account SET reset_at = NULL WHERE id = $1`,
	} {
		if _, err := t.exec(ctx, text, world); err != nil {
			return fail(err)
		}
	}
	clear(t.state.endpoints)
	return nil
}

// PruneWorld deletes up to limit deliveries, or events, of a test world from before a time, and returns how many.
func (t WorldTx) PruneWorld(ctx context.Context, world string, before time.Time, limit int) (int64, error) {
	first := fieldmark.FirstID(fieldmark.PrefixEvent, before)
	if n, err := t.deleteDeliveries(ctx, world, first, limit); n > 0 || err != nil {
		return n, err
	}
	return t.eraseEvents(ctx, world, first, limit)
}
