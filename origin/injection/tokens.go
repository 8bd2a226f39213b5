package injection

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the text that is examined.
const (
	// maxText is how many bytes of one text are read: more than a model reads of a page.
	maxText = 512 << 10

	// maxSentence is how many words a sentence may have before it is divided. A text
	// without full stops is read in parts of this length, which overlap by maxOverlap
	// words, so that no order is lost between two of them.
	maxSentence = 200
	maxOverlap  = 40

	// maxWord is how many bytes of a word are compared; no word in a table is longer.
	maxWord = 64

	// shortLine is how many words a line may have to be continued on the next one
	// although that looks like a new sentence: an order may have one word a line.
	shortLine = 4
)

// flags describe the place of a token.
type flags uint8

const (
	first   flags = 1 << iota // of a sentence
	clause                    // after a punctuation mark, or first in its line
	heading                   // first in a line that starts with #
	quoted                    // between quotation marks, in code or in a block quotation
	inside                    // quoted, and the sentence started before the quotation
	joint                     // follows the previous token after a punctuation mark without a space
)

// token is a word, or a character of a script without spaces.
type token struct {
	key        string // folded
	start, end int    // bytes of the text
	flags      flags
}

// scanner divides a text into sentences.
type scanner struct {
	text     string
	at       int
	sentence []token
	forced   bool // the sentence continues one that was too long

	flags    flags
	quote    rune // the mark that ends the quotation; 0 outside of one
	mid      bool // the quotation started inside a sentence
	fence    bool // in a fenced block of code
	block    bool // the line is a block quotation
	lineSize int  // tokens in this line
	buf      []byte
}

// next returns the next sentence; nil at the end. It is valid until the next call.
func (s *scanner) next() []token {
	s.sentence = s.sentence[:0]
	s.flags |= first | clause
	if s.forced {
		s.flags, s.forced = s.flags&^(first|clause), false
	}
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		switch {
		case isWordRune(r):
			s.word(r)
			if len(s.sentence) == maxSentence {
				s.forced = true
				return s.sentence
			}
			continue
		case r == '\n' || r == '\u2028' || r == '\u2029':
			s.at += size
			if s.newLine() {
				return s.sentence
			}
			continue
		case strings.HasPrefix(s.text[s.at:], "://"):
			s.skipAddress()
			continue
		}
		ends := s.mark(r, size)
		s.at += size
		if ends && len(s.sentence) > 0 {
			return s.sentence
		}
	}
	if len(s.sentence) == 0 {
		return nil
	}
	return s.sentence
}

// isWordRune reports whether r is part of a word.
func isWordRune(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '@' || r == '$'
	case r >= firstTag && r <= lastTag:
		return r != firstTag
	case r >= 0x1F150 && r <= 0x1F189, r >= firstRegional && r <= lastLetter:
		return true
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && !isInvisible(r) ||
		unicode.Is(unicode.No, r)
}

// isUnspaced reports whether words of the script are not separated by spaces.
func isUnspaced(r rune) bool {
	return r >= 0xE00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || r == 'ー'
}

// word reads the token at the current place.
func (s *scanner) word(r rune) {
	start := s.at
	buf := s.buf[:0]
	for s.at < len(s.text) {
		c, size := utf8.DecodeRuneInString(s.text[s.at:])
		if c < utf8.RuneSelf && isWordRune(c) { // nearly all characters of many texts
			if len(buf) < maxWord {
				buf = appendFolded(buf, c)
			}
			s.at++
			continue
		}
		if isInvisible(c) && c != '\n' && !(c >= firstTag && c <= lastTag) {
			s.at += size
			continue
		}
		if !isWordRune(c) || isUnspaced(c) && s.at > start {
			break
		}
		if len(buf) < maxWord {
			buf = appendFolded(buf, c)
		}
		s.at += size
		if isUnspaced(c) {
			break
		}
	}
	s.buf = buf
	if len(buf) == 0 {
		return
	}
	f := s.flags
	if s.fence || s.block || s.quote != 0 {
		f |= quoted
		if s.mid {
			f |= inside
		}
	}
	s.sentence = append(s.sentence, token{key: fixWord(buf), start: start, end: s.at, flags: f})
	s.flags = 0
	s.lineSize++
}

