package audit

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// numberPattern finds numbers with what surrounds them. Groups: currency or per
// cent in front, the number, and the letters or sign right behind it, which
// Romanian joins with "de". RE2 matches in time linear in the text.
var numberPattern = regexp.MustCompile(`(?i)((?:[$€£¥₹₩₽₺₪₫฿]|\b(?:usd|eur|gbp|chf|jpy|cad|aud|inr|brl|sek|nok|dkk|pln)|r\$|kr\.?|zł|fr\.)[ ]?|[%٪]|yüzde |百分之)?` +
	`([0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]+)?|[0-9][0-9.,'’]*[0-9]|[0-9])` +
	`(?:[ -]?(?:de )?(%|‰|٪|[$€£¥₹₩₽₺₪₫฿]|` + unitPhrases + `|[\p{L}\p{M}°²³µ]+(?:[״"]\p{L}{1,2})?[²³]?(?:/[\p{L}\p{M}]+[²³]?)?))?`)

// unitPhrases are the units of more than one word.
const unitPhrases = `por cien?to|pour cent|per cent[o]?|la sută|τοις εκατό|في المائة|phần trăm`

// grouped is a number with thousands groups: three digits each, and the same
// separator all through.
var grouped = regexp.MustCompile(`^[0-9]{1,3}(?:(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:\.[0-9]{3})+(?:,[0-9]+)?|(?:['’][0-9]{3})+(?:[.,][0-9]+)?|(?: [0-9]{3})+(?:[.,][0-9]+)?)$`)

// unitSymbols are the units that are written alike in many languages, in lower
// case. Together with the units of the lexicons they make a number a statistic.
// What is counted (customers, resources) is no unit: the list would have no end,
// and what it forgot would count against its language.
var unitSymbols = setOf(
	"mg", "kg", "lb", "lbs", "oz", "mm", "cm", "km", "mi", "ft", "m²", "m2", "m³", "m3", "km²", "km2", "km/h",
	"mph", "ha", "ml", "cl", "dl", "hl",
	"kw", "mw", "gw", "kwh", "mwh", "gwh", "twh", "wh", "wp", "kwp", "ah", "mah", "hz", "khz", "mhz", "ghz", "db",
	"°c", "°f", "bar", "hpa", "pa", "nm", "rpm", "px", "dpi",
	"kb", "mb", "gb", "tb", "pb", "kib", "mib", "gib", "tib", "mbps", "gbps", "mbit/s", "gbit/s", "fps", "kcal",
	"kj", "ppm", "co2e", "tco2e", "kgco2e", "gco2e", "×",
	"кг", "км", "см", "мм", "мл", "га", "км/ч", "км/год", "квт", "мвт", "гб", "мб", "тб", "م²", "كم", "کیلومتر",
	"किमी", "กม", "กก", "ซม", "มม",
	"eur", "usd", "gbp", "chf", "czk", "huf", "pln", "ron", "uah", "kr", "zł", "kč", "yen", "ns", "µs", "μs", "ms",
)

// unitLetters are the units of one letter. Unlike longer ones they differ by
// case: 5 g is a weight, 5G a network.
var unitLetters = setOf("g", "m", "t", "s", "h", "l", "L", "V", "v", "W", "w", "k", "K", "M", "x", "X", "м", "г",
	"т", "л", "ч", "с", "°")

// casedUnits are units that are words of another language in lower case.
var casedUnits = setOf("Ko", "Mo", "Go", "To", "Po")

// statistics counts the numbers of a text that measure something: those with a
// unit, a per cent sign, a currency or thousands groups. Years, telephone
// numbers, codes and the numbers of registers do not count. tag is the lexicon
// of the page, "" if its language is not known. It returns the first few for
// evidence.
func statistics(text, tag string) (n int, examples []string) {
	for line := range strings.SplitSeq(norm.NFKC.String(digits(text)), "\n") {
		if !strings.ContainsAny(line, "0123456789") {
			continue // most lines, and looking is a hundred times quicker than matching
		}
		for _, m := range numberPattern.FindAllStringSubmatchIndex(line, -1) {
			end, ok := isStatistic(line, m, tag)
			if !ok {
				continue
			}
			if n++; len(examples) < 3 {
				examples = append(examples, strings.TrimSpace(line[m[0]:end]))
			}
		}
	}
	return n, examples
}

