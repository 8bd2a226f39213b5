package demo

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// Site is one brand and its place on the demo web.
type Site struct {
	Slug        fieldmark.Slug
	Name        string
	Niche       string // a slug
	Language    string // BCP 47
	Description string
	Host        string // without a port; a name under .localhost (RFC 6761)
}

// Sites returns the sites in a fixed order.
func Sites() []Site {
	return nil
}

// Handler serves every site under its Host; base says at which address one is
// reached, without a slash at the end: "http://alpenglow.localhost:8088".
func Handler(base func(site Site) string) http.Handler {
	return http.NotFoundHandler()
}
