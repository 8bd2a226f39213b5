package admin

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
)

// settingsData is how the origin is set up, how it does, and who may come in.
type settingsData struct {
	Healthy  bool
	Vitals   origin.Vitals
	Facts    []Fact
	Admins   []fieldmark.Admin
	Sessions []access.SessionInfo
	Here     string // the session of who looks
	Factor   bool   // who looks is asked for a code
	Proved   bool
	Foreign  bool         // who looks has no password here
	Proof    proof        // how to become Proved
	New      *access.TOTP // offered, not kept
	QR       template.HTML
}

func (a *area) settings(v *visit) error { return a.showSettings(v, http.StatusOK, nil, nil) }

func (a *area) showSettings(v *visit, status int, bad []complaint, offered *access.TOTP) error {
	ctx := v.r.Context()
	d := settingsData{Healthy: a.origin.Health(ctx) == nil, Facts: a.facts, Here: v.in.Name, Proved: v.in.Reauthenticated(time.Now()),
		Factor: v.in.HasTOTP, Foreign: v.in.External, Proof: a.proofFor(v, settingsPath), New: offered}
	var err error
	if d.Vitals, err = a.origin.Vitals(ctx); err != nil {
		return err
	}
	if d.Admins, err = a.origin.Access.Admins.List(ctx); err != nil {
		return err
	}
	sessions, err := a.origin.Access.Sessions.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if v.may() || s.User == v.user {
			d.Sessions = append(d.Sessions, s)
		}
	}
	if offered != nil {
		if d.QR, err = qrCode(offered.URI, "QR code for an authenticator app"); err != nil {
			return err
		}
	}
	return a.show(v, status, "settings", page{Title: "Settings and health", Complaints: bad, Data: d})
}

// setFactor offers, confirms or ends the second factor of who asks.
func (a *area) setFactor(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	if !v.in.Reauthenticated(time.Now()) {
		return v.done(settingsPath, "unproved")
	}
	form, done := v.r.PostForm, "factor-on"
	var secret string
	switch form.Get("do") {
	case "offer":
		factor, err := access.NewTOTP(v.user)
		if err != nil {
			return err
		}
		return a.showSettings(v, http.StatusOK, nil, &factor)
	case "on":
		if secret = form.Get("secret"); secret == "" {
			return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Start again.")
		}
	case "off":
		done = "factor-off"
	default:
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	err := a.origin.Access.Admins.SetTOTP(v.r.Context(), v.user, secret, strings.ReplaceAll(form.Get("code"), " ", ""))
	if e := fieldmark.AsError(err); err != nil && e.Code == fieldmark.CodeValidationFailed {
		return a.showSettings(v, http.StatusUnprocessableEntity, v.complaintsOf(e), nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "factor."+form.Get("do"), v.user)
	return v.done(settingsPath, done)
}

// endSession ends a session of one's own, or anybody's for an administrator.
func (a *area) endSession(v *visit) error {
	name := v.r.PathValue("session")
	sessions, err := a.origin.Access.Sessions.List(v.r.Context())
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.Name == name && (v.may() || s.User == v.user) {
			if err := a.origin.Access.Sessions.Delete(v.r.Context(), name); err != nil {
				return err
			}
			a.did(v, "session.end", s.User)
			return v.done(settingsPath, "session")
		}
	}
	return fieldmark.Errorf(fieldmark.CodeNotFound, "The session has already ended.")
}
