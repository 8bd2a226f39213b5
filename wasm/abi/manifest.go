package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// Manifest contains all texts of a module. A host reads it before it runs the
// module; every text shown with a mark comes from here.
type Manifest struct {
	Name        string                `json:"name"`
	Version     string                `json:"version"`
	ABI         string                `json:"abi"`
	Methodology fieldmark.Methodology `json:"methodology"`
	Author      string                `json:"author"`
	Licence     string                `json:"licence"` // an SPDX expression
	Inputs      []Input               `json:"inputs"`
	Components  []Component           `json:"components"`
	Gates       []Gate                `json:"gates"`
	Limits      Limits                `json:"limits"`
}

// Input is a fact that the module reads, by its id.
type Input struct {
	Name      string    `json:"name"`
	Unit      string    `json:"unit"`
	Direction Direction `json:"direction"`
}

// Direction defines how a score may move when an input grows.
type Direction string

// A larger input never lowers the score, never raises it, or may do either.
const (
	Up   Direction = "up"
	Down Direction = "down"
	None Direction = "none"
)

// Component is a group of signals. Its weight is the sum of their points.
type Component struct {
	ID      string   `json:"id"`
	Label   string   `json:"label"`
	Weight  int      `json:"weight"`
	Signals []Signal `json:"signals"`
}

// Signal is one criterion of the method.
type Signal struct {
	ID     string   `json:"id"`
	Label  string   `json:"label"`
	Points int      `json:"points"`
	Inputs []string `json:"inputs"` // names
	Unit   string   `json:"unit"`   // of its only input; share if it has several
	Advice string   `json:"advice"` // shown when the mark is not full

	// EvidenceGrade and Effort order the advice. Empty and 0: the author does not say.
	EvidenceGrade fieldmark.EvidenceGrade `json:"evidenceGrade,omitempty"`
	Effort        int                     `json:"effort,omitempty"` // 1 to MaxEffort: hours, days, weeks
}

// MaxEffort is the effort of a signal that takes weeks to raise.
const MaxEffort = 3

// UnitShare is the unit of a signal with several inputs.
const UnitShare = "share"

// Gate is an upper limit of the score.
type Gate struct {
	ID     string `json:"id"`
	Limit  int    `json:"limit"` // 0 to 100
	Reason string `json:"reason"`
}

// Limits are the resources that the module needs.
type Limits struct {
	Pages int `json:"pages"` // the declared maximum of its memory
}

// Points returns the points of all signals in the order of a result.
func (m *Manifest) Points() []int64 {
	var all []int64
	for _, c := range m.Components {
		for _, s := range c.Signals {
			all = append(all, int64(s.Points))
		}
	}
	return all
}

// Append appends the manifest in its canonical form: members in the order of the
// types, no white space, and no escapes except \" and \\.
func (m *Manifest) Append(dst []byte) ([]byte, error) {
	canonical := *m
	if canonical.Gates == nil {
		canonical.Gates = []Gate{}
	}
	return appendCanonical(dst, canonical)
}

