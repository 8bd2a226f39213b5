package main

import (
	"net/netip"
	"time"

	"github.com/fieldmark/fieldmark/edge"
)

// listenerSettings are the settings of an edge for its clients.
type listenerSettings struct {
	tlsSettings     `embed:""`
	TrustedNetworks []netip.Prefix `env:"FIELDMARK_TRUSTED_NETWORKS" placeholder:"CIDR" help:"Networks of your own proxies, whose X-Forwarded-For and X-Forwarded-Proto are trusted; none by default."`
	ProxyProtocol   []netip.Prefix `name:"proxy-protocol" env:"FIELDMARK_PROXY_PROTOCOL" placeholder:"CIDR" help:"Networks of proxies that forward TCP connections, each of which must begin with a header of the PROXY protocol, version 2: the client that it names is the client of the edge. Connections from elsewhere must have none."`
	RateLimit       string         `env:"FIELDMARK_RATE_LIMIT" enum:"local,shared,off" default:"local" help:"Rate limits of the APIs: local (on this edge), shared (by all edges, in Redis) or off."`
	NetworkRate     int            `env:"FIELDMARK_NETWORK_RATE" default:"6000" help:"Requests per minute to the origins for one client network; 0 means no limit."`
	NetworkConns    int            `env:"FIELDMARK_NETWORK_CONNS" default:"1024" help:"Maximum number of open connections of one client network."`
	MaxInflight     int            `env:"FIELDMARK_MAX_INFLIGHT" default:"4096" help:"Maximum number of requests in flight; at most half of them at the origins."`
	DrainDelay      time.Duration  `env:"FIELDMARK_DRAIN_DELAY" default:"0s" help:"How long a stopping edge reports not ready while it still accepts connections; 5s suits a load balancer that checks every 2s."`
	ServerTiming    bool           `env:"FIELDMARK_SERVER_TIMING" help:"Send the field Server-Timing to every client."`
}

// apply copies the settings to an edge's configuration.
func (c *listenerSettings) apply(cfg *edge.Config) {
	cfg.TrustedNetworks, cfg.NetworkQuota, cfg.NetworkConns, cfg.Inflight = c.TrustedNetworks, c.NetworkRate, c.NetworkConns, c.MaxInflight
	cfg.ProxyProtocol = c.ProxyProtocol
	cfg.DrainDelay, cfg.ServerTiming = c.DrainDelay, c.ServerTiming
	cfg.H2C = c.H2C
	cfg.Certificates, cfg.HSTS, cfg.RedirectListener = c.certificates, c.HSTS, c.redirects
	cfg.CertificatesFromOrigin, cfg.TLSState = c.FromOrigin, c.TLSState
	if cfg.RateLimit = edge.RateLimit(c.RateLimit); c.RateLimit == "off" {
		cfg.RateLimit = edge.RateLimitOff
	}
}
