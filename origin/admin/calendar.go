package admin

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/technician"
	"github.com/fieldmark/fieldmark/origin/web"
)

// calendarHandler serves the page of calendar feeds.
// The address of a feed is its only credential, so the console shows it once, in the response that made
// it.
type calendarHandler struct {
	*console
	web.Forwarding // the address of this site, for the links of a new feed
	calendars      *mission.Calendars
	accounts       *access.Accounts // owners to choose from
}

type calendarsData struct {
	Calendars []fieldmark.Calendar
	Form      fieldmark.CalendarRequest
	Assignees string // the assignees of the form
	Scopes    []option
	Accounts  []option
	Newest    string // id of the newest feed (see keysData)
	Created   *createdFeed
}

// createdFeed is a feed with its address, which is shown only once.
type createdFeed struct {
	fieldmark.NewCalendar
	Address string // https://…
	Webcal  template.URL
	QR      template.HTML
}

func (h *calendarHandler) list(req *request) error {
	return h.showCalendars(req, http.StatusOK, fieldmark.CalendarRequest{Scope: fieldmark.CalendarOfAll}, nil, nil)
}

// showCalendars shows the page, after an error with the values that were entered. made is the feed whose
// address is shown; nil: none.
func (h *calendarHandler) showCalendars(
	req *request, status int, form fieldmark.CalendarRequest, bad []web.FormError, made *fieldmark.NewCalendar,
) error {
	list, err := h.calendars.List(req.r.Context())
	if err != nil {
		return err
	}
	d := calendarsData{Calendars: list, Form: form, Assignees: strings.Join(form.Assignees, " "),
		Newest: web.NewestID(list, func(c *fieldmark.Calendar) string { return c.ID })}
	for _, c := range []option{
		{Value: string(fieldmark.CalendarOfAll), Label: "all missions"},
		{Value: string(fieldmark.CalendarOfTeam), Label: "missions of a team"},
		{Value: string(fieldmark.CalendarOfPerson), Label: "missions of one person"},
	} {
		c.Selected = c.Value == string(form.Scope)
		d.Scopes = append(d.Scopes, c)
	}
	if d.Accounts, err = accountChoices(req, h.accounts, form.Account); err != nil {
		return err
	}
	// The address is in this response only: the store has its hash.
	if made != nil {
		if d.Created, err = h.feedLinks(req, made); err != nil {
			return err
		}
	}
	return h.show(req, status, "calendars", web.Page{Title: "Calendar feeds", Errors: bad, Data: d})
}

// feedLinks returns the address of a feed as https, as webcal and as a QR code.
func (h *calendarHandler) feedLinks(req *request, made *fieldmark.NewCalendar) (*createdFeed, error) {
	at := h.BaseURL(req.r) + made.Path
	_, rest, _ := strings.Cut(at, "://")
	// The host is that of this site, and the token is base64url.
	// html/template would replace the scheme webcal by #ZgotmplZ; the value is safe as it is.
	m := &createdFeed{NewCalendar: *made, Address: at, Webcal: template.URL("webcal://" + rest)}
	var err error
	// A phone opens webcal in its calendar, and https in its browser.
	m.QR, err = qrCode(string(m.Webcal), "QR code of the feed's address")
	return m, err
}

// create creates a feed and shows its address.
// It does not redirect, unlike other forms: the page after a redirect could not show the address. A
// reload submits the form again, which CreateAfter rejects.
func (h *calendarHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	posted := req.r.PostForm
	form := fieldmark.CalendarRequest{Account: posted.Get("account"), Name: strings.TrimSpace(posted.Get("name")),
		Scope:     fieldmark.CalendarScope(posted.Get("scope")),
		Assignees: strings.Fields(strings.ReplaceAll(posted.Get("who"), ",", " ")),
		Details:   posted.Get("details") != ""}
	// The id of the newest feed distinguishes a repeat of the form from a second feed of the same name.
	made, err := h.calendars.CreateAfter(req.r.Context(), req.newestSeen(), form)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return h.showCalendars(req, http.StatusConflict, form, staleForm("A feed"), nil)
	}
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeNotFound) {
		return h.showCalendars(req, http.StatusUnprocessableEntity, form, req.formErrors(err), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "calendar.created", made.ID)
	return h.showCalendars(req, http.StatusOK, fieldmark.CalendarRequest{Scope: fieldmark.CalendarOfAll}, nil, &made)
}

