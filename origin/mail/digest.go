package mail

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Bounds of the text of a digest. A brand has a few events a day; a longer mail is not read.
const (
	maxLines    = 50
	maxText     = 500 // code points of a text that others wrote
	maxSignals  = 3
	dateLayout  = "2006-01-02"
	subjectText = 80 // code points of a name in a subject
)

// line returns text that others wrote as one line without characters that hide or turn text, so
// that it adds neither header fields nor lines that seem to be ours.
func line(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case fieldmark.IsHidden(r):
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > limit {
		runes = append(runes[:limit-1], '…')
	}
	return string(runes)
}

// digest returns the lines about events and a subject; no lines: the events are not worth a mail.
func digest(b *fieldmark.Brand, events []store.Event) (subject string, lines []string) {
	name := line(b.Name, subjectText)
	urgent := ""
	for i := range events {
		text, alarm := describe(&events[i])
		if text == "" {
			continue
		}
		urgent = cmp.Or(alarm, urgent)
		lines = append(lines, events[i].Time.Std().UTC().Format(dateLayout)+"  "+text)
	}
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("and %d more", more))
	}
	switch n := len(lines); {
	case urgent != "":
		return name + ": " + urgent, lines
	case n == 1:
		return name + ": 1 change", lines
	default:
		return fmt.Sprintf("%s: %d changes", name, n), lines
	}
}

// describe returns the line about an event, and a subject if it needs attention; no line if the
// event is left out.
func describe(e *store.Event) (text, alarm string) {
	switch e.Type {
	case fieldmark.EventScoreChanged:
		return describeScore(decode[fieldmark.ScoreChange](e)), ""
	case fieldmark.EventRankChanged:
		c := decode[fieldmark.RankChange](e)
		return fmt.Sprintf("Rank: %s, was %s.", rank(c.To), rank(c.From)), ""
	case fieldmark.EventBrandAudited:
		switch decode[fieldmark.BrandAudit](e).Result {
		case fieldmark.AuditRefused:
			return "Audit: the site refused our crawler. Earlier findings stay and age.", ""
		case fieldmark.AuditUnreachable:
			return "Audit: the home page did not respond with a page.", ""
		}
		return "", "" // what it changed is in the score
	case fieldmark.EventDisputeSettled, fieldmark.EventDisputeUpheld, fieldmark.EventDisputeRejected:
		c := decode[fieldmark.DisputeChange](e)
		text = fmt.Sprintf("Dispute of %s: %s.", line(c.Signal, maxText), c.State)
		if answer := line(c.Answer, maxText); answer != "" {
			text += " Answer: " + answer
		}
		return text, ""
	case fieldmark.EventClaimVerified, fieldmark.EventClaimLapsing, fieldmark.EventClaimContested,
		fieldmark.EventClaimExpired, fieldmark.EventClaimTransferred:
		return describeClaim(e.Type, decode[fieldmark.ClaimChange](e))
	}
	return "", ""
}

// decode reads the data of an event. It was encoded by us; data of a later version has what this
// one knows.
func decode[T any](e *store.Event) (v T) {
	_ = json.Unmarshal(e.Data, &v)
	return v
}

func describeScore(c fieldmark.ScoreChange) string {
	causes := map[fieldmark.ChangeCause]string{fieldmark.CauseFacts: "an audit found other facts",
		fieldmark.CauseModule: "the scoring rules changed", fieldmark.CauseAge: "the findings are older",
		fieldmark.CauseAlias:   "the address or the name of the brand changed",
		fieldmark.CauseSamples: "the samples of answers changed"}
	text := fmt.Sprintf("GEO score: %s, was %s: %s.", standing(c.To), standing(c.From), causes[c.Cause])
	for _, g := range c.Gates {
		if g.Applied {
			text += " Now capped: " + line(g.Reason, maxText)
		} else {
			text += " No longer capped: " + line(g.Reason, maxText)
		}
	}
	for _, s := range c.Signals[:min(len(c.Signals), maxSignals)] {
		sign := "+"
		if s.To < s.From {
			sign = "" // the number has one
		}
		text += fmt.Sprintf(" %s %s%s.", line(cmp.Or(s.Label, s.ID), maxText), sign, s.To-s.From)
	}
	return text
}

func standing(s fieldmark.Standing) string {
	if s.Score == nil {
		return string(s.Status)
	}
	return strings.TrimSpace(s.Score.String() + " " + string(s.Grade))
}

func rank(r *fieldmark.Rank) string {
	if r == nil {
		return "not ranked"
	}
	return fmt.Sprintf("%d of %d in its niche and %d of %d overall", r.Niche, r.OfNiche, r.Overall, r.Of)
}

func describeClaim(t fieldmark.EventType, c fieldmark.ClaimChange) (text, alarm string) {
	until := ""
	if c.Until != nil {
		until = c.Until.Std().UTC().Format("2006-01-02 15:04 UTC")
	}
	switch t {
	case fieldmark.EventClaimLapsing:
		return "Claim: its proof was not found. Your rights end on " + until +
			" unless it can be found again.", "your claim is about to lapse"
	case fieldmark.EventClaimContested:
		return "Claim: another party proved control of the site. Object with a new proof before " + until +
			", or you may lose the brand.", "your claim is contested"
	case fieldmark.EventClaimExpired:
		return "Claim: it expired, and its keys with it.", "your claim expired"
	case fieldmark.EventClaimTransferred:
		return "Claim: the brand went to another claim. Your keys ended.", "your claim was transferred"
	}
	return "Claim: its proof was found.", ""
}
