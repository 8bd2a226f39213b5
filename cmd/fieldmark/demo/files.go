package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// FilesDir is the folder of the data whose files come before those of the demo websites:
// alpenglow.localhost/robots.txt is that file of the site, and the lines of
// _fieldmark-challenge.alpenglow.localhost.txt are the TXT records of that name.
const FilesDir = "sites"

// maxFile limits a file of FilesDir in bytes: it is more than any page of the demo.
const maxFile = 1 << 20

// WithFiles serves the files of a folder in front of the sites of next, so that a fix or a
// proof can be tried without a website.
func WithFiles(data string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Clean("/" + r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		body, err := readFile(data, strings.ToLower(host)+name)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		kind := mime.TypeByExtension(path.Ext(name))
		if kind == "" {
			kind = "text/plain; charset=utf-8"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body) // the client may have disconnected
	})
}

// readFile reads a file below FilesDir. A name cannot leave the folder.
func readFile(data, name string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Join(data, FilesDir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// maxQuery is the longest question that is read, in bytes (RFC 1035, section 4.2.1).
const maxQuery = 512

// ServeDNS answers questions for TXT records below localhost from the files of FilesDir
// until ctx ends. Every other name does not exist.
func ServeDNS(ctx context.Context, data string, conn net.PacketConn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var query [maxQuery]byte
	for {
		n, from, err := conn.ReadFrom(query[:])
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a DNS question: %w", err)
		}
		if answer := answerDNS(data, query[:n]); answer != nil {
			_, _ = conn.WriteTo(answer, from) // who asked asks again
		}
	}
}

// answerDNS returns the answer to a question, nil if it is malformed.
func answerDNS(data string, query []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil || header.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true,
		RCode: dnsmessage.RCodeNameError}, Questions: []dnsmessage.Question{q}}
	if body, err := readFile(data, name+".txt"); err == nil && strings.HasSuffix(name, ".localhost") {
		m.RCode = dnsmessage.RCodeSuccess
		for line := range strings.Lines(string(body)) {
			if line = strings.TrimSpace(line); line == "" || len(line) > 255 || q.Type != dnsmessage.TypeTXT {
				continue
			}
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.TXTResource{TXT: []string{line}}})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}
