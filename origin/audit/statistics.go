package audit

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lazyPattern compiles a pattern when it is used first. A pattern with classes of letters
// takes a millisecond, which every command would pay at its start; few commands audit.
func lazyPattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// numberPattern finds numbers with their context. Groups: a currency or percent
// sign before the number, the number, and the letters or sign after it, which
// Romanian joins with "de". RE2 matches in time linear in the text.
var numberPattern = lazyPattern(`(?i)((?:[$€£¥₹₩₽₺₪₫฿]|\b(?:usd|eur|gbp|chf|jpy|cad|aud|inr|brl|sek|nok|` +
	`dkk|pln)|r\$|kr\.?|zł|fr\.)[ ]?|[%٪]|yüzde |百分之)?` +
	`([0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]+)?|[0-9][0-9.,'’]*[0-9]|[0-9])` +
	`(?:[ -]?(?:de )?(%|‰|٪|[$€£¥₹₩₽₺₪₫฿]|` + unitPhrases +
	`|[\p{L}\p{M}°²³µ]+(?:[״"]\p{L}{1,2})?[²³]?(?:/[\p{L}\p{M}]+[²³]?)?))?`)

// unitPhrases are units of several words.
const unitPhrases = `por cien?to|pour cent|per cent[o]?|la sută|τοις εκατό|في المائة|phần trăm`

// grouped matches a number with thousands separators: groups of three digits with
// the same separator.
var grouped = regexp.MustCompile(`^[0-9]{1,3}(?:(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:\.[0-9]{3})+(?:,[0-9]+)?|` +
	`(?:['’][0-9]{3})+(?:[.,][0-9]+)?|(?: [0-9]{3})+(?:[.,][0-9]+)?)$`)

// unitSymbols are units that are written alike in many languages, in lower case.
// Together with the units of the lexicons they make a number a statistic. Counted
// things (customers, resources) are not units: the list would be endless, and gaps
// in it would disadvantage a language.
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

// unitLetters are units of one letter. Their case matters: 5 g is a weight, 5G a
// network.
var unitLetters = setOf("g", "m", "t", "s", "h", "l", "L", "V", "v", "W", "w", "k", "K", "M", "x", "X", "м", "г",
	"т", "л", "ч", "с", "°")

// casedUnits are units that are words of another language in lower case.
var casedUnits = setOf("Ko", "Mo", "Go", "To", "Po")

