package panel

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// redirectors are hosts that redirect to addresses that their URL does not show.
var redirectors = []string{"vertexaisearch.cloud.google.com", "t.co", "bit.ly", "lnkd.in", "l.facebook.com", "goo.gl",
	"tinyurl.com", "youtu.be", "amzn.to", "ow.ly", "out.reddit.com"}

// Registrable returns the registrable domain of an address in ASCII and lower case: acme.co.uk for
// https://www.acme.co.uk/x. Private suffixes count, so acme.github.io is a separate domain. It reports false
// for an address without one, and for redirectors, whose target is not known without fetching it.
func Registrable(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(u.Hostname(), "."))
	if err != nil || host == "" {
		return "", false
	}
	host = strings.ToLower(host)
	// An IP address belongs to no domain. The path /url of Google redirects as the hosts of the list do.
	if _, err := netip.ParseAddr(host); err == nil || slices.Contains(redirectors, host) ||
		(host == "www.google.com" || host == "google.com") && u.Path == "/url" {
		return "", false
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	return domain, err == nil
}

// owners returns the brands of addresses, and whether any address can be attributed at all.
func (m *Matcher) owners(list []string) (brands []int, any bool) {
	for _, address := range list {
		domain, ok := Registrable(address)
		any = any || ok
		if i, known := m.domains[domain]; known && !slices.Contains(brands, i) {
			brands = append(brands, i)
		}
	}
	return brands, any
}
