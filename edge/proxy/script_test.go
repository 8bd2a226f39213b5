package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/proxy"
)

// TestMain starts, outside of any bubble, the goroutine that fasthttp starts once
// per process to know the date.
func TestMain(m *testing.M) {
	here, there := net.Pipe()
	go func() { _ = (&fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}).ServeConn(there) }()
	if _, err := here.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		panic(err)
	}
	if _, err := io.Copy(io.Discard, here); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// fixture is a proxy before a scripted origin, in a bubble where time is ours.
type fixture struct {
	t      testing.TB
	proxy  *proxy.Proxy
	server *fasthttp.Server
	carry  *http.Transport
	served sync.WaitGroup

	// respond writes what the origin answers to a request onto its connection.
	respond func(conn net.Conn, r *http.Request) error
}

func newFixture(t testing.TB, cfg proxy.Config) *fixture {
	t.Helper()
	w := &fixture{t: t}
	w.carry = &http.Transport{DialContext: w.dial, DisableCompression: true, MaxIdleConnsPerHost: 200}
	if r, ok := cfg.Transport.(*refusing); ok {
		r.next = w.carry
	} else {
		cfg.Transport = w.carry
	}
	cfg.Scheme, cfg.Host = "http", "origin.example"
	cfg.Fail = func(ctx *fasthttp.RequestCtx, err error) {
		ctx.SetStatusCode(http.StatusBadGateway)
		if errors.Is(err, proxy.ErrNotCached) {
			ctx.SetStatusCode(http.StatusGatewayTimeout)
		}
		ctx.SetBodyString(err.Error())
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = 4 << 20
	}
	var err error
	if w.proxy, err = proxy.New(cfg); err != nil {
		t.Fatal(err)
	}
	w.server = &fasthttp.Server{Handler: w.proxy.Serve, Name: "fieldmark", NoDefaultServerHeader: true,
		StreamRequestBody: true}
	return w
}

// close ends everything the bubble began.
func (w *fixture) close() {
	w.carry.CloseIdleConnections()
	w.served.Wait()
	w.proxy.Close()
}

// dial opens a connection to the origin.
func (w *fixture) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	w.served.Go(func() {
		defer there.Close()
		br := bufio.NewReader(there)
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			if err := w.respond(there, r); err != nil {
				return
			}
		}
	})
	return here, nil
}

// do sends one request, given as it goes over the wire, on a separate connection.
func (w *fixture) do(method, raw string) (*http.Response, string, []string, error) {
	here, there := net.Pipe()
	var done sync.WaitGroup
	done.Go(func() { _ = w.server.ServeConn(there) })
	defer done.Wait()
	defer here.Close()
	go func() { _, _ = io.WriteString(here, raw) }() // an answer may come before all of it is read
	br := bufio.NewReader(here)
	var interim []string
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			return nil, "", nil, err
		}
		if resp.StatusCode >= 100 && resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			interim = append(interim, strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Link"))))
			continue
		}
		body, err := io.ReadAll(resp.Body)
		return resp, string(body), interim, err
	}
}

// step is one request of a script with all that belongs to it, or a pause or purge.
type step struct {
	line    int
	wait    time.Duration
	purge   string   // "soft tag" or "hard tag"
	request []string // "GET /a", fields
	body    string
	asked   []string // what the origin must see: "GET /a", "Name: value", "!Name"
	origin  []string // "200", fields; "not asked", "fails"
	content []string
	delay   time.Duration
	answer  []string // "200", "Name: value", "Name ~ part", "!Name", "|body"
}

type script struct {
	name     string
	host     string // unique, so that cases can share a proxy; site.example in the file
	line     int
	profiles []rfc9111.Profile
	fields   []string
	cookies  []string // that do not matter; those with a slash are paths
	steps    []*step
	real     bool // in real time, where a pause is for what runs behind
}

// domain is what every host in a script ends with.
var domain = regexp.MustCompile(`(?i)\.example\b`)

