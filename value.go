package fieldmark

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Time is an instant in the wire format: RFC 3339, UTC, three decimals.
type Time struct{ t time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At returns t in UTC, truncated to milliseconds.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// AtMicros returns the instant us microseconds after 1970-01-01T00:00:00Z,
// the format of the database.
func AtMicros(us int64) Time { return At(time.UnixMicro(us)) }

// Std returns the instant as a time.Time.
func (t Time) Std() time.Time { return t.t }

// Micros returns microseconds since 1970-01-01T00:00:00Z.
func (t Time) Micros() int64 { return t.t.UnixMicro() }

// IsZero reports whether t was never set.
func (t Time) IsZero() bool { return t.t.IsZero() }

// String returns the wire form, or an empty string for the zero Time.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.t.Format(timeLayout)
}

// Append appends the wire form, or nothing for the zero Time. It is faster than AppendFormat with timeLayout, because
// package time has a fast path for RFC 3339 without decimals.
func (t Time) Append(b []byte) []byte {
	if t.IsZero() {
		return b
	}
	b = t.t.AppendFormat(b, time.RFC3339)
	ms := t.t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText accepts any RFC 3339 time; an empty string is the zero Time.
func (t *Time) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*t = Time{}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("not an RFC 3339 time: %w", err)
	}
	*t = At(at)
	return nil
}

// maxOffset exceeds every offset from UTC that was ever in use.
const maxOffset = 16 * time.Hour

// FirstInstant returns the first instant at which the clock of a zone shows the wall time or a later one, in that
// zone. The wall time is given as if it were UTC. time.Date guarantees neither which of two instants it returns for a
// repeated wall time nor the direction in which it moves a skipped one, so a day whose midnight is skipped could begin
// on the day before, and adjacent opening hours could overlap or leave a gap.
func FirstInstant(wall time.Time, zone *time.Location) time.Time {
	at := wall.Add(-maxOffset).In(zone)
	for {
		_, offset := at.Zone()
		_, until := at.ZoneBounds()
		found := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if found.Before(at) {
			return at // the wall time was skipped by the last change of the offset
		}
		if until.IsZero() || found.Before(until) {
			return found
		}
		at = until.In(zone)
	}
}

// Milli is a number in thousandths, so that every host and scoring module computes the
// same value. On the wire it is a decimal number.
type Milli int64

// MilliOne is the number 1.
const MilliOne Milli = 1000

// Tenth rounds m half up to one decimal, as scores are shown.
func (m Milli) Tenth() Milli {
	if m < 0 {
		return -(-m).Tenth()
	}
	return (m + 50) / 100 * 100
}

// Float returns m as a floating-point number, for arithmetic on pixels only.
func (m Milli) Float() float64 { return float64(m) / 1000 }

// String returns m as a decimal number without trailing zeros.
func (m Milli) String() string { return string(m.Append(nil)) }

// Append appends m as a decimal number without trailing zeros.
func (m Milli) Append(b []byte) []byte {
	if m < 0 {
		b = append(b, '-')
		m = -m
	}
	b = strconv.AppendInt(b, int64(m/1000), 10)
	frac := int64(m % 1000)
	if frac == 0 {
		return b
	}
	digits := [4]byte{'.', byte('0' + frac/100), byte('0' + frac/10%10), byte('0' + frac%10)}
	n := len(digits)
	for digits[n-1] == '0' {
		n--
	}
	return append(b, digits[:n]...)
}

// MarshalJSON implements json.Marshaler.
func (m Milli) MarshalJSON() ([]byte, error) { return m.Append(nil), nil }

// UnmarshalJSON accepts a decimal number; digits past the third are cut.
func (m *Milli) UnmarshalJSON(b []byte) error {
	s := string(b)
	neg := strings.HasPrefix(s, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > 1<<52 {
		return fmt.Errorf("not a decimal number: %q", s)
	}
	n *= 1000
	for i, unit := 0, int64(100); i < len(frac); i, unit = i+1, unit/10 {
		if frac[i] < '0' || frac[i] > '9' {
			return fmt.Errorf("not a decimal number: %q", s)
		}
		n += int64(frac[i]-'0') * unit
	}
	if neg {
		n = -n
	}
	*m = Milli(n)
	return nil
}

// Digest is a SHA-256 digest in the form "sha256:" and 64 hex digits.
type Digest string

const digestPrefix = "sha256:"

// DigestOf returns the digest with the given SHA-256 sum.
func DigestOf(sum [32]byte) Digest { return Digest(digestPrefix + hex.EncodeToString(sum[:])) }

// ParseDigest parses a digest, in lower case only.
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", Errorf(CodeInvalidParameter, "a digest is written sha256: and 64 lower-case hexadecimal digits")
	}
	return Digest(s), nil
}

// Prefixes of ids. An id is a prefix, an underscore and 26 characters.
const (
	PrefixMission  = "msn"
	PrefixEvent    = "evt"
	PrefixNote     = "nte"
	PrefixKey      = "key"
	PrefixWebhook  = "whk"
	PrefixDelivery = "dlv"
	PrefixReplay   = "rpl"
	PrefixAccount  = "acc"
	PrefixDump     = "dmp"
	PrefixRanking  = "rkf" // a ranking file
	PrefixRequest  = "req"
	PrefixPayment  = "pay"
	PrefixRefund   = "rfd"
	PrefixNode     = "nod"
	PrefixCalendar = "cal"
	PrefixPortal   = "ptl"
	PrefixLink     = "lnk"
	PrefixDispute  = "dsp"
	PrefixClaim    = "clm"
	PrefixChange   = "brq"

	PrefixAttachment = "att"
	PrefixAccess     = "arq"
)

// crockford is the alphabet of ids: without i, l, o and u, and in byte order.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// idLength is the length of 128 bits in base 32.
const idLength = 26

// NewID returns an id that sorts by time: the kind, an underscore, and a UUIDv7
// (RFC 9562, section 5.7) in lower-case Crockford base 32. The 12 bits after the timestamp are
// the fraction of its millisecond (section 6.2, method 3), so ids made within a millisecond keep their order.
func NewID(prefix string, at time.Time) string {
	var random [8]byte
	rand.Read(random[:]) // never fails (crypto/rand)
	return encodeID(prefix, at, uint64(at.Nanosecond()%1e6)<<12/1e6, random)
}

// NewRandomID returns an id of 130 random bits, in the same form as those of NewID. It does
// not contain the time, so it cannot be guessed from when it was made.
func NewRandomID(prefix string) string {
	var random [17]byte
	rand.Read(random[:]) // never fails (crypto/rand)
	return prefix + "_" + crockford.EncodeToString(random[:])[:idLength]
}

// FirstID returns the smallest id for the millisecond of a time, with a fraction of zero. It is the
// lower bound of a search for ids made at that time or later; ids of earlier versions have random bits there.
func FirstID(prefix string, at time.Time) string { return encodeID(prefix, at, 0, [8]byte{}) }

func encodeID(prefix string, at time.Time, part uint64, random [8]byte) string {
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], uint64(at.UnixMilli())<<16|0x7000|part)
	copy(u[8:], random[:])
	u[8] = u[8]&0x3f | 0x80
	return prefix + "_" + crockford.EncodeToString(u[:])
}

// CheckID reports whether id has the form of an id with the given prefix. Check ids with it
// before every lookup.
func CheckID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix+"_")
	if !ok || len(rest) != idLength {
		return false
	}
	_, err := crockford.DecodeString(rest)
	return err == nil
}