// update rotates the address of a feed or revokes it.
// Both end the current address at once, so they ask for confirmation.
func (h *calendarHandler) update(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, do := req.r.PathValue("id"), req.r.PostForm.Get("do")
	// An unknown action needs no confirmation: it is an error below.
	if !web.Confirmed(req.r) && (do == "rotate" || do == "end") {
		return h.confirmFeed(req, id, do)
	}
	switch do {
	case "rotate":
		made, err := h.calendars.Rotate(req.r.Context(), id)
		if err != nil {
			return err
		}
		// Also in the audit log, because everyone with the old address loses the feed.
		h.audit(req, "calendar.rotated", id)
		return h.showCalendars(req, http.StatusOK, fieldmark.CalendarRequest{Scope: fieldmark.CalendarOfAll}, nil,
			&made)
	case "end":
		if _, err := h.calendars.Revoke(req.r.Context(), id); err != nil {
			return err
		}
		h.audit(req, "calendar.revoked", id)
		return req.redirectWithNotice(calendarsPath+"#"+id, "feed-end")
	}
	return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
}

// confirmFeed shows a confirmation before the address of a feed is changed or the feed ends.
func (h *calendarHandler) confirmFeed(req *request, id, do string) error {
	list, err := h.calendars.List(req.r.Context())
	if err != nil {
		return err
	}
	// The confirmation names the feed, so that a wrong click is noticed.
	i := slices.IndexFunc(list, func(c fieldmark.Calendar) bool { return c.ID == id })
	if i < 0 {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "This feed does not exist.")
	}
	q := web.Confirmation{Title: "End the feed “" + list[i].Name + "”?", Text: "The feed stops working for everyone.",
		Button: "End feed", Back: calendarsPath}
	if do == "rotate" {
		q.Title, q.Button = "Change the address of the feed “"+list[i].Name+"”?", "Change address"
		q.Text = "Subscriptions to the current address stop working at once. The new one is shown once."
	}
	return h.confirm(req, q)
}

// technicianHandler serves the page of the links to pages of technicians.
// Like a feed, a link is shown once; a PIN may protect it as well.
type technicianHandler struct {
	*console
	web.Forwarding // the address of this site, for a new link
	links          *technician.Links
	accounts       *access.Accounts
}

type techniciansData struct {
	Links    []technicianRow
	Form     fieldmark.TechnicianLinkRequest
	Days     string
	Accounts []option
	Created  *createdLink
}

type technicianRow struct {
	fieldmark.TechnicianLink
	State string // active, expired or ended
}

// createdLink is a link with its address, which is shown only once.
type createdLink struct {
	fieldmark.NewTechnicianLink
	Address string
	QR      template.HTML
}

// technicianInputs map pointers of validation errors to inputs.
var technicianInputs = map[string]web.Input{
	"/assignee/id": {"who", "Assignee ID"}, "/assignee/name": {"who-name", "Name"}, "/until": {"days", "Days"},
	"/pin": {"pin", "PIN"}, "/account": {"account", "Account"},
}

// list shows the page. The query fills the form: account, assignee and name.
func (h *technicianHandler) list(req *request) error {
	query := req.r.URL.Query()
	form := fieldmark.TechnicianLinkRequest{Account: query.Get("account"),
		Assignee: fieldmark.Assignee{ID: query.Get("assignee"), Name: query.Get("name")}}
	return h.show(req, http.StatusOK, form, nil, nil)
}

