package origin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // zone names must mean the same on a machine without zone files

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// OpenMission opens the mission that account, source and externalId name for
// ever. The same request again finds the mission that is there (created is
// false); another request under the same name is CodeMissionExists.
func (s *Service) OpenMission(ctx context.Context, account string, r fieldmark.MissionRequest) (m fieldmark.Mission, created bool, err error) {
	bad := r.Check()
	if r.Location != nil && r.Location.TimeZone != "" {
		if _, err := time.LoadLocation(r.Location.TimeZone); err != nil && !complainedOf(bad, "/location/timeZone") {
			bad = append(bad, fieldmark.FieldError{Pointer: "/location/timeZone", Code: "enum", Detail: "is not a known time zone"})
		}
	}
	if err := invalid(bad); err != nil {
		return fieldmark.Mission{}, false, err
	}
	fingerprint, err := r.Fingerprint()
	if err != nil {
		return fieldmark.Mission{}, false, fmt.Errorf("fingerprint a mission request: %w", err)
	}
	now := time.Now()
	row := store.Mission{Account: account, Fingerprint: fingerprint, Mission: fieldmark.Mission{
		ID: newID(fieldmark.PrefixMission, now), MissionRequest: r, Status: fieldmark.MissionNew,
		CreatedAt: fieldmark.At(now), UpdatedAt: fieldmark.At(now), Version: 1,
	}}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		added, err := tx.AddMission(ctx, &row)
		if err != nil {
			return err
		}
		if added {
			m, created = row.Mission, true
			_, err := s.tell(ctx, tx, account, missionEvent(fieldmark.EventMissionCreated, m.ID), m)
			return err
		}
		old, err := tx.MissionBySource(ctx, account, r.Source, r.ExternalID)
		if err != nil {
			return err
		}
		if old.Fingerprint != fingerprint {
			e := fieldmark.Errorf(fieldmark.CodeMissionExists, "source and externalId already name a mission with other content")
			e.MissionID = old.ID
			return e
		}
		m = old.Mission
		return nil
	})
	if err != nil {
		return fieldmark.Mission{}, false, fmt.Errorf("open a mission: %w", err)
	}
	return m, created, nil
}

func complainedOf(bad []fieldmark.FieldError, pointer string) bool {
	return slices.ContainsFunc(bad, func(f fieldmark.FieldError) bool { return f.Pointer == pointer })
}

func missionEvent(t fieldmark.EventType, id string) store.Event {
	return store.Event{Event: fieldmark.Event{Type: t}, Subject: id}
}

// errNoMission is the same for an id that is unknown and one of another account.
func errNoMission() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such mission")
}

// Mission returns a mission of an account; account "" means any.
func (s *Service) Mission(ctx context.Context, account, id string) (fieldmark.Mission, error) {
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return fieldmark.Mission{}, errNoMission()
	}
	m, err := s.store.Mission(ctx, id)
	if errors.Is(err, store.ErrNone) || (err == nil && account != "" && m.Account != account) {
		return fieldmark.Mission{}, errNoMission()
	}
	return m.Mission, err
}

// Missions lists missions of an account, the newest first; account "" means any.
func (s *Service) Missions(ctx context.Context, account string, f fieldmark.MissionFilter) (fieldmark.List[fieldmark.Mission], error) {
	var none fieldmark.List[fieldmark.Mission]
	before, err := parseCursor(f.Cursor)
	if err != nil {
		return none, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = fieldmark.DefaultMissionLimit
	}
	limit = min(limit, fieldmark.MaxMissionLimit)
	f.Limit = limit + 1 // one more tells whether there is a next page
	f.Status = slices.Compact(slices.Sorted(slices.Values(f.Status)))
	rows, err := s.store.Missions(ctx, account, f, before)
	if err != nil {
		return none, err
	}
	list := fieldmark.List[fieldmark.Mission]{Data: []fieldmark.Mission{}}
	if len(rows) > limit {
		rows = rows[:limit]
		list.HasMore = true
		list.NextCursor = newCursor(rows[limit-1].ID)
	}
	for _, m := range rows {
		list.Data = append(list.Data, m.Mission)
	}
	return list, nil
}

