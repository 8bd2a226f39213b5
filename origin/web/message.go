package web

import "net/http"

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
