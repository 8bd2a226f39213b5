package web

import (
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// RequestID returns the id that an edge gave the request, or "".
func RequestID(r *http.Request) string {
	if id := r.Header.Get(fieldmark.HeaderRequestID); fieldmark.ValidRequestID(id) {
		return id
	}
	return ""
}

// Forwarding reads from a request what an edge reports about the browser. Reports without a node token are
// ignored, because any client can send the header fields.
type Forwarding struct {
	NodeTokens fieldmark.NodeTokens
	Secure     bool // browsers use HTTPS only
}

// ClientOf returns the client: the one that an edge reports, or else the peer.
func (f Forwarding) ClientOf(r *http.Request) access.Caller { return access.CallerOf(r, f.NodeTokens) }

func (f Forwarding) fromEdge(r *http.Request) bool {
	return f.NodeTokens.Contains(r.Header.Get(fieldmark.HeaderNode))
}

// OverHTTPS reports whether the browser uses HTTPS, from the settings or as an edge reports. Cookies are then
// Secure, and responses have Strict-Transport-Security.
func (f Forwarding) OverHTTPS(r *http.Request) bool {
	return f.Secure || f.fromEdge(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// BaseURL is the address of this site in the browser.
func (f Forwarding) BaseURL(r *http.Request) string {
	scheme := "http"
	if f.OverHTTPS(r) {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: r.Host}).String()
}
