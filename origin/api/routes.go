package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// route is one operation of the API.
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
	versioned    bool          // accepts If-Match
	anyQuery     bool          // unknown query parameters are ignored: the caller did not write the address
	hidden       bool          // not in the OpenAPI document
}

const (
	// handlerTimeout limits an ordinary request. An edge waits half a second longer for the
	// response header. So its client gets this 504, and the origin does not continue to
	// process a request that the edge has canceled.
	handlerTimeout = 5 * time.Second
	// remoteTimeout bounds requests that call other servers or run an untrusted module.
	// Each such call has a shorter limit. Edges wait 30 s for these routes.
	remoteTimeout = 18 * time.Second
	// bulkTimeout limits requests that read or write every brand. Their callers are edges,
	// which stream, and imports, which continue after the timeout of an edge.
	bulkTimeout = fieldmark.MaxBulkTime * time.Second
)

func (rt *route) timeout() time.Duration { return cmp.Or(rt.op.timeout, handlerTimeout) }

func (rt *route) bodyLimit() int64 { return cmp.Or(rt.op.bodyLimit, fieldmark.MaxBody) }

// statuses are those of success.
func (rt *route) statuses() []int {
	if rt.op.status != nil {
		return rt.op.status
	}
	if rt.handler.out.empty() {
		return []int{http.StatusNoContent}
	}
	return []int{http.StatusOK}
}

// routes are all operations of the API.
func (s *server) routes() []*route {
	return slices.Concat(s.missionRoutes(), s.alertRoutes(), s.llmsRoutes(), s.webhookRoutes(), s.keyRoutes(),
		s.adminMissionRoutes(), s.slaRoutes(), s.brandRoutes(), s.disputeRoutes(),
		s.calendarRoutes(), s.moduleRoutes(), s.certificateRoutes(),
		s.edgeRoutes())
}

// missionRoutes are the operations of integrators on the missions of their account.
func (s *server) missionRoutes() []*route {
	const missions, one, batch = fieldmark.PathMissions, fieldmark.PathMissions + "/{id}", fieldmark.PathMissionBatch
	create, read := key(fieldmark.ScopeMissionCreate), key(fieldmark.ScopeMissionRead)
	update, cancel := key(fieldmark.ScopeMissionUpdate), key(fieldmark.ScopeMissionCancel)
	operate := key(fieldmark.ScopeMissionOperate)
	return []*route{
		{"POST", missions, create, handleRaw[fieldmark.MissionRequest, fieldmark.Mission](s.createMission), operation{
			id: "openMission", summary: "Create a mission; the same source and externalId return the existing one",
			status: []int{201, 200}, idempotent: true}},
		{"POST", batch, create, handleRaw[missionBatch, fieldmark.BatchReport](s.createMissions), operation{
			id: "openMissions", summary: "Create up to 100 missions; each one succeeds or fails on its own",
			idempotent: true, bodyLimit: fieldmark.MaxBatchBody}},
		{"GET", missions, read, handleCall[none](s.listMissions), operation{
			id: "listMissions", summary: "List missions, newest first or in the order they changed",
			query: missionFilters}},
		{"GET", one, read, handleRaw[none, fieldmark.Mission](s.getMission), operation{
			id: "getMission", summary: "Get a mission", status: []int{200, 304}}},
		{"PATCH", one, update, handleRaw[fieldmark.MissionPatch, fieldmark.Mission](s.editMission), operation{
			id: "editMission", summary: "Update a mission with a merge patch (RFC 7396)",
			consumes: []string{mergePatchType}, idempotent: true, versioned: true}},
		{"POST", one + "/cancel", cancel, handleMission(s, cancelMission), operation{
			id: "cancelMission", summary: "Cancel a mission", optionalBody: true, idempotent: true, versioned: true}},
		{"POST", one + "/transitions", operate, handleMission(s, moveMission), operation{
			id: "moveMission", summary: "Change the status of a mission", idempotent: true, versioned: true}},
		{"PUT", one + "/plan", operate, handleMission(s, planMission), operation{
			id: "planMission", summary: "Set the time and the assignee of a mission", idempotent: true,
			versioned: true}},
	}
}

