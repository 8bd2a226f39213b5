package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/listen"
	"github.com/fieldmark/fieldmark/edge/proxy/upstream"
)

// serveCmd runs an edge and an origin in one process. The edge connects to the origin
// through a listener in memory.
type serveCmd struct {
	edgeSettings   `embed:""`
	originSettings `embed:""`
	tokenSettings  `embed:""`
	traceSettings  `embed:""`
	OriginListen   string `env:"FIELDMARK_ORIGIN_LISTEN" default:"127.0.0.1:8081" help:"Address for other edges."`
	DebugListen    string `env:"FIELDMARK_DEBUG_LISTEN" default:"127.0.0.1:8090" help:"Private address to listen on for /livez, /readyz, /metrics and /debug/pprof."`
	Demo           bool   `help:"Serve demo websites on loopback, audit them, and create an administrator and keys."`
	DemoListen     string `env:"FIELDMARK_DEMO_LISTEN" default:"127.0.0.1:8088" help:"Listen address of demo websites."`
}

// listeners are the listeners of one process.
type listeners struct{ edge, origin, debug, demo net.Listener }

func (c *serveCmd) listen() (l listeners, err error) {
	open := func(address, setting string) (ln net.Listener) {
		if err == nil {
			ln, err = listen.Open(address, setting)
		}
		return ln
	}
	l.edge = open(c.Listen, "--listen")
	l.origin = open(c.OriginListen, "--origin-listen")
	l.debug = open(c.DebugListen, "--debug-listen")
	if c.Demo {
		l.demo = open(c.DemoListen, "--demo-listen")
	}
	if l.demo != nil {
		c.CheckConnectTo = append(c.CheckConnectTo, demo.ConnectTo(l.demo.Addr().(*net.TCPAddr).Port)...)
	}
	return l, err
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, s *command.Streams) (err error) {
	var auditDelay time.Duration
	if c.Demo {
		c.PublicAPI = true
		c.demoNetworks = demo.Networks()
		auditDelay = demo.AuditDelay
		closeLog, err := c.logToFile(s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeLog()) }()
	}
	return c.serve(ctx, s, auditDelay)
}

// serve runs both roles until ctx ends.
func (c *serveCmd) serve(ctx context.Context, s *command.Streams, auditDelay time.Duration) error {
	if err := c.acmeSettings.check(); err != nil {
		return err
	}
	c.acmeSettings.applyTo(&c.edgeSettings)
	if _, err := c.checkTLS(); err != nil {
		return err
	}
	token, err := c.ownToken()
	if err != nil {
		return err
	}
	l, err := c.listen()
	if err != nil {
		return err
	}
	public, background, err := c.openListener(l.edge, token, c.Data, s.Log)
	if err != nil {
		return err
	}
	c.publicURL = c.base(l.edge)
	tracing, err := c.tracer("serve", s.Log)
	if err != nil {
		return err
	}
	c.edgeSettings.tracing, c.originSettings.tracing = tracing, tracing
	demoDNS, err := c.listenDNS()
	if err != nil {
		return err
	}
	n, err := c.open(ctx, token, auditDelay, s.Log)
	if err != nil {
		return err
	}
	inmem := listen.NewInMemory()
	origins, err := upstream.New(upstream.Config{Origins: []*url.URL{{Scheme: "http", Host: anyOrigin}},
		Transport: inmem.Transport(), Log: s.Log})
	if err != nil {
		return errors.Join(err, n.store.Close())
	}
	e, err := c.build(origins, token, &c.moduleSettings, l.edge, s.Log)
	if err != nil {
		return errors.Join(err, n.store.Close())
	}
	limitMemory(s.Log)
	s.Log.Info("serve", "version", version, "listen", c.listenURL(l.edge), "origin",
		command.ListenerURL(l.origin), "debug", command.ListenerURL(l.debug), "database", n.dbName, "publicAPI",
		c.PublicAPI)
	ready := func(ctx context.Context) error {
		if err := e.Ready(); err != nil {
			return err
		}
		return n.metrics.ready(ctx)
	}

	// The origin stops after the edge has drained, so that it answers the last requests.
	originCtx, stopOrigin := context.WithCancel(context.WithoutCancel(ctx))
	defer stopOrigin()
	var g errgroup.Group
	g.Go(func() error { return n.run(originCtx, l.origin, inmem) })
	front, frontCtx := errgroup.WithContext(ctx)
	front.Go(func() error {
		return runEdge(frontCtx, e, append(background, origins.Run), public, l.debug,
			debugHandler(ready, buildInfo("serve"), e.WriteMetrics, n.metrics.write,
				n.service.Webhooks.WriteMetrics, tracing.WriteMetrics))
	})
	if c.Demo {
		c.runDemo(frontCtx, front, n, l, demoDNS, token, s.Out)
	}
	return withTracing(ctx, tracing, func() error {
		err := front.Wait()
		stopOrigin()
		return errors.Join(err, g.Wait())
	})
}

// listenDNS opens the DNS server of the demo, whose answers prove claims. It returns nil
// without a demo, or if other DNS servers are set.
func (c *serveCmd) listenDNS() (net.PacketConn, error) {
	if !c.Demo || len(c.Resolvers) > 0 {
		return nil, nil
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.Resolvers = []string{conn.LocalAddr().String()}
	return conn, nil
}

// runDemo starts the websites and the DNS server of the demo, and seeds its brands.
func (c *serveCmd) runDemo(ctx context.Context, g *errgroup.Group, n *originNode, l listeners, dns net.PacketConn,
	token string, out io.Writer) {
	siteURL := demo.SiteURL(l.demo.Addr().(*net.TCPAddr).Port)
	seeder := demo.Seeder{Service: n.service, SiteURL: siteURL, Data: c.Data, Out: out, Transport: c.transport()}
	g.Go(func() error {
		return listen.ServeHTTP(ctx, demo.WithFiles(c.Data, demo.Handler(siteURL)), l.demo)
	})
	if dns != nil {
		g.Go(func() error { return demo.ServeDNS(ctx, c.Data, dns) })
	}
	g.Go(func() error {
		return seeder.Seed(ctx, demo.Access{BaseURL: c.base(l.edge), OriginURL: command.ListenerURL(l.origin),
			DebugURL: command.ListenerURL(l.debug), NodeToken: token})
	})
}

// ownToken returns the node token, or one derived from the application secret if none is
// set: the edge and the origin of this process share it anyway.
func (c *serveCmd) ownToken() (string, error) {
	token, err := c.token()
	if err != nil || token != "" {
		return c.requireToken()
	}
	secret, err := c.appSecret()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte("node-token/v1\x00"), secret...))
	return hex.EncodeToString(sum[:]), nil
}

// logToFile writes the log to a file in the data folder, because the demo prints its
// instructions to the terminal.
func (c *serveCmd) logToFile(s *command.Streams) (close func() error, err error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.Data, demo.LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s.Log = newLogger(f, slog.LevelInfo)
	return f.Close, nil
}
