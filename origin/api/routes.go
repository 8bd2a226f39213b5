package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/playground"
	"github.com/fieldmark/fieldmark/origin/technician"
)

// route is one operation of the API.
// The same values serve, validate and describe the operation, so that the document cannot differ from the server.
type route struct {
	method  string
	path    string // a pattern of http.ServeMux, and of OpenAPI
	access  authorization
	handler handler
	op      operation
}

// operation is the description of a route in the OpenAPI document, and the limits of its
// requests.
type operation struct {
	id           string // operationId; the audit log derives the name of an administrator's action from it
	summary      string
	status       []int         // of success, the usual one first; nil: 200, or 204 without a body
	query        []param       // all parameters; others are rejected
	consumes     []string      // media types of the request body besides JSON
	produces     []string      // media types of the response body besides JSON
	optionalBody bool          // the request body may be missing
	bodyLimit    int64         // bytes of the request body; 0: fieldmark.MaxBody
	timeout      time.Duration // of the whole request; 0: handlerTimeout
	idempotent   bool          // accepts an Idempotency-Key; the response is saved in the transaction of the effects
	streamed     bool          // the handler reads the request body, which has one of consumes, and the Idempotency-Key
	versioned    bool          // accepts If-Match
	dryRun       bool          // accepts dryRun: all of its effects are writes of missions (see mission.WithDryRun)
	anyQuery     bool          // unknown query parameters are ignored: the caller did not write the address
	hidden       bool          // not in the OpenAPI document
}

const (
	// handlerTimeout limits an ordinary request. An edge waits half a second longer for the
	// response header. So its client gets this 504, and the origin does not continue to
	// process a request that the edge has canceled.
	handlerTimeout = 5 * time.Second * timeout.Scale
	// remoteTimeout bounds requests that call other servers or run an untrusted module.
	// Each such call has a shorter limit. Edges wait 30 s for these routes.
	remoteTimeout = 18 * time.Second * timeout.Scale
	// bulkTimeout limits requests that read or write every brand. Their callers are edges,
	// which stream, and imports, which continue after the timeout of an edge.
	bulkTimeout = fieldmark.MaxBulkTime * time.Second
)

func (rt *route) timeout() time.Duration { return cmp.Or(rt.op.timeout, handlerTimeout) }

func (rt *route) bodyLimit() int64 { return cmp.Or(rt.op.bodyLimit, fieldmark.MaxBody) }

// params are the query parameters of the route.
func (rt *route) params() []param {
	if rt.op.dryRun {
		// Clipped, because several routes share the slice of their parameters.
		return append(slices.Clip(rt.op.query), dryRunParam)
	}
	return rt.op.query
}

// statuses are those of success.
func (rt *route) statuses() []int {
	if rt.op.status != nil {
		return rt.op.status
	}
	// A success without a body is 204 (RFC 9110, section 15.3.5).
	if rt.handler.out.empty() {
		return []int{http.StatusNoContent}
	}
	return []int{http.StatusOK}
}

