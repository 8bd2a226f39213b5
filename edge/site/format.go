package site

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
)

// functions are what the templates may call.
func functions() template.FuncMap {
	return template.FuncMap{
		"plain":   plain,
		"decimal": decimal,
		"number":  ui.Number,
		"countOf": ui.Count,
		"about": func(m fieldmark.Milli) string {
			return ui.Number(int((m +
				fieldmark.MilliOne/2) / fieldmark.MilliOne))
		},
		"noRank":  withoutRank,
		"percent": percentOf,
		"dash":    dash,
		"value":   valueOf,
		"day":     dayOf,
		"time":    func(t fieldmark.Time) template.HTML { return ui.Day(t.Std()) },
		// always with the year
		"timeAt":         func(t fieldmark.Time) template.HTML { return ui.At(t.Std(), time.Time{}) },
		"clock":          func(t fieldmark.Time) string { return t.Std().Format("15:04") },
		"words":          func(s string) string { return strings.ReplaceAll(plain(s), "-", " ") },
		"webLink":        webLink,
		"host":           hostOf,
		"forms":          hostForms,
		"points":         decimal,
		"width":          share,
		"whole":          func(n int) fieldmark.Milli { return fieldmark.Milli(n) * fieldmark.MilliOne },
		"state":          stateWords,
		"field":          fieldOf,
		"snippet":        func(name, text string) Snippet { return Snippet{name, text} },
		"moved":          moved,
		"tone":           tone,
		"rate":           rate,
		"ratewords":      rateWords,
		"signed":         minus,
		"visibilityPath": VisibilityPath,
		"quarters":       func() []string { return []string{"25%", "50%", "75%"} },
		"minus":          func(n int) int { return -n },
		"speaks":         badgeLanguage,
		"answer":         eligibilityWord,
		"grades":         func(g fieldmark.EvidenceGrade) gradeName { return gradeNames[g] },
		"profile":        profileWord,
		"short":          shortHash,
		"path":           pathOf,
		"ranks":          ranksOf,
		"between":        betweenOf,
	}
}

