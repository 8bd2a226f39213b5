package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
)

// Funcs are the functions of every template.
func Funcs() template.FuncMap {
	return template.FuncMap{
		"time": timeFunc(ui.Ago), "timeAt": timeFunc(ui.At), "id": formatID, "words": StateWords,
		"current": navCurrent, "json": formatJSON, "milli": formatMilli, "plain": plain,
		"statusClass": StatusClass, "number": ui.Number, "countOf": ui.Count,
	}
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

// formatMilli formats thousandths as a decimal number: 0.667, 12, 3.5.
func formatMilli(thousandths any) string {
	n, err := strconv.ParseInt(fmt.Sprintf("%d", thousandths), 10, 64)
	if err != nil {
		return fmt.Sprint(thousandths)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// timeFunc returns a template function that formats times of every type with an element of package ui; nil and
// the zero time are a dash.
func timeFunc(element func(at, now time.Time) template.HTML) func(any) template.HTML {
	return func(t any) template.HTML {
		at := timeOf(t)
		if at.IsZero() {
			return "–"
		}
		return element(at, time.Now())
	}
}

func timeOf(t any) time.Time {
	switch t := t.(type) {
	case fieldmark.Time:
		return t.Std()
	case *fieldmark.Time:
		if t != nil {
			return t.Std()
		}
	case time.Time:
		return t
	}
	return time.Time{}
}

// formatID formats an id or a digest of any type, short but whole to copy.
func formatID(id any) template.HTML { return ui.ID(fmt.Sprint(id)) }

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

// StatusClass returns the CSS class of a state: good, bad, or "" for a neutral color.
func StatusClass(s any) string {
	switch fmt.Sprint(s) {
	case "COMPLETED", "MET", "PAID", "done", "enabled", "active", "live", "measured", "verified", "approved",
		"issued":
		return "good"
	case "BREACHED", "FAILED", "OVERDUE", "UNABLE_TO_COMPLETE", "failed", "paused", "disabled", "open", "revoked",
		"expired", "in_review", "lapsing", "contested", "failing", "refused":
		return "bad"
	}
	return ""
}
