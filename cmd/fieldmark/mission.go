package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/client"
)

type missionCmd struct {
	Create   missionCreateCmd   `cmd:"" help:"Open a mission, or find the one that is there under its source and external id."`
	Show     missionShowCmd     `cmd:"" help:"Print a mission."`
	List     missionListCmd     `cmd:"" help:"List missions, the newest first or as they changed."`
	Edit     missionEditCmd     `cmd:"" help:"Change what a mission says, by a merge patch."`
	Cancel   missionCancelCmd   `cmd:"" help:"Call a mission off."`
	Complete missionCompleteCmd `cmd:"" help:"Move a mission to COMPLETED, through the states between."`
	Move     missionMoveCmd     `cmd:"" help:"Move a mission to a status."`
}

// clientSettings are which Fieldmark a command talks to with an API key of an
// account. Without them a command finds a demo by itself.
type clientSettings struct {
	URL        string `env:"FIELDMARK_URL" placeholder:"URL" help:"Address of the Fieldmark to talk to; that of the demo in --data if unset."`
	APIKey     string `env:"FIELDMARK_API_KEY" placeholder:"KEY" help:"API key with the mission scopes; that of the demo in --data if unset."`
	APIKeyFile string `env:"FIELDMARK_API_KEY_FILE" type:"path" placeholder:"FILE" help:"File that holds the key."`
	Data       string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Folder a demo was started with."`
}

func (t *clientSettings) connect() (*client.Client, error) {
	key, err := secretOrFile(t.APIKey, t.APIKeyFile)
	if err != nil {
		return nil, err
	}
	if t.URL != "" && key != "" {
		return client.New(client.Config{BaseURL: t.URL, Key: key})
	}
	demo, err := readDemoFacts(t.Data)
	switch {
	case err != nil:
		return nil, err
	case demo == nil:
		return nil, fmt.Errorf("no Fieldmark to talk to: set FIELDMARK_URL and FIELDMARK_API_KEY, or start a demo with `fieldmark serve --demo` (no %s in %s)", demoFile, t.Data)
	case t.URL != "" && t.URL != demo.BaseURL:
		// The demo's key is for the demo alone: it must not be shown to another host.
		return nil, fmt.Errorf("FIELDMARK_API_KEY is not set, and the key in %s is not for %s", demoFile, t.URL)
	}
	return client.New(client.Config{BaseURL: demo.BaseURL, Key: cmp.Or(key, demo.APIKey)})
}

type missionCreateCmd struct {
	clientSettings `embed:""`
	File           string `arg:"" optional:"" placeholder:"FILE" help:"JSON of the whole mission, - for standard input; the flags below for a plain one."`
	Source         string `help:"The sending system."`
	ExternalID     string `help:"The sending system's id of it."`
	Title          string `help:"What is to be done, in a line."`
	Description    string `help:"What is to be done, at length."`
	Priority       string `help:"LOW, MEDIUM, HIGH or CRITICAL."`
}

