package main

import (
	"context"
	"fmt"

	"github.com/fieldmark/fieldmark"
)

type missionCmd struct {
	List     missionListCmd     `cmd:"" help:"List the newest missions."`
	Complete missionCompleteCmd `cmd:"" help:"Move a mission to COMPLETED, through the states between."`
	Move     missionMoveCmd     `cmd:"" help:"Move a mission to a status."`
}

type missionListCmd struct {
	targetSettings `embed:""`
	Limit          int `default:"20" help:"How many, at most 200."`
}

// Run prints a line per mission.
func (c *missionListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	page, err := api.Missions(ctx, "", fieldmark.MissionFilter{Limit: c.Limit})
	if err != nil {
		return err
	}
	for _, m := range page.Data {
		fmt.Fprintf(s.out, "%s  %-18s %-8s %s/%s  %s\n", m.ID, m.Status, m.Priority, m.Source, m.ExternalID, m.Title)
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
	var reason *fieldmark.Reason
	if c.ReasonCode != "" {
		reason = &fieldmark.Reason{Code: c.ReasonCode, Text: c.ReasonText}
	}
	m, err := api.MoveMission(ctx, c.ID, to, reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is %s since %s\n", m.ID, m.Status, m.UpdatedAt)
	return err
}
