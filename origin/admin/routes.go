package admin

import (
	"net/http"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// The paths of the admin console.
const (
	homePath      = fieldmark.PathAdmin
	signInPath    = homePath + "/sign-in"
	reauthPath    = homePath + "/prove"
	providerPath  = signInPath + "/provider"
	callbackPath  = fieldmark.PathSignedOn
	keysPath      = homePath + "/api-keys"
	accountsPath  = homePath + "/accounts"
	offersPath    = homePath + "/offers"
	missionsPath  = homePath + "/missions"
	boardPath     = homePath + "/board"
	intakePath    = homePath + "/refused"
	brandsPath    = homePath + "/brands"
	disputesPath  = homePath + "/disputes"
	claimsPath    = homePath + "/claims"
	requestsPath  = homePath + "/requests"
	accessPath    = homePath + "/access-requests"
	webhooksPath  = homePath + "/webhooks"
	modulesPath   = homePath + "/modules"
	calendarsPath = homePath + "/calendars"

	techniciansPath = homePath + "/technicians"

	nodesPath = homePath + "/nodes"
	cdnsPath  = homePath + "/cdns"

	certificatesPath = homePath + "/certificates"

	auditPath    = homePath + "/audit-log"
	settingsPath = homePath + "/settings"
	stylePath    = homePath + "/assets/admin.css"
	scriptPath   = homePath + "/assets/admin.js"
	iconPath     = homePath + "/assets/icon.svg"
)

// routes registers every page and form with what it requires: nothing, a session, the administrator role, or
// a password that was entered recently.
func (h *handler) routes(o *origin.Service, settings []Setting) {
	// Public: the page of the sign-in needs them.
	h.mux.Handle("GET "+stylePath, h.templates.style)
	h.mux.Handle("GET "+scriptPath, h.templates.script)
	h.mux.Handle("GET "+iconPath, h.templates.icon)
	h.signInRoutes()
	h.mux.Handle("GET "+homePath, h.requireLogin((&overviewHandler{h.console, o}).serve))
	missions := &missionHandler{h.console, o.Missions, o.Attachments, o.Access.Accounts, o.Access.Keys}
	h.missionRoutes(missions)
	h.mux.Handle("GET "+intakePath, h.requireLogin((&intakeHandler{h.console, o.Intake}).list))
	h.attachmentRoutes(&attachmentHandler{missions, o.Attachments})
	h.brandRoutes(&brandHandler{h.console})
	h.disputeRoutes(&disputeHandler{h.console, o.Brands.Disputes})
	h.claimRoutes(&claimHandler{h.console, o.Claims})
	h.requestRoutes(&brandRequestHandler{h.console, o.Brands.Owners})
	h.accessRequestRoutes(&accessRequestHandler{h.console, o.AccessRequests, o.Access.Accounts, o.Offers,
		o.Access.SignOn})
	h.keyRoutes(&keyHandler{h.console, o.Access.Keys, o.Access.Accounts, o.Access.SignOn})
	h.accountRoutes(&accountHandler{h.console, o.Access.Accounts, o.Access.Keys, o.Webhooks, o.Offers})
	h.webhookRoutes(&webhookHandler{h.console, o.Webhooks, o.Access.Accounts})
	h.moduleRoutes(&moduleHandler{h.console, o.Modules})
	h.calendarRoutes(&calendarHandler{h.console, h.Forwarding, o.Missions.Calendars, o.Access.Accounts})
	h.technicianRoutes(&technicianHandler{h.console, h.Forwarding, o.Links, o.Access.Accounts})
	h.nodeRoutes(&nodeHandler{h.console, o.Events, o.Modules})
	h.cdnRoutes(&cdnHandler{h.console, o.CDNs})
	h.certificateRoutes(&certificateHandler{h.console, o.Certificates})
	h.auditLogRoutes(&auditLogHandler{h.console})
	h.settingsRoutes(&settingsHandler{h.console, o, settings, o.Access.Admins, h.sessions, o.Access.SignOn})
	h.formRedirects()
	// The path with a slash is another one to ServeMux, and people type both.
	h.mux.Handle("GET "+homePath+"/{$}", http.RedirectHandler(homePath, http.StatusSeeOther))
	// A page instead of the plain text of the mux.
	h.mux.Handle("/", h.public(h.notFound))
}

// signInRoutes need no session, except those that confirm the identity of a user who has one. The
// callback waits for the identity provider, so it has the time of a form although it is a GET.
// POST for signing out, because a link to a GET on another site could end the session.
func (h *handler) signInRoutes() {
	s := h.signIn
	h.mux.Handle("GET "+signInPath, h.public(s.form))
	h.mux.Handle("POST "+signInPath, h.public(s.submit))
	h.mux.Handle("GET "+providerPath, h.public(s.startProviderSignIn))
	h.mux.Handle("GET "+callbackPath, h.withTimeout(formTimeout, s.finishProviderSignIn))
	h.mux.Handle("POST "+homePath+"/sign-out", h.public(s.signOut))
	h.mux.Handle("POST "+reauthPath, h.requireLogin(s.reauth))
	h.mux.Handle("GET "+reauthPath+"/provider", h.requireLogin(s.reauthWithProvider))
}

// Viewers export what they can see.
func (h *handler) missionRoutes(m *missionHandler) {
	h.mux.Handle("GET "+missionsPath, h.requireLogin(m.list))
	h.mux.Handle("GET "+boardPath, h.requireLogin(m.board))
	h.mux.Handle("GET "+missionsPath+"/new", h.requireAdmin(m.newForm))
	h.mux.Handle("POST "+missionsPath, h.requireAdmin(m.create))
	h.mux.Handle("POST "+missionsPath+"/bulk", h.requireAdmin(m.bulk))
	h.mux.Handle("POST "+missionsPath+"/filters", h.requireAdmin(m.saveFilter))
	// A reload after a rejected form requests its address by GET (see formRedirects).
	h.mux.Handle("GET "+missionsPath+"/filters", http.RedirectHandler(missionsPath, http.StatusSeeOther))
	// It streams all missions, so it has the time of a bulk read.
	h.mux.Handle("GET "+missionsPath+"/export",
		h.withTimeout(fieldmark.MaxBulkTime*time.Second, h.withSession(m.export)))
	h.mux.Handle("GET "+missionsPath+"/bulk", http.RedirectHandler(missionsPath, http.StatusSeeOther))
	h.mux.Handle("GET "+missionsPath+"/{id}", h.requireLogin(m.get))
	h.mux.Handle("POST "+missionsPath+"/{id}/edit", h.requireAdmin(m.edit))
	h.mux.Handle("POST "+missionsPath+"/{id}/notes", h.requireAdmin(m.addNote))
	// Redaction and payments need the administrator role, as every change does.
	h.mux.Handle("POST "+missionsPath+"/{id}/notes/{note}/redact", h.requireAdmin(m.redactNote))
	h.mux.Handle("POST "+missionsPath+"/{id}/move", h.requireAdmin(m.move))
	h.mux.Handle("POST "+missionsPath+"/{id}/plan", h.requireAdmin(m.plan))
	h.mux.Handle("POST "+missionsPath+"/{id}/payment", h.requireAdmin(m.setPayment))
	h.mux.Handle("POST "+missionsPath+"/{id}/payment/mark", h.requireAdmin(m.markPayment))
	h.mux.Handle("POST "+missionsPath+"/{id}/payment/refund", h.requireAdmin(m.refundPayment))
	h.mux.Handle("POST "+missionsPath+"/{id}/complete", h.requireAdmin(m.complete))
}

// attachmentRoutes have the time that a file takes on a slow connection.
// The session is checked before the body is read: an upload without one costs nothing.
func (h *handler) attachmentRoutes(a *attachmentHandler) {
	const files = missionsPath + "/{id}" + fieldmark.PathAttachments
	h.mux.Handle("POST "+files, h.withTimeout(attachmentTimeout, h.withSession(h.checkRole(a.add))))
	h.mux.Handle("GET "+files+"/{attachment}", h.withTimeout(attachmentTimeout, h.withSession(a.content)))
	h.mux.Handle("POST "+files+"/{attachment}/remove", h.requireAdmin(a.remove))
}

// brandRoutes: an import reads a whole file, so it has more time than a form.
func (h *handler) brandRoutes(b *brandHandler) {
	h.mux.Handle("GET "+brandsPath, h.requireLogin(b.list))
	h.mux.Handle("POST "+brandsPath, h.requireAdmin(b.create))
	h.mux.Handle("POST "+brandsPath+"/import", h.longRunning(b.importBrands))
	h.mux.Handle("POST "+brandsPath+"/visibility", h.longRunning(b.importSamples))
	h.mux.Handle("GET "+brandsPath+"/{slug}", h.requireLogin(b.get))
	h.mux.Handle("POST "+brandsPath+"/{slug}", h.requireAdmin(b.update))
	h.mux.Handle("POST "+brandsPath+"/{slug}/audit", h.requireAdmin(b.requestAudit))
	h.mux.Handle("POST "+brandsPath+"/{slug}/delete", h.requireAdmin(b.delete))
}

// disputeRoutes: viewers read disputes, and only administrators decide them.
func (h *handler) disputeRoutes(d *disputeHandler) {
	h.mux.Handle("GET "+disputesPath, h.requireLogin(d.list))
	h.mux.Handle("GET "+disputesPath+"/{id}", h.requireLogin(d.get))
	h.mux.Handle("POST "+disputesPath+"/{id}", h.requireAdmin(d.decide))
}

// claimRoutes: an owner proves a claim without an administrator, who can only revoke it.
func (h *handler) claimRoutes(c *claimHandler) {
	h.mux.Handle("GET "+claimsPath, h.requireLogin(c.list))
	h.mux.Handle("GET "+claimsPath+"/{id}", h.requireLogin(c.get))
	h.mux.Handle("POST "+claimsPath+"/{id}", h.requireAdmin(c.revoke))
}

// requestRoutes serves the changes of brands that owners request.
func (h *handler) requestRoutes(b *brandRequestHandler) {
	h.mux.Handle("GET "+requestsPath, h.requireLogin(b.list))
	h.mux.Handle("GET "+requestsPath+"/{id}", h.requireLogin(b.get))
	h.mux.Handle("POST "+requestsPath+"/{id}", h.requireAdmin(b.decide))
}

// accessRequestRoutes: an approval leads to a key, so it needs a recent password or code.
func (h *handler) accessRequestRoutes(a *accessRequestHandler) {
	h.mux.Handle("GET "+accessPath, h.requireLogin(a.list))
	h.mux.Handle("GET "+accessPath+"/{id}", h.requireLogin(a.get))
	h.mux.Handle("POST "+accessPath+"/{id}/approve", h.requireReauth(a.approve))
	h.mux.Handle("POST "+accessPath+"/{id}/decline", h.requireAdmin(a.decline))
}

// keyRoutes: a stolen cookie alone must not be enough to make a key, or to revoke those in use.
func (h *handler) keyRoutes(k *keyHandler) {
	h.mux.Handle("GET "+keysPath, h.requireLogin(k.list))
	h.mux.Handle("POST "+keysPath, h.requireReauth(k.create))
	h.mux.Handle("POST "+keysPath+"/{id}/rotate", h.requireReauth(k.rotate))
	h.mux.Handle("POST "+keysPath+"/{id}/revoke", h.requireReauth(k.revoke))
}

// accountRoutes serves accounts with their offers, whose limits apply as soon as they are stored.
func (h *handler) accountRoutes(a *accountHandler) {
	h.mux.Handle("GET "+accountsPath, h.requireLogin(a.list))
	h.mux.Handle("POST "+accountsPath, h.requireAdmin(a.put))
	h.mux.Handle("GET "+offersPath, h.requireLogin(a.listOffers))
	h.mux.Handle("POST "+offersPath, h.requireAdmin(a.putOffer))
	h.mux.Handle("POST "+offersPath+"/{id}/remove", h.requireAdmin(a.removeOffer))
}

// webhookRoutes: an endpoint and its deliveries are below one path, so that a delivery of another endpoint is not
// found.
func (h *handler) webhookRoutes(w *webhookHandler) {
	h.mux.Handle("GET "+webhooksPath, h.requireLogin(w.list))
	h.mux.Handle("POST "+webhooksPath, h.requireAdmin(w.create))
	h.mux.Handle("GET "+webhooksPath+"/{id}", h.requireLogin(w.get))
	h.mux.Handle("POST "+webhooksPath+"/{id}", h.requireAdmin(w.update))
	h.mux.Handle("GET "+webhooksPath+"/{id}/deliveries/{delivery}", h.requireLogin(w.getDelivery))
	h.mux.Handle("POST "+webhooksPath+"/{id}/deliveries/{delivery}/resend", h.requireAdmin(w.resend))
}

// moduleRoutes: the module of an upload is validated before the response, so it has more time.
func (h *handler) moduleRoutes(m *moduleHandler) {
	h.mux.Handle("GET "+modulesPath, h.requireLogin(m.list))
	h.mux.Handle("POST "+modulesPath, h.longRunning(m.create))
	h.mux.Handle("POST "+modulesPath+"/rollback", h.requireAdmin(m.rollBack))
	h.mux.Handle("GET "+modulesPath+"/{digest}", h.requireLogin(m.get))
	h.mux.Handle("POST "+modulesPath+"/{digest}", h.requireAdmin(m.update))
}

// calendarRoutes: viewers see feeds, but never an address, which is shown once to the administrator who created it.
func (h *handler) calendarRoutes(c *calendarHandler) {
	h.mux.Handle("GET "+calendarsPath, h.requireLogin(c.list))
	h.mux.Handle("POST "+calendarsPath, h.requireAdmin(c.create))
	h.mux.Handle("POST "+calendarsPath+"/{id}", h.requireAdmin(c.update))
}

// technicianRoutes serves the secret links, under the rules of calendarRoutes.
func (h *handler) technicianRoutes(t *technicianHandler) {
	h.mux.Handle("GET "+techniciansPath, h.requireLogin(t.list))
	h.mux.Handle("POST "+techniciansPath, h.requireAdmin(t.create))
	h.mux.Handle("POST "+techniciansPath+"/{id}", h.requireAdmin(t.update))
}

// nodeRoutes: removing a node only deletes its last report; one that still runs reports again.
func (h *handler) nodeRoutes(n *nodeHandler) {
	h.mux.Handle("GET "+nodesPath, h.requireLogin(n.list))
	h.mux.Handle("POST "+nodesPath+"/{id}/remove", h.requireAdmin(n.remove))
}

// cdnRoutes gives the time of a long action to what waits for a name server or a CDN.
func (h *handler) cdnRoutes(c *cdnHandler) {
	h.mux.Handle("GET "+cdnsPath, h.requireLogin(c.list))
	h.mux.Handle("POST "+cdnsPath, h.longRunning(c.put))
	h.mux.Handle("POST "+cdnsPath+"/{name}/test", h.longRunning(c.test))
	h.mux.Handle("POST "+cdnsPath+"/{name}/purge", h.longRunning(c.purge))
	h.mux.Handle("POST "+cdnsPath+"/{name}/remove", h.requireAdmin(c.remove))
}

// certificateRoutes: a certificate is imported by the API, because the console accepts no private keys.
func (h *handler) certificateRoutes(c *certificateHandler) {
	h.mux.Handle("GET "+certificatesPath, h.requireLogin(c.list))
	h.mux.Handle("POST "+certificatesPath+"/{name}/renew", h.requireAdmin(c.renew))
}

// auditLogRoutes lets viewers verify and export the log too.
func (h *handler) auditLogRoutes(a *auditLogHandler) {
	h.mux.Handle("GET "+auditPath, h.requireLogin(a.list))
	h.mux.Handle("GET "+auditPath+"/export", h.withTimeout(longTimeout, h.withSession(a.export)))
	h.mux.Handle("POST "+auditPath+"/verify", h.requireLogin(a.verify))
}

// settingsRoutes are open to viewers, who change and end only what belongs to their login.
// Administrators can end every session.
func (h *handler) settingsRoutes(s *settingsHandler) {
	h.mux.Handle("GET "+settingsPath, h.requireLogin(s.get))
	h.mux.Handle("POST "+settingsPath+"/second-factor", h.requireLogin(s.setSecondFactor))
	h.mux.Handle("POST "+settingsPath+"/sessions/{session}/end", h.requireLogin(s.endSession))
}

// formRedirects registers the addresses of forms for GET. A rejected form is shown at the address it was sent
// to; loading that address again redirects to the page of the form.
// Without them a reload would show 405.
func (h *handler) formRedirects() {
	for _, form := range []string{
		missionsPath + "/{id}/{form}", missionsPath + "/{id}/payment/{form}", brandsPath + "/{slug}/{form}",
		accessPath + "/{id}/{form}",
	} {
		h.mux.Handle("GET "+form, h.requireLogin(redirectToPage))
	}
	for path, page := range map[string]string{
		certificatesPath + "/{name}/{form}": certificatesPath,
		nodesPath + "/{id}/remove":          nodesPath,
		cdnsPath + "/{name}/{form}":         cdnsPath,
		offersPath + "/{id}/remove":         offersPath,
		keysPath + "/{id}/{form}":           keysPath, calendarsPath + "/{id}": calendarsPath,
		modulesPath + "/rollback": modulesPath,
		brandsPath + "/import":    brandsPath, brandsPath + "/visibility": brandsPath, reauthPath: settingsPath,
		auditPath + "/verify": auditPath, settingsPath + "/sessions/{session}/end": settingsPath,
		settingsPath + "/second-factor": settingsPath,
	} {
		h.mux.Handle("GET "+path, h.requireLogin(func(req *request) error {
			http.Redirect(req.w, req.r, page, http.StatusSeeOther)
			return nil
		}))
	}
}
