package admin

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/web"
)

// The formats of codes, as in the API.
// A form accepts what the API accepts, so both give the same errors.
var (
	reasonCode  = regexp.MustCompile(`^[A-Z0-9_]{1,64}$`)
	failureCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// The maximum lengths of texts in code points, as in the API.
const (
	maxReasonText = 500
	maxReference  = 128
	maxTerms      = 64
	maxFeedName   = 100
	maxPauseNote  = 200

	maxDescription = 10_000

	maxAssignee     = 128
	maxAssigneeName = 200
)

// staleForm is the error in a form that creates something, if its list has changed since it was opened.
// Forms that create something have no version to compare; the newest id in their list takes its
// place.
func staleForm(created string) []web.FormError {
	return web.ErrorOf(created + " was created after this form was opened. Check the list, and submit again if you " +
		"still want another.")
}

// changedForm is the error in a form that changes something, if another change came first. The page shows what was
// entered, and the form submitted again overwrites that change.
func changedForm(what string) []web.FormError {
	return web.ErrorOf(what + " was changed after this form was opened. Compare your values with the list, and " +
		"submit again to replace them.")
}

// form reads a posted form and gathers what is wrong with it.
// All errors are collected, so that a person corrects them in one go.
type form struct {
	posted url.Values
	prefix string // of the ids of this form's inputs, where a page has several forms
	errors []web.FormError
}

// readForm returns the posted form, whose input ids have a prefix. If the form is rejected, the page shows it
// open with the values that were entered.
// The prefix keeps ids unique on pages with several forms.
func (req *request) readForm(prefix string) *form {
	req.formPrefix = prefix
	return &form{posted: req.r.PostForm, prefix: prefix}
}

// addError adds an error that is shown beside an input.
func (f *form) addError(name, text string) {
	f.errors = append(f.errors, web.FormError{Field: f.prefix + name, Text: text})
}

// reject adds an error about the form as a whole.
func (f *form) reject(text string) { f.errors = append(f.errors, web.FormError{Text: text}) }

// text returns a line of at most limit code points without surrounding spaces.
// Control characters are refused: they could hide or reorder what a list shows.
func (f *form) text(name, label string, limit int) string {
	s := strings.TrimSpace(f.posted.Get(name))
	if utf8.RuneCountInString(s) > limit || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		f.addError(name, fmt.Sprintf("%s: at most %d characters on one line.", label, limit))
		return ""
	}
	return s
}

// code returns a code in a format, or "".
func (f *form) code(name, label string, format *regexp.Regexp) string {
	s := strings.TrimSpace(f.posted.Get(name))
	// Reasons are compared in upper case by policies.
	if format == reasonCode {
		s = strings.ToUpper(s)
	}
	if s != "" && !format.MatchString(s) {
		f.addError(name, label+": use letters, digits and underscores, at most 64.")
		return ""
	}
	return s
}

// localMinute is the format of an input of type datetime-local.
const localMinute = "2006-01-02T15:04"

// time returns a time in UTC from such an input; the zero time if it is empty.
// The inputs of browsers have no zone; the console shows and reads UTC unless a page names
// another zone.
func (f *form) time(name, label string) time.Time {
	s := strings.TrimSpace(f.posted.Get(name))
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(localMinute, s)
	if err != nil {
		f.addError(name, label+": enter a date and a time, such as 2026-11-23 09:30.")
	}
	return t
}

// versions returns the version of a mission that the form was made for. A later revision of it is no conflict:
// SLA timers increase it at any time.
func (f *form) versions() (mission.Versions, error) {
	// Without a version, an old page could overwrite a newer change.
	version, err := strconv.Atoi(f.posted.Get("version"))
	if err != nil {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"The form is incomplete. Reload the mission and try again.")
	}
	return mission.Versions{{Number: version}}, nil
}

