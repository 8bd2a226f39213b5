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

// Codes that people write, as the wire's nouns have them.
var (
	reasonCode  = regexp.MustCompile(`^[A-Z0-9_]{1,64}$`)
	failureCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// The most code points of what people write, as the wire's nouns have them.
const (
	maxReasonText = 500
	maxReference  = 128
	maxTerms      = 64
	maxFeedName   = 100
	maxPauseNote  = 200

	maxAssignee     = 128
	maxAssigneeName = 200
)

// complaint is one thing that is wrong with a form.
type complaint struct {
	Field string // id of the input it is about; empty: of the form as a whole
	Text  string // a sentence
}

// complain makes a complaint about a form as a whole.
func complain(text string) []complaint { return []complaint{{Text: text}} }

// fields reads a posted form and gathers what is wrong with it.
type fields struct {
	posted url.Values
	prefix string // of the ids of this form's inputs, where a page has several forms
	bad    []complaint
}

// fields begins to read the form whose inputs have ids with a prefix. If it is
// refused, the page shows it open and as it was filled in.
func (v *visit) fields(prefix string) *fields {
	v.form = prefix
	return &fields{posted: v.r.PostForm, prefix: prefix}
}

func (f *fields) complain(name, text string) {
	f.bad = append(f.bad, complaint{Field: f.prefix + name, Text: text})
}

// text is a line as it was meant: without spaces around it, within bounds.
func (f *fields) text(name, label string, most int) string {
	s := strings.TrimSpace(f.posted.Get(name))
	if utf8.RuneCountInString(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		f.complain(name, fmt.Sprintf("%s: at most %d characters on one line.", label, most))
		return ""
	}
	return s
}

// code is a word of a fixed alphabet, or nothing.
func (f *fields) code(name, label string, form *regexp.Regexp) string {
	s := strings.TrimSpace(f.posted.Get(name))
	if form == reasonCode {
		s = strings.ToUpper(s)
	}
	if s != "" && !form.MatchString(s) {
		f.complain(name, label+": use letters, digits and underscores, at most 64.")
		return ""
	}
	return s
}

// localMinute is how browsers send an input of type datetime-local.
const localMinute = "2006-01-02T15:04"

// time is a time in UTC as such an input has it; the zero time if left empty.
func (f *fields) time(name, label string) time.Time {
	s := strings.TrimSpace(f.posted.Get(name))
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(localMinute, s)
	if err != nil {
		f.complain(name, label+": enter a date and a time, such as 2026-11-23 09:30.")
	}
	return t
}

// formField is where a member of a request stands in a form.
type formField struct{ id, label string }

// formFields maps pointers of validation errors to inputs.
var formFields = map[string]formField{
	"/name": {"name", "Name"}, "/scopes": {"scope", "Permissions"}, "/expiresInDays": {"days", "Expires in"},
	"/networks": {"networks", "Allowed IP addresses"}, "/url": {"url", "Address"}, "/events": {"events", "Events"},
	"/slug": {"slug", "Slug"}, "/niche": {"niche", "Niche"}, "/language": {"language", "Language"},
	"/description": {"description", "Description"}, "/note": {"note", "Note"}, "/id": {"id", "ID"},
	"/module": {"file", "Module"}, "/assignees": {"who", "Assignees"}, "/scope": {"scope", "Shows"},
	"/code": {"code", "Code"}, "/reason": {"reason", "Reason"}, "/amount": {"amount", "Amount"},
	"/amount/value": {"amount", "Amount"}, "/amount/currency": {"amount", "Amount"}, "/direction": {"direction", "Direction"},
	"/terms": {"terms", "Terms"}, "/account": {"account", "Account"}, "/scheduled": {"start", "Start"},
	"/scheduled/start": {"start", "Start"}, "/scheduled/end": {"end", "End"},
	"/assignee/id": {"assignee", "Assignee ID"}, "/assignee/name": {"assignee-name", "Assignee name"},
	"/reference": {"reference", "Reference"}, "/failure/code": {"code", "Code"}, "/failure/message": {"message", "What happened"},
}

// complaintsOf turns a refusal into sentences, each at its input. Pointers of the
// API stay out of them: who fills in a form has never seen one.
func (v *visit) complaintsOf(e *fieldmark.Error) []complaint {
	var list []complaint
	for _, f := range e.Fields {
		pointer, item := f.Pointer, ""
		field, known := formFields[pointer]
		if at := strings.LastIndexByte(pointer, '/'); !known && at > 0 {
			if n, err := strconv.Atoi(pointer[at+1:]); err == nil { // the n-th of a list
				field, known = formFields[pointer[:at]]
				item = fmt.Sprintf(", entry %d", n+1)
			}
		}
		switch {
		case known:
			text := strings.TrimPrefix(f.Detail, strings.ToLower(field.label)+" ") // some details name their member
			list = append(list, complaint{v.form + field.id, sentence(field.label + item + ": " + text)})
		default:
			list = append(list, complaint{Text: sentence(strings.NewReplacer("/", " ").Replace(strings.Trim(pointer, "/")) + " " + f.Detail)})
		}
	}
	if len(list) == 0 {
		list = complain(sentence(e.Detail))
	}
	return list
}

// sentence begins with a capital and ends with a point.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return strings.TrimSuffix(string(unicode.ToUpper(r))+s[n:], ".") + "."
}
