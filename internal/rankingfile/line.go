package rankingfile

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// Line is what a ranking keeps of a slug: a public brand, one that its owner unlisted, or an alias.
type Line struct {
	Slug   fieldmark.Slug
	Target fieldmark.Slug // of an alias, which has no other field; empty: a brand
	// Due: the values may be older than the file. The reader must score the brand again.
	Due bool

	Name     string
	Host     string // of its site, as HostOf returns it
	Niche    string
	Language string
	Values
}

// Values are the results of the score of a brand. Numbers are thousandths.
type Values struct {
	Status    fieldmark.ScoreStatus
	Ranked    bool
	Scored    bool // it has a score and a range; a ranked brand has both
	GeoReady  bool
	HasFull   bool  // it is ranked by its full score too; only of a ranked brand
	Failed    bool  // the module cannot score the brand
	AsOf      int64 // of the facts, in microseconds since 1970; 0: none
	Certainty int32
	Score     Rating   // zero unless scored
	Full      Rating   // zero without a full score
	Past      [3]int32 // scores 7, 30 and 90 days before; -1: none; zero unless ranked
}

// Rating is a score with its range.
type Rating struct{ Score, Low, High int32 }

// NewLine returns the line of a score.
func NewLine(s *fieldmark.Score) Line {
	return Line{Slug: s.Slug, Name: s.Name, Host: HostOf(s.URL), Niche: s.Niche, Language: s.Language,
		Values: NewValues(s)}
}

// NewValues returns the values of a score with its trends.
func NewValues(s *fieldmark.Score) Values {
	v := Values{Status: s.Status, Ranked: s.Ranked(), Scored: s.Score != nil && s.Range != nil, GeoReady: s.GeoReady,
		Certainty: int32(s.Confidence.Value)}
	if s.AsOf != nil {
		v.AsOf = s.AsOf.Micros()
	}
	if v.Scored {
		v.Score = Rating{int32(*s.Score), int32(s.Range.Low), int32(s.Range.High)}
	}
	if !v.Ranked {
		return v
	}
	for i, moved := range [...]*fieldmark.Milli{s.Trend.D7, s.Trend.D30, s.Trend.D90} {
		if v.Past[i] = -1; moved != nil {
			v.Past[i] = int32(*s.Score - *moved)
		}
	}
	if s.Full != nil && s.Visibility != nil {
		e := scoring.NewFullBoardEntry(s)
		v.HasFull, v.Full = true, Rating{int32(e.Score), int32(e.Range.Low), int32(e.Range.High)}
	}
	return v
}

// HostOf returns the host of an address, or of a text that begins with one, in lower case and without www.
func HostOf(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}

// The flags of a line.
const (
	flagAlias = 1 << iota
	flagDue
	flagRanked
	flagScored
	flagGeoReady
	flagFull
	flagFailed
	flagsEnd
)

// flags returns the flags of values.
func (v *Values) flags() (f uint64) {
	for _, is := range []struct {
		set  bool
		flag uint64
	}{{v.Ranked, flagRanked}, {v.Scored, flagScored}, {v.GeoReady, flagGeoReady}, {v.HasFull, flagFull},
		{v.Failed, flagFailed}} {
		if is.set {
			f |= is.flag
		}
	}
	return f
}

// setFlags is the opposite of flags.
func (v *Values) setFlags(f uint64) {
	v.Ranked, v.Scored, v.GeoReady = f&flagRanked != 0, f&flagScored != 0, f&flagGeoReady != 0
	v.HasFull, v.Failed = f&flagFull != 0, f&flagFailed != 0
}

// Append appends the values in binary form; ParseValues reads them.
func (v *Values) Append(dst []byte) []byte {
	dst = appendText(binary.AppendUvarint(dst, v.flags()), string(v.Status))
	return v.appendNumbers(dst)
}

// appendNumbers appends the numbers whose flags are set.
func (v *Values) appendNumbers(dst []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(v.AsOf)), uint64(v.Certainty))
	rating := func(r *Rating) {
		for _, n := range [...]int32{r.Score, r.Low, r.High} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
	}
	if v.Scored {
		rating(&v.Score)
	}
	if v.Ranked {
		for _, n := range v.Past {
			dst = binary.AppendUvarint(dst, uint64(n+1))
		}
	}
	if v.HasFull {
		rating(&v.Full)
	}
	return dst
}

// ParseValues reads what Append has written, and nothing after it.
func ParseValues(b []byte) (v Values, err error) {
	p := &parser{text: string(b)}
	flags := p.number(flagsEnd - 1)
	v.setFlags(flags)
	v.Status = fieldmark.ScoreStatus(p.string())
	p.numbers(&v)
	if p.failed || p.text != "" || flags&(flagAlias|flagDue) != 0 {
		return Values{}, fmt.Errorf("values of a brand: %w", errInvalid)
	}
	return v, nil
}

// appendText appends a string with its length.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
