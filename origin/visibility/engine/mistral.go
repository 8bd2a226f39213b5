package engine

import (
	"encoding/json"
	"strings"
)

// mistral is the Conversations API of Mistral; shape of 2026-08. It has no reason why an answer ended.
type mistral struct{}

// store is false, so the vendor keeps no conversation.
func (mistral) request(c *Config, question string, _ [][]byte) (string, map[string]string, any) {
	body := object{"model": c.Model, "inputs": question, "store": false, "stream": false,
		"completion_args": object{"max_tokens": c.MaxOutputTokens}}
	if c.Search != SearchOff {
		body["tools"] = []object{{"type": "web_search"}}
	}
	return "/v1/conversations", bearer(c), body
}

// chunk is a part of a message: a text or a reference to a source.
type chunk struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URL  string `json:"url"`
}

// read adds up all messages: an answer with a search has one before and one after it.
func (mistral) read(bodies [][]byte) (a Answer, err error) {
	var r struct {
		Outputs []struct {
			Type    string          `json:"type"`
			Name    string          `json:"name"`
			Model   string          `json:"model"`
			Content json.RawMessage `json:"content"`
		} `json:"outputs"`
		Usage tokens `json:"usage"`
	}
	if json.Unmarshal(bodies[0], &r) != nil || r.Outputs == nil {
		return a, unreadable("not the JSON of a conversation")
	}
	a.Usage = Usage{r.Usage.Prompt, r.Usage.Completion}
	var text strings.Builder
	for _, out := range r.Outputs {
		switch out.Type {
		case "tool.execution":
			if strings.HasPrefix(out.Name, "web_search") {
				a.Searches++
			}
		case "message.output":
			if out.Model != "" {
				a.Model = out.Model
			}
			chunks, err := chunksOf(out.Content)
			if err != nil {
				return a, unreadable("the content of a message")
			}
			for _, c := range chunks {
				switch c.Type {
				case "text":
					text.WriteString(c.Text)
				case "tool_reference":
					a.Cited = append(a.Cited, c.URL)
				}
			}
		}
	}
	// Citations prove a search, also if its step is not listed.
	a.Text, a.Searched = text.String(), a.Searches > 0 || len(a.Cited) > 0
	return a, nil
}

// chunksOf reads a content that is a text or a list of chunks.
// Answers without a citation are a text, others are chunks.
func chunksOf(content json.RawMessage) ([]chunk, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []chunk{{Type: "text", Text: text}}, nil
	}
	var chunks []chunk
	err := json.Unmarshal(content, &chunks)
	return chunks, err
}

// join builds the body of the answer that was sent as a stream. Without the last event the answer is incomplete.
func (mistral) join(events []streamEvent) ([]byte, bool) {
	outputs := []object{}
	content := []json.RawMessage{}
	var model string
	for _, e := range events {
		var d struct {
			Name    string          `json:"name"`
			Model   string          `json:"model"`
			Content json.RawMessage `json:"content"`
			Usage   json.RawMessage `json:"usage"`
		}
		if json.Unmarshal([]byte(e.Data), &d) != nil {
			return nil, false
		}
		switch e.Type {
		case "tool.execution.done":
			outputs = append(outputs, object{"type": "tool.execution", "name": d.Name})
		case "message.output.delta":
			model = d.Model
			// A delta has a bare text where the whole answer has a chunk.
			if len(d.Content) > 0 && d.Content[0] == '"' {
				d.Content = json.RawMessage(`{"type":"text","text":` + string(d.Content) + `}`)
			}
			content = append(content, d.Content)
		case "conversation.response.done":
			outputs = append(outputs, object{"type": "message.output", "model": model, "content": content})
			body, err := json.Marshal(object{"outputs": outputs, "usage": d.Usage})
			return body, err == nil
		}
	}
	return nil, false
}
