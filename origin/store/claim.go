package store

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
)

// ClaimReader reads the claims of brands.
type ClaimReader struct{ querier }

// ClaimTx writes the claims of brands, in a transaction.
type ClaimTx struct {
	ClaimReader
	*tx
}

// Claim is a claim of a brand, as it is stored.
type Claim struct {
	ID        string
	Brand     fieldmark.Slug // empty until the brand of a new site is registered
	Account   string         // empty until its owner requested access
	State     fieldmark.ClaimState
	Secret    string // MAC; empty: not valid any longer
	Network   string // MAC of the client network that opened it
	CreatedAt time.Time
	DueAt     time.Time // when a worker must check it; zero: never
	ClaimBody
}

// ClaimBody is the part of a claim that is stored as a document.
type ClaimBody struct {
	URL        string          `json:"url"`   // that is claimed
	Token      string          `json:"token"` // to show at the site; public by nature
	Proven     []ProvenMethod  `json:"proven,omitempty"`
	Former     []string        `json:"former,omitempty"` // earlier tokens: they prove nothing, and are no sign of a lie
	VerifiedAt *fieldmark.Time `json:"verifiedAt,omitempty"`
	ExpiresAt  *fieldmark.Time `json:"expiresAt,omitempty"` // of a pending or lapsing claim
	CheckedAt  *fieldmark.Time `json:"checkedAt,omitempty"`
	// first check without a proof since the last with one
	FailingAt  *fieldmark.Time          `json:"failingAt,omitempty"`
	Failures   int                      `json:"failures,omitempty"`   // checks since FailingAt
	Unanswered int                      `json:"unanswered,omitempty"` // checks in a row that no server answered
	Resolvers  int                      `json:"resolvers,omitempty"`
	Contest    *ClaimContest            `json:"contest,omitempty"`   // of a contested claim
	Objection  *ClaimObjection          `json:"objection,omitempty"` // of the holder of a contested brand
	Transfer   *ClaimTransfer           `json:"transfer,omitempty"`  // that the holder offers
	From       string                   `json:"from,omitempty"`      // claim whose transfer code this claim has
	Reason     string                   `json:"reason,omitempty"`
	Requested  []fieldmark.Time         `json:"requested,omitempty"` // checks that the owner requested in the last day
	Tried      []fieldmark.ClaimAttempt `json:"tried,omitempty"`
	History    []fieldmark.ClaimStep    `json:"history,omitempty"`
}

// ProvenMethod is a method by which a claim was proven.
type ProvenMethod struct {
	Method fieldmark.ClaimMethod `json:"method"`
	Domain string                `json:"domain,omitempty"` // see fieldmark.BrandClaim
	At     fieldmark.Time        `json:"at"`               // last found
}

// ClaimContest is a contest, stored with the claim of the newcomer.
type ClaimContest struct {
	Holder string         `json:"holder"` // id of the claim that holds the brand
	Since  fieldmark.Time `json:"since"`
	Until  fieldmark.Time `json:"until"`
	Seen   bool           `json:"seen"` // a proof of the holder was found since then
}

// ClaimObjection is the fresh token with which a holder answers a contest.
type ClaimObjection struct {
	Claim string `json:"claim"` // id of the claim that contests
	Token string `json:"token"`
}

// ClaimTransfer is the code with which another claim gets the brand.
type ClaimTransfer struct {
	Code  string         `json:"code"` // MAC
	Until fieldmark.Time `json:"until"`
}

// Best returns the strongest method that the last check found, and otherwise the strongest
// that was ever proven. It is nil before the first proof.
func (c *ClaimBody) Best() *ProvenMethod {
	var best *ProvenMethod
	for i := range c.Proven {
		p := &c.Proven[i]
		held := c.CheckedAt != nil && c.FailingAt == nil && p.At == *c.CheckedAt
		switch {
		case best == nil:
			best = p
		case held != (c.CheckedAt != nil && c.FailingAt == nil && best.At == *c.CheckedAt):
			if held {
				best = p
			}
		case p.Method.Strength() > best.Method.Strength():
			best = p
		}
	}
	return best
}

// Public returns what is published of a claim that holds its brand.
func (c *ClaimBody) Public() *fieldmark.BrandClaim {
	best := c.Best()
	if best == nil || c.VerifiedAt == nil {
		return nil
	}
	return &fieldmark.BrandClaim{Verified: true, Since: *c.VerifiedAt, Method: best.Method, Domain: best.Domain}
}

// holds selects claims that give rights; it is the condition of the index claim_holder.
const holds = `state IN ('verified', 'lapsing')`

const claimColumns = `id, COALESCE(brand, ''), account, state, secret, network, body, created_at, due_at`