// alertRoutes turn the notifications of alerting tools into missions. Grafana contact points send POST
// or PUT.
func (s *server) alertRoutes() []*route {
	const path = fieldmark.PathAlerts
	create := key(fieldmark.ScopeMissionCreate)
	alertmanager := handleRaw[map[string]any, fieldmark.AlertReport](s.receiveAlerts("alertmanager"))
	grafana := handleRaw[map[string]any, fieldmark.AlertReport](s.receiveAlerts("grafana"))
	return []*route{
		{"POST", path + "alertmanager", create, alertmanager, operation{
			id: "takeAlertmanager", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive an Alertmanager notification (version 4); overload is 503, never 429"}},
		{"POST", path + "grafana", create, grafana, operation{
			id: "takeGrafana", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive a Grafana notification (version 1); overload is 503, never 429"}},
		{"PUT", path + "grafana", create, grafana, operation{
			id: "putGrafana", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive a Grafana notification from a contact point that uses PUT"}},
	}
}

// llmsRoutes are the llms.txt tools. They need no key and store nothing.
func (s *server) llmsRoutes() []*route {
	return []*route{
		{"POST", fieldmark.PathLLMs, anyone, handleRaw[llms.Request, llms.Document](s.generateLLMs), operation{
			id: "generateLLMsTxt", summary: "Generate an llms.txt", produces: llmsTypes, status: []int{200, 304}}},
		{"POST", fieldmark.PathLLMsLint, anyone, handleRaw[lintRequest, llms.Report](s.lintLLMs), operation{
			id: "lintLLMsTxt", summary: "Check an llms.txt for errors and warnings", consumes: llmsTypes,
			status: []int{200, 304}, bodyLimit: fieldmark.MaxLintBody, timeout: remoteTimeout}},
	}
}

// webhookRoutes are the operations of integrators on the endpoints of their account, and of
// administrators on all endpoints.
func (s *server) webhookRoutes() []*route {
	const hooks = fieldmark.PathWebhooks
	manage, admins := key(fieldmark.ScopeWebhookManage), key(fieldmark.ScopeAdmin)
	eventTypes := handleRaw[none, fieldmark.List[fieldmark.EventTypeInfo]](s.listEventTypes)
	return slices.Concat([]*route{
		{"GET", hooks + "/event-types", anyone, eventTypes, operation{
			id: "listEventTypes", summary: "List the event types, each with the JSON Schema of its data and an example",
			status: []int{200, 304}}},
		{"GET", hooks + "/{id}/keys", anyone, handleCall[none](s.publicKeys), operation{
			id:      "getWebhookKeys",
			summary: "Get the public keys that sign an endpoint's messages, as a JSON Web Key Set"}},
		{"GET", fieldmark.PathPublicEvents, manage, handleCall[none](s.pollEvents), operation{
			id: "pollEvents", summary: "List events after a number, in the format of webhook messages",
			query: pollParams}},
		{"GET", fieldmark.PathAdminAPI + "deliveries", admins, handleCall[none](s.listDeliveries), operation{
			id: "listDeliveries", summary: "List webhook deliveries, newest first", query: deliveryParams}},
	}, s.endpointRoutes(hooks, "Webhook", manage), s.endpointRoutes(fieldmark.PathAdminAPI+"webhooks", "Endpoint",
		admins))
}

// endpointRoutes are the operations on webhook endpoints below path; noun is part of their ids.
func (s *server) endpointRoutes(path, noun string, who authorization) []*route {
	one := path + "/{id}"
	return []*route{
		{"GET", path, who, handleParam(accountParam, asList(s.origin.Webhooks.Endpoints)), operation{
			id: "list" + noun + "s", summary: "List webhook endpoints"}},
		{"POST", path, who, handleParamBody(ownerParam, s.origin.Webhooks.CreateEndpoint), operation{
			id: "create" + noun, summary: "Create a webhook endpoint; its secret is shown only once",
			status: []int{201}}},
		{"GET", one, who, handleParam(endpointParam, s.getEndpoint), operation{
			id: "get" + noun, summary: "Get a webhook endpoint"}},
		{"PATCH", one, who, handleParamBody(endpointParam, s.patchEndpoint), operation{
			id: "patch" + noun, summary: "Update, pause or enable a webhook endpoint"}},
		{"DELETE", one, who, handleParam(endpointParam, noResult(s.deleteEndpoint)), operation{
			id: "delete" + noun, summary: "Delete a webhook endpoint"}},
		{"POST", one + "/rotate-secret", who, handleParamBody(endpointParam, s.rotateSecret), operation{
			id: "rotate" + noun + "Secret", optionalBody: true,
			summary: "Rotate the secret of a webhook endpoint; the old secret also signs for a grace period"}},
		{"POST", one + "/test", who, handleParamBody(endpointParam, s.testEndpoint), operation{
			id: "test" + noun, summary: "Send a test message and return its result",
			optionalBody: true, timeout: remoteTimeout}},
		{"POST", one + "/replays", who, handleParamBody(endpointParam, s.startReplay), operation{
			id: "replay" + noun, status: []int{202},
			summary: "Resend the messages that failed since a time, or all events after a number"}},
		{"GET", one + "/replays", who, handleParam(endpointParam, asList(s.listReplays)), operation{
			id: "list" + noun + "Replays", summary: "List the replays of a webhook endpoint"}},
		{"GET", one + "/deliveries", who, handleCall[none](s.listDeliveries), operation{
			id: "list" + noun + "Deliveries", query: deliveryParams,
			summary: "List the deliveries to a webhook endpoint, newest first"}},
		{"GET", one + "/deliveries/{delivery}", who, handleParam(s.deliveryParam, s.getDelivery), operation{
			id: "get" + noun + "Delivery", summary: "Get a delivery and all its attempts"}},
		{"POST", one + "/deliveries/{delivery}/resend", who, handleParam(s.deliveryParam, s.resendDelivery), operation{
			id: "resend" + noun + "Delivery", status: []int{202},
			summary: "Resend a message under its id, or send it now if it is pending"}},
	}
}

// keyRoutes manage API keys and accounts, and read the audit log.
func (s *server) keyRoutes() []*route {
	const admin = fieldmark.PathAdminAPI
	admins, keyID := key(fieldmark.ScopeAdmin), idParam(fieldmark.PrefixKey)
	return []*route{
		{"GET", admin + "keys", admins, handleList(s.origin.Access.Keys.List), operation{
			id: "listKeys", summary: "List API keys"}},
		{"POST", admin + "keys", admins, handleParamBody(accountParam, s.origin.Access.Keys.Create), operation{
			id: "createKey", summary: "Create an API key; its token is shown only once", status: []int{201}}},
		{"POST", admin + "keys/{id}/revoke", admins, handleParamBody(keyID, s.revokeKey), operation{
			id: "revokeKey", summary: "Revoke an API key", optionalBody: true}},
		{"POST", admin + "keys/{id}/rotate", admins, handleParamBody(keyID, s.origin.Access.Keys.Rotate), operation{
			id: "rotateKey", optionalBody: true, status: []int{201},
			summary: "Rotate an API key; the old key works for a grace period and the new token is shown only once"}},
		{"GET", admin + "accounts", admins, handleList(s.origin.Access.Accounts.List), operation{
			id: "listAccounts", summary: "List accounts"}},
		{"PUT", admin + "accounts/{account}", admins, handleParamBody(pathParam("account"), s.putAccount), operation{
			id: "putAccount", summary: "Create or update an account"}},
		{"GET", admin + "audit-log", admins, handleCall[none](s.listAudit), operation{
			id: "listAuditLog", summary: "List the actions of administrators, newest first", query: auditParams}},
		{"GET", admin + "audit-log/verdict", admins, handle(s.verifyAudit), operation{
			id: "verifyAuditLog", summary: "Verify the hash chain of the audit log", timeout: bulkTimeout}},
	}
}

// adminMissionRoutes are the operations of administrators on the missions and payments of all accounts.
func (s *server) adminMissionRoutes() []*route {
	const missions, payments = fieldmark.PathAdminAPI + "missions", fieldmark.PathAdminAPI + "payments"
	admins, missionID, paymentID := key(fieldmark.ScopeAdmin), idParam(fieldmark.PrefixMission), pathParam("id")
	return []*route{
		{"GET", missions, admins, handleCall[none](s.listMissions), operation{
			id: "listAllMissions", summary: "List the missions of one account or of all", query: allMissionFilters}},
		{"POST", missions + "/{id}/transitions", admins, handleMission(s, moveMission), operation{
			id: "moveAnyMission", summary: "Change the status of a mission of any account"}},
		{"POST", missions + "/{id}/complete", admins, handleParam(missionID, s.origin.Missions.Complete), operation{
			id: "completeMission", summary: "Complete a mission through all the statuses in between"}},
		{"PUT", missions + "/{id}/payment", admins, handleParamBody(missionID, s.origin.Missions.SetPayment), operation{
			id: "setPayment", summary: "Set the amount of a mission, until its payment is due"}},
		{"GET", payments, admins, handleCall[none](s.listPayments), operation{
			id: "listPayments", query: paymentParams,
			summary: "List the payments of all accounts, newest first, without their refunds"}},
		{"GET", payments + "/{id}", admins, handleParam(paymentID, s.origin.Missions.Payment), operation{
			id: "getPayment", summary: "Get a payment and its refunds"}},
		{"POST", payments + "/{id}/transitions", admins, handleParamBody(paymentID, s.origin.Missions.SetPaymentStatus),
			operation{
				id: "markPayment", summary: "Set the status of a payment to processing, paid, failed or canceled"}},
		{"POST", payments + "/{id}/refunds", admins, handleParamBody(paymentID, s.origin.Missions.RefundPayment),
			operation{
				id: "refundPayment", summary: "Record a refund of a payment, once for each reference"}},
	}
}

// slaRoutes manage SLA policies and business hours.
func (s *server) slaRoutes() []*route {
	const policies, calendars = fieldmark.PathAdminAPI + "sla/policies", fieldmark.PathAdminAPI + "sla/calendars"
	admins := key(fieldmark.ScopeAdmin)
	deleteCalendar := handleParam(calendarNameParam, noResult(s.origin.Missions.SLA.DeleteCalendar))
	return []*route{
		{"GET", policies, admins, handleList(s.origin.Missions.SLA.Policies), operation{
			id: "listSLAPolicies", summary: "List the active SLA policies, one for each priority"}},
		{"PUT", policies + "/{priority}", admins, handleCall[slaPolicyRecord](s.putSLAPolicy), operation{
			id: "putSLAPolicy", summary: "Set the SLA policy of a priority and recalculate running timers"}},
		{"PATCH", policies + "/{priority}", admins, handleParamBody(priorityParam, s.origin.Missions.SLA.PatchPolicy),
			operation{
				id: "patchSLAPolicy", summary: "Update the SLA policy of a priority and recalculate running timers"}},
		{"DELETE", policies + "/{priority}", admins, handleParam(priorityParam,
			noResult(s.origin.Missions.SLA.ResetPolicy)), operation{
			id: "resetSLAPolicy", summary: "Reset the SLA policy of a priority to the built-in one"}},
		{"GET", calendars, admins, handleList(s.origin.Missions.SLA.Calendars), operation{
			id: "listSLACalendars", summary: "List the active business hours"}},
		{"PUT", calendars + "/{name}", admins, handleCall[slaCalendarRecord](s.putSLACalendar), operation{
			id: "putSLACalendar", summary: "Set business hours and recalculate running timers"}},
		{"DELETE", calendars + "/{name}", admins, deleteCalendar, operation{
			id: "deleteSLACalendar", summary: "Delete business hours; built-in ones are reset"}},
	}
}

// brandRoutes manage brands, their facts, and what edges cache of them.
func (s *server) brandRoutes() []*route {
	const admin, one = fieldmark.PathAdminAPI, fieldmark.PathAdminAPI + "brands/{slug}"
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"GET", admin + "brands", admins, handleCall[none](s.listBrands), operation{
			id: "listBrands", summary: "List brands by slug", query: brandParams}},
		{"PUT", one, admins, handleCall[brandRecord](s.putBrand), operation{
			id: "putBrand", summary: "Create or update a brand"}},
		{"POST", admin + "brands/import", admins, handleBody(s.importBrands), operation{
			id: "importBrands", summary: "Create and update many brands",
			bodyLimit: fieldmark.MaxBulkBody, timeout: bulkTimeout}},
		{"GET", one, admins, handleParam(slugParam, s.getBrand), operation{
			id: "getBrand", summary: "Get a brand and its aliases"}},
		{"DELETE", one, admins, handleParam(slugParam, noResult(s.origin.Brands.Delete)), operation{
			id: "deleteBrand", summary: "Delete a brand and all its data, and purge it from every edge"}},
		{"POST", one + "/rename", admins, handleParamBody(slugParam, s.renameBrand), operation{
			id: "renameBrand", summary: "Change the slug of a brand; the old slug becomes an alias"}},
		{"PUT", one + "/aliases", admins, handleParamBody(slugParam, s.setAliases), operation{
			id: "setAliases", summary: "Set the aliases of a brand"}},
		{"POST", admin + "visibility/import", admins, handleCall[[]sampleRecord](s.importVisibility), operation{
			id: "importVisibility", summary: "Import answer samples and report rejected lines",
			consumes:  []string{csvType},
			bodyLimit: fieldmark.MaxBulkBody, timeout: bulkTimeout}},
		{"POST", one + "/audit", admins, handleParam(slugParam, noResult(s.origin.Brands.Audits.Request)), operation{
			id: "auditBrand", summary: "Queue an audit of a brand's site", status: []int{202}}},
		{"GET", admin + "audits", admins, handleList(s.origin.Brands.Audits.List), operation{
			id: "listAudits", summary: "List running audits with their progress, and queued audits"}},
		{"POST", admin + "purge", admins, handleParamBody(callerKeyParam, s.origin.Purge), operation{
			id: "purge", summary: "Purge tags, an address or everything from the caches of all edges"}},
	}
}

// disputeRoutes open disputes, without a key, and decide them, for administrators.
func (s *server) disputeRoutes() []*route {
	const public, admin = fieldmark.PathBrands + "{slug}/disputes", fieldmark.PathAdminAPI + "disputes"
	admins, disputes := key(fieldmark.ScopeAdmin), s.origin.Brands.Disputes
	disputeID := idParam(fieldmark.PrefixDispute)
	return []*route{
		{"POST", public, anyone, handleRaw[fieldmark.DisputeRequest, fieldmark.DisputeStatus](s.openDispute), operation{
			id: "openDispute", summary: "Dispute a finding about a brand", status: []int{201}}},
		{"GET", public, anyone, handleParam(slugParam, asList(disputes.ListOpen)), operation{
			id: "listOpenDisputes", summary: "List the open disputes of a brand, newest first"}},
		{"GET", public + "/{id}", anyone, handleCall[none](s.getDisputeStatus), operation{
			id: "getDisputeStatus", summary: "Get the state of a dispute and the answer to it"}},
		{"GET", admin, admins, handleCall[none](s.listDisputes), operation{
			id: "listDisputes", summary: "List disputes, newest first", query: disputeParams}},
		{"GET", admin + "/{id}", admins, handleParam(disputeID, disputes.Get), operation{
			id: "getDispute", summary: "Get a dispute with its text and its sender"}},
		{"POST", admin + "/{id}/decision", admins, handleParamBody(disputeID, disputes.Decide), operation{
			id: "decideDispute", summary: "Uphold or reject an open dispute; an upheld one queues an audit"}},
		{"GET", fieldmark.PathAdminAPI + "brands/{slug}/suspicions", admins,
			handleParam(slugParam, s.origin.Brands.Suspicions), operation{
				id:      "listSuspicions",
				summary: "List text that reads as written to steer a model and that no second audit has confirmed"}},
	}
}

// calendarRoutes manage calendar feeds and serve them. A calendar application may add query parameters
// to the address of a feed.
func (s *server) calendarRoutes() []*route {
	const calendars = fieldmark.PathAdminAPI + "calendars"
	admins, feedID := key(fieldmark.ScopeAdmin), idParam(fieldmark.PrefixCalendar)
	return []*route{
		{"GET", calendars, admins, handleList(s.origin.Missions.Calendars.List), operation{
			id: "listCalendars", summary: "List calendar feeds"}},
		{"POST", calendars, admins, handleBody(s.origin.Missions.Calendars.Create), operation{
			id: "createCalendar", summary: "Create a calendar feed; its address is shown only once",
			status: []int{201}}},
		{"POST", calendars + "/{id}/rotate", admins, handleParam(feedID, s.origin.Missions.Calendars.Rotate), operation{
			id: "rotateCalendar", summary: "Replace the address of a calendar feed; the new one is shown only once"}},
		{"POST", calendars + "/{id}/revoke", admins, handleParam(feedID, s.origin.Missions.Calendars.Revoke), operation{
			id: "revokeCalendar", summary: "Revoke a calendar feed"}},
		{"GET", fieldmark.PathCalendar + "{file}", anyone, handleRaw[none, none](s.sendCalendar), operation{
			hidden: true, anyQuery: true}},
	}
}

// moduleRoutes manage scoring modules.
func (s *server) moduleRoutes() []*route {
	const modules, one = fieldmark.PathAdminAPI + "modules", fieldmark.PathAdminAPI + "modules/{digest}"
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"GET", modules, admins, handleList(s.origin.Modules.List), operation{
			id: "listModules", summary: "List scoring modules, newest first"}},
		{"POST", modules, admins, handleBody(s.origin.Modules.Create), operation{
			id: "pushModule", summary: "Validate and store a scoring module", status: []int{201},
			bodyLimit: fieldmark.MaxBulkBody, timeout: remoteTimeout}},
		{"GET", modules + "/status", admins, handle(s.origin.Modules.Status), operation{
			id: "moduleStatus", summary: "Get the active modules and the state of each edge"}},
		{"POST", modules + "/rollback", admins, handle(s.origin.Modules.RollBack), operation{
			id: "rollBackModule", summary: "End the canary, or reactivate the previous module"}},
		{"GET", one, admins, handleParam(digestParam, s.origin.Modules.Get), operation{
			id: "showModule", summary: "Get a scoring module"}},
		{"POST", one + "/activate", admins, handleParamBody(digestParam, s.activateModule), operation{
			id:      "activateModule",
			summary: "Activate a scoring module, or start it as a canary for a share of the brands"}},
		{"GET", one + "/preview", admins, handleParam(digestParam, s.origin.Modules.Preview), operation{
			id: "showModulePreview", summary: "Get the progress and the results of a preview"}},
		{"POST", one + "/preview", admins, handleParam(digestParam, s.origin.Modules.RequestPreview), operation{
			id: "previewModule", status: []int{202},
			summary: "Score every brand with a module and compare the scores with those of the active one"}},
	}
}

// certificateRoutes are the operations of administrators on TLS certificates, and what edges
// read of them.
func (s *server) certificateRoutes() []*route {
	const certificates, one = fieldmark.PathAdminAPI + "certificates", fieldmark.PathAdminAPI + "certificates/{name}"
	admins, name := key(fieldmark.ScopeAdmin), pathParam("name")
	return []*route{
		{"GET", certificates, admins, handle(s.origin.Certificates.List), operation{
			id: "listCertificates", summary: "List TLS certificates and the use of the limits of orders"}},
		{"PUT", one, admins, handleParamBody(name, s.origin.Certificates.Import), operation{
			id: "importCertificate", summary: "Store a TLS certificate that was issued elsewhere; it is not renewed"}},
		{"DELETE", one, admins, handleParam(name, noResult(s.origin.Certificates.Remove)), operation{
			id: "removeCertificate", summary: "Remove the TLS certificate of a name"}},
		{"POST", one + "/renew", admins, handleParam(name, s.origin.Certificates.Renew), operation{
			id: "renewCertificate", summary: "Order a new TLS certificate for a name now"}},

		{"GET", fieldmark.PathInternalCertificates, node, handleRaw[none, none](s.edgeCertificates),
			operation{hidden: true}},
		{"GET", fieldmark.PathInternalChallenges + "/{kind}/{answer}", node, handleRaw[none, none](s.challenge),
			operation{hidden: true}},
	}
}

// edgeRoutes are what edges read and report with the node token, and the documentation.
func (s *server) edgeRoutes() []*route {
	const facts, modules = fieldmark.PathInternalFacts, fieldmark.PathInternalModules
	return []*route{
		{"GET", facts, node, handleRaw[none, none](s.allFacts), operation{
			hidden: true, query: factsParams, timeout: bulkTimeout}},
		{"GET", facts + "/{slug}", node, handleRaw[none, none](s.facts), operation{hidden: true, query: stateParams}},
		{"GET", facts + "/{slug}/history", node, handleRaw[none, none](s.history), operation{
			hidden: true, query: historyParams}},
		{"GET", facts + "/{slug}/{digest}", node, handleRaw[none, none](s.factsBody), operation{hidden: true}},
		{"GET", fieldmark.PathInternalEvents, node, handleRaw[none, none](s.events), operation{
			hidden: true, query: eventParams, timeout: fieldmark.MaxWait*time.Second + handlerTimeout}},
		{"POST", fieldmark.PathInternalNodes, node, handleBody(noResult(s.origin.Modules.ReportNode)),
			operation{hidden: true}},
		{"GET", modules, node, handle(s.origin.Modules.Plan), operation{hidden: true}},
		{"GET", modules + "/{digest}", node, handleRaw[none, none](s.module), operation{hidden: true}},

		{"GET", fieldmark.PathOpenAPI, anyone, handleRaw[none, none](s.sendOpenAPI), operation{hidden: true}},
		{"GET", "/problems/{code}", anyone, handleRaw[none, none](s.problemPage), operation{hidden: true}},
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