// routes are all operations of the API.
func (s *server) routes(cfg Config) []*route {
	o := cfg.Service
	// Part of ETags: a release that generates other bytes must not answer 304 to those of another.
	version := strconv.Itoa(llms.TemplateVersion) + "-" + cfg.Version
	missions := &missionAPI{missions: o.Missions}
	alerts := newAlertAPI(o.Missions)
	// Edges may accept some of these while no origin can be reached, so newIntakeAPI needs them.
	create := slices.Concat(missions.routes(), alerts.routes())
	const admin = fieldmark.PathAdminAPI
	return slices.Concat(
		create, newIntakeAPI(s, o.Intake, create).routes(), missions.adminRoutes(),
		(&attachmentAPI{o.Attachments}).routes(),
		(&slaAPI{o.Missions.SLA}).routes(),
		(&calendarAPI{o.Missions.Calendars}).routes(),
		linkRoutes(o.Links),
		(&llmsAPI{o.Brands, cfg.Prober, version}).routes(), (&playgroundAPI{s, o.Playground}).routes(),
		(&webhookAPI{o.Webhooks, sync.OnceValues(describeEvents), o.Portal}).routes(),
		(&accessAPI{o.Access.Keys, o.Access.Accounts, o.AuditLog}).routes(), (&testClockAPI{o.TestClocks}).routes(),
		(&offerAPI{o.Offers, o.Offers.Groups}).routes(), (&testWorldAPI{o.TestWorlds}).routes(),
		(&brandAPI{o.Brands, o.Visibility}).routes(),
		(&disputeAPI{o.Brands, o.Brands.Disputes, o.Claims}).routes(),
		(&claimAPI{o.Claims, s}).routes(),
		(&checkAPI{s, o.SiteChecks}).routes(),
		(&accessRequestAPI{s, o.AccessRequests}).routes(),
		(&ownerAPI{o.Brands.Owners, o.Claims}).routes(),
		(&moduleAPI{o.Modules}).routes(),
		(&certificateAPI{o.Certificates}).routes(),
		(&signingKeyAPI{o.SigningKeys}).routes(), cdnRoutes(o.CDNs),
		(&factsAPI{o.Brands, o.Events}).routes(),
		newEventAPI(o.Events, o.CDNs, version).routes(),
		(&bulkAPI{o.Standings, o.Dumps, o.Visibility, o.Snapshots, o.PublicLog}).routes(),
		[]*route{
			{"POST", admin + "purge", key(fieldmark.ScopeAdmin), handleParamBody(callerKeyParam, o.Purge), operation{
				id: "purge", summary: "Purge tags, an address or everything from the caches of all edges"}},
			{"GET", admin + "issues", key(fieldmark.ScopeAdmin), handle(o.Monitor.Issues), operation{
				id: "listIssues", summary: "List what is wrong with the installation, critical issues first"}},
			{"GET", admin + "metrics", key(fieldmark.ScopeAdmin), handleParam(rangeParam, o.Monitor.Metrics), operation{
				id: "showMetrics", summary: "Get the counts of all nodes over a range of time", query: metricParams}},
			{"GET", fieldmark.PathInternalStatus, node, handle(o.Status), operation{hidden: true}},
			{"GET", fieldmark.PathOpenAPI, anyone, handleRaw[none, none](s.sendOpenAPI), operation{hidden: true}},
			{"GET", fieldmark.PathAsyncAPI, anyone, handleRaw[none, none](s.sendAsyncAPI), operation{hidden: true}},
		})
}

// routes are the operations of integrators on the missions of their account.
func (a *missionAPI) routes() []*route {
	const missions, one, batch = fieldmark.PathMissions, fieldmark.PathMissions + "/{id}", fieldmark.PathMissionBatch
	// One scope for each kind of change, so that a monitoring tool which creates missions cannot cancel any.
	create, read := key(fieldmark.ScopeMissionCreate), key(fieldmark.ScopeMissionRead)
	update, cancel := key(fieldmark.ScopeMissionUpdate), key(fieldmark.ScopeMissionCancel)
	operate := key(fieldmark.ScopeMissionOperate)
	return []*route{
		{"POST", missions, create, handleRaw[fieldmark.MissionRequest, fieldmark.Mission](a.create), operation{
			id: "openMission", summary: "Create a mission; the same source and externalId return the existing one",
			status: []int{201, 200}, idempotent: true, dryRun: true}},
		{"POST", batch, create, handleRaw[missionBatch, fieldmark.BatchReport](a.createBatch), operation{
			id: "openMissions", summary: "Create up to 100 missions; each one succeeds or fails on its own",
			idempotent: true, dryRun: true, bodyLimit: fieldmark.MaxBatchBody}},
		{"GET", missions, read, handleCall[none](a.list), operation{
			id: "listMissions", summary: "List missions; newest first, or in the order in which they changed",
			query: missionFilters}},
		// 304 by the ETag of the version: clients that poll one mission transfer it once.
		{"GET", one, read, handleRaw[none, fieldmark.Mission](a.get), operation{
			id: "getMission", summary: "Get a mission", status: []int{200, 304}}},
		{"PATCH", one, update, handleRaw[fieldmark.MissionPatch, fieldmark.Mission](a.edit), operation{
			id: "editMission", summary: "Update a mission with a merge patch (RFC 7396)",
			consumes: []string{mergePatchType}, idempotent: true, dryRun: true, versioned: true}},
		{"POST", one + "/cancel", cancel, handleMission(a, cancelMission), operation{
			id: "cancelMission", summary: "Cancel a mission", optionalBody: true, idempotent: true, dryRun: true,
			versioned: true}},
		{"POST", one + "/transitions", operate, handleMission(a, moveMission), operation{
			id: "moveMission", summary: "Change the status of a mission", idempotent: true, dryRun: true,
			versioned: true}},
		{"PUT", one + "/plan", operate, handleMission(a, planMission), operation{
			id: "planMission", summary: "Set the time and the assignee of a mission", idempotent: true,
			dryRun: true, versioned: true}},
		{"POST", one + "/notes", update, handleRaw[fieldmark.NoteRequest, fieldmark.Note](a.addNote), operation{
			id: "addNote", summary: "Add a note to a mission; the same externalId returns the existing one",
			status: []int{201, 200}, idempotent: true, dryRun: true}},
		{"GET", one + "/notes", read, handleCall[none](a.listNotes), operation{
			id: "listNotes", summary: "List the notes of a mission; oldest first", query: noteParams}},
		{"GET", missions + "/export", read, handleRaw[none, none](a.export), operation{
			id: "exportMissions", summary: "Export missions; in the order of their changes, one per line",
			status: []int{200}, query: exportParams, produces: []string{ndjsonType, csvType}, timeout: bulkTimeout}},
	}
}

