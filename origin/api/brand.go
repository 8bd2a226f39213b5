package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// brandAPI serves brands to administrators, and imports of brands and answer samples.
type brandAPI struct {
	brands     *brand.Service
	visibility *visibility.Service
}

// The limits of a page of brands.
const (
	defaultBrandLimit = 100
	maxBrandLimit     = 200 // below the limit of the service, from which one more is read
)

// brandParams are the query parameters of the list of brands.
var brandParams = []param{
	{name: "limit", description: "Brands per page", lowest: 1, highest: maxBrandLimit, preset: defaultBrandLimit},
	{name: "cursor", description: "nextCursor of the previous page"},
}

// brandRecord is a brand in a request. Its schema has no limits, because the service validates the records of
// an import one by one. Members that only responses have are accepted and ignored, so that a client can send
// back what it has read.
type brandRecord struct {
	Slug        string   `json:"slug,omitempty" doc:"If the path has a slug, it must be the same"`
	Name        string   `json:"name,omitempty"`
	URL         string   `json:"url,omitempty"`
	Niche       string   `json:"niche,omitempty"`
	Language    string   `json:"language,omitempty" doc:"BCP 47"`
	Description string   `json:"description,omitempty"`
	Public      bool     `json:"public,omitempty" doc:"Only public brands are ranked and shown"`
	Aliases     []string `json:"aliases,omitempty" nullable:"false" doc:"Ignored; use the aliases endpoint"`
	CreatedAt   string   `json:"createdAt,omitempty" doc:"Ignored"`
	UpdatedAt   string   `json:"updatedAt,omitempty" doc:"Ignored"`
}

// brand returns the brand of a record, without what only responses have.
func (r brandRecord) brand() fieldmark.Brand {
	return fieldmark.Brand{
		Slug: fieldmark.Slug(r.Slug), Name: r.Name, URL: r.URL, Niche: r.Niche,
		Language: r.Language, Description: r.Description, Public: r.Public,
	}
}

// list lists brands by slug. The cursor is the last slug of the previous page.
func (a *brandAPI) list(c *call) (page fieldmark.List[fieldmark.Brand], err error) {
	after := fieldmark.Slug(c.params.text("cursor"))
	if after != "" && !fieldmark.ValidSlug(string(after)) {
		return page, errInvalidCursor()
	}
	limit := c.params.number("limit")
	brands, err := a.brands.List(c.r.Context(), after, limit+1) // one more shows whether there is another page
	if err != nil {
		return page, err
	}
	page = list(brands)
	if len(brands) > limit {
		page.Data, page.HasMore = brands[:limit], true
		page.NextCursor = string(brands[limit-1].Slug)
	}
	c.linkNext(page.NextCursor)
	return page, nil
}

// put creates or replaces a brand. The slug in the body may be left out.
func (a *brandAPI) put(c *call) (b fieldmark.Brand, err error) {
	slug, err := slugParam(c)
	if err != nil {
		return b, err
	}
	var req brandRecord
	err = c.decodeChecked(&req, func() []fieldmark.FieldError {
		if req.Slug != "" && req.Slug != string(slug) {
			return []fieldmark.FieldError{{Pointer: "/slug", Code: "conflict", Detail: "must be the slug in the path"}}
		}
		return nil
	})
	if err != nil {
		return b, err
	}
	req.Slug = string(slug)
	b, _, err = a.brands.Put(c.r.Context(), req.brand())
	return b, err
}

// brandDocument is a brand with its aliases.
// Aliases have a separate address, so that a PUT of a brand cannot drop them.
type brandDocument struct {
	fieldmark.Brand
	Aliases []fieldmark.Slug `json:"aliases"`
}

// get reads a brand by its slug or by an alias.
// For an alias it returns the brand, not a redirect: clients of the API follow none.
func (a *brandAPI) get(ctx context.Context, slug fieldmark.Slug) (brandDocument, error) {
	state, _, err := a.brands.State(ctx, slug)
	return brandDocument{Brand: state.Brand, Aliases: list(state.Aliases).Data}, err
}

// renaming is the request for another slug.
type renaming struct {
	Slug string `json:"slug" minLength:"1" maxLength:"63"`
}

// rename gives a brand another slug; the old one becomes an alias.
func (a *brandAPI) rename(ctx context.Context, slug fieldmark.Slug, r renaming) (fieldmark.Brand, error) {
	return a.brands.Rename(ctx, slug, fieldmark.Slug(r.Slug))
}

// aliasList are the other slugs of a brand.
type aliasList struct {
	Aliases []fieldmark.Slug `json:"aliases" nullable:"false"`
}

