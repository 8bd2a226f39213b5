package conn_test

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn"
)

// browserHead is what a browser sends with a request.
const browserHead = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
	"Chrome/141.0.0.0 Safari/537.36\r\n" +
	"Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, " +
	"br, zstd\r\n" +
	"Accept-Language: de-DE,de;q=0.9,en;q=0.8\r\nReferer: https://shop.example/\r\nSec-Fetch-Dest: " +
	"image\r\nSec-Fetch-Mode: no-cors\r\n" +
	"Sec-Fetch-Site: cross-site\r\nsec-ch-ua-platform: \"Linux\"\r\nCookie: a=b; c=d\r\nDNT: 1\r\nConnection: " +
	"keep-alive\r\n"

const plainGet = "GET /api/badge/acme HTTP/1.1\r\nHost: fieldmark.example\r\n"

// TestSimpleGET: which requests the fast path accepts.
func TestSimpleGET(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       bool
	}{
		{"least", plainGet + "\r\n", true},
		{"browser", plainGet + browserHead + "\r\n", true},
		{"etag", plainGet + "If-None-Match: \"x\"\r\n\r\n", true},
		{"both conditions", plainGet +
			"If-None-Match: \"x\"\r\nIf-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT\r\n\r\n", true},
		{"theme", "GET /api/badge/acme?theme=dark HTTP/1.1\r\nhost: x\r\n\r\n", true},
		{"behind a proxy", plainGet +
			"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Real-IP: 192.0.2.1\r\n\r\n", true},
		{"a second request behind", plainGet + "\r\nPOST / HTTP/1.1\r\n", true},
		{"cut off", plainGet, false},
		{"only a date", plainGet + "If-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT\r\n\r\n", false},
		{"HEAD", strings.Replace(plainGet, "GET", "HEAD", 1) + "\r\n", false},
		{"HTTP/1.0", strings.Replace(plainGet, "1.1", "1.0", 1) + "\r\n", false},
		{"no host", "GET /api/badge/acme HTTP/1.1\r\n\r\n", false},
		{"empty host", "GET /api/badge/acme HTTP/1.1\r\nHost:\r\n\r\n", false},
		{"two hosts", plainGet + "Host: b\r\n\r\n", false},
		{"host with a user", "GET /api/badge/acme HTTP/1.1\r\nHost: a@b\r\n\r\n", false},
		{"no slug", "GET /api/badge/ HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"escaped", "GET /api/badge/ac%6de HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"a slash more", "GET /api/badge/acme/embed HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"dot segments", "GET /api/badge/../x HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"fragment", "GET /api/badge/acme#x HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"absolute form", "GET http://x/api/badge/acme HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"bare line feed", "GET /api/badge/acme HTTP/1.1\nHost: x\n\n", false},
		{"line feed in a field", plainGet + "Accept: a\nb\r\n\r\n", false},
		{"bare carriage return", plainGet + "Accept: a\rb\r\n\r\n", false},
		{"NUL", plainGet + "Accept: a\x00b\r\n\r\n", false},
		{"DEL at the eighth byte", plainGet + "Accept: 12345\x7f890\r\n\r\n", false},
		{"not ASCII", plainGet + "Accept: ü\r\n\r\n", false},
		{"folded", plainGet + "Accept: a\r\n b\r\n\r\n", false},
		{"blank before the colon", plainGet + "Accept : a\r\n\r\n", false},
		{"no name", plainGet + ": a\r\n\r\n", false},
		{"no colon", plainGet + "Accept\r\n\r\n", false},
		{"content length", plainGet + "Content-Length: 0\r\n\r\n", false},
		{"chunked", plainGet + "Transfer-Encoding: chunked\r\n\r\n", false},
		{"expect", plainGet + "Expect: 100-continue\r\n\r\n", false},
		{"upgrade", plainGet + "Upgrade: h2c\r\n\r\n", false},
		{"close", plainGet + "Connection: close\r\n\r\n", false},
		{"named hop", plainGet + "Connection: keep-alive, x\r\n\r\n", false},
		{"range", plainGet + "Range: bytes=0-1\r\n\r\n", false},
		{"two etags", plainGet + "If-None-Match: \"x\"\r\nIf-None-Match: \"y\"\r\n\r\n", false},
		{"two clients", plainGet + "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n\r\n", false},
		{"two agents", plainGet + "User-Agent: a\r\nUser-Agent: b\r\n\r\n", false},
		{"another path", strings.Replace(plainGet, "badge", "score", 1) + "\r\n", false},
		{"via", plainGet + "Via: 1.1 camo\r\n\r\n", false},
		{"request id", plainGet + "X-Request-Id: a\r\n\r\n", false},
		{"unknown", plainGet + "X-Anything: a\r\n\r\n", false},
		{"two dots", "GET /api/badge/.. HTTP/1.1\r\nHost: x\r\n\r\n", false},
	} {
		if _, ok := conn.ParseSimpleGET([]byte(tt.head), "/api/badge/"); ok != tt.want {
			t.Errorf("%s: accepted %v, want %v", tt.name, ok, tt.want)
		}
	}
}

