package proxy

import "time"

// Compressed waits until nothing waits to be compressed.
func (p *Proxy) Compressed() {
	for p.press.Busy() {
		time.Sleep(time.Millisecond)
	}
}
