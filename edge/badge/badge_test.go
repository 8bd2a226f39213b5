package badge_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/svg"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	seen     = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	november = badge.MonthOf(seen)
	july     = badge.MonthOf(seen.AddDate(0, -4, 0))
)

// samples holds one badge of each face, and the edges of the gauge.
var samples = []struct {
	name  string
	badge badge.Badge
}{
	{"ready", badge.Badge{Name: "Acme", State: badge.Ready, Score: 92_000, Grade: "A", AsOf: november}},
	{"ready-full", badge.Badge{Name: "Acme", State: badge.Ready, Score: 100_000, Grade: "A", AsOf: november}},
	{"ready-butt", badge.Badge{Name: "Acme", State: badge.Ready, Score: 97_400, Grade: "A", AsOf: november}},
	{"ready-b", badge.Badge{Name: "Zürich Rück", State: badge.Ready, Score: 74_600, Grade: "B", AsOf: november}},
	{"not-yet-c", badge.Badge{Name: "R & D", State: badge.NotYet, Score: 61_000, Grade: "C", AsOf: november}},
	{"not-yet-d", badge.Badge{Name: "Kite", State: badge.NotYet, Score: 47_300, Grade: "D", AsOf: november}},
	{"not-yet-e", badge.Badge{Name: "שלום", State: badge.NotYet, Score: 12_900, Grade: "E", AsOf: november}},
	{"not-yet-zero", badge.Badge{Name: "Nil", State: badge.NotYet, Grade: "E"}},
	{"stale", badge.Badge{Name: "Moss", State: badge.Stale, Score: 83_000, Grade: "B", AsOf: july}},
	{"pending", badge.Badge{Name: "Fern", State: badge.Pending}},
	{"unreachable", badge.Badge{Name: "Gone", State: badge.Unreachable, AsOf: november}},
	{"unrated", badge.Badge{Name: "Fog", State: badge.Unrated, AsOf: november}},
	{"unknown", badge.Badge{Name: "no-such-brand"}},
}

// styles and themes are the values of style= and theme=, in the order of their
// constants.
var (
	styles     = []string{"pill", "compact", "card", "seal", "flat", "flat-square", "for-the-badge"}
	themeNames = []string{"auto", "light", "dark", "mono"}
)

// looks are all styles in all themes that make a difference.
func looks(t testing.TB) (all []badge.Options) {
	t.Helper()
	seen := map[badge.Options]bool{}
	for _, style := range styles {
		for _, theme := range themeNames {
			if l := opts(t, "style="+style+"&theme="+theme); !seen[l] {
				seen[l] = true
				all = append(all, l)
			}
		}
	}
	return all
}

// opts parses a query as the edge does.
func opts(t testing.TB, query string) badge.Options {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	l, err := badge.ParseOptions(q.Get)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return l
}

