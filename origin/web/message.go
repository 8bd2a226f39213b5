package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// ErrorText returns the status, the title and the text of an error page. An internal error has no text: it is for
// the log, and may contain parts of queries.
func ErrorText(err error) (status int, title, text string) {
	e := fieldmark.AsError(err)
	if e.Code != fieldmark.CodeInternal {
		text = Sentence(e.Detail)
	}
	return e.Code.Status(), e.Code.Title(), text
}

// emptyList is sent as the newest id of an empty list.
const emptyList = "none"

// NewestID returns the id of the first row of a list, the newest, for a form that creates another row. Rows without
// a natural key cannot be compared with a repeated request, so the form names the newest one that its page showed:
// if there is a newer one when the form arrives, the form was sent twice.
func NewestID[T any](list []T, id func(*T) string) string {
	if len(list) == 0 {
		return emptyList
	}
	return id(&list[0])
}

// SeenID returns the id of NewestID in a posted form, "" for an empty list; nil if the form has none.
func SeenID(posted url.Values) *string {
	if !posted.Has("newest") {
		return nil
	}
	id := strings.TrimPrefix(posted.Get("newest"), emptyList)
	return &id
}

// Message is the data of a page that shows an error, or that something is done.
type Message struct {
	Text      string // what happened
	Next      string // what the reader can do
	RequestID string // to report an error of the server
}

// NewMessage returns the message of a response.
func NewMessage(r *http.Request, status int, text string) Message {
	m := Message{Text: text, Next: nextSteps[status]}
	if status >= http.StatusInternalServerError {
		m.RequestID = RequestID(r)
	}
	return m
}

// nextSteps is what a reader can do about a response, by its status. The texts of other statuses say it themselves.
var nextSteps = map[int]string{
	http.StatusBadRequest: "Go back, reload the page, and send the form again.",
	http.StatusNotFound:   "Check the address. The page may have been deleted.",
	http.StatusMethodNotAllowed: "This address takes a form. Open the page of the form and send it from " +
		"there.",
	http.StatusConflict: "Go back and reload the page to see what is stored now.",
	http.StatusRequestEntityTooLarge: "Nothing was stored. Go back, shorten the text or choose a smaller file, and " +
		"send the form again.",
	http.StatusTooManyRequests:     "Wait a minute, then try again.",
	http.StatusInternalServerError: "Try again. If it fails again, tell the operator what you did and when.",
	http.StatusBadGateway:          "Try again in a minute.",
	http.StatusServiceUnavailable: "Try again in a minute. If you sent a form, check first whether its change was " +
		"made.",
	http.StatusGatewayTimeout: "Try again in a minute. If you sent a form, check first whether its change was made.",
}
