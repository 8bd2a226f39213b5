package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/fieldmark/fieldmark/origin/objects"
)

// peer is an S3 server whose answers can be replaced.
type peer struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc] // instead of the server; nil: none
	asked  atomic.Int64
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	backend := s3mem.New()
	if err := backend.CreateBucket("field"); err != nil {
		t.Fatal(err)
	}
	server := gofakes3.New(backend).Server()
	p := &peer{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if answer := p.answer.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *peer) store(t *testing.T, prefix string) objects.Store {
	t.Helper()
	s, err := objects.Parse("s3://field/"+prefix+"?region=eu-central-1&endpoint="+url.QueryEscape(p.URL), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(ctx context.Context, s objects.Store, key string, content []byte) error {
	return s.Put(ctx, key, func(w io.Writer) error { _, err := w.Write(content); return err })
}

func get(ctx context.Context, s objects.Store, key string) ([]byte, error) {
	r, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func list(t *testing.T, s objects.Store, prefix string) (keys []string) {
	t.Helper()
	err := s.List(t.Context(), prefix, func(o objects.Object) error {
		keys = append(keys, fmt.Sprint(o.Key, " ", o.Size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestStores runs one suite over both places.
func TestStores(t *testing.T) {
	p := newPeer(t)
	folder, err := objects.Parse("file:", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]objects.Store{"folder": folder, "S3": p.store(t, "a/b"),
		"S3 without prefix": p.store(t, "")} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if got := list(t, s, "files/"); len(got) != 0 {
				t.Errorf("a new place has %v", got)
			}
			large := bytes.Repeat([]byte("0123456789"), 200_000)
			for key, content := range map[string][]byte{"files/ab/two": []byte("2"), "files/aa/one": large,
				"files/b": []byte("bb"), "other/x": []byte("x")} {
				if err := put(ctx, s, key, content); err != nil {
					t.Fatal(err)
				}
				if got, err := get(ctx, s, key); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s: %d bytes, %v", key, len(got), err)
				}
			}
			for _, offset := range []int64{0, 1, 1_999_999} {
				r, err := s.OpenAt(ctx, "files/aa/one", offset)
				if err != nil {
					t.Fatalf("from %d: %v", offset, err)
				}
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, large[offset:]) {
					t.Errorf("from %d: %d bytes, %v", offset, len(got), err)
				}
				r.Close()
			}
			want := []string{"files/aa/one 2000000", "files/ab/two 1", "files/b 2"}
			if got := list(t, s, "files/"); !slices.Equal(got, want) {
				t.Errorf("list %v, want %v", got, want)
			}
			stop := errors.New("stop")
			if err := s.List(ctx, "files/", func(objects.Object) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("a list that is stopped: %v", err)
			}
			if err := s.Put(ctx, "files/c", func(w io.Writer) error {
				_, _ = w.Write(large)
				return stop
			}); !errors.Is(err, stop) {
				t.Errorf("a put that fails: %v", err)
			}
			for range 2 {
				if err := s.Delete(ctx, "files/aa/one"); err != nil {
					t.Error(err)
				}
			}
			for _, key := range []string{"files/aa/one", "files/c", "files/none"} {
				if _, err := get(ctx, s, key); !errors.Is(err, objects.ErrNotFound) {
					t.Errorf("%s: %v, want ErrNotFound", key, err)
				}
			}
			if got := list(t, s, "files/"); !slices.Equal(got, want[1:]) {
				t.Errorf("list %v, want %v", got, want[1:])
			}
			for _, key := range []string{"", "../x", "a//b", "/a", ".a", "a/.b", "A", "a b", "a/../../x"} {
				if err := put(ctx, s, key, nil); err == nil || !strings.Contains(err.Error(), "BUG") {
					t.Errorf("key %q: %v", key, err)
				}
			}
			if strings.Contains(s.String(), "test-secret") {
				t.Errorf("%s has the secret", s)
			}
		})
	}
}

// TestFailingS3: a storage that fails, refuses or is slow is an error that names it, and never a wrong
// content.
func TestFailingS3(t *testing.T) {
	p := newPeer(t)
	s := p.store(t, "x")
	if err := put(t.Context(), s, "files/a", []byte("content")); err != nil {
		t.Fatal(err)
	}
	problem := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"refused":      problem(403, "AccessDenied"),
		"clock skew":   problem(403, "RequestTimeTooSkewed"),
		"no bucket":    problem(404, "NoSuchBucket"),
		"broken":       problem(500, "InternalError"),
		"slow down":    problem(503, "SlowDown"),
		"not S3":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
		"no answer":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"empty answer": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	} {
		p.answer.Store(&answer)
		calls := map[string]func() error{
			"put":    func() error { return put(t.Context(), s, "files/b", []byte("x")) },
			"delete": func() error { return s.Delete(t.Context(), "files/a") },
			"open":   func() error { _, err := get(t.Context(), s, "files/a"); return err },
			"list":   func() error { return s.List(t.Context(), "files/", func(objects.Object) error { return nil }) },
		}
		if name != "refused" { // the others are tried again, after a pause
			delete(calls, "delete")
			delete(calls, "list")
		}
		for what, call := range calls {
			err := call()
			if !errors.Is(err, objects.ErrUnavailable) || errors.Is(err, objects.ErrNotFound) ||
				!strings.Contains(err.Error(), "s3://field/x/") {
				t.Errorf("%s, %s: %v, want ErrUnavailable with the place", name, what, err)
			}
		}
	}
	cut := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", "Sun, 22 Nov 2026 10:00:00 GMT")
		_, _ = io.WriteString(w, "the first half")
		panic(http.ErrAbortHandler)
	})
	p.answer.Store(&cut)
	if b, err := get(t.Context(), s, "files/a"); err == nil {
		t.Errorf("an answer that is cut off was read as %q", b)
	}
	// One failure in passing is no error.
	var once atomic.Bool
	p.answer.Store(nil)
	first := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if once.CompareAndSwap(false, true) {
			p.answer.Store(nil)
			problem(503, "SlowDown")(w, r)
		}
	})
	p.answer.Store(&first)
	if err := put(t.Context(), s, "files/c", []byte("again")); err != nil {
		t.Errorf("after one 503: %v", err)
	}
	if b, err := get(t.Context(), s, "files/c"); err != nil || string(b) != "again" {
		t.Errorf("read %q, %v", b, err)
	}
	// A storage that does not answer in time.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	p.answer.Store(&slow)
	if err := put(ctx, s, "files/d", []byte("x")); !errors.Is(err, objects.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: %v", err)
	}
}

func TestParse(t *testing.T) {
	for setting, want := range map[string]string{
		"file:": "file:/data/objects", "file:/srv/files/": "file:/srv/files", "file:rel": "file:rel",
		"s3://b": "s3://b/?endpoint=https://s3.amazonaws.com",
		"s3://b/a/c/?endpoint=http://127.0.0.1:9000": "s3://b/a/c/?endpoint=http://127.0.0.1:9000",
	} {
		if s, err := objects.Parse(setting, "/data"); err != nil || s.String() != want {
			t.Errorf("%s: %v, %v; want %s", setting, s, err, want)
		}
	}
	for _, bad := range []string{"", "objects", "ftp://x", "s3:", "s3://", "s3://u:p@b", "s3://b?zone=1", "s3://b/../c",
		"s3://b?endpoint=host", "s3://b?endpoint=https://h/path", "s3://b/A B", "%"} {
		if s, err := objects.Parse(bad, "/data"); err == nil {
			t.Errorf("%q: %s, want an error", bad, s)
		}
	}
}
