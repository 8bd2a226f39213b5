package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// AdminAPI contains the calls of the administrator API: brands, audits, accounts, keys and modules.
type AdminAPI struct{ *caller }

// Missions returns a page of missions of an account. Account "" means all accounts, for which f may filter
// only by status and time of creation.
func (c AdminAPI) Missions(
	ctx context.Context, account string, f fieldmark.MissionFilter,
) (fieldmark.List[fieldmark.Mission], error) {
	query := f.Query()
	setParam(query, "account", account)
	return get[fieldmark.List[fieldmark.Mission]](ctx, c.caller, "missions", query)
}

// RedactNote removes the text of a note of a mission, from its events too.
func (c AdminAPI) RedactNote(ctx context.Context, mission, note string) (fieldmark.Note, error) {
	return post[fieldmark.Note](ctx, c.caller,
		"missions/"+url.PathEscape(mission)+"/notes/"+url.PathEscape(note)+"/redact", nil)
}

// CompleteMission completes a mission through all the statuses in between.
func (c AdminAPI) CompleteMission(ctx context.Context, id string) (fieldmark.Mission, error) {
	return post[fieldmark.Mission](ctx, c.caller, "missions/"+url.PathEscape(id)+"/complete", nil)
}

// MoveMission changes the status of a mission; reason may be nil.
func (c AdminAPI) MoveMission(
	ctx context.Context, id string, to fieldmark.MissionStatus, reason *fieldmark.Reason,
) (fieldmark.Mission, error) {
	body := struct {
		Status fieldmark.MissionStatus `json:"status"`
		Reason *fieldmark.Reason       `json:"reason,omitempty"`
	}{to, reason}
	return post[fieldmark.Mission](ctx, c.caller, "missions/"+url.PathEscape(id)+"/transitions", body)
}

// Brands returns up to limit brands whose slugs follow after; 0 means the origin's default.
func (c AdminAPI) Brands(ctx context.Context, after fieldmark.Slug, limit int) (fieldmark.List[fieldmark.Brand],
	error) {
	query := url.Values{}
	setParam(query, "cursor", string(after))
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return get[fieldmark.List[fieldmark.Brand]](ctx, c.caller, "brands", query)
}

// PutBrand creates or updates a brand.
func (c AdminAPI) PutBrand(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, error) {
	return put[fieldmark.Brand](ctx, c.caller, "brands/"+url.PathEscape(string(b.Slug)), b)
}

// ImportBrands creates and updates many brands; the report lists the rejected ones.
func (c AdminAPI) ImportBrands(ctx context.Context, brands []fieldmark.Brand) (fieldmark.ImportReport, error) {
	if brands == nil {
		brands = []fieldmark.Brand{}
	}
	var report fieldmark.ImportReport
	r := c.admin(http.MethodPost, "brands/import")
	r.body, r.timeout = brands, bulkTimeout
	_, err := c.do(ctx, r, &report)
	return report, err
}

// DeleteBrand deletes a brand and all its data.
func (c AdminAPI) DeleteBrand(ctx context.Context, slug fieldmark.Slug) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "brands/"+url.PathEscape(string(slug))), nil)
	return err
}

// RenameBrand changes the slug of a brand; the old slug becomes an alias.
func (c AdminAPI) RenameBrand(ctx context.Context, from, to fieldmark.Slug) (fieldmark.Brand, error) {
	body := struct {
		Slug fieldmark.Slug `json:"slug"`
	}{to}
	return post[fieldmark.Brand](ctx, c.caller, "brands/"+url.PathEscape(string(from))+"/rename", body)
}

// SetAliases sets the aliases of a brand.
func (c AdminAPI) SetAliases(
	ctx context.Context, slug fieldmark.Slug, aliases []fieldmark.Slug,
) ([]fieldmark.Slug, error) {
	if aliases == nil {
		aliases = []fieldmark.Slug{}
	}
	type list struct {
		Aliases []fieldmark.Slug `json:"aliases"`
	}
	stored, err := put[list](ctx, c.caller, "brands/"+url.PathEscape(string(slug))+"/aliases", list{aliases})
	return stored.Aliases, err
}

// ImportVisibility imports answer samples from a JSON or CSV file.
func (c AdminAPI) ImportVisibility(ctx context.Context, file []byte, csv bool) (fieldmark.VisibilityImport, error) {
	var report fieldmark.VisibilityImport
	r := c.admin(http.MethodPost, "visibility/import")
	r.raw, r.timeout = file, bulkTimeout
	if csv {
		r.contentType = "text/csv"
	}
	_, err := c.do(ctx, r, &report)
	return report, err
}

