package audit_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// The fuzz targets below check invariants of single extractors. A separate line cannot
// change the counts of its neighbours, so most of them add one known element and expect
// a count that is larger by one.

func FuzzMicrodata(f *testing.F) {
	f.Add(`<div itemscope itemtype="https://schema.org/Organization"><p itemprop="name url" itemscope><b itemprop=x>`+
		`y</b></p><meta itemprop=logo content=z></div>`, 2)
	f.Add(`<p itemprop=lost itemscope itemid=a><a itemprop=b href=c><time itemprop=d datetime=e>`, 0)
	f.Fuzz(func(t *testing.T, body string, before int) {
		before = int(uint(before) % 50)
		n, holds := audit.TryMicrodata(body, before)
		if n > 2000 || n > strings.Count(strings.ToLower(body), "itemscope") {
			t.Errorf("%d things from %q", n, body)
		}
		for _, at := range holds {
			if at < before || at >= before+n {
				t.Errorf("a property holds thing %d of %d to %d in %q", at, before, before+n-1, body)
			}
		}
	})
}

func FuzzLinks(f *testing.F) {
	f.Add(`</llms.txt>; rel="describedby alternate"; type="text/markdown", <a,b>;rel=x;title="a, <b>"`)
	f.Add(`<>;;rel="\"`)
	f.Fuzz(func(t *testing.T, field string) {
		list := audit.TryLinks(field)
		if len(list) > strings.Count(field, "<") {
			t.Errorf("%d links in %q", len(list), field)
		}
		for _, l := range list {
			if len(l.Rels) == 0 || l.URL != nil && (l.URL.Host == "" || l.URL.Scheme != "http" &&
				l.URL.Scheme != "https") {
				t.Errorf("link %v to %v in %q", l.Rels, l.URL, field)
			}
		}
		if more := audit.TryLinks(field, "</f>; rel=alternate"); len(more) != len(list)+1 && len(more) < 2000 {
			t.Errorf("another field made %d links of %d after %q", len(more), len(list), field)
		}
	})
}

func FuzzDirectives(f *testing.F) {
	f.Add("robots", "index, follow, max-snippet:-1", "googlebot: noindex, nofollow")
	f.Add("Googlebot", "NOSNIPPET", "unavailable_after: 25 Jun 2027 15:00:00 PST, max-snippet : 0")
	f.Fuzz(func(t *testing.T, name, content, tag string) {
		closed, partial := audit.TryDirectives(name, content, tag)
		more, morePartial := audit.TryDirectives(name, content, tag, "none")
		if !more || partial && !morePartial {
			t.Errorf("%q %q %q and none: closed %v, partial %v; without none %v, %v", name, content, tag, more,
				morePartial, closed, partial)
		}
		if shut, _ := audit.TryDirectives("robots", content+",noindex", tag); !shut {
			t.Errorf("robots %q,noindex leaves the page open", content)
		}
	})
}

func FuzzPageDate(f *testing.F) {
	for _, s := range []string{"2026-01-31", "2026-01-31T10:00:00+02:00", "2026", "Wed, 07 Oct 2026 12:35:07 GMT",
		"0001-01-01", "2026-02-30", " 2026-01 "} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		at, ok := audit.ParseDate(s, now)
		if !ok {
			return
		}
		if at.Year() < 1994 || at.After(now.AddDate(0, 0, 1)) || at.Location() != time.UTC {
			t.Errorf("%q is %v, which cannot be", s, at)
		}
		if again, ok := audit.ParseDate(at.Format(time.RFC3339Nano), now); at.Year() >= 1995 &&
			(!ok || !again.Equal(at)) {
			t.Errorf("%q is %v; written out it is %v, %v", s, at, again, ok)
		}
	})
}

