package injection

import (
	"regexp"
	"strings"
)

// chatToken matches the control tokens by which models separate the turns of a
// conversation: ChatML, Llama 2 and 3, Gemma, and the end of text.
var chatToken = regexp.MustCompile(`(?i)<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|` +
	`begin_of_text|start_header_id|end_header_id)\|>|\[/INST\]|\[INST\]|<</?SYS>>|<(?:start|end)_of_turn>`)

// maxTokenWords is how many bytes after a control token are examined and quoted.
const maxTokenWords = 120

// chatTokens finds chat control tokens outside of code. A token is a match only with
// text of its turn, so that a list of tokens does not match.
func (f *finder) chatTokens() {
	if !strings.ContainsAny(f.text, "<[") {
		return
	}
	end := 0
	for _, at := range chatToken.FindAllStringIndex(f.text, MaxMatches) {
		if at[0] < end || f.isCode(at[0]) {
			continue
		}
		rest := f.text[at[1]:min(len(f.text), at[1]+maxTokenWords)]
		rest, _, _ = strings.Cut(rest, "<|")
		rest, _, _ = strings.Cut(rest, "[/")
		rest, _, _ = strings.Cut(strings.TrimLeft(rest, " \t\r\n"), "\n")
		token := f.text[at[0]:at[1]]
		if len(strings.Fields(rest)) == 0 && !strings.Contains(token, "/") || token == "[inst]" ||
			mentionsTokens(f.line(at[0])) {
			continue
		}
		end = at[1] + len(f.text[at[1]:min(len(f.text), at[1]+maxTokenWords)])
		if i := strings.Index(f.text[at[1]:end], rest); i >= 0 {
			end = at[1] + i + len(rest)
		}
		f.found = append(f.found, Match{Kind: ChatToken, Start: at[0], End: end})
	}
}

// line returns the line around an offset, at most 4*maxTokenWords bytes of it.
func (f *finder) line(at int) string {
	start := max(0, at-2*maxTokenWords)
	before := f.text[start:at]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ := strings.Cut(f.text[at:min(len(f.text), at+2*maxTokenWords)], "\n")
	return before + after
}

// tokenTopic matches words of texts about control tokens.
var tokenTopic = regexp.MustCompile(`(?i)\b(?:chatml|chat templates?|tokeni[sz]ers?|(?:special|control|stop) tokens?|` +
	`tokens?\b|delimiters?|prompt format)`)

func mentionsTokens(line string) bool { return tokenTopic.MatchString(line) }

// isCode reports whether an offset is in a code span or a fenced block.
func (f *finder) isCode(at int) bool {
	if strings.Count(f.text[:at], "\n```")%2 == 1 {
		return true
	}
	line := f.text[strings.LastIndexByte(f.text[:at], '\n')+1 : at]
	return strings.Count(line, "`")%2 == 1
}
