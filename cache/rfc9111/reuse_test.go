package rfc9111_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

func TestReuse(t *testing.T) {
	const (
		use, refresh, stale, ask = rfc9111.Use, rfc9111.UseAndRefresh, rfc9111.UseStale, rfc9111.Validate
	)
	for _, tt := range []struct {
		ask, head   string
		after       int
		strict, rfc rfc9111.Decision
	}{
		{"", "Cache-Control: max-age=60", 59, use, use},
		{"", "Cache-Control: max-age=60", 60, ask, ask},
		{"", "Cache-Control: max-age=60 | Age: 30", 30, ask, ask},
		{"", "Cache-Control: max-age=60, no-cache", 0, ask, ask},
		{"", `Cache-Control: max-age=60, no-cache="x-a"`, 0, use, use},
		{"Cache-Control: no-cache", "Cache-Control: max-age=60", 1, use, ask},
		{"Pragma: no-cache", "Cache-Control: max-age=60", 1, use, ask},
		{"Pragma: no-cache | Cache-Control: foo", "Cache-Control: max-age=60", 1, use, use},
		{"Cache-Control: max-age=10", "Cache-Control: max-age=60", 10, use, use},
		{"Cache-Control: max-age=10", "Cache-Control: max-age=60", 11, use, ask},
		{"Cache-Control: max-age=0", "Cache-Control: max-age=60, immutable", 11, use, use},
		{"Cache-Control: no-cache", "Cache-Control: max-age=60, immutable", 11, use, ask},
		{"Cache-Control: min-fresh=10", "Cache-Control: max-age=60", 50, use, use},
		{"Cache-Control: min-fresh=10", "Cache-Control: max-age=60", 51, use, ask},
		{"Cache-Control: max-stale=10", "Cache-Control: max-age=60", 70, ask, stale},
		{"Cache-Control: max-stale=10", "Cache-Control: max-age=60", 71, ask, ask},
		{"Cache-Control: max-stale", "Cache-Control: max-age=60", 9999, ask, stale},
		{"Cache-Control: max-stale", "Cache-Control: max-age=60, must-revalidate", 61, ask, ask},
		{"", "Cache-Control: max-age=60, stale-while-revalidate=10", 60, refresh, refresh},
		{"", "Cache-Control: max-age=60, stale-while-revalidate=10", 70, ask, ask},
		{"", "Cache-Control: max-age=60, stale-while-revalidate=10, must-revalidate", 61, ask, ask},
		{"", "Cache-Control: max-age=60, stale-while-revalidate=10, proxy-revalidate", 61, ask, ask},
		{"", "Cache-Control: s-maxage=60, stale-while-revalidate=10", 61, ask, ask},
		{"", "Cache-Control: max-age=60, stale-while-revalidate=x", 61, ask, ask},
	} {
		for profile, want := range map[rfc9111.Profile]rfc9111.Decision{rfc9111.Strict: tt.strict,
			rfc9111.RFC: tt.rfc} {
			r := rfc9111.NewResponse(200, head(tt.head), came, came)
			a := profile.ParseRequestDirectives(head(tt.ask))
			now := came.Add(time.Duration(tt.after) * time.Second)
			if got := profile.Reuse(&a, r, now, false); got != want {
				t.Errorf("%s: [%s] finds [%s] after %d s: %d, want %d", profile, tt.ask, tt.head, tt.after, got, want)
			}
			if got := profile.Reuse(&a, r, now, true); got != ask {
				t.Errorf("%s: [%s] finds [%s] invalidated: %d, want %d", profile, tt.ask, tt.head, got, ask)
			}
		}
	}
}

