package rfc9111

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Limits of groups; RFC 9875, section 2 requires at least these.
const (
	maxGroups    = 32
	maxGroupName = 32
)

// Safe reports whether a method is known to change nothing (RFC 9110, 9.2.1).
func Safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "QUERY":
		return true
	}
	return false
}

// Invalidates returns the targets (path and query) whose stored responses a request
// with this method and response makes invalid (RFC 9111, 4.4): its own, and those
// that Location and Content-Location name on the same host. An error response
// invalidates nothing.
func Invalidates(method string, status int, target *url.URL, host string, h http.Header) []string {
	if Safe(method) || status < 200 || status > 399 {
		return nil
	}
	targets := []string{target.RequestURI()}
	for _, name := range []string{"Location", "Content-Location"} {
		ref, err := url.Parse(h.Get(name))
		if err != nil || h.Get(name) == "" {
			continue
		}
		at := target.ResolveReference(ref)
		if ref.Host != "" && !strings.EqualFold(ref.Host, host) || ref.Scheme != "" && ref.Scheme != "http" &&
			ref.Scheme != "https" {
			continue // a site must not invalidate another
		}
		targets = append(targets, at.RequestURI())
	}
	return targets
}

// Groups returns the groups of a response (RFC 9875, 2).
func Groups(h http.Header) []string { return groupList(h["Cache-Groups"]) }

// InvalidatedGroups returns the groups whose responses a request with this method
// and response makes invalid (RFC 9875, 3).
func InvalidatedGroups(method string, status int, h http.Header) []string {
	if Safe(method) || status < 200 || status > 399 {
		return nil
	}
	return groupList(h["Cache-Group-Invalidation"])
}

// groupList parses a List of Strings. Any other value is ignored as a whole, as
// structured fields require.
func groupList(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	members, err := parseList(lines)
	if err != nil {
		return nil
	}
	var groups []string
	for _, m := range members {
		item, ok := m.(httpsfv.Item)
		if !ok {
			return nil
		}
		name, ok := item.Value.(string)
		if !ok {
			return nil
		}
		if len(name) <= maxGroupName && len(groups) < maxGroups {
			groups = append(groups, name)
		}
	}
	return groups
}
