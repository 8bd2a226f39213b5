package store

import "sync"

// Topic is something a reader may wait for.
type Topic int

// The topics: the log grew, a delivery, an audit, a replay or a deadline became due.
const (
	TopicEvents Topic = iota
	TopicDeliveries
	TopicAudits
	TopicPreviews
	TopicReplays
	TopicDeadlines
	topics
)

// watch wakes readers of this process after a commit. It is a hint: what another
// process wrote is found by looking again now and then.
type watch struct {
	mu    sync.Mutex
	until [topics]chan struct{}
}

func (w *watch) make() {
	for i := range w.until {
		w.until[i] = make(chan struct{})
	}
}

// Watch returns a channel that is closed at the next commit that touches t. It
// must be taken before looking, or a commit in between goes unnoticed.
func (s *Store) Watch(t Topic) <-chan struct{} {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.until[t]
}

// tell wakes everyone who waits for a touched topic.
func (w *watch) tell(touched [topics]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, hit := range touched {
		if hit {
			close(w.until[i])
			w.until[i] = make(chan struct{})
		}
	}
}
