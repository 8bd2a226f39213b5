package conn

import "time"

// workerIdle is how long a goroutine waits for another function.
const workerIdle = time.Second

// workers runs functions in goroutines that are used again: a new one would have to grow
// its stack for each request, which takes longer than parsing it.
type workers struct{ work chan func() }

func newWorkers() *workers { return &workers{make(chan func())} }

// run runs f in a goroutine that waits, or in a new one.
func (w *workers) run(f func()) {
	select {
	case w.work <- f:
	default:
		go w.loop(f)
	}
}

// loop runs f, and what follows until nothing does for a while.
func (w *workers) loop(f func()) {
	idle := time.NewTimer(workerIdle)
	defer idle.Stop()
	for {
		f()
		f = nil // so that the garbage collector can free what it holds
		idle.Reset(workerIdle)
		select {
		case f = <-w.work:
		case <-idle.C:
			return
		}
	}
}