// setAliases replaces the aliases of a brand.
func (a *brandAPI) setAliases(ctx context.Context, slug fieldmark.Slug, r aliasList) (aliasList, error) {
	aliases, err := a.brands.SetAliases(ctx, slug, r.Aliases)
	return aliasList{list(aliases).Data}, err
}

// importBrands creates and updates many brands. The report lists the rejected ones.
// An error in one record does not affect the others; the report names it by its index.
func (a *brandAPI) importBrands(ctx context.Context, records []brandRecord) (fieldmark.ImportReport, error) {
	brands := make([]fieldmark.Brand, len(records))
	for i, r := range records {
		brands[i] = r.brand()
	}
	return a.brands.Import(ctx, brands)
}

// csvType is the media type of CSV (RFC 4180).
const csvType = "text/csv"

// sampleRecord is an answer sample in a request. Its schema has no limits, because the service validates the
// lines one by one.
type sampleRecord struct {
	Brand          string `json:"brand,omitempty" doc:"Slug of the brand"`
	Engine         string `json:"engine,omitempty" doc:"Lower case with hyphens: chatgpt, google-ai-mode"`
	Model          string `json:"model,omitempty"`
	Surface        string `json:"surface,omitempty" doc:"api or app"`
	Locale         string `json:"locale,omitempty" doc:"BCP 47"`
	PromptSet      string `json:"promptSetId,omitempty"`
	PromptSetHash  string `json:"promptSetHash,omitempty" doc:"sha256: and 64 hexadecimal digits"`
	Prompts        int    `json:"prompts,omitempty"`
	BrandedPrompts int    `json:"brandedPrompts,omitempty" doc:"Prompts that name the brand"`
	Runs           int    `json:"runs,omitempty" doc:"Repetitions of each prompt"`
	Answers        int    `json:"answers,omitempty"`
	Mentions       int    `json:"mentions,omitempty" doc:"Answers that name the brand"`
	Cited          int    `json:"cited,omitempty" doc:"Answers with at least one citation"`
	Citations      int    `json:"citations,omitempty" doc:"Answers that cite the brand's domain"`
	Voices         int    `json:"voices,omitempty" doc:"Answers that name the brand or a listed rival"`
	Graded         int    `json:"graded,omitempty" doc:"Statements about the brand that were fact-checked"`
	Right          int    `json:"right,omitempty" doc:"Fact-checked statements that are true"`
	From           string `json:"from,omitempty" doc:"RFC 3339, or a date"`
	To             string `json:"to,omitempty" doc:"RFC 3339, or a date"`
	Provider       string `json:"provider,omitempty" doc:"Who took the sample"`
	AliasRule      string `json:"aliasRule,omitempty" doc:"Rule for mentions of an ambiguous brand name"`
}

// line returns the row of a record, which errors name by its index.
func (r *sampleRecord) line(i int) brand.SampleRow {
	return brand.SampleRow{At: fmt.Sprintf("/%d", i), From: r.From, To: r.To, Sample: fieldmark.VisibilitySample{
		Brand: fieldmark.Slug(r.Brand), Engine: r.Engine, Model: r.Model, Surface: r.Surface, Locale: r.Locale,
		PromptSet: r.PromptSet, PromptSetHash: fieldmark.Digest(r.PromptSetHash),
		Prompts: r.Prompts, BrandedPrompts: r.BrandedPrompts, Runs: r.Runs, Answers: r.Answers, Mentions: r.Mentions,
		Cited: r.Cited, Citations: r.Citations, Voices: r.Voices, Graded: r.Graded, Right: r.Right,
		Provider: r.Provider, AliasRule: r.AliasRule,
	}}
}

// importVisibility stores a study in form 2, which is taken whole or refused, or answer samples. The report
// of samples lists the rejected lines.
// The digest of the body is stored with each sample, so that an import can be identified later.
func (a *brandAPI) importVisibility(c *call) (report fieldmark.VisibilityImport, err error) {
	if strings.EqualFold(c.r.Header.Get("Content-Encoding"), "gzip") {
		c.r.Header.Del("Content-Encoding") // a body that is gzip is recognised by its first bytes
	}
	mediaType, err := c.mediaType(jsonType, csvType)
	if err != nil {
		return report, err
	}
	body, err := c.readBody()
	if err != nil {
		return report, err
	}
	if body, err = visibility.Unpack(body); err != nil {
		return report, err
	}
	if study.IsForm2(body, mediaType == csvType) {
		return a.visibility.ImportFile(c.r.Context(), c.key.ID, body, mediaType == csvType)
	}
	var lines []brand.SampleRow
	if mediaType == csvType {
		if lines, err = brand.ParseSamplesCSV(body); err != nil {
			return report, err
		}
	} else {
		// Without a check: the service validates each row and reports it.
		var records []sampleRecord
		if err := c.route.handler.in.schema.decode(body, &records, nil); err != nil {
			return report, err
		}
		for i := range records {
			lines = append(lines, records[i].line(i))
		}
	}
	return a.brands.Samples.Import(c.r.Context(), c.key.ID, fieldmark.DigestOf(sha256.Sum256(body)), lines)
}