// inputFields maps pointers of validation errors to inputs.
// A pointer that is not listed is shown at the top of the form.
var inputFields = map[string]web.Input{
	"/name": {"name", "Name"}, "/scopes": {"scope", "Permissions"}, "/expiresInDays": {"days", "Expires after"},
	"/networks": {"networks", "Allowed IP addresses"}, "/url": {"url", "Address"}, "/events": {"events", "Events"},
	"/slug": {"slug", "Slug"}, "/niche": {"niche", "Niche"}, "/language": {"language", "Language"},
	"/description": {"description", "Description"}, "/note": {"note", "Note"}, "/id": {"id", "ID"},
	"/module": {"file", "Module"}, "/assignees": {"who", "Assignees"}, "/scope": {"scope", "Shows"},
	"/code": {"code", "Code"}, "/reason": {"reason", "Reason"}, "/amount": {"amount", "Amount"},
	"/amount/value": {"amount", "Amount"}, "/amount/currency": {"amount", "Amount"},
	"/direction": {"direction", "Direction"},
	"/terms":     {"terms", "Terms"}, "/account": {"account", "Account"}, "/scheduled": {"start", "Start"},
	"/scheduled/start": {"start", "Start"}, "/scheduled/end": {"end", "End"},
	"/assignee/id": {"assignee", "Assignee ID"}, "/assignee/name": {"assignee-name", "Assignee name"},
	"/title": {"title", "Title"}, "/externalId": {"external-id", "External ID"}, "/priority": {"priority", "Priority"},
	"/location/name": {"place", "Place"}, "/location/accessNotes": {"access", "Access"},
	"/location/address/line1": {"line1", "Street"}, "/location/address/city": {"city", "City"},
	"/location/address/postalCode": {"postal-code", "Postal code"}, "/contact/name": {"contact-name", "Contact"},
	"/contact/phone": {"phone", "Phone"}, "/contact/email": {"email", "Email"}, "/labels": {"labels", "Labels"},
	"/window": {"latest", "Available until"}, "/window/earliest": {"earliest", "Available from"},
	"/window/latest": {"latest", "Available until"}, "/text": {"text", "Note"},
	"/filterLabels": {"labels", "Labels to filter by"},
	"/reference":    {"reference", "Reference"}, "/failure/code": {"code", "Code"},
	"/failure/message": {"message", "What happened"}, "/answer": {"answer", "Reason"},
	"/graceHours": {"grace", "Keep the old key valid for"}, "/overlapHours": {"overlap", "Keep old secret valid for"},
	"/held": {"held", "Held messages"}, "/percent": {"percent", "Applies to"},
	"/location/address/country": {"line1", "Country"}, "/offer": {"offer", "Offer"},
	"/newAccount": {"new", "ID of the new account"},
	"/customer":   {"customer", "Customer"}, "/filter": {"labels", "Labels"}, "/filter/labels": {"labels", "Labels"},
	"/rateLimit/reads": {"reads", "Reads a minute"}, "/rateLimit/writes": {"writes", "Writes a minute"},
	"/kind":                   {"kind", "Kind"},
	"/limits/readsPerMinute":  {"reads", "Reads a minute"},
	"/limits/writesPerMinute": {"writes", "Writes a minute"},
	"/limits/endpoints":       {"endpoints", "Endpoints"},
	"/limits/missionsPerDay":  {"missions", "Missions a day"},
	"/limits/historyDays":     {"history", "Days of history"},
	"/urls":                   {"urls", "Addresses"},
	"/zone":                   {"zone", "ID"},
	"/plan":                   {"plan", "Plan"},
	"/token":                  {"token", "Token"},
	"/method":                 {"method", "Method"},
	"/headers":                {"headers", "Header fields"},
	"/body":                   {"body", "Body"},
	"/maxKeyDays":             {"key-days", "Longest lifetime of keys"},
}

// formErrors turns an API error into sentences about the inputs of the posted form.
// It understands the errors of every service, so a handler passes them on as they are.
func (req *request) formErrors(err error) []web.FormError {
	return web.FormErrors(err, inputFields, req.formPrefix)
}

// listPageSize is the number of rows on a page of a list. Queries read one row more, to decide
// whether there is a next page.
const listPageSize = 50

// cursorOf returns the id before which the page of a list begins, "" for the first page. prefix is
// that of the ids.
// A cursor from another list would start at a wrong place.
func cursorOf(query url.Values, prefix string) (string, error) {
	before := query.Get("before")
	if before != "" && !fieldmark.CheckID(prefix, before) {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidCursor, "Start again from the first page.")
	}
	return before, nil
}

// cutPage returns the rows of a page, of which one more was read, and the address of the next
// page: path with the filters and the cursor, "" after the last row.
// The filters are those of the page, so the next page has them too.
func cutPage[T any](rows []T, path string, filters url.Values, id func(*T) string) (page []T, next string) {
	if len(rows) <= listPageSize {
		return rows, ""
	}
	filters.Set("before", id(&rows[listPageSize-1]))
	return rows[:listPageSize], path + "?" + filters.Encode()
}
