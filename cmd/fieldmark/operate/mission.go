package operate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// MissionCmd manages missions.
type MissionCmd struct {
	Create   missionCreateCmd   `cmd:"" help:"Create a mission, or return the one of the same source and external id."`
	Show     missionShowCmd     `cmd:"" help:"Print a mission."`
	List     missionListCmd     `cmd:"" help:"List missions, newest first or by time of change."`
	Edit     missionEditCmd     `cmd:"" help:"Change a mission with a JSON merge patch."`
	Cancel   missionCancelCmd   `cmd:"" help:"Cancel a mission."`
	Complete missionCompleteCmd `cmd:"" help:"Complete a mission through all statuses in between."`
	Move     missionMoveCmd     `cmd:"" help:"Move a mission to a status."`
	Note     missionNoteCmd     `cmd:"" help:"Manage notes about missions."`
	Export   missionExportCmd   `cmd:"" help:"Export missions as lines of JSON or CSV, in order of change."`
}

type missionCreateCmd struct {
	accountFlags `embed:""`
	File         string `arg:"" optional:"" placeholder:"FILE" help:"The mission as JSON; - reads standard input. The flags below suffice for a simple mission."`
	Source       string `help:"Name of the sending system."`
	ExternalID   string `help:"Id of the mission in the sending system."`
	Title        string `help:"Title: one line."`
	Description  string `help:"Description."`
	Priority     string `help:"LOW, MEDIUM, HIGH or CRITICAL."`
}

// Run creates the mission and prints it.
func (c *missionCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	r := fieldmark.MissionRequest{Source: c.Source, ExternalID: c.ExternalID, Title: c.Title,
		Description: c.Description, Priority: fieldmark.Priority(c.Priority)}
	if c.File != "" {
		raw, err := s.ReadFile(c.File)
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
	}
	return runJSON(c, s, func(api *client.Client) (fieldmark.Mission, error) {
		m, created, err := api.CreateMission(ctx, r)
		if err == nil && !created {
			fmt.Fprintln(s.Err, "The mission exists already.")
		}
		return m, err
	})
}

type missionShowCmd struct {
	accountFlags `embed:""`
	ID           string `arg:"" help:"Mission id: msn_…"`
}

// Run prints the mission.
func (c *missionShowCmd) Run(ctx context.Context, s *command.Streams) error {
	return runJSON(c, s, func(api *client.Client) (fieldmark.Mission, error) { return api.Get(ctx, c.ID) })
}

type missionEditCmd struct {
	accountFlags `embed:""`
	ID           string `arg:"" help:"Mission id: msn_…"`
	Patch        string `arg:"" help:"JSON merge patch (RFC 7396), such as '{\"priority\":\"HIGH\"}'; null removes a member; - reads standard input."`
}

// Run changes the mission and prints it.
func (c *missionEditCmd) Run(ctx context.Context, s *command.Streams) error {
	patch := []byte(c.Patch)
	if c.Patch == "-" {
		var err error
		if patch, err = s.ReadFile("-"); err != nil {
			return err
		}
	}
	if !json.Valid(patch) {
		return errors.New("the patch is not JSON")
	}
	return runJSON(c, s, func(api *client.Client) (fieldmark.Mission,
		error) {
		return api.Edit(ctx, c.ID, json.RawMessage(patch), nil)
	})
}

// printStatus returns a function that prints the status of a mission.
func printStatus(s *command.Streams) func(fieldmark.Mission) error {
	return func(m fieldmark.Mission) error { return printf(s, "%s is %s since %s\n", m.ID, m.Status, m.UpdatedAt) }
}

type missionCancelCmd struct {
	accountFlags `embed:""`
	ID           string `arg:"" help:"Mission id: msn_…"`
	ReasonCode   string `help:"Reason code: upper-case letters, digits and underscores."`
	ReasonText   string `help:"Reason in words."`
}

// Run cancels the mission.
func (c *missionCancelCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Mission, error) {
		return api.Cancel(ctx, c.ID, newReason(c.ReasonCode, c.ReasonText), nil)
	}, printStatus(s))
}

