package fake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// Models that answers name: the present one, and the one before it.
const (
	Model        = "fieldmark-fake-1"
	EarlierModel = "fieldmark-fake-0"
)

// maxQuestion limits the body of a request: a question has at most 500 characters.
const maxQuestion = 64 << 10

// Brand is a brand that answers may name.
type Brand struct{ Name, Domain string }

// Engine invents answers. The same questions in the same order get the same answers. It is safe for
// concurrent use.
type Engine struct {
	// NoSearch makes answers that cite nothing, as those of an engine without search. Set it before the first question.
	NoSearch bool
	// Model is the name in answers; empty: the constant Model. Set it before the first question.
	Model string

	seed   uint64
	brands []Brand

	mu    sync.Mutex
	asked map[string]int // by question
}

// New returns an Engine. Brands that come first are named more often: the first in about two of three answers, the
// last in one of ten.
func New(seed uint64, brands ...Brand) *Engine {
	return &Engine{seed: seed, brands: brands, asked: map[string]int{}}
}

// Asked returns how often each question was answered.
func (e *Engine) Asked() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.asked)
}

// Do answers a request without a network.
func (e *Engine) Do(req *http.Request) (*http.Response, error) {
	status, body := e.handle(req)
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
}

// ServeHTTP implements http.Handler.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := e.handle(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// handle returns the response to a request.
func (e *Engine) handle(r *http.Request) (status int, body []byte) {
	var in struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	switch {
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return http.StatusNotFound, []byte(`{"error":{"message":"the fake engine supports only /chat/completions"}}`)
	case json.NewDecoder(io.LimitReader(r.Body, maxQuestion)).Decode(&in) != nil || len(in.Messages) != 1:
		return http.StatusBadRequest, []byte(`{"error":{"message":"want one message"}}`)
	}
	body, err := json.Marshal(e.answer(in.Messages[0].Content))
	if err != nil {
		panic("BUG: an answer cannot be encoded: " + err.Error())
	}
	return http.StatusOK, body
}

// answer invents an answer.
func (e *Engine) answer(question string) any {
	e.mu.Lock()
	n := e.asked[question]
	e.asked[question]++
	e.mu.Unlock()
	h := fnv.New64a()
	_, _ = h.Write([]byte(question)) // never fails
	ease := (rand.New(rand.NewPCG(e.seed, h.Sum64())).Float64() - 0.5) / 2
	r := rand.New(rand.NewPCG(e.seed+uint64(n)+1, h.Sum64()))
	var names []string
	citations := []any{}
	cites := r.Float64() < 0.8 && !e.NoSearch
	for i, b := range e.brands {
		share := 0.64 - 0.54*float64(i)/float64(max(len(e.brands)-1, 1)) + ease
		if r.Float64() > share {
			continue
		}
		names = append(names, "**"+b.Name+"**")
		if cites && r.Float64() < 0.5 && b.Domain != "" {
			citations = append(citations, citation("https://"+b.Domain+"/"))
		}
	}
	if cites {
		citations = append(citations, citation("https://en.wikipedia.org/wiki/Shop"))
	}
	text := "This answer is invented by a fake engine of Fieldmark.\n\n"
	if len(names) == 0 {
		text += "No brand comes to its mind."
	} else {
		text += "It names " + strings.Join(names, ", ") + "."
	}
	return map[string]any{"id": fmt.Sprintf("fake-%d", n), "object": "chat.completion", "model": cmp.Or(e.Model, Model),
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop",
			"message": map[string]any{"role": "assistant", "content": text, "annotations": citations}}},
		"usage": map[string]int{"prompt_tokens": len(question) / 4, "completion_tokens": len(text) / 4}}
}

func citation(address string) any {
	return map[string]any{"type": "url_citation", "url_citation": map[string]any{"url": address}}
}
