package engine

import (
	"encoding/json"
	"strings"
)

// anthropic is the Messages API of Anthropic with its web search; shape of 2026-07.
type anthropic struct{}

// anthropicVersion is the version of the API.
const anthropicVersion = "2023-06-01"

func (anthropic) request(c *Config, question string, before [][]byte) (string, map[string]string, any) {
	messages := []object{{"role": "user", "content": question}}
	// A paused answer is sent back unchanged as the assistant's turn, and the API continues it.
	for _, body := range before {
		var paused struct {
			Content json.RawMessage `json:"content"`
		}
		// read accepted the body, or it would not be continued.
		_ = json.Unmarshal(body, &paused)
		messages = append(messages, object{"role": "assistant", "content": paused.Content})
	}
	body := object{"model": c.Model, "max_tokens": c.MaxOutputTokens, "messages": messages}
	if c.Search != SearchOff {
		tool := searchTool("web_search_20250305", c)
		tool["name"], tool["max_uses"] = "web_search", c.MaxSearches
		body["tools"] = []object{tool}
		// Only in the first request: forced again, a continuation would search again.
		if c.Search == SearchRequired && len(before) == 0 {
			body["tool_choice"] = object{"type": "tool", "name": "web_search"}
		}
	}
	return "/v1/messages", map[string]string{"X-Api-Key": c.Key, "Anthropic-Version": anthropicVersion}, body
}

// message is a response. Unknown members are ignored, because vendors add some without a new version.
type message struct {
	Type    string         `json:"type"`
	Model   string         `json:"model"`
	Stop    string         `json:"stop_reason"`
	Content []contentBlock `json:"content"`
	Usage   struct {
		Input  int64 `json:"input_tokens"`
		Create int64 `json:"cache_creation_input_tokens"`
		Cached int64 `json:"cache_read_input_tokens"`
		Output int64 `json:"output_tokens"`
		Tools  struct {
			Searches int `json:"web_search_requests"`
		} `json:"server_tool_use"`
	} `json:"usage"`
}

type contentBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Citations []struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	} `json:"citations"`
	Content json.RawMessage `json:"content"` // of a search: a list of results, or an object that is an error
}

func (anthropic) read(bodies [][]byte) (a Answer, err error) {
	var text strings.Builder
	for _, body := range bodies {
		var m message
		if json.Unmarshal(body, &m) != nil || m.Type != "message" {
			return a, unreadable("not the JSON of a message")
		}
		a.Model, a.Stop = m.Model, m.Stop
		// Prompts are too short for the cache; what it reports is counted at the full price.
		a.Usage.Input += m.Usage.Input + m.Usage.Create + m.Usage.Cached
		a.Usage.Output += m.Usage.Output
		a.Searches += m.Usage.Tools.Searches
		// A block of another type, such as thinking, is no part of the text.
		for _, block := range m.Content {
			switch block.Type {
			case "text":
				text.WriteString(block.Text)
				for _, c := range block.Citations {
					if c.Type == "web_search_result_location" {
						a.Cited = append(a.Cited, c.URL)
					}
				}
			case "web_search_tool_result":
				urls, code := searchResults(block.Content)
				a.Retrieved = append(a.Retrieved, urls...)
				// Reaching the limit of searches is what the plan asked for; any other error makes the answer one
				// without a search.
				if code != "" && code != "max_uses_exceeded" && err == nil {
					err = incomplete("the search failed: " + code)
				}
			}
		}
	}
	a.Text, a.Searched = text.String(), a.Searches > 0
	switch {
	case err != nil:
		return a, err
	case a.Stop == "pause_turn":
		return a, ErrPaused
	// An answer that was cut names fewer brands than the whole one would.
	case a.Stop != "end_turn" && a.Stop != "stop_sequence":
		return a, incomplete(a.Stop)
	}
	return a, nil
}

// searchResults returns the addresses of a search, or the code of its error.
// Both shapes are valid: results are a list, and an error takes its place.
func searchResults(content json.RawMessage) (urls []string, code string) {
	var results []struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(content, &results) == nil {
		for _, r := range results {
			urls = append(urls, r.URL)
		}
		return urls, ""
	}
	var failed struct {
		Code string `json:"error_code"`
	}
	if json.Unmarshal(content, &failed) != nil || failed.Code == "" {
		failed.Code = "unknown"
	}
	return nil, failed.Code
}

// join builds the message that a stream describes.
func (anthropic) join(events []streamEvent) ([]byte, bool) {
	m := object{}
	var blocks []object
	for _, e := range events {
		var d struct {
			Message object `json:"message"`
			Block   object `json:"content_block"`
			Delta   object `json:"delta"`
			Usage   object `json:"usage"`
		}
		if json.Unmarshal([]byte(e.Data), &d) != nil {
			return nil, false
		}
		switch e.Type {
		case "message_start":
			m = d.Message
		case "content_block_start":
			blocks = append(blocks, d.Block)
		case "content_block_delta":
			if len(blocks) > 0 {
				extend(blocks[len(blocks)-1], d.Delta)
			}
		// Its usage is cumulative, so it replaces the values of the start.
		case "message_delta":
			m["stop_reason"] = d.Delta["stop_reason"]
			usage, _ := m["usage"].(object)
			if usage == nil {
				usage = object{}
			}
			for name, value := range d.Usage {
				usage[name] = value
			}
			m["usage"] = usage
		// Without this event the stream was cut, and the answer is not complete.
		case "message_stop":
			m["content"] = blocks
			body, err := json.Marshal(m)
			return body, err == nil
		}
	}
	return nil, false
}

// extend adds a delta to a block of content.
func extend(block, delta object) {
	if more, ok := delta["text"].(string); ok {
		text, _ := block["text"].(string)
		block["text"] = text + more
	}
	if citation, ok := delta["citation"]; ok {
		list, _ := block["citations"].([]any)
		block["citations"] = append(list, citation)
	}
}