// leet are the digits and signs that replace letters.
var leet = [256]byte{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's'}

// fixWord replaces digits by letters in a word with both, and pairs of letters that
// look like one.
func fixWord(b []byte) string {
	letters, digits := 0, 0
	for _, c := range b {
		if leet[c] != 0 {
			digits++
		} else if c >= 'a' && c <= 'z' {
			letters++
		}
	}
	if digits > 0 && letters > digits && !bytes.HasPrefix(b, []byte("gpt")) {
		for i, c := range b {
			if leet[c] != 0 {
				b[i] = leet[c]
			}
		}
	}
	word := string(b)
	if strings.Contains(word, "rn") {
		word = strings.ReplaceAll(word, "rn", "m")
	}
	if strings.Contains(word, "vv") {
		word = strings.ReplaceAll(word, "vv", "w")
	}
	if len(word) >= minAlike {
		word = strings.ReplaceAll(word, "l", "i") // in many fonts I, l and 1 are the same
	}
	return word
}

// minAlike is the length from which l and i are the same letter. In shorter words they
// are not: "al" and "la" are articles, AI and IA the models.
const minAlike = 4

// quotes maps opening quotation marks to closing ones.
var quotes = map[rune]rune{'"': '"', '“': '”', '”': '”', '„': '“', '«': '»', '»': '«', '「': '」', '『': '』', '‚': '‘',
	'‘': '’', '`': '`', '＂': '＂', '《': '》', '‹': '›', '״': '״'}

// mark reads a character that is not part of a word. It reports whether it ends the
// sentence.
func (s *scanner) mark(r rune, size int) (ends bool) {
	switch r {
	case ' ', '\t', '\r', '\u00a0', '\'', '’', '/', '\\', '*', '_', '~', '&', '%', '+', '=':
		s.touch(r, size)
		return false
	case '。', '！', '？', '؟', '।', '۔', '…', '｡':
		s.flags |= clause
		return true
	case '.', '!', '?':
		after, _ := utf8.DecodeRuneInString(s.text[s.at+size:])
		if r == '.' && (isWordRune(after) && !isUnspaced(after) || s.isNumber()) {
			s.touch(r, size)
			return false
		}
		s.flags |= clause
		return true
	case '-', '‐', '‑', '·', '|', '#', '>':
		if s.spaced() {
			s.flags |= clause
		}
		s.touch(r, size)
		return false
	}
	if isInvisible(r) {
		return false
	}
	if s.quote != 0 && (r == s.quote || s.quote == '“' && r == '”') {
		s.quote, s.mid = 0, false
		s.flags |= clause
		return false
	}
	if end, ok := quotes[r]; ok && s.quote == 0 {
		s.quote, s.mid = end, len(s.sentence) > 0 && !s.isMember()
		if s.mid {
			return false
		}
	}
	s.flags |= clause
	return false
}

// isMember reports whether the quotation that starts here is the value of a JSON member.
func (s *scanner) isMember() bool {
	return strings.HasSuffix(strings.TrimRight(s.text[max(0, s.at-4):s.at], " "), "\":")
}

// touch sets joint if the next token follows the previous one directly after r.
func (s *scanner) touch(r rune, size int) {
	if r == ' ' || r == '\t' || r == '\r' || r == '\u00a0' || r == '\'' || r == '’' || r == '/' || s.spaced() {
		return
	}
	if after, _ := utf8.DecodeRuneInString(s.text[s.at+size:]); isWordRune(after) {
		s.flags |= joint
	}
}

// spaced reports whether there is no word directly before the current place.
func (s *scanner) spaced() bool {
	return len(s.sentence) == 0 || s.sentence[len(s.sentence)-1].end != s.at
}

// isNumber reports whether the sentence so far is only the number of an item.
func (s *scanner) isNumber() bool {
	return len(s.sentence) == 1 && strings.Trim(s.sentence[0].key, "0123456789") == ""
}

