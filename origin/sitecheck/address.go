package sitecheck

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// address is the address of a site to check, in its canonical form.
// Checks of one address are recognized by url, and counted by host and domain.
type address struct {
	url    string // scheme, host, port unless it is the default, and path
	host   string // without the port; in ASCII and lower case
	domain string // registrable; names below a private public suffix are domains of their own
}

// specialNames are domains that never belong to a public site (RFC 6761, 6762, 7686, 8375;
// ICANN reserved internal in 2024). What they resolve to is refused when it is dialled, too.
var specialNames = []string{"localhost", "local", "internal", "onion", "arpa"}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// maxHost is the length of a name in DNS, in bytes.
const maxHost = 253

// parseAddress parses the address in a request. Sites are host:port pairs that may be
// checked although they are not public.
// All of this is syntax: what a name resolves to is checked when it is dialled, because DNS may
// answer differently then.
func parseAddress(raw string, sites []string) (a address, err error) {
	bad := func(code, detail string) (address, error) { return a, validation.Error("/url", code, detail) }
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return bad("required", "must be the address of a site, such as https://acme.example/")
	}
	if len(raw) > fieldmark.MaxCheckURL {
		return bad("too_long", fmt.Sprintf("must have at most %d bytes", fieldmark.MaxCheckURL))
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "":
		return bad("format", "must be an http or https address, such as https://acme.example/")
	case u.User != nil:
		return bad("format", "must have no user name or password")
	case len(u.EscapedPath()) > fieldmark.MaxCheckPath:
		return bad("too_long", fmt.Sprintf("the path must have at most %d bytes", fieldmark.MaxCheckPath))
	}
	// A dot at the end makes the name absolute and is no other name.
	host := strings.TrimSuffix(u.Hostname(), ".")
	if isIP(host) {
		return bad("format", "must have a host name, not an IP address")
	}
	if host, err = idna.Lookup.ToASCII(host); err != nil || len(host) > maxHost {
		return bad("format", "the host name is not valid")
	}
	a.host = host
	port := u.Port()
	if port == defaultPorts[u.Scheme] {
		port = ""
	}
	u.Host = host
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	if !slices.Contains(sites, net.JoinHostPort(host, cmp.Or(port, defaultPorts[u.Scheme]))) {
		if slices.ContainsFunc(specialNames, func(name string) bool { return isBelow(host, name) }) {
			return bad("format", safehttp.ErrNotAllowed.Detail)
		}
		// Other ports are often those of internal services, and of services that a request may
		// harm.
		if port != "" && port != "80" && port != "443" {
			return bad("format", "must use port 80 or 443")
		}
	}
	// A name without a registrable domain cannot be counted against one.
	if a.domain, err = publicsuffix.EffectiveTLDPlusOne(host); err != nil {
		return bad("format", "must have a registered domain, such as acme.example")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	// A query could make any number of different addresses of one page.
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	a.url = u.String()
	return a, nil
}

// isIP reports whether a host is an IP address, also in notations that only some resolvers
// accept, such as 127.1 and 0x7f000001: no public name ends in a number.
func isIP(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	return last == "" || strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
}

// isBelow reports whether host is a domain or a name below it.
// It compares whole labels.
func isBelow(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// homeURLs returns the addresses under which a brand of this site may be registered: of the
// page and of the root of the host, by either scheme, with and without "www." and the slash
// at the end.
func homeURLs(raw string) (all []string) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	host := strings.TrimPrefix(u.Host, "www.")
	paths := []string{strings.TrimSuffix(u.EscapedPath(), "/")}
	if paths[0] != "" {
		paths = append(paths, "")
	}
	for _, path := range paths {
		for _, scheme := range []string{"https://", "http://"} {
			for _, www := range []string{"", "www."} {
				all = append(all, scheme+www+host+path+"/", scheme+www+host+path)
			}
		}
	}
	return all
}
