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
)

// The formats of codes, as in the API.
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

	maxAssignee     = 128
	maxAssigneeName = 200
)

// formError is an error in a form.
type formError struct {
	Field string // id of the input; empty: the form as a whole
	Text  string // a sentence
}

// formErrorOf returns an error about a form as a whole.
func formErrorOf(text string) []formError { return []formError{{Text: text}} }

// staleForm is the error in a form that creates something, if its list has changed since it was opened.
func staleForm(created string) []formError {
	return formErrorOf(created + " was created after this form was opened. Check the list, and submit again if you " +
		"still want another.")
}

// form reads a posted form and gathers what is wrong with it.
type form struct {
	posted url.Values
	prefix string // of the ids of this form's inputs, where a page has several forms
	errors []formError
}

// readForm returns the posted form, whose input ids have a prefix. If the form is rejected, the page shows it
// open with the values that were entered.
func (req *request) readForm(prefix string) *form {
	req.formPrefix = prefix
	return &form{posted: req.r.PostForm, prefix: prefix}
}

func (f *form) addError(name, text string) {
	f.errors = append(f.errors, formError{Field: f.prefix + name, Text: text})
}

// text returns a line of at most limit code points without surrounding spaces.
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

// inputField is the input for a member of an API request.
type inputField struct{ id, label string }

// inputFields maps pointers of validation errors to inputs.
var inputFields = map[string]inputField{
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
	"/reference": {"reference", "Reference"}, "/failure/code": {"code", "Code"},
	"/failure/message": {"message", "What happened"}, "/answer": {"answer", "Reason"},
}

// formErrors turns an API error into sentences about inputs. They have no JSON Pointers, which users of a form
// do not know.
func (req *request) formErrors(err error) []formError {
	e := fieldmark.AsError(err)
	var list []formError
	for _, f := range e.Fields {
		pointer, item := f.Pointer, ""
		field, known := inputFields[pointer]
		if at := strings.LastIndexByte(pointer, '/'); !known && at > 0 {
			if n, err := strconv.Atoi(pointer[at+1:]); err == nil { // an element of a list
				field, known = inputFields[pointer[:at]]
				item = fmt.Sprintf(", entry %d", n+1)
			}
		}
		switch {
		case known:
			// Some details start with the name of their member.
			text := strings.TrimPrefix(f.Detail, strings.ToLower(field.label)+" ")
			list = append(list, formError{req.formPrefix + field.id, sentence(field.label + item + ": " + text)})
		default:
			name := strings.ReplaceAll(strings.Trim(pointer, "/"), "/", " ")
			list = append(list, formError{Text: sentence(name + " " + f.Detail)})
		}
	}
	if len(list) == 0 {
		list = formErrorOf(sentence(e.Detail))
	}
	return list
}

// sentence returns s with a capital letter and a full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return strings.TrimSuffix(string(unicode.ToUpper(r))+s[n:], ".") + "."
}