// PutProxy replaces the values of a proxy variable of the popularity of brands.
func (c AdminAPI) PutProxy(ctx context.Context, name string,
	v fieldmark.ProxyVariable) (fieldmark.VisibilityImport, error) {
	return put[fieldmark.VisibilityImport](ctx, c.caller, "visibility/proxies/"+url.PathEscape(name), v)
}

// RequestAudit queues an audit of the brand's site.
func (c AdminAPI) RequestAudit(ctx context.Context, slug fieldmark.Slug) error {
	_, err := c.do(ctx, c.admin(http.MethodPost, "brands/"+url.PathEscape(string(slug))+"/audit"), nil)
	return err
}

// Brand returns a brand by its slug or an alias.
func (c AdminAPI) Brand(ctx context.Context, slug fieldmark.Slug) (fieldmark.Brand, error) {
	return get[fieldmark.Brand](ctx, c.caller, "brands/"+url.PathEscape(string(slug)), nil)
}

// Suspicions returns the unconfirmed suspicions of a brand.
func (c AdminAPI) Suspicions(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandSuspicions, error) {
	return get[fieldmark.BrandSuspicions](ctx, c.caller, "brands/"+url.PathEscape(string(slug))+"/suspicions", nil)
}

// Audits lists running and queued audits.
func (c AdminAPI) Audits(ctx context.Context) ([]fieldmark.AuditRun, error) {
	list, err := get[fieldmark.List[fieldmark.AuditRun]](ctx, c.caller, "audits", nil)
	return list.Data, err
}

// CreateKey creates an API key. Only this response has its token.
func (c AdminAPI) CreateKey(ctx context.Context, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	return post[fieldmark.NewKey](ctx, c.caller, "keys", r)
}

// Keys lists every API key.
func (c AdminAPI) Keys(ctx context.Context) ([]fieldmark.Key, error) {
	list, err := get[fieldmark.List[fieldmark.Key]](ctx, c.caller, "keys", nil)
	return list.Data, err
}

// RevokeKey revokes a key. The reason may be empty.
func (c AdminAPI) RevokeKey(ctx context.Context, id, reason string) (fieldmark.Key, error) {
	return post[fieldmark.Key](ctx, c.caller, "keys/"+url.PathEscape(id)+"/revoke",
		fieldmark.KeyRevocation{Reason: reason})
}

// RotateKey replaces a key. Only this response has the token of the new one.
func (c AdminAPI) RotateKey(ctx context.Context, id string, r fieldmark.KeyRotation) (fieldmark.NewKey, error) {
	return post[fieldmark.NewKey](ctx, c.caller, "keys/"+url.PathEscape(id)+"/rotate", r)
}

// Accounts lists every account.
func (c AdminAPI) Accounts(ctx context.Context) ([]fieldmark.Account, error) {
	list, err := get[fieldmark.List[fieldmark.Account]](ctx, c.caller, "accounts", nil)
	return list.Data, err
}

// PutAccount creates or updates an account.
func (c AdminAPI) PutAccount(ctx context.Context, id string, r fieldmark.AccountRequest) (fieldmark.Account, error) {
	return put[fieldmark.Account](ctx, c.caller, "accounts/"+url.PathEscape(id), r)
}

// Offers lists every offer.
func (c AdminAPI) Offers(ctx context.Context) ([]fieldmark.Offer, error) {
	list, err := get[fieldmark.List[fieldmark.Offer]](ctx, c.caller, "offers", nil)
	return list.Data, err
}

// PutOffer creates or replaces an offer.
func (c AdminAPI) PutOffer(ctx context.Context, id string, r fieldmark.OfferRequest) (fieldmark.Offer, error) {
	return put[fieldmark.Offer](ctx, c.caller, "offers/"+url.PathEscape(id), r)
}

// DeleteOffer deletes an offer that no account has.
func (c AdminAPI) DeleteOffer(ctx context.Context, id string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "offers/"+url.PathEscape(id)), nil)
	return err
}

// AuditFilter selects entries of the audit log; empty members select all. Times are RFC 3339 or dates; the day of To
// belongs to the range. Action is a name such as api_key.created, or api_key.* for all of a noun.
type AuditFilter struct{ From, To, Actor, Action, Target string }

func (f AuditFilter) values() url.Values {
	values := url.Values{}
	setParam(values, "from", f.From)
	setParam(values, "to", f.To)
	setParam(values, "actor", f.Actor)
	setParam(values, "action", f.Action)
	setParam(values, "target", f.Target)
	return values
}

// ExportAuditLog writes the entries that match a filter as CSV, the newest first.
func (c AdminAPI) ExportAuditLog(ctx context.Context, w io.Writer, f AuditFilter) error {
	values := f.values()
	values.Set("format", "csv")
	r := c.admin(http.MethodGet, "audit-log?"+values.Encode())
	r.timeout = bulkTimeout
	return c.read(ctx, r, func(resp *http.Response) error {
		_, err := io.Copy(w, resp.Body)
		return err
	})
}

