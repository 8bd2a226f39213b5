package engine

import (
	"encoding/json"
	"strings"
)

// streamEvent is an event of a stream (text/event-stream).
type streamEvent struct{ Type, Data string }

// parseStream splits a stream into its events. An event without the empty line at its end is incomplete.
func parseStream(body []byte) (events []streamEvent) {
	// All three line ends are allowed (HTML, section 9.2.5).
	text := strings.ReplaceAll(strings.ReplaceAll(string(body), "\r\n", "\n"), "\r", "\n")
	for {
		block, rest, whole := strings.Cut(text, "\n\n")
		if !whole {
			return events
		}
		var e streamEvent
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "event":
				e.Type = value
			case "data":
				if e.Data != "" {
					e.Data += "\n"
				}
				e.Data += value
			}
		}
		// An event without data is not dispatched; comments keep connections open.
		if e.Data != "" {
			if e.Type == "" {
				var typed struct {
					Type string `json:"type"`
				}
				_ = json.Unmarshal([]byte(e.Data), &typed) // events of some engines have no type
				e.Type = typed.Type
			}
			events = append(events, e)
		}
		text = rest
	}
}

// joinResponses returns the response that the terminal event of a Responses API has.
// The terminal event has the whole response, so the deltas before it are not needed.
func joinResponses(events []streamEvent) ([]byte, bool) {
	for _, e := range events {
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed":
			var end struct {
				Response json.RawMessage `json:"response"`
			}
			return end.Response, json.Unmarshal([]byte(e.Data), &end) == nil && len(end.Response) > 0
		}
	}
	return nil, false
}
