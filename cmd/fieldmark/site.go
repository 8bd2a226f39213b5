package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
)

// siteSettings configure an edge as a caching reverse proxy for a site.
type siteSettings struct {
	Site            []string `env:"FIELDMARK_SITE" placeholder:"URL" help:"Servers of a site for which this edge is a caching reverse proxy. Requests for any host except that of --base-url go to them; without a node token, requests for all hosts."`
	IgnoreCookies   []string `env:"FIELDMARK_IGNORE_COOKIES" placeholder:"NAME" help:"Cookies that responses do not depend on, such as _ga*: a request with only these is answered from the cache."`
	CookielessPaths []string `env:"FIELDMARK_COOKIELESS_PATHS" placeholder:"PREFIX" help:"Path prefixes below which all cookies are ignored, such as /static/."`

	servers *upstream.Upstream // nil without --site
}

// openSite creates the upstream of the site's servers. It connects to nothing.
func (c *siteSettings) openSite(log *slog.Logger) (*siteSettings, error) {
	if len(c.Site) == 0 {
		return c, nil
	}
	all, err := addresses(c.Site, "--site")
	if err != nil {
		return nil, err
	}
	c.servers, err = upstream.New(upstream.Config{Origins: all, Log: log})
	return c, err
}

// apply copies the settings to an edge's configuration; nil copies nothing.
func (c *siteSettings) apply(cfg *edge.Config) {
	if c == nil {
		return
	}
	cfg.IgnoreCookies, cfg.CookielessPaths = c.IgnoreCookies, c.CookielessPaths
	if c.servers != nil {
		cfg.Site = c.servers
	}
}

// runSite runs the health checks of the site's servers until ctx ends.
func (c *siteSettings) runSite(ctx context.Context) error {
	if c.servers == nil {
		return nil
	}
	return c.servers.Run(ctx)
}

// addresses parses the URLs of a setting.
func addresses(list []string, setting string) (all []*url.URL, err error) {
	for _, address := range list {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		all = append(all, u)
	}
	return all, nil
}
