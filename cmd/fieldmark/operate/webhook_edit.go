package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// endpointSettings are the settings of a new or an existing endpoint.
type endpointSettings struct {
	Description *string           `help:"Description."`
	Payload     string            `enum:",full,thin" default:"" help:"full (default), or thin for ids only."`
	Format      string            `enum:",standard,cloudevents,cloudevents-binary" default:"" help:"Message format: standard (default), cloudevents or cloudevents-binary."`
	Ordering    string            `enum:",none,mission" default:"" help:"none (default), or mission to send messages about the same mission in order."`
	RateLimit   *int              `help:"Maximum number of messages per second; 0 means no limit."`
	MaxInFlight *int              `help:"Maximum number of messages in flight; 0 means 8."`
	Retry       string            `placeholder:"SCHEDULE" help:"standard (default, three days), quick (an hour), patient (nine days), or the seconds between attempts: 5,60,600."`
	Header      map[string]string `placeholder:"NAME=VALUE" help:"Header field of every message; may be repeated."`
	Auth        string            `placeholder:"FILE" help:"Authentication in addition to the signature: the JSON of the API's member auth, such as {\"kind\":\"bearer\",\"token\":\"…\"}; - reads standard input."`
	Brand       []fieldmark.Slug  `placeholder:"SLUG" help:"Public brand whose events are sent. May be repeated; replaces the brands watched so far."`

	Label map[string]string `placeholder:"KEY=VALUE" help:"Only events of missions with this label. May be repeated."`

	ScoreThreshold *float64 `placeholder:"POINTS" help:"Least change of a score that is sent, in points; default 1."`
}

// patch returns the settings that were given.
func (e *endpointSettings) patch(s *command.Streams) (p fieldmark.EndpointPatch, err error) {
	p = fieldmark.EndpointPatch{Description: e.Description, RateLimit: e.RateLimit, MaxInFlight: e.MaxInFlight}
	if e.Payload != "" {
		p.Payload = (*fieldmark.Payload)(&e.Payload)
	}
	if e.Format != "" {
		p.Format = (*fieldmark.MessageFormat)(&e.Format)
	}
	if e.Ordering != "" {
		p.Ordering = (*fieldmark.Ordering)(&e.Ordering)
	}
	if len(e.Header) > 0 {
		p.Headers = &e.Header
	}
	if len(e.Brand) > 0 {
		p.Brands = &e.Brand
	}
	if len(e.Label) > 0 {
		p.Filter = &fieldmark.EndpointFilter{Labels: e.Label}
	}
	if e.ScoreThreshold != nil {
		p.ScoreThreshold = new(fieldmark.Milli(math.Round(*e.ScoreThreshold * 1000)))
	}
	if e.Retry != "" {
		if p.Retry, err = parseRetry(e.Retry); err != nil {
			return p, err
		}
	}
	if e.Auth != "" {
		p.Auth, err = readAuth(s, e.Auth)
	}
	return p, err
}

// parseRetry parses the name of a schedule, or its steps in seconds.
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

// readAuth reads how to authenticate to a receiver. It comes from a file, because other
// users of the machine can see the command line.
func readAuth(s *command.Streams, name string) (*fieldmark.EndpointAuth, error) {
	f, err := s.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--auth: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxWebhookBody))
	if err != nil {
		return nil, fmt.Errorf("--auth: %w", err)
	}
	auth := &fieldmark.EndpointAuth{}
	if err := json.Unmarshal(raw, auth); err != nil {
		return nil, fmt.Errorf("--auth: %s: %w", name, err)
	}
	return auth, nil
}

type webhookCreateCmd struct {
	adminFlags       `embed:""`
	endpointSettings `embed:""`
	Address          string   `arg:"" help:"URL of the receiver: https://…"`
	Events           []string `help:"Event types, or PREFIX.*; default mission.*, or score.changed with --brand."`
	Signing          string   `enum:"v1,v1a" default:"v1" help:"Signature: v1 (HMAC-SHA-256) or v1a (Ed25519)."`
	Customer         string   `help:"Customer of the account that the endpoint is of; needs --label."`
	Paused           bool     `help:"Hold messages until the endpoint is enabled."`
}

// Run creates the endpoint and prints it with its secret.
func (c *webhookCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	p, err := c.patch(s)
	if err != nil {
		return err
	}
	return runJSON(c, s, func(api *client.Client) (fieldmark.NewEndpoint, error) {
		return api.CreateEndpoint(ctx, fieldmark.EndpointRequest{
			URL: c.Address, Events: c.Events, Description: valueOf(p.Description),
			Signing: fieldmark.Signing(c.Signing), Paused: c.Paused,
			EndpointSettings: fieldmark.EndpointSettings{
				Payload: fieldmark.Payload(c.Payload), Format: fieldmark.MessageFormat(c.Format),
				Ordering:  fieldmark.Ordering(c.Ordering),
				RateLimit: valueOf(p.RateLimit), MaxInFlight: valueOf(p.MaxInFlight), Retry: p.Retry, Headers: c.Header,
				Auth: p.Auth, Brands: c.Brand, ScoreThreshold: p.ScoreThreshold, Customer: c.Customer, Filter: p.Filter,
			},
		})
	})
}

// valueOf returns what p points to, or the zero value.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

type webhookEditCmd struct {
	endpointFlags    `embed:""`
	endpointSettings `embed:""`
	Address          *string  `name:"to" placeholder:"URL" help:"New URL of the receiver."`
	Events           []string `help:"New event types, exact or ending in .*"`
	DropHeaders      bool     `help:"Remove all header fields of your own."`
	DropFilter       bool     `help:"Remove the filter by labels."`
}

// Run changes the endpoint and prints it.
func (c *webhookEditCmd) Run(ctx context.Context, s *command.Streams) error {
	p, err := c.endpointSettings.patch(s)
	if err != nil {
		return err
	}
	p.URL, p.Events = c.Address, c.Events
	if c.DropHeaders {
		p.Headers = &map[string]string{}
	}
	if c.DropFilter {
		p.Filter = &fieldmark.EndpointFilter{}
	}
	return runJSON(c, s, func(api *client.Client) (fieldmark.Endpoint,
		error) {
		return api.PatchEndpoint(ctx, c.Endpoint, p)
	})
}
