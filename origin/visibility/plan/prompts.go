package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/panel"
)

// Limits of a prompt set.
const (
	maxPrompts = 1_000
	// A shorter text is a keyword, which answer engines do not get as a question.
	minPromptText = 10 // code points
	maxPromptText = 500
)

// PromptSet is a set of questions for one niche, language and locale. A text never changes under its id: a changed
// question has another meaning, and needs another id.
type PromptSet struct {
	ID         string   `json:"id"`
	Version    string   `json:"version"`
	Niche      string   `json:"niche"`
	Language   string   `json:"language"`
	Locale     string   `json:"locale"`
	Provenance string   `json:"provenance"` // who wrote the questions, and how
	Prompts    []Prompt `json:"prompts"`
}

// Prompt is a question.
type Prompt struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Intent  string `json:"intent"`
	Group   string `json:"group,omitempty"` // paraphrases are one question
	Branded bool   `json:"-"`               // names a brand of the panel: asked on demand, never ranked

	at *yaml.Node
}

// read reads a set of questions. Unknown members are faults, because a misspelt one would change what is measured
// without an error. The marks after a name are those of reader.object: an exclamation mark means required.
func (s *PromptSet) read(r *reader, text []byte) {
	top := r.parse(text)
	if top == nil {
		return
	}
	r.object(top, fields{
		"id!":      r.slug(&s.ID),
		"version!": r.text(&s.Version, 1, 30),
		"niche!":   r.slug(&s.Niche),
		"language!": func(n *yaml.Node) {
			_, err := language.ParseBase(n.Value)
			r.want(err == nil, n, "must be a language such as de")
			s.Language = n.Value
		},
		"locale!": func(n *yaml.Node) {
			_, err := language.Parse(n.Value)
			r.want(err == nil && n.Value != "", n, "must be a BCP 47 language tag such as de-AT")
			s.Locale = n.Value
		},
		"provenance!": r.text(&s.Provenance, 1, 500),
		"prompts!": func(n *yaml.Node) {
			r.list(n, 1, maxPrompts, func(c *yaml.Node) { s.readPrompt(r, c) })
		},
	})
}