func scanClaim(row scanner) (c Claim, err error) {
	err = row.Scan(&c.ID, &c.Brand, &c.Account, &c.State, &c.Secret, &c.Network, jsonCol{&c.ClaimBody},
		exactTime{&c.CreatedAt}, exactTime{&c.DueAt})
	return c, queryErr(err)
}

// Claim reads a claim; the error is ErrNotFound if it does not exist.
func (db ClaimReader) Claim(ctx context.Context, id string) (Claim, error) {
	c, err := scanClaim(db.queryRow(ctx, `SELECT `+claimColumns+` FROM claim WHERE id = $1`, id))
	if err != nil {
		return c, fmt.Errorf("read claim %s: %w", id, err)
	}
	return c, nil
}

// ClaimOf reads the claim that holds a brand; the error is ErrNotFound if none does.
func (db ClaimReader) ClaimOf(ctx context.Context, slug fieldmark.Slug) (Claim, error) {
	c, err := scanClaim(db.queryRow(ctx, `SELECT `+claimColumns+` FROM claim WHERE brand = $1 AND `+holds,
		string(slug)))
	if err != nil {
		return c, fmt.Errorf("read the claim of brand %s: %w", slug, err)
	}
	return c, nil
}

// ContestOf reads the claim that contests a brand; the error is ErrNotFound if none does.
func (db ClaimReader) ContestOf(ctx context.Context, slug fieldmark.Slug) (Claim, error) {
	c, err := scanClaim(db.queryRow(ctx, `SELECT `+claimColumns+` FROM claim WHERE brand = $1
		AND state = 'contested'`, string(slug)))
	if err != nil {
		return c, fmt.Errorf("read the contest of brand %s: %w", slug, err)
	}
	return c, nil
}

// Manages reports whether an account holds the claim of a brand. Keys with
// fieldmark.ScopeBrandManage and sessions of owners have no rights without it.
func (db ClaimReader) Manages(ctx context.Context, account string, slug fieldmark.Slug) (bool, error) {
	var n int
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM claim WHERE brand = $1 AND account = $2 AND account <> ''
		AND `+holds, string(slug), account).Scan(&n); err != nil {
		return false, fmt.Errorf("read whether %s manages brand %s: %w", account, slug, err)
	}
	return n > 0, nil
}

// ManagedBrands lists the brands whose claims an account holds, in the order of slugs.
func (db ClaimReader) ManagedBrands(ctx context.Context, account string) ([]fieldmark.Slug, error) {
	rows, err := db.query(ctx, `SELECT brand FROM claim WHERE account = $1 AND account <> '' AND `+holds+`
		ORDER BY brand`, account)
	list, err := collect(rows, err, func(row scanner) (s fieldmark.Slug, err error) { return s, row.Scan(&s) })
	if err != nil {
		return nil, fmt.Errorf("list the brands of %s: %w", account, err)
	}
	return list, nil
}

// MadeByClaim reports whether an account was made by a claim: then it has the limits
// fieldmark.ClaimKeys, ClaimEndpoints and ClaimWatches.
func (db ClaimReader) MadeByClaim(ctx context.Context, account string) (bool, error) {
	var n int
	if err := db.queryRow(ctx, `SELECT COUNT(*) FROM claim WHERE account = $1 AND account <> ''`,
		account).Scan(&n); err != nil {
		return false, fmt.Errorf("read whether a claim made %s: %w", account, err)
	}
	return n > 0, nil
}

// Claims lists up to limit claims before an id, the newest first. Empty arguments do not
// restrict the list.
func (db ClaimReader) Claims(ctx context.Context, state fieldmark.ClaimState, slug fieldmark.Slug, before string,
	limit int) ([]Claim, error) {
	rows, err := db.query(ctx, `SELECT `+claimColumns+` FROM claim WHERE (state = $1 OR $1 = '')
		AND (brand = $2 OR $2 = '') AND (id < $3 OR $3 = '') ORDER BY id DESC LIMIT $4`,
		string(state), string(slug), before, limit)
	list, err := collect(rows, err, scanClaim)
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return list, nil
}

// publicClaims reads the public parts of the claims that hold the brands from first to last.
func (db BrandReader) publicClaims(ctx context.Context, first, last fieldmark.Slug,
	at map[fieldmark.Slug]*fieldmark.BrandState) error {
	rows, err := db.query(ctx, `SELECT `+claimColumns+` FROM claim WHERE brand >= $1 AND brand <= $2 AND `+holds,
		string(first), string(last))
	list, err := collect(rows, err, scanClaim)
	if err != nil {
		return fmt.Errorf("list the claims of brands %s to %s: %w", first, last, err)
	}
	for i := range list {
		if b := at[list[i].Brand]; b != nil {
			b.Claim = list[i].Public()
		}
	}
	return nil
}

// BrandByURL returns the first brand, in the order of slugs, that has one of eight URLs, and ""
// if none has.
func (db ClaimReader) BrandByURL(ctx context.Context, urls []string) (fieldmark.Slug, error) {
	args := make([]any, len(urls))
	for i, u := range urls {
		args[i] = u
	}
	rows, err := db.query(ctx, `SELECT slug FROM brand WHERE url IN ($1, $2, $3, $4, $5, $6, $7, $8)
		ORDER BY slug LIMIT 1`, args...)
	list, err := collect(rows, err, func(row scanner) (s fieldmark.Slug, err error) { return s, row.Scan(&s) })
	if err != nil {
		return "", fmt.Errorf("read the brand at %s: %w", urls[0], err)
	}
	if len(list) == 0 {
		return "", nil
	}
	return list[0], nil
}

// CountClaims counts the claims that a network opened since a time.
func (t ClaimTx) CountClaims(ctx context.Context, network string, since time.Time) (n int, err error) {
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM claim WHERE network = $1 AND created_at > $2`, network,
		since.UnixMicro()).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the claims of a network: %w", err)
	}
	return n, nil
}

