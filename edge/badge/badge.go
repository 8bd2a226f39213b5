package badge

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// Width and Height are the size of the pill in CSS pixels. It is the same in
// every state, so that a page which embeds the badge never shifts.
const (
	Width  = 138
	Height = 28
)

// State says what a badge may claim.
type State uint8

// The states of a badge, in the words it shows.
const (
	Unknown     State = iota // "not rated": there is no brand of that name
	Ready                    // "GEO-ready", with the score
	NotYet                   // "not yet", with the score
	Stale                    // "stale", with the month of the last audit
	Pending                  // "pending": not audited yet
	Unreachable              // "unreachable": the site did not answer
	Unrated                  // "not rated": too little could be measured
)

// Badge is what is drawn.
type Badge struct {
	Name  string // of the brand, as it was registered; never trusted
	State State
	Score fieldmark.Milli // 0 to 100; used in Ready, NotYet and Stale
	Grade fieldmark.Grade // used in Ready, NotYet and Stale
	AsOf  time.Time       // of the audit; zero leaves the month out
}

// Of returns the badge of a score document.
func Of(s *fieldmark.Score) Badge {
	b := Badge{Name: s.Name, Grade: s.Grade}
	if s.AsOf != nil {
		b.AsOf = s.AsOf.Std()
	}
	if s.Score != nil {
		b.Score = *s.Score
	}
	switch s.Status {
	case fieldmark.StatusScored:
		b.State = NotYet
		if s.GeoReady {
			b.State = Ready
		}
	case fieldmark.StatusStale:
		b.State = Stale
	case fieldmark.StatusPending:
		b.State = Pending
	case fieldmark.StatusUnreachable:
		b.State = Unreachable
	default:
		b.State = Unrated
	}
	if s.Score == nil && (b.State == Ready || b.State == NotYet || b.State == Stale) {
		b.State = Unrated // a document from outside may lack what it promises
	}
	return b
}

// Theme chooses the colours of a badge.
type Theme uint8

// The themes of a badge.
const (
	Auto  Theme = iota // light, and dark where the page or the system asks for it
	Light              // light colours only
	Dark               // dark colours only
)

// ParseTheme is the only way from a query to a Theme. An empty text is Auto.
func ParseTheme(s string) (Theme, bool) {
	switch s {
	case "", "auto":
		return Auto, true
	case "light":
		return Light, true
	case "dark":
		return Dark, true
	}
	return Auto, false
}
