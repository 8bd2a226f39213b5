package admin

import (
	"fmt"
	"html/template"
	"image/color"
	"net/http"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/web"
)

// settingsHandler serves the page of settings, users and sessions.
type settingsHandler struct {
	*console
	origin   *origin.Service // health and statistics only
	settings []Setting       // of the process
	admins   *access.Admins
	sessions *access.Sessions
	signOn   *access.SignOn
}

// settingsData is the settings page: health, settings, users and sessions.
// The settings are those of the process, so this page cannot change them.
type settingsData struct {
	Healthy         bool
	Stats           origin.Stats
	Settings        []Setting
	Admins          []fieldmark.Admin
	Sessions        []access.SessionInfo
	CurrentSession  string // name of this session
	Factor          bool   // the user has two-factor authentication
	Reauthenticated bool
	External        bool         // the user signs in with the provider
	Reauth          reauthData   // the form that confirms the identity
	Offered         *access.TOTP // offered, not active yet
	QR              template.HTML
}

// get shows the page.
func (h *settingsHandler) get(req *request) error {
	return h.showSettings(req, http.StatusOK, nil, nil)
}

// showSettings shows the page. offered is two-factor authentication that is not active until its first code was
// entered.
func (h *settingsHandler) showSettings(req *request, status int, bad []web.FormError, offered *access.TOTP) error {
	ctx := req.r.Context()
	d := settingsData{
		Healthy: h.origin.Health(ctx) == nil, Settings: h.settings, CurrentSession: req.session.Name,
		Reauthenticated: req.session.Reauthenticated(time.Now()), Reauth: reauthForm(req, h.signOn, settingsPath),
		Factor: req.session.HasTOTP, External: req.session.External, Offered: offered,
	}
	var err error
	if d.Stats, err = h.origin.Stats(ctx, origin.MaxCount); err != nil {
		return err
	}
	if d.Admins, err = h.admins.List(ctx); err != nil {
		return err
	}
	sessions, err := h.sessions.List(ctx)
	if err != nil {
		return err
	}
	// A viewer sees only sessions that they may end.
	for _, s := range sessions {
		if req.canWrite() || s.User == req.user {
			d.Sessions = append(d.Sessions, s)
		}
	}
	if offered != nil {
		if d.QR, err = qrCode(offered.URI, "QR code for an authenticator app"); err != nil {
			return err
		}
	}
	return h.show(req, status, "settings", web.Page{Title: "Settings and health", Errors: bad, Data: d})
}

// setSecondFactor offers, enables or disables two-factor authentication for the user.
// Each change needs a recent password or code: a stolen session must not lock its owner out.
func (h *settingsHandler) setSecondFactor(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	if !req.session.Reauthenticated(time.Now()) {
		return req.redirectWithNotice(settingsPath, "reauth-required")
	}
	// The secret comes from the form of the offer: the server has stored none.
	form, done := req.r.PostForm, "factor-on"
	var secret string
	switch form.Get("do") {
	case "offer":
		factor, err := access.NewTOTP(req.user)
		if err != nil {
			return err
		}
		// The secret is in the page only; nothing is stored until a code shows that the app has
		// it.
		return h.showSettings(req, http.StatusOK, nil, &factor)
	case "on":
		if secret = form.Get("secret"); secret == "" {
			return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Start the setup again.")
		}
	case "off":
		if done = "factor-off"; !web.Confirmed(req.r) {
			return h.confirm(req, web.Confirmation{Title: "Turn off two-factor authentication of " + req.user + "?",
				Text:   "The codes of your app stop working. A new setup has a new secret.",
				Button: "Turn off", Back: settingsPath})
		}
	default:
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
	}
	// An empty secret turns it off. A wrong code changes nothing.
	err := h.admins.SetTOTP(req.r.Context(), req.user, secret, req.postedCode())
	if hasCode(err, fieldmark.CodeValidationFailed) {
		return h.showSettings(req, http.StatusUnprocessableEntity, req.formErrors(err), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "two_factor."+form.Get("do"), req.user)
	return req.redirectWithNotice(settingsPath, done)
}

// endSession ends a session. Viewers can end only their own sessions.
// Names of sessions are not their tokens: knowing one gives no access.
func (h *settingsHandler) endSession(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	// The list is read again, because the session may have ended since the page was shown.
	name := req.r.PathValue("session")
	sessions, err := h.sessions.List(req.r.Context())
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.Name == name && (req.canWrite() || s.User == req.user) {
			if !web.Confirmed(req.r) {
				q := web.Confirmation{Title: "End the session of " + s.User + "?", Button: "End session",
					Back: settingsPath,
					Text: s.User + " is signed out of the session from " +
						s.CreatedAt.Std().Format("2006-01-02 15:04") +
						" UTC."}
				if name == req.session.Name {
					q.Title, q.Text = "End this session?", "You are signed out."
				}
				return h.confirm(req, q)
			}
			if err := h.sessions.Delete(req.r.Context(), name); err != nil {
				return err
			}
			h.audit(req, "session.ended", s.User)
			return req.redirectWithNotice(settingsPath+"#sessions", "session")
		}
	}
	return fieldmark.Errorf(fieldmark.CodeNotFound, "The session has already ended.")
}

// quietZone is the margin a QR code needs, in modules (ISO/IEC 18004).
const quietZone = 4

// qrCode draws a text as a QR code. It is black on white in dark mode too, because many cameras cannot read
// inverted codes.
// A run of dark modules in a row is one rectangle, which keeps the picture small.
func qrCode(text, title string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			from := x
			for x < size && color.GrayModel.Convert(code.At(x, y)).(color.Gray).Y < 128 {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1H%dz", from+quietZone, y+quietZone, x-from, from+quietZone)
			}
		}
	}
	side := size + 2*quietZone
	// The numbers and the path are safe HTML; the title is escaped.
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="%s" `+
		`shape-rendering="crispEdges"><rect width="%d" height="%d" fill="#fff"/><path d="%s" fill="#000"/></svg>`,
		side, side, template.HTMLEscapeString(title), side, side, path.String())), nil
}
