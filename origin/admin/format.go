package admin

import (
	"fmt"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// statusClass returns the CSS class of a state: good, bad, or "" for a neutral color.
func statusClass(s any) string {
	switch fmt.Sprint(s) {
	case "COMPLETED", "MET", "PAID", "done", "enabled", "active", "live", "measured":
		return "good"
	case "BREACHED", "FAILED", "OVERDUE", "UNABLE_TO_COMPLETE", "failed", "paused", "disabled", "open", "revoked",
		"expired":
		return "bad"
	}
	return ""
}

// inputTime formats a time for an input of type datetime-local.
func inputTime(t fieldmark.Time) string { return t.Std().UTC().Format(localMinute) }

// formatMinutes formats minutes in hours and minutes.
func formatMinutes(minutes int) string {
	if minutes < 60 {
		return strconv.Itoa(minutes) + " min"
	}
	if minutes%60 == 0 {
		return strconv.Itoa(minutes/60) + " h"
	}
	return strconv.Itoa(minutes/60) + " h " + strconv.Itoa(minutes%60) + " min"
}
