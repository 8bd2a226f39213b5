package proxy

import "time"

// AwaitCompression waits until the jobs that were queued for compression have run.
func (p *Proxy) AwaitCompression() {
	done := make(chan struct{})
	for !p.compressor.TrySubmit(func() { close(done) }) {
		time.Sleep(time.Millisecond) // the queue is full
	}
	<-done
}