// Run opens the mission and prints it.
func (c *missionCreateCmd) Run(ctx context.Context, s *streams) error {
	r := fieldmark.MissionRequest{Source: c.Source, ExternalID: c.ExternalID, Title: c.Title, Description: c.Description, Priority: fieldmark.Priority(c.Priority)}
	if c.File != "" {
		raw, err := readInput(s, c.File)
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	m, created, err := api.OpenMission(ctx, r)
	if err != nil {
		return err
	}
	if !created {
		fmt.Fprintln(s.err, "It was there already.")
	}
	return printJSON(s, m)
}

type missionShowCmd struct {
	clientSettings `embed:""`
	ID             string `arg:"" help:"The mission's id: msn_…"`
}

// Run prints the mission.
func (c *missionShowCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	m, err := api.Mission(ctx, c.ID)
	if err != nil {
		return err
	}
	return printJSON(s, m)
}

type missionEditCmd struct {
	clientSettings `embed:""`
	ID             string `arg:"" help:"The mission's id: msn_…"`
	Patch          string `arg:"" help:"What is to change, as JSON: '{\"priority\":\"HIGH\"}'; null takes away; - reads standard input."`
}

// Run changes the mission and prints it.
func (c *missionEditCmd) Run(ctx context.Context, s *streams) error {
	patch := []byte(c.Patch)
	if c.Patch == "-" {
		var err error
		if patch, err = readInput(s, "-"); err != nil {
			return err
		}
	}
	if !json.Valid(patch) {
		return errors.New("the patch is not JSON")
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	m, err := api.EditMission(ctx, c.ID, patch)
	if err != nil {
		return err
	}
	return printJSON(s, m)
}

type missionCancelCmd struct {
	clientSettings `embed:""`
	ID             string `arg:"" help:"The mission's id: msn_…"`
	ReasonCode     string `help:"Why, in a word: upper-case letters, digits and underscores."`
	ReasonText     string `help:"Why, in a sentence."`
}

// Run cancels the mission.
func (c *missionCancelCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	m, err := api.CancelMission(ctx, c.ID, reasonOf(c.ReasonCode, c.ReasonText))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is %s since %s\n", m.ID, m.Status, m.UpdatedAt)
	return err
}

// reasonOf makes a reason of two flags; a text alone has a code of its own.
func reasonOf(code, text string) *fieldmark.Reason {
	if code == "" && text == "" {
		return nil
	}
	return &fieldmark.Reason{Code: cmp.Or(code, "OTHER"), Text: text}
}

type missionListCmd struct {
	targetSettings `embed:""`
	Account        string    `help:"Only this account; the filters below other than --status and those of creation need it."`
	Status         []string  `help:"Only these statuses."`
	Priority       string    `help:"Only this priority."`
	Source         string    `help:"Only this source."`
	ExternalID     string    `help:"Only this external id of the source."`
	CreatedSince   time.Time `help:"Only those created since (RFC 3339)."`
	CreatedUntil   time.Time `help:"Only those created until (RFC 3339)."`
	UpdatedSince   time.Time `help:"Only those changed since (RFC 3339), in the order they changed."`
	Limit          int       `default:"20" help:"How many, at most 200."`
}

// Run prints a line per mission.
func (c *missionListCmd) Run(ctx context.Context, s *streams) error {
	f := fieldmark.MissionFilter{Source: c.Source, ExternalID: c.ExternalID, Limit: c.Limit,
		CreatedSince: fieldmark.At(c.CreatedSince), CreatedUntil: fieldmark.At(c.CreatedUntil), UpdatedSince: fieldmark.At(c.UpdatedSince)}
	for _, text := range c.Status {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return err
		}
		f.Status = append(f.Status, status)
	}
	if c.Priority != "" {
		var ok bool
		if f.Priority, ok = fieldmark.ParsePriority(c.Priority); !ok {
			return fmt.Errorf("unknown priority %q", c.Priority)
		}
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	page, err := api.Missions(ctx, c.Account, f)
	if err != nil {
		return err
	}
	for _, m := range page.Data {
		fmt.Fprintf(s.out, "%s  %-18s %-8s %s/%s  %s\n", m.ID, m.Status, m.Priority, m.Source, m.ExternalID, m.Title)
	}
	if page.HasMore {
		fmt.Fprintln(s.err, "There are more; raise --limit or narrow the list.")
	}
	return nil
}

type missionCompleteCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The mission's id: msn_…"`
}

// Run completes the mission.
func (c *missionCompleteCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	m, err := api.CompleteMission(ctx, c.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is %s since %s\n", m.ID, m.Status, m.UpdatedAt)
	return err
}

type missionMoveCmd struct {
	targetSettings `embed:""`
	ID             string `arg:"" help:"The mission's id: msn_…"`
	Status         string `arg:"" help:"The status to move to: NEW, SCHEDULED, DISPATCHED, EN_ROUTE, IN_PROGRESS, ON_HOLD, COMPLETED, UNABLE_TO_COMPLETE, CLOSED or CANCELED."`
	ReasonCode     string `help:"Why, in a word: upper-case letters, digits and underscores."`
	ReasonText     string `help:"Why, in a sentence."`
}

// Run moves the mission.
func (c *missionMoveCmd) Run(ctx context.Context, s *streams) error {
	to, err := fieldmark.ParseMissionStatus(c.Status)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	m, err := api.MoveMission(ctx, c.ID, to, reasonOf(c.ReasonCode, c.ReasonText))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is %s since %s\n", m.ID, m.Status, m.UpdatedAt)
	return err
}