// ParseManifest decodes and validates a manifest. It accepts only the canonical
// form, so that one manifest has one digest.
func ParseManifest(b []byte) (*Manifest, error) {
	if len(b) > MaxManifest {
		return nil, fmt.Errorf("manifest of %d bytes, at most %d", len(b), MaxManifest)
	}
	var m Manifest
	if err := decodeStrictly(b, &m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	canonical, err := m.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if err := requireCanonical(b, canonical); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return &m, nil
}

// appendCanonical appends v in the canonical form.
func appendCanonical(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decodeStrictly decodes UTF-8 JSON without unknown members.
func decodeStrictly(b []byte, v any) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// requireCanonical also rejects what a JSON decoder accepts: duplicate members or
// members in other case, missing members, nulls, and data after the value.
func requireCanonical(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Errorf("not in canonical form at byte %d", at)
}

// The patterns of names in a manifest.
var (
	idPattern      = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	unitPattern    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})(\.(0|[1-9][0-9]{0,5})){1,2}$`)
)

// The maximum lengths of names and texts in a manifest, in code points.
const (
	maxID     = 64
	maxUnit   = 32
	maxLabel  = 80  // one line of a table
	maxAdvice = 300 // one sentence, two at most
	maxURL    = 512
)

// Check returns every problem of a manifest.
func (m *Manifest) Check() error {
	var c Problems
	c.match("name", m.Name, idPattern, maxID)
	c.match("version", m.Version, versionPattern, maxID)
	c.require(m.ABI == Name, "abi", "is %q, this host supports %q", m.ABI, Name)
	c.match("methodology.id", m.Methodology.ID, idPattern, maxID)
	c.match("methodology.version", m.Methodology.Version, versionPattern, maxID)
	c.url("methodology.url", m.Methodology.URL)
	c.text("author", m.Author, maxLabel)
	c.text("licence", m.Licence, maxLabel)
	c.require(m.Limits.Pages >= 1 && m.Limits.Pages <= MaxWASIPages, "limits.pages", "is %d, may be 1 to %d",
		m.Limits.Pages, MaxWASIPages)
	units := m.checkInputs(&c)
	m.checkComponents(&c, units)
	m.checkGates(&c)
	return c.err()
}

// checkInputs checks the inputs and returns the unit of each.
func (m *Manifest) checkInputs(c *Problems) map[string]string {
	c.require(len(m.Inputs) >= 1 && len(m.Inputs) <= MaxInputs, "inputs", "are %d, may be 1 to %d", len(m.Inputs),
		MaxInputs)
	units := map[string]string{}
	for i, in := range m.Inputs {
		path := fmt.Sprintf("inputs[%d]", i)
		c.match(path+".name", in.Name, idPattern, maxID)
		c.match(path+".unit", in.Unit, unitPattern, maxUnit)
		c.require(in.Direction == Up || in.Direction == Down || in.Direction == None, path+".direction",
			"is %q, may be up, down or none", in.Direction)
		_, twice := units[in.Name]
		c.require(!twice, path+".name", "%q is named twice", in.Name)
		units[in.Name] = in.Unit
	}
	return units
}

// checkComponents checks components, signals and the sums of their points.
func (m *Manifest) checkComponents(c *Problems, units map[string]string) {
	c.require(len(m.Components) >= 1 && len(m.Components) <= MaxComponents, "components", "are %d, may be 1 to %d",
		len(m.Components), MaxComponents)
	seen := map[string]bool{}
	total, signals := 0, 0
	for i, comp := range m.Components {
		path := fmt.Sprintf("components[%d]", i)
		c.match(path+".id", comp.ID, idPattern, maxID)
		c.require(!seen[comp.ID], path+".id", "%q is used twice", comp.ID)
		seen[comp.ID] = true
		c.text(path+".label", comp.Label, maxLabel)
		c.require(len(comp.Signals) > 0, path+".signals", "must not be empty")
		sum := 0
		for j := range comp.Signals {
			s := &comp.Signals[j]
			s.check(c, fmt.Sprintf("%s.signals[%d]", path, j), units)
			c.require(!seen[s.ID], fmt.Sprintf("%s.signals[%d].id", path, j), "%q is used twice", s.ID)
			seen[s.ID] = true
			sum += s.Points
		}
		c.require(sum == comp.Weight, path+".weight", "is %d, its signals add up to %d", comp.Weight, sum)
		total += sum
		signals += len(comp.Signals)
	}
	c.require(signals <= MaxSignals, "components", "have %d signals, at most %d", signals, MaxSignals)
	c.require(total == TotalWeight, "components", "have %d points in total, must have %d", total, TotalWeight)
}

func (s *Signal) check(c *Problems, path string, units map[string]string) {
	c.match(path+".id", s.ID, idPattern, maxID)
	c.text(path+".label", s.Label, maxLabel)
	c.text(path+".advice", s.Advice, maxAdvice)
	c.require(s.Points >= 1 && s.Points <= TotalWeight, path+".points", "are %d, may be 1 to %d", s.Points, TotalWeight)
	c.require(len(s.Inputs) >= 1 && len(s.Inputs) <= MaxInputs, path+".inputs", "are %d, may be 1 to %d", len(s.Inputs),
		MaxInputs)
	seen := map[string]bool{}
	for i, name := range s.Inputs {
		_, known := units[name]
		c.require(known, fmt.Sprintf("%s.inputs[%d]", path, i), "%q is not an input", name)
		c.require(!seen[name], fmt.Sprintf("%s.inputs[%d]", path, i), "%q is named twice", name)
		seen[name] = true
	}
	want := UnitShare
	if len(s.Inputs) == 1 {
		want = units[s.Inputs[0]]
	}
	c.require(s.Unit == want, path+".unit", "is %q, must be %q", s.Unit, want)
	switch s.EvidenceGrade {
	case "", fieldmark.EvidenceReproduced, fieldmark.EvidenceDocumented, fieldmark.EvidenceOneStudy,
		fieldmark.EvidenceJudgement:
	default:
		c.require(false, path+".evidenceGrade", "is %q, may be reproduced, documented, one_study or judgement",
			s.EvidenceGrade)
	}
	c.require(s.Effort >= 0 && s.Effort <= MaxEffort, path+".effort", "is %d, may be 1 to %d", s.Effort, MaxEffort)
}

// checkGates checks the gates.
func (m *Manifest) checkGates(c *Problems) {
	c.require(len(m.Gates) <= MaxGates, "gates", "are %d, at most %d", len(m.Gates), MaxGates)
	seen := map[string]bool{}
	for i, g := range m.Gates {
		path := fmt.Sprintf("gates[%d]", i)
		c.match(path+".id", g.ID, idPattern, maxID)
		c.require(!seen[g.ID], path+".id", "%q is used twice", g.ID)
		seen[g.ID] = true
		c.require(g.Limit >= 0 && g.Limit <= 100, path+".limit", "is %d, may be 0 to 100", g.Limit)
		c.text(path+".reason", g.Reason, maxAdvice)
	}
}

// Problems is an error with everything that is wrong, so that an author sees all of
// it at once.
type Problems []string

// Error joins the problems.
func (c Problems) Error() string { return strings.Join(c, "; ") }

// add adds the problems of err, each under the given heading.
func (c *Problems) add(heading string, err error) {
	list, ok := errors.AsType[Problems](err)
	if !ok {
		*c = append(*c, err.Error())
	}
	for _, s := range list {
		*c = append(*c, heading+": "+s)
	}
}

// maxProblems limits the report about a malicious manifest.
const maxProblems = 20

// require adds a problem about the member at path unless ok.
func (c *Problems) require(ok bool, path, format string, args ...any) {
	if !ok && len(*c) < maxProblems {
		*c = append(*c, path+" "+fmt.Sprintf(format, args...))
	}
}

// match requires a value to match a pattern, within a length.
func (c *Problems) match(path, s string, pattern *regexp.Regexp, longest int) {
	c.require(len(s) <= longest && pattern.MatchString(s), path,
		"is %.*q, must match %s and have at most %d characters", longest, s, pattern, longest)
}

// text accepts printable characters only: no line breaks and no invisible
// characters, which could hide or reorder what people see.
func (c *Problems) text(path, s string, longest int) {
	n := utf8.RuneCountInString(s)
	c.require(n >= 1 && n <= longest, path, "has %d characters, may have 1 to %d", n, longest)
	c.require(utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0, path,
		"contains an unprintable character")
}

// url accepts https and paths of the same site: a manifest must not be able to put
// a script or another host behind a link.
func (c *Problems) url(path, s string) {
	c.text(path, s, maxURL)
	local := strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") && !strings.HasPrefix(s, `/\`)
	c.require(local || strings.HasPrefix(s, "https://"), path, "must begin with https:// or be a path")
}

func (c Problems) err() error {
	if len(c) == 0 {
		return nil
	}
	return c
}
