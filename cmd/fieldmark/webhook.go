package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

type webhookCmd struct {
	Listen webhookListenCmd `cmd:"" help:"Register a temporary endpoint, verify what arrives and print it."`
}

// webhookListenCmd is a receiver for a developer's desk.
type webhookListenCmd struct {
	targetSettings `embed:""`
	Listen         string   `default:"127.0.0.1:0" help:"Address to receive at; the origin must be allowed to reach it."`
	Events         []string `default:"mission.*" help:"Event types, exact or with .* at the end."`
	Count          int      `help:"Stop after so many messages; 0 goes on until Ctrl-C."`
}

// listenTTL ends an endpoint whose listener was killed.
const listenTTL = 12 * time.Hour

// maxWebhookBody is what a receiver reads of a message; ours are far smaller.
const maxWebhookBody = 1 << 20

// Run receives until ctx ends or Count messages arrived.
func (c *webhookListenCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	ln, err := listen(c.Listen, "--listen")
	if err != nil {
		return err
	}
	endpoint, err := api.CreateEndpoint(ctx, fieldmark.EndpointRequest{
		URL: urlOf(ln) + "/", Events: c.Events, Description: "fieldmark webhook listen", TTLSeconds: int(listenTTL.Seconds()),
	})
	if fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		return fmt.Errorf("%w\n  an origin reaches a private address only if FIELDMARK_ALLOW_NETWORKS names its network: 127.0.0.0/8 for this machine", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "listening as %s for %s; signing secret %s\n", endpoint.ID, strings.Join(endpoint.Events, ", "), endpoint.Secret)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan struct{})
	received := 0
	go func() {
		for range seen {
			if received++; received == c.Count {
				stop()
			}
		}
	}()
	err = serveHTTP(ctx, receiver(s.out, endpoint.Secret, seen), ln)
	close(seen)

	away, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if derr := api.DeleteEndpoint(away, endpoint.ID); derr != nil {
		return fmt.Errorf("remove the endpoint %s: %w", endpoint.ID, derr)
	}
	return err
}

// receiver verifies each message and prints it; one that does not verify is
// refused, so that the sender's log shows it.
func receiver(out io.Writer, secret string, seen chan<- struct{}) http.Handler {
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
		fmt.Fprintf(out, "\n%s  %s  verified\n  webhook-id         %s\n  webhook-timestamp  %s\n  webhook-signature  %s\n  %s\n",
			e.Timestamp, e.Type, r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature"), body)
		w.WriteHeader(http.StatusNoContent)
		seen <- struct{}{}
	})
}
