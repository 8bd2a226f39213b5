package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/origin/client"
)

// edgeSettings are those of an edge, whether it runs alone or with an origin.
type edgeSettings struct {
	Listen     string `env:"FIELDMARK_LISTEN" default:"127.0.0.1:8080" help:"Address clients reach this edge at."`
	BaseURL    string `name:"base-url" env:"FIELDMARK_BASE_URL" placeholder:"URL" help:"Public address, as it stands in links; that of --listen if unset."`
	CacheBytes int64  `env:"FIELDMARK_CACHE_BYTES" default:"268435456" help:"Bound of cached answers in memory, in bytes."`
	RedisURL   string `name:"redis-url" env:"FIELDMARK_REDIS_URL" placeholder:"URL" help:"Redis that edges share scores through: redis://, rediss:// or unix://; ?master_name=NAME for Sentinel, ?cluster=true for Cluster, further nodes as &addr=HOST:PORT. None if unset."`
	RedisFile  string `name:"redis-url-file" env:"FIELDMARK_REDIS_URL_FILE" type:"path" placeholder:"FILE" help:"File that holds that address, as it may have a password in it."`
	HideAdmin  bool   `env:"FIELDMARK_HIDE_ADMIN" help:"Refuse /admin and /api/admin on this edge."`
}

// build makes an edge that asks the origin at base over transport; a nil
// transport is a network of the edge's own.
func (c *edgeSettings) build(base, token string, transport http.RoundTripper, ln net.Listener, log *slog.Logger) (*edge.Edge, error) {
	origin, err := client.New(client.Config{BaseURL: base, Transport: transport, NodeToken: token})
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("--origin: %w", err)
	}
	redis, err := secretOrFile(c.RedisURL, c.RedisFile)
	if err != nil {
		return nil, err
	}
	return edge.New(edge.Config{
		Origin: origin, OriginURL: target, Transport: transport, NodeToken: token,
		BaseURL: c.base(ln), CacheBytes: c.CacheBytes, RedisURL: redis, HideAdmin: c.HideAdmin, Log: log,
	})
}

// base is the public address of the edge.
func (c *edgeSettings) base(ln net.Listener) string {
	if c.BaseURL != "" {
		return strings.TrimSuffix(c.BaseURL, "/")
	}
	return urlOf(ln)
}

// edgeCmd runs an edge alone.
type edgeCmd struct {
	edgeSettings  `embed:""`
	tokenSettings `embed:""`
	Origin        string `env:"FIELDMARK_ORIGIN" default:"http://127.0.0.1:8081" help:"Address of the origin."`
	DebugListen   string `env:"FIELDMARK_DEBUG_LISTEN" default:"127.0.0.1:8090" help:"Private address of /livez, /readyz, /metrics and /debug/pprof."`
}

// Run serves until ctx ends.
func (c *edgeCmd) Run(ctx context.Context, s *streams) error {
	token, err := c.requireToken()
	if err != nil {
		return err
	}
	ln, err := listen(c.Listen, "--listen")
	if err != nil {
		return err
	}
	debug, err := listen(c.DebugListen, "--debug-listen")
	if err != nil {
		return err
	}
	e, err := c.build(c.Origin, token, nil, ln, s.log)
	if err != nil {
		return err
	}
	s.log.Info("edge", "version", version, "listen", urlOf(ln), "debug", urlOf(debug), "origin", c.Origin)
	return runEdge(ctx, e, ln, debug, debugHandler(func(context.Context) error { return e.Ready() }, e.WriteMetrics))
}

// runEdge serves clients on ln and operators on debug until ctx ends. What the
// edge holds is given back after the last request.
func runEdge(ctx context.Context, e *edge.Edge, ln, debug net.Listener, debugging http.Handler) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return e.Run(ctx, ln) })
	g.Go(func() error { return serveHTTP(ctx, debugging, debug) })
	return g.Wait()
}
