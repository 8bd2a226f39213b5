package audit

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Comparison of the names of a brand: in titles, texts, hosts and structured data.

// legalForms are the words for the legal form of a company, which are not part of
// its name.
var legalForms = setOf(
	"inc", "incorporated", "llc", "llp", "ltd", "limited", "plc", "corp", "corporation", "co", "company",
	"gmbh", "ag", "kg", "kgaa", "ug", "ohg", "ev", "se", "mbh",
	"sa", "sas", "sarl", "eurl", "sasu", "srl", "spa", "snc", "sl", "slu", "lda", "ltda",
	"bv", "nv", "ab", "as", "asa", "oy", "oyj", "aps", "kft", "zrt", "nyrt", "bt", "sro", "doo",
	"pty", "pte", "kk", "gk", "tbk", "tnhh", "aş", "şti", "ооо", "зао", "оао", "пао", "тов", "αε", "επε", "ικε",
	"شركة", "شرکت",
)

// legalPhrases are legal forms of several words, as returned by plainWords.
var legalPhrases = [][]string{{"sp", "z", "oo"}, {"sp", "z", "o", "o"}, {"sp", "k"}, {"spol", "s", "ro"}, {"công",
	"ty", "tnhh"}, {"công", "ty", "cổ", "phần"}}

// legalMarks are legal forms written without spaces, longer ones first.
var legalMarks = newLegalMarks(
	"株式会社", "有限会社", "合同会社", "一般社団法人", "(株)", "有限责任公司", "有限責任公司", "有限公司", "股份", "주식회사", "(주)", "בע\"מ", "בע״מ",
	"บริษัท", "จำกัด",
)

func newLegalMarks(marks ...string) *strings.Replacer {
	var pairs []string
	for _, m := range marks {
		pairs = append(pairs, norm.NFKC.String(m), " ")
	}
	return strings.NewReplacer(pairs...)
}

// plainWords returns the words of a text in comparable form: without compatibility
// forms, case and punctuation.
func plainWords(s string) []string {
	s = cases.Fold().String(norm.NFKC.String(s))
	s = legalMarks.Replace(s)
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == '\'' || r == '’':
			return -1 // S.A. and d'Or are one word each
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			return r
		}
		return ' '
	}, s)
	return strings.Fields(s)
}

// nameWords returns the words of a name without its legal form.
func nameWords(s string) []string {
	words := plainWords(s)
	kept := slices.Clone(words)
	for _, phrase := range legalPhrases {
		for i := 0; i+len(phrase) <= len(kept); i++ {
			if slices.Equal(kept[i:i+len(phrase)], phrase) {
				kept = slices.Delete(kept, i, i+len(phrase))
			}
		}
	}
	kept = slices.DeleteFunc(kept, func(w string) bool { return legalForms[w] })
	if len(kept) == 0 {
		return words // a name may consist of a legal form only
	}
	return kept
}

// mentionsName reports whether text contains the name of the brand: all its words in
// sequence, with any spacing, or the host name of its site.
func mentionsName(text, name string) bool {
	full, short := plainWords(name), nameWords(name)
	for _, t := range []string{text, withoutSuffixes(text)} {
		// The full name first: a legal form in the middle of a name, as in Smith &
		// Co Tailors, cannot be omitted.
		if words := plainWords(t); containsWords(words, full) || containsWords(words, short) {
			return true
		}
	}
	return false
}

// sameName reports whether two names are equal: one contains the other, and the
// shorter has at least half of the longer's length.
func sameName(a, b string) bool {
	x, y := nameWords(a), nameWords(b)
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	long, short := len([]rune(strings.Join(x, ""))), len([]rune(strings.Join(y, "")))
	if long < short {
		x, y, long, short = y, x, short, long
	}
	return containsWords(x, y) && 2*short >= long
}

