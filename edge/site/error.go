package site

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// ErrorPage is the data of an error page.
type ErrorPage struct {
	BaseURL   string         // scheme and host of the site, without a slash at the end
	Code      fieldmark.Code // decides the words and the status
	Brand     string         // the requested slug, when a brand was requested; any text
	RequestID string         // shown for support; may be empty
}

// errorView is what templates/error.html shows.
type errorView struct {
	Head    head
	Page    *ErrorPage
	Status  int
	Heading string
	Text    string
}

func newErrorView(c chrome, p *ErrorPage) *errorView {
	v := &errorView{Page: p, Status: p.Code.Status()}
	v.Heading, v.Text = wordsFor(v.Status, p.Brand != "")
	v.Head = head{chrome: c, Title: v.Heading, Description: v.Text, Kind: "website", Base: p.BaseURL, Text: true}
	return v
}

// wordsFor returns the text of an error page: what happened and what to do next, for
// readers who do not know HTTP.
func wordsFor(status int, brand bool) (heading, text string) {
	switch {
	case status == http.StatusNotFound && brand:
		return "Brand not found", "No brand is registered under this name, or it is not public. Check the address " +
			"for typos."
	case status == http.StatusNotFound:
		return "Page not found", "Check the address for typos. The page may also have moved."
	case status == http.StatusGone:
		return "This page of the list has expired", "The leaderboard has changed since you opened it. Start again " +
			"at the top to see the current ranks."
	case status == http.StatusTooManyRequests:
		return "Too many requests", "Your network has sent too many requests. Try again in a minute."
	case status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout, status == http.StatusBadGateway:
		return "Temporarily unavailable", "The server that holds this page cannot be reached right now. No data is " +
			"lost. Try again in a minute."
	case status >= http.StatusInternalServerError:
		return "Something went wrong on our side", "Try again in a minute. If it keeps happening, send us the " +
			"request ID below."
	}
	return "Invalid address", "Part of the address is not valid for this page. Start again at the leaderboard."
}