// readScripts reads a file of request scripts; README.md beside them tells the
// format.
func readScripts(t testing.TB, path string) []script {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []script
	var s *script
	var last *step
	both := []rfc9111.Profile{rfc9111.Strict, rfc9111.RFC}
	profiles := both
	n, inRealTime := 0, false
	add := func() *step {
		last = &step{line: n}
		s.steps = append(s.steps, last)
		return last
	}
	for line := range strings.Lines(string(raw)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if s != nil {
			line = domain.ReplaceAllString(line, fmt.Sprintf(".c%d$0", s.line))
		}
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case mark == "profile":
			p := both
			if named, ok := rfc9111.ParseProfile(rest); ok {
				p = []rfc9111.Profile{named}
			} else if rest != "both" {
				t.Fatalf("%s:%d: profile %q", path, n, rest)
			}
			if s != nil && len(s.steps) == 0 {
				s.profiles = p // of this case alone
			} else {
				profiles = p
			}
		case mark == "==":
			all = append(all, script{name: rest, line: n, host: fmt.Sprintf("site.c%d.example", n), profiles: profiles,
				real: inRealTime})
			s = &all[len(all)-1]
		case line == "clock real":
			inRealTime = true
		case mark == "fields":
			s.fields = strings.Fields(rest)
		case mark == "cookies":
			s.cookies = strings.Fields(rest)
		case mark == "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, n, err)
			}
			add().wait = d
		case mark == "purge":
			add().purge = rest
		case mark == ">" && strings.HasPrefix(rest, "|"):
			last.body = repeated(rest[1:])
		case mark == ">":
			if last == nil || last.request == nil || last.answer != nil || last.origin != nil ||
				!strings.Contains(strings.SplitN(rest, " ", 2)[0], ":") {
				add()
			}
			last.request = append(last.request, rest)
		case mark == "?":
			last.asked = append(last.asked, rest)
		case mark == "<" && strings.HasPrefix(rest, "|"):
			last.content = append(last.content, rest[1:])
		case mark == "<" && strings.HasPrefix(rest, "delay "):
			if last.delay, err = time.ParseDuration(rest[6:]); err != nil {
				t.Fatalf("%s:%d: %v", path, n, err)
			}
		case mark == "<":
			last.origin = append(last.origin, rest)
		case mark == "=":
			last.answer = append(last.answer, rest)
		default:
			t.Fatalf("%s:%d: cannot read %q", path, n, line)
		}
	}
	return all
}

var relative = regexp.MustCompile(`\{(now|start)([+-][0-9a-z]+)?(?: (850|asctime))?\}`)

// dates fills in the points in time a script speaks of.
func dates(s string, start time.Time) string {
	return relative.ReplaceAllStringFunc(s, func(m string) string {
		parts := relative.FindStringSubmatch(m)
		at := start
		if parts[1] == "now" {
			at = time.Now()
		}
		if parts[2] != "" {
			d, err := time.ParseDuration(parts[2])
			if err != nil {
				return m
			}
			at = at.Add(d)
		}
		switch parts[3] {
		case "850":
			return at.UTC().Format("Monday, 02-Jan-06 15:04:05 GMT")
		case "asctime":
			return at.UTC().Format(time.ANSIC)
		}
		return at.UTC().Format(http.TimeFormat)
	})
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.http")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v %v", files, err)
	}
	var cases atomic.Int64
	t.Run("all", func(t *testing.T) { // waits for the files
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
				t.Parallel()
				for _, group := range grouped(readScripts(t, file)) {
					cases.Add(int64(len(group.scripts)))
					if group.scripts[0].real {
						group.run(t, file)
						continue
					}
					synctest.Test(t, func(t *testing.T) { group.run(t, file) })
				}
			})
		}
	})
	t.Logf("%d cases", cases.Load())
}

// group are the cases that one proxy can play in sequence. Each has a separate host, so
// that no case depends on what another stored.
type group struct {
	profile rfc9111.Profile
	scripts []script
}

func grouped(all []script) (groups []*group) {
	byKind := map[string]*group{}
	for _, s := range all {
		for _, profile := range s.profiles {
			kind := fmt.Sprint(profile, s.fields, s.cookies, s.real)
			if byKind[kind] == nil {
				byKind[kind] = &group{profile: profile}
				groups = append(groups, byKind[kind])
			}
			byKind[kind].scripts = append(byKind[kind].scripts, s)
		}
	}
	return groups
}

