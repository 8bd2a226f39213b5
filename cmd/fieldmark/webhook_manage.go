package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/client"
)

// webhookListCmd lists endpoints.
type webhookListCmd struct {
	targetSettings `embed:""`
	JSON           bool `name:"json" help:"Print JSON."`
}

// Run prints a line for each endpoint.
func (c *webhookListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	endpoints, err := api.Endpoints(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s, endpoints)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tCIRCUIT\tEVENTS\tURL\tNOTE")
	for _, e := range endpoints {
		note := e.StateReason
		if note == "" && e.FailingSince != nil {
			note = "takes nothing since " + e.FailingSince.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.State, e.Circuit, strings.Join(e.Events, ","), e.URL, note)
	}
	return w.Flush()
}

// webhookDeliveriesCmd lists deliveries or shows one.
type webhookDeliveriesCmd struct {
	targetSettings `embed:""`
	Endpoint       string `arg:"" optional:"" help:"Only those to this endpoint, whk_…"`
	Delivery       string `arg:"" optional:"" help:"Show this one with every attempt, dlv_…"`
	State          string `enum:",due,waiting,done,failed" default:"" help:"Only those that stand so: due, waiting, done or failed."`
	Limit          int    `default:"50" help:"How many."`
}

// Run prints a line for each delivery, or one as JSON.
func (c *webhookDeliveriesCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	if c.Delivery != "" {
		record, err := api.Delivery(ctx, c.Endpoint, c.Delivery)
		if err != nil {
			return err
		}
		return printJSON(s, record)
	}
	page, err := api.Deliveries(ctx, client.DeliveryFilter{Endpoint: c.Endpoint, State: fieldmark.DeliveryState(c.State), Limit: c.Limit})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tENDPOINT\tEVENT\tSTATE\tATTEMPTS\tLAST\tDUE")
	for _, d := range page.Data {
		last, due := d.LastError, ""
		if last == "" && d.LastStatus != 0 {
			last = fmt.Sprint(d.LastStatus)
		}
		if d.State == fieldmark.DeliveryDue {
			due = d.DueAt.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.ID, d.EndpointID, d.EventType, d.State, d.Attempts, last, due)
	}
	return w.Flush()
}

// webhookTestCmd sends a test message.
type webhookTestCmd struct {
	targetSettings `embed:""`
	Endpoint       string `arg:"" help:"whk_…"`
	Type           string `help:"Send the example of this event type instead of a ping."`
}

// Run prints the verdict; a receiver that did not take it is an error.
func (c *webhookTestCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	result, err := api.TestEndpoint(ctx, c.Endpoint, fieldmark.PingRequest{Type: fieldmark.EventType(c.Type)})
	if err != nil {
		return err
	}
	a := result.Attempt
	fmt.Fprintf(s.out, "%s\n%s: %d ms; name %d ms, connection %d ms, TLS %d ms, first byte %d ms\n", result.Verdict, result.DeliveryID,
		a.Millis, a.DNSMillis, a.ConnectMillis, a.TLSMillis, a.FirstByteMillis)
	if a.Body != "" {
		fmt.Fprintf(s.out, "%s\n", a.Body)
	}
	if !result.OK {
		return errors.New("the test was not taken")
	}
	return nil
}

// webhookResendCmd sends again.
type webhookResendCmd struct {
	targetSettings `embed:""`
	Endpoint       string    `arg:"" help:"whk_…"`
	Delivery       string    `arg:"" optional:"" help:"One message, dlv_…"`
	FailedSince    time.Time `help:"Everything that was given up of events since this time, such as 2026-11-21T08:00:00Z."`
	AfterEvent     int64     `default:"-1" help:"Everything after the event of this number; 0 is all that is kept."`
	MissingOnly    bool      `help:"With --after-event: leave out what was delivered."`
}

