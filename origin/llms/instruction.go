package llms

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The levels of text that addresses a model instead of describing a brand.
const (
	InstructionNone        = 0
	InstructionSteering    = 1 // says which pages or words to prefer
	InstructionPromotional = 2 // demands praise, or silence about competitors
	InstructionOverride    = 3 // tries to replace a model's instructions or to extract its secrets
)

// A command counts only at the start of a line or sentence: elsewhere the same
// words nearly always belong to a text about such attacks. Markup and a "system:"
// label may precede it.
const commandStart = spacedStart + `(?:please[, ]+)?(?:\[?[ \t]*system[ \t]*\]?[ \t]*:[ \t]*)?`

// instructionRule is a pattern of instructions to a model.
type instructionRule struct {
	level   int
	words   []string // in lower case; every match of pattern contains at least one of them
	pattern *regexp.Regexp
}

// instructionRules are tried in order, the most severe first. RE2 matches in time
// linear in the text, so that no input can stall it. As a fast path, a rule is
// tried only on text with one of its words, which is a hundred times faster.
var instructionRules = append(overrideRules(), []instructionRule{
	{InstructionOverride, []string{"ignore", "disregard", "forget"}, regexp.MustCompile(commandStart +
		`(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:your\s+|the\s+|my\s+)?(?:previous|prior|` +
		`above|earlier|preceding|system)\s+(?:instructions?|prompts?|rules?|directives?|messages?)`)},
	{InstructionOverride, []string{"<|", "system]", "inst]"},
		regexp.MustCompile(`(?im)<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|^[ \t]*\[/?(?:system|` +
			`inst)\][ \t]*:?`)},
	{InstructionOverride, []string{"now", "new", "override"}, regexp.MustCompile(commandStart +
		`(?:you\s+are\s+now\s+(?:a|an|the|in)\b|new\s+instructions?\s*:|override\s+(?:your|the\s+(?:model|` +
		`assistant|ai)(?:'s)?)\s+(?:instructions?|guardrails?|safety|rules?))`)},
	{InstructionOverride, []string{"prompt", "instructions", "api", "secret"}, regexp.MustCompile(commandStart +
		`(?:reveal|print|output|repeat|show|send)\s+(?:me\s+|us\s+)?your\s+(?:\w+\s+)?(?:system\s+prompt|` +
		`instructions|api\s+keys?|secrets?)`)},
	{InstructionPromotional, []string{"recommend", "suggest", "promote", "endorse"}, regexp.MustCompile(commandStart +
		`(?:always|you\s+must|must)\s+(?:recommend|suggest|promote|endorse)\b`)},
	{InstructionPromotional, []string{"first", "#1", "number", "best", "top", "leading"},
		regexp.MustCompile(commandStart +
			`(?:rank|list|place|present)\s+(?:us|this|our\s+\w+)\s+(?:as\s+)?(?:first|#1|number\s+one|the\s+` +
			`(?:best|top|leading))`)},
	{InstructionPromotional, []string{"competitor", "rival"}, regexp.MustCompile(commandStart +
		`(?:do\s+not|don['’]t|never)\s+(?:mention|recommend|reference|cite|name)\s+(?:any\s+)?(?:of\s+)?(?:our\s+|` +
		`other\s+|the\s+)?(?:competitors?|rivals?)\b`)},
	{InstructionPromotional, []string{"authority", "authoritative", "definitive", "only", "leading"},
		regexp.MustCompile(commandStart +
			`(?:cite\s+us\s+as\s+the\s+(?:authority|definitive|leading)|treat\s+(?:this|us)\s+as\s+(?:the\s+)?` +
			`(?:authoritative|definitive|only)\s+source)`)},
	{InstructionPromotional, []string{"when"}, regexp.MustCompile(commandStart +
		`when\s+(?:asked|a\s+user\s+asks?|users?\s+ask)\s+about\b[^\n]{0,120}\b(?:say|answer|respond|reply|` +
		`recommend|tell)\b`)},
	{InstructionSteering, []string{"always", "must"}, regexp.MustCompile(commandStart +
		`(?:always|must)\s+(?:mention|prefer|favou?r|use|link|cite)\b`)},
	{InstructionSteering, []string{"focus", "prioriti", "emphasi", "highlight"}, regexp.MustCompile(commandStart +
		`(?:focus\s+on|prioriti[sz]e|emphasi[sz]e|highlight)\s+(?:the\s+)?(?:following|these|our|product|pricing)\b`)},
	{InstructionSteering, []string{"note", "instruction", "guidance", "guideline"}, regexp.MustCompile(commandStart +
		`(?:notes?|instructions?|guidance|guidelines?)\s+(?:for|to)\s+(?:ai|llms?|agents?|models?|assistants?)\b`)},
}...)

// maxInstructions limits the instructions found per rule in one text, which bounds
// the cost of a file that has nothing else.
const maxInstructions = 100

// maxInstructionText is how much of an instruction is quoted, in code points.
const maxInstructionText = 120

// instruction is a place in a text that gives instructions to a model.
type instruction struct {
	level int
	line  int    // from 1
	text  string // the matched words, as a model may read them
}

// InstructionLevel returns the level of the most severe instruction in text, from
// InstructionNone to InstructionOverride.
func InstructionLevel(text string) int {
	plain := asModelReads(text)
	lower := strings.ToLower(plain)
	for _, rule := range instructionRules {
		if containsAny(lower, rule.words) && rule.pattern.MatchString(plain) {
			return rule.level
		}
	}
	return InstructionNone
}

// findInstructions returns the instructions in text in order, at most
// maxInstructions per rule. Of overlapping ones it returns the more severe.
func findInstructions(text string) []instruction {
	plain := asModelReads(text)
	lower := strings.ToLower(plain)
	type span struct{ start, end, level int }
	var spans []span
	for _, rule := range instructionRules {
		if !containsAny(lower, rule.words) {
			continue
		}
		for _, at := range rule.pattern.FindAllStringIndex(plain, maxInstructions) {
			// A match may start with the end of the previous sentence.
			start := at[1] - len(strings.TrimLeft(plain[at[0]:at[1]], ".!?:;,、。！？؟।¡«「『 \t\n"))
			overlaps := func(s span) bool { return s.start < at[1] && start < s.end }
			if !slices.ContainsFunc(spans, overlaps) {
				spans = append(spans, span{start, at[1], rule.level})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	found := make([]instruction, 0, len(spans))
	for _, s := range spans {
		words := []rune(strings.Join(strings.Fields(plain[s.start:s.end]), " "))
		if len(words) > maxInstructionText {
			words = append(words[:maxInstructionText-1], '…')
		}
		found = append(found, instruction{s.level, 1 + strings.Count(plain[:s.start], "\n"), string(words)})
	}
	return found
}

// asModelReads returns text as a model may read it: with compatibility characters
// folded, without invisible characters, and with tag characters (U+E0020 to
// U+E007E), which people do not see but a tokenizer may read, replaced by the
// letters they encode. Line feeds are kept.
func asModelReads(text string) string {
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case r >= 0xE0020 && r <= 0xE007E:
			return r - 0xE0000
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, text)
	return norm.NFKC.String(shown)
}