// TestGolden pins every byte: a line holds the query of the options, the badge's
// name and the picture.
func TestGolden(t *testing.T) {
	files := map[string][]byte{}
	add := func(file, name string, l badge.Options, image []byte) {
		files[file] = append(files[file], fmt.Sprintf("%s %s\n%s\n\n", name, l.Query(), image)...)
	}
	for _, l := range looks(t) {
		for _, s := range samples {
			add(styles[l.Style], s.name, l, badge.AppendSVG(nil, s.badge, l))
		}
	}
	for _, tag := range badge.Languages() {
		for _, style := range styles {
			l := opts(t, "lang="+tag+"&style="+style)
			add("languages", "ready", l, badge.AppendSVG(nil, samples[0].badge, l))
		}
	}
	for _, query := range []string{"label=Our+score", "label=%D7%A9%D7%9C%D7%95%D7%9D", "label=<%26>", "animate=1",
		"style=card&animate=1&theme=dark", "font=outline",
		"label=Our+score&font=outline", "style=seal&label=Our+score", "style=seal&label=Our+score+of+the+month&lang=de",
		"style=seal&label=%E6%88%91%E4%BB%AC", "style=seal&label=Our+score&font=outline"} {
		l := opts(t, query)
		add("options", "ready", l, badge.AppendSVG(nil, samples[0].badge, l))
	}
	for _, s := range []int{0, 5, 8, 10} {
		for i := range styles {
			b := samples[s].badge
			b.Claimed = true
			l := badge.Options{Style: badge.Style(i)}
			add("claimed", samples[s].name, l, badge.AppendSVG(nil, b, l))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		for i := range styles {
			l := badge.Options{Style: badge.Style(i)}
			add("errors", name, l, badge.AppendError(nil, failures[name], l))
		}
	}
	for name, got := range files {
		golden(t, name+".golden", got)
	}
}

var failures = map[string]*fieldmark.Error{
	"error-400": fieldmark.Errorf(fieldmark.CodeInvalidParameter, `theme is one of "auto", "light", "dark"`),
	"error-404": fieldmark.Errorf(fieldmark.CodeNotFound, ""),
	"error-503": fieldmark.Errorf(fieldmark.CodeOriginUnavailable, ""),
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// spoken returns what an SVG says: the label, the title, and the visible words.
func spoken(t *testing.T, image []byte) (label, title string, words []string) {
	t.Helper()
	var doc struct {
		Label string   `xml:"aria-label,attr"`
		Role  string   `xml:"role,attr"`
		Title string   `xml:"title"`
		Words []string `xml:"text"`
	}
	if err := xml.Unmarshal(image, &doc); err != nil {
		t.Fatalf("%q: %v", image, err)
	}
	if doc.Role != "img" {
		t.Errorf("role: got %q, want img", doc.Role)
	}
	return doc.Label, doc.Title, doc.Words
}

func TestSentence(t *testing.T) {
	for _, tt := range []struct {
		badge badge.Badge
		want  string
		words string
	}{
		{samples[0].badge, "Acme: GEO-ready, score 92 of 100, grade A, verified November 2026", "GEO-ready|A|92"},
		{badge.Badge{Name: "Bolt & Nut", State: badge.NotYet, Score: 69_900, Grade: "C", AsOf: november},
			"Bolt & Nut: not yet GEO-ready, score 69 of 100, grade C, verified November 2026", "GEO 69, not yet|C"},
		{badge.Badge{Name: "M", State: badge.Stale, Score: 83_000, Grade: "B", AsOf: july},
			"M: GEO score 83 of 100, grade B, stale, last verified July 2026", "GEO: stale|B|2026-07"},
		{badge.Badge{Name: "M", State: badge.Pending}, "M: GEO readiness not audited yet", "GEO: pending"},
		{badge.Badge{Name: "M", State: badge.Unreachable}, "M: no GEO score, site unreachable", "GEO: unreachable|!"},
		{badge.Badge{Name: "M", State: badge.Unrated}, "M: no GEO score, too little could be measured",
			"GEO: not rated|?"},
		{badge.Badge{Name: "m"}, "m: no GEO score, no such brand", "GEO: not rated|?"},
		{badge.Badge{}, "no GEO score, no such brand", "GEO: not rated|?"},
		{badge.Badge{Name: "<b>\"'", State: badge.Pending}, "<b>\"': GEO readiness not audited yet", "GEO: pending"},
		{badge.Badge{Name: "a\x00b\x1b\uFFFEc\xff\td", State: badge.Pending},
			"a\uFFFDb\uFFFD\uFFFDc\uFFFD d: GEO readiness not audited yet", "GEO: pending"},
		{badge.Badge{Name: "a\u202Eb\u2067c", State: badge.Pending}, "abc: GEO readiness not audited yet",
			"GEO: pending"},
		{badge.Badge{Name: strings.Repeat("é", 64), State: badge.Pending},
			strings.Repeat("é", 64) + ": GEO readiness not audited yet", "GEO: pending"},
		{badge.Badge{Name: strings.Repeat("é", 65), State: badge.Pending},
			strings.Repeat("é", 63) + "…: GEO readiness not audited yet", "GEO: pending"},
		{badge.Badge{Name: "M", State: badge.Ready, Score: 1_000_000, Grade: "?"}, "M: GEO-ready, score 100 of 100",
			"GEO-ready|100"},
	} {
		label, title, words := spoken(t, badge.AppendSVG(nil, tt.badge, badge.Options{Theme: badge.Auto}))
		if label != tt.want || title != tt.want {
			t.Errorf("%+v: label %q, title %q, want %q", tt.badge, label, title, tt.want)
		}
		if got := strings.Join(words, "|"); got != tt.words {
			t.Errorf("%+v: words %q, want %q", tt.badge, got, tt.words)
		}
	}
}

// In another language a badge says whole phrases, with the separators of the
// language, and no month where nothing was verified.
func TestSentenceInLanguages(t *testing.T) {
	scored := func(s badge.State, grade fieldmark.Grade) badge.Badge {
		return badge.Badge{Name: "Acme", State: s, Score: 45_000, Grade: grade, AsOf: november}
	}
	for _, tt := range []struct {
		lang  string
		badge badge.Badge
		want  string
	}{
		{"de", scored(badge.Ready, "A"), "Acme: GEO-bereit, 45/100, Note A, geprüft 2026-11"},
		{"de", scored(badge.NotYet, "D"), "Acme: noch nicht GEO-bereit, 45/100, Note D, geprüft 2026-11"},
		{"de", scored(badge.Stale, "B"), "Acme: GEO-Bewertung, Prüfung veraltet, 45/100, Note B, geprüft 2026-11"},
		{"de", scored(badge.Pending, ""), "Acme: GEO-Bewertung, noch nicht geprüft"},
		{"de", scored(badge.Unreachable, ""), "Acme: GEO-Bewertung, Website nicht erreichbar"},
		{"de", scored(badge.Unrated, ""), "Acme: GEO-Bewertung, nicht bewertet"},
		{"de", badge.Badge{Name: "acme"}, "acme: GEO-Bewertung, unbekannte Marke"},
		{"es", scored(badge.Unreachable, ""), "Acme: evaluación GEO, sitio inaccesible"},
		{"es", scored(badge.NotYet, "D"), "Acme: aún no está listo para GEO, 45/100, nota D, verificado 2026-11"},
		{"fr", scored(badge.NotYet, "D"), "Acme\u00a0: pas encore prêt pour le GEO, 45/100, note D, vérifié 2026-11"},
		{"cs", scored(badge.Ready, ""), "Acme: připraveno na GEO, 45/100, ověřeno 2026-11"},
		{"cs", scored(badge.NotYet, "D"), "Acme: zatím nepřipraveno na GEO, 45/100, známka D, ověřeno 2026-11"},
		{"id", scored(badge.Ready, "A"), "Acme: siap GEO, 45/100, nilai A, diverifikasi 2026-11"},
		{"el", scored(badge.Ready, "A"), "Acme: έτοιμο για GEO, 45/100, βαθμός A, έλεγχος 2026-11"},
		{"ar", scored(badge.NotYet, "D"), "Acme: غير جاهز لـ GEO بعد، 45/100، الدرجة D، تم التحقق \u200e2026-11"},
		{"ja", scored(badge.NotYet, "D"), "Acme：まだGEO未対応、45/100、評価 D、監査 2026-11"},
		{"zh", scored(badge.Stale, "B"), "Acme：GEO 评级，检测结果已过期，45/100，等级 B，检测 2026-11"},
		{"zh-Hant", scored(badge.Ready, "A"), "Acme：GEO 已就緒，45/100，等級 A，檢測 2026-11"},
	} {
		l := opts(t, "lang="+tt.lang)
		label, title, _ := spoken(t, badge.AppendSVG(nil, tt.badge, l))
		if label != tt.want || title != tt.want {
			t.Errorf("%s, state %d: label %q, title %q, want %q", tt.lang, tt.badge.State, label, title, tt.want)
		}
	}
	for i, tag := range badge.Languages() {
		for _, s := range samples {
			label, _, _ := spoken(t, badge.AppendSVG(nil, s.badge, badge.Options{Lang: badge.Lang(i)}))
			if scored := s.badge.State == badge.Ready || s.badge.State == badge.NotYet ||
				s.badge.State == badge.Stale; tag != "en" && !scored && strings.Contains(label, "2026") {
				t.Errorf("%s, %s: %q has a month, and nothing was verified", tag, s.name, label)
			}
		}
	}
}

// A claimed badge says so in its sentence in every language, has a tick, and is as large as
// the plain one where that has a ring.
func TestClaimed(t *testing.T) {
	for i, tag := range badge.Languages() {
		plain, claimed := samples[0].badge, samples[0].badge
		claimed.Claimed = true
		for style := range styles {
			l := badge.Options{Lang: badge.Lang(i), Style: badge.Style(style)}
			before, _, _ := spoken(t, badge.AppendSVG(nil, plain, l))
			after, _, _ := spoken(t, badge.AppendSVG(nil, claimed, l))
			if more := strings.TrimPrefix(after, before); more == after || utf8.RuneCountInString(more) < 8 ||
				tag == "en" && more != ", claimed by its owner" {
				t.Errorf("%s: %q after %q", tag, after, before)
			}
			w, h := badge.Size(plain, l)
			if cw, ch := badge.Size(claimed, l); ch != h || cw < w ||
				cw > w && styles[style] != "compact" && !(style > 3) {
				t.Errorf("%s %s: %d by %d with a tick, %d by %d without", tag, styles[style], cw, ch, w, h)
			}
		}
	}
}

// Every style names the grade before the score, and the subject of "not yet". Where the
// score follows the claim, the word "grade" is between them.
func TestStylesAgree(t *testing.T) {
	for style, want := range map[string][2]string{
		"pill": {"GEO-ready|A|92", "GEO 47, not yet|D"}, "card": {"GEO-ready|Grade A · verified 2026-11|92",
			"GEO: not yet|Grade D · verified 2026-11|47"},
		"compact":       {"GEO-ready|Grade A · 92", "GEO-ready|not yet · Grade D · 47"},
		"flat":          {"GEO-ready|Grade A · 92", "GEO-ready|not yet · Grade D · 47"},
		"flat-square":   {"GEO-ready|Grade A · 92", "GEO-ready|not yet · Grade D · 47"},
		"for-the-badge": {"GEO-READY|GRADE A · 92", "GEO-READY|NOT YET · GRADE D · 47"},
	} {
		for i, b := range []badge.Badge{samples[0].badge, samples[5].badge} {
			if _, _, words := spoken(t, badge.AppendSVG(nil, b, opts(t, "style="+style))); strings.Join(words,
				"|") != want[i] {
				t.Errorf("%s: %q, want %q", style, words, want[i])
			}
		}
	}
}

func TestErrorWordsInLanguages(t *testing.T) {
	for lang, want := range map[string][3]string{
		"de": {"ungültiger Parameter|!", "GEO: nicht bewertet|?", "GEO: nicht verfügbar|!"},
		"he": {"פרמטר לא חוקי|!", "GEO: ללא דירוג|?", "GEO: לא זמין|!"},
		"ja": {"無効なパラメーター|!", "GEO: 未評価|?", "GEO: 利用不可|!"},
	} {
		for i, name := range []string{"error-400", "error-404", "error-503"} {
			label, title, words := spoken(t, badge.AppendError(nil, failures[name], opts(t, "lang="+lang)))
			if got := strings.Join(words, "|"); got != want[i] || !strings.HasPrefix(got, label) {
				t.Errorf("%s %s: label %q, words %q, want %q", lang, name, label, got, want[i])
			}
			if e := failures[name]; !strings.HasPrefix(title, e.Code.Title()) {
				t.Errorf("%s %s: title %q, want %q", lang, name, title, e.Code.Title())
			}
		}
	}
	limited := fieldmark.Errorf(fieldmark.CodeRateLimited, "")
	if _, _, words := spoken(t, badge.AppendError(nil, limited, badge.Options{})); words[0] != "GEO: unavailable" {
		t.Errorf("a request too many: %q, want GEO: unavailable", words)
	}
}

func TestErrorWords(t *testing.T) {
	for name, want := range map[string]string{
		"error-400": "bad parameter|!", "error-404": "GEO: not rated|?", "error-503": "GEO: unavailable|!",
	} {
		label, _, words := spoken(t, badge.AppendError(nil, failures[name], badge.Options{Theme: badge.Dark}))
		if got := strings.Join(words, "|"); got != want {
			t.Errorf("%s: words %q, want %q", name, got, want)
		}
		if e := failures[name]; !strings.HasPrefix(label, e.Code.Title()) || !strings.HasSuffix(label, e.Detail) {
			t.Errorf("%s: label %q says neither %q nor %q", name, label, e.Code.Title(), e.Detail)
		}
	}
}

func TestOf(t *testing.T) {
	at, score := fieldmark.At(seen), fieldmark.Milli(74_600)
	for _, tt := range []struct {
		name string
		a    fieldmark.Assessment
		want badge.State
	}{
		{"ready", fieldmark.Assessment{Status: fieldmark.StatusScored, Score: &score, GeoReady: true}, badge.Ready},
		{"not yet", fieldmark.Assessment{Status: fieldmark.StatusScored, Score: &score}, badge.NotYet},
		{"stale", fieldmark.Assessment{Status: fieldmark.StatusStale, Score: &score}, badge.Stale},
		{"pending", fieldmark.Assessment{Status: fieldmark.StatusPending}, badge.Pending},
		{"unreachable", fieldmark.Assessment{Status: fieldmark.StatusUnreachable}, badge.Unreachable},
		{"refused", fieldmark.Assessment{Status: fieldmark.StatusRefused}, badge.Unrated},
		{"insufficient", fieldmark.Assessment{Status: fieldmark.StatusInsufficientData}, badge.Unrated},
		{"scored without a score", fieldmark.Assessment{Status: fieldmark.StatusScored, GeoReady: true}, badge.Unrated},
		{"a status of tomorrow", fieldmark.Assessment{Status: "paused", Score: &score}, badge.Unrated},
	} {
		tt.a.AsOf, tt.a.Grade = &at, "B"
		got := badge.Of(&fieldmark.Score{Name: "Acme", Assessment: tt.a})
		if got.State != tt.want || got.Name != "Acme" || got.AsOf != november || got.Grade != "B" {
			t.Errorf("%s: got %+v, want state %d", tt.name, got, tt.want)
		}
	}
}

// An embedded badge and its 690 bytes of header fields are at most two packets
// of 1,460 bytes. Its widths take 16 of them, so that its words stay inside it in
// any font.
func TestSize(t *testing.T) {
	const limit = 960
	for _, s := range samples {
		if got := len(badge.AppendSVG(nil, s.badge, badge.Options{Theme: badge.Auto})); got > limit {
			t.Errorf("%s: %d bytes, want at most %d", s.name, got, limit)
		}
	}
}

// A hand-tight template leaves a minifier nothing to do, which is why none runs
// while a badge is served.
func TestMinified(t *testing.T) {
	m := minify.New()
	m.AddFunc("image/svg+xml", svg.Minify)
	const limit = 1 // percent
	all := looks(t)
	for _, style := range styles {
		for _, tag := range badge.Languages() {
			all = append(all, opts(t, "lang="+tag+"&style="+style), opts(t, "lang="+tag+"&font=outline&style="+style))
		}
		all = append(all, opts(t, "label=Our+score&style="+style), opts(t, "label=Our+score&font=outline&style="+style))
	}
	for _, s := range samples {
		for _, l := range all {
			ours := badge.AppendSVG(nil, s.badge, l)
			theirs, err := m.Bytes("image/svg+xml", bytes.Clone(ours))
			if err != nil {
				t.Fatal(err)
			}
			if saved := len(ours) - len(theirs); saved*100 > len(ours)*limit {
				t.Errorf("%s %s: a minifier saves %d of %d bytes, want at most %d %%\nours   %s\ntheirs %s", s.name,
					l.Query(), saved, len(ours), limit, ours, theirs)
			}
		}
	}
}

func TestNothingToReach(t *testing.T) {
	for _, s := range samples {
		image := badge.AppendSVG(nil, s.badge, badge.Options{Theme: badge.Auto})
		for _, bad := range []string{" id=", "<script", "href", "url(", "@import", "http"} {
			rest := bytes.TrimPrefix(image, []byte(`<svg xmlns="http://www.w3.org/2000/svg"`))
			if bytes.Contains(rest, []byte(bad)) {
				t.Errorf("%s: holds %q: %s", s.name, bad, image)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	buf := make([]byte, 0, 4096)
	long := badge.Badge{Name: strings.Repeat("<é\x00", 200), State: badge.Stale, Score: 50_000, Grade: "D",
		AsOf: november}
	for _, b := range []badge.Badge{samples[0].badge, long, {}} {
		if n := testing.AllocsPerRun(100,
			func() { buf = badge.AppendSVG(buf[:0], b, badge.Options{Theme: badge.Auto}) }); n != 0 {
			t.Errorf("AppendSVG(%+v): %v allocations, want 0", b, n)
		}
	}
}

// FuzzName draws any name and any label, in every style and state, whether a
// browser could have sent them or not.
func FuzzName(f *testing.F) {
	for i, s := range []string{"Acme", "<script>alert(1)</script>", "]]>&amp;", "\x00\x1b\r\n", "\xff\xfe",
		"\uFFFE\uFFFF", "\u202E92\u2069", "שלום", "👩‍👩‍👧", strings.Repeat("x", 1000)} {
		f.Add(s, s, uint8(i), uint8(1), int64(92_000), "A")
	}
	f.Fuzz(func(t *testing.T, name, label string, options, state uint8, score int64, grade string) {
		b := badge.Badge{Name: name, State: badge.State(state), Score: fieldmark.Milli(score),
			Grade: fieldmark.Grade(grade), AsOf: november}
		parsed, err := badge.ParseOptions(func(p string) string {
			if p == "label" {
				return label
			}
			return ""
		})
		if err != nil {
			parsed = badge.Options{}
		}
		for style := range styles {
			l := badge.Options{Style: badge.Style(style), Theme: badge.Theme(options % 4),
				Lang: badge.Lang(int(options) % len(badge.Languages())), Animate: options&1 != 0,
				Outline: options&2 != 0, Label: parsed.Label}
			checkImage(t, badge.AppendSVG(nil, b, l))
			if utf8.RuneCountInString(label) <= badge.MaxLabel {
				l.Label = label
				checkImage(t, badge.AppendSVG(nil, b, l))
			}
			checkImage(t, badge.AppendError(nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "%s", name), l))
		}
	})
}

func checkImage(t *testing.T, image []byte) {
	t.Helper()
	if !utf8.Valid(image) {
		t.Errorf("not UTF-8: %q", image)
	}
	if i := bytes.IndexFunc(image, func(r rune) bool {
		return r < ' ' || 0x202a <= r && r <= 0x202e ||
			0x2066 <= r && r <= 0x2069
	}); i >= 0 {
		t.Errorf("control or override at %d: %.2000q", i, image)
	}
	// Twice 200 code points of at most 5 bytes, and a drawing of the longest label
	// with its shadow.
	if limit := 48 << 10; len(image) > limit {
		t.Errorf("%d bytes, want at most %d: %.200q", len(image), limit, image)
	}
	depth, elements := 0, map[string]int{}
	for dec := xml.NewDecoder(bytes.NewReader(image)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%q: %v", image, err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			depth++
			elements[tok.Name.Local]++
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 || elements["svg"] != 1 || elements["script"] != 0 || elements["title"] != 1 {
		t.Errorf("elements %v, depth %d: %.2000q", elements, depth, image)
	}
}
