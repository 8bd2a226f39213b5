package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// Missions returns a page of missions of an account; account "" means all, which
// only their status and their time of creation may narrow.
func (c *Client) Missions(ctx context.Context, account string, f fieldmark.MissionFilter) (fieldmark.List[fieldmark.Mission], error) {
	query := url.Values{}
	for _, s := range f.Status {
		query.Add("status", string(s))
	}
	setText(query, "account", account)
	setText(query, "priority", string(f.Priority))
	setText(query, "source", f.Source)
	setText(query, "externalId", f.ExternalID)
	setText(query, "createdSince", f.CreatedSince.String())
	setText(query, "createdUntil", f.CreatedUntil.String())
	setText(query, "updatedSince", f.UpdatedSince.String())
	setText(query, "cursor", f.Cursor)
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return get[fieldmark.List[fieldmark.Mission]](ctx, c, "missions", query)
}

// CompleteMission takes a mission by every move that is needed to COMPLETED.
func (c *Client) CompleteMission(ctx context.Context, id string) (fieldmark.Mission, error) {
	return post[fieldmark.Mission](ctx, c, "missions/"+url.PathEscape(id)+"/complete", nil)
}

// MoveMission makes one move; reason may be nil.
func (c *Client) MoveMission(ctx context.Context, id string, to fieldmark.MissionStatus, reason *fieldmark.Reason) (fieldmark.Mission, error) {
	body := struct {
		Status fieldmark.MissionStatus `json:"status"`
		Reason *fieldmark.Reason       `json:"reason,omitempty"`
	}{to, reason}
	return post[fieldmark.Mission](ctx, c, "missions/"+url.PathEscape(id)+"/transitions", body)
}

// Brands returns up to limit brands whose slugs follow after; 0 means the
// origin's own limit.
func (c *Client) Brands(ctx context.Context, after fieldmark.Slug, limit int) (fieldmark.List[fieldmark.Brand], error) {
	query := url.Values{}
	setText(query, "cursor", string(after))
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return get[fieldmark.List[fieldmark.Brand]](ctx, c, "brands", query)
}

// PutBrand makes the brand what b says, whether or not it was there.
func (c *Client) PutBrand(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, error) {
	var stored fieldmark.Brand
	r := c.admin(http.MethodPut, "brands/"+url.PathEscape(string(b.Slug)))
	r.body = b
	_, err := c.do(ctx, r, &stored)
	return stored, err
}

// ImportBrands adds and updates many brands; the report says what became of each.
func (c *Client) ImportBrands(ctx context.Context, brands []fieldmark.Brand) (fieldmark.ImportReport, error) {
	if brands == nil {
		brands = []fieldmark.Brand{}
	}
	var report fieldmark.ImportReport
	r := c.admin(http.MethodPost, "brands/import")
	r.body, r.within = brands, bulkTimeout
	_, err := c.do(ctx, r, &report)
	return report, err
}

// DeleteBrand takes a brand down with everything known of it.
func (c *Client) DeleteBrand(ctx context.Context, slug fieldmark.Slug) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "brands/"+url.PathEscape(string(slug))), nil)
	return err
}

// RenameBrand gives a brand another slug; the old one leads to it.
func (c *Client) RenameBrand(ctx context.Context, from, to fieldmark.Slug) (fieldmark.Brand, error) {
	body := struct {
		Slug fieldmark.Slug `json:"slug"`
	}{to}
	return post[fieldmark.Brand](ctx, c, "brands/"+url.PathEscape(string(from))+"/rename", body)
}

// SetAliases sets the slugs that lead to a brand beside its own.
func (c *Client) SetAliases(ctx context.Context, slug fieldmark.Slug, aliases []fieldmark.Slug) ([]fieldmark.Slug, error) {
	if aliases == nil {
		aliases = []fieldmark.Slug{}
	}
	var body struct {
		Aliases []fieldmark.Slug `json:"aliases"`
	}
	body.Aliases = aliases
	r := c.admin(http.MethodPut, "brands/"+url.PathEscape(string(slug))+"/aliases")
	r.body = body
	_, err := c.do(ctx, r, &body)
	return body.Aliases, err
}

