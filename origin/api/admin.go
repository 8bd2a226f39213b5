package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/botauth"
	"github.com/fieldmark/fieldmark/origin/cdn"
	"github.com/fieldmark/fieldmark/origin/export"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/offer"
)

// accessAPI serves API keys, accounts and the audit log.
// Keys, accounts and the log are for administrators only.
type accessAPI struct {
	keys     *access.Keys
	accounts *access.Accounts
	auditLog *auditlog.Log
}

// revokeKey revokes a key, with a reason that is in its event.
func (a *accessAPI) revokeKey(ctx context.Context, id string, r fieldmark.KeyRevocation) (fieldmark.Key, error) {
	return a.keys.Revoke(ctx, id, r.Reason)
}

// putAccount creates an account or changes its settings.
func (a *accessAPI) putAccount(ctx context.Context, id string, r fieldmark.AccountRequest) (fieldmark.Account, error) {
	account, _, err := a.accounts.Put(ctx, id, r)
	return account, err
}

// offerAPI serves offers to administrators, and accounts to their own keys.
type offerAPI struct {
	offers *offer.Service
	groups *offer.Groups
}

// offerTag is the ETag of a version of an offer.
func offerTag(version int) string { return strconv.Quote(strconv.Itoa(version)) }

// get sends an offer with its ETag, for a later If-Match.
func (a *offerAPI) get(c *call) (fieldmark.Offer, error) {
	o, err := a.offers.Get(c.r.Context(), c.r.PathValue("id"))
	if err == nil {
		c.w.Header().Set("ETag", offerTag(o.Version))
	}
	return o, err
}

// put creates or replaces an offer. If-Match keeps two administrators from overwriting each
// other.
func (a *offerAPI) put(c *call) (o fieldmark.Offer, err error) {
	r, err := decodeBody[fieldmark.OfferRequest](c)
	if err != nil {
		return o, err
	}
	if o, err = a.offers.Put(c.r.Context(), c.r.PathValue("id"), r, c.numberedVersions()); err == nil {
		c.w.Header().Set("ETag", offerTag(o.Version))
	}
	return o, err
}

// versionedID is an id with the versions in If-Match; nil means any.
type versionedID struct {
	id       string
	versions []int
}

// versionedParam reads an id and If-Match.
func (a *offerAPI) versionedParam(id func(*call) (string, error)) func(*call) (versionedID, error) {
	return func(c *call) (v versionedID, err error) {
		v.versions = c.numberedVersions()
		v.id, err = id(c)
		return v, err
	}
}

// delete removes an offer that no account has.
func (a *offerAPI) delete(ctx context.Context, v versionedID) error {
	return a.offers.Delete(ctx, v.id, v.versions)
}

// numberedVersions returns the versions in If-Match, whose tags are numbers; nil means any version.
// A tag that is no number matches no version, so the request fails instead of overwriting.
func (c *call) numberedVersions() []int {
	lines := c.r.Header.Values("If-Match")
	list := strings.Join(lines, ",")
	if lines == nil || strings.TrimSpace(list) == "*" {
		return nil
	}
	versions := []int{}
	for tag := range strings.SplitSeq(list, ",") {
		text, err := strconv.Unquote(strings.TrimSpace(tag))
		if n, numErr := strconv.Atoi(text); err == nil && numErr == nil {
			versions = append(versions, n)
		}
	}
	return versions
}

// subAccount names a sub-account, and one of its keys, as the path does.
// The group is that of the key and never of the path: a group cannot name another one.
type subAccount struct{ group, id, key string }

// subAccountParam reads the sub-account and the key in the path.
func subAccountParam(c *call) (subAccount, error) {
	return subAccount{c.key.Account, c.r.PathValue("id"), c.r.PathValue("key")}, nil
}

// getSub returns a sub-account.
func (a *offerAPI) getSub(ctx context.Context, s subAccount) (fieldmark.SubAccount, error) {
	return a.groups.Get(ctx, s.group, s.id)
}

// putSub renames a sub-account.
func (a *offerAPI) putSub(ctx context.Context, s subAccount,
	r fieldmark.SubAccountRequest) (fieldmark.SubAccount, error) {
	return a.groups.Rename(ctx, s.group, s.id, r)
}

// deleteSub removes a sub-account with its keys and endpoints.
func (a *offerAPI) deleteSub(ctx context.Context, s subAccount) error {
	return a.groups.Remove(ctx, s.group, s.id)
}

// keys lists the keys of a sub-account.
func (a *offerAPI) keys(ctx context.Context, s subAccount) ([]fieldmark.Key, error) {
	return a.groups.Keys(ctx, s.group, s.id)
}

// createKey creates a key of a sub-account and returns it, once.
func (a *offerAPI) createKey(ctx context.Context, s subAccount, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	return a.groups.CreateKey(ctx, s.group, s.id, r)
}

// revokeKey revokes a key of a sub-account.
func (a *offerAPI) revokeKey(ctx context.Context, s subAccount) error {
	return a.groups.RevokeKey(ctx, s.group, s.id, s.key)
}

// auditParams are the query parameters of the audit log.
var auditParams = []param{
	{name: "limit", description: "Entries per page; newest first", lowest: 1, highest: auditlog.MaxPage, preset: 50},
	{name: "cursor", description: "nextCursor of the previous page"},
	{name: "from", description: "Only from this time on; a date means the day in UTC"},
	{name: "to", description: "Only before this time; a date includes the day"},
	{name: "actor", description: "Only actions of this user, key or command"},
	{name: "action", description: "Only this action, such as api_key.created, or all of a noun, such as api_key.*"},
	{name: "target", description: "Only actions on this object"},
	{name: "format", description: "json (default): a page; csv: all entries, at most 100,000",
		enum: []string{"json", "csv"}},
}

