package site

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// ErrorPage is the data of a page that says why there is no page.
type ErrorPage struct {
	BaseURL   string         // scheme and host of the site, without a slash at the end
	Code      fieldmark.Code // decides the words and the status
	Brand     string         // the slug that was asked for, when a brand was; any text
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
	v.Head = head{chrome: c, Title: v.Heading, Description: v.Text, Kind: "website", Base: p.BaseURL}
	return v
}

// wordsFor says what happened and what to do about it, to somebody who knows
// nothing of HTTP.
func wordsFor(status int, brand bool) (heading, text string) {
	switch {
	case status == http.StatusNotFound && brand:
		return "No such brand here", "Nobody has registered a brand under this name, or it is not shown in public. The address may hold a typing error."
	case status == http.StatusNotFound:
		return "There is no such page", "The address may hold a typing error, or the page has moved."
	case status == http.StatusGone:
		return "This page of the list has expired", "The leaderboard has changed since you opened it. Begin again at the top to see the ranks of today."
	case status == http.StatusTooManyRequests:
		return "One moment, please", "There were more requests from your network than we answer at once. Please try again in a minute."
	case status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout, status == http.StatusBadGateway:
		return "We will be back in a moment", "The part of Fieldmark that keeps this page cannot be reached just now. Nothing is lost; please try again in a minute."
	case status >= http.StatusInternalServerError:
		return "Something went wrong on our side", "It is not your fault. Please try again in a minute; if it stays, tell us the number below."
	}
	return "This address cannot be understood", "Part of the address is not what this page expects. Begin again at the leaderboard."
}