// routes are the llms.txt tools. They need no key and store nothing.
func (a *llmsAPI) routes() []*route {
	return []*route{
		{"POST", fieldmark.PathLLMs, anyone, handleRaw[llms.Request, llms.Document](a.generate), operation{
			id: "generateLLMsTxt", summary: "Generate an llms.txt", produces: llmsTypes, status: []int{200, 304}}},
		{"POST", fieldmark.PathLLMsLint, anyone, handleRaw[lintRequest, llms.Report](a.lint), operation{
			id: "lintLLMsTxt", summary: "Check an llms.txt for errors and warnings", consumes: llmsTypes,
			status: []int{200, 304}, bodyLimit: fieldmark.MaxLintBody, timeout: remoteTimeout}},
	}
}

// playgroundAPI compiles cards and checks modules that anyone sends. It needs no key, and stores
// nothing. Its calls are not described: the page is their only client, and the commands `fieldmark module build`,
// check and run do the same.
type playgroundAPI struct {
	*server
	service *playground.Service
}

// yamlType is the media type of YAML (RFC 9512), wasmType that of a module.
const yamlType, wasmType = "application/yaml", "application/wasm"

// playCall is a call of a module.
type playCall struct {
	Module []byte  `json:"module"`
	Values []int64 `json:"values"`
	States string  `json:"states"`
}

// routes are the runs of the playground.
func (a *playgroundAPI) routes() []*route {
	const path = fieldmark.PathPlayground
	once := handleCall[playCall](func(c *call) (json.RawMessage, error) {
		r, err := decodeBody[playCall](c)
		if err != nil {
			return nil, err
		}
		return a.run(c, playground.Input{Kind: playground.KindCall, Body: r.Module, Values: r.Values, States: r.States})
	})
	body := handleCall[none](func(c *call) (json.RawMessage, error) {
		kinds := map[string]playground.Kind{jsonType: playground.KindCardJSON, yamlType: playground.KindCardYAML}
		if c.r.URL.Path == path+"modules" {
			kinds = map[string]playground.Kind{wasmType: playground.KindModule}
		}
		mediaType, err := c.mediaType(slices.Sorted(maps.Keys(kinds))...)
		if err != nil {
			return nil, err
		}
		text, err := c.readBody()
		if err != nil {
			return nil, err
		}
		return a.run(c, playground.Input{Kind: kinds[mediaType], Body: text})
	})
	return []*route{
		{"POST", path + "cards", anyone, body, operation{id: "compileCard", consumes: []string{yamlType},
			bodyLimit: playground.MaxCard, timeout: remoteTimeout, hidden: true}},
		{"POST", path + "modules", anyone, body, operation{id: "checkModule", consumes: []string{wasmType},
			bodyLimit: fieldmark.MaxAnyModule, timeout: remoteTimeout, hidden: true}},
		{"POST", path + "calls", anyone, once, operation{id: "runModule",
			bodyLimit: fieldmark.MaxPlayBody, timeout: remoteTimeout, hidden: true}},
	}
}

// run runs an input for the network of the client, which an edge reports.
func (a *playgroundAPI) run(c *call, in playground.Input) (json.RawMessage, error) {
	client := a.caller(c.r).Addr // an unknown one shares its budget with all of them
	return a.service.Run(c.r.Context(), client, in)
}