// newReason builds a reason from two flags. A text without a code gets the code OTHER.
func newReason(code, text string) *fieldmark.Reason {
	if code == "" && text == "" {
		return nil
	}
	return &fieldmark.Reason{Code: cmp.Or(code, "OTHER"), Text: text}
}

type missionListCmd struct {
	adminFlags   `embed:""`
	Account      string    `help:"Filter by account. Required by all filters but --status and the times of arrival."`
	Status       []string  `help:"Filter by status."`
	Priority     string    `help:"Filter by priority."`
	Source       string    `help:"Filter by source."`
	ExternalID   string    `help:"Filter by external id."`
	Assignee     string    `help:"Filter by the id of the assignee."`
	Label        []string  `placeholder:"KEY:VALUE" help:"Filter by a label whose key the account lists; at most 2."`
	CreatedSince time.Time `help:"Reached the origin at or after (RFC 3339)."`
	CreatedUntil time.Time `help:"Reached the origin at or before (RFC 3339)."`
	UpdatedSince time.Time `help:"Changed at or after (RFC 3339), in order of change."`
	Limit        int       `default:"20" help:"Maximum number of missions, at most 200."`
}

// Run prints a line for each mission.
func (c *missionListCmd) Run(ctx context.Context, s *command.Streams) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	return run(c, func(api *client.Client) (fieldmark.List[fieldmark.Mission], error) {
		return api.Missions(ctx, c.Account, f)
	}, func(page fieldmark.List[fieldmark.Mission]) error {
		for _, m := range page.Data {
			if err := printf(s, "%s  %-18s %-8s %s/%s  %s\n", m.ID, m.Status, m.Priority, m.Source, m.ExternalID,
				m.Title); err != nil {
				return err
			}
		}
		if page.HasMore {
			fmt.Fprintln(s.Err, "There are more missions; raise --limit or add filters.")
		}
		return nil
	})
}

func (c *missionListCmd) filter() (f fieldmark.MissionFilter, err error) {
	f = fieldmark.MissionFilter{Source: c.Source, ExternalID: c.ExternalID, Limit: c.Limit,
		CreatedSince: fieldmark.At(c.CreatedSince), CreatedUntil: fieldmark.At(c.CreatedUntil),
		UpdatedSince: fieldmark.At(c.UpdatedSince), Assignee: c.Assignee, Labels: c.Label}
	f.Status, f.Priority, err = parseFilter(c.Status, c.Priority)
	return f, err
}

// parseFilter parses the statuses and the priority of a filter; empty means any.
func parseFilter(texts []string, name string) (statuses []fieldmark.MissionStatus, p fieldmark.Priority, err error) {
	for _, text := range texts {
		status, err := fieldmark.ParseMissionStatus(text)
		if err != nil {
			return nil, "", err
		}
		statuses = append(statuses, status)
	}
	if name != "" {
		p, err = parsePriority(name)
	}
	return statuses, p, err
}

type missionCompleteCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Mission id: msn_…"`
}

// Run completes the mission.
func (c *missionCompleteCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Mission, error) { return api.CompleteMission(ctx, c.ID) },
		printStatus(s))
}

type missionMoveCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Mission id: msn_…"`
	Status     string `arg:"" help:"New status: NEW, SCHEDULED, DISPATCHED, EN_ROUTE, IN_PROGRESS, ON_HOLD, COMPLETED, UNABLE_TO_COMPLETE, CLOSED or CANCELED."`
	ReasonCode string `help:"Reason code: upper-case letters, digits and underscores."`
	ReasonText string `help:"Reason in words."`
}

// Run moves the mission.
func (c *missionMoveCmd) Run(ctx context.Context, s *command.Streams) error {
	to, err := fieldmark.ParseMissionStatus(c.Status)
	if err != nil {
		return err
	}
	return run(c, func(api *client.Client) (fieldmark.Mission, error) {
		return api.MoveMission(ctx, c.ID, to, newReason(c.ReasonCode, c.ReasonText))
	}, printStatus(s))
}

type missionNoteCmd struct {
	Add    noteAddCmd    `cmd:"" help:"Add a note to a mission."`
	List   noteListCmd   `cmd:"" help:"List the notes of a mission, oldest first."`
	Redact noteRedactCmd `cmd:"" help:"Remove the text of a note, from its events too."`
}

