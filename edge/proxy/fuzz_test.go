package proxy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/edge/proxy"
)

// say is a response field of an origin with its meaning for a cache, written down here so
// that the model does not depend on a parser.
type say struct {
	text                    string
	life, swr, sie          time.Duration
	never, validate, strict bool // not stored; only after validation; never stale
	sieGiven                bool
}

var says = []say{
	{text: "max-age=10", life: 10 * time.Second},
	{text: "max-age=60", life: time.Minute},
	{text: "s-maxage=30, max-age=5", life: 30 * time.Second, strict: true},
	{text: "max-age=10, must-revalidate", life: 10 * time.Second, strict: true},
	{text: "max-age=10, stale-while-revalidate=20", life: 10 * time.Second, swr: 20 * time.Second},
	{text: "max-age=10, stale-if-error=30", life: 10 * time.Second, sie: 30 * time.Second, sieGiven: true},
	{text: "max-age=10, proxy-revalidate, stale-while-revalidate=20", life: 10 * time.Second, strict: true},
	{text: "no-cache", validate: true},
	{text: "max-age=60, no-cache", life: time.Minute, validate: true},
	{text: "no-store, max-age=60", never: true},
	{text: "private, max-age=60", never: true},
	{text: "max-age=\"60\"", life: time.Minute},
	{text: "max-age=60, max-age=90"},
	{text: "max-age=-5"},
	{text: "max-age=0"},
	{text: "foo, bar=\"max-age=60\""},
}

// wish is a request of a reader.
type wish struct {
	text             string
	noCache, noStore bool
	maxAge           time.Duration // 0: none
	only             bool
}

var wishes = []wish{
	{}, {}, {}, {text: "no-cache", noCache: true}, {text: "max-age=5", maxAge: 5 * time.Second},
	{text: "no-store", noStore: true}, {text: "only-if-cached", only: true},
}

// kept is what the model expects to be stored.
type kept struct {
	url, accept, body, tag string
	varies                 bool
	status                 int
	at                     time.Time
	said                   say
}

// model is RFC 9111 as one would explain it at a table: a list, searched from its
// end.
type model struct {
	site   string
	all    []*kept
	failed map[string]time.Time
	past   []string // what happened, for the reader of a failure
}

func (m *model) match(url, accept string) *kept {
	for _, k := range slices.Backward(m.all) {
		if k.url == url && (!k.varies || k.accept == accept) {
			return k
		}
	}
	return nil
}

func (m *model) drop(keep func(*kept) bool) {
	m.all = slices.DeleteFunc(m.all, func(k *kept) bool { return !keep(k) })
}

// store keeps an answer in place of the one it replaces.
func (m *model) store(k *kept) {
	m.drop(func(o *kept) bool { return o.url != k.url || o.varies != k.varies || o.varies && o.accept != k.accept })
	m.all = append(m.all, k)
}

func (k *kept) age() time.Duration { return time.Since(k.at) }

// dead reports whether nothing can be done with k any more, so that a cache may
// have dropped it.
func (k *kept) dead() bool {
	return k.tag == "" && k.age() >= k.said.life && (k.said.strict || k.said.validate)
}

func (k *kept) fresh(w wish) bool {
	return !k.said.validate && !w.noCache && k.age() < k.said.life && (w.maxAge == 0 || k.age() <= w.maxAge)
}

func (k *kept) refreshable(w wish) bool {
	return !k.said.validate && !k.said.strict && !w.noCache && k.age() >= k.said.life &&
		k.age()-k.said.life < k.said.swr && (w.maxAge == 0 || k.age() <= w.maxAge)
}

// despite reports whether k may be sent although the origin could not say
// whether it holds.
func (k *kept) despite(answered bool) bool {
	if k.said.validate || k.said.strict {
		return false
	}
	stale := k.age() - k.said.life
	if k.said.sieGiven || answered {
		return stale < k.said.sie
	}
	return stale < 24*time.Hour
}

// turn is one step of a play: the client's request and the origin's response.
type turn struct {
	url, accept string
	post        bool
	ask         wish
	said        say
	status      int // 0: the connection fails
	varies, tag bool
	unchanged   bool // a matching tag gets a 304
	wait        time.Duration
}

