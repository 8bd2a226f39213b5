package api

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// routes is the whole surface: what is asked, who may ask, what answers, and how
// the OpenAPI document tells of it. Bodies are bounded by fieldmark.MaxBody and
// requests by handlerTimeout unless a line says otherwise.
func (s *server) routes() []*route {
	const (
		missions = fieldmark.PathMissions
		admin    = fieldmark.PathAdminAPI
		facts    = fieldmark.PathInternalFacts
		modules  = fieldmark.PathInternalModules
	)
	create, read, admins := key(fieldmark.ScopeMissionCreate), key(fieldmark.ScopeMissionRead), key(fieldmark.ScopeAdmin)
	update, cancel, operate := key(fieldmark.ScopeMissionUpdate), key(fieldmark.ScopeMissionCancel), key(fieldmark.ScopeMissionOperate)
	return append(append(s.webhookRoutes(), s.keyRoutes()...), []*route{
		{"POST", missions, create, s.openMission, op{id: "openMission", does: "Open a mission, once for each source and externalId", in: of[fieldmark.MissionRequest](), out: of[fieldmark.Mission](), status: []int{201, 200}, once: true}},
		{"POST", fieldmark.PathMissionBatch, create, s.openMissions, op{id: "openMissions", does: "Open up to a hundred missions, each for itself", in: of[missionBatch](), out: of[fieldmark.BatchReport](), once: true, limit: fieldmark.MaxBatchBody}},
		{"GET", missions, read, s.listMissions, op{id: "listMissions", does: "List missions, newest first, or as they changed", query: missionFilters, out: of[fieldmark.List[fieldmark.Mission]]()}},
		{"GET", missions + "/{id}", read, s.getMission, op{id: "getMission", does: "Read a mission", out: of[fieldmark.Mission](), status: []int{200, 304}}},
		{"PATCH", missions + "/{id}", update, s.editMission, op{id: "editMission", does: "Change what a mission says, by a merge patch (RFC 7396)", in: of[fieldmark.MissionPatch](), takes: []string{mergePatchType}, out: of[fieldmark.Mission](), once: true, versioned: true}},
		{"POST", missions + "/{id}/cancel", cancel, s.cancelMission, op{id: "cancelMission", does: "Call a mission off", in: of[cancellation](), maybe: true, out: of[fieldmark.Mission](), once: true, versioned: true}},
		{"POST", missions + "/{id}/transitions", operate, s.moveMission, op{id: "moveMission", does: "Move a mission to another status", in: of[transition](), out: of[fieldmark.Mission](), once: true, versioned: true}},
		{"PUT", missions + "/{id}/plan", operate, s.planMission, op{id: "planMission", does: "Say who goes and when", in: of[fieldmark.MissionPlan](), out: of[fieldmark.Mission](), once: true, versioned: true}},
		{"POST", fieldmark.PathAlerts + "alertmanager", create, s.takeAlerts("alertmanager"), op{id: "takeAlertmanager", does: "Take a notification of Alertmanager (version 4); busy is 503, never 429", query: alertOptions, in: of[map[string]any](), out: of[fieldmark.AlertReport](), limit: fieldmark.MaxAlertBody}},
		{"POST", fieldmark.PathAlerts + "grafana", create, s.takeAlerts("grafana"), op{id: "takeGrafana", does: "Take a notification of Grafana alerting (version 1); busy is 503, never 429", query: alertOptions, in: of[map[string]any](), out: of[fieldmark.AlertReport](), limit: fieldmark.MaxAlertBody}},
		{"PUT", fieldmark.PathAlerts + "grafana", create, s.takeAlerts("grafana"), op{id: "putGrafana", does: "The same for contact points that are set to PUT", query: alertOptions, in: of[map[string]any](), out: of[fieldmark.AlertReport](), limit: fieldmark.MaxAlertBody}},
		{"POST", fieldmark.PathLLMs, anyone, s.generateLLMs, op{id: "generateLLMsTxt", does: "Write an llms.txt", in: of[llms.Request](), out: of[llms.Document](), also: llmsTypes, status: []int{200, 304}}},
		{"POST", fieldmark.PathLLMsLint, anyone, s.lintLLMs, op{id: "lintLLMsTxt", does: "Say what is wrong with an llms.txt", in: of[lintRequest](), takes: llmsTypes, out: of[llms.Report](), status: []int{200, 304}, limit: fieldmark.MaxLintBody, within: lintTimeout}},

		{"GET", admin + "missions", admins, s.listAllMissions, op{id: "listAllMissions", does: "List the missions of an account, or of all", query: allMissionFilters, out: of[fieldmark.List[fieldmark.Mission]]()}},
		{"POST", admin + "missions/{id}/transitions", admins, s.moveAnyMission, op{id: "moveAnyMission", does: "Move a mission to another status", in: of[transition](), out: of[fieldmark.Mission]()}},
		{"POST", admin + "missions/{id}/complete", admins, s.completeMission, op{id: "completeMission", does: "Take a mission to COMPLETED by every move that is needed", out: of[fieldmark.Mission]()}},
		{"PUT", admin + "missions/{id}/payment", admins, s.setPayment, op{id: "setPayment", does: "Say what a mission costs, until it is due", in: of[fieldmark.PaymentRequest](), out: of[fieldmark.MissionPayment]()}},
		{"GET", admin + "payments", admins, s.listPayments, op{id: "listPayments", does: "List the payments of all accounts without their refunds, newest first", query: paymentPage, out: of[fieldmark.List[fieldmark.MissionPayment]]()}},
		{"GET", admin + "payments/{id}", admins, s.getPayment, op{id: "getPayment", does: "Read a payment and its refunds", out: of[fieldmark.MissionPayment]()}},
		{"POST", admin + "payments/{id}/transitions", admins, s.markPayment, op{id: "markPayment", does: "Mark a payment as being processed, paid, failed or called off", in: of[fieldmark.PaymentMove](), out: of[fieldmark.MissionPayment]()}},
		{"POST", admin + "payments/{id}/refunds", admins, s.refundPayment, op{id: "refundPayment", does: "Note that money of a payment went back, once for each reference", in: of[fieldmark.RefundRequest](), out: of[fieldmark.MissionPayment]()}},
		{"GET", admin + "sla/policies", admins, s.listSLAPolicies, op{id: "listSLAPolicies", does: "List the SLA policies in force, one for each priority", out: of[fieldmark.List[fieldmark.SLAPolicy]]()}},
		{"PUT", admin + "sla/policies/{priority}", admins, s.putSLAPolicy, op{id: "putSLAPolicy", does: "Set the SLA policy of a priority; clocks that run are counted again by it", in: of[slaPolicyRecord](), out: of[fieldmark.SLAPolicy]()}},
		{"PATCH", admin + "sla/policies/{priority}", admins, s.patchSLAPolicy, op{id: "patchSLAPolicy", does: "Change members of the SLA policy of a priority; running timers are computed again", in: of[fieldmark.SLAPolicyPatch](), out: of[fieldmark.SLAPolicy]()}},
		{"DELETE", admin + "sla/policies/{priority}", admins, s.resetSLAPolicy, op{id: "resetSLAPolicy", does: "Put the program's own SLA policy of a priority back in force", status: []int{204}}},
		{"GET", admin + "sla/calendars", admins, s.listSLACalendars, op{id: "listSLACalendars", does: "List the business calendars in force", out: of[fieldmark.List[fieldmark.SLACalendar]]()}},
		{"PUT", admin + "sla/calendars/{name}", admins, s.putSLACalendar, op{id: "putSLACalendar", does: "Set a business calendar; clocks that run are counted again by it", in: of[slaCalendarRecord](), out: of[fieldmark.SLACalendar]()}},
		{"DELETE", admin + "sla/calendars/{name}", admins, s.deleteSLACalendar, op{id: "deleteSLACalendar", does: "Delete a business calendar, or put the program's own of that name back in force", status: []int{204}}},
		{"GET", admin + "brands", admins, s.listBrands, op{id: "listBrands", does: "List brands by slug", query: brandPage, out: of[fieldmark.List[fieldmark.Brand]]()}},
		{"PUT", admin + "brands/{slug}", admins, s.putBrand, op{id: "putBrand", does: "Add or change a brand", in: of[brandRecord](), out: of[fieldmark.Brand]()}},
		{"POST", admin + "brands/import", admins, s.importBrands, op{id: "importBrands", does: "Add and change many brands", in: of[[]brandRecord](), out: of[fieldmark.ImportReport](), limit: fieldmark.MaxBulkBody, within: bulkTimeout}},
		{"GET", admin + "brands/{slug}", admins, s.getBrand, op{id: "getBrand", does: "Read a brand and the slugs that lead to it", out: of[brandDocument]()}},
		{"DELETE", admin + "brands/{slug}", admins, s.deleteBrand, op{id: "deleteBrand", does: "Take a brand down with everything known of it; every edge forgets it at once", status: []int{204}}},
		{"POST", admin + "brands/{slug}/rename", admins, s.renameBrand, op{id: "renameBrand", does: "Give a brand another slug; the old one leads to it", in: of[renaming](), out: of[fieldmark.Brand]()}},
		{"PUT", admin + "brands/{slug}/aliases", admins, s.setAliases, op{id: "setAliases", does: "Set the slugs that lead to a brand beside its own", in: of[aliasList](), out: of[aliasList]()}},
		{"POST", admin + "visibility/import", admins, s.importVisibility, op{id: "importVisibility", does: "Import answer samples; lines that are refused are in the report", in: of[[]sampleRecord](), takes: []string{csvType}, out: of[fieldmark.VisibilityImport](), limit: fieldmark.MaxBulkBody, within: bulkTimeout}},
		{"POST", admin + "brands/{slug}/audit", admins, s.auditBrand, op{id: "auditBrand", does: "Ask for a new audit of a brand's site", status: []int{202}}},
		{"GET", admin + "audits", admins, s.listAudits, op{id: "listAudits", does: "List the audits that run, with their progress, and those that wait", out: of[fieldmark.List[fieldmark.AuditRun]]()}},
		{"GET", admin + "calendars", admins, s.listCalendars, op{id: "listCalendars", does: "List feeds of the plan", out: of[fieldmark.List[fieldmark.Calendar]]()}},
		{"POST", admin + "calendars", admins, s.createCalendar, op{id: "createCalendar", does: "Make a feed of the plan; its address is told this once", in: of[fieldmark.CalendarRequest](), out: of[fieldmark.NewCalendar](), status: []int{201}}},
		{"POST", admin + "calendars/{id}/rotate", admins, s.rotateCalendar, op{id: "rotateCalendar", does: "Give a feed another address; it is told this once", out: of[fieldmark.NewCalendar]()}},
		{"POST", admin + "calendars/{id}/revoke", admins, s.revokeCalendar, op{id: "revokeCalendar", does: "End a feed", out: of[fieldmark.Calendar]()}},
		{"POST", admin + "purge", admins, s.purge, op{id: "purge", does: "Have every edge derive tags, an address or everything again", in: of[fieldmark.PurgeRequest](), out: of[fieldmark.Purged]()}},

		{"GET", admin + "modules", admins, s.listModules, op{id: "listModules", does: "List scoring modules, newest first", out: of[fieldmark.List[fieldmark.ModuleRecord]]()}},
		{"POST", admin + "modules", admins, s.pushModule, op{id: "pushModule", does: "Check a scoring module and keep it", in: of[fieldmark.ModulePush](), out: of[fieldmark.ModuleRecord](), status: []int{201}, limit: fieldmark.MaxBulkBody, within: checkTimeout}},
		{"GET", admin + "modules/status", admins, s.moduleStatus, op{id: "moduleStatus", does: "Tell which modules score, and what each edge makes of them", out: of[fieldmark.ModuleStatus]()}},
		{"POST", admin + "modules/rollback", admins, s.rollBackModule, op{id: "rollBackModule", does: "End a trial, or put the module before in force again", out: of[fieldmark.ModulePlan]()}},
		{"GET", admin + "modules/{digest}", admins, s.showModule, op{id: "showModule", does: "Read what is known of a scoring module", out: of[fieldmark.ModuleRecord]()}},
		{"POST", admin + "modules/{digest}/activate", admins, s.activateModule, op{id: "activateModule", does: "Put a scoring module in force, or on trial for a share of the brands", in: of[fieldmark.ModuleActivation](), out: of[fieldmark.ModulePlan]()}},
		{"GET", admin + "modules/{digest}/preview", admins, s.showPreview, op{id: "showModulePreview", does: "Read how far a preview is and what it found", out: of[fieldmark.ModulePreview]()}},
		{"POST", admin + "modules/{digest}/preview", admins, s.previewModule, op{id: "previewModule", does: "Score every brand by a module, beside the one in force", out: of[fieldmark.ModulePreview](), status: []int{202}}},

		{"GET", facts, node, s.allFacts, op{hidden: true, query: factsQuery, within: bulkTimeout}},
		{"GET", facts + "/{slug}", node, s.facts, op{hidden: true, query: statePage}},
		{"GET", facts + "/{slug}/history", node, s.history, op{hidden: true, query: historyPage}},
		{"GET", facts + "/{slug}/{digest}", node, s.factsBody, op{hidden: true}},
		{"GET", fieldmark.PathInternalEvents, node, s.events, op{hidden: true, query: eventPage, within: fieldmark.MaxWait*time.Second + handlerTimeout}},
		{"POST", fieldmark.PathInternalNodes, node, s.noteNode, op{hidden: true, in: of[fieldmark.NodeReport](), status: []int{204}}},
		{"GET", modules, node, s.modulePlan, op{hidden: true}},
		{"GET", modules + "/{digest}", node, s.module, op{hidden: true}},

		{"GET", fieldmark.PathCalendar + "{file}", anyone, s.sendCalendar, op{hidden: true, loose: true}},
		{"GET", fieldmark.PathOpenAPI, anyone, s.sendOpenAPI, op{hidden: true}},
		{"GET", "/problems/{code}", anyone, s.problemPage, op{hidden: true}},
	}...)
}