// AuditLog returns the newest entries of the audit log that match a filter.
func (c AdminAPI) AuditLog(ctx context.Context, f AuditFilter, limit int) ([]fieldmark.AuditEntry, error) {
	values := f.values()
	values.Set("limit", strconv.Itoa(limit))
	list, err := get[fieldmark.List[fieldmark.AuditEntry]](ctx, c.caller, "audit-log", values)
	return list.Data, err
}

// Purge purges the caches of all edges.
func (c AdminAPI) Purge(ctx context.Context, r fieldmark.PurgeRequest) (fieldmark.Purged, error) {
	return post[fieldmark.Purged](ctx, c.caller, "purge", r)
}

// Score returns a brand's score document. Only edges serve it.
func (c AdminAPI) Score(ctx context.Context, slug fieldmark.Slug) (fieldmark.Score, error) {
	var score fieldmark.Score
	_, err := c.do(ctx, call{method: http.MethodGet, path: fieldmark.PathScore + url.PathEscape(string(slug))}, &score)
	return score, err
}

// get, post, put and patch call a route of administrators and decode its response.
func get[T any](ctx context.Context, c *caller, path string, query url.Values) (T, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return send[T](ctx, c, http.MethodGet, path, nil)
}

func post[T any](ctx context.Context, c *caller, path string, body any) (T, error) {
	return send[T](ctx, c, http.MethodPost, path, body)
}

func put[T any](ctx context.Context, c *caller, path string, body any) (T, error) {
	return send[T](ctx, c, http.MethodPut, path, body)
}

func patch[T any](ctx context.Context, c *caller, path string, body any) (T, error) {
	return send[T](ctx, c, http.MethodPatch, path, body)
}

func send[T any](ctx context.Context, c *caller, method, path string, body any) (out T, err error) {
	r := c.admin(method, path)
	r.body = body
	_, err = c.do(ctx, r, &out)
	return out, err
}

func (c *caller) admin(method, path string) call {
	return call{method: method, path: fieldmark.PathAdminAPI + path, token: c.key}
}

// setParam sets a parameter that is not empty; the origin rejects empty parameters.
func setParam(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// Modules lists the stored scoring modules, newest first.
func (c AdminAPI) Modules(ctx context.Context) ([]fieldmark.ModuleRecord, error) {
	list, err := get[fieldmark.List[fieldmark.ModuleRecord]](ctx, c.caller, "modules", nil)
	return list.Data, err
}

// ModuleRecord returns a scoring module without its bytes.
func (c AdminAPI) ModuleRecord(ctx context.Context, d fieldmark.Digest) (fieldmark.ModuleRecord, error) {
	return get[fieldmark.ModuleRecord](ctx, c.caller, "modules/"+string(d), nil)
}

// PushModule validates and stores a module.
func (c AdminAPI) PushModule(ctx context.Context, p fieldmark.ModulePush) (fieldmark.ModuleRecord, error) {
	var record fieldmark.ModuleRecord
	r := c.admin(http.MethodPost, "modules")
	r.body, r.timeout = p, bulkTimeout
	_, err := c.do(ctx, r, &record)
	return record, err
}

// ActivateModule activates a stored module for all brands (percent 0 or 100), or as a canary for a share.
func (c AdminAPI) ActivateModule(ctx context.Context, d fieldmark.Digest, percent int) (fieldmark.ModulePlan, error) {
	return post[fieldmark.ModulePlan](ctx, c.caller, "modules/"+string(d)+"/activate",
		fieldmark.ModuleActivation{Percent: percent})
}

// RollBackModule ends a canary, or reactivates the previous module.
func (c AdminAPI) RollBackModule(ctx context.Context) (fieldmark.ModulePlan, error) {
	return post[fieldmark.ModulePlan](ctx, c.caller, "modules/rollback", nil)
}

// ModuleStatus returns the active modules and the state of each edge.
func (c AdminAPI) ModuleStatus(ctx context.Context) (fieldmark.ModuleStatus, error) {
	return get[fieldmark.ModuleStatus](ctx, c.caller, "modules/status", nil)
}

// PreviewModule starts a preview, or returns the progress of one.
func (c AdminAPI) PreviewModule(ctx context.Context, d fieldmark.Digest, start bool) (fieldmark.ModulePreview, error) {
	path := "modules/" + string(d) + "/preview"
	if start {
		return post[fieldmark.ModulePreview](ctx, c.caller, path, nil)
	}
	return get[fieldmark.ModulePreview](ctx, c.caller, path, nil)
}