// digits writes the decimal digits of every script in ASCII.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r <= unicode.MaxASCII || !unicode.Is(unicode.Nd, r):
			return r
		case r >= '٠' && r <= '٩':
			return '0' + r - '٠'
		case r >= '۰' && r <= '۹':
			return '0' + r - '۰'
		case r >= '०' && r <= '९':
			return '0' + r - '०'
		case r >= '๐' && r <= '๙':
			return '0' + r - '๐'
		}
		return r
	}, s)
}

// isStatistic reports whether one match of numberPattern measures something, and
// where it ends.
func isStatistic(line string, m []int, tag string) (end int, ok bool) {
	number := strings.TrimRight(line[m[4]:m[5]], " .,'’")
	before := lastRune(line[:m[0]])
	if unicode.IsLetter(before) && spaced(string(before)) || unicode.IsDigit(before) || before == '+' || before == '/' {
		return 0, false // part of a word, a telephone number or a date
	}
	end = m[4] + len(number)
	unit, joined := "", false
	if m[6] >= 0 {
		unit, joined = line[m[6]:m[7]], m[6] == m[5]
		if line[m[6]-1] == '-' && utf8.RuneCountInString(unit) < minJoined {
			unit = ""
		}
	}
	counts := isUnit(unit, tag)
	front := ""
	if m[2] >= 0 {
		front = line[m[2]:m[3]]
	}
	switch {
	case unit == "%" || unit == "‰" || unit == "٪" || unit != "" && strings.ContainsAny(unit, currencySigns):
		return m[1], true
	case front == "%" || front == "٪":
		return end, front == "٪" || percentFirst[tag] && !joined
	case front == "$" && len(number) == 1 && !counts && !priced.MatchString(line[end:]):
		return 0, false // an argument of a script
	case front != "": // money, perhaps so many thousands of it
		if counts {
			end = m[7]
		}
		return end, true
	case isYear(number), joinedToWord(line[:m[0]]), isExponent(line[:m[0]]), registered(line[:m[0]]):
		return 0, false
	case joined && isCode(number, unit), counts && isDatePart(line, m):
		return 0, false
	case counts:
		return m[1], true
	}
	// The last groups of a telephone number look like thousands.
	ahead := strings.TrimRight(line[:m[0]], " -.")
	after := lastRune(ahead)
	phone := before == '-' || len(ahead) < m[0] && (unicode.IsDigit(after) || after == ')')
	return end, grouped.MatchString(number) && !phone && !strings.HasPrefix(number, "0")
}

// percentFirst are the languages that may write the per cent sign in front: %50.
// Elsewhere %20 is a code.
var percentFirst = setOf("tr", "ar", "fa")

const currencySigns = "$€£¥₹₩₽₺₪₫฿"

// priced matches what follows a price of one digit: $5 a month, $9/seat.
var priced = regexp.MustCompile(`^(?:/| (?:a|an|per|each|off|or)\b)`)

// isCode reports whether a number with letters right behind it is a code: 0x1f,
// 07T, 0L, or five characters such as 2201G (the form of SQLSTATE).
func isCode(number, unit string) bool {
	if letters := []rune(unit); len(letters) != 1 {
		return false
	} else if unicode.IsUpper(letters[0]) && (len(number) == 4 || strings.HasPrefix(number, "0") && !strings.ContainsAny(number, ".,")) {
		return true
	}
	return unit == "x" && strings.HasPrefix(number, "0") || len(number) > 1 && number[0] == '0' && isDigit(number[1])
}

