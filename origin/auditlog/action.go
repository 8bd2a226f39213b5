package auditlog

import (
	"slices"
	"strings"
)

// actions lists the actions of the audit log: a noun and what happened to it, in the words of the events. Behind
// each are the names that earlier versions wrote; they also name the operations of the API for which no service adds
// an entry. Entries are never rewritten, because their sums cover the name: readers get today's name instead.
var actions = map[string][]string{
	"account.created": {"account.create", "subaccount.create"},
	"account.updated": {"account.update", "account.put", "subaccount.put"},
	"account.removed": {"subaccount.delete"},
	"admin.saved":     {"admin.put"},
	"api_key.created": {"key.create", "subaccountkey.create"},
	"api_key.revoked": {"key.revoke", "subaccountkey.revoke"},
	"api_key.rotated": {"key.rotate"},

	"agent.acted": nil, // with an API key

	"access_request.opened":   {"accessrequest.open"},
	"access_request.approved": {"accessrequest.approve"},
	"access_request.declined": {"accessrequest.decline"},
	"access_request.issued":   nil, // its key was shown

	"two_factor.on":     {"admin.second-factor.on", "factor.on"},
	"two_factor.off":    {"admin.second-factor.off", "factor.off"},
	"session.started":   {"session.begin"},
	"session.ended":     {"session.end"},
	"session.refused":   nil,
	"offer.created":     nil,
	"offer.updated":     {"offer.put"},
	"offer.deleted":     {"offer.delete"},
	"note.redacted":     {"note.redact"},
	"mission.created":   {"mission.create"},
	"mission.updated":   {"mission.edit"},
	"mission.planned":   {"mission.plan"},
	"mission.noted":     {"mission.note"},
	"mission.moved":     {"anymission.move"},
	"mission.scheduled": nil, "mission.dispatched": nil, "mission.en_route": nil, "mission.on_hold": nil,
	"mission.started":            {"mission.in_progress"},
	"mission.unscheduled":        {"mission.new"},
	"mission.completed":          {"mission.complete"},
	"mission.exported":           {"mission.export"},
	"mission.unable_to_complete": nil,
	"mission.canceled":           nil,
	"mission.closed":             nil,
	"attachment.added":           {"attachment.add"},
	"attachment.removed":         {"attachment.remove"},
	"filter.saved":               nil,
	"filter.deleted":             nil,
	"payment.set":                nil,
	"payment.marked":             {"payment.mark"},
	"payment.due":                nil, "payment.processing": nil, "payment.paid": nil, "payment.failed": nil,
	"payment.overdue": nil, "payment.canceled": nil,
	"payment.refunded":        {"payment.refund"},
	"technician_link.created": {"technician.create", "technicianlink.create"},
	"technician_link.rotated": {"technician.rotate", "technicianlink.rotate"},
	"portal_link.created":     nil,
	"portal_link.opened":      nil, // its token was spent
	"technician_link.revoked": {"technician.revoke", "technicianlink.revoke"},
	"calendar.created":        {"calendar.create"},
	"calendar.rotated":        {"calendar.rotate"},
	"calendar.revoked":        {"calendar.revoke", "calendar.end"},
	"sla_calendar.saved":      {"slacalendar.put"},
	"sla_calendar.deleted":    {"slacalendar.delete"},
	"sla_policy.updated":      {"slapolicy.put", "slapolicy.patch"},
	"sla_policy.reset":        {"slapolicy.reset"},
	"brand.created":           nil,
	"brand.changed":           {"brand.put"},
	"brand.renamed":           {"brand.rename"},
	"brand.removed":           {"brand.delete"},
	"brand.imported":          {"brand.import", "brands.import"},
	"brand.audit_requested":   {"brand.audit", "ownbrand.audit"},
	"brand.profile_changed":   {"brand.profile", "profile.patch"},
	"brand.listing_changed":   {"brand.listing", "listing.set"},
	"brand.wishes_changed":    {"brand.wishes", "wishes.set"},
	"brand.aliases_changed":   {"aliases.set", "aliases.request"},
	"brand_request.decided":   {"request.decide", "brandrequest.decide"},
	"mail_address.added":      {"brand.mail.add"},
	"mail_address.removed":    {"brand.mail.remove"},
	"visibility.imported":     {"visibility.import"},
	"proxy_variable.stored":   {"proxy.put"},
	"claim.opened":            {"claim.open"},
	"claim.verified":          {"claim.verify"},
	"claim.lapsing":           {"claim.lapse"},
	"claim.contested":         {"claim.contest"},
	"claim.objected":          {"claim.object"},
	"claim.expired":           {"claim.expire"},
	"claim.withdrawn":         {"claim.withdraw"},
	"claim.revoked":           {"claim.revoke"},
	"claim.transferred":       {"claim.transfer"},
	"claim.transfer_offered": {
		"claim.transfer-offer",
	},
	"claim.accessed":                {"claim.access"},
	"dispute.opened":                {"dispute.open"},
	"dispute.decided":               {"dispute.decide"},
	"dispute.withdrawn":             {"dispute.withdraw"},
	"webhook.created":               {"endpoint.create"},
	"webhook.updated":               {"endpoint.update", "endpoint.patch"},
	"webhook.deleted":               {"endpoint.delete"},
	"webhook.secret_rotated":        {"endpoint.secret", "endpoint.rotate_secret", "endpointsecret.rotate"},
	"webhook.tested":                {"endpoint.test"},
	"webhook.replayed":              {"endpoint.replay"},
	"delivery.resent":               {"delivery.resend", "endpointdelivery.resend"},
	"public_log.key_rotated":        {"publiclogkey.rotate"},
	"module.stored":                 {"module.push"},
	"module.preview_requested":      {"module.preview"},
	"module.activated":              {"module.activate"},
	"module.rolled_back":            {"module.roll_back", "module.rollback", "backmodule.roll"},
	"node.removed":                  {"node.remove"},
	"cache.purged":                  {"cache.purge", "purge"},
	"cdn.created":                   nil,
	"cdn.updated":                   {"cdn.put"},
	"cdn.deleted":                   {"cdn.delete"},
	"cdn.tested":                    {"cdn.test"},
	"cdn.purged":                    {"cdn.purge"},
	"certificate.imported":          {"certificate.import"},
	"certificate.renewal_requested": {"certificate.renew"},
	"certificate.removed":           {"certificate.remove"},
	"signing_key.rotated":           {"signing_key.rotate", "signingkey.rotate"},
	"signing_key.retired":           {"signing_key.retire", "signingkey.retire"},
}

// today maps the names of earlier versions to the names of actions.
var today = func() map[string]string {
	names := map[string]string{}
	for name, earlier := range actions {
		for _, old := range earlier {
			names[old] = name
		}
	}
	return names
}()

// Actions returns the names of all actions, sorted.
func Actions() []string {
	names := make([]string, 0, len(actions))
	for name := range actions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ActionName returns the current name of an action. Unknown names stay as they are.
func ActionName(name string) string {
	if now := today[name]; now != "" {
		return now
	}
	return name
}

// namesOf returns every name under which entries of an action were written, or of all actions of a noun if the
// action is a noun and ".*". An unknown action has its own name alone, which finds nothing.
func namesOf(action string) []string {
	var names []string
	noun, group := strings.CutSuffix(action, ".*")
	for name, earlier := range actions {
		if name == action || group && strings.HasPrefix(name, noun+".") {
			names = append(append(names, name), earlier...)
		}
	}
	if names == nil {
		return []string{action}
	}
	slices.Sort(names)
	return names
}
