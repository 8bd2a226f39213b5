package engine

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// openAI is the Responses API of OpenAI with its web search; shape of 2026-07.
type openAI struct{}

// object is a JSON object of a request.
type object = map[string]any

func bearer(c *Config) map[string]string {
	if c.Key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + c.Key}
}

// location is the approximate place of the person who asks, which engines use for local questions.
func location(c *Config) object {
	if c.Country == "" {
		return nil
	}
	return object{"type": "approximate", "country": c.Country}
}

// searchTool returns the tool that searches.
func searchTool(kind string, c *Config) object {
	tool := object{"type": kind}
	if place := location(c); place != nil {
		tool["user_location"] = place
	}
	return tool
}

// Without a search no tool may be chosen, so that a model with built-in tools cannot bill one.
func (openAI) request(c *Config, question string, _ [][]byte) (string, map[string]string, any) {
	body := object{"model": c.Model, "input": question, "store": false, "max_output_tokens": c.MaxOutputTokens,
		"tool_choice": "none"}
	if c.Search != SearchOff {
		body["tools"] = []object{searchTool("web_search", c)}
		body["max_tool_calls"] = c.MaxSearches
		// Without it the response has only cited sources, not those that were read.
		body["include"] = []string{"web_search_call.action.sources"}
		body["tool_choice"] = "auto"
		if c.Search == SearchRequired {
			body["tool_choice"] = "required"
		}
	}
	return "/v1/responses", bearer(c), body
}

func (openAI) join(events []streamEvent) ([]byte, bool) { return joinResponses(events) }

// response is what the Responses APIs have in common.
type response struct {
	Status     string `json:"status"`
	Model      string `json:"model"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output    []outputItem `json:"output"`
	Citations []string     `json:"citations"` // xAI
	Usage     struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`

		Ticks *int64 `json:"cost_in_usd_ticks"` // xAI
		Tools struct {
			WebSearch *int `json:"web_search_calls"`
		} `json:"server_side_tool_usage_details"` // xAI
		Cost struct {
			Total json.Number `json:"total_cost"`
		} `json:"cost"` // Perplexity
	} `json:"usage"`
}

type outputItem struct {
	Type    string `json:"type"`
	Content []struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Annotations []annotation `json:"annotations"`
	} `json:"content"`
	Action struct {
		Type    string   `json:"type"`
		Sources []source `json:"sources"`
	} `json:"action"`
	Results []struct {
		ID  json.RawMessage `json:"id"`
		URL string          `json:"url"`
	} `json:"results"` // Perplexity
}

type annotation struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// source is an address: a string, or an object with one.
type source string

// UnmarshalJSON implements json.Unmarshaler.
func (s *source) UnmarshalJSON(b []byte) error {
	var o struct {
		URL string `json:"url"`
	}
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	err := json.Unmarshal(b, &o)
	*s = source(o.URL)
	return err
}

// readResponse reads what the Responses APIs have in common.
func readResponse(bodies [][]byte) (r response, a Answer, err error) {
	if err := json.Unmarshal(bodies[len(bodies)-1], &r); err != nil {
		return r, a, unreadable("not the JSON of a response")
	}
	a = Answer{Model: r.Model, Stop: r.Status, Usage: Usage{r.Usage.Input, r.Usage.Output}}
	var texts []string
	for _, item := range r.Output {
		switch item.Type {
		case "message":
			for _, c := range item.Content {
				// A refusal names no brand, but for another reason than an answer without brands.
				if c.Type == "refusal" {
					return r, a, incomplete("the engine refused")
				}
				if c.Type == "output_text" {
					texts = append(texts, c.Text)
				}
				for _, n := range c.Annotations {
					if n.Type == "url_citation" {
						a.Cited = append(a.Cited, n.URL)
					}
				}
			}
		case "web_search_call":
			// Opening a page and finding a text in it are free.
			if item.Action.Type == "search" || item.Action.Type == "" {
				a.Searches++
			}
			for _, s := range item.Action.Sources {
				if s != "" && !strings.HasPrefix(string(s), "oai-") { // feeds of the vendor, such as oai-weather
					a.Retrieved = append(a.Retrieved, string(s))
				}
			}
		}
	}
	a.Text, a.Searched = strings.Join(texts, "\n\n"), a.Searches > 0
	if r.Status != "completed" {
		// Any JSON object decodes, so the status identifies a response.
		if r.Status == "" {
			return r, a, unreadable("no status")
		}
		return r, a, incomplete(r.Status + " " + r.Incomplete.Reason)
	}
	return r, a, nil
}