func TestStaleIfError(t *testing.T) {
	const day = 86400
	for _, tt := range []struct {
		ask, head       string
		after           int
		away, with5xxes bool
	}{
		{"", "Cache-Control: max-age=60", 61, true, false},
		{"", "Cache-Control: max-age=60", 60 + day, false, false},
		{"", "Cache-Control: max-age=60, stale-if-error=100", 159, true, true},
		{"", "Cache-Control: max-age=60, stale-if-error=100", 160, false, false},
		{"", "Cache-Control: max-age=60, stale-if-error=0", 61, false, false},
		{"", "Cache-Control: max-age=60, must-revalidate", 61, false, false},
		{"", "Cache-Control: max-age=60, proxy-revalidate, stale-if-error=100", 61, false, false},
		{"", "Cache-Control: max-age=60, no-cache", 61, false, false},
		{"", "Cache-Control: s-maxage=60", 61, false, false},
		{"Cache-Control: stale-if-error=100", "Cache-Control: max-age=60", 159, true, true},
	} {
		r := rfc9111.NewResponse(200, head(tt.head), came, came)
		a := rfc9111.RFC.ParseRequestDirectives(head(tt.ask))
		now := came.Add(time.Duration(tt.after) * time.Second)
		if got := rfc9111.RFC.UseOnError(&a, r, now, rfc9111.Unreachable); got != tt.away {
			t.Errorf("[%s] finds [%s] after %d s, origin away: %v, want %v", tt.ask, tt.head, tt.after, got, tt.away)
		}
		if got := rfc9111.RFC.UseOnError(&a, r, now, rfc9111.ServerError); got != tt.with5xxes {
			t.Errorf("[%s] finds [%s] after %d s, origin failing: %v, want %v", tt.ask, tt.head, tt.after, got,
				tt.with5xxes)
		}
	}
}

func TestVary(t *testing.T) {
	for _, tt := range []struct {
		vary, a, b string
		same       bool
	}{
		{"", "X: 1", "X: 2", true},
		{"Foo", "Foo: 1", "Foo: 1", true},
		{"Foo", "Foo: 1", "Foo: 2", false},
		{"Foo", "Foo: 1", "", false},
		{"Foo", "", "", true},
		{"Foo", "Foo:", "", false},
		{"foo", "Foo: 1", "FOO: 1", true},
		{"Foo", "Foo: a, b", "Foo: a,b", true},
		{"Foo", "Foo: a, b", "Foo: a | Foo: b", true},
		{"Foo", "Foo: a, b", "Foo: b, a", false},
		{"Foo", "Foo: A", "Foo: a", false},
		{"Foo, Bar", "Foo: 1 | Bar: 2", "Bar: 2 | Foo: 1", true},
		{"Foo, Bar", "Foo: 1 | Bar: 2", "Foo: 1 | Bar: 3", false},
		{"Accept-Language", "Accept-Language: en, de", "Accept-Language: DE,EN", true},
		{"Accept-Language", "Accept-Language: en;q=1.0, de", "Accept-Language: de, en", true},
		{"Accept-Language", "Accept-Language: en;q=0.5", "Accept-Language: en", false},
		{"Accept-Encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: br, gzip", true},
		{"Accept-Encoding", "Accept-Encoding: gzip ; q=0", "Accept-Encoding: gzip", false},
		{"Foo", `Foo: "a, b"`, `Foo: "a,b"`, false},
	} {
		names, any := rfc9111.VaryNames(head("Vary: " + tt.vary))
		if any {
			t.Errorf("Vary: %s is taken for *", tt.vary)
		}
		a, b := rfc9111.VaryKey(names, head(tt.a)), rfc9111.VaryKey(names, head(tt.b))
		if (a == b) != tt.same {
			t.Errorf("Vary: %s: [%s] is %q and [%s] is %q, want same %v", tt.vary, tt.a, a, tt.b, b, tt.same)
		}
	}
}

func TestNotModified(t *testing.T) {
	const stored = `Etag: "a" | Last-Modified: Sat, 21 Nov 2026 11:00:00 GMT`
	for _, tt := range []struct {
		stored, ask string
		want        bool
	}{
		{stored, `If-None-Match: "a"`, true},
		{stored, `If-None-Match: W/"a"`, true},
		{stored, `If-None-Match: "b"`, false},
		{stored, `If-None-Match: "b", "a"`, true},
		{stored, `If-None-Match: "b" | If-None-Match: "a"`, true},
		{stored, `If-None-Match: "b,a", "c"`, false},
		{stored, `If-None-Match: *`, true},
		{stored, `If-None-Match: a`, false},
		{stored, `If-None-Match: "b" | If-Modified-Since: ` + date(0), false},
		{stored, `If-None-Match: "a" | If-Modified-Since: Sat, 21 Nov 2026 10:00:00 GMT`, true},
		{`Etag: W/"a"`, `If-None-Match: W/"a"`, true},
		{stored, "If-Modified-Since: Sat, 21 Nov 2026 11:00:00 GMT", true},
		{stored, "If-Modified-Since: Sat, 21 Nov 2026 10:59:59 GMT", false},
		{stored, "If-Modified-Since: Saturday, 21-Nov-26 11:00:00 GMT", true},
		{stored, "If-Modified-Since: yesterday", false},
		{"", "If-Modified-Since: " + date(-1), false},
		{"", "If-Modified-Since: " + date(0), true},
		{"", "", false},
	} {
		r := rfc9111.NewResponse(200, head(tt.stored), came, came)
		if got := r.NotModified(head(tt.ask)); got != tt.want {
			t.Errorf("[%s] finds [%s]: not modified %v, want %v", tt.ask, tt.stored, got, tt.want)
		}
	}
	if r := rfc9111.NewResponse(404, head(stored), came, came); r.NotModified(head(`If-None-Match: "a"`)) {
		t.Error("a stored 404 became a 304")
	}
}

