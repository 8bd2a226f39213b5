package compress

import "sync/atomic"

// MaxWaitLength bounds the bodies that a client waits for to be compressed, in bytes:
// that takes two milliseconds or less.
const MaxWaitLength = 256 << 10

// Encodings holds the encoded bodies of one stored response. Its methods may be
// called concurrently. The zero value is empty.
type Encodings struct {
	started [Count]atomic.Bool
	bodies  [Count]atomic.Pointer[[]byte] // to nil: compressing saves too little
}

// NewEncodings compresses body with every encoding.
func NewEncodings(body []byte) *Encodings {
	s := new(Encodings)
	for e := range Identity {
		s.compress(e, body)
	}
	return s
}

func (s *Encodings) compress(e Encoding, body []byte) {
	encoded := e.Compress(body)
	s.bodies[e].Store(&encoded)
}

// Body returns the body encoded as e, or nil if it is not encoded yet or e saves too
// little.
func (s *Encodings) Body(e Encoding) []byte {
	if body := s.bodies[e].Load(); body != nil {
		return *body
	}
	return nil
}

// Ready reports whether there is a body encoded as e.
func (s *Encodings) Ready(e Encoding) bool { return s.Body(e) != nil }

// Size returns the length of all encoded bodies, in bytes.
func (s *Encodings) Size() (n int64) {
	for e := range Identity {
		n += int64(len(s.Body(e)))
	}
	return n
}

// Choose returns the encoding and the body for a client that sent accept. Each
// encoding is produced on w after the first request for it, because most pages of a
// crawled site are requested once and most clients want the same encoding. If the
// first client would get the body uncompressed, it waits for Fast instead; others
// that come in the meantime do not wait.
func (s *Encodings) Choose(w *Worker, accept *AcceptEncoding, body []byte) (Encoding, []byte) {
	wanted := accept.Negotiate(func(e Encoding) bool { b := s.bodies[e].Load(); return b == nil || *b != nil })
	if wanted == Identity {
		return Identity, body
	}
	canWait := len(body) <= MaxWaitLength
	if !(canWait && wanted == Fast) && s.bodies[wanted].Load() == nil &&
		s.started[wanted].CompareAndSwap(false, true) &&
		!w.TrySubmit(func() { s.compress(wanted, body) }) {
		s.started[wanted].Store(false)
	}
	ready := accept.Negotiate(s.Ready)
	if ready == Identity && canWait && accept.Negotiate(isFast) == Fast && s.started[Fast].CompareAndSwap(false, true) {
		s.compress(Fast, body)
		ready = accept.Negotiate(s.Ready)
	}
	if ready == Identity {
		return Identity, body
	}
	return ready, s.Body(ready)
}

func isFast(e Encoding) bool { return e == Fast }

// Once encodes a body that is sent to one client and not stored, while the client
// waits: as Fast if the client accepts it and that saves enough. The body should not
// be longer than MaxWaitLength.
func Once(accept *AcceptEncoding, body []byte) (Encoding, []byte) {
	if accept.Negotiate(isFast) == Fast {
		if encoded := Fast.Compress(body); encoded != nil {
			return Fast, encoded
		}
	}
	return Identity, body
}