// routes are the operations of integrators on the endpoints of their account, and of
// administrators on all endpoints.
func (a *webhookAPI) routes() []*route {
	const hooks = fieldmark.PathWebhooks
	manage, admins := key(fieldmark.ScopeWebhookManage), key(fieldmark.ScopeAdmin)
	eventTypes := handleRaw[none, fieldmark.List[fieldmark.EventTypeInfo]](a.listEventTypes)
	// Twice the same operations: an integrator has those of one account, an administrator those of all.
	return slices.Concat([]*route{
		{"GET", hooks + "/event-types", anyone, eventTypes, operation{
			id: "listEventTypes", summary: "List the event types; each with the JSON Schema of its data and an example",
			status: []int{200, 304}}},
		// Without a key: a receiver that verifies signatures need not have one.
		{"GET", hooks + "/{id}/keys", anyone, handleCall[none](a.publicKeys), operation{
			id:      "getWebhookKeys",
			summary: "Get the public keys that sign an endpoint's messages; as a JSON Web Key Set"}},
		{"GET", fieldmark.PathPublicEvents, manage, handleCall[none](a.pollEvents), operation{
			id: "pollEvents", summary: "List events after a number; in the format of webhook messages",
			query: pollParams}},
		{"POST", fieldmark.PathPortalLinks, manage, handleCall[fieldmark.PortalLinkRequest](a.portalLink), operation{
			id: "createPortalLink", status: []int{201}, summary: "Create a link to webhook pages; it works once"}},
		{"GET", fieldmark.PathAdminAPI + "deliveries", admins, handleCall[none](a.listDeliveries), operation{
			id: "listDeliveries", summary: "List webhook deliveries; newest first",
			query: append([]param{worldParam}, deliveryParams...)}},
	}, a.endpointRoutes(hooks, "Webhook", manage, endpointParams), a.endpointRoutes(fieldmark.PathAdminAPI+"webhooks",
		"Endpoint", admins, append([]param{worldParam}, endpointParams...)))
}

// endpointRoutes are the operations on webhook endpoints below path; noun is part of their ids, and
// query are the parameters of the list.
func (a *webhookAPI) endpointRoutes(path, noun string, who authorization, query []param) []*route {
	one := path + "/{id}"
	return []*route{
		{"GET", path, who, handleCall[none](a.list), operation{
			id: "list" + noun + "s", summary: "List webhook endpoints", query: query}},
		{"POST", path, who, handleParamBody(ownerParam, a.webhooks.CreateEndpoint), operation{
			id: "create" + noun, summary: "Create a webhook endpoint; its secret is shown only once",
			status: []int{201}}},
		{"GET", one, who, handleParam(endpointParam, a.get), operation{
			id: "get" + noun, summary: "Get a webhook endpoint"}},
		{"PATCH", one, who, handleParamBody(endpointParam, a.patch), operation{
			id: "patch" + noun, summary: "Update, pause or enable a webhook endpoint"}},
		{"DELETE", one, who, handleParam(endpointParam, noResult(a.delete)), operation{
			id: "delete" + noun, summary: "Delete a webhook endpoint"}},
		{"POST", one + "/rotate-secret", who, handleParamBody(endpointParam, a.rotateSecret), operation{
			id: "rotate" + noun + "Secret", optionalBody: true,
			summary: "Rotate the secret of a webhook endpoint; the old secret also signs for a grace period"}},
		{"POST", one + "/test", who, handleParamBody(endpointParam, a.test), operation{
			id: "test" + noun, summary: "Send a test message and return its result",
			optionalBody: true, timeout: remoteTimeout}},
		{"POST", one + "/replays", who, handleParamBody(endpointParam, a.startReplay), operation{
			id: "replay" + noun, status: []int{202},
			summary: "Replay messages; those that failed since a time, or all events after a number"}},
		{"GET", one + "/replays", who, handleParam(endpointParam, asList(a.listReplays)), operation{
			id: "list" + noun + "Replays", summary: "List the replays of a webhook endpoint"}},
		{"GET", one + "/deliveries", who, handleCall[none](a.listDeliveries), operation{
			id: "list" + noun + "Deliveries", query: deliveryParams,
			summary: "List the deliveries to a webhook endpoint; newest first"}},
		{"GET", one + "/deliveries/{delivery}", who, handleParam(a.deliveryParam, a.getDelivery), operation{
			id: "get" + noun + "Delivery", summary: "Get a delivery and all its attempts"}},
		{"POST", one + "/deliveries/{delivery}/resend", who, handleParam(a.deliveryParam, a.resendDelivery), operation{
			id: "resend" + noun + "Delivery", status: []int{202},
			summary: "Resend a message; under its id, or now if it is pending"}},
	}
}