// show is showCalendars for links.
func (h *technicianHandler) show(req *request, status int, form fieldmark.TechnicianLinkRequest, bad []web.FormError,
	made *fieldmark.NewTechnicianLink) error {
	links, err := h.links.List(req.r.Context())
	if err != nil {
		return err
	}
	form.PIN = "" // a secret is not shown again
	d := techniciansData{Form: form, Days: cmp.Or(req.r.PostForm.Get("days"), "30")}
	now := time.Now()
	for _, l := range links {
		// Revoked before expired: a link that was ended stays ended after its time.
		row := technicianRow{l, "active"}
		switch {
		case l.RevokedAt != nil:
			row.State = "ended"
		// The end itself is expired.
		case !l.Until.Std().After(now):
			row.State = "expired"
		}
		d.Links = append(d.Links, row)
	}
	if d.Accounts, err = accountChoices(req, h.accounts, form.Account); err != nil {
		return err
	}
	if made != nil {
		address := h.BaseURL(req.r) + made.Path
		code, err := qrCode(address, "QR code of the link")
		if err != nil {
			return err
		}
		d.Created, d.Days = &createdLink{*made, address, code}, "30"
	}
	return h.console.show(req, status, "technicians", web.Page{Title: "Technicians", Errors: bad, Data: d})
}

// create creates a link and shows its address.
func (h *technicianHandler) create(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	posted := req.r.PostForm
	form := fieldmark.TechnicianLinkRequest{Account: posted.Get("account"), PIN: strings.TrimSpace(posted.Get("pin")),
		Assignee: fieldmark.Assignee{ID: posted.Get("who"), Name: posted.Get("who-name")}}
	// People think in days; the API has the time of the end.
	days, err := strconv.Atoi(posted.Get("days"))
	// Checked here, because the API has a time instead of days.
	if most := int(fieldmark.MaxTechnicianLink.Hours() / 24); err != nil || days < 1 || days > most {
		return h.show(req, http.StatusUnprocessableEntity, form, []web.FormError{{Field: "days",
			Text: fmt.Sprintf("Days: enter 1 to %d.", most)}}, nil)
	}
	until := fieldmark.At(time.Now().AddDate(0, 0, days))
	form.Until = &until
	made, err := h.links.Create(req.r.Context(), form)
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeNotFound, fieldmark.CodeTooMany) {
		return h.show(req, http.StatusUnprocessableEntity, form, web.FormErrors(err, technicianInputs, ""), nil)
	}
	if err != nil {
		return err
	}
	h.audit(req, "technician_link.created", made.ID)
	return h.show(req, http.StatusOK, fieldmark.TechnicianLinkRequest{}, nil, &made)
}

// update rotates the address of a link or revokes it.
// A rotation also gives the link a new end, and devices are asked for the PIN again.
func (h *technicianHandler) update(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	id, do := req.r.PathValue("id"), req.r.PostForm.Get("do")
	if !web.Confirmed(req.r) && (do == "rotate" || do == "end") {
		links, err := h.links.List(req.r.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(links, func(l fieldmark.TechnicianLink) bool { return l.ID == id })
		if i < 0 {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "This link does not exist.")
		}
		// Without a name the id is what an administrator knows.
		who := cmp.Or(links[i].Assignee.Name, links[i].Assignee.ID)
		q := web.Confirmation{Title: "End the link of " + who + "?", Button: "End link", Back: techniciansPath,
			Text: "The page stops working at once. Work that the phone has not sent stays on it until it opens a new " +
				"link of this person."}
		if do == "rotate" {
			q.Title, q.Button = "Create a new address for "+who+"?", "Create new address"
			q.Text = "The current address stops working at once. The new one is shown once and works for 30 days."
		}
		return h.confirm(req, q)
	}
	switch do {
	case "rotate":
		// Without a time the rotation has the default lifetime of 30 days, as the confirmation says.
		made, err := h.links.Rotate(req.r.Context(), id, fieldmark.TechnicianLinkRotation{})
		if err != nil {
			return err
		}
		h.audit(req, "technician_link.rotated", id)
		return h.show(req, http.StatusOK, fieldmark.TechnicianLinkRequest{}, nil, &made)
	case "end":
		if _, err := h.links.Revoke(req.r.Context(), id); err != nil {
			return err
		}
		h.audit(req, "technician_link.revoked", id)
		return req.redirectWithNotice(techniciansPath+"#"+id, "link-end")
	}
	return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
}
