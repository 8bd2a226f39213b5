package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

type slaCmd struct {
	Policies       slaPoliciesCmd       `cmd:"" help:"List the policies in force, one for each priority."`
	SetPolicy      slaSetPolicyCmd      `cmd:"" help:"Change the policy of a priority; clocks that run are counted again by it."`
	ResetPolicy    slaResetPolicyCmd    `cmd:"" help:"Put the program's own policy of a priority back in force."`
	Calendars      slaCalendarsCmd      `cmd:"" help:"Print the business calendars in force as JSON."`
	SetCalendar    slaSetCalendarCmd    `cmd:"" help:"Set a business calendar from a JSON file; clocks that run are counted again by it."`
	DeleteCalendar slaDeleteCalendarCmd `cmd:"" help:"Delete a business calendar, or put the program's own of that name back in force."`
}

type slaPoliciesCmd struct {
	targetSettings `embed:""`
}

// Run prints a line per policy.
func (c *slaPoliciesCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	policies, err := api.SLAPolicies(ctx)
	if err != nil {
		return err
	}
	for _, p := range policies {
		printPolicy(s, p)
	}
	return nil
}

func printPolicy(s *streams, p fieldmark.SLAPolicy) {
	thresholds := make([]string, len(p.AtRiskPercent))
	for i, percent := range p.AtRiskPercent {
		thresholds[i] = fmt.Sprint(percent, "%")
	}
	fmt.Fprintf(s.out, "%-8s  response %-7s onsite %-7s resolution %-7s calendar %s; at risk after %s; paused by %s\n", p.Priority,
		span(p.ResponseMinutes), span(p.OnsiteMinutes), span(p.ResolutionMinutes), p.Calendar,
		orNothing(strings.Join(thresholds, ", ")), orNothing(strings.Join(p.PausesSLA, ", ")))
}

// span writes minutes as 1h30m.
func span(minutes int) string {
	text := strings.TrimSuffix((time.Duration(minutes) * time.Minute).String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func orNothing(list string) string {
	if list == "" {
		return "nothing"
	}
	return list
}

type slaSetPolicyCmd struct {
	targetSettings `embed:""`
	Priority       string        `arg:"" help:"LOW, MEDIUM, HIGH or CRITICAL."`
	Response       time.Duration `help:"Working time until somebody is dispatched, as in 1h30m; as it is if unset."`
	Onsite         time.Duration `help:"Working time until somebody is there; as it is if unset."`
	Resolution     time.Duration `help:"Working time until it is done; as it is if unset."`
	Calendar       string        `help:"Calendar that says which time counts; as it is if unset."`
	AtRisk         []int         `help:"Shares of the target, in percent, after which sla.at_risk is told; as they are if unset."`
	PausedBy       []string      `help:"Codes of reasons for ON_HOLD that pause; as they are if unset."`
}

// Run changes what is given and leaves the rest.
func (c *slaSetPolicyCmd) Run(ctx context.Context, s *streams) error {
	priority, ok := fieldmark.ParsePriority(c.Priority)
	if !ok {
		return fmt.Errorf("%q is no priority: LOW, MEDIUM, HIGH or CRITICAL", c.Priority)
	}
	patch, err := c.patch()
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	p, err := api.PatchSLAPolicy(ctx, priority, patch)
	if err != nil {
		return err
	}
	printPolicy(s, p)
	return nil
}

// patch is what the flags ask for.
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
	targetSettings `embed:""`
	Priority       string `arg:"" help:"LOW, MEDIUM, HIGH or CRITICAL."`
}

// Run puts the program's own policy back.
func (c *slaResetPolicyCmd) Run(ctx context.Context, _ *streams) error {
	priority, ok := fieldmark.ParsePriority(c.Priority)
	if !ok {
		return fmt.Errorf("%q is no priority: LOW, MEDIUM, HIGH or CRITICAL", c.Priority)
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	return api.ResetSLAPolicy(ctx, priority)
}

type slaCalendarsCmd struct {
	targetSettings `embed:""`
}

// Run prints the calendars in the form set-calendar reads.
func (c *slaCalendarsCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	calendars, err := api.SLACalendars(ctx)
	if err != nil {
		return err
	}
	return printJSON(s, calendars)
}

type slaSetCalendarCmd struct {
	targetSettings `embed:""`
	Name           string `arg:"" help:"The calendar's name: a-z, 0-9 and hyphens."`
	File           string `arg:"" help:"JSON file with timeZone, followsLocation, hours and holidays; - reads standard input."`
}

// maxCalendarFile bounds what is read: a thousand holidays are a tenth of it.
const maxCalendarFile = 1 << 20

// Run sets the calendar and prints it.
func (c *slaSetCalendarCmd) Run(ctx context.Context, s *streams) error {
	in := s.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	var calendar fieldmark.SLACalendar
	d := json.NewDecoder(io.LimitReader(in, maxCalendarFile))
	d.DisallowUnknownFields()
	if err := d.Decode(&calendar); err != nil {
		return fmt.Errorf("read a calendar from %s: %w", c.File, err)
	}
	calendar.Name = c.Name
	api, err := c.connect()
	if err != nil {
		return err
	}
	if calendar, err = api.PutSLACalendar(ctx, calendar); err != nil {
		return err
	}
	return printJSON(s, calendar)
}

type slaDeleteCalendarCmd struct {
	targetSettings `embed:""`
	Name           string `arg:"" help:"The calendar's name."`
}

// Run deletes the calendar.
func (c *slaDeleteCalendarCmd) Run(ctx context.Context, _ *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	return api.DeleteSLACalendar(ctx, c.Name)
}
