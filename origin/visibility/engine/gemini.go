package engine

import "encoding/json"

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
