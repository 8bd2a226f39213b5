package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

type webhookListCmd struct {
	adminFlags `embed:""`
	Customer   string `help:"Filter by customer."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// Run prints a line for each endpoint.
func (c *webhookListCmd) Run(ctx context.Context, s *command.Streams) error {
	call := func(api *client.Client) ([]fieldmark.Endpoint, error) {
		list, err := api.Endpoints(ctx)
		if c.Customer != "" {
			list = slices.DeleteFunc(list, func(e fieldmark.Endpoint) bool { return e.Customer != c.Customer })
		}
		return list, err
	}
	if c.JSON {
		return runJSON(c, s, call)
	}
	return run(c, call, func(endpoints []fieldmark.Endpoint) error {
		w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tSTATE\tCIRCUIT\tEVENTS\tCUSTOMER\tFILTER\tURL\tNOTE")
		for _, e := range endpoints {
			note := e.StateReason
			if note == "" && e.FailingSince != nil {
				note = "failing since " + e.FailingSince.String()
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.State, e.Circuit, strings.Join(e.Events, ","),
				e.Customer, e.Filter, e.URL, note)
		}
		return w.Flush()
	})
}

type webhookDeliveriesCmd struct {
	adminFlags `embed:""`
	Endpoint   string `arg:"" optional:"" help:"Filter by endpoint: whk_…"`
	Delivery   string `arg:"" optional:"" help:"Show this delivery with every attempt: dlv_…"`
	State      string `enum:",due,waiting,done,failed" default:"" help:"Filter by state: due, waiting, done or failed."`
	Limit      int    `default:"50" help:"Maximum number of deliveries."`
}

// Run prints a line for each delivery, or one delivery as JSON.
func (c *webhookDeliveriesCmd) Run(ctx context.Context, s *command.Streams) error {
	if c.Delivery != "" {
		return runJSON(c, s, func(api *client.Client) (fieldmark.DeliveryRecord, error) {
			return api.Delivery(ctx, c.Endpoint, c.Delivery)
		})
	}
	filter := client.DeliveryFilter{Endpoint: c.Endpoint, State: fieldmark.DeliveryState(c.State), Limit: c.Limit}
	return run(c, func(api *client.Client) (fieldmark.List[fieldmark.Delivery], error) {
		return api.Deliveries(ctx, filter)
	},
		func(page fieldmark.List[fieldmark.Delivery]) error { return printDeliveries(s, page.Data) })
}

func printDeliveries(s *command.Streams, deliveries []fieldmark.Delivery) error {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tENDPOINT\tEVENT\tSTATE\tATTEMPTS\tLAST\tDUE")
	for _, d := range deliveries {
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

// endpointFlags name one endpoint.
type endpointFlags struct {
	adminFlags `embed:""`
	Endpoint   string `arg:"" help:"Endpoint id: whk_…"`
}

// patch changes the endpoint and prints its state.
func (c *endpointFlags) patch(ctx context.Context, s *command.Streams, p fieldmark.EndpointPatch) error {
	return run(c, func(api *client.Client) (fieldmark.Endpoint, error) { return api.PatchEndpoint(ctx, c.Endpoint, p) },
		func(e fieldmark.Endpoint) error { return printf(s, "%s is %s\n", e.ID, e.State) })
}

type webhookTestCmd struct {
	endpointFlags `embed:""`
	Type          string `help:"Send the example of this event type instead of a ping."`
}

// Run prints the result. It is an error if the receiver did not accept the message.
func (c *webhookTestCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.PingResult, error) {
		return api.TestEndpoint(ctx, c.Endpoint, fieldmark.PingRequest{Type: fieldmark.EventType(c.Type)})
	}, func(result fieldmark.PingResult) error {
		a := result.Attempt
		fmt.Fprintf(s.Out, "%s\n%s: %d ms; DNS %d ms, connect %d ms, TLS %d ms, first byte %d ms\n", result.Verdict,
			result.DeliveryID,
			a.Millis, a.DNSMillis, a.ConnectMillis, a.TLSMillis, a.FirstByteMillis)
		if a.Body != "" {
			fmt.Fprintf(s.Out, "%s\n", a.Body)
		}
		if !result.OK {
			return errors.New("the receiver did not accept the test message")
		}
		return nil
	})
}

type webhookResendCmd struct {
	endpointFlags `embed:""`
	Delivery      string    `arg:"" optional:"" help:"Resend this delivery: dlv_…"`
	FailedSince   time.Time `help:"Resend failed deliveries of events since this time, such as 2026-11-21T08:00:00Z."`
	AfterEvent    int64     `default:"-1" help:"Resend everything after the event with this number; 0: all kept."`
	MissingOnly   bool      `help:"With --after-event: skip what was delivered."`
}

// Run queues the messages. It waits until a replay has queued all of them.
func (c *webhookResendCmd) Run(ctx context.Context, s *command.Streams) error {
	if c.Delivery != "" {
		return run(c, func(api *client.Client) (fieldmark.DeliveryRecord, error) {
			return api.Resend(ctx, c.Endpoint, c.Delivery)
		}, func(d fieldmark.DeliveryRecord) error { return printf(s, "%s is %s\n", d.ID, d.State) })
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
		return errors.New("name a delivery, or set --failed-since or --after-event")
	}
	return run(c, func(api *client.Client) (fieldmark.Replay, error) { return replay(ctx, api, c.Endpoint, r) },
		func(r fieldmark.Replay) error {
			return printf(s, "%s: examined %d, queued %d\n", r.ID, r.Looked, r.Queued)
		})
}

// replayPollInterval is the time between two requests for the progress of a replay.
const replayPollInterval = 200 * time.Millisecond

// replay starts a replay and waits for its end. The replay continues if ctx ends first.
func replay(ctx context.Context, api *client.Client, endpoint string, r fieldmark.ReplayRequest) (fieldmark.Replay,
	error) {
	started, err := api.Replay(ctx, endpoint, r)
	for err == nil && started.State == fieldmark.ReplayRunning {
		select {
		case <-ctx.Done():
			return started, ctx.Err()
		case <-time.After(replayPollInterval):
		}
		var all []fieldmark.Replay
		if all, err = api.Replays(ctx, endpoint); err == nil && len(all) > 0 {
			started = all[0]
		}
	}
	return started, err
}

type webhookPauseCmd struct {
	endpointFlags `embed:""`
	Reason        string `help:"Reason, shown with the endpoint."`
}

// Run pauses the endpoint.
func (c *webhookPauseCmd) Run(ctx context.Context, s *command.Streams) error {
	state := fieldmark.EndpointPaused
	return c.patch(ctx, s, fieldmark.EndpointPatch{State: &state, Reason: c.Reason})
}

type webhookEnableCmd struct {
	endpointFlags `embed:""`
	Held          string `enum:"deliver,newest,skip" default:"deliver" help:"How to handle held messages: deliver all, only the newest of each subject, or skip all."`
}

// Run enables the endpoint.
func (c *webhookEnableCmd) Run(ctx context.Context, s *command.Streams) error {
	state := fieldmark.EndpointEnabled
	return c.patch(ctx, s, fieldmark.EndpointPatch{State: &state, Held: fieldmark.HeldChoice(c.Held)})
}

type webhookRotateCmd struct {
	endpointFlags `embed:""`
	Signing       string `enum:",v1,v1a" default:"" help:"New signature scheme; unchanged if unset."`
	OverlapHours  int    `default:"24" help:"Hours for which messages are also signed with the previous secret; 0 revokes all previous secrets at once."`
}

// Run prints the new secret.
func (c *webhookRotateCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.NewEndpoint, error) {
		return api.RotateSecret(ctx, c.Endpoint, fieldmark.SecretRequest{Signing: fieldmark.Signing(c.Signing),
			OverlapHours: &c.OverlapHours})
	}, func(e fieldmark.NewEndpoint) error {
		if e.PublicKey != "" {
			return printf(s, "%s\n%s\n", e.Secret, e.PublicKey)
		}
		return printf(s, "%s\n", e.Secret)
	})
}

type webhookDeleteCmd struct {
	endpointFlags `embed:""`
}

// Run deletes the endpoint.
func (c *webhookDeleteCmd) Run(ctx context.Context, s *command.Streams) error {
	if err := do(c, func(api *client.Client) error { return api.DeleteEndpoint(ctx, c.Endpoint) }); err != nil {
		return err
	}
	return printf(s, "%s is deleted\n", c.Endpoint)
}