// newLine reads the start of a line and reports whether the sentence ends before it. It
// continues if the line is short or the next one does not look like a new sentence.
func (s *scanner) newLine() (ends bool) {
	line, _, _ := strings.Cut(s.text[s.at:min(len(s.text), s.at+maxWord)], "\n")
	plain := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(plain, "```") || strings.HasPrefix(plain, "~~~") {
		s.fence = !s.fence
	}
	s.block = strings.HasPrefix(plain, ">")
	if s.quote == '"' || s.quote == '`' { // the same mark opens and closes, so one may be an inch or a slip
		s.quote, s.mid = 0, false
	}
	words := s.lineSize
	s.lineSize = 0
	s.flags |= clause
	if len(s.sentence) == 0 {
		s.markHeading(plain)
		return false
	}
	r, _ := utf8.DecodeRuneInString(plain)
	marked := strings.ContainsRune("#-*+>|•", r) && plain != ""
	if words < shortLine && !marked {
		return false
	}
	if marked || unicode.IsUpper(r) || unicode.IsDigit(r) || plain == "" {
		s.markHeading(plain)
		return true
	}
	return false
}

func (s *scanner) markHeading(line string) {
	if strings.HasPrefix(line, "#") {
		s.flags |= heading
	}
}

// skipAddress skips the rest of a web address, whose words are not text.
func (s *scanner) skipAddress() {
	if n := len(s.sentence); n > 0 {
		s.sentence = s.sentence[:n-1] // the scheme
	}
	end := strings.IndexAny(s.text[s.at:], " \t\r\n)>\"'")
	if end < 0 {
		end = len(s.text) - s.at
	}
	s.at += end
	s.flags |= clause
}

// overlap prepares the scanner to repeat the last words of a sentence that was too long.
func (s *scanner) overlap() {
	if s.forced {
		s.at = s.sentence[len(s.sentence)-maxOverlap].start
	}
}

// joined returns the sentence with the words that punctuation or spaces between letters
// divide put together, or nil if it has no such words.
func joined(sentence []token) []token {
	var out []token
	changed := false
	least := minSpelled
	for i := 0; i < len(sentence); {
		end := i + 1
		if n := spelledOut(sentence[i:], least); n > 0 {
			end = i + n
			least = minSpelledNext
		} else {
			for end < len(sentence) && sentence[end].flags&joint != 0 {
				end++
			}
		}
		if end == i+1 {
			out = append(out, sentence[i])
			i = end
			continue
		}
		changed = true
		var b strings.Builder
		for _, t := range sentence[i:end] {
			b.WriteString(t.key)
		}
		whole := token{key: fixWord([]byte(b.String())), start: sentence[i].start, end: sentence[end-1].end,
			flags: sentence[i].flags}
		out = append(out, divide(whole)...)
		i = end
	}
	if !changed {
		return nil
	}
	return out
}

// minSpelled is how many single letters in a row are a word that is spelled out, and
// minSpelledNext how many are another one after it.
const (
	minSpelled     = 4
	minSpelledNext = 2
)

// spelledOut returns the number of tokens at the start of a sentence that are single
// letters with the same distance, which a wider space ends; 0 if they are less than least.
func spelledOut(sentence []token, least int) int {
	n := 0
	for ; n < len(sentence); n++ {
		r, size := utf8.DecodeRuneInString(sentence[n].key)
		if size != len(sentence[n].key) || !unicode.IsLetter(r) || isUnspaced(r) {
			break
		}
		if n >= 2 && sentence[n].start-sentence[n-1].end > max(1, sentence[1].start-sentence[0].end) {
			break
		}
	}
	if n < least {
		return 0
	}
	return n
}

// minDivided is the length from which a word that was put together may be several.
const minDivided = 12

// divide splits a long word that was put together into words of the tables.
func divide(t token) []token {
	if len(t.key) < minDivided || lexicon().isWord(t.key) {
		return []token{t}
	}
	var out []token
	for rest := t.key; rest != ""; {
		word, n := lexicon().longestWord(rest)
		part := t
		part.key, rest = word, rest[n:]
		if len(out) > 0 {
			part.flags &^= first | clause | heading
		}
		out = append(out, part)
	}
	return out
}