// decimal writes a score with the one decimal it has, so that columns align.
func decimal(m fieldmark.Milli) string {
	s := m.Tenth().String()
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// percentOf places a score of 0 to 100 on a scale, as an SVG length.
func percentOf(m fieldmark.Milli) string {
	return min(max(m, 0), 100*fieldmark.MilliOne).String() + "%"
}

// share returns part of a whole as an SVG length; no whole is an empty bar.
func share(m fieldmark.Milli, of int) string {
	if of <= 0 {
		return "0%"
	}
	return percentOf((m * 100 / fieldmark.Milli(of)).Tenth())
}

// dash returns the dash pattern that fills score hundredths of the ring on a
// brand's page, whose radius is 54.
func dash(m fieldmark.Milli) string {
	const circumference = 339_292 // thousandths
	return (min(max(m, 0), 100*fieldmark.MilliOne) * circumference / (100 * fieldmark.MilliOne)).Tenth().String() +
		" 340"
}

// valueOf writes what was measured in words: "yes", "84%", "1,200 ms".
func valueOf(s *fieldmark.Signal) string {
	if s.Value == nil {
		return ""
	}
	v := *s.Value
	rounded := func(one, many string) string {
		t := v.Tenth()
		if t%fieldmark.MilliOne == 0 {
			return ui.Count(int(t/fieldmark.MilliOne), one, many)
		}
		return t.String() + " " + many
	}
	switch s.Unit {
	case "bool":
		switch v {
		case 0:
			return "no"
		case fieldmark.MilliOne:
			return "yes"
		}
		return "in part"
	case "share":
		return (v * 100).Tenth().String() + "%"
	case "count":
		return rounded("found", "found")
	case "words":
		return rounded("word", "words")
	case "ms":
		return rounded("ms", "ms")
	case "days":
		return rounded("day", "days")
	case "level":
		return "level " + v.Tenth().String()
	case "per_1000_words":
		return v.Tenth().String() + " per 1,000 words"
	}
	return strings.TrimSpace(v.Tenth().String() + " " + strings.ReplaceAll(s.Unit, "_", " "))
}

// stateWords describes the state of a signal without a value.
func stateWords(s fieldmark.FactState) string {
	switch s {
	case fieldmark.Measured:
		return "measured"
	case fieldmark.NotApplicable:
		return "does not apply"
	case fieldmark.Unknown:
	}
	return "could not be measured"
}

// webLink returns an address from outside if it may become a link: absolute,
// http or https, with a host, and without a name in front of the host that could
// pass for one. Anything else is shown as text or not at all.
func webLink(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// hostOf shortens an address to what a reader wants to see of it.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	host := strings.TrimPrefix(u.Host, "www.")
	if v := hostForms(host); v != nil {
		host = v.ASCII
	}
	return host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// Form is a form of a page: what was entered into its inputs and what is wrong with them, by their names.
type Form struct {
	entered, errors map[string]string
	focused         bool // an input before has an error
}

// NewForm returns the form of what was entered and of its errors, by the names of the inputs.
func NewForm(entered, errors map[string]string) *Form { return &Form{entered: entered, errors: errors} }

// Value is what was entered into an input.
func (f *Form) Value(name string) string { return f.entered[name] }

// Fault is what is wrong with an input, or with the whole form if name is empty.
func (f *Form) Fault(name string) string { return f.errors[name] }

// Describe returns the attributes that tie an input to its help texts and its error. Templates call it in the order
// of the page, because the first input with an error gets the focus: a document has at most one autofocus.
func (f *Form) Describe(name string, help ...string) template.HTMLAttr {
	attributes := ""
	if f.errors[name] != "" {
		help = append([]string{name + "-fault"}, help...)
		attributes = ` aria-invalid="true"`
		if !f.focused {
			f.focused, attributes = true, attributes+" autofocus"
		}
	}
	if len(help) > 0 {
		attributes += ` aria-describedby="` + template.HTMLEscapeString(strings.Join(help, " ")) + `"`
	}
	return template.HTMLAttr(strings.TrimPrefix(attributes, " "))
}

// field is an input of a form.
type field struct {
	Name, Label, Hint, Value, Fault string
	Max                             int // characters
	Required                        bool
	Attributes                      template.HTMLAttr
}

func fieldOf(v *llmsView, name, label string, most int, required bool, hint string) field {
	return field{Name: name, Label: label, Hint: hint, Value: v.Value(name), Fault: v.Fault(name), Max: most,
		Required: required, Attributes: v.Describe(name)}
}

// tone is the class of a change.
func tone(m fieldmark.Milli) string {
	switch t := m.Tenth(); {
	case t > 0:
		return "up"
	case t < 0:
		return "down"
	}
	return "same"
}

// rate writes a share with its interval, in whole percent.
func rate(r *fieldmark.Rate) string {
	if r == nil {
		return "–"
	}
	percent := func(m fieldmark.Milli) int { return int((m*100 + fieldmark.MilliOne/2) / fieldmark.MilliOne) }
	return fmt.Sprintf("%d%% (%d–%d)", percent(r.Value), percent(r.Low), percent(r.High))
}

// moved formats a change with its sign; zero becomes ±0.
func moved(m fieldmark.Milli) string {
	switch t := m.Tenth(); {
	case t > 0:
		return "+" + decimal(t)
	case t < 0:
		return "−" + decimal(-t)
	}
	return "±0"
}

// languageNames are the languages that brands most often declare, by tag, or by
// primary subtag alone; any other is shown by its tag.
var languageNames = map[string]string{
	"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
	"en": "English",
	"es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French",
	"gl": "Galician", "he": "Hebrew",
	"hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
	"ja": "Japanese", "ko": "Korean",
	"lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "nb": "Norwegian Bokmål", "nl": "Dutch",
	"nn": "Norwegian Nynorsk", "no": "Norwegian",
	"pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
	"sr": "Serbian", "sv": "Swedish",
	"th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
	"zh-cn": "Chinese (Simplified)", "zh-hans": "Chinese (Simplified)", "zh-hk": "Chinese (Traditional)",
	"zh-hant": "Chinese (Traditional)",
	"zh-mo":   "Chinese (Traditional)", "zh-sg": "Chinese (Simplified)", "zh-tw": "Chinese (Traditional)",
}

// languageName names a language in English.
func languageName(tag string) string {
	lower := strings.ToLower(strings.ReplaceAll(tag, "_", "-"))
	for known := lower; ; {
		if name := languageNames[known]; name != "" {
			return name
		}
		cut := strings.LastIndexByte(known, '-')
		if cut < 0 {
			return plain(tag)
		}
		known = known[:cut]
	}
}

// badgeLanguage names a language of the badge, whose zh is Simplified Chinese.
func badgeLanguage(tag string) string {
	if tag == "zh" {
		tag = "zh-Hans"
	}
	return languageName(tag)
}