// routes manage API keys and accounts, and read the audit log.
func (a *accessAPI) routes() []*route {
	const admin = fieldmark.PathAdminAPI
	// The scope of test keys reaches no live data, so a key that has it can be given to a pipeline.
	admins, tests := key(fieldmark.ScopeAdmin), key(fieldmark.ScopeKeyTest)
	keyID := idParam(fieldmark.PrefixKey)
	entries := handleRaw[none, fieldmark.List[fieldmark.AuditEntry]]
	return []*route{
		{"POST", fieldmark.PathTestKeys, tests, handleParamBody(accountParam, a.keys.CreateTest), operation{
			id: "createTestKey", summary: "Create a test key; its token is shown only once", status: []int{201}}},
		{"GET", fieldmark.PathTestKeys, tests, handleParam(accountParam, asList(a.keys.TestKeys)), operation{
			id: "listTestKeys", summary: "List the test keys of your account; newest first"}},
		{"DELETE", fieldmark.PathTestKeys + "/{id}", tests, handleParam(testKeyParam,
			noResult(a.revokeTestKey)), operation{
			id: "revokeTestKey", summary: "Revoke a test key of your account"}},
		{"GET", admin + "keys", admins, handleList(a.keys.List), operation{
			id: "listKeys", summary: "List API keys"}},
		{"POST", admin + "keys", admins, handleParamBody(accountParam, a.keys.Create), operation{
			id: "createKey", summary: "Create an API key; its token is shown only once", status: []int{201}}},
		// A key is revoked and not deleted: the audit log and missions refer to it.
		{"POST", admin + "keys/{id}/revoke", admins, handleParamBody(keyID, a.revokeKey), operation{
			id: "revokeKey", summary: "Revoke an API key", optionalBody: true}},
		{"POST", admin + "keys/{id}/rotate", admins, handleParamBody(keyID, a.keys.Rotate), operation{
			id: "rotateKey", optionalBody: true, status: []int{201},
			summary: "Rotate an API key, within the offer of its account; the old key works for a grace period and " +
				"the new token is shown only once"}},
		{"GET", admin + "accounts", admins, handleList(a.accounts.List), operation{
			id: "listAccounts", summary: "List accounts"}},
		{"PUT", admin + "accounts/{account}", admins, handleParamBody(pathParam("account"), a.putAccount), operation{
			id: "putAccount", summary: "Create or update an account"}},
		{"GET", admin + "audit-log", admins, entries(a.listAudit), operation{
			id: "listAuditLog", summary: "List the actions of administrators; newest first", query: auditParams,
			status: []int{200}, produces: []string{csvType}, timeout: bulkTimeout}},
		{"GET", admin + "audit-log/verdict", admins, handle(a.verifyAudit), operation{
			id: "verifyAuditLog", summary: "Verify the hash chain of the audit log", timeout: bulkTimeout}},
	}
}

// routes manage offers, and serve the limits and the sub-accounts of the caller's account.
func (a *offerAPI) routes() []*route {
	const offers, one = fieldmark.PathAdminAPI + "offers", fieldmark.PathAdminAPI + "offers/{id}"
	const subs, sub = fieldmark.PathAccount + "/sub-accounts", fieldmark.PathAccount + "/sub-accounts/{id}"
	admins, id := key(fieldmark.ScopeAdmin), pathParam("id")
	return []*route{
		{"GET", offers, admins, handleList(a.offers.List), operation{id: "listOffers", summary: "List offers"}},
		{"GET", one, admins, handleCall[none](a.get), operation{id: "getOffer", summary: "Get an offer"}},
		{"PUT", one, admins, handleCall[fieldmark.OfferRequest](a.put), operation{
			id: "putOffer", versioned: true,
			summary: "Create or replace an offer; its limits apply to all its accounts at once"}},
		{"DELETE", one, admins, handleParam(a.versionedParam(id), noResult(a.delete)), operation{
			id: "deleteOffer", summary: "Delete an offer that no account has", versioned: true}},

		{"GET", fieldmark.PathAccount, anyKey, handleParam(accountParam, a.offers.Use), operation{
			id: "getOwnAccount", summary: "Get the limits of the key's account and what it has used"}},
		{"GET", subs, manager, handleParam(accountParam, asList(a.groups.List)), operation{
			id: "listSubAccounts", summary: "List the sub-accounts of a group"}},
		{"POST", subs, manager, handleParamBody(accountParam, a.groups.Create), operation{
			id: "createSubAccount", summary: "Create a sub-account", status: []int{201}}},
		{"GET", sub, manager, handleParam(subAccountParam, a.getSub), operation{
			id: "getSubAccount", summary: "Get a sub-account"}},
		{"PUT", sub, manager, handleParamBody(subAccountParam, a.putSub), operation{
			id: "putSubAccount", summary: "Rename a sub-account"}},
		{"DELETE", sub, manager, handleParam(subAccountParam, noResult(a.deleteSub)), operation{
			id: "deleteSubAccount", summary: "Remove a sub-account, its keys and its endpoints; its missions stay"}},
		{"GET", sub + "/keys", manager, handleParam(subAccountParam, asList(a.keys)), operation{
			id: "listSubAccountKeys", summary: "List the keys of a sub-account"}},
		{"POST", sub + "/keys", manager, handleParamBody(subAccountParam, a.createKey), operation{
			id: "createSubAccountKey", status: []int{201},
			summary: "Create a key of a sub-account; its token is shown only once"}},
		{"DELETE", sub + "/keys/{key}", manager, handleParam(subAccountParam, noResult(a.revokeKey)), operation{
			id: "revokeSubAccountKey", summary: "Revoke a key of a sub-account"}},
	}
}