// ImportVisibility imports answer samples from a file of JSON, or of CSV.
func (c *Client) ImportVisibility(ctx context.Context, file []byte, csv bool) (fieldmark.VisibilityImport, error) {
	var report fieldmark.VisibilityImport
	r := c.admin(http.MethodPost, "visibility/import")
	r.raw, r.within = file, bulkTimeout
	if csv {
		r.kind = "text/csv"
	}
	_, err := c.do(ctx, r, &report)
	return report, err
}

// RequestAudit asks for a new audit of the brand's site; it is done later.
func (c *Client) RequestAudit(ctx context.Context, slug fieldmark.Slug) error {
	_, err := c.do(ctx, c.admin(http.MethodPost, "brands/"+url.PathEscape(string(slug))+"/audit"), nil)
	return err
}

// Audits lists the audits that run and those that wait.
func (c *Client) Audits(ctx context.Context) ([]fieldmark.AuditRun, error) {
	list, err := get[fieldmark.List[fieldmark.AuditRun]](ctx, c, "audits", nil)
	return list.Data, err
}

// CreateKey makes an API key; its token is told this once.
func (c *Client) CreateKey(ctx context.Context, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	return post[fieldmark.NewKey](ctx, c, "keys", r)
}

// Keys lists every API key.
func (c *Client) Keys(ctx context.Context) ([]fieldmark.Key, error) {
	list, err := get[fieldmark.List[fieldmark.Key]](ctx, c, "keys", nil)
	return list.Data, err
}

// RevokeKey ends a key; it is refused from then on. The reason may be empty.
func (c *Client) RevokeKey(ctx context.Context, id, reason string) (fieldmark.Key, error) {
	return post[fieldmark.Key](ctx, c, "keys/"+url.PathEscape(id)+"/revoke", fieldmark.KeyRevocation{Reason: reason})
}

// RotateKey makes a key in place of another; its token is told this once.
func (c *Client) RotateKey(ctx context.Context, id string, r fieldmark.KeyRotation) (fieldmark.NewKey, error) {
	return post[fieldmark.NewKey](ctx, c, "keys/"+url.PathEscape(id)+"/rotate", r)
}

// Accounts lists every account.
func (c *Client) Accounts(ctx context.Context) ([]fieldmark.Account, error) {
	list, err := get[fieldmark.List[fieldmark.Account]](ctx, c, "accounts", nil)
	return list.Data, err
}

// PutAccount makes an account or changes what it is called.
func (c *Client) PutAccount(ctx context.Context, id string, r fieldmark.AccountRequest) (fieldmark.Account, error) {
	var stored fieldmark.Account
	q := c.admin(http.MethodPut, "accounts/"+url.PathEscape(id))
	q.body = r
	_, err := c.do(ctx, q, &stored)
	return stored, err
}

// AuditLog returns the newest entries of the audit log.
func (c *Client) AuditLog(ctx context.Context, limit int) ([]fieldmark.AuditEntry, error) {
	list, err := get[fieldmark.List[fieldmark.AuditEntry]](ctx, c, "audit-log", url.Values{"limit": {strconv.Itoa(limit)}})
	return list.Data, err
}

// CreateCalendar makes a feed of the plan; its address is told this once.
func (c *Client) CreateCalendar(ctx context.Context, r fieldmark.CalendarRequest) (fieldmark.NewCalendar, error) {
	return post[fieldmark.NewCalendar](ctx, c, "calendars", r)
}

// Calendars lists every feed of the plan.
func (c *Client) Calendars(ctx context.Context) ([]fieldmark.Calendar, error) {
	list, err := get[fieldmark.List[fieldmark.Calendar]](ctx, c, "calendars", nil)
	return list.Data, err
}

