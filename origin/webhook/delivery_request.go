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

// SentRequest is the request of an attempt, as far as it may be shown.
type SentRequest struct {
	Fields []SentField // of the header, by name
	Body   string
}

// SentField is a line of a header.
type SentField struct{ Name, Value string }

// RequestOf writes the request of a delivery anew, as it is sent at a time. What
// was sent then differs where the endpoint or its secret was changed since. The
// values of the endpoint's own header fields are hidden.
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
