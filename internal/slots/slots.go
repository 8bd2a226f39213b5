package slots

import "sync"

// Slots is a semaphore with a share for each key. It is safe for concurrent use.
type Slots[K comparable] struct {
	total, perKey int

	mu    sync.Mutex
	inUse int
	byKey map[K]int
}

// New returns slots of total, of which one key may use perKey.
func New[K comparable](total, perKey int) *Slots[K] {
	return &Slots[K]{total: total, perKey: perKey, byKey: map[K]int{}}
}

// Acquire reserves a slot for a key, if one is free. For the zero key only the total is
// counted. The caller calls release once.
func (s *Slots[K]) Acquire(key K) (release func(), ok bool) {
	var zero K
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse >= s.total || key != zero && s.byKey[key] >= s.perKey {
		return nil, false
	}
	s.inUse++
	if key != zero {
		s.byKey[key]++
	}
	return sync.OnceFunc(func() { s.release(key) }), true
}

// release frees a slot. A key without slots is deleted, so the map has at most as many entries as slots are
// in use, whatever keys an attacker uses.
func (s *Slots[K]) release(key K) {
	var zero K
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse--
	if key != zero {
		if s.byKey[key]--; s.byKey[key] == 0 {
			delete(s.byKey, key)
		}
	}
}