// registers are the words before the number under which a company, a tax payer or
// a bank account is registered.
var registers = setOf("hrb", "hra", "fn", "vat", "tva", "ust", "ustid", "ustidnr", "uid", "siren", "siret", "rcs",
	"kvk", "btw", "cvr", "orgnr", "nip", "regon", "krs", "ičo", "ico", "dič", "cif", "nif", "cnpj", "cui",
	"огрн", "инн", "єдрпоу", "едрпоу", "abn", "acn", "iban", "bic", "isbn", "issn", "registration", "register",
	"handelsregister", "registernummer", "steuernummer", "αφμ", "γεμη", "ח״פ")

// registered reports whether one of the last words before a number says that it
// is one of a register.
func registered(before string) bool {
	const words = 2 // RCS Paris 123 456 789, HRB Nr. 12.345
	before = strings.ToLower(strings.ToValidUTF8(before[max(0, len(before)-60):], " "))
	list := strings.FieldsFunc(before, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-:/(", r) })
	for _, word := range list[max(0, len(list)-words):] {
		if registers[strings.ReplaceAll(word, ".", "")] {
			return true
		}
	}
	return false
}

// clockOrEra matches what stands before the minutes of a time of day, the day of
// a Korean date, or a year counted by era.
var clockOrEra = regexp.MustCompile(`(?:[0-9] ?(?:時|时|點|点|시)|[0-9] ?월|令和|平成|昭和|大正|明治|民國|民国) ?$`)

// notYears matches what follows 年 in a word for something else than a time span:
// a decade, a fiscal year, a school year, an edition, a pupil.
var notYears = regexp.MustCompile(`^年(?:代|度|级|級|底|初|版|生)`)

// isDatePart reports whether a number with a unit of time is part of a date or of
// a time of day: 22일 after 11월, 22 tháng 11, 30分 after 10時, 2026年3月.
func isDatePart(line string, m []int) bool {
	unit, after := line[m[6]:m[7]], strings.TrimLeft(line[m[7]:], " ")
	year := strings.HasPrefix(unit, "年") || strings.HasPrefix(unit, "년")
	switch {
	case year && (m[5]-m[4] == 4 || notYears.MatchString(unit)):
		return true
	case (year || unit == "tháng") && after != "" && isDigit(after[0]):
		return true
	}
	return clockOrEra.MatchString(line[max(0, m[0]-20):m[0]])
}

// minJoined is how many letters a unit has that a hyphen joins to its number, as
// in 30-day: with fewer it is a part number.
const minJoined = 3

// joinedToWord reports whether a hyphen joins what follows to a word: F-16.
func joinedToWord(before string) bool {
	word, joined := strings.CutSuffix(before, "-")
	return joined && unicode.IsLetter(lastRune(word))
}

// isExponent reports whether what follows is the power of a number: ^-9.
func isExponent(before string) bool {
	return strings.HasSuffix(strings.TrimRight(before, "-−"), "^")
}

// lastRune returns the code point before an offset, 0 at the start.
func lastRune(s string) rune {
	r, size := utf8.DecodeLastRuneInString(s)
	if size == 0 {
		return 0
	}
	return r
}

func isYear(number string) bool {
	return len(number) == 4 && strings.Trim(number, "0123456789") == "" && number >= "1900" && number <= "2099"
}

// isUnit reports whether the letters behind a number are a unit on a page read
// with the lexicon of tag.
func isUnit(word, tag string) bool {
	if word == "" {
		return false
	}
	if utf8.RuneCountInString(word) == 1 {
		return unitLetters[word] || attached(word) && unitNames.has(word, tag)
	}
	lower := strings.ReplaceAll(strings.ToLower(word), `"`, "״")
	if unitSymbols[lower] || casedUnits[word] || unitNames.has(lower, tag) {
		return true
	}
	if amount, per, ok := strings.Cut(word, "/"); ok && per != "" && isUnit(amount, tag) {
		return true // so much of it per anything
	}
	return attached(word) && startsWithUnit(word, tag)
}

// maxUnit is how many characters the longest unit of a script without spaces has.
const maxUnit = 14

// particles are what Korean writes right behind a unit.
var particles = []string{"간", "의", "에", "을", "를", "은", "는", "이", "가", "과", "와", "로", "으로", "도", "만", "까지", "부터",
	"여", "짜리", "씩", "쯤", "정도", "동안", "후", "전", "안", "당", "마다", "보다", "째", "차"}

// startsWithUnit reports whether a run of letters begins with a unit. In Korean
// what follows must be a unit or a particle too, as syllables such as 원 begin many
// words.
func startsWithUnit(word, tag string) bool {
	for rest := range afterUnits(word, tag) {
		if first, _ := utf8.DecodeRuneInString(word); !unicode.Is(unicode.Hangul, first) || rest == "" {
			return true
		}
		if slices.ContainsFunc(particles, func(p string) bool { return strings.HasPrefix(rest, p) }) {
			return true
		}
		for range afterUnits(rest, tag) {
			return true
		}
	}
	return false
}

// afterUnits yields what follows each unit a run of letters begins with, the
// longest unit first.
func afterUnits(word, tag string) iter.Seq[string] {
	return func(yield func(string) bool) {
		runes := []rune(cutRunes(word, maxUnit))
		for n := len(runes); n > 0; n-- {
			if unit := string(runes[:n]); unitNames.has(unit, tag) && !yield(word[len(unit):]) {
				return
			}
		}
	}
}

// quoteMarks are the pairs that open and close a quotation.
var quoteMarks = map[rune]string{'“': "”“", '״': "״", '„': "“”", '«': "»", '»': "«", '‹': "›", '「': "」", '『': "』",
	'"': `"`, '”': "”"}

// attributionReach is how far from a quotation, in bytes, its speaker may stand.
const attributionReach = 160

// quotations counts the quoted spans of a text for which a speaker is named. tag
// is the lexicon of the page, "" if its language is not known.
func quotations(text, tag string) (n int, examples []string) {
	for line := range strings.SplitSeq(text, "\n") {
		for at := 0; at < len(line); {
			start, end, ok := nextQuote(line, at)
			if !ok {
				break
			}
			span := line[start:end]
			at = end
			if !isQuoteLength(width(span)-2) || isSample(line, start, end) || !attributes(aroundQuote(line, start, end), tag) {
				continue
			}
			if n++; len(examples) < 2 {
				examples = append(examples, span)
			}
		}
	}
	return n, examples
}

// aroundQuote returns the text beside a quotation in which its speaker is named.
func aroundQuote(line string, start, end int) string {
	around := line[max(0, start-attributionReach):start] + " \n " + line[end:min(len(line), end+attributionReach)]
	return strings.ToValidUTF8(around, "")
}

// isQuoteLength reports whether a quotation has the length of one, in columns.
func isQuoteLength(columns int) bool { return columns >= minQuote && columns <= maxQuote }

var (
	// trailer matches the field names that begin lines of commit messages and
	// headers: Signed-off-by: A U Thor.
	trailer = regexp.MustCompile(`^[“”„«»"]?\s*[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: `)

	// leadsOn and leadsHere match the arrows between a sample and its translation.
	leadsOn   = regexp.MustCompile(`^\s*(?:→|⇒|➔|➜|⟶|↔|=>|->|=|\|)`)
	leadsHere = regexp.MustCompile(`(?:→|⇒|➔|➜|⟶|↔|=>|->|=|\|)\s*$`)
)

// isSample reports whether a quoted span is data rather than speech: a trailer of
// a commit, or one side of a translation.
func isSample(line string, start, end int) bool {
	return trailer.MatchString(line[start:end]) || leadsOn.MatchString(line[end:]) ||
		leadsHere.MatchString(line[max(0, start-8):start])
}

// nextQuote finds the next quoted span at or after an offset; start and end
// include the marks. A mark that is never closed on its line is skipped.
func nextQuote(line string, from int) (start, end int, ok bool) {
	for i, r := range line[from:] {
		closers, opens := quoteMarks[r]
		if !opens {
			continue
		}
		start = from + i
		inner := start + utf8.RuneLen(r)
		limit := min(len(line), inner+4*maxQuote+4)
		if j := strings.IndexAny(line[inner:limit], closers); j >= 0 {
			end = inner + j
			_, size := utf8.DecodeRuneInString(line[end:])
			return start, end + size, true
		}
	}
	return 0, 0, false
}
