package sampler

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/panel"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// Files of what people marked, one JSON object a line.
const (
	reviewFile = "review.jsonl"
	gradeFile  = "grades.jsonl"
)

// Sizes of a review, and of the text around a place.
const (
	reviewItems  = 50 // hits, and as many near-misses, of each brand
	contextBytes = 160
	// againOneIn: every fifth statement is graded twice.
	againOneIn = 5
)

// Item is a place of an answer for a person to mark.
type Item struct {
	Key    string `json:"key"` // identifies the place
	Brand  int    `json:"-"`
	Slug   string `json:"brand"`
	Engine int    `json:"-"` // not shown: graders are blind to it
	Prompt int    `json:"-"`
	Hit    bool   `json:"hit"` // of a review: it was counted
	Before string `json:"-"`
	Match  string `json:"-"`
	After  string `json:"-"`
	Why    string `json:"-"` // it was not counted
}

// mark is a line of the files.
type mark struct {
	Key    string `json:"key"`
	Brand  string `json:"brand"`
	Hit    bool   `json:"hit,omitempty"`
	Engine string `json:"engine,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Yes    bool   `json:"yes"`
	Round  int    `json:"round,omitempty"` // of a grade: 1 or 2
}

// ReviewItems returns the places that are still to be reviewed: at random, of brands whose name is a common word,
// or of one brand.
func (s *Study) ReviewItems(slug string) ([]Item, error) {
	// The marks of earlier sessions: a review may be interrupted at any item.
	known, err := s.marks(reviewFile)
	if err != nil {
		return nil, err
	}
	// By brand and by hit, so that each gets the same number of reviews.
	all := map[int]map[bool][]Item{}
	if _, err := s.count(func(c Cell, _ *engine.Answer, r *panel.Reading) {
		// Hits show false mentions, and near-misses show what the rules of an alias exclude wrongly.
		add := func(span panel.Span, hit bool) {
			b := &s.Plan.Panel[span.Brand]
			if slug != "" && b.Slug != slug || slug == "" && !b.IsWord() {
				return
			}
			if all[span.Brand] == nil {
				all[span.Brand] = map[bool][]Item{}
			}
			all[span.Brand][hit] = append(all[span.Brand][hit], s.item(c, r, span, hit))
		}
		for _, span := range r.Mentions {
			add(span, true)
		}
		for _, span := range r.Misses {
			add(span, false)
		}
	}); err != nil {
		return nil, err
	}
	var items []Item
	for b := range s.Plan.Panel {
		for _, hit := range []bool{true, false} {
			// Drawn before known marks are removed: the sample stays the same while it is reviewed.
			list := all[b][hit]
			s.shuffle(list, fmt.Sprint("review ", b, hit))
			items = append(items, list[:min(len(list), reviewItems)]...)
		}
	}
	return slices.DeleteFunc(items, func(i Item) bool {
		return slices.ContainsFunc(known, func(m mark) bool { return m.Key == i.Key })
	}), nil
}

// item returns a place with the text around it.
// Its key has the place in the text, so that marks stay valid when items are drawn again.
func (s *Study) item(c Cell, r *panel.Reading, span panel.Span, hit bool) Item {
	i := Item{Key: fmt.Sprintf("%s:%d:%s", c.id(s.Plan), span.From, s.Plan.Panel[span.Brand].Slug), Brand: span.Brand,
		Slug: s.Plan.Panel[span.Brand].Slug, Engine: c.Engine, Prompt: c.Prompt, Hit: hit, Why: span.Reason}
	// Cuts may fall into a character, whose bytes are dropped below.
	from, to := max(span.From-contextBytes, 0), min(span.To+contextBytes, len(r.Text))
	i.Before = strings.ToValidUTF8(r.Text[from:span.From], "")
	i.Match, i.After = r.Text[span.From:span.To], strings.ToValidUTF8(r.Text[span.To:to], "")
	return i
}

// shuffle orders items at random, the same at each start.
func (s *Study) shuffle(items []Item, what string) {
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	seed := sha256.Sum256([]byte(string(s.Plan.Hash) + "\n" + what))
	rand.New(rand.NewChaCha8(seed)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
}

// Review stores the judgment of a person about a match: whether it names the brand.
func (s *Study) Review(i *Item, names bool) error {
	return s.appendMark(reviewFile, mark{Key: i.Key, Brand: i.Slug, Hit: i.Hit, Yes: names})
}

// Reviews returns the record of the reviews, with an empty one for word brands without any.
func (s *Study) Reviews() ([]study.Review, error) {
	marks, err := s.marks(reviewFile)
	if err != nil {
		return nil, err
	}
	var all []study.Review
	for i := range s.Plan.Panel {
		b := &s.Plan.Panel[i]
		r := study.Review{Brand: b.Slug, Word: b.IsWord()}
		for _, m := range marks {
			switch {
			case m.Brand != b.Slug:
			case m.Hit:
				r.Hits++
				if m.Yes {
					r.Right++
				}
			default:
				r.Misses++
				if m.Yes {
					r.Wrong++
				}
			}
		}
		// The empty record of a word brand keeps it from being ranked.
		if r.Word || r.Hits+r.Misses > 0 {
			all = append(all, r)
		}
	}
	return all, nil
}

// GradeItems returns statements that name a brand, at random over engines, at most a number that are not graded
// yet. Every fifth that was graded once comes again.
func (s *Study) GradeItems(slug string, most int) ([]Item, error) {
	known, err := s.marks(gradeFile)
	if err != nil {
		return nil, err
	}
	rounds := map[string]int{}
	for _, m := range known {
		rounds[m.Key]++
	}
	var items []Item
	if _, err := s.count(func(c Cell, _ *engine.Answer, r *panel.Reading) {
		seen := map[int]bool{}
		for _, span := range r.Mentions {
			// Once for each answer, so that an answer that repeats a name is not graded more often.
			if b := &s.Plan.Panel[span.Brand]; !seen[span.Brand] && (slug == "" || b.Slug == slug) {
				seen[span.Brand] = true
				items = append(items, s.item(c, r, span, true))
			}
		}
	}); err != nil {
		return nil, err
	}
	s.shuffle(items, "grade")
	var queue, again []Item
	for n, i := range items {
		switch {
		case rounds[i.Key] == 0 && len(queue) < most:
			queue = append(queue, i)
			// At the end of the queue, so that the first grade is forgotten by then.
			if n%againOneIn == 0 {
				again = append(again, i)
			}
		case rounds[i.Key] == 1 && n%againOneIn == 0:
			again = append(again, i)
		}
	}
	return append(queue, again...), nil
}

// Grade stores whether a statement is right.
// The round is counted from the file, so that grading can be interrupted.
func (s *Study) Grade(i *Item, right bool) error {
	known, err := s.marks(gradeFile)
	if err != nil {
		return err
	}
	round := 1
	for _, m := range known {
		if m.Key == i.Key {
			round++
		}
	}
	return s.appendMark(gradeFile, mark{Key: i.Key, Brand: i.Slug, Engine: s.Plan.Engines[i.Engine].ID,
		Prompt: s.Plan.Prompts.Prompts[i.Prompt].ID, Yes: right, Round: round})
}

// Agreement returns Cohen's kappa of the statements that were graded twice; nil without any.
func (s *Study) Agreement() (*fieldmark.Agreement, error) {
	marks, err := s.marks(gradeFile)
	if err != nil {
		return nil, err
	}
	n := 0
	first := map[string]bool{}
	var same, firstYes, secondYes int
	for _, m := range marks {
		if m.Round == 1 {
			first[m.Key] = m.Yes
			continue
		}
		n++
		if first[m.Key] == m.Yes {
			same++
		}
		if first[m.Key] {
			firstYes++
		}
		if m.Yes {
			secondYes++
		}
	}
	if n == 0 {
		return nil, nil
	}
	of := func(k int) float64 { return float64(k) / float64(n) }
	// Agreement by chance, from how often each round said yes.
	chance := of(firstYes)*of(secondYes) + of(n-firstYes)*of(n-secondYes)
	kappa := 1.0 // both gave one grade throughout
	if chance < 1 {
		kappa = (of(same) - chance) / (1 - chance)
	}
	return &fieldmark.Agreement{Kappa: fieldmark.Milli(math.Round(1000 * kappa)), Statements: n}, nil
}

// grade of a statement, by indexes.
type grade struct {
	Engine, Brand, Prompt int
	Right                 bool
}

// grades returns the first grade of each statement, and the agreement of graders. Where they disagree none counts.
func (s *Study) grades() (all []grade, agreement *fieldmark.Agreement, err error) {
	marks, err := s.marks(gradeFile)
	if err != nil {
		return nil, nil, err
	}
	agreement, err = s.Agreement()
	if err != nil || agreement != nil && agreement.Kappa < fieldmark.MinKappa {
		return nil, agreement, err
	}
	for _, m := range marks {
		g := grade{Right: m.Yes, Engine: -1, Brand: -1, Prompt: -1}
		for i := range s.Plan.Engines {
			if s.Plan.Engines[i].ID == m.Engine {
				g.Engine = i
			}
		}
		for i := range s.Plan.Panel {
			if s.Plan.Panel[i].Slug == m.Brand {
				g.Brand = i
			}
		}
		for i := range s.Plan.Prompts.Prompts {
			if s.Plan.Prompts.Prompts[i].ID == m.Prompt {
				g.Prompt = i
			}
		}
		// Marks of a brand or question that is no longer in the plan have an index below 0.
		if m.Round == 1 && g.Engine >= 0 && g.Brand >= 0 && g.Prompt >= 0 {
			all = append(all, g)
		}
	}
	return all, agreement, nil
}

// marks reads a file of marks; a torn last line is dropped.
func (s *Study) marks(name string) (all []mark, err error) {
	text, err := os.ReadFile(s.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]))
	for n := 1; lines.Scan(); n++ {
		var m mark
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("line %d of %s is damaged: %w", n, name, err)
		}
		all = append(all, m)
	}
	return all, lines.Err()
}

// appendMark adds a mark to a file. The file is rewritten: it has hundreds of lines, and a line is whole or absent.
func (s *Study) appendMark(name string, m mark) error {
	text, err := os.ReadFile(s.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a mark: %w", err)
	}
	return atomicfile.Write(s.path(name), append(append(text, line...), '\n'))
}
