package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store/commit"
)

// SavedResponse is the response to a request with an idempotency key, for
// repetitions of the request.
type SavedResponse struct {
	Account, Key string
	Request      fieldmark.Digest
	Mission      string // empty if the response is about none or several
	Status       int
	Fields       map[string]string
	Body         []byte
	Sealed       bool // the body is encrypted, because it has a secret
	At           time.Time
}

const responseColumns = `k.request, COALESCE(k.mission, ''), k.status, k.fields, k.body, k.sealed = 1, k.at`

// scanResponse reads a saved response, after other columns.
func scanResponse(row scanner, before ...any) (k SavedResponse, err error) {
	err = row.Scan(append(before, &k.Request, &k.Mission, &k.Status, jsonCol{&k.Fields}, &k.Body, &k.Sealed,
		exactTime{&k.At})...)
	return k, queryErr(err)
}

func readResponse(ctx context.Context, db querier, account, key string, since time.Time) (SavedResponse, error) {
	k, err := scanResponse(db.queryRow(ctx, `SELECT `+responseColumns+` FROM idempotency k
		WHERE k.account = $1 AND k.name = $2 AND k.at > $3`, account, key, since.UnixMicro()))
	if err != nil {
		return SavedResponse{}, fmt.Errorf("read a saved response: %w", err)
	}
	k.Account, k.Key = account, key
	return k, nil
}

// SavedResponse reads the response saved under a key of an account since a time;
// the error is ErrNotFound if it does not exist.
func (s *Store) SavedResponse(ctx context.Context, account, key string, since time.Time) (SavedResponse, error) {
	if s.dialect.Prepare {
		return readResponse(ctx, s, account, key, since)
	}
	k, err := s.responses.Get(ctx, ResponseKey{account, key})
	if err == nil && !k.At.After(since) {
		err = ErrNotFound
	}
	if err != nil {
		return SavedResponse{}, fmt.Errorf("read a saved response: %w", queryErr(err))
	}
	k.Account, k.Key = account, key
	return k, nil
}

// ResponseKey is the idempotency key of an account.
type ResponseKey struct{ Account, Key string }

// prefetchResponses reads saved responses by their keys.
func (state *txState) prefetchResponses(names []ResponseKey) commit.Query {
	return commit.Query{Text: responsesQuery, Args: responseKeyArgs(names), Scan: func(row commit.Scanner) error {
		var i int
		k, err := scanResponse(row, &i)
		if err == nil {
			k.Account, k.Key = names[i-1].Account, names[i-1].Key
			state.prefetched.responses[names[i-1]] = &k
		}
		return err
	}}
}

const responsesQuery = `SELECT n.i, ` + responseColumns + ` FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n
	(account, name, i),
	LATERAL (SELECT * FROM idempotency k WHERE k.account = n.account AND k.name = n.name LIMIT 1) k`

func responseKeyArgs(names []ResponseKey) []any {
	return columns(names, func(n ResponseKey) []string { return []string{n.Account, n.Key} })
}

// loadResponses reads saved responses for several callers.
func (s *Store) loadResponses(ctx context.Context, names []ResponseKey) (map[ResponseKey]SavedResponse, error) {
	return load(ctx, s, names, responsesQuery, responseKeyArgs(names), scanResponse)
}

// SavedResponse is Store.SavedResponse in the transaction.
func (t MissionTx) SavedResponse(ctx context.Context, account, key string, since time.Time) (SavedResponse, error) {
	k, known := t.state.prefetched.responses[ResponseKey{account, key}]
	if !known {
		return readResponse(ctx, t, account, key, since)
	}
	if k == nil || !k.At.After(since) {
		return SavedResponse{}, fmt.Errorf("read a saved response: %w", ErrNotFound)
	}
	return *k, nil
}

// SaveResponse saves a response in place of one that has expired.
func (t MissionTx) SaveResponse(ctx context.Context, k SavedResponse) error {
	fields, err := jsonText(k.Fields)
	if err != nil {
		return fmt.Errorf("write the header of a saved response: %w", err)
	}
	var mission any
	if k.Mission != "" {
		mission = k.Mission
	}
	err = t.queueInsert(ctx, `INSERT INTO idempotency (account, name, request, mission, status, fields, body, at,
		sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account, name) DO UPDATE SET request = excluded.request, mission = excluded.mission,
			status = excluded.status, fields = excluded.fields, body = excluded.body, at = excluded.at,
				sealed = excluded.sealed`,
		k.Account, k.Key, string(k.Request), mission, k.Status, fields, string(k.Body), k.At.UnixMicro(),
		boolInt(k.Sealed))
	if err != nil {
		return fmt.Errorf("save a response: %w", err)
	}
	name := ResponseKey{k.Account, k.Key}
	if _, known := t.state.prefetched.responses[name]; known {
		t.state.prefetched.responses[name], t.responses = &k, append(t.responses, name)
	}
	return nil
}

// DeleteSavedResponse deletes the response saved under a key of an account.
func (t MissionTx) DeleteSavedResponse(ctx context.Context, account, key string) error {
	if _, err := t.exec(ctx, `DELETE FROM idempotency WHERE account = $1 AND name = $2`, account, key); err != nil {
		return fmt.Errorf("delete a saved response: %w", err)
	}
	if name := (ResponseKey{account, key}); t.state.prefetched.responses != nil {
		delete(t.state.prefetched.responses, name)
	}
	return nil
}

// PruneSavedResponses deletes up to limit responses saved before a time, the
// oldest first, and returns how many.
func (t MissionTx) PruneSavedResponses(ctx context.Context, before time.Time, limit int) (int64, error) {
	n, err := t.exec(ctx, `DELETE FROM idempotency WHERE (account, name) IN
		(SELECT account, name FROM idempotency WHERE at <= $1 ORDER BY at LIMIT $2)`, before.UnixMicro(), limit)
	if err != nil {
		return 0, fmt.Errorf("prune saved responses: %w", err)
	}
	return n, nil
}