func (g *group) run(t *testing.T, file string) {
	cfg := proxy.Config{Profile: g.profile, Fields: g.scripts[0].fields}
	for _, c := range g.scripts[0].cookies {
		if strings.Contains(c, "/") {
			cfg.CookielessPaths = append(cfg.CookielessPaths, c)
		} else {
			cfg.IgnoreCookies = append(cfg.IgnoreCookies, c)
		}
	}
	w := newFixture(t, cfg)
	defer w.close()
	for _, s := range g.scripts {
		w.runScript(t, file, s, g.profile)
		w.carry.CloseIdleConnections()
		if !s.real { // the next begins with a second, as the first did
			synctest.Wait()
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		}
	}
}

func (w *fixture) runScript(t *testing.T, file string, s script, profile rfc9111.Profile) {
	start := time.Now()
	for _, st := range s.steps {
		where := fmt.Sprintf("%s:%d: %s (%s)", filepath.Base(file), st.line, s.name, profile)
		switch {
		case st.wait > 0 && s.real:
			w.proxy.AwaitCompression()
		case st.wait > 0:
			time.Sleep(st.wait)
		case st.purge != "":
			kind, tag, _ := strings.Cut(st.purge, " ")
			if tag == "everything" {
				w.proxy.PurgeAll(kind == "hard")
			} else {
				w.proxy.Purge(kind == "hard", tag)
			}
		default:
			w.play(t, where, s.host, st, start, s.real)
		}
		if !s.real {
			synctest.Wait()
		}
	}
}

// play sends one request and holds what the origin saw, and the answer, against
// the script.
func (w *fixture) play(t *testing.T, where, site string, st *step, start time.Time, real bool) {
	asked := 0
	w.respond = func(conn net.Conn, r *http.Request) error {
		asked++
		said, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("%s: the origin was sent half a body: %v", where, err)
		}
		checkAsked(t, where, st, start, r, string(said))
		time.Sleep(st.delay)
		if len(st.origin) == 0 || st.origin[0] == "fails" || st.origin[0] == "not asked" {
			return errors.New("closed")
		}
		return writeOrigin(conn, r.Method, st, start)
	}
	resp, body, interim, err := w.do(strings.Fields(st.request[0])[0], wire(st, site, start))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	if !real {
		synctest.Wait()
	}
	want := len(st.origin) > 0 && st.origin[0] != "not asked"
	if asked > 0 != want {
		t.Errorf("%s: the origin was asked %d times, want %v (answered %d %v)", where, asked, want, resp.StatusCode,
			resp.Header)
	}
	for _, line := range st.answer {
		if complaint := checkAnswer(dates(line, start), resp, body, interim); complaint != "" {
			t.Errorf("%s: %s", where, complaint)
		}
	}
}

// wire writes the request of a step.
func wire(st *step, site string, start time.Time) string {
	var b strings.Builder
	b.WriteString(st.request[0] + " HTTP/1.1\r\n")
	host := "Host: " + site + "\r\n"
	for _, f := range st.request[1:] {
		if strings.HasPrefix(f, "Host:") {
			host = ""
		}
		b.WriteString(dates(f, start) + "\r\n")
	}
	b.WriteString(host)
	if strings.Contains(b.String(), "Transfer-Encoding: chunked") {
		half := len(st.body) / 2
		b.WriteString("\r\n")
		for _, part := range []string{st.body[:half], st.body[half:]} {
			if part != "" {
				fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
			}
		}
		return b.String() + "0\r\n\r\n"
	}
	if st.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(st.body))
	}
	return b.String() + "\r\n" + st.body
}

// repeated is a text, or many times the same one.
func repeated(text string) string {
	var times int
	if n, err := fmt.Sscanf(text, "repeat %d", &times); n == 1 && err == nil {
		return strings.Repeat("All work and no play makes a dull page. ", times)
	}
	return text
}