func (openAI) read(bodies [][]byte) (Answer, error) {
	_, a, err := readResponse(bodies)
	return a, err
}

// xAI is the Responses API of xAI; shape of 2026-10.
type xAI struct{}

// The API has no limit of searches, so MaxSearches bounds only the reserve. The sampler stops an engine that exceeds
// it.
func (xAI) request(c *Config, question string, _ [][]byte) (string, map[string]string, any) {
	body := object{"model": c.Model, "input": question, "store": false, "max_output_tokens": c.MaxOutputTokens}
	if c.Search != SearchOff {
		body["tools"] = []object{{"type": "web_search"}}
		if c.Search == SearchRequired {
			body["tool_choice"] = "required"
		}
	}
	return "/v1/responses", bearer(c), body
}

func (xAI) join(events []streamEvent) ([]byte, bool) { return joinResponses(events) }

// inlineCitation is how xAI writes citations into the text; the annotations have them too.
var inlineCitation = regexp.MustCompile(`\[\[\d+\]\]\([^)\s]*\)`)

// ticksPerNano: 10 ticks are a nano-dollar, as 10¹⁰ ticks are a dollar.
const ticksPerNano = 10

func (xAI) read(bodies [][]byte) (Answer, error) {
	r, a, err := readResponse(bodies)
	// They are not words of the answer, and their addresses could contain the name of a brand.
	a.Text = inlineCitation.ReplaceAllString(a.Text, "")
	a.Retrieved = append(a.Retrieved, r.Citations...)
	// The bill of the vendor is better than prices of a plan, which may be old.
	if r.Usage.Ticks != nil && *r.Usage.Ticks >= 0 {
		// Rounded up, so that a sum of costs is never below the bill.
		cost := (*r.Usage.Ticks + ticksPerNano - 1) / ticksPerNano
		a.Cost = &cost
	}
	if n := r.Usage.Tools.WebSearch; n != nil {
		a.Searches, a.Searched = *n, *n > 0
	}
	return a, err
}

// perplexity is the Agent API of Perplexity; shape of 2026-10. No preset is sent: presets change silently.
type perplexity struct{}

// request sends the country only: a more exact place would need the address of a person.
func (perplexity) request(c *Config, question string, _ [][]byte) (string, map[string]string, any) {
	body := object{"model": c.Model, "input": question, "store": false, "max_output_tokens": c.MaxOutputTokens}
	if c.Search != SearchOff {
		tool := object{"type": "web_search"}
		if c.Country != "" {
			tool["user_location"] = object{"country": c.Country}
		}
		body["tools"] = []object{tool}
	}
	return "/v1/agent", bearer(c), body
}

func (perplexity) join(events []streamEvent) ([]byte, bool) { return joinResponses(events) }

// numbered is a reference to a search result, [3].
var numbered = regexp.MustCompile(`\[(\d{1,4})\]`)

// read takes the results of searches as retrieved, and those that the text refers to as cited.
func (perplexity) read(bodies [][]byte) (Answer, error) {
	r, a, err := readResponse(bodies)
	byID := map[string]string{}
	searches := 0
	for _, item := range r.Output {
		if item.Type != "search_results" {
			continue
		}
		searches++
		for _, result := range item.Results {
			a.Retrieved = append(a.Retrieved, result.URL)
			byID[strings.Trim(string(result.ID), `"`)] = result.URL
		}
	}
	// Results are listed by search, whether or not the calls are.
	a.Searches, a.Searched = max(a.Searches, searches), max(a.Searches, searches) > 0
	// Annotations are exact; the numbers in a text can also mean something else.
	if len(a.Cited) == 0 {
		for _, m := range numbered.FindAllStringSubmatch(a.Text, -1) {
			if address, ok := byID[m[1]]; ok {
				a.Cited = append(a.Cited, address)
			}
		}
	}
	if cost, ok := nanoDollars(r.Usage.Cost.Total); ok {
		a.Cost = &cost
	}
	return a, err
}

// nanoDollars converts an amount in dollars, rounded up. An amount of a million or more is a mistake.
func nanoDollars(n json.Number) (int64, bool) {
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < 0 || f >= 1e6 {
		return 0, false
	}
	nano := int64(f * 1e9)
	if float64(nano) < f*1e9 {
		nano++
	}
	return nano, true
}
