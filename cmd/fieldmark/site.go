package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/upstream"
)

// siteSettings are for an edge that is also the cache of a site.
type siteSettings struct {
	Site            []string `env:"FIELDMARK_SITE" placeholder:"URL" help:"Servers of a site that this edge caches, with commas between: every host but that of --base-url is passed on to them, and without a node token that host too."`
	IgnoreCookies   []string `env:"FIELDMARK_IGNORE_COOKIES" placeholder:"NAME" help:"Cookies that pages do not depend on, such as _ga*: a request with no others is answered from the cache."`
	CookielessPaths []string `env:"FIELDMARK_COOKIELESS_PATHS" placeholder:"PREFIX" help:"Beginnings of paths where no cookie matters, such as /static/."`

	servers *upstream.Upstream // nil: none are named
}

// openSite makes the way to the site's servers; it connects to nothing.
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

// apply writes the settings into an edge's; nil has none.
func (c *siteSettings) apply(cfg *edge.Config) {
	if c == nil {
		return
	}
	cfg.IgnoreCookies, cfg.CookielessPaths = c.IgnoreCookies, c.CookielessPaths
	if c.servers != nil {
		cfg.Site = c.servers
	}
}

// runSite checks the site's servers until ctx ends.
func (c *siteSettings) runSite(ctx context.Context) error {
	if c.servers == nil {
		return nil
	}
	return c.servers.Run(ctx)
}

// addresses reads the addresses of a setting.
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