// Run begins it and says under which name it goes on.
func (c *webhookResendCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	if c.Delivery != "" {
		record, err := api.Resend(ctx, c.Endpoint, c.Delivery)
		if err == nil {
			fmt.Fprintf(s.out, "%s is %s\n", record.ID, record.State)
		}
		return err
	}
	r := fieldmark.ReplayRequest{MissingOnly: c.MissingOnly}
	if !c.FailedSince.IsZero() {
		since := fieldmark.At(c.FailedSince)
		r.FailedSince = &since
	}
	if c.AfterEvent >= 0 {
		r.AfterEvent = &c.AfterEvent
	}
	if (r.FailedSince == nil) == (r.AfterEvent == nil) {
		return errors.New("name a delivery, or give --failed-since or --after-event")
	}
	replay, err := api.Replay(ctx, c.Endpoint, r)
	for err == nil && replay.State == fieldmark.ReplayRunning {
		select {
		case <-ctx.Done():
			return ctx.Err() // it goes on without us
		case <-time.After(replayLook):
		}
		var all []fieldmark.Replay
		if all, err = api.Replays(ctx, c.Endpoint); err == nil && len(all) > 0 {
			replay = all[0]
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: looked at %d, queued %d\n", replay.ID, replay.Looked, replay.Queued)
	return nil
}

// replayLook is how often a replay is asked how far it is.
const replayLook = 200 * time.Millisecond

// webhookPauseCmd pauses an endpoint.
type webhookPauseCmd struct {
	targetSettings `embed:""`
	Endpoint       string `arg:"" help:"whk_…"`
	Reason         string `help:"Why; it stands beside the endpoint."`
}

// Run pauses it.
func (c *webhookPauseCmd) Run(ctx context.Context, s *streams) error {
	state := fieldmark.EndpointPaused
	return c.patch(ctx, s, c.Endpoint, fieldmark.EndpointPatch{State: &state, Reason: c.Reason})
}

// webhookEnableCmd enables an endpoint.
type webhookEnableCmd struct {
	targetSettings `embed:""`
	Endpoint       string `arg:"" help:"whk_…"`
	Held           string `enum:"deliver,newest,skip" default:"deliver" help:"What becomes of what was held: deliver all, the newest about each thing, or skip."`
}

// Run enables it.
func (c *webhookEnableCmd) Run(ctx context.Context, s *streams) error {
	state := fieldmark.EndpointEnabled
	return c.patch(ctx, s, c.Endpoint, fieldmark.EndpointPatch{State: &state, Held: fieldmark.HeldChoice(c.Held)})
}

// patch changes an endpoint and says how it stands.
func (t *targetSettings) patch(ctx context.Context, s *streams, id string, p fieldmark.EndpointPatch) error {
	api, err := t.connect()
	if err != nil {
		return err
	}
	e, err := api.PatchEndpoint(ctx, id, p)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s is %s\n", e.ID, e.State)
	return nil
}

// webhookRotateCmd gives an endpoint a new secret.
type webhookRotateCmd struct {
	targetSettings `embed:""`
	Endpoint       string `arg:"" help:"whk_…"`
	Signing        string `enum:",v1,v1a" default:"" help:"The scheme from now on; as before if unset."`
	OverlapHours   int    `default:"24" help:"How long the secret before signs too; 0 ends it and all others at once."`
}

// Run prints the new secret.
func (c *webhookRotateCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	e, err := api.RotateSecret(ctx, c.Endpoint, fieldmark.SecretRequest{Signing: fieldmark.Signing(c.Signing), OverlapHours: &c.OverlapHours})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s\n", e.Secret)
	if e.PublicKey != "" {
		fmt.Fprintf(s.out, "%s\n", e.PublicKey)
	}
	return nil
}

// webhookDeleteCmd deletes an endpoint.
type webhookDeleteCmd struct {
	targetSettings `embed:""`
	Endpoint       string `arg:"" help:"whk_…"`
}

// Run deletes it.
func (c *webhookDeleteCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	if err := api.DeleteEndpoint(ctx, c.Endpoint); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s is deleted\n", c.Endpoint)
	return nil
}
