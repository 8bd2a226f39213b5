package main

import (
	"bytes"
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
	Listen     webhookListenCmd     `cmd:"" help:"Register a temporary endpoint, verify what arrives, print it and pass it on."`
	List       webhookListCmd       `cmd:"" help:"List endpoints and how they do."`
	Create     webhookCreateCmd     `cmd:"" help:"Register an endpoint; its secret is told this once."`
	Edit       webhookEditCmd       `cmd:"" help:"Change an endpoint: where, what, and how it is sent."`
	Deliveries webhookDeliveriesCmd `cmd:"" help:"List what was sent, newest first, or show one delivery with every attempt."`
	Test       webhookTestCmd       `cmd:"" help:"Send a test message and say what became of it."`
	Resend     webhookResendCmd     `cmd:"" help:"Send again one message, what failed, or everything after an event."`
	Pause      webhookPauseCmd      `cmd:"" help:"Hold everything for an endpoint."`
	Enable     webhookEnableCmd     `cmd:"" help:"Send to an endpoint again."`
	Rotate     webhookRotateCmd     `cmd:"" help:"Give an endpoint a new secret; the one before signs too for a while."`
	Delete     webhookDeleteCmd     `cmd:"" help:"Delete an endpoint and what was still to be sent to it."`
}

// webhookListenCmd is a receiver for a developer's desk.
type webhookListenCmd struct {
	targetSettings `embed:""`
	Listen         string   `default:"127.0.0.1:0" help:"Address to receive at; the origin must be allowed to reach it."`
	Events         []string `default:"mission.*" help:"Event types, exact or with .* at the end."`
	Forward        string   `placeholder:"URL" help:"Pass each message on to this address, as it came; its answer is ours."`
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
	err = serveHTTP(ctx, receiver(s.out, endpoint.Secret, c.Forward, seen), ln)
	close(seen)

	away, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if derr := api.DeleteEndpoint(away, endpoint.ID); derr != nil {
		return fmt.Errorf("remove the endpoint %s: %w", endpoint.ID, derr)
	}
	return err
}

// receiver verifies each message, prints it and passes it on; one that does not
// verify is refused, so that the sender's log shows it.
func receiver(out io.Writer, secret, forward string, seen chan<- struct{}) http.Handler {
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
		status := http.StatusNoContent
		if forward != "" {
			status = passOn(r, out, forward, body)
		}
		w.WriteHeader(status)
		seen <- struct{}{}
	})
}

// forwardTimeout is what is left of the sender's patience.
const forwardTimeout = 12 * time.Second

// passOn sends a message on with the fields its signature needs and returns the
// status to answer.
func passOn(r *http.Request, out io.Writer, to string, body []byte) int {
	ctx, cancel := context.WithTimeout(r.Context(), forwardTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err == nil {
		for name, values := range r.Header {
			if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, "webhook-") || strings.HasPrefix(lower, "ce-") {
				req.Header[name] = values
			}
		}
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close() // its status was the answer
			fmt.Fprintf(out, "  passed on: %d\n", resp.StatusCode)
			return resp.StatusCode
		}
	}
	fmt.Fprintf(out, "  NOT passed on: %v\n", err)
	return http.StatusBadGateway
}
