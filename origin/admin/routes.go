package admin

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
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
	missionsPath  = homePath + "/missions"
	brandsPath    = homePath + "/brands"
	disputesPath  = homePath + "/disputes"
	webhooksPath  = homePath + "/webhooks"
	modulesPath   = homePath + "/modules"
	calendarsPath = homePath + "/calendars"
	nodesPath     = homePath + "/nodes"

	certificatesPath = homePath + "/certificates"

	auditPath    = homePath + "/audit-log"
	settingsPath = homePath + "/settings"
	stylePath    = homePath + "/assets/admin.css"
	scriptPath   = homePath + "/assets/admin.js"
	iconPath     = homePath + "/assets/icon.svg"
)

// routes registers every page and form with what it requires: nothing, a session, the administrator role, or
// a password that was entered recently.
func (h *handler) routes() {
	h.mux.Handle("GET "+stylePath, h.public(h.style))
	h.mux.Handle("GET "+scriptPath, h.public(h.script))
	h.mux.Handle("GET "+iconPath, h.public(h.icon))
	h.mux.Handle("GET "+signInPath, h.public(h.signInPage))
	h.mux.Handle("POST "+signInPath, h.public(h.signIn))
	h.mux.Handle("GET "+providerPath, h.public(h.startProviderSignIn))
	h.mux.Handle("GET "+callbackPath, h.withTimeout(formTimeout, h.finishProviderSignIn))
	h.mux.Handle("POST "+homePath+"/sign-out", h.public(h.signOut))

	h.mux.Handle("GET "+homePath, h.requireLogin(h.overview))
	h.mux.Handle("GET "+missionsPath, h.requireLogin(h.missions))
	h.mux.Handle("GET "+missionsPath+"/{id}", h.requireLogin(h.mission))
	h.mux.Handle("POST "+missionsPath+"/{id}/move", h.requireAdmin(h.moveMission))
	h.mux.Handle("POST "+missionsPath+"/{id}/plan", h.requireAdmin(h.planMission))
	h.mux.Handle("POST "+missionsPath+"/{id}/payment", h.requireAdmin(h.setPayment))
	h.mux.Handle("POST "+missionsPath+"/{id}/payment/mark", h.requireAdmin(h.markPayment))
	h.mux.Handle("POST "+missionsPath+"/{id}/payment/refund", h.requireAdmin(h.refundPayment))
	h.mux.Handle("POST "+missionsPath+"/{id}/complete", h.requireAdmin(h.completeMission))

	h.mux.Handle("GET "+brandsPath, h.requireLogin(h.brands))
	h.mux.Handle("POST "+brandsPath, h.requireAdmin(h.addBrand))
	h.mux.Handle("POST "+brandsPath+"/import", h.longRunning(h.importBrands))
	h.mux.Handle("POST "+brandsPath+"/visibility", h.longRunning(h.importSamples))
	h.mux.Handle("GET "+brandsPath+"/{slug}", h.requireLogin(h.brand))
	h.mux.Handle("POST "+brandsPath+"/{slug}", h.requireAdmin(h.changeBrand))
	h.mux.Handle("POST "+brandsPath+"/{slug}/audit", h.requireAdmin(h.auditBrand))
	h.mux.Handle("POST "+brandsPath+"/{slug}/delete", h.requireAdmin(h.deleteBrand))

	h.mux.Handle("GET "+disputesPath, h.requireLogin(h.disputes))
	h.mux.Handle("GET "+disputesPath+"/{id}", h.requireLogin(h.dispute))
	h.mux.Handle("POST "+disputesPath+"/{id}", h.requireAdmin(h.decideDispute))

	h.mux.Handle("GET "+keysPath, h.requireLogin(h.keys))
	h.mux.Handle("POST "+keysPath, h.requireReauth(h.createKey))
	h.mux.Handle("POST "+keysPath+"/{id}/rotate", h.requireReauth(h.rotateKey))
	h.mux.Handle("POST "+keysPath+"/{id}/revoke", h.requireReauth(h.revokeKey))
	h.mux.Handle("GET "+accountsPath, h.requireLogin(h.accounts))
	h.mux.Handle("POST "+accountsPath, h.requireAdmin(h.putAccount))

	h.mux.Handle("GET "+webhooksPath, h.requireLogin(h.webhooks))
	h.mux.Handle("POST "+webhooksPath, h.requireAdmin(h.createEndpoint))
	h.mux.Handle("GET "+webhooksPath+"/{id}", h.requireLogin(h.endpoint))
	h.mux.Handle("POST "+webhooksPath+"/{id}", h.requireAdmin(h.changeEndpoint))
	h.mux.Handle("GET "+webhooksPath+"/{id}/deliveries/{delivery}", h.requireLogin(h.delivery))
	h.mux.Handle("POST "+webhooksPath+"/{id}/deliveries/{delivery}/resend", h.requireAdmin(h.resend))

	h.mux.Handle("GET "+modulesPath, h.requireLogin(h.modules))
	h.mux.Handle("POST "+modulesPath, h.longRunning(h.pushModule))
	h.mux.Handle("POST "+modulesPath+"/rollback", h.requireAdmin(h.rollBack))
	h.mux.Handle("GET "+modulesPath+"/{digest}", h.requireLogin(h.module))
	h.mux.Handle("POST "+modulesPath+"/{digest}", h.requireAdmin(h.changeModule))

	h.mux.Handle("GET "+calendarsPath, h.requireLogin(h.calendars))
	h.mux.Handle("POST "+calendarsPath, h.requireAdmin(h.createCalendar))
	h.mux.Handle("POST "+calendarsPath+"/{id}", h.requireAdmin(h.changeCalendar))
	h.mux.Handle("GET "+nodesPath, h.requireLogin(h.nodes))
	h.mux.Handle("GET "+certificatesPath, h.requireLogin(h.certificates))
	h.mux.Handle("POST "+certificatesPath+"/{name}/renew", h.requireAdmin(h.renewCertificate))
	h.mux.Handle("GET "+auditPath, h.requireLogin(h.auditLog))
	h.mux.Handle("POST "+auditPath+"/verify", h.requireLogin(h.verifyLog))

	h.mux.Handle("GET "+settingsPath, h.requireLogin(h.settings))
	h.mux.Handle("POST "+reauthPath, h.requireLogin(h.reauth))
	h.mux.Handle("GET "+reauthPath+"/provider", h.requireLogin(h.reauthWithProvider))
	h.mux.Handle("POST "+settingsPath+"/second-factor", h.requireLogin(h.setSecondFactor))
	h.mux.Handle("POST "+settingsPath+"/sessions/{session}/end", h.requireLogin(h.endSession))

	h.formRedirects()
	h.mux.Handle("GET "+homePath+"/{$}", http.RedirectHandler(homePath, http.StatusSeeOther))
	h.mux.Handle("/", h.public(h.notFound))
}

// formRedirects registers the addresses of forms for GET. A rejected form is shown at the address it was sent
// to; loading that address again redirects to the page of the form.
func (h *handler) formRedirects() {
	for _, form := range []string{
		missionsPath + "/{id}/{form}", missionsPath + "/{id}/payment/{form}", brandsPath + "/{slug}/{form}",
	} {
		h.mux.Handle("GET "+form, h.requireLogin(redirectToPage))
	}
	for path, page := range map[string]string{
		certificatesPath + "/{name}/{form}": certificatesPath,
		keysPath + "/{id}/{form}":           keysPath, calendarsPath + "/{id}": calendarsPath,
		modulesPath + "/rollback": modulesPath,
		brandsPath + "/import":    brandsPath, brandsPath + "/visibility": brandsPath, reauthPath: settingsPath,
		auditPath + "/verify": auditPath, settingsPath + "/second-factor": settingsPath,
	} {
		h.mux.Handle("GET "+path, h.requireLogin(func(req *request) error {
			http.Redirect(req.w, req.r, page, http.StatusSeeOther)
			return nil
		}))
	}
}
