package site

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// MethodPage is the data of the page that publishes the method.
type MethodPage struct {
	BaseURL  string // scheme and host of the site, without a slash at the end
	Method   fieldmark.Method
	Manifest []byte // of the module, as JSON: names, weights, points, gates

	Validity *fieldmark.Validity // nil where it cannot be had just now
}

// methodView is what templates/method.html shows.
type methodView struct {
	Head       head
	Page       *MethodPage
	Components []methodComponent
	Gates      []methodGate
	Weights    string
	WeightsBy  []string
	Visibility methodReason
	Grades     []methodGrade
	Reported   []fieldmark.MethodReason
	Findings   []fieldmark.MethodFinding
	Sources    []methodSource
	Validity   *validityView // nil where it cannot be had just now
}

// methodGrade is an evidence grade with the signals that have it.
type methodGrade struct {
	fieldmark.EvidenceRule
	Name            string
	Signals, Points int
}

type methodReason struct {
	Why     string
	Sources []string // ids
}

type methodComponent struct {
	ID      string         `json:"id"`
	Label   string         `json:"label"`
	Weight  int            `json:"weight"`
	Signals []methodSignal `json:"signals"`
	Reason  methodReason   `json:"-"`
}

type methodSignal struct {
	ID     string       `json:"id"`
	Label  string       `json:"label"`
	Points int          `json:"points"`
	Unit   string       `json:"unit"`
	Inputs []string     `json:"inputs"`
	Advice string       `json:"advice"`
	Reason methodReason `json:"-"`
	Curves []string     `json:"-"`

	EvidenceGrade fieldmark.EvidenceGrade `json:"evidenceGrade"`
	Effort        int                     `json:"effort"`
}

// Evidence and EffortWord are empty if the module does not state them.
func (s *methodSignal) Evidence() string   { return evidenceNames[s.EvidenceGrade] }
func (s *methodSignal) EffortWord() string { return effortNames[s.Effort] }

var evidenceNames = map[fieldmark.EvidenceGrade]string{fieldmark.EvidenceReproduced: "reproduced",
	fieldmark.EvidenceDocumented: "documented", fieldmark.EvidenceOneStudy: "one study",
	fieldmark.EvidenceJudgement: "judgement"}

var effortNames = map[int]string{1: "hours", 2: "days", 3: "weeks"}

type methodGate struct {
	ID     string       `json:"id"`
	Limit  int          `json:"limit"`
	Text   string       `json:"reason"`
	Reason methodReason `json:"-"`
}

type methodSource struct {
	fieldmark.MethodSource
	Basis string
}

// readings are the descriptions of how a source was read. Most were read in reports by
// others, which the page says once.
var readings = map[string]string{"primary": "read in the original", "measured": "measured here"}

func newMethodView(c chrome, p *MethodPage) (*methodView, error) {
	v := &methodView{Page: p}
	v.Head = fixedHead(c, p.BaseURL, PathMethodology, "How GEO readiness scores are made",
		"Every weight, curve, gate and rule of the "+p.Method.Methodology.ID+
			" method of generative engine optimisation (GEO), with the reason and the evidence behind each number.")
	v.Validity = newValidityView(p.Validity)
	v.Head.Kind, v.Head.Text = "article", v.Validity == nil || v.Validity.Tables == nil
	data := webPage(p.BaseURL, PathMethodology, v.Head.Title, v.Head.Description)
	data["@type"], data["headline"], data["author"] = "TechArticle", "How scores are made", publisher(p.BaseURL)
	v.Head.Data = data
	var manifest struct {
		Components []methodComponent `json:"components"`
		Gates      []methodGate      `json:"gates"`
	}
	if err := json.Unmarshal(p.Manifest, &manifest); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	v.Components, v.Gates = manifest.Components, manifest.Gates
	r := p.Method.Reasons
	if r == nil {
		return v, nil
	}
	v.Weights, v.WeightsBy = r.Weights, r.WeightSources
	v.Visibility = reasonOf(r.Visibility)
	for i := range v.Components {
		c := &v.Components[i]
		for _, why := range r.Components {
			if why.ID == c.ID {
				c.Reason = reasonOf(why)
			}
		}
		for j := range c.Signals {
			s := &c.Signals[j]
			for _, why := range r.Signals {
				if why.ID == s.ID {
					s.Reason, s.Curves = reasonOf(why.MethodReason), curvesOf(why)
				}
			}
		}
	}
	for i := range v.Gates {
		if at := slices.IndexFunc(r.Gates,
			func(g fieldmark.GateReason) bool { return g.ID == v.Gates[i].ID }); at >= 0 {
			v.Gates[i].Reason = reasonOf(r.Gates[at].MethodReason)
		}
	}
	v.Grades, v.Reported, v.Findings = gradesOf(r.Grades, v.Components), r.Reported, r.Findings
	for _, s := range r.Sources {
		v.Sources = append(v.Sources, methodSource{s, readings[s.Read]})
	}
	return v, nil
}

// gradesOf counts the signals and points of each evidence grade.
func gradesOf(rules []fieldmark.EvidenceRule, components []methodComponent) []methodGrade {
	var all []methodGrade
	for _, rule := range rules {
		g := methodGrade{EvidenceRule: rule, Name: evidenceNames[rule.Grade]}
		for _, c := range components {
			for _, s := range c.Signals {
				if s.EvidenceGrade == rule.Grade {
					g.Signals, g.Points = g.Signals+1, g.Points+s.Points
				}
			}
		}
		all = append(all, g)
	}
	return all
}

func reasonOf(r fieldmark.MethodReason) methodReason { return methodReason{r.Why, r.Sources} }

// curvesOf describes how each part of a signal is measured.
func curvesOf(s fieldmark.SignalReason) []string {
	var all []string
	for _, p := range s.Parts {
		line := p.Input
		if p.Weight > 1 {
			line = strconv.Itoa(p.Weight) + " × " + line
		}
		all = append(all, line+": "+curveWords(p.Curve))
	}
	if len(all) > 1 && s.Combine == "min" {
		all = append(all, "the lowest of these counts")
	}
	return all
}

// curveWords writes a curve of a scorecard: linear points of value and share, or
// steps up to a value.
func curveWords(raw json.RawMessage) string {
	var c struct {
		Linear [][2]json.Number `json:"linear"`
		Steps  [][2]json.Number `json:"steps"`
		Beyond json.Number      `json:"beyond"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return string(raw)
	}
	var parts []string
	for _, p := range c.Linear {
		parts = append(parts, fmt.Sprintf("%s gives %s", p[0], p[1]))
	}
	for _, p := range c.Steps {
		parts = append(parts, fmt.Sprintf("up to %s gives %s", p[0], p[1]))
	}
	if c.Linear != nil {
		if slices.Equal(parts, []string{"0 gives 0", "1 gives 1"}) {
			return "in proportion"
		}
		return strings.Join(parts, ", ") + ", linear between"
	}
	return strings.Join(parts, ", ") + ", beyond gives " + string(c.Beyond)
}
