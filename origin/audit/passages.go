package audit

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// numberPattern finds numbers with what surrounds them. Groups: currency in
// front, the number, and the letters or sign right behind it. RE2 matches in
// time linear in the text.
var numberPattern = regexp.MustCompile(`(?i)((?:[$€£¥₹₩₽₺₪₫฿]|\b(?:usd|eur|gbp|chf|jpy|cad|aud|inr|brl|sek|nok|dkk|pln)|r\$|kr\.?|zł|fr\.)[ ]?)?` +
	`([0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]+)?|[0-9][0-9.,'’]*[0-9]|[0-9])` +
	`[ -]?(%|‰|٪|[$€£¥₹₩₽₺₪₫]|[\p{L}°²³µ]+[²³]?(?:/[\p{L}]+[²³]?)?)?`)

// grouped is a number with thousands groups: three digits each, and the same
// separator all through.
var grouped = regexp.MustCompile(`^[0-9]{1,3}(?:(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:\.[0-9]{3})+(?:,[0-9]+)?|(?:['’][0-9]{3})+(?:[.,][0-9]+)?|(?: [0-9]{3})+(?:[.,][0-9]+)?)$`)

// units are what makes a number a statistic, in lower case: measures, money,
// shares, large numbers and time spans in the languages we read. What is
// counted (customers, resources) is no unit: the list would have no end, and
// what it forgot would count against its language.
var units = setOf(
	// measures
	"mg", "g", "kg", "t", "lb", "lbs", "oz", "mm", "cm", "m", "km", "mi", "ft", "m²", "m2", "m³", "m3", "km²", "km2", "km/h", "mph", "ha", "ml", "cl", "dl", "l", "hl",
	"w", "kw", "mw", "gw", "kwh", "mwh", "gwh", "twh", "wh", "wp", "kwp", "v", "ah", "mah", "hz", "khz", "mhz", "ghz", "db", "°c", "°f", "k", "bar", "hpa", "pa", "nm", "rpm", "px", "dpi",
	"kb", "mb", "gb", "tb", "pb", "kib", "mib", "gib", "tib", "byte", "bytes", "octets", "kilobytes", "megabyte", "megabytes", "gigabyte", "gigabytes", "terabyte", "terabytes", "petabytes", "kilobyte", "tebibytes", "gibibytes", "mebibytes", "kibibytes", "mbps", "gbps", "mbit/s", "gbit/s", "fps", "kcal", "kj", "ppm", "co2e", "tco2e", "kgco2e", "gco2e", "x", "×", "times", "fold", "fach", "mal", "fois", "veces", "volte", "vezes", "keer",
	"metres", "meters", "meter", "mètres", "metros", "metri", "kilometres", "kilometers", "kilometer", "kilomètres", "kilómetros", "chilometri", "quilômetros", "miles", "hectares", "hektar", "hectare", "ettari", "hectáreas",
	"tonnes", "tons", "tonnen", "toneladas", "tonnellate", "kilos", "kilogrammes", "kilogramm", "grams", "gramm", "grammes", "litres", "liters", "liter", "litros", "litri", "watts", "watt",
	// shares and large numbers
	"percent", "percentage", "prozent", "pct", "procent", "thousand", "million", "millions", "billion", "billions", "trillion", "tausend", "mio", "mrd", "millionen", "milliarden", "milliard", "milliards", "mille",
	"mil", "millones", "milhões", "milhão", "bilhões", "milioni", "miliardi", "mila", "miljoen", "miljard", "bn", "mn", "万", "億", "兆", "亿", "만", "억", "倍", "割", "مليون", "مليار", "ألف", "אלף", "מיליון", "מיליארד", "млн", "млрд", "тыс",
	// money
	"euro", "euros", "eur", "dollars", "usd", "gbp", "pounds", "chf", "francs", "franken", "yen", "円", "元", "人民币", "원", "ریال", "ريال", "درهم", "دينار", "שקל", "שקלים", "руб", "zł", "kč", "kr", "reais", "pesos",
	// time spans
	"ns", "µs", "μs", "nanosecond", "nanoseconds", "microsecond", "microseconds", "millisecond", "milliseconds", "millisekunden", "millisecondes", "milisegundos", "millisecondi",
	"ms", "s", "sec", "secs", "seconds", "second", "min", "mins", "minutes", "minute", "h", "hr", "hrs", "hours", "hour", "days", "day", "weeks", "week", "months", "month", "years", "year", "decades",
	"sekunden", "minuten", "stunden", "stunde", "tage", "tagen", "tag", "wochen", "monate", "monaten", "jahre", "jahren", "jahr", "secondes", "heures", "heure", "jours", "jour", "semaines", "mois", "ans", "années",
	"segundos", "minutos", "horas", "días", "semanas", "meses", "años", "secondi", "minuti", "ore", "giorni", "settimane", "mesi", "anni", "dias", "anos", "seconden", "minuten", "uur", "dagen", "weken", "maanden", "jaar",
	"秒", "分", "分間", "時間", "日間", "週間", "ヶ月", "か月", "カ月", "年間", "年以上", "小时", "分钟", "天", "个月", "시간", "분", "개월", "دقيقة", "ساعة", "ساعات", "يوم", "يوما", "يومًا", "أيام", "شهر", "سنة", "عاما", "عامًا", "سنوات", "דקות", "שעות", "ימים", "שנים", "שנה",
)

