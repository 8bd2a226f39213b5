package llms

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/fieldmark/fieldmark"
)

// parseAddress returns an absolute http or https URL in a form that every Markdown
// reader parses alike: with an ASCII host, and with every character percent-encoded
// that could end a link or start markup.
// The limit is checked again after encoding, which may triple the length.
func parseAddress(s string) (*url.URL, error) {
	if len(s) > fieldmark.MaxBrandURL {
		return nil, fmt.Errorf("longer than %d bytes", fieldmark.MaxBrandURL)
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return nil, errors.New("not an address")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Opaque != "":
		return nil, errors.New("not an absolute http or https address")
	case u.User != nil:
		return nil, errors.New("contains a user name")
	}
	if err := normaliseHost(u); err != nil {
		return nil, err
	}
	if u.Path == "" {
		u.Path = "/"
	}
	out, err := url.Parse(encode(u.String()))
	if err != nil {
		return nil, errors.New("not an address")
	}
	if len(out.String()) > fieldmark.MaxBrandURL {
		return nil, fmt.Errorf("longer than %d bytes once encoded", fieldmark.MaxBrandURL)
	}
	return out, nil
}

// normaliseHost converts the host to ASCII and removes the default port of the
// scheme.
// IPv6 addresses need brackets, which end links in some readers of Markdown.
func normaliseHost(u *url.URL) error {
	host, port := u.Hostname(), u.Port()
	if strings.Contains(host, ":") {
		return errors.New("has an IPv6 address as its host; use a name")
	}
	ascii := host
	if _, err := netip.ParseAddr(host); err != nil {
		if ascii, err = idna.Lookup.ToASCII(host); err != nil || strings.Trim(ascii, ".") == "" {
			return errors.New("has an invalid host name")
		}
	}
	u.Host = strings.ToLower(ascii)
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("has an invalid port")
	}
	u.Host += ":" + port
	return nil
}

// encode percent-encodes characters that are allowed in a URL but not in a Markdown
// link, and the semicolon, which could end a character reference.
func encode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("()<>[]{}\\^`|\"'*;", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