// keyRoutes is who may come in, and the record of what administrators did.
func (s *server) keyRoutes() []*route {
	const admin = fieldmark.PathAdminAPI
	admins := key(fieldmark.ScopeAdmin)
	return []*route{
		{"GET", admin + "keys", admins, s.listKeys, op{id: "listKeys", does: "List API keys", out: of[fieldmark.List[fieldmark.Key]]()}},
		{"POST", admin + "keys", admins, s.createKey, op{id: "createKey", does: "Make an API key; its token is told this once", in: of[fieldmark.KeyRequest](), out: of[fieldmark.NewKey](), status: []int{201}}},
		{"POST", admin + "keys/{id}/revoke", admins, s.revokeKey, op{id: "revokeKey", does: "Revoke an API key", in: of[fieldmark.KeyRevocation](), maybe: true, out: of[fieldmark.Key]()}},
		{"POST", admin + "keys/{id}/rotate", admins, s.rotateKey, op{id: "rotateKey", does: "Make an API key in place of another, which works for a grace; its token is told this once", in: of[fieldmark.KeyRotation](), maybe: true, out: of[fieldmark.NewKey](), status: []int{201}}},
		{"GET", admin + "accounts", admins, s.listAccounts, op{id: "listAccounts", does: "List accounts", out: of[fieldmark.List[fieldmark.Account]]()}},
		{"PUT", admin + "accounts/{account}", admins, s.putAccount, op{id: "putAccount", does: "Make an account or change what it is called", in: of[fieldmark.AccountRequest](), out: of[fieldmark.Account]()}},
		{"GET", admin + "audit-log", admins, s.listAudit, op{id: "listAuditLog", does: "List the acts of administrators, newest first", query: auditPage, out: of[fieldmark.List[fieldmark.AuditEntry]]()}},
		{"GET", admin + "audit-log/verdict", admins, s.verifyAudit, op{id: "verifyAuditLog", does: "Check the sums of the whole audit log", out: of[fieldmark.AuditVerdict](), within: bulkTimeout}},
	}
}

