package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// webhookListenCmd is a receiver for developing an integration.
type webhookListenCmd struct {
	adminFlags `embed:""`
	Listen     string           `default:"127.0.0.1:0" help:"Address to listen on; the origin must allow this network."`
	Events     []string         `default:"mission.*" help:"Event types, exact or ending in .*"`
	Brand      []fieldmark.Slug `placeholder:"SLUG" help:"Public brand whose events are sent too. May be repeated."`
	Forward    string           `placeholder:"URL" help:"Forward each message to this URL and return its status."`
	Count      int              `help:"Stop after this number of messages; 0 runs until Ctrl-C."`
}

const (
	// listenTTL removes an endpoint whose listener was killed.
	listenTTL = 12 * time.Hour
	// maxWebhookBody bounds a message, in bytes. Messages are far smaller.
	maxWebhookBody = 1 << 20
	// headerTimeout bounds the time in which a sender sends the header of a request.
	headerTimeout = 10 * time.Second
	// stopTimeout bounds the wait for open requests, and the request that deletes the
	// endpoint.
	stopTimeout = 10 * time.Second
	// forwardTimeout is below the time that a sender waits for an answer.
	forwardTimeout = 12 * time.Second
)

// Run receives until ctx ends or Count messages have arrived.
func (c *webhookListenCmd) Run(ctx context.Context, s *command.Streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	endpoint, err := api.CreateEndpoint(ctx, fieldmark.EndpointRequest{
		URL: command.ListenerURL(ln) + "/", Events: c.Events, Description: "fieldmark webhook listen",
		TTLSeconds: int(listenTTL.Seconds()), EndpointSettings: fieldmark.EndpointSettings{Brands: c.Brand},
	})
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		err = fmt.Errorf("%w\n  an origin connects to a private address only if FIELDMARK_ALLOW_NETWORKS contains "+
			"its network: 127.0.0.0/8 for this machine", err)
	}
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	fmt.Fprintf(s.Out, "listening as %s for %s; signing secret %s\n", endpoint.ID, strings.Join(endpoint.Events, ", "),
		endpoint.Secret)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var received atomic.Int64
	srv := &http.Server{ReadHeaderTimeout: headerTimeout, Handler: receiver(s.Out, endpoint.Secret, c.Forward, func() {
		if received.Add(1) == int64(c.Count) {
			stop()
		}
	})}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err = errors.Join(err, srv.Shutdown(cleanup))
	if derr := api.DeleteEndpoint(cleanup, endpoint.ID); derr != nil {
		err = errors.Join(err, fmt.Errorf("delete the endpoint %s: %w", endpoint.ID, derr))
	}
	return err
}

// receiver verifies and prints each message, forwards it, and then calls received. A
// message that does not verify is refused, so that the sender's log shows it.
func receiver(out io.Writer, secret, forwardTo string, received func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxWebhookBody))
		if err != nil {
			http.Error(w, "cannot read the body", http.StatusBadRequest)
			return
		}
		if err := webhook.Verify(secret, r.Header, body, time.Now()); err != nil {
			fmt.Fprintf(out, "REFUSED a message: %v\n", err)
			http.Error(w, "the signature does not verify", http.StatusUnauthorized)
			return
		}
		var e fieldmark.Envelope
		if err := json.Unmarshal(body, &e); err != nil {
			http.Error(w, "not an envelope", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(out, "\n%s  %s  verified\n  webhook-id         %s\n  webhook-timestamp  %s\n  webhook-signature "+
			" %s\n  %s\n",
			e.Timestamp, e.Type, r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"),
			r.Header.Get("webhook-signature"), body)
		status := http.StatusNoContent
		if forwardTo != "" {
			status = forward(r, out, forwardTo, body)
		}
		w.WriteHeader(status)
		received()
	})
}

// forward sends a message with the fields that its signature needs, and returns the
// status to answer.
func forward(r *http.Request, out io.Writer, to string, body []byte) int {
	ctx, cancel := context.WithTimeout(r.Context(), forwardTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err == nil {
		for name, values := range r.Header {
			if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, "webhook-") ||
				strings.HasPrefix(lower, "ce-") {
				req.Header[name] = values
			}
		}
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close() // only the status matters
			fmt.Fprintf(out, "  forwarded: %d\n", resp.StatusCode)
			return resp.StatusCode
		}
	}
	fmt.Fprintf(out, "  NOT forwarded: %v\n", err)
	return http.StatusBadGateway
}
