package proxy

import "time"

// Compressed waits until nothing waits to be compressed.
func (p *Proxy) Compressed() {
	for p.compressing.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}
