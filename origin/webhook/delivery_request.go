package webhook

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// SentRequest is the request of an attempt, without its credentials.
type SentRequest struct {
	Fields []SentField // of the header, by name
	Body   string
}

// SentField is a header field.
type SentField struct{ Name, Value string }

// SentAttempt is an attempt of a delivery with its request, which has no fields if its event was deleted since.
type SentAttempt struct {
	fieldmark.DeliveryAttempt
	Request SentRequest
}

// SentAttempts returns the attempts of a delivery with their requests, as RequestOf does.
func SentAttempts(
	ctx context.Context, s *Service, endpoint string, d *fieldmark.DeliveryRecord,
) (all []SentAttempt, err error) {
	for _, one := range d.Log {
		a := SentAttempt{DeliveryAttempt: one}
		if a.Request, err = s.RequestOf(ctx, endpoint, d.ID, one.At.Std()); err != nil &&
			!fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// RequestOf reconstructs the request of a delivery as it would be sent at a time.
// The result differs from what was sent if the endpoint or its secret changed
// since. The values of custom header fields are hidden.
func (s *Service) RequestOf(ctx context.Context, endpoint, delivery string, at time.Time) (r SentRequest, err error) {
	if _, err := s.Delivery(ctx, endpoint, delivery); err != nil {
		return r, err
	}
	row, err := s.store.Endpoint(ctx, endpoint, time.Now())
	if err := of(&row, "", err); err != nil {
		return r, err
	}
	job, err := s.store.DeliveryJob(ctx, delivery)
	if err != nil {
		return r, store.NotFound(err, "the event is no longer kept")
	}
	sender, err := s.sender(&row)
	if err != nil {
		return r, err
	}
	header, body, err := sender.Signed(message(&job), at)
	if err != nil {
		return r, err
	}
	for name := range sender.Settings().Headers {
		header[http.CanonicalHeaderKey(name)] = []string{fieldmark.HiddenValue}
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		r.Fields = append(r.Fields, SentField{name, header.Get(name)})
	}
	r.Body = string(body)
	return r, nil
}
