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

// tokens is the usage of several APIs.
type tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
}

// gemini is generateContent of the Gemini API without search; shape of 2026-09. Its terms forbid to analyze
// answers that are grounded in Google Search, so there is no request with search.
type gemini struct{}

// The key is in a header field and not in the query, which proxies log.
func (gemini) request(c *Config, question string, _ [][]byte) (string, map[string]string, any) {
	return "/v1beta/models/" + c.Model + ":generateContent", map[string]string{"X-Goog-Api-Key": c.Key}, object{
		"contents":         []object{{"role": "user", "parts": []object{{"text": question}}}},
		"generationConfig": object{"maxOutputTokens": c.MaxOutputTokens}}
}

// generated is a response of generateContent. Thoughts are parts of the content, marked as such.
type generated struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text    string `json:"text"`
				Thought bool   `json:"thought"`
			} `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Model string `json:"modelVersion"`
	Usage struct {
		Prompt     int64 `json:"promptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

func (gemini) read(bodies [][]byte) (a Answer, err error) {
	var g generated
	if json.Unmarshal(bodies[0], &g) != nil || len(g.Candidates) == 0 {
		return a, unreadable("no candidate")
	}
	c := g.Candidates[0]
	a = Answer{Model: g.Model, Stop: c.Finish, Usage: Usage{g.Usage.Prompt, g.Usage.Candidates + g.Usage.Thoughts}}
	for _, p := range c.Content.Parts {
		// Thoughts are not shown to people, so brands in them are not named; their tokens are billed.
		if !p.Thought {
			a.Text += p.Text
		}
	}
	// Blocked and cut answers have texts too.
	if c.Finish != "STOP" {
		return a, incomplete(c.Finish)
	}
	return a, nil
}

func (gemini) join(events []streamEvent) ([]byte, bool) {
	var all generated
	for _, e := range events {
		var part generated
		if json.Unmarshal([]byte(e.Data), &part) != nil || len(part.Candidates) == 0 {
			return nil, false
		}
		if len(all.Candidates) > 0 {
			// Each event has the next part, and the usage so far.
			part.Candidates[0].Content.Parts = append(all.Candidates[0].Content.Parts,
				part.Candidates[0].Content.Parts...)
		}
		all = part
	}
	if len(all.Candidates) == 0 || all.Candidates[0].Finish == "" {
		return nil, false
	}
	body, err := json.Marshal(all)
	return body, err == nil
}

// chat is the Chat Completions API, which llama.cpp, Ollama, vLLM and gateways speak.
type chat struct{}

// It has no member for a search, so the search mode of the plan is not sent.
func (chat) request(c *Config, question string, _ [][]byte) (string, map[string]string, any) {
	return "/chat/completions", bearer(c), object{"model": c.Model, "max_tokens": c.MaxOutputTokens, "stream": false,
		"messages": []object{{"role": "user", "content": question}}}
}

type completion struct {
	Model   string `json:"model"`
	Choices []struct {
		Finish  string       `json:"finish_reason"`
		Message chatMessage  `json:"message"`
		Delta   *chatMessage `json:"delta,omitempty"`
	} `json:"choices"`
	Citations []string `json:"citations,omitempty"` // of gateways that search
	Usage     tokens   `json:"usage"`
}

type chatMessage struct {
	Content     string `json:"content"`
	Refusal     string `json:"refusal,omitempty"`
	Annotations []struct {
		Type string `json:"type"`
		URL  struct {
			URL string `json:"url"`
		} `json:"url_citation"`
	} `json:"annotations,omitempty"`
}

func (chat) read(bodies [][]byte) (a Answer, err error) {
	var c completion
	if json.Unmarshal(bodies[0], &c) != nil || len(c.Choices) == 0 {
		return a, unreadable("no choice")
	}
	first := c.Choices[0]
	a = Answer{Text: first.Message.Content, Model: c.Model, Stop: first.Finish, Retrieved: c.Citations,
		Usage: Usage{c.Usage.Prompt, c.Usage.Completion}}
	for _, n := range first.Message.Annotations {
		if n.Type == "url_citation" {
			a.Cited = append(a.Cited, n.URL.URL)
		}
	}
	// The API has no member that reports a search; only gateways that search add sources.
	a.Searched = len(a.Cited)+len(a.Retrieved) > 0
	switch {
	case first.Message.Refusal != "":
		return a, incomplete("the engine refused")
	// Some local engines leave the reason empty.
	case first.Finish != "stop" && first.Finish != "":
		return a, incomplete(first.Finish)
	}
	return a, nil
}

func (chat) join(events []streamEvent) ([]byte, bool) {
	var all completion
	for _, e := range events {
		if e.Data == "[DONE]" {
			body, err := json.Marshal(all)
			return body, err == nil && len(all.Choices) > 0
		}
		var part completion
		if json.Unmarshal([]byte(e.Data), &part) != nil {
			return nil, false
		}
		if len(part.Choices) > 0 && part.Choices[0].Delta != nil {
			c := part.Choices[0]
			c.Message, c.Delta = *c.Delta, nil
			if len(all.Choices) > 0 {
				old := all.Choices[0].Message
				c.Message.Content = old.Content + c.Message.Content
				c.Message.Annotations = append(old.Annotations, c.Message.Annotations...)
			}
			all.Choices = part.Choices[:1]
			all.Choices[0] = c
		}
		all.Model = part.Model
		// It is in the last event only, or grows from event to event.
		if part.Usage != (tokens{}) {
			all.Usage = part.Usage
		}
		all.Citations = append(all.Citations, part.Citations...)
	}
	return nil, false
}
