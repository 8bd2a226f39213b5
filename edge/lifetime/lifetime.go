package lifetime

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fieldmark/fieldmark"
)

// Fields are the header fields of one lifetime. They are not changed any more.
type Fields struct {
	Packed       []byte      // for HTTP/1.1: each field after a line break
	HPACK, QPACK []byte      // for HTTP/2 and HTTP/3
	List         [][2][]byte // name and value
}

// names are the fields that an edge sends. Others, of a newer origin, are left out.
var names = []string{"CDN-Cache-Control", "Surrogate-Control"}

// Encoder appends a field for HTTP/2 or HTTP/3.
type Encoder func(dst []byte, name, value string) []byte

// State is the lifetime that an edge states now. Its zero value states none. Current may be called from any
// goroutine, Set and Clear from one.
type State struct {
	current atomic.Pointer[Fields]
	set     fieldmark.CDNLifetime // what current was made of
}

// Current returns the fields; nil: none. It costs one load, which a hit pays.
func (s *State) Current() *Fields { return s.current.Load() }

// Set states a lifetime; none with zero seconds.
//
// An edge may call it only if it has applied every event of the log: a response that is older than a purge
// would stay in a CDN for the whole lifetime.
func (s *State) Set(l fieldmark.CDNLifetime, hpack, qpack Encoder) {
	if l.Seconds <= 0 || len(l.Fields) == 0 {
		s.Clear()
		return
	}
	control := l.Control()
	if s.current.Load() != nil && s.set.Control() == control && slices.Equal(s.set.Fields, l.Fields) {
		return
	}
	f := new(Fields)
	for _, name := range l.Fields {
		if !slices.Contains(names, name) {
			continue
		}
		f.Packed = append(f.Packed, "\r\n"+name+": "+control...)
		lower := strings.ToLower(name) // as HTTP/2 and HTTP/3 demand
		f.HPACK, f.QPACK = hpack(f.HPACK, lower, control), qpack(f.QPACK, lower, control)
		f.List = append(f.List, [2][]byte{[]byte(name), []byte(control)})
	}
	s.set = l
	s.current.Store(f)
}

// Clear states no lifetime from now on.
func (s *State) Clear() { s.current.Store(nil) }
