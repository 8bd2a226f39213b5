package webhook

import (
	"encoding/json"
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// Message is an event to be sent.
type Message struct {
	fieldmark.Envelope
	Subject string // id of the object of the event
	Account string // account of the event
	Trace   string // the traceparent of the attempt; empty: none
}

// CloudEventsType is the media type of CloudEvents in structured mode.
const CloudEventsType = "application/cloudevents+json"

// jsonType is the media type of other messages.
const jsonType = "application/json"

// source returns the account as the URI that CloudEvents requires.
func (m *Message) source() string { return "urn:fieldmark:account:" + m.Account }

// data returns the data of the event, or only its id for a thin payload.
func (m *Message) data(p fieldmark.Payload) (json.RawMessage, error) {
	if p == fieldmark.PayloadThin {
		return json.Marshal(struct {
			ID string `json:"id"`
		}{m.Subject})
	}
	if len(m.Data) == 0 {
		return json.RawMessage("null"), nil
	}
	return m.Data, nil
}

// Thin returns the envelope with only the id as data.
func (m Message) Thin() (fieldmark.Envelope, error) {
	data, err := m.data(fieldmark.PayloadThin)
	m.Data = data
	return m.Envelope, err
}

// write returns the body of the message, which is the same at every attempt, and
// sets the header fields of its format.
func (m *Message) write(s *fieldmark.EndpointSettings, h http.Header) ([]byte, error) {
	data, err := m.data(s.Payload)
	if err != nil {
		return nil, err
	}
	h.Set("Content-Type", jsonType)
	switch s.Format {
	case fieldmark.FormatCloudEvents:
		h.Set("Content-Type", CloudEventsType)
		return json.Marshal(struct {
			SpecVersion     string              `json:"specversion"`
			ID              string              `json:"id"`
			Source          string              `json:"source"`
			Type            fieldmark.EventType `json:"type"`
			Subject         string              `json:"subject,omitempty"`
			Time            fieldmark.Time      `json:"time"`
			DataContentType string              `json:"datacontenttype"`
			Test            bool                `json:"test,omitempty"`
			Data            json.RawMessage     `json:"data"`
		}{"1.0", m.ID, m.source(), m.Type, m.Subject, m.Timestamp, jsonType, m.Test, data})
	case fieldmark.FormatCloudEventsBinary:
		for name, value := range map[string]string{
			"ce-specversion": "1.0", "ce-id": m.ID, "ce-source": m.source(), "ce-type": string(m.Type),
			"ce-time": m.Timestamp.String(),
		} {
			h.Set(name, value)
		}
		if m.Subject != "" {
			h.Set("ce-subject", m.Subject)
		}
		if m.Test {
			h.Set("ce-test", "true")
		}
		return data, nil
	}
	// Encoded without encoding/json: the ids need no escaping, and data is JSON
	// already.
	b := make([]byte, 0, len(data)+160)
	b = append(b, `{"id":"`...)
	b = append(b, m.ID...)
	b = append(b, `","type":"`...)
	b = append(b, m.Type...)
	b = append(b, `","timestamp":"`...)
	b = append(b, m.Timestamp.String()...)
	b = append(b, '"')
	if m.Test {
		b = append(b, `,"test":true`...)
	}
	b = append(b, `,"data":`...)
	b = append(b, data...)
	return append(b, '}'), nil
}
