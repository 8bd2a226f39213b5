package origin

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
)

// MaxStory bounds the events told of one mission: a page is read by a person.
const MaxStory = 200

// MissionStory is a mission as an operator looks at it.
type MissionStory struct {
	fieldmark.Mission
	Account string
	Next    []fieldmark.MissionStatus // where it may go from here, now
	Money   *fieldmark.MissionPayment // nil if none was spoken of
	Events  []fieldmark.Event         // of the mission, its clocks and its payment, the newest first, at most MaxStory
}

// MissionStory returns a mission of any account with all that happened to it.
func (s *Service) MissionStory(ctx context.Context, id string) (MissionStory, error) {
	if !fieldmark.CheckID(fieldmark.PrefixMission, id) {
		return MissionStory{}, errNoMission()
	}
	m, err := s.store.Mission(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return MissionStory{}, errNoMission()
	}
	if err != nil {
		return MissionStory{}, err
	}
	story := MissionStory{Mission: m.Mission, Account: m.Account, Next: mission.AllowedTransitions(m.Status, m.HeldFrom)}
	if m.Status == fieldmark.MissionCompleted && mission.ValidateReopen(m.CompletedAt, time.Now()) != nil {
		story.Next = slices.DeleteFunc(story.Next, func(to fieldmark.MissionStatus) bool { return to == fieldmark.MissionInProgress })
	}
	payment := ""
	if m.Mission.Payment != nil {
		payment = m.Mission.Payment.ID
		money, err := s.Payment(ctx, payment)
		if err != nil {
			return MissionStory{}, err
		}
		story.Money = &money
	}
	story.Events, err = s.store.EventsAbout(ctx, id, payment, MaxStory)
	return story, err
}
