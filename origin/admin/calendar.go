package admin

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
)

type calendarsData struct {
	Calendars []fieldmark.Calendar
	Form      fieldmark.CalendarRequest
	Who       string // the assignees of the form
	Scopes    []choice
	Accounts  []choice
	Newest    string // id of the feed made last, as with keys
	Made      *madeFeed
}

// madeFeed is a feed whose address is told now and never again.
type madeFeed struct {
	fieldmark.NewCalendar
	Address string // https://…
	Webcal  template.URL
	QR      template.HTML
}

func (a *area) calendars(v *visit) error {
	return a.showCalendars(v, http.StatusOK, fieldmark.CalendarRequest{Scope: fieldmark.CalendarOfAll}, nil, nil)
}

func newestCalendar(list []fieldmark.Calendar) string {
	if len(list) == 0 {
		return noneYet
	}
	return list[0].ID
}

func (a *area) showCalendars(v *visit, status int, form fieldmark.CalendarRequest, bad []complaint, made *fieldmark.NewCalendar) error {
	list, err := a.origin.Calendars(v.r.Context())
	if err != nil {
		return err
	}
	d := calendarsData{Calendars: list, Form: form, Who: strings.Join(form.Assignees, " "), Newest: newestCalendar(list)}
	for _, c := range []choice{{Value: string(fieldmark.CalendarOfAll), Label: "all missions"}, {Value: string(fieldmark.CalendarOfTeam), Label: "missions of a team"}, {Value: string(fieldmark.CalendarOfPerson), Label: "missions of one person"}} {
		c.Chosen = c.Value == string(form.Scope)
		d.Scopes = append(d.Scopes, c)
	}
	if d.Accounts, err = a.accountChoices(v, form.Account); err != nil {
		return err
	}
	if made != nil {
		if d.Made, err = a.reachable(v, made); err != nil {
			return err
		}
	}
	return a.show(v, status, "calendars", page{Title: "Calendar feeds", Complaints: bad, Data: d})
}

// reachable tells the address of a feed in the forms that people need.
func (a *area) reachable(v *visit, made *fieldmark.NewCalendar) (*madeFeed, error) {
	at := a.address(v.r) + made.Path
	_, rest, _ := strings.Cut(at, "://")
	m := &madeFeed{NewCalendar: *made, Address: at, Webcal: template.URL("webcal://" + rest)} // of our own host and a token of base64url
	var err error
	m.QR, err = qrCode(string(m.Webcal), "QR code of the feed's address")
	return m, err
}

// createCalendar makes a feed and shows its address, this once.
func (a *area) createCalendar(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	posted := v.r.PostForm
	form := fieldmark.CalendarRequest{Account: posted.Get("account"), Name: strings.TrimSpace(posted.Get("name")), Scope: fieldmark.CalendarScope(posted.Get("scope")),
		Assignees: strings.Fields(strings.ReplaceAll(posted.Get("who"), ",", " ")), Details: posted.Get("details") != ""}
	made, err := a.origin.CreateCalendarAfter(v.r.Context(), v.newest(), form)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		return a.showCalendars(v, http.StatusConflict, form, complain("A feed was created after this form was opened. Check the list, and submit again if you still want another."), nil)
	}
	if e := fieldmark.AsError(err); err != nil && (e.Code == fieldmark.CodeValidationFailed || e.Code == fieldmark.CodeNotFound) {
		return a.showCalendars(v, http.StatusUnprocessableEntity, form, v.complaintsOf(e), nil)
	}
	if err != nil {
		return err
	}
	a.did(v, "calendar.create", made.ID)
	return a.showCalendars(v, http.StatusOK, fieldmark.CalendarRequest{Scope: fieldmark.CalendarOfAll}, nil, &made)
}

// changeCalendar rotates or ends a feed, as a button says.
func (a *area) changeCalendar(v *visit) error {
	if err := v.parseForm(); err != nil {
		return err
	}
	id := v.r.PathValue("id")
	switch v.r.PostForm.Get("do") {
	case "rotate":
		made, err := a.origin.RotateCalendar(v.r.Context(), id)
		if err != nil {
			return err
		}
		a.did(v, "calendar.rotate", id)
		return a.showCalendars(v, http.StatusOK, fieldmark.CalendarRequest{Scope: fieldmark.CalendarOfAll}, nil, &made)
	case "end":
		if _, err := a.origin.RevokeCalendar(v.r.Context(), id); err != nil {
			return err
		}
		a.did(v, "calendar.end", id)
		return v.done(feedsPath, "feed-end")
	}
	return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Unknown action.")
}