func turnOf(b []byte) turn {
	return turn{
		url: []string{"/a", "/b"}[b[0]&1], accept: []string{"x", "y"}[b[0]>>1&1], post: b[0]>>2&7 == 7,
		ask:  wishes[int(b[0]>>5)%len(wishes)],
		said: says[int(b[1])%len(says)], varies: b[1]>>6&1 == 1, tag: b[1]>>7&1 == 1,
		status: []int{200, 200, 200, 200, 404, 503, 0, 200}[b[2]&7], unchanged: b[2]>>3&1 == 1,
		wait: []time.Duration{0, time.Second, 5 * time.Second, 9 * time.Second, 11 * time.Second, 25 * time.Second,
			61 * time.Second, 10 * time.Minute}[b[2]>>4&7],
	}
}

// maxTurns bounds a play, so that one is a matter of milliseconds.
const maxTurns = 40

// FuzzProxy plays readers and an origin against the proxy, in its rfc profile, and
// holds every answer against the model.
func FuzzProxy(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0x10, 0, 0, 0x40, 0, 0, 0})
	f.Add([]byte{0, 0x84, 0, 0, 0x84, 0x48, 0, 0x84, 0x48, 0, 4, 0x46})
	f.Add([]byte{0, 0x41, 0, 2, 0x41, 0, 0, 0x41, 0, 0x1c, 0, 0, 2, 1, 0, 0, 5, 6})
	f.Add([]byte{0, 5, 0, 0, 5, 0x45, 0, 5, 0x56, 0, 7, 0, 0, 0x87, 8})
	f.Fuzz(func(t *testing.T, play []byte) { playAll(t, play) })
}

// TestAgainstModel plays what chance makes of the same.
func TestAgainstModel(t *testing.T) {
	chance := rand.New(rand.NewPCG(9111, 9110))
	plays := make([][]byte, 150)
	for n := range plays {
		plays[n] = make([]byte, 3*maxTurns)
		for i := range plays[n] {
			plays[n][i] = byte(chance.Uint32())
		}
	}
	playAll(t, plays...)
}

// playAll plays each on a separate site, through one proxy.
func playAll(t *testing.T, plays ...[]byte) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, proxy.Config{Profile: rfc9111.RFC})
		defer w.close()
		for site, play := range plays {
			m := &model{site: fmt.Sprintf("site%d.example", site), failed: map[string]time.Time{}}
			for n := 0; len(play) >= 3 && n < maxTurns && !t.Failed(); n++ {
				step := turnOf(play)
				play = play[3:]
				time.Sleep(step.wait)
				m.play(t, w, n, step)
				synctest.Wait()
			}
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		}
	})
}

// told records the request of a turn and the response of the origin.
type told struct {
	asked       int
	body        string
	notModified bool
}

// origin answers as the turn says.
func (s *turn) origin(n int, seen *told) func(net.Conn, *http.Request) error {
	return func(conn net.Conn, r *http.Request) error {
		seen.asked++
		seen.body = fmt.Sprint("turn ", n)
		if s.status == 0 {
			return errors.New("closed")
		}
		lines := []string{fmt.Sprint(s.status), "Cache-Control: " + s.said.text}
		if s.varies {
			lines = append(lines, "Vary: Accept")
		}
		if inm := r.Header.Get("If-None-Match"); s.unchanged && inm != "" && s.status == 200 {
			seen.notModified = true
			return writeOrigin(conn, r.Method, &step{origin: []string{"304", "Cache-Control: " + s.said.text}},
				time.Now())
		}
		if s.tag {
			lines = append(lines, fmt.Sprintf("Etag: \"%d\"", n))
		}
		return writeOrigin(conn, r.Method, &step{origin: lines, content: []string{seen.body}}, time.Now())
	}
}

