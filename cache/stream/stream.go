package stream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// MaxEntry bounds an entry, in bytes. Entries are copied to every replica and follower; what is
	// larger is left out, and followers read it elsewhere.
	MaxEntry = 4 << 10
	// maxLength is how many entries the stream keeps, approximately: 20 minutes of 17 changes a second.
	// Followers that are further behind read the log elsewhere.
	maxLength = 20_000
	// beatTTL is when a beat that its writer does not renew disappears.
	beatTTL = 5 * time.Second
	// oldEpochTTL is how long the keys of an epoch stay that is over.
	oldEpochTTL = time.Hour
	// epochKey holds the epoch whose keys are written.
	epochKey = "fm1:epoch"
)

// keys returns the keys of an epoch, which are in one slot of a cluster.
func keys(epoch string) (log, fence, beat string) {
	prefix := "{fm1:" + epoch + "}:"
	return prefix + "log", prefix + "fence", prefix + "beat"
}

// Entry is an entry of the log.
type Entry struct {
	Number   int64 // greater than that of the entry before it
	Previous int64 // no entry between this number and Number was left out
	Micros   int64 // its time, in microseconds since 1970
	ID       string
	Type     string
	Brand    string // may be empty
	Tags     string // may be empty
	Data     string // may be empty
}

// Size returns the approximate size of the entry in bytes.
func (e *Entry) Size() int {
	return 64 + len(e.ID) + len(e.Type) + len(e.Brand) + len(e.Tags) + len(e.Data)
}

// appendArgs appends the arguments of XADD, preceded by their number.
func (e *Entry) appendArgs(args []any) []any {
	fields := []any{"p", e.Previous, "t", e.Micros, "y", e.Type, "i", e.ID}
	for _, f := range [...][2]string{{"b", e.Brand}, {"g", e.Tags}, {"d", e.Data}} {
		if f[1] != "" {
			fields = append(fields, f[0], f[1])
		}
	}
	args = append(args, e.Number, len(fields))
	return append(args, fields...)
}

// errDamaged is returned for what a writer of this package did not write.
var errDamaged = errors.New("the stream holds something else")

func parseEntry(m *redis.XMessage) (e Entry, err error) {
	text := func(key string) string { s, _ := m.Values[key].(string); return s }
	number, rest, ok := strings.Cut(m.ID, "-")
	var errs [3]error
	e.Number, errs[0] = strconv.ParseInt(number, 10, 64)
	e.Previous, errs[1] = strconv.ParseInt(text("p"), 10, 64)
	e.Micros, errs[2] = strconv.ParseInt(text("t"), 10, 64)
	e.ID, e.Type, e.Brand, e.Tags, e.Data = text("i"), text("y"), text("b"), text("g"), text("d")
	if err := errors.Join(errs[:]...); err != nil || !ok || rest != "0" || e.Previous >= e.Number {
		return e, fmt.Errorf("entry %q: %w", m.ID, errDamaged)
	}
	return e, nil
}

// Beat is the newest event number of the log. Its writer renews it at least once a second.
type Beat struct {
	Head   int64 // the log has no later number
	Last   int64 // there is no entry after this number up to Head
	HeadID string
	micros int64 // the time of the writer, so that each beat differs from the one before
}

// String returns the value of the key.
func (b *Beat) String() string {
	return fmt.Sprintf("%d:%d:%d:%s", b.Head, b.micros, b.Last, b.HeadID)
}

func parseBeat(s string) (b Beat, err error) {
	parts := strings.SplitN(s, ":", 4)
	if len(parts) != 4 {
		return b, fmt.Errorf("beat %q: %w", s, errDamaged)
	}
	var errs [3]error
	b.Head, errs[0] = strconv.ParseInt(parts[0], 10, 64)
	b.micros, errs[1] = strconv.ParseInt(parts[1], 10, 64)
	b.Last, errs[2] = strconv.ParseInt(parts[2], 10, 64)
	b.HeadID = parts[3]
	if err := errors.Join(errs[:]...); err != nil || b.Last > b.Head {
		return b, fmt.Errorf("beat %q: %w", s, errDamaged)
	}
	return b, nil
}