// adminRoutes are the operations of administrators on the missions and payments of all accounts.
func (a *missionAPI) adminRoutes() []*route {
	const missions, payments = fieldmark.PathAdminAPI + "missions", fieldmark.PathAdminAPI + "payments"
	admins, missionID, paymentID := key(fieldmark.ScopeAdmin), idParam(fieldmark.PrefixMission), pathParam("id")
	return []*route{
		{"GET", missions, admins, handleCall[none](a.list), operation{
			id: "listAllMissions", summary: "List the missions of one account or of all", query: allMissionFilters}},
		{"POST", missions + "/{id}/transitions", admins, handleMission(a, moveMission), operation{
			id: "moveAnyMission", summary: "Change the status of a mission of any account", dryRun: true}},
		// All moves in one transaction, each with its event, as if they had been sent one by one.
		{"POST", missions + "/{id}/complete", admins, handleParam(missionID, a.missions.Complete), operation{
			id: "completeMission", dryRun: true,
			summary: "Complete a mission through all the statuses in between"}},
		{"POST", missions + "/{id}/notes/{note}/redact", admins, handleCall[none](a.redactNote), operation{
			id: "redactNote", summary: "Remove the text of a note, from its events too"}},
		// Money changes hands elsewhere; these operations record it.
		{"PUT", missions + "/{id}/payment", admins, handleParamBody(missionID, a.missions.SetPayment), operation{
			id: "setPayment", summary: "Set the amount of a mission, until its payment is due", dryRun: true}},
		{"GET", payments, admins, handleCall[none](a.listPayments), operation{
			id: "listPayments", query: paymentParams,
			summary: "List the payments of all accounts, newest first, without their refunds"}},
		{"GET", payments + "/{id}", admins, handleParam(paymentID, a.missions.Payment), operation{
			id: "getPayment", summary: "Get a payment and its refunds"}},
		{"POST", payments + "/{id}/transitions", admins, handleParamBody(paymentID, a.missions.SetPaymentStatus),
			operation{
				id: "markPayment", dryRun: true,
				summary: "Set the status of a payment to processing, paid, failed or canceled"}},
		{"POST", payments + "/{id}/refunds", admins, handleParamBody(paymentID, a.missions.RefundPayment),
			operation{
				id: "refundPayment", dryRun: true, summary: "Record a refund of a payment, once for each reference"}},
	}
}

// routes manage brands and their facts.
func (a *brandAPI) routes() []*route {
	const admin, one = fieldmark.PathAdminAPI, fieldmark.PathAdminAPI + "brands/{slug}"
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"GET", admin + "brands", admins, handleCall[none](a.list), operation{
			id: "listBrands", summary: "List brands by slug", query: brandParams}},
		{"PUT", one, admins, handleCall[brandRecord](a.put), operation{
			id: "putBrand", summary: "Create or update a brand"}},
		{"POST", admin + "brands/import", admins, handleBody(a.importBrands), operation{
			id: "importBrands", summary: "Create and update many brands",
			bodyLimit: fieldmark.MaxBulkBody, timeout: bulkTimeout}},
		{"GET", one, admins, handleParam(slugParam, a.get), operation{
			id: "getBrand", summary: "Get a brand and its aliases"}},
		{"DELETE", one, admins, handleParam(slugParam, noResult(a.brands.Delete)), operation{
			id: "deleteBrand", summary: "Delete a brand and all its data, and purge it from every edge"}},
		{"POST", one + "/rename", admins, handleParamBody(slugParam, a.rename), operation{
			id: "renameBrand", summary: "Change the slug of a brand; the old slug becomes an alias"}},
		{"PUT", one + "/aliases", admins, handleParamBody(slugParam, a.setAliases), operation{
			id: "setAliases", summary: "Set the aliases of a brand"}},
		{"POST", admin + "visibility/import", admins, handleCall[[]sampleRecord](a.importVisibility), operation{
			id: "importVisibility", summary: "Import a study of answers, or sums of answers, and report rejected lines",
			consumes:  []string{csvType},
			bodyLimit: fieldmark.MaxBulkBody, timeout: bulkTimeout}},
		a.proxyRoute(),
		// 202: the audit waits in the queue, and its result is an event.
		{"POST", one + "/audit", admins, handleParam(slugParam, noResult(a.brands.Audits.Request)), operation{
			id: "auditBrand", summary: "Queue an audit of a brand's site", status: []int{202}}},
		{"GET", admin + "audits", admins, handleList(a.brands.Audits.List), operation{
			id: "listAudits", summary: "List running audits with their progress, and queued audits"}},
	}
}