// statistics counts the numbers of a text that measure something: those with a
// unit, a percent sign, a currency or thousands separators. Years, phone
// numbers, codes and registration numbers do not count. tag is the lexicon of the
// page, "" if its language is unknown. examples are the first few, as evidence.
func statistics(text, tag string) (n int, examples []string) {
	for line := range strings.SplitSeq(norm.NFKC.String(digits(text)), "\n") {
		if !strings.ContainsAny(line, "0123456789") {
			continue // most lines; this check is a hundred times faster than matching
		}
		for _, m := range numberPattern().FindAllStringSubmatchIndex(line, -1) {
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

// digits converts the decimal digits of all scripts to ASCII.
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

// isStatistic reports whether a match of numberPattern measures something, and
// where it ends.
func isStatistic(line string, m []int, tag string) (end int, ok bool) {
	number := strings.TrimRight(line[m[4]:m[5]], " .,'’")
	before := lastRune(line[:m[0]])
	if unicode.IsLetter(before) && spaced(string(before)) || unicode.IsDigit(before) || before == '+' || before == '/' {
		return 0, false // part of a word, a phone number or a date
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
	case front != "": // money, perhaps with a word such as thousand
		if counts {
			end = m[7]
		}
		return end, true
	case isYear(number), joinedToWord(line[:m[0]]), isExponent(line[:m[0]]), followsRegisterName(line[:m[0]]):
		return 0, false
	case joined && isCode(number, unit), counts && isDatePart(line, m):
		return 0, false
	case counts:
		return m[1], true
	}
	// The last groups of a phone number look like thousands.
	ahead := strings.TrimRight(line[:m[0]], " -.")
	after := lastRune(ahead)
	phone := before == '-' || len(ahead) < m[0] && (unicode.IsDigit(after) || after == ')')
	return end, grouped.MatchString(number) && !phone && !strings.HasPrefix(number, "0")
}

// percentFirst are the languages that may write the percent sign first: %50.
// Elsewhere %20 is a code.
var percentFirst = setOf("tr", "ar", "fa")

const currencySigns = "$€£¥₹₩₽₺₪₫฿"

// priced matches what follows a price of one digit: $5 a month, $9/seat.
var priced = regexp.MustCompile(`^(?:/| (?:a|an|per|each|off|or)\b)`)

// isCode reports whether a number followed by letters is a code: 0x1f, 07T, 0L, or
// five characters such as 2201G (the form of SQLSTATE).
func isCode(number, unit string) bool {
	if letters := []rune(unit); len(letters) != 1 {
		return false
	} else if unicode.IsUpper(letters[0]) && (len(number) == 4 || strings.HasPrefix(number, "0") &&
		!strings.ContainsAny(number, ".,")) {
		return true
	}
	return unit == "x" && strings.HasPrefix(number, "0") || len(number) > 1 && number[0] == '0' && isDigit(number[1])
}

// registers are the words before the registration number of a company, tax payer or
// bank account.
var registers = setOf("hrb", "hra", "fn", "vat", "tva", "ust", "ustid", "ustidnr", "uid", "siren", "siret", "rcs",
	"kvk", "btw", "cvr", "orgnr", "nip", "regon", "krs", "ičo", "ico", "dič", "cif", "nif", "cnpj", "cui",
	"огрн", "инн", "єдрпоу", "едрпоу", "abn", "acn", "iban", "bic", "isbn", "issn", "registration", "register",
	"handelsregister", "registernummer", "steuernummer", "αφμ", "γεμη", "ח״פ")

// followsRegisterName reports whether one of the last words before a number names a
// register.
func followsRegisterName(before string) bool {
	const words = 2 // RCS Paris 123 456 789, HRB Nr. 12.345
	before = strings.ToLower(strings.ToValidUTF8(before[max(0, len(before)-60):], " "))
	list := strings.FieldsFunc(before, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("-:/(",
			r)
	})
	for _, word := range list[max(0, len(list)-words):] {
		if registers[strings.ReplaceAll(word, ".", "")] {
			return true
		}
	}
	return false
}

// clockOrEra matches what precedes the minutes of a time of day, the day of a
// Korean date, or a year of an era.
var clockOrEra = regexp.MustCompile(`(?:[0-9] ?(?:時|时|點|点|시)|[0-9] ?월|令和|平成|昭和|大正|明治|民國|民国) ?$`)

// notYears matches words with 年 that are not time spans: a decade, fiscal year,
// school year, edition or pupil.
var notYears = regexp.MustCompile(`^年(?:代|度|级|級|底|初|版|生)`)

// isDatePart reports whether a number with a unit of time is part of a date or time
// of day: 22일 after 11월, 22 tháng 11, 30分 after 10時, 2026年3月.
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

// minJoined is the minimum number of letters of a unit joined by a hyphen, as in
// 30-day: with fewer it is a part number.
const minJoined = 3

// joinedToWord reports whether before ends with a word and a hyphen: F-16.
func joinedToWord(before string) bool {
	word, joined := strings.CutSuffix(before, "-")
	return joined && unicode.IsLetter(lastRune(word))
}

// isExponent reports whether what follows before is an exponent: ^-9.
func isExponent(before string) bool {
	return strings.HasSuffix(strings.TrimRight(before, "-−"), "^")
}

// lastRune returns the last code point of s, 0 if s is empty.
func lastRune(s string) rune {
	r, size := utf8.DecodeLastRuneInString(s)
	if size == 0 {
		return 0
	}
	return r
}

// isYear reports whether a number is likely a year.
func isYear(number string) bool {
	return len(number) == 4 && strings.Trim(number, "0123456789") == "" && number >= "1900" && number <= "2099"
}

// isUnit reports whether word is a unit on a page with the lexicon tag.
func isUnit(word, tag string) bool {
	if word == "" {
		return false
	}
	if utf8.RuneCountInString(word) == 1 {
		return unitLetters[word] || writtenTogether(word) && unitNames.has(word, tag)
	}
	lower := strings.ReplaceAll(strings.ToLower(word), `"`, "״")
	if unitSymbols[lower] || casedUnits[word] || unitNames.has(lower, tag) {
		return true
	}
	if amount, per, ok := strings.Cut(word, "/"); ok && per != "" && isUnit(amount, tag) {
		return true // an amount per anything
	}
	return writtenTogether(word) && startsWithUnit(word, tag)
}

// maxUnit is the length in characters of the longest unit in a script without
// spaces.
const maxUnit = 14

// particles are what Korean joins to a unit.
var particles = []string{"간", "의", "에", "을", "를", "은", "는", "이", "가", "과", "와", "로", "으로", "도", "만", "까지", "부터",
	"여", "짜리", "씩", "쯤", "정도", "동안", "후", "전", "안", "당", "마다", "보다", "째", "차"}

// startsWithUnit reports whether word starts with a unit. In Korean a unit or a
// particle must follow, because syllables such as 원 start many words.
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

// afterUnits yields what follows each unit that word starts with, the longest unit
// first.
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
