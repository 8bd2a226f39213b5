package framing_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"bufio"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
)

// read gives a reader all bytes in pieces of a size and returns where requests
// ended, and the refusal.
func read(b []byte, piece int) (ends []int, at int, err *framing.Error) {
	var m framing.RequestFramer
	for at < len(b) {
		n, err := m.Next(b[at:min(at+piece, len(b))])
		at += n
		if err != nil {
			return ends, at, err
		}
		if m.Idle() {
			ends = append(ends, at)
		}
	}
	return ends, at, nil
}

const okHead = "POST /a HTTP/1.1\r\nHost: a.example\r\n"

func TestRequests(t *testing.T) {
	long := strings.Repeat("x", 9000)
	tests := map[string]struct {
		in     string
		status int // 0: let through
	}{
		"plain":                           {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"an empty line before":            {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"two empty lines before":          {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"old":                             {"GET / HTTP/1.0\r\n\r\n", 0},
		"version 1.2":                     {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400},
		"version 2":                       {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		"small version":                   {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
		"no version":                      {"GET /\r\n\r\n", 400},
		"two blanks":                      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a blank at the end":              {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
		"a tab between":                   {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"unknown method":                  {"FROB / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"no method":                       {" / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"CONNECT":                         {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 405},
		"TRACE":                           {"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405},
		"bare LF after the request line":  {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
		"bare LF after a field":           {"GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n", 400},
		"bare LF at the end":              {"GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
		"bare CR in the request line":     {"GET /\rX HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"bare CR in a field":              {"GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n", 400},
		"CR CR LF":                        {"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400},
		"NUL in a field":                  {"GET / HTTP/1.1\r\nHost: a\r\nX: 1\x00\r\n\r\n", 400},
		"NUL in the path":                 {"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"obs-fold":                        {okHead + "X: 1\r\n 2\r\n\r\n", 400},
		"obs-fold with a tab":             {okHead + "X: 1\r\n\t2\r\n\r\n", 400},
		"a blank before the first field":  {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
		"a blank before the colon":        {okHead + "Content-Length : 3\r\n\r\nabc", 400},
		"a tab before the colon":          {okHead + "Content-Length\t: 3\r\n\r\nabc", 400},
		"a blank within a name":           {okHead + "X Y: z\r\n\r\n", 400},
		"a blank within a known name":     {okHead + "Transfer Encoding: chunked\r\n\r\n", 400},
		"a byte beyond ASCII in a name":   {okHead + "X-\xc3\xa9: z\r\n\r\n", 400},
		"a quote in a name":               {okHead + "X\"Y: z\r\n\r\n", 400},
		"every mark of a token in a name": {okHead + "X!#$%&'*+-.^_`|~1: z\r\n\r\n", 0},
		"a blank in a trailer's name":     {okHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nX Y: z\r\n\r\n", 400},
		"no colon":                        {okHead + "Content-Length\r\n\r\n", 400},
		"no name":                         {okHead + ": 3\r\n\r\n", 400},
		"a length":                        {okHead + "Content-Length: 3\r\n\r\nabc", 0},
		"a length in small letters":       {okHead + "content-length:3\r\n\r\nabc", 0},
		"length with plus":                {okHead + "Content-Length: +3\r\n\r\nabc", 400},
		"length with minus":               {okHead + "Content-Length: -3\r\n\r\nabc", 400},
		"length with leading zero":        {okHead + "Content-Length: 03\r\n\r\nabc", 400},
		"length zero":                     {okHead + "Content-Length: 0\r\n\r\n", 0},
		"length as a list":                {okHead + "Content-Length: 3, 3\r\n\r\nabc", 400},
		"length in hex":                   {okHead + "Content-Length: 0x3\r\n\r\nabc", 400},
		"length empty":                    {okHead + "Content-Length:\r\n\r\n", 400},
		"length with a form feed":         {okHead + "Content-Length: \f3\r\n\r\nabc", 400},
		"length too large":                {okHead + "Content-Length: 99999999999999999999\r\n\r\n", 400},
		"two equal lengths":               {okHead + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
		"two lengths":                     {okHead + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
		"chunked":                         {okHead + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 0},
		"CHUNKED":                         {okHead + "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", 0},
		"length and chunked": {okHead + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			400},
		"chunked and length": {okHead + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
			400},
		"chunked twice": {okHead +
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"chunked as a list": {okHead + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400},
		"identity":          {okHead + "Transfer-Encoding: identity\r\n\r\n", 400},
		"identity and a length": {okHead + "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
			400},
		"gzip, chunked":               {okHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
		"xchunked":                    {okHead + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
		"quoted chunked":              {okHead + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400},
		"chunked with a vertical tab": {okHead + "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", 400},
		"chunked; q=1":                {okHead + "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 400},
		"no coding":                   {okHead + "Transfer-Encoding:\r\n\r\n", 400},
		"chunked in HTTP/1.0":         {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"a chunk extension": {okHead + "Transfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\n\r\n",
			0},
		"a chunk extension with LF": {okHead + "Transfer-Encoding: chunked\r\n\r\n3;a\nabc\r\n0\r\n\r\n", 400},
		"a chunk extension with CR": {okHead + "Transfer-Encoding: chunked\r\n\r\n3;a\rb\r\nabc\r\n0\r\n\r\n",
			400},
		"a long chunk extension": {okHead + "Transfer-Encoding: chunked\r\n\r\n3;" + strings.Repeat("a", 300) +
			"\r\nabc\r\n0\r\n\r\n", 400},
		"many chunk extensions": {okHead + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1;"+strings.Repeat("a", 200)+"\r\na\r\n", 30) + "0\r\n\r\n", 400},
		"a chunk size with a blank": {okHead + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n", 400},
		"a chunk size with 0x":      {okHead + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", 400},
		"a chunk size with plus":    {okHead + "Transfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n", 400},
		"a negative chunk size":     {okHead + "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n", 400},
		"a chunk size that overflows": {okHead +
			"Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n", 400},
		"an empty chunk size":       {okHead + "Transfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n", 400},
		"a chunk size ending in LF": {okHead + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", 400},
		"a chunk too long":          {okHead + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
		"a chunk ending in LF":      {okHead + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", 400},
		"a trailer":                 {okHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n", 0},
		"a length as trailer": {okHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n",
			400},
		"a coding as trailer": {okHead +
			"Transfer-Encoding: chunked\r\n\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		"a host as trailer":      {okHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b\r\n\r\n", 400},
		"a trailer ending in LF": {okHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: 1\n\r\n", 400},
		"a large trailer": {okHead + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + long + "\r\n\r\n",
			431},
		"no host":                         {"GET / HTTP/1.1\r\n\r\n", 400},
		"an empty host":                   {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
		"two hosts":                       {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		"two equal hosts":                 {"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400},
		"a user in the host":              {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
		"a path in the host":              {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		"a list as host":                  {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
		"a port in letters":               {"GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", 400},
		"a port":                          {"GET / HTTP/1.1\r\nHost: a:8080\r\n\r\n", 0},
		"an IPv6 host":                    {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 0},
		"an IPv6 host without its end":    {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400},
		"an absolute address":             {"GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"an absolute address with a user": {"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an absolute address of ftp":      {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an absolute address with dots":   {"GET http://a/../b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an address of nothing":           {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an asterisk":                     {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"an asterisk of GET":              {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"two slashes first":               {"GET //b/c HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"two slashes within":              {"GET /b//c HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"dots":                            {"GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"dots at the end":                 {"GET /a/.. HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"one dot":                         {"GET /a/./b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"dots escaped":                    {"GET /a/%2e%2E/b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"dots half escaped":               {"GET /a/.%2e/b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"dots behind an escaped slash":    {"GET /a%2f../b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"dots before a semicolon":         {"GET /a/..;/b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"dots in a name":                  {"GET /a..b/.well-known/...c HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"dots in the query":               {"GET /a?b=/../c HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"an escaped NUL":                  {"GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an escaped line break":           {"GET /a%0d%0aX:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an escaped slash":                {"GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		"an escape cut off":               {"GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an invalid escape":               {"GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a backslash":                     {"GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"an escaped backslash":            {"GET /a%5cb HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a fragment":                      {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a long request line":             {"GET /" + long + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
		"a long field":                    {"GET / HTTP/1.1\r\nHost: a\r\nX: " + long + long + "\r\n\r\n", 431},
		"a large head": {"GET / HTTP/1.1\r\nHost: a\r\n" +
			strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 20) + "\r\n", 431},
		"many fields": {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: 1\r\n", 200) + "\r\n", 431},
	}
	const follower = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, tt := range tests {
		for _, piece := range []int{1, 7, 1 << 20} {
			in := []byte(tt.in + follower)
			ends, _, err := read(in, piece)
			if tt.status != 0 {
				if err == nil || err.Status != tt.status || len(ends) != 0 {
					t.Errorf("%s, in pieces of %d: requests end at %v, %+v; want %d", name, piece, ends, err, tt.status)
				}
				continue
			}
			if err != nil || len(ends) != 2 || ends[0] != len(tt.in) || ends[1] != len(in) {
				t.Errorf("%s, in pieces of %d: requests end at %v, %v; want %d and %d", name, piece, ends, err,
					len(tt.in), len(in))
			}
		}
	}
}

func TestResponses(t *testing.T) {
	for name, tt := range map[string]struct {
		method, in string
		closing    bool
	}{
		"a length":          {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false},
		"a length, bare LF": {"GET", "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", false},
		"nothing":           {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false},
		"HEAD":              {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false},
		"304":               {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", false},
		"204":               {"GET", "HTTP/1.1 204 No Content\r\n\r\n", false},
		"chunks": {"GET",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: b\r\n\r\n", false},
		"interim": {"GET",
			"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", false},
		"to the end":         {"GET", "HTTP/1.1 200 OK\r\n\r\nabc", true},
		"two lengths":        {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", true},
		"unknown coding":     {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\n\r\nabc", true},
		"switched protocols": {"GET", "HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x00", true},
		"not HTTP":           {"GET", "ICY 200 OK\r\n\r\nabc", true},
	} {
		for _, piece := range []int{1, 5, 1 << 20} {
			var m framing.ResponseFramer
			if n, _ := m.Next([]byte("x")); n != 0 || !m.Idle() {
				t.Fatal("bytes before any request belong to an answer")
			}
			m.Expect(tt.method)
			in, at, closing := []byte(tt.in+"evil"), 0, false
			for at < len(in) && !m.Idle() {
				var n int
				n, closing = m.Next(in[at:min(at+piece, len(in))])
				at += n
			}
			want := len(tt.in)
			if tt.closing {
				want = len(in)
			}
			if at != want || closing != tt.closing {
				t.Errorf("%s, in pieces of %d: the answer has %d bytes, closing %v; want %d, %v", name, piece, at,
					closing, want, tt.closing)
			}
		}
	}
}

func TestHeadAllocatesNothing(t *testing.T) {
	b := []byte("GET /api/badge/acme HTTP/1.1\r\nHost: marks.example\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n")
	var m framing.RequestFramer
	if n := testing.AllocsPerRun(1000, func() {
		if n, err := m.Next(b); n != len(b) || err != nil {
			t.Fatal(n, err)
		}
	}); n != 0 {
		t.Errorf("a head in one piece allocates %v times, want 0", n)
	}
}

// FuzzRequests: what is let through is one request to net/http too, with the
// same end; and it does not matter in what pieces it comes.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(okHead+"Transfer-Encoding: chunked\r\n\r\n3;a\r\nabc\r\n0\r\nA: b\r\n\r\n"), 3)
	f.Add([]byte(okHead+"Content-Length: 3\r\n\r\nabc"+okHead+"\r\n"), 1)
	f.Add([]byte("\r\nOPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 2)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		ends, at, refusal := read(b, 1<<20)
		again, at2, refusal2 := read(b, max(1, piece))
		if len(ends) != len(again) || (refusal == nil) != (refusal2 == nil) {
			t.Fatalf("%q: whole %v %d %v, in pieces of %d %v %d %v", b, ends, at, refusal, piece, again, at2, refusal2)
		}
		begin := 0
		for _, end := range ends {
			src := bytes.NewReader(b[begin:end])
			br := bufio.NewReaderSize(src, 64<<10)
			if begin+2 <= end && string(b[begin:begin+2]) == "\r\n" {
				br.Discard(2)
			}
			r, err := http.ReadRequest(br)
			if err != nil {
				begin = end // stricter in names and values, which is not our part
				continue
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Fatalf("%q: net/http cannot read the body: %v", b[begin:end], err)
			}
			if left := br.Buffered() + src.Len(); left != 0 {
				t.Fatalf("%q: net/http leaves %d bytes", b[begin:end], left)
			}
			begin = end
		}
	})
}

// FuzzResponses: the end of an answer is where net/http finds it.
func FuzzResponses(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd"), 2)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nx"), 1)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		piece = max(1, piece)
		var m framing.ResponseFramer
		m.Expect("GET")
		at, closing := 0, false
		for at < len(b) && !m.Idle() {
			var n int
			n, closing = m.Next(b[at:min(at+piece, len(b))])
			at += n
		}
		if !m.Idle() || closing || bytes.Contains(b[:at], []byte("HTTP/1.1 1")) {
			return
		}
		src := bytes.NewReader(b)
		br := bufio.NewReader(src)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
		if end := len(b) - br.Buffered() - src.Len(); end > at {
			t.Fatalf("%q: net/http reads %d bytes as the answer, we %d", b, end, at)
		}
	})
}

func BenchmarkHead(b *testing.B) {
	head := []byte("GET /api/badge/acme HTTP/1.1\r\nHost: marks.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux " +
		"x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36\r\n" +
		"Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\nAccept-Encoding: gzip, " +
		"deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\nConnection: keep-alive\r\nReferer: " +
		"https://shop.example/\r\nSec-Fetch-Dest: image\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Site: " +
		"cross-site\r\n\r\n")
	b.SetBytes(int64(len(head)))
	b.ReportAllocs()
	var m framing.RequestFramer
	for b.Loop() {
		m.Next(head)
	}
}