// FuzzSimpleGET compares the parser with fasthttp's: what it accepts, the other reads as
// the same request of the same length.
func FuzzSimpleGET(f *testing.F) {
	for _, more := range []string{"", browserHead, "If-None-Match: \"x\", W/\"y\"\r\n", "Accept: a\nb\r\n",
		"X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n", "Content-Length: 5\r\n", "host: y\r\n", " x: y\r\n",
		"Transfer-Encoding: chunked\r\n", "Sec-Fetch-Mode : x\r\n", "Connection: close\r\n", "Accept:\t\r\n",
		"Accept:\r\n", "Expect: 100-continue\r\n"} {
		f.Add([]byte(plainGet + more + "\r\n"))
		f.Add([]byte("GET /api/badge/acme.json?theme=dark&x= HTTP/1.1\r\nHost: a\r\n" + more +
			"\r\nGET / HTTP/1.1\r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, ok := conn.ParseSimpleGET(in, "/api/badge/")
		if !ok {
			return
		}
		full := new(fasthttp.RequestHeader)
		in = bytes.Clone(in)
		rest := bufio.NewReaderSize(bytes.NewReader(in), len(in)+16)
		if err := full.Read(rest); err != nil {
			t.Fatalf("%q: the full parser says %v", in, err)
		}
		var uri fasthttp.URI
		if err := uri.Parse(full.Host(), full.RequestURI()); err != nil {
			t.Fatalf("%q: address: %v", in, err)
		}
		address := string(uri.Path())
		if query := uri.QueryString(); len(query) > 0 || bytes.HasSuffix(r.Target, []byte("?")) {
			address += "?" + string(query)
		}
		for what, pair := range map[string][2]string{
			"method": {string(full.Method()), "GET"}, "protocol": {string(full.Protocol()), "HTTP/1.1"},
			"target": {string(full.RequestURI()), string(r.Target)}, "address": {address, string(r.Target)},
			"match": {string(full.Peek("If-None-Match")), string(r.IfNoneMatch)},
			"agent": {string(full.UserAgent()), string(r.UserAgent)}, "host": {string(full.Host()), string(r.Host)},
			"client": {string(full.Peek("X-Forwarded-For")), string(r.ForwardedFor)},
			"rest":   {fmt.Sprint(rest.Buffered()), fmt.Sprint(len(in) - r.Size)},
			"body": {fmt.Sprint(full.ContentLength() > 0, full.ConnectionClose(), full.ConnectionUpgrade()),
				"false false false"},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%q: %s is %q for fasthttp, %q for the fast path", in, what, pair[0], pair[1])
			}
		}
		if len(full.Host()) == 0 {
			t.Errorf("%q: no host", in)
		}
	})
}