// listAudit lists the audit log, or exports it as CSV. The cursor is the number of the last entry of the previous
// page.
// One entry more than the limit is read, to decide whether there is a next page.
func (a *accessAPI) listAudit(c *call) error {
	f, err := auditlog.ParseFilter(c.params.text)
	if err != nil {
		return err
	}
	if strings.EqualFold(c.params.text("format"), "csv") {
		return a.auditLog.ExportCSV(c.r.Context(), f, export.Send(c.w, csvType+"; charset=utf-8; header=present",
			"audit-log.csv"))
	}
	var before int64
	if text := c.params.text("cursor"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return errInvalidCursor()
		}
	}
	limit := c.params.number("limit")
	entries, err := a.auditLog.List(c.r.Context(), before, f, limit+1)
	if err != nil {
		return err
	}
	page := list(entries)
	if len(entries) > limit {
		page.Data, page.HasMore = entries[:limit], true
		page.NextCursor = strconv.FormatInt(entries[limit-1].Number, 10)
	}
	return c.send(http.StatusOK, page)
}

// verifyAudit reads the whole log, so it takes long.
func (a *accessAPI) verifyAudit(ctx context.Context) (fieldmark.AuditVerdict, error) {
	return a.auditLog.Verify(ctx, fieldmark.AuditVerdict{})
}

// metricParams are the query parameters of the counts of nodes.
var metricParams = []param{{name: "range", description: "Time up to now; default 1h",
	enum: enumOf(fieldmark.MetricRanges())}}

// enumOf returns the texts of values, for the OpenAPI document.
func enumOf[T ~string](values []T) (texts []string) {
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

// rangeParam reads the range of a chart.
func rangeParam(c *call) (fieldmark.MetricRange, error) {
	return fieldmark.MetricRange(cmp.Or(c.params.text("range"), string(fieldmark.Range1h))), nil
}

// moduleAPI serves scoring modules to administrators and to edges.
// Edges fetch modules by their digest.
type moduleAPI struct{ modules *module.Service }

// activate makes a module the active one, or starts it as a canary.
func (a *moduleAPI) activate(
	ctx context.Context, digest fieldmark.Digest, r fieldmark.ModuleActivation,
) (fieldmark.ModulePlan, error) {
	return a.modules.Activate(ctx, digest, r.Percent)
}

// sendBody sends the bytes of a module. They never change, because the digest identifies them.
// A private cache may keep it; a shared one must not, because the request had credentials.
func (a *moduleAPI) sendBody(c *call) error {
	digest, err := digestParam(c)
	if err != nil {
		return err
	}
	b, err := a.modules.Body(c.r.Context(), digest)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	if c.notModified(strconv.Quote(string(digest))) {
		return nil
	}
	return c.sendBytes(http.StatusOK, "application/wasm", b)
}

// certificateAPI serves TLS certificates to administrators and to edges.
// Edges get the keys encrypted, so a log or a proxy between them gets none.
type certificateAPI struct{ certificates *acme.Service }

// challengeKinds are the kinds of challenges that edges request.
var challengeKinds = []string{"http-01", "tls-alpn-01"}

// challenge returns the answer to an open challenge of a CA.
// The CA may connect to any edge, so each gets the answer from here.
func (a *certificateAPI) challenge(c *call) (fieldmark.CertificateChallenge, error) {
	kind := c.r.PathValue("kind")
	if !slices.Contains(challengeKinds, kind) {
		return fieldmark.CertificateChallenge{}, fieldmark.Errorf(fieldmark.CodeNotFound, "no such kind of challenge")
	}
	return a.certificates.Challenge(c.r.Context(), kind, c.r.PathValue("answer"))
}

// signingKeyAPI serves the keys that sign the requests of the auditor.
type signingKeyAPI struct{ keys *botauth.Service }

// sendDirectory sends the key directory. A 304 carries new signatures too, so that what a
// cache revalidates keeps its proof.
func (a *signingKeyAPI) sendDirectory(c *call) error {
	d, err := a.keys.Directory(c.r.Context())
	if err != nil {
		return err
	}
	maps.Copy(c.w.Header(), d.Header)
	if c.notModified(etagOf(d.Body)) {
		return nil
	}
	return c.sendBytes(http.StatusOK, botauth.DirectoryType, d.Body)
}

// cdnRoutes manage the CDNs in front of the edges.
func cdnRoutes(s *cdn.Service) []*route {
	const cdns, one = fieldmark.PathAdminAPI + "cdns", fieldmark.PathAdminAPI + "cdns/{id}"
	admins, id := key(fieldmark.ScopeAdmin), pathParam("id")
	return []*route{
		{"GET", cdns, admins, handleList(s.List), operation{id: "listCDNs", summary: "List the CDNs that are purged"}},
		{"PUT", one, admins, handleParamBody(id, s.Put), operation{
			id: "putCDN", timeout: remoteTimeout,
			summary: "Create or replace a CDN, which is purged of what changes from then on"}},
		{"DELETE", one, admins, handleParam(id, noResult(s.Delete)), operation{
			id: "deleteCDN", summary: "Delete a CDN; it is no longer purged"}},
		{"POST", one + "/test", admins, handleParam(id, s.Test), operation{
			id: "testCDN", summary: "Send a CDN a purge of a key that nothing has", timeout: remoteTimeout}},
		{"POST", one + "/purge", admins, handleParam(id, s.Purge), operation{
			id: "purgeCDN", timeout: remoteTimeout,
			summary: "Purge everything from a CDN; 409 cdn_by_address of the kinds trafficserver and nginx"}},
	}
}