// containsWords reports whether whole contains the words of part in sequence. Names
// in scripts without spaces, and names written together or apart, are compared by
// their letters.
func containsWords(whole, part []string) bool {
	if len(part) == 0 || len(whole) == 0 {
		return false
	}
	for i := 0; i+len(part) <= len(whole); i++ {
		if slices.Equal(whole[i:i+len(part)], part) {
			return true
		}
	}
	joined := strings.Join(part, "")
	for i := range whole {
		run := ""
		for _, w := range whole[i:] {
			if run += w; run == joined {
				return true
			}
			if len(run) > len(joined) {
				break
			}
		}
	}
	return !spaced(joined) && strings.Contains(strings.Join(whole, ""), joined)
}

// spaced reports whether the script of a text puts spaces between words.
func spaced(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
			unicode.Myanmar) {
			return false
		}
	}
	return true
}

// maxTitleName is how many words of a title may be a name.
const maxTitleName = 4

// siteName returns a name for a brand without one: the registrable label of the
// host (peaklogbooks for www.peaklogbooks.co.uk) or what the site calls itself in its
// metadata or in the titles of its pages, whichever appears in most places. The label
// wins a tie, because it is not a claim of the site.
func (f entityFacts) siteName(o *organization) string {
	label := hostLabel(f.home.url.Hostname())
	candidates := []string{label, f.home.meta("og:site_name"), f.structuredName(o), commonTitle(f.fixed)}
	joined := strings.Join(plainWords(label), "")
	for _, part := range titleParts(f.home.title) {
		words := plainWords(part)
		name := strings.Join(words, "")
		// For example Git at git-scm.com, Acme Tools at acme.com.
		if len(words) > 0 && len(words) <= maxTitleName && (strings.HasPrefix(joined, name) || strings.HasPrefix(name,
			joined)) {
			candidates = append(candidates, part)
		}
	}
	best, most := label, 0
	for _, c := range candidates {
		if strings.TrimSpace(c) == "" {
			continue
		}
		n := 0
		for _, p := range f.namedPlaces(o) {
			if p.names(c) {
				n++
			}
		}
		if n > most {
			best, most = c, n
		}
	}
	return best
}

// titleParts returns the parts of a title such as "Products – Acme".
func titleParts(title string) (parts []string) {
	for part := range strings.FieldsFuncSeq(title, func(r rune) bool { return strings.ContainsRune("|–—·:-", r) }) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// commonTitle returns the part that most titles share, as templates add the name of the site
// to each, or "" if no part is in most titles, or all titles are equal.
func commonTitle(pages []*page) string {
	titles, count := map[string]bool{}, map[string]int{}
	best, most := "", 1
	for _, p := range pages {
		if titles[p.title] {
			continue
		}
		titles[p.title] = true
		for _, part := range titleParts(p.title) {
			words := plainWords(part)
			if count[part]++; count[part] > most && len(words) > 0 && len(words) <= maxTitleName {
				best, most = part, count[part]
			}
		}
	}
	if 2*most <= len(titles) {
		return ""
	}
	return best
}

// hostLabel returns the label of a host before its public suffix, in Unicode, or
// the host itself without one.
func hostLabel(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(strings.ToLower(host), "."))
	if err != nil {
		return host
	}
	label, _, _ := strings.Cut(domain, ".")
	if u, err := idna.Display.ToUnicode(label); err == nil {
		return u
	}
	return label
}

// withoutSuffixes replaces each host name in a text by its label: dokuna for
// dokuna.de.
func withoutSuffixes(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		w = strings.ToLower(strings.Trim(w, `.,:;!?()[]"'“”„«»/`))
		if _, after, ok := strings.Cut(w, "://"); ok {
			w = after
		}
		if suffix, icann := publicsuffix.PublicSuffix(w); icann && len(suffix) < len(w) && !strings.ContainsAny(w,
			"/@") {
			words[i] = hostLabel(w)
		}
	}
	return strings.Join(words, " ")
}
