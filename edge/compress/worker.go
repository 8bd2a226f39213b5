package compress

// queueSize bounds the jobs that wait. Beyond it a body is sent uncompressed until it
// is requested again.
const queueSize = 256

// Worker compresses in the background, one job at a time: no request waits for it,
// and it occupies one core at most.
type Worker struct{ jobs chan func() }

// NewWorker returns a Worker that is not running.
func NewWorker() *Worker { return &Worker{jobs: make(chan func(), queueSize)} }

// TrySubmit queues job and reports whether there was room for it. Jobs run in the
// order in which they were submitted.
func (w *Worker) TrySubmit(job func()) bool {
	select {
	case w.jobs <- job:
		return true
	default:
		return false
	}
}

// Run runs the jobs until done is closed; jobs that wait then are dropped.
func (w *Worker) Run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case job := <-w.jobs:
			job()
		}
	}
}
