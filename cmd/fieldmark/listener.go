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

// frontSettings are how an edge meets its clients.
type frontSettings struct {
	TLSCert         string         `name:"tls-cert" env:"FIELDMARK_TLS_CERT" type:"path" placeholder:"FILE" help:"Certificate chain in PEM: the edge speaks TLS itself. Read again when the file changes."`
	TLSKey          string         `name:"tls-key" env:"FIELDMARK_TLS_KEY" type:"path" placeholder:"FILE" help:"Private key of the certificate, in PEM."`
	TrustedNetworks []netip.Prefix `env:"FIELDMARK_TRUSTED_NETWORKS" placeholder:"CIDR" help:"Networks of your own proxies, whose X-Forwarded-For and X-Forwarded-Proto are believed; none by default."`
	RateLimit       string         `env:"FIELDMARK_RATE_LIMIT" enum:"local,shared,off" default:"local" help:"Where requests to the APIs are counted: local (on this edge), shared (in Redis for all of them) or off."`
	NetworkRate     int            `env:"FIELDMARK_NETWORK_RATE" default:"6000" help:"Requests a minute that one client network may cause at the origins; 0 for any number."`
	NetworkConns    int            `env:"FIELDMARK_NETWORK_CONNS" default:"1024" help:"Connections that one client network may have open."`
	MaxInflight     int            `env:"FIELDMARK_MAX_INFLIGHT" default:"4096" help:"Requests answered at once; half of them may be at the origins."`
	DrainDelay      time.Duration  `env:"FIELDMARK_DRAIN_DELAY" default:"0s" help:"How long a stopping edge says so on /readyz while it still takes connections; give balancers that ask every 2 s 5s."`
	certificate     *keeper        // nil: the edge speaks no TLS itself
	ServerTiming    bool           `env:"FIELDMARK_SERVER_TIMING" help:"Tell every client in Server-Timing how long its answer took."`
}

// apply writes the settings into an edge's.
func (c *frontSettings) apply(cfg *edge.Config) {
	cfg.TrustedNetworks, cfg.NetworkQuota, cfg.NetworkConns, cfg.Inflight = c.TrustedNetworks, c.NetworkRate, c.NetworkConns, c.MaxInflight
	cfg.DrainDelay, cfg.ServerTiming = c.DrainDelay, c.ServerTiming
	if cfg.RateLimit = edge.RateLimit(c.RateLimit); c.RateLimit == "off" {
		cfg.RateLimit = edge.RateLimitOff
	}
}

// secure puts TLS over a listener if a certificate is named. What it returns
// keeps the certificate up to date until ctx ends.
func (c *frontSettings) secure(ln net.Listener, log *slog.Logger) (net.Listener, func(context.Context) error, error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return ln, func(context.Context) error { return nil }, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil, nil, errors.New("--tls-cert and --tls-key are set together or not at all")
	}
	k := &keeper{cert: c.TLSCert, key: c.TLSKey, log: log}
	if _, err := k.renew(); err != nil {
		return nil, nil, err
	}
	c.certificate = k
	return tls.NewListener(ln, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return k.now.Load(), nil
		},
	}), k.run, nil
}

// writeMetrics writes when the certificate expires, if there is one.
func (c *frontSettings) writeMetrics(w io.Writer) {
	if c.certificate != nil {
		fmt.Fprintf(w, "fieldmark_edge_certificate_expiry_timestamp_seconds %d\n", c.certificate.now.Load().Leaf.NotAfter.Unix())
	}
}

// certificateLook is how often the files are looked at: whoever renews a
// certificate does it days before the old one ends.
const certificateLook = 5 * time.Second

// keeper keeps a certificate as its files have it.
type keeper struct {
	cert, key string
	log       *slog.Logger
	now       atomic.Pointer[tls.Certificate]
	seen      [2]stamp // of the files, when they were read
}

// stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

// renew reads the files if they changed, and reports whether they had. A pair
// that does not fit, as when only one file was written yet, changes nothing and
// is read again.
func (k *keeper) renew() (bool, error) {
	var found [2]stamp
	for i, path := range []string{k.cert, k.key} {
		info, err := os.Stat(path)
		if err != nil {
			return false, fmt.Errorf("certificate: %w", err)
		}
		found[i] = stamp{info.ModTime(), info.Size()}
	}
	if found == k.seen {
		return false, nil
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return false, fmt.Errorf("certificate %s with key %s: %w", k.cert, k.key, err)
	}
	k.now.Store(&pair)
	k.seen = found
	return true, nil
}

// run keeps the certificate until ctx ends.
func (k *keeper) run(ctx context.Context) error {
	tick := time.NewTicker(certificateLook)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch renewed, err := k.renew(); {
		case err != nil && err.Error() != said: // once, not every time
			said = err.Error()
			k.log.Error("the certificate cannot be read; the one before stays", "err", err)
		case renewed:
			said = ""
			k.log.Info("the certificate was renewed", "ends", k.now.Load().Leaf.NotAfter)
		}
	}
}
