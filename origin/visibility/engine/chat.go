package engine

import "encoding/json"

// chat is the Chat Completions API, which llama.cpp, Ollama, vLLM and gateways implement.
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

// tokens is the usage of several APIs.
type tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
}