func TestParseRange(t *testing.T) {
	for _, tt := range []struct {
		field         string
		kind          rfc9111.RangeKind
		start, length int64
	}{
		{"bytes=0-0", rfc9111.PartialContent, 0, 1},
		{"bytes=2-4", rfc9111.PartialContent, 2, 3},
		{"Bytes=2-", rfc9111.PartialContent, 2, 8},
		{"bytes=2-99", rfc9111.PartialContent, 2, 8},
		{"bytes=-3", rfc9111.PartialContent, 7, 3},
		{"bytes=-99", rfc9111.PartialContent, 0, 10},
		{"bytes=-0", rfc9111.Unsatisfiable, 0, 0},
		{"bytes=10-", rfc9111.Unsatisfiable, 0, 0},
		{"bytes=99999999999999999999-", rfc9111.Unsatisfiable, 0, 0},
		{"bytes=4-2", rfc9111.FullContent, 0, 0},
		{"bytes=0-1,3-4", rfc9111.FullContent, 0, 0},
		{"bytes=", rfc9111.FullContent, 0, 0},
		{"bytes=-", rfc9111.FullContent, 0, 0},
		{"bytes=a-b", rfc9111.FullContent, 0, 0},
		{"bytes=--1", rfc9111.FullContent, 0, 0},
		{"lines=0-1", rfc9111.FullContent, 0, 0},
		{"0-1", rfc9111.FullContent, 0, 0},
	} {
		kind, start, length := rfc9111.ParseRange(tt.field, 10)
		if kind != tt.kind || start != tt.start || length != tt.length {
			t.Errorf("%q of 10 bytes: %d %d+%d, want %d %d+%d", tt.field, kind, start, length, tt.kind, tt.start,
				tt.length)
		}
	}
}

func TestIfRangeMatches(t *testing.T) {
	for _, tt := range []struct {
		stored, cond string
		want         bool
	}{
		{`Etag: "a"`, "", true},
		{`Etag: "a"`, `If-Range: "a"`, true},
		{`Etag: "a"`, `If-Range: "b"`, false},
		{`Etag: W/"a"`, `If-Range: W/"a"`, false},
		{`Etag: "a"`, `If-Range: W/"a"`, false},
		{"Last-Modified: " + date(-60), "If-Range: " + date(-60), true},
		{"Last-Modified: " + date(-60), "If-Range: " + date(-30), false},
		{"Last-Modified: " + date(0), "If-Range: " + date(0), false},
		{"", "If-Range: " + date(0), false},
	} {
		r := rfc9111.NewResponse(200, head(tt.stored), came, came)
		if got := r.IfRangeMatches(head(tt.cond)); got != tt.want {
			t.Errorf("[%s] against [%s]: %v, want %v", tt.cond, tt.stored, got, tt.want)
		}
	}
}