// PutClaim adds or replaces a claim, and ends its lease.
func (t ClaimTx) PutClaim(ctx context.Context, c *Claim) error {
	body, err := jsonText(c.ClaimBody)
	if err != nil {
		return fmt.Errorf("encode claim %s: %w", c.ID, err)
	}
	var slug any
	if c.Brand != "" {
		slug = string(c.Brand)
	}
	_, err = t.exec(ctx, `INSERT INTO claim (id, brand, account, state, secret, network, body, created_at, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET brand = excluded.brand, account = excluded.account, state = excluded.state,
			secret = excluded.secret, body = excluded.body, due_at = excluded.due_at, claims = 0,
			lease_until = NULL, lease_owner = NULL`,
		c.ID, slug, c.Account, string(c.State), c.Secret, c.Network, body, c.CreatedAt.UnixMicro(),
		exactMicros(c.DueAt))
	if err != nil {
		return fmt.Errorf("put claim %s: %w", c.ID, err)
	}
	t.touched[TopicClaims] = true
	return nil
}

// ClaimDueClaims leases up to limit claims that are due to owner, and returns their ids. Those that were claimed
// most times without a result are lost: they are not leased, and are due again a day later.
func (t ClaimTx) ClaimDueClaims(ctx context.Context, owner string, now, lease time.Time,
	limit, most int) (ids, lost []string, err error) {
	lost, err = t.claim(ctx, `UPDATE claim SET due_at = $1, claims = 0, lease_until = NULL, lease_owner = NULL
		WHERE due_at <= $2 AND claims >= $3 AND (lease_until IS NULL OR lease_until <= $2) RETURNING id`,
		now.Add(24*time.Hour).UnixMicro(), now.UnixMicro(), most)
	if err != nil {
		return nil, nil, err
	}
	ids, err = t.claim(ctx, `UPDATE claim SET lease_until = $1, lease_owner = $2, claims = claims + 1
		WHERE id IN (SELECT c.id FROM claim c
			WHERE c.due_at <= $3 AND (c.lease_until IS NULL OR c.lease_until <= $3) ORDER BY c.due_at LIMIT $4)
		RETURNING id`, lease.UnixMicro(), owner, now.UnixMicro(), limit)
	return ids, lost, err
}

// PruneClaims deletes claims that ended before a time and never held a brand.
func (t ClaimTx) PruneClaims(ctx context.Context, before time.Time) error {
	_, err := t.exec(ctx, `DELETE FROM claim WHERE created_at < $1 AND account = '' AND due_at IS NULL
		AND state IN ('expired', 'withdrawn')`, before.UnixMicro())
	if err != nil {
		return fmt.Errorf("prune claims: %w", err)
	}
	return nil
}

// RevokeKeys revokes all keys of an account for a reason, and returns those that were live.
func (t ClaimTx) RevokeKeys(ctx context.Context, account string, at fieldmark.Time, why string) ([]Key, error) {
	t.wrote = true
	rows, err := t.query(ctx, `UPDATE api_key SET revoked_at = $1, revoked_why = $2 WHERE account = $3
		AND revoked_at IS NULL RETURNING `+keyColumns, at.Micros(), why, account)
	list, err := collect(rows, err, func(row scanner) (Key, error) { return scanKey(row) })
	if err != nil {
		return nil, fmt.Errorf("revoke the keys of %s: %w", account, err)
	}
	return list, nil
}
