package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Funcs are the functions of every template.
func Funcs() template.FuncMap {
	return template.FuncMap{"time": formatTime, "words": StateWords, "current": navCurrent, "json": formatJSON,
		"short": shortName, "milli": formatMilli, "plain": plain}
}

// formatJSON indents JSON. Other text is returned unchanged.
func formatJSON(raw any) string {
	var text []byte
	switch raw := raw.(type) {
	case json.RawMessage:
		text = raw
	case string:
		text = []byte(raw)
	}
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return out.String()
}

// shortName returns the first characters of a digest or an id.
func shortName(s any) string {
	text := strings.TrimPrefix(fmt.Sprint(s), "sha256:")
	return text[:min(len(text), 12)]
}

// formatMilli formats thousandths as a decimal number: 0.667, 12, 3.5.
func formatMilli(thousandths any) string {
	n, err := strconv.ParseInt(fmt.Sprintf("%d", thousandths), 10, 64)
	if err != nil {
		return fmt.Sprint(thousandths)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// formatTime formats a time; nil and the zero time are a dash.
func formatTime(t any) template.HTML {
	var at fieldmark.Time
	switch t := t.(type) {
	case fieldmark.Time:
		at = t
	case *fieldmark.Time:
		if t != nil {
			at = *t
		}
	}
	if at.IsZero() {
		return "–"
	}
	// Formatted times need no escaping.
	return template.HTML(`<time datetime="` + at.String() + `">` + at.Std().Format("2006-01-02 15:04") + `</time>`)
}

// StateWords writes a state in words: EN_ROUTE is "en route".
func StateWords(s any) string { return strings.ReplaceAll(strings.ToLower(fmt.Sprint(s)), "_", " ") }

// navCurrent returns the attribute that marks the entry of the current page in the navigation.
func navCurrent(here, place string) template.HTMLAttr {
	switch {
	case here == place:
		return `aria-current="page"`
	case strings.HasPrefix(here, place+"/"):
		return `aria-current="true"`
	}
	return ""
}

// plain returns text of a website or a stranger without characters that hide or turn text.
func plain(text any) string {
	s, _ := text.(string)
	return strings.Map(func(r rune) rune {
		if fieldmark.IsHidden(r) {
			return -1
		}
		return r
	}, s)
}