func TestUpdate(t *testing.T) {
	r := rfc9111.NewResponse(200,
		head(`Cache-Control: max-age=1 | Etag: "a" | X-A: 1 | X-B: 1 | Content-Length: 5 | Content-Type: text/plain`),
		came, came)
	later := came.Add(time.Minute)
	got := r.Update(head(`Cache-Control: max-age=60 | X-A: 2 | X-A: 3 | Content-Length: 0 | Content-Encoding: br | `+
		`Content-Range: x | Connection: X-C | X-C: 1 | Date: `+date(60)), later, later)
	want := head(`Cache-Control: max-age=60 | Etag: "a" | X-A: 2 | X-A: 3 | X-B: 1 | Content-Length: 5 | ` +
		`Content-Type: text/plain | Date: ` + date(60))
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("header after a 304 (-want +got):\n%s", diff)
	}
	if got.Fresh(later) != time.Minute {
		t.Errorf("fresh for %s after a 304, want a minute", got.Fresh(later))
	}
	for tag, want := range map[string]bool{`"a"`: true, `"b"`: false, `W/"b"`: true, "": true} {
		if got := r.MatchesValidator(head("Etag: " + tag)); got != want {
			t.Errorf("a 304 with the tag %s confirms \"a\": %v, want %v", tag, got, want)
		}
	}
}

func TestFieldsNotStored(t *testing.T) {
	r := rfc9111.NewResponse(200,
		head(`Cache-Control: private="x-p", no-cache="x-n, Set-Cookie", max-age=9 | X-P: 1 | X-N: 1 | Set-Cookie: `+
			`a=b | X-K: 1`+
			` | Connection: X-C, close | X-C: 1 | Keep-Alive: 1 | Proxy-Authenticate: 1 | `+
			`Proxy-Authentication-Info: 1 | Proxy-Authorization: 1 | Te: 1 | Trailer: 1 | Transfer-Encoding: x | `+
			`Upgrade: y | Age: 1`), came, came)
	var names []string
	for name := range r.Header {
		names = append(names, name)
	}
	if len(names) != 3 || r.Header.Get("X-K") != "1" || r.Header.Get("Date") == "" ||
		r.Header.Get("Cache-Control") == "" {
		t.Errorf("stored %v, want Cache-Control, Date and X-K", names)
	}
}

func TestInvalidates(t *testing.T) {
	target := &url.URL{Path: "/a/b", RawQuery: "x=1"}
	for _, tt := range []struct {
		method string
		status int
		head   string
		want   string
	}{
		{"POST", 200, "", "/a/b?x=1"},
		{"PUT", 201, "Location: /new", "/a/b?x=1 /new"},
		{"DELETE", 303, "Location: c | Content-Location: http://HERE/d?e", "/a/b?x=1 /a/c /d?e"},
		{"M-SEARCH", 204, "", "/a/b?x=1"},
		{"POST", 200, "Location: http://elsewhere/c | Content-Location: //elsewhere/d", "/a/b?x=1"},
		{"POST", 400, "Location: /c", ""},
		{"POST", 500, "", ""},
		{"GET", 200, "Location: /c", ""},
		{"OPTIONS", 200, "", ""},
		{"TRACE", 200, "", ""},
	} {
		if got := strings.Join(rfc9111.Invalidates(tt.method, tt.status, target, "here", head(tt.head)),
			" "); got != tt.want {
			t.Errorf("%s answered %d [%s] invalidates %q, want %q", tt.method, tt.status, tt.head, got, tt.want)
		}
	}
}

func TestGroups(t *testing.T) {
	for field, want := range map[string][]string{
		`"a", "b c"`:                        {"a", "b c"},
		`"a";x=1`:                           {"a"},
		`a`:                                 nil,
		`"a", 1`:                            nil,
		`("a" "b")`:                         nil,
		`"a`:                                nil,
		`"a", %"b"`:                         nil, // the parser panics at it
		``:                                  nil,
		`"` + strings.Repeat("x", 33) + `"`: nil,
		`"ok", "` + strings.Repeat("x", 40) + `"`: {"ok"},
	} {
		h := http.Header{"Cache-Groups": {field}, "Cache-Group-Invalidation": {field}}
		if diff := cmp.Diff(want, rfc9111.Groups(h)); diff != "" {
			t.Errorf("Cache-Groups: %s (-want +got):\n%s", field, diff)
		}
		if got := rfc9111.InvalidatedGroups("GET", 200, h); got != nil {
			t.Errorf("a GET invalidates %v", got)
		}
		if diff := cmp.Diff(want, rfc9111.InvalidatedGroups("POST", 200, h)); diff != "" {
			t.Errorf("Cache-Group-Invalidation: %s (-want +got):\n%s", field, diff)
		}
	}
}