func (m *model) play(t *testing.T, w *fixture, n int, s turn) {
	var seen told
	w.respond = s.origin(n, &seen)
	method := "GET"
	if s.post {
		method = "POST"
	}
	raw := method + " " + s.url + " HTTP/1.1\r\nHost: " + m.site + "\r\nAccept: " + s.accept + "\r\n"
	if s.ask.text != "" {
		raw += "Cache-Control: " + s.ask.text + "\r\n"
	}
	resp, body, _, err := w.do(method, raw+"\r\n")
	if err != nil {
		t.Errorf("turn %d %+v: %v", n, s, err)
		return
	}
	synctest.Wait()
	m.past = append(m.past,
		fmt.Sprintf("%d: %s %s by %s [%s] after %s; origin %dx %d [%s] varies %v tag %v 304 %v -> %d %q %s", n, method,
			s.url, s.accept, s.ask.text, s.wait,
			seen.asked, s.status, s.said.text, s.varies, s.tag, seen.notModified, resp.StatusCode, body,
			resp.Header.Get("Cache-Status")))
	k := m.match(s.url, s.accept)
	wrong := func(what string) {
		t.Errorf("turn %d: %s; the model has %+v, aged %s\n%s", n, what, k, ageOf(k), strings.Join(m.past, "\n"))
	}
	switch {
	case s.post:
		if seen.asked != 1 {
			wrong("a POST goes to the origin, once")
		}
		if s.status >= 200 && s.status < 400 {
			m.drop(func(o *kept) bool { return o.url != s.url })
		}
	case k != nil && k.fresh(s.ask):
		if seen.asked != 0 || body != k.body {
			wrong("what is fresh is sent, and the origin left alone")
		}
	case k != nil && k.refreshable(s.ask):
		if body != k.body {
			wrong("what may be sent while it is refreshed is")
		}
		s.ask = wish{} // the background request has none of the client's directives
		m.learn(w, s, k, seen)
	case seen.asked == 0:
		m.unasked(s, k, resp.StatusCode, body, wrong)
	default:
		m.asked(s, k, resp.StatusCode, body, seen, wrong)
		m.learn(w, s, k, seen)
	}
}

func ageOf(k *kept) time.Duration {
	if k == nil {
		return 0
	}
	return k.age()
}

// unasked: nothing may be used, yet the origin was not asked.
func (m *model) unasked(s turn, k *kept, status int, body string, wrong func(string)) {
	if s.ask.only && status == http.StatusGatewayTimeout {
		return
	}
	if k == nil || body != k.body || !k.despite(false) || time.Since(m.failed[s.url]) >= time.Second {
		wrong("the origin has to be asked")
	}
}

// asked compares the response with that of the origin.
func (m *model) asked(s turn, k *kept, status int, body string, seen told, wrong func(string)) {
	failing := s.status == 0 || rfc9111.IsServerError(s.status)
	switch {
	case s.ask.only:
		wrong("only what is cached was asked for")
	case seen.notModified:
		if k == nil || body != k.body || status != k.status {
			wrong("a 304 confirms what is stored")
		}
	case failing && k != nil && k.despite(s.status != 0):
		if body != k.body {
			wrong("the origin fails, and what is stored may be sent")
		}
	case s.status == 0:
		if status != http.StatusBadGateway {
			wrong("there is nothing to send")
		}
	case status != s.status || body != seen.body:
		wrong("what the origin said is passed on")
	}
}

// learn applies a response of the origin to the model, as to a cache.
func (m *model) learn(w *fixture, s turn, k *kept, seen told) {
	if seen.asked == 0 {
		return
	}
	if s.status == 0 || rfc9111.IsServerError(s.status) && k != nil && k.despite(true) {
		m.failed[s.url] = time.Now()
		return
	}
	n := &kept{url: s.url, accept: s.accept, body: seen.body, varies: s.varies, status: s.status, at: time.Now(),
		said: s.said}
	if s.tag {
		n.tag = "tag"
	}
	if seen.notModified { // the stored answer, with what the 304 says
		n.body, n.tag, n.varies, n.status, n.accept = k.body, k.tag, k.varies, k.status, k.accept
		m.drop(func(o *kept) bool { return o != k })
	}
	useless := n.said.life == 0 && n.tag == "" && n.said.swr == 0 && n.said.sie == 0
	guessed := strings.HasPrefix(n.said.text, "foo") || n.said.text == "no-cache"
	unknown := guessed && !n.said.validate && n.status == 503
	switch {
	case !n.said.never && !s.ask.noStore && !useless && !unknown && (n.said.text != "no-cache" || n.tag != ""):
		m.store(n)
	case k != nil && k.dead(): // unknown whether it was still stored; drop everything
		w.proxy.PurgeAll(true)
		m.all = nil
	case k != nil && !rfc9111.IsServerError(s.status):
		m.drop(func(o *kept) bool { return o.url != s.url }) // it has changed, and the new one is not kept
	}
}
