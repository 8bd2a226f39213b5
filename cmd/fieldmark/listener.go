package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/edge"
)

// listenerSettings are the settings of an edge for its clients.
type listenerSettings struct {
	TLSCert         string         `name:"tls-cert" env:"FIELDMARK_TLS_CERT" type:"path" placeholder:"FILE" help:"Certificate chain in PEM. The edge serves TLS and reloads the file when it changes."`
	TLSKey          string         `name:"tls-key" env:"FIELDMARK_TLS_KEY" type:"path" placeholder:"FILE" help:"Private key of the certificate, in PEM."`
	TrustedNetworks []netip.Prefix `env:"FIELDMARK_TRUSTED_NETWORKS" placeholder:"CIDR" help:"Networks of your own proxies, whose X-Forwarded-For and X-Forwarded-Proto are trusted; none by default."`
	RateLimit       string         `env:"FIELDMARK_RATE_LIMIT" enum:"local,shared,off" default:"local" help:"Rate limits of the APIs: local (on this edge), shared (by all edges, in Redis) or off."`
	NetworkRate     int            `env:"FIELDMARK_NETWORK_RATE" default:"6000" help:"Requests per minute to the origins for one client network; 0 means no limit."`
	NetworkConns    int            `env:"FIELDMARK_NETWORK_CONNS" default:"1024" help:"Maximum number of open connections of one client network."`
	MaxInflight     int            `env:"FIELDMARK_MAX_INFLIGHT" default:"4096" help:"Maximum number of requests in flight; at most half of them at the origins."`
	DrainDelay      time.Duration  `env:"FIELDMARK_DRAIN_DELAY" default:"0s" help:"How long a stopping edge reports not ready while it still accepts connections; 5s suits a load balancer that checks every 2s."`
	certificate     *certReloader  // nil without TLS
	ServerTiming    bool           `env:"FIELDMARK_SERVER_TIMING" help:"Send the field Server-Timing to every client."`
}

// apply copies the settings to an edge's configuration.
func (c *listenerSettings) apply(cfg *edge.Config) {
	cfg.TrustedNetworks, cfg.NetworkQuota, cfg.NetworkConns, cfg.Inflight = c.TrustedNetworks, c.NetworkRate, c.NetworkConns, c.MaxInflight
	cfg.DrainDelay, cfg.ServerTiming = c.DrainDelay, c.ServerTiming
	if cfg.RateLimit = edge.RateLimit(c.RateLimit); c.RateLimit == "off" {
		cfg.RateLimit = edge.RateLimitOff
	}
}

// secure adds TLS to a listener if a certificate is set. The function it returns reloads
// the certificate until ctx ends.
func (c *listenerSettings) secure(ln net.Listener, log *slog.Logger) (net.Listener, func(context.Context) error,
	error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return ln, func(context.Context) error { return nil }, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil, nil, errors.New("set both --tls-cert and --tls-key, or neither")
	}
	k := &certReloader{cert: c.TLSCert, key: c.TLSKey, log: log}
	if _, err := k.reload(); err != nil {
		return nil, nil, err
	}
	c.certificate = k
	return tls.NewListener(ln, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return k.current.Load(), nil
		},
	}), k.run, nil
}

// writeMetrics writes the expiry of the certificate, if there is one.
func (c *listenerSettings) writeMetrics(w io.Writer) {
	if c.certificate != nil {
		fmt.Fprintf(w, "fieldmark_edge_certificate_expiry_timestamp_seconds %d\n",
			c.certificate.current.Load().Leaf.NotAfter.Unix())
	}
}

// certPollInterval is the time between two checks of the files. Certificates are reloaded
// days before they expire.
const certPollInterval = 5 * time.Second

// certReloader holds the certificate that its files contain.
type certReloader struct {
	cert, key string
	log       *slog.Logger
	current   atomic.Pointer[tls.Certificate]
	seen      [2]fileState // when the files were read
}

// fileState identifies a version of a file.
type fileState struct {
	at   time.Time
	size int64
}

// reload reads the files if they have changed, and reports whether they had. A pair that
// does not match, because only one file is written so far, is an error; the next call
// tries again.
func (k *certReloader) reload() (bool, error) {
	var found [2]fileState
	for i, path := range []string{k.cert, k.key} {
		info, err := os.Stat(path)
		if err != nil {
			return false, fmt.Errorf("certificate: %w", err)
		}
		found[i] = fileState{info.ModTime(), info.Size()}
	}
	if found == k.seen {
		return false, nil
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return false, fmt.Errorf("certificate %s with key %s: %w", k.cert, k.key, err)
	}
	k.current.Store(&pair)
	k.seen = found
	return true, nil
}

// run reloads the certificate until ctx ends.
func (k *certReloader) run(ctx context.Context) error {
	tick := time.NewTicker(certPollInterval)
	defer tick.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch reloaded, err := k.reload(); {
		case err != nil && err.Error() != logged: // once, not every time
			logged = err.Error()
			k.log.Error("certificate reload failed; the previous certificate stays in use", "err", err)
		case reloaded:
			logged = ""
			k.log.Info("certificate reloaded", "expires", k.current.Load().Leaf.NotAfter)
		}
	}
}
