package spool

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// keyFreshness is how long after an origin accepted a key the edge accepts requests with it: a key that
	// is revoked before the origin becomes unreachable is not trusted for longer.
	keyFreshness = 15 * time.Minute
	// maxKeys bounds the keys in memory, some 200 bytes each. Beyond it others are evicted, and
	// are known again when an origin accepts them.
	maxKeys = 100_000
)

// Key is an edge's copy of the data of an API key that an origin accepted.
type Key struct {
	ID, Account string

	create   bool           // it may create missions
	expires  time.Time      // zero: never
	networks []netip.Prefix // from which it may be used; none: anywhere
	seen     time.Time      // when an origin accepted it
}

// knownKeys are the keys that origins accepted lately, by the hash of their token.
type knownKeys struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]Key
}

// Accepted records that an origin accepted the key with a token. quota is the origin's header field about
// the key (see fieldmark.HeaderSpool); if it has no account the key is deleted.
func (s *Spool) Accepted(token [sha256.Size]byte, quota string, now time.Time) {
	k, ok := parseKey(quota)
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if !ok {
		delete(s.keys.all, token)
		return
	}
	for other := range s.keys.all {
		if len(s.keys.all) < maxKeys {
			break
		}
		delete(s.keys.all, other)
	}
	k.seen = now
	s.keys.all[token] = k
}

// Rejected records that an origin did not accept the key with a token.
func (s *Spool) Rejected(token [sha256.Size]byte) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	delete(s.keys.all, token)
}

// Key returns the key with a token if an origin accepted it in the last 15 minutes, it has not
// expired, and it may be used from the address of a client to create missions.
func (s *Spool) Key(token [sha256.Size]byte, from netip.Addr, now time.Time) (Key, bool) {
	s.keys.mu.Lock()
	k, ok := s.keys.all[token]
	s.keys.mu.Unlock()
	admitted := len(k.networks) == 0 ||
		slices.ContainsFunc(k.networks, func(p netip.Prefix) bool { return p.Contains(from.Unmap()) })
	return k, ok && k.create && admitted && now.Sub(k.seen) < keyFreshness &&
		(k.expires.IsZero() || now.Before(k.expires))
}

// parseKey parses the origin's header field about a key: its id and then members of the form name=value, of
// which those for rates are not read here.
func parseKey(quota string) (k Key, ok bool) {
	id, rest, _ := strings.Cut(quota, ";")
	k.ID = id
	for member := range strings.SplitSeq(rest, ";") {
		name, value, _ := strings.Cut(member, "=")
		switch name {
		case "a":
			k.Account = value
		case "m":
			k.create = value == "1"
		case "x":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return Key{}, false
			}
			k.expires = time.Unix(seconds, 0)
		case "n":
			for text := range strings.SplitSeq(value, "+") {
				network, err := netip.ParsePrefix(text)
				if err != nil {
					return Key{}, false // a limit that cannot be read must not be ignored
				}
				k.networks = append(k.networks, network)
			}
		}
	}
	return k, k.ID != "" && k.Account != ""
}