// RotateCalendar gives a feed another address; the old one ends at once.
func (c *Client) RotateCalendar(ctx context.Context, id string) (fieldmark.NewCalendar, error) {
	return post[fieldmark.NewCalendar](ctx, c, "calendars/"+url.PathEscape(id)+"/rotate", nil)
}

// RevokeCalendar ends a feed.
func (c *Client) RevokeCalendar(ctx context.Context, id string) (fieldmark.Calendar, error) {
	return post[fieldmark.Calendar](ctx, c, "calendars/"+url.PathEscape(id)+"/revoke", nil)
}

// Purge has every edge derive something again.
func (c *Client) Purge(ctx context.Context, r fieldmark.PurgeRequest) (fieldmark.Purged, error) {
	return post[fieldmark.Purged](ctx, c, "purge", r)
}

// Score returns a brand's score document. Only an edge answers it.
func (c *Client) Score(ctx context.Context, slug fieldmark.Slug) (fieldmark.Score, error) {
	var score fieldmark.Score
	_, err := c.do(ctx, call{method: http.MethodGet, path: fieldmark.PathScore + url.PathEscape(string(slug))}, &score)
	return score, err
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var out T
	_, err := c.do(ctx, c.admin(http.MethodGet, path), &out)
	return out, err
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	r := c.admin(http.MethodPost, path)
	r.body = body
	_, err := c.do(ctx, r, &out)
	return out, err
}

func (c *Client) admin(method, path string) call {
	return call{method: method, path: fieldmark.PathAdminAPI + path, token: c.key}
}

// setText leaves an empty text out: the origin reads it as a filter for nothing.
func setText(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// Modules lists the scoring modules the origin keeps, the newest first.
func (c *Client) Modules(ctx context.Context) ([]fieldmark.ModuleRecord, error) {
	list, err := get[fieldmark.List[fieldmark.ModuleRecord]](ctx, c, "modules", nil)
	return list.Data, err
}

// ModuleRecord tells all that is known of one module.
func (c *Client) ModuleRecord(ctx context.Context, d fieldmark.Digest) (fieldmark.ModuleRecord, error) {
	return get[fieldmark.ModuleRecord](ctx, c, "modules/"+string(d), nil)
}

// PushModule has a module checked and kept.
func (c *Client) PushModule(ctx context.Context, p fieldmark.ModulePush) (fieldmark.ModuleRecord, error) {
	var record fieldmark.ModuleRecord
	r := c.admin(http.MethodPost, "modules")
	r.body, r.within = p, bulkTimeout
	_, err := c.do(ctx, r, &record)
	return record, err
}

// ActivateModule puts a kept module in force, or on trial for percent of the
// brands; 0 and 100 are all of them.
func (c *Client) ActivateModule(ctx context.Context, d fieldmark.Digest, percent int) (fieldmark.ModulePlan, error) {
	return post[fieldmark.ModulePlan](ctx, c, "modules/"+string(d)+"/activate", fieldmark.ModuleActivation{Percent: percent})
}

// RollBackModule ends a trial, or puts the module before in force again.
func (c *Client) RollBackModule(ctx context.Context) (fieldmark.ModulePlan, error) {
	return post[fieldmark.ModulePlan](ctx, c, "modules/rollback", nil)
}

// ModuleStatus tells which modules score and what each edge makes of them.
func (c *Client) ModuleStatus(ctx context.Context) (fieldmark.ModuleStatus, error) {
	return get[fieldmark.ModuleStatus](ctx, c, "modules/status", nil)
}

// PreviewModule asks for a preview, or for how far the one asked for is.
func (c *Client) PreviewModule(ctx context.Context, d fieldmark.Digest, begin bool) (fieldmark.ModulePreview, error) {
	path := "modules/" + string(d) + "/preview"
	if begin {
		return post[fieldmark.ModulePreview](ctx, c, path, nil)
	}
	return get[fieldmark.ModulePreview](ctx, c, path, nil)
}
