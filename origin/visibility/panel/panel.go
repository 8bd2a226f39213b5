package panel

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// Version identifies the rules of matching. Other rules give other counts, so a study names it.
const Version = "panel 1.0"

// Limits of a panel.
const (
	MinBrands  = 2
	MaxBrands  = 100
	maxAliases = 50  // of a brand
	maxPhrases = 100 // near an alias, and of a fact
	maxFacts   = 50  // of a brand
	maxText    = 100 // code points of an alias or phrase
	// minAlias is the length of an alias in code points: shorter ones are found in too many words.
	minAlias = 3
	// minScriptAlias is that of an alias in a script without spaces, whose words have few characters.
	minScriptAlias = 2
	// minPlain is the number of letters from which an alias may be plain without saying so.
	minPlain = 5
)

// Kinds of an alias.
const (
	KindPlain = "plain" // counts wherever it is found
	KindWord  = "word"  // is also a common word: counts only in the same case and near other evidence
)

// Brand is a brand of a panel.
type Brand struct {
	Slug    string   `json:"slug"`
	Name    string   `json:"name"`
	Aliases []Alias  `json:"aliases"`
	Domains []string `json:"domains,omitempty"` // registrable domains
	Facts   []Fact   `json:"facts,omitempty"`
}

// Alias is a text that names a brand.
type Alias struct {
	Text string `json:"text"`
	// Kind is KindPlain or KindWord. Empty means plain for texts of several words; single words need it.
	Kind      string   `json:"kind,omitempty"`
	Case      bool     `json:"case,omitempty"`      // only in this case
	Near      []string `json:"near,omitempty"`      // one of these within 12 words; else a citation of the brand
	Not       []string `json:"not,omitempty"`       // one of these within 12 words vetoes
	Suffixes  []string `json:"suffixes,omitempty"`  // endings, besides those of Languages
	Languages []string `json:"languages,omitempty"` // primary subtags; empty means that of the study
}

// Fact is a closed question about a brand whose right and wrong answers are known.
type Fact struct {
	ID    string   `json:"id"`
	Right []string `json:"right"`
	Wrong []string `json:"wrong"`
}

// Problem is a fault of a panel: the indexes of the brand and of its alias, domain or fact; -1 for none.
type Problem struct {
	Brand  int
	Member string // name, aliases, domains or facts; empty for the brand
	Index  int
	Detail string
}

// Check returns every fault of a panel that depends on the values.
func Check(brands []Brand) (faults []Problem) {
	add := func(brand int, member string, index int, format string, args ...any) {
		faults = append(faults, Problem{brand, member, index, fmt.Sprintf(format, args...)})
	}
	if len(brands) < MinBrands || len(brands) > MaxBrands {
		add(-1, "", -1, "a panel has %d to %d brands", MinBrands, MaxBrands)
	}
	slugs, texts, domains := map[string]bool{}, map[string]string{}, map[string]string{}
	for i, b := range brands {
		if !fieldmark.ValidSlug(b.Slug) || slugs[b.Slug] {
			add(i, "slug", -1, "must be a slug that no other brand has")
		}
		slugs[b.Slug] = true
		if len(b.Aliases) == 0 || len(b.Aliases) > maxAliases {
			add(i, "aliases", -1, "must be 1 to %d", maxAliases)
		}
		for k, a := range b.Aliases {
			key := normalize(a.Text).text
			if other, taken := texts[key]; taken && other != b.Slug {
				add(i, "aliases", k, "is an alias of %s too: the brands cannot be told apart", other)
			}
			texts[key] = b.Slug
			if detail := a.check(key); detail != "" {
				add(i, "aliases", k, "%s", detail)
			}
		}
		for k, d := range b.Domains {
			if got, ok := Registrable("https://" + d); !ok || got != d {
				add(i, "domains", k, "must be a registrable domain in ASCII and lower case, such as acme.example")
			} else if other, taken := domains[d]; taken {
				add(i, "domains", k, "is a domain of %s too", other)
			}
			domains[d] = b.Slug
		}
		ids := map[string]bool{}
		for k, f := range b.Facts {
			if !fieldmark.ValidSlug(f.ID) || ids[f.ID] || len(f.Right) == 0 || len(f.Wrong) == 0 ||
				!phrases(f.Right) || !phrases(f.Wrong) || len(b.Facts) > maxFacts {
				add(i, "facts", k, "must have a unique slug as id, and right and wrong texts of 1 to %d characters",
					maxText)
			}
			ids[f.ID] = true
		}
	}
	return faults
}

// check returns what is wrong with an alias whose normalized text is key.
func (a *Alias) check(key string) string {
	n, least := utf8.RuneCountInString(key), minAlias
	first, _ := utf8.DecodeRuneInString(key)
	if isSpaceless(first) {
		least = minScriptAlias
	}
	switch {
	case n < least || utf8.RuneCountInString(a.Text) > maxText:
		return fmt.Sprintf("must have %d to %d characters", least, maxText)
	case strings.TrimSpace(key) != key || !slices.ContainsFunc([]rune(key), isLetterOrDigit):
		return "must have a letter or digit, and no space at its ends"
	case a.Kind != "" && a.Kind != KindPlain && a.Kind != KindWord:
		return "kind must be plain or word"
	// Whether a word is common cannot be decided here, so the author of the panel has to state it.
	case a.Kind == "" && !isSpaceless(first) && (n < minPlain || !strings.ContainsAny(key, " -.&'0123456789")):
		return "is short or a single word: say kind: plain if it is no common word, else kind: word"
	case !phrases(a.Near) || !phrases(a.Not) || !phrases(a.Suffixes):
		return fmt.Sprintf("near, not and suffixes must be at most %d texts of 1 to %d characters", maxPhrases, maxText)
	case a.Kind != KindWord && len(a.Near) > 0:
		return "near is for kind: word"
	}
	return ""
}

// phrases reports whether a list is short enough and each phrase has something to match.
func phrases(list []string) bool {
	return len(list) <= maxPhrases && !slices.ContainsFunc(list, func(s string) bool {
		return normalize(s).text == "" || utf8.RuneCountInString(s) > maxText
	})
}

// IsWord reports whether the matches of a brand need a review by a person before it is ranked.
func (b *Brand) IsWord() bool {
	return slices.ContainsFunc(b.Aliases, func(a Alias) bool { return a.Kind == KindWord })
}
