package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// SLACmd manages SLA policies and business hours.
type SLACmd struct {
	Policies       slaPoliciesCmd       `cmd:"" help:"List the active policies, one for each priority."`
	SetPolicy      slaSetPolicyCmd      `cmd:"" help:"Change the policy of a priority and recompute running timers."`
	ResetPolicy    slaResetPolicyCmd    `cmd:"" help:"Restore the built-in policy of a priority."`
	Calendars      slaCalendarsCmd      `cmd:"" help:"Print the active business calendars as JSON."`
	SetCalendar    slaSetCalendarCmd    `cmd:"" help:"Set a business calendar from JSON and recompute timers."`
	DeleteCalendar slaDeleteCalendarCmd `cmd:"" help:"Delete a business calendar, or restore a built-in one."`
}

type slaPoliciesCmd struct {
	adminFlags `embed:""`
}

// Run prints a line for each policy.
func (c *slaPoliciesCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) ([]fieldmark.SLAPolicy, error) { return api.SLAPolicies(ctx) },
		func(policies []fieldmark.SLAPolicy) error {
			for _, p := range policies {
				if err := printPolicy(s, p); err != nil {
					return err
				}
			}
			return nil
		})
}

func printPolicy(s *command.Streams, p fieldmark.SLAPolicy) error {
	thresholds := make([]string, len(p.AtRiskPercent))
	for i, percent := range p.AtRiskPercent {
		thresholds[i] = fmt.Sprint(percent, "%")
	}
	return printf(s, "%-8s  response %-7s onsite %-7s resolution %-7s calendar %s; at risk after %s; paused by %s\n",
		p.Priority,
		formatMinutes(p.ResponseMinutes), formatMinutes(p.OnsiteMinutes), formatMinutes(p.ResolutionMinutes),
		p.Calendar,
		cmp.Or(strings.Join(thresholds, ", "), "nothing"), cmp.Or(strings.Join(p.PausesSLA, ", "), "nothing"))
}

// formatMinutes formats minutes like 1h30m.
func formatMinutes(minutes int) string {
	text := strings.TrimSuffix((time.Duration(minutes) * time.Minute).String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// parsePriority parses an argument.
func parsePriority(text string) (fieldmark.Priority, error) {
	priority, ok := fieldmark.ParsePriority(text)
	if !ok {
		return priority, fmt.Errorf("unknown priority %q; want LOW, MEDIUM, HIGH or CRITICAL", text)
	}
	return priority, nil
}

type slaSetPolicyCmd struct {
	adminFlags `embed:""`
	Priority   string        `arg:"" help:"LOW, MEDIUM, HIGH or CRITICAL."`
	Response   time.Duration `help:"Business time until the mission is dispatched, such as 1h30m; unchanged if unset."`
	Onsite     time.Duration `help:"Business time until the assignee is on site; unchanged if unset."`
	Resolution time.Duration `help:"Business time until the mission is completed; unchanged if unset."`
	Calendar   string        `help:"Calendar that defines business time; unchanged if unset."`
	AtRisk     []int         `help:"Percentages of the target after which sla.at_risk is sent; unchanged if unset."`
	PausedBy   []string      `help:"Reason codes of ON_HOLD that pause the timers; unchanged if unset."`
}

// Run changes what is given and leaves the rest unchanged.
func (c *slaSetPolicyCmd) Run(ctx context.Context, s *command.Streams) error {
	priority, err := parsePriority(c.Priority)
	if err != nil {
		return err
	}
	patch, err := c.patch()
	if err != nil {
		return err
	}
	return run(c, func(api *client.Client) (fieldmark.SLAPolicy,
		error) {
		return api.PatchSLAPolicy(ctx, priority, patch)
	},
		func(p fieldmark.SLAPolicy) error { return printPolicy(s, p) })
}

// patch returns the changes that the flags describe.
func (c *slaSetPolicyCmd) patch() (p fieldmark.SLAPolicyPatch, err error) {
	for _, target := range []struct {
		given   time.Duration
		minutes **int
	}{{c.Response, &p.ResponseMinutes}, {c.Onsite, &p.OnsiteMinutes}, {c.Resolution, &p.ResolutionMinutes}} {
		if target.given%time.Minute != 0 {
			return p, fmt.Errorf("%s is not a whole number of minutes", target.given)
		}
		if target.given != 0 {
			*target.minutes = new(int(target.given / time.Minute))
		}
	}
	if c.Calendar != "" {
		p.Calendar = &c.Calendar
	}
	p.AtRiskPercent, p.PausesSLA = c.AtRisk, c.PausedBy
	return p, nil
}

type slaResetPolicyCmd struct {
	adminFlags `embed:""`
	Priority   string `arg:"" help:"LOW, MEDIUM, HIGH or CRITICAL."`
}

// Run restores the built-in policy.
func (c *slaResetPolicyCmd) Run(ctx context.Context, _ *command.Streams) error {
	priority, err := parsePriority(c.Priority)
	if err != nil {
		return err
	}
	return do(c, func(api *client.Client) error { return api.ResetSLAPolicy(ctx, priority) })
}

type slaCalendarsCmd struct {
	adminFlags `embed:""`
}

// Run prints the calendars in the format that set-calendar reads.
func (c *slaCalendarsCmd) Run(ctx context.Context, s *command.Streams) error {
	return runJSON(c, s, func(api *client.Client) ([]fieldmark.SLACalendar, error) { return api.SLACalendars(ctx) })
}

type slaSetCalendarCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Name of the calendar: a-z, 0-9 and hyphens."`
	File       string `arg:"" help:"JSON file with timeZone, followsLocation, hours and holidays; - is standard input."`
}

// maxCalendarFile bounds the size of a calendar file, in bytes. A thousand holidays take
// a tenth of it.
const maxCalendarFile = 1 << 20

// Run sets the calendar and prints it.
func (c *slaSetCalendarCmd) Run(ctx context.Context, s *command.Streams) error {
	in, err := s.Open(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	var calendar fieldmark.SLACalendar
	d := json.NewDecoder(io.LimitReader(in, maxCalendarFile))
	d.DisallowUnknownFields()
	if err := d.Decode(&calendar); err != nil {
		return fmt.Errorf("read a calendar from %s: %w", c.File, err)
	}
	calendar.Name = c.Name
	return runJSON(c, s, func(api *client.Client) (fieldmark.SLACalendar,
		error) {
		return api.PutSLACalendar(ctx, calendar)
	})
}

type slaDeleteCalendarCmd struct {
	adminFlags `embed:""`
	Name       string `arg:"" help:"Name of the calendar."`
}

// Run deletes the calendar.
func (c *slaDeleteCalendarCmd) Run(ctx context.Context, _ *command.Streams) error {
	return do(c, func(api *client.Client) error { return api.DeleteSLACalendar(ctx, c.Name) })
}
