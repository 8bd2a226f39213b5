package main

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/accesslog"
)

// listenerSettings are the settings of an edge for its clients.
type listenerSettings struct {
	tlsSettings     `embed:""`
	TrustedNetworks []netip.Prefix `env:"FIELDMARK_TRUSTED_NETWORKS" placeholder:"CIDR" help:"Networks of your own proxies, whose X-Forwarded-For and X-Forwarded-Proto are trusted; none by default."`
	ProxyProtocol   []netip.Prefix `name:"proxy-protocol" env:"FIELDMARK_PROXY_PROTOCOL" placeholder:"CIDR" help:"Networks of proxies that forward TCP connections, each of which must begin with a header of the PROXY protocol, version 2: the client that it names is the client of the edge. Connections from elsewhere must have none."`
	RateLimit       string         `env:"FIELDMARK_RATE_LIMIT" enum:"local,shared,off" default:"local" help:"Rate limits of the APIs: local (on this edge), shared (by all edges, in Redis) or off."`
	NetworkRate     int            `env:"FIELDMARK_NETWORK_RATE" default:"${network_rate}" help:"Requests per minute to the origins for one client network; 0 means no limit."`
	NetworkConns    int            `env:"FIELDMARK_NETWORK_CONNS" default:"${network_conns}" help:"Maximum number of open connections of one client network."`
	MaxInflight     int            `env:"FIELDMARK_MAX_INFLIGHT" default:"${max_inflight}" help:"Maximum number of requests in flight; at most half of them at the origins."`
	DrainDelay      time.Duration  `env:"FIELDMARK_DRAIN_DELAY" default:"0s" help:"How long a stopping edge reports not ready while it still accepts connections; 5s suits a load balancer that checks every 2s."`
	AccessLog       string         `name:"access-log" env:"FIELDMARK_ACCESS_LOG" placeholder:"FILE" help:"Write a line for each request into this file, or - for standard output; SIGHUP opens the file again. No log if unset."`
	AccessLogFormat string         `name:"access-log-format" env:"FIELDMARK_ACCESS_LOG_FORMAT" enum:"json,combined" default:"json" help:"Form of its lines: json or combined (that of Apache and nginx)."`
	AccessLogIP     string         `name:"access-log-ip" env:"FIELDMARK_ACCESS_LOG_IP" enum:"network,full,none" default:"network" help:"What it holds of the address of a client: network (/24, or /48 of IPv6), full or none."`
	AccessLogSample float64        `name:"access-log-sample" env:"FIELDMARK_ACCESS_LOG_SAMPLE" default:"1" help:"Share of requests that it holds, from 0 to 1. Requests with an error of the server (5xx) are always logged."`
	ServerTiming    bool           `env:"FIELDMARK_SERVER_TIMING" help:"Send the field Server-Timing to every client."`

	accessLog *accesslog.Log // nil without --access-log
}

// openAccessLog opens the access log, if one is set. The function it returns writes the lines
// until ctx ends, and opens the file again at SIGHUP.
func (c *listenerSettings) openAccessLog(log *slog.Logger) (func(context.Context) error, error) {
	if !(c.AccessLogSample >= 0 && c.AccessLogSample <= 1) { // not a number is neither
		return nil, errUsage("--access-log-sample: %v is not a share; want a number from 0 to 1", c.AccessLogSample)
	}
	if c.AccessLog == "" {
		return func(context.Context) error { return nil }, nil
	}
	l, err := accesslog.Open(accesslog.Config{Path: c.AccessLog, Format: accesslog.Format(c.AccessLogFormat),
		Address: accesslog.AddressForm(c.AccessLogIP), Sample: c.AccessLogSample, Log: log})
	if err != nil {
		return nil, err
	}
	c.accessLog = l
	return func(ctx context.Context) error {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-hangups:
					l.Reopen()
				}
			}
		})
		return l.Run(ctx)
	}, nil
}

// apply copies the settings to an edge's configuration.
func (c *listenerSettings) apply(cfg *edge.Config) {
	cfg.TrustedNetworks, cfg.ProxyProtocol = c.TrustedNetworks, c.ProxyProtocol
	cfg.NetworkQuota, cfg.NetworkConns, cfg.Inflight = c.NetworkRate, c.NetworkConns, c.MaxInflight
	cfg.DrainDelay, cfg.ServerTiming = c.DrainDelay, c.ServerTiming
	cfg.H2C, cfg.AccessLog = c.H2C, c.accessLog
	cfg.Certificates, cfg.HSTS, cfg.RedirectListener = c.certificates, c.HSTS, c.redirects
	cfg.HTTP3 = c.http3
	cfg.CertificatesFromOrigin, cfg.TLSState = c.FromOrigin, c.TLSState
	if cfg.RateLimit = edge.RateLimit(c.RateLimit); c.RateLimit == "off" {
		cfg.RateLimit = edge.RateLimitOff
	}
}