type noteAddCmd struct {
	accountFlags `embed:""`
	ID           string `arg:"" help:"Mission id: msn_…"`
	Text         string `arg:"" help:"Text; - reads standard input."`
	Shared       bool   `help:"The note is for the customer too."`
	Author       string `help:"Id of the author; the API key if unset."`
	AuthorName   string `help:"Name of the author."`
	ExternalID   string `help:"Id of the note in another system; repeating the command with it adds one note."`
}

// Run adds the note and prints it.
func (c *noteAddCmd) Run(ctx context.Context, s *command.Streams) error {
	r := fieldmark.NoteRequest{Text: c.Text, ExternalID: c.ExternalID}
	if c.Text == "-" {
		text, err := s.ReadFile("-")
		if err != nil {
			return err
		}
		r.Text = string(text)
	}
	if c.Shared {
		r.Visibility = fieldmark.NoteShared
	}
	if c.Author != "" {
		r.Author = &fieldmark.NoteAuthor{ID: c.Author, Name: c.AuthorName}
	} else if c.AuthorName != "" {
		return errors.New("--author-name needs --author")
	}
	return runJSON(c, s, func(api *client.Client) (fieldmark.Note, error) {
		n, created, err := api.AddNote(ctx, c.ID, r)
		if err == nil && !created {
			fmt.Fprintln(s.Err, "The note exists already.")
		}
		return n, err
	})
}

type noteListCmd struct {
	accountFlags `embed:""`
	ID           string `arg:"" help:"Mission id: msn_…"`
}

// Run prints a line for each note, and its text.
func (c *noteListCmd) Run(ctx context.Context, s *command.Streams) error {
	return eachOfPages(c, s, "", func(api *client.Client, _ fieldmark.Slug,
		cursor string) (fieldmark.List[fieldmark.Note], error) {
		return api.Notes(ctx, c.ID, cursor)
	}, func(n *fieldmark.Note) string {
		text := n.Text
		if n.RedactedAt != nil {
			text = "(redacted " + n.RedactedAt.String() + ")"
		}
		return fmt.Sprintf("%s  %s  %-8s  %s\n%s\n", n.ID, n.CreatedAt, n.Visibility,
			cmp.Or(n.Author.Name, n.Author.ID), text)
	})
}

type noteRedactCmd struct {
	adminFlags `embed:""`
	ID         string `arg:"" help:"Mission id: msn_…"`
	Note       string `arg:"" help:"Note id: nte_…"`
}

// Run redacts the note.
func (c *noteRedactCmd) Run(ctx context.Context, s *command.Streams) error {
	return run(c, func(api *client.Client) (fieldmark.Note, error) { return api.RedactNote(ctx, c.ID, c.Note) },
		func(n fieldmark.Note) error { return printf(s, "%s is redacted since %s\n", n.ID, n.RedactedAt) })
}

type missionExportCmd struct {
	accountFlags `embed:""`
	Format       string    `enum:"ndjson,csv" default:"ndjson" help:"ndjson or csv."`
	Fields       string    `placeholder:"NAMES" help:"Members, or columns of CSV, separated by commas; all if unset."`
	UpdatedSince time.Time `help:"Changed at or after (RFC 3339). To resume, the updatedAt of the last line."`
	Status       []string  `help:"Filter by status."`
	Priority     string    `help:"Filter by priority."`
	Source       string    `help:"Filter by source."`
	Assignee     string    `help:"Filter by the id of the assignee."`
	Label        []string  `placeholder:"KEY:VALUE" help:"Filter by a label whose key the account lists; at most 2."`
}

// Run prints the missions as they arrive.
func (c *missionExportCmd) Run(ctx context.Context, s *command.Streams) error {
	f := fieldmark.MissionFilter{Source: c.Source, Assignee: c.Assignee, Labels: c.Label,
		UpdatedSince: fieldmark.At(c.UpdatedSince)}
	var err error
	if f.Status, f.Priority, err = parseFilter(c.Status, c.Priority); err != nil {
		return err
	}
	return do(c, func(api *client.Client) error { return api.ExportMissions(ctx, s.Out, c.Format, c.Fields, f) })
}