// routes open disputes, without a key, and decide them, for administrators.
func (a *disputeAPI) routes() []*route {
	const public, admin = fieldmark.PathBrands + "{slug}/disputes", fieldmark.PathAdminAPI + "disputes"
	admins, disputes := key(fieldmark.ScopeAdmin), a.disputes
	disputeID := idParam(fieldmark.PrefixDispute)
	return []*route{
		// Without a key, because the owner of a site may have no account.
		{"POST", public, ownerOrAnyone, handleRaw[fieldmark.DisputeRequest, fieldmark.DisputeStatus](a.open), operation{
			id: "openDispute", status: []int{201},
			summary: "Dispute a finding about a brand; with a key of its owner, the site is audited again at once"}},
		{"GET", public, ownerOrAnyone, handleCall[none](a.listOfBrand), operation{
			id:      "listOpenDisputes",
			summary: "List the open disputes of a brand; newest first, with a key of its owner all of the account"}},
		{"POST", public + "/{id}/withdraw", owner, handleCall[none](a.withdraw), operation{
			id: "withdrawDispute", summary: "Withdraw a dispute that your account opened"}},
		{"GET", public + "/{id}", anyone, handleCall[none](a.getStatus), operation{
			id: "getDisputeStatus", summary: "Get the state of a dispute and the answer to it"}},
		{"GET", admin, admins, handleCall[none](a.list), operation{
			id: "listDisputes", summary: "List disputes; newest first", query: disputeParams}},
		{"GET", admin + "/{id}", admins, handleParam(disputeID, disputes.Get), operation{
			id: "getDispute", summary: "Get a dispute with its text and its sender"}},
		{"POST", admin + "/{id}/decision", admins, handleParamBody(disputeID, disputes.Decide), operation{
			id: "decideDispute", summary: "Uphold or reject an open dispute; an upheld one queues an audit"}},
		{"GET", fieldmark.PathAdminAPI + "brands/{slug}/suspicions", admins,
			handleParam(slugParam, a.brands.Suspicions), operation{
				id:      "listSuspicions",
				summary: "List text that reads as written to steer a model and that no second audit has confirmed"}},
	}
}

// linkRoutes manage the secret links to pages of technicians.
func linkRoutes(s *technician.Links) []*route {
	const links = fieldmark.PathAdminAPI + "technician-links"
	admins, linkID := key(fieldmark.ScopeAdmin), idParam(fieldmark.PrefixLink)
	return []*route{
		{"GET", links, admins, handleList(s.List), operation{
			id: "listTechnicianLinks", summary: "List the links to pages of technicians"}},
		{"POST", links, admins, handleBody(s.Create), operation{
			id: "createTechnicianLink", status: []int{201},
			summary: "Create the link to the page of a technician; its address is shown only once"}},
		{"POST", links + "/{id}/rotate", admins, handleParamBody(linkID, s.Rotate), operation{
			id: "rotateTechnicianLink", optionalBody: true,
			summary: "Replace the address and the end of a technician's link; the new address is shown only once"}},
		{"POST", links + "/{id}/revoke", admins, handleParam(linkID, s.Revoke), operation{
			id: "revokeTechnicianLink", summary: "Revoke the link to the page of a technician"}},
	}
}

