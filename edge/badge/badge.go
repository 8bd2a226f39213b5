package badge

import (
	"time"

	"github.com/fieldmark/fieldmark"
)

// Width and Height are the size of the default badge, the English pill, in CSS pixels. It
// is the same in every state, so that a page which embeds the badge never shifts. Size
// returns the size for other options.
const (
	Width  = 138
	Height = 28
)

// State is the kind of statement that a badge makes. Of derives it from the status of a score.
type State uint8

// The states of a badge, in the words it shows.
const (
	Unknown     State = iota // "not rated": there is no brand of that name
	Ready                    // "GEO-ready": engines can use the site; with the score
	NotYet                   // "not yet": some or all engines cannot, or it is not known; with the score
	Stale                    // "stale", with the month of the last audit
	Pending                  // "pending": not audited yet
	Unreachable              // "unreachable": the site did not respond
	Unrated                  // "not rated": too little could be measured
)

// Badge is what is drawn.
type Badge struct {
	Name  string // of the brand, as it was registered; never trusted
	State State
	Score fieldmark.Milli // 0 to 100; used in Ready, NotYet and Stale
	Grade fieldmark.Grade // of the lower end of its range; used in Ready, NotYet and Stale
	AsOf  Month           // of the audit; zero leaves the month out

	Claimed bool // the owner proved control of the site: adds a tick
}

// Of returns the badge of a score document.
// A document comes from the cache of another node or from another version, so nothing in it is
// taken for granted.
func Of(s *fieldmark.Score) Badge {
	b := Badge{Name: s.Name, Grade: s.Grade}
	if s.AsOf != nil {
		b.AsOf = MonthOf(s.AsOf.Std())
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
		b.State = Unrated // a document from outside may lack what its state requires
	}
	return b
}

// Month is a month of the years 1 to 5000; the zero value means that the month is not set.
// Callers compute it once, because calendar arithmetic takes longer than drawing a badge.
// It has 16 bits, because it is a part of templateKey.
type Month uint16

// MonthOf returns the month of t in UTC.
// Years above 5000 would not fit.
func MonthOf(t time.Time) Month {
	year, month, _ := t.UTC().Date()
	if t.IsZero() || year < 1 || year > 5000 {
		return 0
	}
	return Month(year*12 + int(month) - 1)
}

// year and month split the count of months.
func (m Month) year() int         { return int(m) / 12 }
func (m Month) month() time.Month { return time.Month(m%12) + 1 }

// digits returns the month as 2006-01.
func (m Month) digits() [7]byte {
	y, n := m.year(), int(m)%12+1
	return [7]byte{
		byte('0' + y/1000%10), byte('0' + y/100%10), byte('0' + y/10%10), byte('0' + y%10),
		'-', byte('0' + n/10), byte('0' + n%10),
	}
}