// webhookRoutes is what integrators do with their endpoints, and administrators
// with everybody's. An operation on an endpoint is a line, for both.
func (s *server) webhookRoutes() []*route {
	const hooks = fieldmark.PathWebhooks
	manage, admins := key(fieldmark.ScopeWebhookManage), key(fieldmark.ScopeAdmin)
	routes := []*route{
		{"GET", hooks + "/event-types", anyone, s.listEventTypes, op{id: "listEventTypes", does: "List the types of event, each with the JSON Schema of its data and an example", out: of[fieldmark.List[fieldmark.EventTypeInfo]](), status: []int{200, 304}}},
		{"GET", hooks + "/{id}/keys", anyone, s.publicKeys, op{id: "getWebhookKeys", does: "Read the public keys that sign an endpoint's messages, as a JSON Web Key Set", out: of[fieldmark.KeySet]()}},
		{"GET", fieldmark.PathPublicEvents, manage, s.pollEvents, op{id: "pollEvents", does: "List events after a number, as webhooks carry them", query: pollPage, out: of[fieldmark.PolledEvents]()}},
		{"GET", fieldmark.PathAdminAPI + "deliveries", admins, s.listDeliveries, op{id: "listDeliveries", does: "List the newest webhook deliveries", query: deliveryPage, out: of[fieldmark.List[fieldmark.Delivery]]()}},
	}
	for _, side := range []struct {
		path, noun string
		who        authorization
	}{{hooks, "Webhook", manage}, {fieldmark.PathAdminAPI + "webhooks", "Endpoint", admins}} {
		one := side.path + "/{id}"
		routes = append(routes, []*route{
			{"GET", side.path, side.who, s.listEndpoints, op{id: "list" + side.noun + "s", does: "List webhook endpoints", out: of[fieldmark.List[fieldmark.Endpoint]]()}},
			{"POST", side.path, side.who, s.createEndpoint, op{id: "create" + side.noun, does: "Register a webhook endpoint; its secret is told this once", in: of[fieldmark.EndpointRequest](), out: of[fieldmark.NewEndpoint](), status: []int{201}}},
			{"GET", one, side.who, s.getEndpoint, op{id: "get" + side.noun, does: "Read a webhook endpoint", out: of[fieldmark.Endpoint]()}},
			{"PATCH", one, side.who, s.patchEndpoint, op{id: "patch" + side.noun, does: "Change, pause or enable a webhook endpoint", in: of[fieldmark.EndpointPatch](), out: of[fieldmark.Endpoint]()}},
			{"DELETE", one, side.who, s.deleteEndpoint, op{id: "delete" + side.noun, does: "Delete a webhook endpoint", status: []int{204}}},
			{"POST", one + "/rotate-secret", side.who, s.rotateSecret, op{id: "rotate" + side.noun + "Secret", does: "Give a webhook endpoint a new secret; the one before signs too for a while", in: of[fieldmark.SecretRequest](), maybe: true, out: of[fieldmark.NewEndpoint]()}},
			{"POST", one + "/test", side.who, s.testEndpoint, op{id: "test" + side.noun, does: "Send a test message and wait for what becomes of it", in: of[fieldmark.PingRequest](), maybe: true, out: of[fieldmark.PingResult](), within: lintTimeout}},
			{"POST", one + "/replays", side.who, s.startReplay, op{id: "replay" + side.noun, does: "Send again what failed since a time, or everything after an event number", in: of[fieldmark.ReplayRequest](), out: of[fieldmark.Replay](), status: []int{202}}},
			{"GET", one + "/replays", side.who, s.listReplays, op{id: "list" + side.noun + "Replays", does: "List an endpoint's replays", out: of[fieldmark.List[fieldmark.Replay]]()}},
			{"GET", one + "/deliveries", side.who, s.listDeliveries, op{id: "list" + side.noun + "Deliveries", does: "List deliveries to an endpoint, newest first", query: deliveryPage, out: of[fieldmark.List[fieldmark.Delivery]]()}},
			{"GET", one + "/deliveries/{delivery}", side.who, s.getDelivery, op{id: "get" + side.noun + "Delivery", does: "Read a delivery and every attempt", out: of[fieldmark.DeliveryRecord]()}},
			{"POST", one + "/deliveries/{delivery}/resend", side.who, s.resendDelivery, op{id: "resend" + side.noun + "Delivery", does: "Send a message again, or now if it waits for its next try, under its id", out: of[fieldmark.DeliveryRecord](), status: []int{202}}},
		}...)
	}
	return routes
}