// routes manage scoring modules. Edges read the active modules and report what they use.
func (a *moduleAPI) routes() []*route {
	const modules, one = fieldmark.PathAdminAPI + "modules", fieldmark.PathAdminAPI + "modules/{digest}"
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"GET", modules, admins, handleList(a.modules.List), operation{
			id: "listModules", summary: "List scoring modules; newest first"}},
		// The module runs on test vectors before it is stored, so it has the time of untrusted code.
		{"POST", modules, admins, handleBody(a.modules.Create), operation{
			id: "pushModule", summary: "Validate and store a scoring module", status: []int{201},
			bodyLimit: fieldmark.MaxBulkBody, timeout: remoteTimeout}},
		{"GET", modules + "/status", admins, handle(a.modules.Status), operation{
			id: "moduleStatus", summary: "Get the active modules and the state of each edge"}},
		{"POST", modules + "/rollback", admins, handle(a.modules.RollBack), operation{
			id: "rollBackModule", summary: "End the canary, or reactivate the previous module"}},
		{"GET", one, admins, handleParam(digestParam, a.modules.Get), operation{
			id: "showModule", summary: "Get a scoring module"}},
		{"POST", one + "/activate", admins, handleParamBody(digestParam, a.activate), operation{
			id:      "activateModule",
			summary: "Activate a scoring module, or start it as a canary for a share of the brands"}},
		{"GET", one + "/preview", admins, handleParam(digestParam, a.modules.Preview), operation{
			id: "showModulePreview", summary: "Get the progress and the results of a preview"}},
		{"POST", one + "/preview", admins, handleParam(digestParam, a.modules.RequestPreview), operation{
			id: "previewModule", status: []int{202},
			summary: "Score every brand with a module and compare the scores with those of the active one"}},

		{"POST", fieldmark.PathInternalNodes, node, handleBody(noResult(a.modules.ReportNode)),
			operation{hidden: true}},
		{"GET", fieldmark.PathInternalModules, node, handle(a.modules.Plan), operation{hidden: true}},
		// By digest, so an edge verifies what it got whichever origin answered.
		{"GET", fieldmark.PathInternalModules + "/{digest}", node, handleRaw[none, none](a.sendBody),
			operation{hidden: true}},
	}
}

// routes are the operations of administrators on TLS certificates, and what edges
// read of them.
func (a *certificateAPI) routes() []*route {
	const certificates, one = fieldmark.PathAdminAPI + "certificates", fieldmark.PathAdminAPI + "certificates/{name}"
	admins, name := key(fieldmark.ScopeAdmin), pathParam("name")
	return []*route{
		{"GET", certificates, admins, handle(a.certificates.List), operation{
			id: "listCertificates", summary: "List TLS certificates and the use of the limits of orders"}},
		// The private key is in the body: it is stored encrypted and never returned.
		{"PUT", one, admins, handleParamBody(name, a.certificates.Import), operation{
			id: "importCertificate", summary: "Store a TLS certificate that was issued elsewhere; it is not renewed"}},
		{"DELETE", one, admins, handleParam(name, noResult(a.certificates.Remove)), operation{
			id: "removeCertificate", summary: "Remove the TLS certificate of a name"}},
		{"POST", one + "/renew", admins, handleParam(name, a.certificates.Renew), operation{
			id: "renewCertificate", summary: "Order a new TLS certificate for a name now"}},

		{"GET", fieldmark.PathInternalCertificates, node, handleParam(bearerParam, a.certificates.ForEdges),
			operation{hidden: true}},
		{"GET", fieldmark.PathInternalChallenges + "/{kind}/{answer}", node, handleCall[none](a.challenge),
			operation{hidden: true}},
	}
}

// routes are the operations of administrators on the keys that sign the requests of the
// auditor, and the directory in which verifiers find their public halves.
func (a *signingKeyAPI) routes() []*route {
	const keys = fieldmark.PathAdminAPI + "signing-keys"
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"GET", keys, admins, handle(a.keys.List), operation{
			id: "listSigningKeys", summary: "List the keys that sign the requests of the auditor"}},
		{"POST", keys + "/rotate", admins, handle(a.keys.Rotate), operation{
			id: "rotateSigningKey", summary: "Publish a new signing key, which comes into use after 48 hours"}},
		// At once, without the 48 hours: for a key that leaked.
		{"DELETE", keys + "/{id}", admins, handleParam(pathParam("id"), a.keys.Retire), operation{
			id: "retireSigningKey", summary: "Delete a signing key at once; the next one comes into use"}},
		{"GET", fieldmark.PathKeyDirectory, anyone, handleRaw[none, none](a.sendDirectory), operation{hidden: true}},
	}
}

// mount registers every route in the mux.
func (s *server) mount(routes []*route) {
	for _, r := range routes {
		s.mux.Handle(r.method+" "+r.path, s.serve(r))
	}
}

// unrouted returns the error for a request that no route matches: method_not_allowed where another method
// has one, and not_found otherwise. The mux would send the same status with a plain text.
func (s *server) unrouted(w *responseWriter, r *http.Request) error {
	var allowed []string
	for _, method := range []string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"} {
		other := *r
		other.Method = method
		if _, pattern := s.mux.Handler(&other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such address")
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	return fieldmark.Errorf(fieldmark.CodeMethodNotAllowed, "allowed here: %s", list)
}
