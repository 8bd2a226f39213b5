package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestBrowserOverTLS uses the demo and a site behind the edge in a browser, as people do:
// everything comes over HTTP/2 or HTTP/3, except a WebSocket. The owners of two brands use the
// same demo first.
func TestBrowserOverTLS(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(browserSite(t))
	t.Cleanup(site.Close)
	dir, at := t.TempDir(), porttest.Address(t)
	_, port, _ := strings.Cut(at, ":")
	base, siteBase := "https://localhost:"+port, "https://site.localhost:"+port
	cert := newTestCA(t).write(dir, "localhost", "site.localhost")
	p := start(t, dir, append([]string{"serve", "--demo", "--demo-listen", porttest.Address(t)},
		freePorts("var")...)...)
	p.waitFor("All audits are done.")
	var access demo.Access
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &access))
	secured := start(t, dir, "edge", "--origin", access.OriginURL, "--node-token", access.NodeToken, "--listen", at,
		"--debug-listen", "127.0.0.1:0", "--base-url", base, "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--site",
		site.URL)
	waittest.Until(t, "the edge is ready", func() bool {
		status, _, _, err := try("GET", secured.logged("edge", "debug")+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	h2 := browsertest.Start(t)
	t.Run("owner", func(t *testing.T) {
		ownerVisits(t, h2, filepath.Join(dir, "var"), access.BaseURL, base)
	})
	for _, protocol := range []string{"h2", "h3"} {
		t.Run(protocol, func(t *testing.T) {
			browser := h2
			if protocol == "h3" {
				browser = browsertest.StartQUIC(t, cert, "localhost:"+port, "site.localhost:"+port)
			}
			d := &console{t: t, base: base, tab: browser.Open(t, base+"/", browsertest.View{})}
			d.over(protocol, "the leaderboard")
			d.useDemo(protocol, &access)
			d.tab.Go(t, siteBase+"/")
			d.useSite()
			d.over(protocol, "the site")
			if trouble := d.tab.Trouble(); len(trouble) > 0 {
				t.Errorf("the browser reports %v", trouble)
			}
		})
	}
	secured.stop()
	p.stop()
}

// useDemo loads a hundred badges and some pages, signs in as the administrator and uploads
// brands.
func (d *console) useDemo(protocol string, access *demo.Access) {
	d.t.Helper()
	var loaded int
	d.tab.Eval(d.t, `Promise.all([...Array(100).keys()].map(i => new Promise((done, failed) => {
		const img = new Image();
		img.onload = () => done(1); img.onerror = () => failed(new Error('badge ' + i));
		img.src = '/api/badge/alpenglow?x=' + i; document.body.append(img);
	}))).then(all => all.length)`, &loaded)
	if loaded != 100 {
		d.t.Errorf("%d badges were loaded, want 100", loaded)
	}
	d.over(protocol, "a hundred badges")
	for _, path := range []string{"/brands/alpenglow", "/methodology", "/developers", "/llms-txt", "/status"} {
		d.tab.Go(d.t, d.base+path)
		d.over(protocol, path)
	}
	d.tab.Go(d.t, d.base+"/admin/brands")
	d.send("/admin/sign-in", "", map[string]string{"user": access.AdminUser, "password": access.AdminPassword})
	d.tab.Until(d.t, "the administrator sees the brands",
		`document.querySelector("form[action='/admin/brands/import']") !== null`)
	d.over(protocol, "the sign-in")
	d.tab.Leave(d.t, "upload brands", `(() => {
		const rows = [...Array(500).keys()].map(i =>
			"upload-" + i + ",Uploaded " + i + ",https://" + i + ".example/,tools,en,,false");
		const files = new DataTransfer();
		rows.unshift("slug,name,url,niche,language,description,public");
		files.items.add(new File([rows.join("\n")], "brands.csv"));
		const form = document.querySelector("form[action='/admin/brands/import']");
		form.elements.file.files = files.files;
		form.requestSubmit();
	})()`)
	d.says("500")
	d.over(protocol, "the upload")
}

// over checks that the page and everything that it has loaded came over a protocol.
func (d *console) over(protocol, what string) {
	d.t.Helper()
	var others []string
	d.tab.Eval(d.t, fmt.Sprintf(`performance.getEntries().filter(e => (e.nextHopProtocol ?? %[1]q) != %[1]q)
		.map(e => e.name + ' over ' + e.nextHopProtocol)`, protocol), &others)
	if len(others) > 0 {
		d.t.Errorf("%s: not over %s: %v", what, protocol, others)
	}
}

// useSite uses a WebSocket, server-sent events, ranges and sound from a page of browserSite.
func (d *console) useSite() {
	d.t.Helper()
	var socket, part string
	var events []string
	var moved float64
	d.tab.Eval(d.t, `new Promise((done, failed) => {
		const s = new WebSocket("wss://" + location.host + "/socket");
		s.onopen = () => s.send("hello");
		s.onmessage = e => { done(e.data); s.close(); };
		s.onerror = () => failed(new Error("WebSocket"));
	})`, &socket)
	d.tab.Eval(d.t, `new Promise((done, failed) => {
		const all = [], s = new EventSource("/events");
		s.onmessage = e => { all.push(e.data); if (all.length == 3) { s.close(); done(all); } };
		s.onerror = () => failed(new Error("EventSource"));
	})`, &events)
	d.tab.Eval(d.t, `fetch("/tone.wav", {headers: {Range: "bytes=8-11"}})
		.then(async r => r.status + " " + r.headers.get("Content-Range") + " " + await r.text())`, &part)
	d.tab.Eval(d.t, `new Promise((done, failed) => {
		const a = new Audio("/tone.wav?sound");
		a.onloadedmetadata = () => { a.currentTime = 100; };
		a.onseeked = () => done(a.currentTime);
		a.onerror = () => failed(new Error("Audio: " + a.error.message));
		a.load();
	})`, &moved)
	if want := fmt.Sprintf("206 bytes 8-11/%d WAVE", len(tone())); socket != "hello" || part != want || moved != 100 ||
		!slices.Equal(events, []string{"0", "1", "2"}) {
		d.t.Errorf("the WebSocket echoes %q, the events are %v, the range is %q (want %q), the sound is at %v s",
			socket,
			events, part, want, moved)
	}
}

// tone is two minutes of silence as WAV: 8 bits, mono, 8 kHz.
func tone() []byte {
	const rate, seconds = 8000, 120
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), 36+rate*seconds)
	head = binary.LittleEndian.AppendUint32(append(head, "WAVEfmt "...), 16)
	head = append(head, 1, 0, 1, 0) // PCM, one channel
	head = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(head, rate), rate)
	head = append(append(head, 1, 0, 8, 0), "data"...)
	head = binary.LittleEndian.AppendUint32(head, rate*seconds)
	return append(head, bytes.Repeat([]byte{0x80}, rate*seconds)...)
}

// browserSite is a site with a page, a WebSocket that echoes the first message,
// server-sent events and a sound.
func browserSite(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><html lang="en"><title>Site</title><link rel="icon" href="data:,"><p>Hello`)
	})
	mux.HandleFunc("/tone.wav", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "tone.wav", time.Unix(1_700_000_000, 0), bytes.NewReader(tone()))
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		nc, rw, err := w.(http.Hijacker).Hijack()
		must(t, err)
		defer nc.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
		_ = rw.Flush() // the page notices
		echoFrame(rw)
	})
	return mux
}

// echoFrame echoes a masked frame of at most 125 bytes (RFC 6455, 5.2).
func echoFrame(rw *bufio.ReadWriter) {
	var head [6]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return
	}
	text := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(rw, text); err != nil {
		return
	}
	for i := range text {
		text[i] ^= head[2+i%4]
	}
	_, _ = rw.Write(append([]byte{head[0], byte(len(text))}, text...)) // the page notices
	_ = rw.Flush()
	_, _ = io.Copy(io.Discard, rw) // until the page closes
}
