package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// DevelopersPage is the data of the page for developers.
type DevelopersPage struct {
	BaseURL string      // scheme and host of the site, without a slash at the end
	Version string      // of the API; empty without a reference
	Groups  []CallGroup // the reference; none where it cannot be had
}

// CallGroup is a part of the API.
type CallGroup struct {
	Name  string
	Open  bool // shown at once
	Calls []Call
}

// Call is one operation of the API.
type Call struct{ Method, Path, Text string }

// developersView is what templates/developers.html shows.
type developersView struct {
	Head head
	Page struct {
		DevelopersPage
		Reads  []Call
		Errors []errorLine
	}
}

type errorLine struct {
	Status int
	Code   fieldmark.Code
	Title  string
}

func newDevelopersView(c chrome, p *DevelopersPage) *developersView {
	v := &developersView{}
	v.Page.DevelopersPage = *p
	v.Page.Reads = reads
	for _, code := range fieldmark.Codes() {
		v.Page.Errors = append(v.Page.Errors, errorLine{code.Status(), code,
			fieldmark.Errorf(code, "").Problem("", "").Title})
	}
	slices.SortFunc(v.Page.Errors, func(a, b errorLine) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), strings.Compare(string(a.Code), string(b.Code)))
	})
	v.Head = fixedHead(c, p.BaseURL, PathDevelopers, "Fieldmark for developers",
		"Quick starts for scores, badges, llms.txt, missions and webhooks, how to verify a signature, every error, "+
			"and the API reference.")
	v.Head.Text = true
	return v
}

// reads are what an edge answers itself, also where the reference cannot be had.
var reads = []Call{
	{"GET", "/api/v1/score/{slug}",
		"A score with components, evidence and digests. ?advice=1 adds what would raise it, ?owner=1 the verified " +
			"claim, ?disputes=1 the disputes of findings. ?asOf= returns the score at a time in the past"},
	{"GET", "/api/v1/score/{slug}/history", "The score over time, by day or week"},
	{"GET", "/api/v1/leaderboard", "Ranked brands; niche, language, basis, minConfidence, limit, cursor"},
	{"GET", "/api/v1/methodology", "Every weight, input and limit of the active module"},
	{"GET", "/api/v1/modules/{digest}", "The module itself, as WebAssembly"},
	{"GET", "/api/badge/{slug}", "The badge; also .svg, .png and .json (for shields.io)"},
	{"GET", "/api/badge/{slug}/embed", "Markup that shows the badge, as JSON or by format="},
	{"POST", "/api/v1/checks", "Check any site: the response has the address of the report"},
	{"POST", "/api/v1/claims", "Claim a brand: the response has three proofs, of which one is enough"},
}

// ParseReference reads the operations of an OpenAPI document, by tag.
func ParseReference(raw []byte) (version string, groups []CallGroup, err error) {
	var doc struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return "", nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	byTag := map[string][]Call{}
	for path, methods := range doc.Paths {
		for method, raw := range methods {
			var operation struct {
				Tags    []string `json:"tags"`
				Summary string   `json:"summary"`
			}
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) ||
				json.Unmarshal(raw, &operation) != nil || len(operation.Tags) == 0 {
				continue
			}
			tag := operation.Tags[0]
			byTag[tag] = append(byTag[tag], Call{strings.ToUpper(method), path, operation.Summary})
		}
	}
	for tag, calls := range byTag {
		slices.SortFunc(calls, func(a, b Call) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
		})
		groups = append(groups, CallGroup{Name: tag, Open: tag != "administration", Calls: calls})
	}
	slices.SortFunc(groups, func(a, b CallGroup) int { return strings.Compare(b.Name, a.Name) })
	return doc.Info.Version, groups, nil
}