func FuzzPassages(f *testing.F) {
	f.Add("From $8K-85K/year to 1,000 kg, 10^-9 seconds, 281-terabyte F-16s; ٤٠ ٪ 三つの5億")
	f.Add("“This is the best thing that has happened”, says Ada. „Nicht geschlossen")
	f.Fuzz(func(t *testing.T, text string) {
		n, examples := audit.Statistics(text)
		if n < 0 || len(examples) > 3 || len(examples) > n {
			t.Errorf("%d numbers, examples %q", n, examples)
		}
		if more, _ := audit.Statistics(text + "\n40 %"); more != n+1 {
			t.Errorf("a line with one number more than %d has %d: %q", n, more, text)
		}
		q, spans := audit.Quotations(text)
		if q < 0 || len(spans) > 2 || len(spans) > q {
			t.Errorf("%d quotations, examples %q", q, spans)
		}
		if more, _ := audit.Quotations(text + "\n“This is the best thing that has happened”, says Ada."); more != q+1 {
			t.Errorf("a line with one quotation more than %d has %d: %q", q, more, text)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("AI検索とSEO l'été – 4 & ภาษาไทย", "안녕 مرحبا", 7)
	f.Add("\u202e\U000E0041 a\u0000", "\xff", 0)
	f.Fuzz(func(t *testing.T, a, b string, n int) {
		// The character count of scripts without spaces is rounded up once for the whole text.
		x, y, both := audit.CountWords(a), audit.CountWords(b), audit.CountWords(a+" "+b)
		if both > x+y || both < x+y-2 {
			t.Errorf("%q has %d words, %q %d, together %d", a, x, b, y, both)
		}
		n = int(uint(n)%300) + 1
		s := audit.Shorten(a, n)
		if utf8.RuneCountInString(s) > n || audit.Shorten(s, n) != s {
			t.Errorf("%q cut to %d is %q", a, n, s)
		}
		for _, r := range s {
			if !unicode.IsGraphic(r) {
				t.Errorf("%q cut to %d keeps %U", a, n, r)
			}
		}
		if audit.Smuggled(a) != audit.Smuggled(a+"x") {
			t.Errorf("a letter behind %q changes whether it smuggles", a)
		}
		if len(audit.TrySuspect(a+"\U000E0041")) == 0 {
			t.Errorf("a tag character behind %q goes unseen", a)
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("Tiffany & Co Jewelers", "株式会社かもめ", "d'Or S.A.")
	f.Add("AG", "ＡＢＣ GmbH", "ı İ")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if audit.SameName(a, b) != audit.SameName(b, a) {
			t.Errorf("%q is %q, but not the other way round", a, b)
		}
		if len(audit.NameWords(a)) > 0 && (!audit.SameName(a, a) || !audit.SaysName(a, a)) {
			t.Errorf("%q is not itself", a)
		}
		if len(audit.NameWords(a)) > 0 && !strings.ContainsAny(b+c, "(株有限合同会社一般団法人司公份주식회사בע\"מ״)") &&
			!audit.SaysName(b+" | "+a+" | "+c, a) {
			t.Errorf("%q | %q | %q does not name it", b, a, c)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 4<<20))
	z.Close()
	f.Add(b.Bytes(), "gzip")
	f.Add([]byte("plain"), "identity")
	f.Add([]byte{0x1f, 0x8b, 8, 0}, " X-GZIP ")
	f.Fuzz(func(t *testing.T, body []byte, encoding string) {
		const chunk = 64 << 10 // bytes that one read can add before the check
		if n, _ := audit.TryUnpack(body, encoding); n > max(audit.RatioAfter, audit.MaxRatio*int64(len(body)))+chunk {
			t.Errorf("%d bytes from %d of %q", n, len(body), encoding)
		}
	})
}

func FuzzFields(f *testing.F) {
	f.Add("120", "max-age=31536000; includeSubDomains")
	f.Add("Wed, 07 Oct 2026 12:35:07 GMT", `MAX-AGE="1"`)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, retry, hsts string) {
		if wait, ok := audit.RetryAfter(retry, now); wait < 0 || !ok && wait != 0 {
			t.Errorf("Retry-After %q is %v, %v", retry, wait, ok)
		}
		first, ok := audit.HSTSAge(hsts)
		if again, still := audit.HSTSAge(hsts + "; preload"); ok && (!still || again != first) {
			t.Errorf("Strict-Transport-Security %q is %d; with preload %d, %v", hsts, first, again, still)
		}
	})
}

func FuzzHead(f *testing.F) {
	f.Add(`<link rel=canonical href=https://example.com/><link rel=alternate hreflang=de href=https://example.com/de/>`)
	f.Add(`<base href=//x><link rel="alternate canonical" hreflang=x-default href=":"><meta property=og:title ` +
		`content=x>`)
	f.Fuzz(func(t *testing.T, head string) {
		links, odd, canonical, translations := audit.TryHead(head)
		if links > 2000 || odd {
			t.Errorf("%d links of %q, one that leads nowhere: %v", links, head, odd)
		}
		for _, fault := range []string{canonical, translations} {
			if len(fault) > 20_000 {
				t.Errorf("%d bytes of complaint about %q", len(fault), head)
			}
		}
		// A second canonical address does not change a page that already has one.
		two := `<link rel=canonical href=https://example.com/a><link rel=canonical href=https://example.com/b>`
		if _, _, fault, _ := audit.TryHead(two + head); fault == "" {
			t.Errorf("two canonicals and %q pass", head)
		}
	})
}