// route is one line of the surface.
type route struct {
	method string
	path   string // a pattern of http.ServeMux, and of OpenAPI
	access authorization
	handle func(*call) error
	op     op
}

// op is what the OpenAPI document says of a route and what its requests are held to.
type op struct {
	id     string
	does   string
	in     body // what a request carries; zero: nothing
	out    body
	status []int         // of success; nil: 200
	also   []string      // media types the answer may have instead of JSON
	takes  []string      // media types the body may have instead of JSON
	query  []param       // every parameter there is; others are refused
	limit  int64         // bytes of the body; zero: fieldmark.MaxBody
	within time.Duration // zero: handlerTimeout
	loose  bool          // parameters are let be: who asks did not write the address
	hidden bool          // not in the OpenAPI document

	once      bool // it has effects, and takes an Idempotency-Key
	versioned bool // it writes one thing, and takes If-Match
	maybe     bool // the body may be left out
}

// timeout bounds a request.
func (rt *route) timeout() time.Duration { return cmp.Or(rt.op.within, handlerTimeout) }

// handlerTimeout bounds an ordinary request. It is shorter than the patience of
// the edges and clients in front, so that they see our 504 and not their own.
const handlerTimeout = 10 * time.Second

// lintTimeout bounds a look at somebody's site, which has a deadline of its own
// below; the edges wait a little longer for the head of an answer.
const lintTimeout = 18 * time.Second

// checkTimeout bounds the check of a module, which tries code of strangers; an
// edge in front waits a little longer for the head of an answer.
const checkTimeout = 18 * time.Second

// bulkTimeout bounds what touches every brand.
const bulkTimeout = 60 * time.Second

// mount hangs every route into the mux.
func (s *server) mount(routes []*route) {
	for _, r := range routes {
		s.mux.Handle(r.method+" "+r.path, s.serve(r))
	}
}

// unrouted says why no route takes a request: another method would have been
// right, or nothing is there. It asks the mux, and it answers what the mux would,
// as a problem and not as plain text.
func (s *server) unrouted(w *writer, r *http.Request) error {
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