// newCursor hides the id a page ended with: clients must not build cursors.
func newCursor(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

// parseCursor returns the id inside a cursor; no cursor is no id.
func parseCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	id, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !fieldmark.CheckID(fieldmark.PrefixMission, string(id)) {
		return "", fieldmark.Errorf(fieldmark.CodeInvalidCursor, "take the cursor from nextCursor of the page before")
	}
	return string(id), nil
}

// MoveMission moves a mission to another status, if that is allowed from where it
// is. Reason may be nil.
func (s *Service) MoveMission(ctx context.Context, id string, to fieldmark.MissionStatus, reason *fieldmark.Reason) (fieldmark.Mission, error) {
	return s.walk(ctx, id, func(*store.Mission) ([]fieldmark.MissionStatus, error) {
		return []fieldmark.MissionStatus{to}, nil
	}, reason)
}

// CompleteMission takes every move that is left to COMPLETED. A mission that is
// completed stays as it is, so that the call may be repeated.
func (s *Service) CompleteMission(ctx context.Context, id string) (fieldmark.Mission, error) {
	return s.walk(ctx, id, func(m *store.Mission) ([]fieldmark.MissionStatus, error) {
		path := fieldmark.PathToCompleted(m.Status)
		if path == nil && m.Status != fieldmark.MissionCompleted {
			return nil, fieldmark.CheckMove(m.Status, fieldmark.MissionCompleted, m.Held)
		}
		return path, nil
	}, nil)
}

// walk takes a mission through several moves in one transaction, each with its
// event.
func (s *Service) walk(ctx context.Context, id string, path func(*store.Mission) ([]fieldmark.MissionStatus, error),
	reason *fieldmark.Reason) (fieldmark.Mission, error) {

	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return fieldmark.Mission{}, errNoMission()
	}
	var m store.Mission
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if m, err = tx.Mission(ctx, id); err != nil {
			return err
		}
		steps, err := path(&m)
		if err != nil {
			return err
		}
		for _, to := range steps {
			event, err := move(&m, to, reason, time.Now())
			if err != nil {
				return err
			}
			if err := tx.MoveMission(ctx, &m); err != nil {
				return err
			}
			if _, err := s.tell(ctx, tx, m.Account, missionEvent(event, m.ID), m.Mission); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNone) {
		return fieldmark.Mission{}, errNoMission()
	}
	if err != nil {
		return fieldmark.Mission{}, fmt.Errorf("move mission %s: %w", id, err)
	}
	return m.Mission, nil
}

// reasonLateCancel marks a mission that was called off after somebody set out,
// because terms of pay depend on it.
const reasonLateCancel = "LATE_CANCEL"

// move changes a mission, if it may be, and names the event of it.
func move(m *store.Mission, to fieldmark.MissionStatus, reason *fieldmark.Reason, now time.Time) (fieldmark.EventType, error) {
	from, held := m.Status, m.Held
	if err := fieldmark.CheckMove(from, to, held); err != nil {
		return "", err
	}
	if from == fieldmark.MissionCompleted && to == fieldmark.MissionInProgress &&
		m.CompletedAt != nil && now.Sub(m.CompletedAt.Std()) > fieldmark.ReopenWithin {
		e := fieldmark.Errorf(fieldmark.CodeInvalidTransition, "a mission can be reopened for 7 days after it was completed")
		e.Allowed = []string{string(fieldmark.MissionClosed)}
		return "", e
	}
	if to == fieldmark.MissionCanceled && underway(from, held) {
		late := fieldmark.Reason{Code: reasonLateCancel}
		if reason != nil {
			late.Text = reason.Text
		}
		reason = &late
	}
	m.Held = ""
	if to == fieldmark.MissionOnHold {
		m.Held = from
	}
	m.Status, m.StatusReason = to, reason
	m.Version++
	m.Mark(fieldmark.At(now))
	return fieldmark.MoveEvent(from, to), nil
}

// underway reports whether somebody had set out when a mission stood so.
func underway(status, held fieldmark.MissionStatus) bool {
	if status == fieldmark.MissionOnHold {
		status = held
	}
	return status == fieldmark.MissionEnRoute || status == fieldmark.MissionInProgress
}