// casedUnits are units that are words of another language in lower case.
var casedUnits = setOf("Ko", "Mo", "Go", "To", "Po")

// spacelessUnits are units of scripts without spaces; they begin the run of
// letters behind the number rather than being all of it.
var spacelessUnits = []string{"万", "億", "兆", "亿", "만", "억", "倍", "割", "円", "元", "원", "秒", "分", "時間", "日間", "週間", "ヶ月", "か月", "カ月", "年間", "年以上", "小时", "天", "个月", "시간", "분", "개월"}

// statistics counts the numbers of a text that measure something: those with a
// unit, a per cent sign, a currency or thousands groups. Years and telephone
// numbers are none. It returns the first few for evidence.
func statistics(text string) (n int, examples []string) {
	for line := range strings.SplitSeq(norm.NFKC.String(digits(text)), "\n") {
		if !strings.ContainsAny(line, "0123456789") {
			continue // most lines, and looking is a hundred times quicker than matching
		}
		for _, m := range numberPattern.FindAllStringSubmatchIndex(line, -1) {
			end, ok := isStatistic(line, m)
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

// isStatistic judges one match of numberPattern and says where it ends.
func isStatistic(line string, m []int) (end int, ok bool) {
	number := strings.TrimRight(line[m[4]:m[5]], " .,'’")
	before := lastRune(line[:m[0]])
	if unicode.IsLetter(before) && spaced(string(before)) || unicode.IsDigit(before) || before == '+' || before == '/' {
		return 0, false // part of a word, a telephone number or a date
	}
	end = m[4] + len(number)
	unit := ""
	if m[6] >= 0 {
		unit = line[m[6]:m[7]]
		if line[m[6]-1] == '-' && utf8.RuneCountInString(unit) < minJoined {
			unit = ""
		}
	}
	switch {
	case unit == "%" || unit == "‰" || unit == "٪" || unit != "" && strings.ContainsAny(unit, "$€£¥₹₩₽₺₪₫"):
		return m[1], true
	case m[2] >= 0: // money, perhaps so many thousands of it
		if isUnit(unit) {
			end = m[7]
		}
		return end, true
	case isYear(number), joinedToWord(line[:m[0]]), isExponent(line[:m[0]]):
		return 0, false
	case unit == "x" && strings.HasPrefix(number, "0"): // 0x and 04x are how programs write numbers
		return 0, false
	case isUnit(unit):
		return m[1], true
	}
	// The last groups of a telephone number look like thousands.
	ahead := strings.TrimRight(line[:m[0]], " -.")
	after := lastRune(ahead)
	phone := before == '-' || len(ahead) < m[0] && (unicode.IsDigit(after) || after == ')')
	return end, grouped.MatchString(number) && !phone && !strings.HasPrefix(number, "0")
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

func isUnit(word string) bool {
	if word == "" {
		return false
	}
	if units[strings.ToLower(word)] || casedUnits[word] {
		return true
	}
	if amount, per, ok := strings.Cut(word, "/"); ok && per != "" && isUnit(amount) {
		return true // so much of it per anything
	}
	for _, u := range spacelessUnits {
		if strings.HasPrefix(word, u) {
			return true
		}
	}
	return false
}

// quoteMarks are the pairs that open and close a quotation.
var quoteMarks = map[rune]string{'“': "”“", '„': "“”", '«': "»", '»': "«", '‹': "›", '「': "」", '『': "』", '"': `"`, '”': "”"}

// attribution finds the words that say who is speaking, near a quotation.
var attribution = regexp.MustCompile(`(?i)\b(?:says?|said|explains?|explained|told|writes?|wrote|notes?|noted|adds?|added|according to|stated|argues?` +
	`|sagt|sagte|sagen|erklärt|erklärte|schreibt|betont|laut|zufolge|so der|so die|dit|disent|déclare|déclarait|explique|affirme|souligne|écrit|selon|d'après` +
	`|dice|dijo|afirma|explica|señala|según|declaró|ha detto|afferma|spiega|dichiara|secondo|diz|disse|explica|segundo|zegt|zei|aldus|volgens|vertelt)(?:\PL|$)` +
	`|と述べ|と語|と話|によると|によれば|表示|说|說|据|라고 말|에 따르면|قال|قالت|يقول|تقول|صرح|وفقا|وفقًا|بحسب|אמר|אמרה|אומר|אומרת|לדברי|לפי|מסביר`)

// attributionReach is how far from a quotation, in bytes, its speaker may stand.
const attributionReach = 160

// quotations counts the quoted spans of a text that somebody is named for.
func quotations(text string) (n int, examples []string) {
	for line := range strings.SplitSeq(text, "\n") {
		for at := 0; at < len(line); {
			start, end, ok := nextQuote(line, at)
			if !ok {
				break
			}
			span := line[start:end]
			around := line[max(0, start-attributionReach):start] + " \n " + line[end:min(len(line), end+attributionReach)]
			if size := len([]rune(span)) - 2; size >= minQuote && size <= maxQuote && attribution.MatchString(strings.ToValidUTF8(around, "")) {
				if n++; len(examples) < 2 {
					examples = append(examples, span)
				}
			}
			at = end
		}
	}
	return n, examples
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
