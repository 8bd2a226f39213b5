package mission

import (
	"context"
	"errors"
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// MaxHistory limits the events in the history of a mission: a person reads the
// page.
const MaxHistory = 200

// History is a mission as the admin console shows it.
type History struct {
	fieldmark.Mission
	Account string
	Next    []fieldmark.MissionStatus // the statuses that may follow now
	Money   *fieldmark.MissionPayment // nil if the mission has no payment
	// of the mission, its SLA timers and its payment, newest first, at most
	// MaxHistory
	Events []HistoryEvent

	row Row
}

// HistoryEvent is an event, who caused it, and the webhooks that receive it.
type HistoryEvent struct {
	fieldmark.Event
	Actor      string // "person NAME", "key ID", or "" for timers and jobs
	Deliveries []EventDelivery
}

// EventDelivery is the delivery of an event to an endpoint.
type EventDelivery = store.EventDelivery

// maxHistoryDeliveries limits the deliveries in a history: an event has one for each endpoint that is subscribed to it.
const maxHistoryDeliveries = 5 * MaxHistory

// History returns a mission of any account with its events. Next leaves out the return to
// IN_PROGRESS if the time to reopen is over.
func (s *Service) History(ctx context.Context, id string) (History, error) {
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return History{}, errNoMission()
	}
	m, err := s.store.Mission(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return History{}, errNoMission()
	}
	if err != nil {
		return History{}, err
	}
	story := History{Mission: m.Mission, Account: m.Account, Next: AllowedTransitions(m.Status, m.HeldFrom),
		row: newRow(&m)}
	now, err := s.store.Now(ctx, m.Account)
	if err != nil {
		return History{}, err
	}
	if m.Status == fieldmark.MissionCompleted && ValidateReopen(m.CompletedAt, now) != nil {
		story.Next = slices.DeleteFunc(story.Next,
			func(to fieldmark.MissionStatus) bool { return to == fieldmark.MissionInProgress })
	}
	payment := ""
	if m.Mission.Payment != nil {
		payment = m.Mission.Payment.ID
		money, err := s.Payment(ctx, payment)
		if err != nil {
			return History{}, err
		}
		story.Money = &money
	}
	events, err := s.store.EventsAbout(ctx, id, payment, MaxHistory)
	if err != nil {
		return History{}, err
	}
	sent, err := s.store.DeliveriesAbout(ctx, id, payment, maxHistoryDeliveries)
	if err != nil {
		return History{}, err
	}
	of := map[int64][]EventDelivery{}
	for _, d := range sent {
		of[d.Event] = append(of[d.Event], d)
	}
	for _, e := range events {
		story.Events = append(story.Events, HistoryEvent{e.Event, e.Actor, of[e.Number]})
	}
	return story, nil
}

// Row returns the mission of a history as a list shows it.
func (h *History) Row() Row { return h.row }
