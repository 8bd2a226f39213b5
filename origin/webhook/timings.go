package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
)

// seen holds the timings of a request. Its hooks may run after the request was
// abandoned, hence the lock.
type seen struct {
	mu                            sync.Mutex
	dns, connect, secure, wrote   time.Time
	dnsTook, connectTook, tlsTook time.Duration
	firstByte                     time.Duration
	address                       string
}

// withTimings returns a context whose requests record their timings.
// The caller reads them from seen after the request, also after one that failed.
func withTimings(ctx context.Context) (context.Context, *seen) {
	s := &seen{}
	note := func(do func(now time.Time)) {
		now := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		do(now)
	}
	// A hook that did not run leaves its time at zero, such as DNS on a connection that is
	// reused.
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { note(func(now time.Time) { s.dns = now }) },
		DNSDone:  func(httptrace.DNSDoneInfo) { note(func(now time.Time) { s.dnsTook = now.Sub(s.dns) }) },
		ConnectStart: func(string, string) {
			note(func(now time.Time) { s.connect = now })
		},
		ConnectDone: func(_, address string, err error) {
			if err == nil { // an address that cannot be reached is not shown
				note(func(now time.Time) { s.connectTook = now.Sub(s.connect) })
			}
		},
		TLSHandshakeStart: func() { note(func(now time.Time) { s.secure = now }) },
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			note(func(now time.Time) { s.tlsTook = now.Sub(s.secure) })
		},
		// The address is the one that was dialled, so an owner sees where messages went.
		GotConn: func(i httptrace.GotConnInfo) {
			host, _, err := net.SplitHostPort(i.Conn.RemoteAddr().String())
			if err == nil {
				note(func(time.Time) { s.address = host })
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { note(func(now time.Time) { s.wrote = now }) },
		GotFirstResponseByte: func() {
			note(func(now time.Time) {
				// Without it the request was not written, so the byte is of an early response.
				if !s.wrote.IsZero() {
					s.firstByte = now.Sub(s.wrote)
				}
			})
		},
	}), s
}

// detail returns the timings so far.
// class is the class of the error, empty after a success.
func (s *seen) detail(class string) fieldmark.AttemptDetail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fieldmark.AttemptDetail{
		Class: class, Address: s.address, DNSMillis: s.dnsTook.Milliseconds(),
		ConnectMillis: s.connectTook.Milliseconds(),
		TLSMillis:     s.tlsTook.Milliseconds(), FirstByteMillis: s.firstByte.Milliseconds(),
	}
}
