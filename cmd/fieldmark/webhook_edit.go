package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// webhookShape is what may be said of an endpoint, new or there already.
type webhookShape struct {
	Description *string           `help:"What it is for."`
	Payload     string            `enum:",full,thin" default:"" help:"full (default), or thin for ids alone."`
	Format      string            `enum:",standard,cloudevents,cloudevents-binary" default:"" help:"Form of a message: standard (default), cloudevents or cloudevents-binary."`
	Ordering    string            `enum:",none,mission" default:"" help:"none (default), or mission to send what concerns one mission one after the other."`
	RateLimit   *int              `help:"Messages a second at most; 0 means no limit."`
	MaxInFlight *int              `help:"Messages on their way at once at most; 0 means 8."`
	Retry       string            `placeholder:"WHEN" help:"standard (default, three days), quick (an hour), patient (nine days), or seconds from one attempt to the next: 5,60,600."`
	Header      map[string]string `placeholder:"NAME=VALUE" help:"A header field sent with every message; may be repeated."`
	Auth        string            `placeholder:"FILE" help:"How the receiver knows us besides the signature, as JSON: member auth of the API, such as {\"kind\":\"bearer\",\"token\":\"…\"}; - reads standard input."`
}

// changes returns what was said.
func (w *webhookShape) changes(in io.Reader) (p fieldmark.EndpointPatch, err error) {
	p = fieldmark.EndpointPatch{Description: w.Description, RateLimit: w.RateLimit, MaxInFlight: w.MaxInFlight}
	if w.Payload != "" {
		p.Payload = (*fieldmark.Payload)(&w.Payload)
	}
	if w.Format != "" {
		p.Format = (*fieldmark.MessageFormat)(&w.Format)
	}
	if w.Ordering != "" {
		p.Ordering = (*fieldmark.Ordering)(&w.Ordering)
	}
	if len(w.Header) > 0 {
		p.Headers = &w.Header
	}
	if w.Retry != "" {
		if p.Retry, err = parseRetry(w.Retry); err != nil {
			return p, err
		}
	}
	if w.Auth != "" {
		p.Auth, err = readAuth(w.Auth, in)
	}
	return p, err
}

// parseRetry reads the name of a schedule, or its steps in seconds.
func parseRetry(text string) (*fieldmark.RetryPolicy, error) {
	switch schedule := fieldmark.RetrySchedule(text); schedule {
	case fieldmark.RetryStandard, fieldmark.RetryQuick, fieldmark.RetryPatient:
		return &fieldmark.RetryPolicy{Schedule: schedule}, nil
	}
	policy := &fieldmark.RetryPolicy{}
	for word := range strings.SplitSeq(text, ",") {
		step, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("--retry: want standard, quick, patient or seconds such as 5,60,600, not %q", text)
		}
		policy.Steps = append(policy.Steps, step)
	}
	return policy, nil
}

// readAuth reads how a receiver knows us. It comes from a file because secrets on
// a command line stand in the list of processes.
func readAuth(name string, in io.Reader) (*fieldmark.EndpointAuth, error) {
	raw, err := []byte(nil), error(nil)
	if name == "-" {
		raw, err = io.ReadAll(in)
	} else {
		raw, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("--auth: %w", err)
	}
	auth := &fieldmark.EndpointAuth{}
	if err := json.Unmarshal(raw, auth); err != nil {
		return nil, fmt.Errorf("--auth: %s: %w", name, err)
	}
	return auth, nil
}

// webhookCreateCmd registers an endpoint.
type webhookCreateCmd struct {
	targetSettings `embed:""`
	webhookShape   `embed:""`
	Address        string   `arg:"" help:"Where messages go, https://…"`
	Events         []string `default:"mission.*" help:"Event types, exact or with .* at the end."`
	Signing        string   `enum:"v1,v1a" default:"v1" help:"v1 is HMAC-SHA-256 with a shared secret, v1a Ed25519."`
	Paused         bool     `help:"Hold everything until it is enabled."`
}

// Run prints the endpoint with its secret.
func (c *webhookCreateCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	said, err := c.changes(s.in)
	if err != nil {
		return err
	}
	e, err := api.CreateEndpoint(ctx, fieldmark.EndpointRequest{
		URL: c.Address, Events: c.Events, Description: orZero(said.Description), Signing: fieldmark.Signing(c.Signing), Paused: c.Paused,
		EndpointSettings: fieldmark.EndpointSettings{
			Payload: fieldmark.Payload(c.Payload), Format: fieldmark.MessageFormat(c.Format), Ordering: fieldmark.Ordering(c.Ordering),
			RateLimit: orZero(said.RateLimit), MaxInFlight: orZero(said.MaxInFlight), Retry: said.Retry, Headers: c.Header, Auth: said.Auth,
		},
	})
	if err != nil {
		return err
	}
	return printJSON(s, e)
}

// orZero returns what was said, or nothing.
func orZero[T any](said *T) (t T) {
	if said != nil {
		t = *said
	}
	return t
}

// webhookEditCmd changes an endpoint.
type webhookEditCmd struct {
	targetSettings `embed:""`
	webhookShape   `embed:""`
	Endpoint       string   `arg:"" help:"whk_…"`
	Address        *string  `name:"to" placeholder:"URL" help:"Where messages go from now on."`
	Events         []string `help:"Event types from now on, exact or with .* at the end."`
	DropHeaders    bool     `help:"Send no header fields of your own any more."`
}

// Run prints the endpoint as it is now.
func (c *webhookEditCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	p, err := c.changes(s.in)
	if err != nil {
		return err
	}
	p.URL, p.Events = c.Address, c.Events
	if c.DropHeaders {
		p.Headers = &map[string]string{}
	}
	e, err := api.PatchEndpoint(ctx, c.Endpoint, p)
	if err != nil {
		return err
	}
	return printJSON(s, e)
}
