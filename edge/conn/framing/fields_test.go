package framing_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
)

// FuzzBridge writes fields as HTTP/1.1: whatever they are, RequestFramer finds one request
// in them or they are refused.
func FuzzBridge(f *testing.F) {
	plain := ":method\x00POST\x00:scheme\x00https\x00:authority\x00x\x00:path\x00/a?b"
	for _, more := range []string{"", "a\x00b", "a\x00b\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "host\x00x",
		"host\x00y",
		"content-length\x005", "content-length\x0005", "transfer-encoding\x00chunked", "cookie\x00a\x00cookie\x00b",
		"te\x00trailers", "a b\x00c", "a\x00b\rc", ":path\x00/\r\n"} {
		f.Add(plain+"\x00"+more, true)
		f.Add(plain+"\x00"+more, false)
		f.Add(strings.ReplaceAll(plain, "/a?b", more), false)
		f.Add(strings.ReplaceAll(plain, "POST", more), false)
	}
	f.Fuzz(func(t *testing.T, in string, body bool) {
		parts := strings.Split(in, "\x00")
		var fields []framing.Field
		size := 0
		for i := 0; i+1 < len(parts); i += 2 {
			fields = append(fields, framing.Field{Name: parts[i], Value: parts[i+1]})
			size += fields[len(fields)-1].Size()
		}
		if len(fields) > framing.MaxFields || size > framing.MaxHead {
			return // refused by the transport
		}
		head, req, err := framing.AppendRequest(nil, fields, "https", body)
		if err != nil {
			if len(head) > 0 {
				t.Errorf("%q is refused (%v) with %q", in, err, head)
			}
			return
		}
		if body {
			if req.Length < 0 {
				head = append(head, "3\r\nabc\r\n0\r\n\r\n"...)
			} else {
				head = append(head, bytes.Repeat([]byte("x"), int(min(req.Length, 1<<16)))...)
			}
		}
		var framer framing.RequestFramer
		n, refused := framer.Next(head)
		if refused != nil || n != len(head) || !framer.Idle() && req.Length <= 1<<16 {
			t.Errorf("%q: the framer takes %d of %d bytes of %q, %v", in, n, len(head), head, refused)
		}
	})
}

// TestResponseParser splits responses, whole and byte by byte.
func TestResponseParser(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		head     bool
		want     string
	}{
		{"length", "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello", false,
			"200 server=x content-length=5 | hello | end"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nA: " +
			"b\r\n\r\n", false,
			"200 | hello world | end"},
		{"until the end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", false, "200 | hello | "},
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, "200 content-length=5 |  | end"},
		{"304", "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n", false, "304 etag=\"x\" |  | end"},
		{"interim", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false,
			"103 link=</a> 204 |  | end"},
		{"connection fields",
			"HTTP/1.1 200 OK\r\nKeep-Alive: 1\r\nConnection: x\r\nUpgrade: y\r\nProxy-Connection: z\r\n" +
				"Content-Length: 0\r\n\r\n", false, "200 content-length=0 |  | end"},
	} {
		for _, step := range []int{1, 7, len(tt.in)} {
			p := framing.ResponseParser{ToHEAD: tt.head}
			var heads, end []string
			var body strings.Builder
			for from := 0; from < len(tt.in); {
				part, n, err := p.Next([]byte(tt.in[from:min(len(tt.in), from+step)]))
				if err != nil {
					t.Fatalf("%s by %d: %v", tt.name, step, err)
				}
				from += n
				if part.Status != 0 {
					heads = append(heads, fmt.Sprint(part.Status))
					for name, value := range part.Fields() {
						heads = append(heads, strings.ToLower(string(name))+"="+string(value))
					}
				}
				body.Write(part.Data)
				if part.End {
					end = append(end, "end")
				}
			}
			got := strings.Join(heads, " ") + " | " + body.String() + " | " + strings.Join(end, " ")
			if got != tt.want || !p.Ended() {
				t.Errorf("%s by %d: %s, ended %v, want %s", tt.name, step, got, p.Ended(), tt.want)
			}
		}
	}
	for _, in := range []string{"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/2 200\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"} {
		var p framing.ResponseParser
		var err error
		for from := 0; from < len(in) && err == nil; {
			var n int
			_, n, err = p.Next([]byte(in[from:]))
			from += n
		}
		if err == nil {
			t.Errorf("%q is parsed", in)
		}
	}
}

// TestCheckTrailer checks trailer sections.
func TestCheckTrailer(t *testing.T) {
	for name, ok := range map[string]bool{"x": true, ":path": false, "X": false, "connection": false} {
		err := framing.CheckTrailer([]framing.Field{{Name: name, Value: "v"}})
		if malformed := framing.MalformedError(""); (err == nil) != ok || err != nil && !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
