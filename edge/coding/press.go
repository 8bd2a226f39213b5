package coding

import "sync/atomic"

// queue bounds what waits to be compressed; beyond it content stays as it is
// until it is asked for again.
const queue = 256

// Press compresses behind the answers, one thing at a time: never beside a
// request, and one core at most is busy with it.
type Press struct {
	work chan func()
	busy atomic.Int64
}

// NewPress returns a press at rest.
func NewPress() *Press { return &Press{work: make(chan func(), queue)} }

// Offer has job done when there is time, and reports whether it will be.
func (p *Press) Offer(job func()) bool {
	p.busy.Add(1)
	select {
	case p.work <- job:
		return true
	default:
		p.busy.Add(-1)
		return false
	}
}

// Busy reports whether something waits or is at work.
func (p *Press) Busy() bool { return p.busy.Load() > 0 }

// Run does what is offered until end is closed.
func (p *Press) Run(end <-chan struct{}) {
	for {
		select {
		case <-end:
			return
		case job := <-p.work:
			job()
			p.busy.Add(-1)
		}
	}
}