// writeOrigin sends the scripted response and adds a Date and a Content-Length if the
// script has none.
func writeOrigin(conn net.Conn, method string, st *step, start time.Time) error {
	body := repeated(strings.Join(st.content, "\n"))
	var b strings.Builder
	final, dated, sized := "", false, false
	for _, line := range st.origin {
		if status, isStatus := statusLine(line); isStatus {
			if final != "" {
				b.WriteString("\r\n") // the one before was interim
			}
			final = line
			b.WriteString("HTTP/1.1 " + status + "\r\n")
			continue
		}
		name, _, _ := strings.Cut(line, ":")
		dated = dated || strings.EqualFold(name, "Date")
		sized = sized || strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding") ||
			line == "!Content-Length"
		if !strings.HasPrefix(line, "!") {
			b.WriteString(dates(line, start) + "\r\n")
		} else if line == "!Date" {
			dated = true
		}
	}
	if !dated {
		b.WriteString("Date: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
	}
	none := strings.HasPrefix(final, "304") || strings.HasPrefix(final, "204")
	if !sized && !none {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	if !none && method != http.MethodHead {
		b.WriteString(body)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return err
	}
	if sized {
		return errors.New("closed, as the length may be the connection's end")
	}
	return nil
}

func statusLine(line string) (string, bool) {
	code, _, _ := strings.Cut(line, " ")
	if len(code) != 3 || strings.Trim(code, "0123456789") != "" {
		return "", false
	}
	if code == line {
		line += " X"
	}
	return line, true
}

func checkAsked(t *testing.T, where string, st *step, start time.Time, r *http.Request, body string) {
	for _, line := range st.asked {
		line = dates(line, start)
		name, value, isField := strings.Cut(line, ": ")
		absent, isAbsent := strings.CutPrefix(line, "!")
		text, isBody := strings.CutPrefix(line, "|")
		switch {
		case isBody:
			if body != repeated(text) {
				t.Errorf("%s: the origin was sent the body %.80q of %d bytes, want %q", where, body, len(body), text)
			}
		case line == "chunked":
			if !slices.Equal(r.TransferEncoding, []string{"chunked"}) {
				t.Errorf("%s: the origin was sent a body of the length %d, want chunks", where, r.ContentLength)
			}
		case isAbsent:
			if got := r.Header.Values(absent); len(got) > 0 {
				t.Errorf("%s: the origin was sent %s: %q", where, absent, got)
			}
		case isField:
			if got := strings.Join(r.Header.Values(name), ", "); got != value {
				t.Errorf("%s: the origin was sent %s: %q, want %q", where, name, got, value)
			}
		case line != r.Method+" "+r.URL.RequestURI():
			t.Errorf("%s: the origin was asked %s %s, want %s", where, r.Method, r.URL.RequestURI(), line)
		}
	}
}

// checkAnswer holds one line of a script against an answer.
func checkAnswer(line string, resp *http.Response, body string, interim []string) string {
	h := resp.Header
	switch {
	case strings.HasPrefix(line, "|"):
		if body != line[1:] {
			return fmt.Sprintf("body %.100q, want %q", body, line[1:])
		}
	case strings.HasPrefix(line, "!"):
		if got := h.Values(line[1:]); len(got) > 0 {
			return fmt.Sprintf("%s: %q, want none", line[1:], got)
		}
	case strings.HasPrefix(line, "1"):
		if got := strings.Join(interim, ", "); got != line {
			return fmt.Sprintf("before it %q, want %q", got, line)
		}
	case len(line) == 3:
		if got := fmt.Sprint(resp.StatusCode); got != line {
			return fmt.Sprintf("status %s, want %s; body %.80q, Cache-Status %q", got, line, body,
				h.Get("Cache-Status"))
		}
	case strings.Contains(line, " ~ "):
		name, part, _ := strings.Cut(line, " ~ ")
		if got := strings.Join(h.Values(name), ", "); !strings.Contains(got, part) {
			return fmt.Sprintf("%s: %q, want it to have %q", name, got, part)
		}
	default:
		name, value, _ := strings.Cut(line, ": ")
		got := strings.Join(h.Values(name), ", ")
		if name == "Content-Length" && got == "" && resp.ContentLength >= 0 {
			got = fmt.Sprint(resp.ContentLength)
		}
		if got != value {
			return fmt.Sprintf("%s: %q, want %q; Cache-Status %q", name, got, value, h.Get("Cache-Status"))
		}
	}
	return ""
}