// Personal data that questions must not have: they go to vendors, and stay in their logs.
var (
	mailAddress = regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN.-]+\.\pL{2,}`)
	phoneNumber = regexp.MustCompile(`(?:\+|\b00)\d[\d ()/.-]{6,}\d|\b0\d{2,4}[ /-]\d{3,}[\d ]{2,}`)
)

// readPrompt adds a question. Ids are what results refer to, and a text counted twice would weigh twice.
func (s *PromptSet) readPrompt(r *reader, n *yaml.Node) {
	p := Prompt{at: n}
	r.object(n, fields{
		"id!": r.slug(&p.ID),
		"text!": func(c *yaml.Node) {
			p.at = c
			r.text(&p.Text, minPromptText, maxPromptText)(c)
			r.want(!mailAddress.MatchString(p.Text) && !phoneNumber.MatchString(p.Text), c,
				"has an e-mail address or a telephone number; questions must not contain personal data")
		},
		"intent!": r.oneOf(&p.Intent, "recommend", "compare", "buy", "how", "learn", "local"),
		"group":   r.slug(&p.Group),
	})
	for i := range s.Prompts {
		r.want(s.Prompts[i].ID != p.ID || p.ID == "", n, "another prompt has this id")
		r.want(s.Prompts[i].Text != p.Text || p.Text == "", n,
			"another prompt has this text: paraphrases share a group")
	}
	s.Prompts = append(s.Prompts, p)
}

// check marks the prompts that name a brand.
func (s *PromptSet) check(r *reader, m *panel.Matcher) {
	for i := range s.Prompts {
		s.Prompts[i].Branded = m.Branded(s.Prompts[i].Text) != ""
	}
	// By id, so that the order in the file does not change the hash.
	slices.SortFunc(s.Prompts, func(a, b Prompt) int { return cmp.Compare(a.ID, b.ID) })
	if tag, err := language.Parse(s.Locale); err == nil {
		// A question in one language with the place of another would measure neither market.
		base, _ := tag.Base()
		r.want(base.String() == s.Language, &yaml.Node{Line: 1, Column: 1}, "locale and language differ")
	}
}

// digest identifies the set in results; studies are compared only if they sent the same questions.
func (s *PromptSet) digest() fieldmark.Digest { return digest(s) }

// digest returns SHA-256 of the JSON of a value with sorted keys and texts in NFC.
func digest(v any) fieldmark.Digest {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a plan cannot be encoded: " + err.Error())
	}
	// Decoded into maps, which the encoder writes with sorted keys; numbers stay as they were written.
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var tree any
	if err := in.Decode(&tree); err != nil {
		panic("BUG: a plan cannot be decoded: " + err.Error())
	}
	text, err = json.Marshal(inNFC(tree)) // sorts the keys of maps
	if err != nil {
		panic("BUG: a plan cannot be encoded: " + err.Error())
	}
	return fieldmark.DigestOf(sha256.Sum256(text))
}

// inNFC normalizes texts (Unicode UAX 15), so that editors which save é as one or two code points give one hash.
func inNFC(v any) any {
	switch v := v.(type) {
	case string:
		return norm.NFC.String(v)
	case []any:
		for i := range v {
			v[i] = inNFC(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = inNFC(v[k])
		}
	}
	return v
}

// setHash computes the hash of what decides which questions are asked, and how. Keys, prices, budget and speed
// are not part of it: they can change during a study.
func (p *Plan) setHash() {
	var engines []map[string]any
	for i := range p.Engines {
		e := &p.Engines[i]
		engines = append(engines, map[string]any{"id": e.ID, "adapter": e.Adapter, "model": e.Model,
			"baseURL": e.BaseURL, "search": e.Search, "maxOutputTokens": e.MaxOutputTokens,
			"maxSearches": e.MaxSearches})
	}
	s := &p.Schedule
	p.Hash = digest(map[string]any{"form": 1, "study": p.Study, "prompts": p.PromptsHash, "panel": p.PanelHash,
		"locale": p.Locale, "search": p.Search, "engines": engines, "schedule": map[string]any{
			"from": s.Date(0), "days": s.Days, "runs": s.Runs, "window": []any{s.Start.String(),
				s.End.String()}, "zone": s.Zone.String()}})
}

// Contains reports whether a question has a text, such as a key, which must not be sent.
func (s *PromptSet) Contains(secret string) bool {
	return secret != "" && slices.ContainsFunc(s.Prompts, func(p Prompt) bool {
		return strings.Contains(p.Text, secret)
	})
}

// readPanel reads the brands of a panel.
func readPanel(r *reader, text []byte) (brands []panel.Brand) {
	top := r.parse(text)
	if top == nil {
		return nil
	}
	// Places in the file by member, because panel.Check has brands and no lines.
	at := map[string]*yaml.Node{}
	place := func(n *yaml.Node, brand int, member string, index int) { at[key(brand, member, index)] = n }
	place(top, -1, "", -1)
	r.object(top, fields{"brands!": func(n *yaml.Node) {
		r.list(n, 1, panel.MaxBrands, func(c *yaml.Node) {
			i := len(brands)
			place(c, i, "", -1)
			brands = append(brands, readBrand(r, c, func(n *yaml.Node, member string, index int) {
				place(n, i, member, index)
			}))
		})
	}})
	if len(r.faults) > 0 {
		return brands // values are missing: their faults would be repeated
	}
	for _, problem := range panel.Check(brands) {
		n := at[key(problem.Brand, problem.Member, problem.Index)]
		if n == nil {
			// An absent member has no place, so its brand is named.
			n = at[key(problem.Brand, "", -1)]
		}
		r.fault(n, "%s", strings.TrimSpace(problem.Member+" "+problem.Detail))
	}
	return brands
}

// key names a place. JSON keeps the parts apart.
func key(brand int, member string, index int) string {
	b, _ := json.Marshal([]any{brand, member, index})
	return string(b)
}

// readBrand reads a brand. place records where members are, for the faults that panel.Check finds.
func readBrand(r *reader, n *yaml.Node, place func(n *yaml.Node, member string, index int)) (b panel.Brand) {
	r.object(n, fields{
		"slug!": func(c *yaml.Node) { place(c, "slug", -1); r.slug(&b.Slug)(c) },
		"name!": r.text(&b.Name, 1, 100),
		"aliases!": func(c *yaml.Node) {
			r.list(c, 1, 50, func(c *yaml.Node) {
				place(c, "aliases", len(b.Aliases))
				b.Aliases = append(b.Aliases, readAlias(r, c))
			})
		},
		"domains": func(c *yaml.Node) {
			r.list(c, 0, 50, func(c *yaml.Node) {
				place(c, "domains", len(b.Domains))
				b.Domains = append(b.Domains, c.Value)
			})
		},
		"facts": func(c *yaml.Node) {
			r.list(c, 1, 50, func(c *yaml.Node) {
				place(c, "facts", len(b.Facts))
				var f panel.Fact
				r.object(c, fields{"id!": r.slug(&f.ID), "right!": r.texts(&f.Right, 100),
					"wrong!": r.texts(&f.Wrong, 100)})
				b.Facts = append(b.Facts, f)
			})
		},
	})
	return b
}

// readAlias reads an alias: a text, or a mapping.
func readAlias(r *reader, n *yaml.Node) (a panel.Alias) {
	if n.Kind == yaml.ScalarNode {
		r.text(&a.Text, 1, 100)(n)
		return a
	}
	r.object(n, fields{"text!": r.text(&a.Text, 1, 100), "kind": r.oneOf(&a.Kind, panel.KindPlain, panel.KindWord),
		"case": r.boolean(&a.Case), "near": r.texts(&a.Near, 100), "not": r.texts(&a.Not, 100),
		"suffixes": r.texts(&a.Suffixes, 100), "languages": r.texts(&a.Languages, 20)})
	return a
}