// proxyRoute replaces a proxy variable.
func (a *brandAPI) proxyRoute() *route {
	return &route{"PUT", fieldmark.PathAdminAPI + "visibility/proxies/{slug}", key(fieldmark.ScopeAdmin),
		handleParamBody(proxyParam, a.visibility.PutProxy), operation{id: "putProxy",
			summary:   "Replace a proxy variable of the popularity of brands; without values, delete it",
			bodyLimit: fieldmark.MaxBulkBody, timeout: bulkTimeout}}
}

// proxyParam returns the name of a proxy variable, which has the form of a slug.
func proxyParam(c *call) (fieldmark.Slug, error) {
	name, err := fieldmark.ParseSlug(c.r.PathValue("slug"))
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"the name of a variable must have the form of a slug")
	}
	return name, nil
}

// checkAPI accepts checks of sites from anyone, and sends what they found.
// Requests are counted by the network of the client, which an edge reports.
type checkAPI struct {
	*server
	checks *sitecheck.Service
}

// routes are the checks of sites. They need no key.
func (a *checkAPI) routes() []*route {
	const path = fieldmark.PathChecks
	return []*route{
		{"POST", path, anyone, handleRaw[fieldmark.SiteCheckRequest, fieldmark.SiteCheck](a.create), operation{
			id: "requestCheck", status: []int{202, 200}, bodyLimit: fieldmark.MaxCheckBody,
			summary: "Check a site; it need not be registered, and a recent check of the same URL is returned " +
				"again"}},
		{"GET", path + "/{id}", anyone, handleRaw[none, fieldmark.SiteCheck](a.get), operation{
			// The timeout of a request that waits is longer by its wait.
			id: "getCheck", summary: "Get a check of a site; with its report once it is done", query: checkParams,
			timeout: fieldmark.MaxCheckWait*time.Second + handlerTimeout}},
	}
}

// checkParams are the query parameters of a check.
var checkParams = []param{
	{name: "wait", description: "How long to wait for the check to end, such as 20s; the default is not to wait"},
}

// checkRetry is when a client may request a new check again, in seconds.
const checkRetry = "2"

// create queues a check.
// 202 is a new check, 200 one that exists.
func (a *checkAPI) create(c *call) error {
	r, err := decodeBody[fieldmark.SiteCheckRequest](c)
	if err != nil {
		return err
	}
	client := a.caller(c.r).Addr // an unknown one shares its budget with all of them
	check, existing, err := a.checks.Request(c.r.Context(), client, r)
	if err != nil {
		return err
	}
	a.link(c, &check)
	h := c.w.Header()
	h.Set("Location", fieldmark.PathChecks+"/"+check.ID)
	// A client that repeats a request gets the same check, marked by this field.
	if existing {
		h.Set(fieldmark.HeaderCheckDeduplicated, "true")
		return c.send(http.StatusOK, check)
	}
	h.Set("Retry-After", checkRetry)
	return c.send(http.StatusAccepted, check)
}

// get sends a check. One that has ended never changes.
// It is not indexed: the id in its address is its only protection.
func (a *checkAPI) get(c *call) error {
	wait, err := c.params.duration("wait", fieldmark.MaxCheckWait*time.Second)
	if err != nil {
		return err
	}
	id, err := idParam(fieldmark.PrefixCheck)(c)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("X-Robots-Tag", "noindex")
	check, err := a.checks.Get(c.r.Context(), id, wait)
	if err != nil {
		return err
	}
	// It is private to the client that knows the id.
	if check.State.Ended() {
		h.Set("Cache-Control", "private, max-age=60")
	}
	a.link(c, &check)
	return c.send(http.StatusOK, check)
}

// link adds the addresses of a check, which depend on the public address of the service.
func (a *checkAPI) link(c *call, check *fieldmark.SiteCheck) {
	check.Links = fieldmark.SiteCheckLinks{Self: c.w.base + fieldmark.PathChecks + "/" + check.ID,
		Page: c.w.base + fieldmark.PathCheckPage + "/" + check.ID}
}
