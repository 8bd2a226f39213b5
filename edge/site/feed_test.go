package site_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// atom is a feed as a strict reader sees it.
type atom struct {
	XMLName xml.Name   `xml:"http://www.w3.org/2005/Atom feed"`
	ID      []string   `xml:"http://www.w3.org/2005/Atom id"`
	Title   []string   `xml:"http://www.w3.org/2005/Atom title"`
	Updated []string   `xml:"http://www.w3.org/2005/Atom updated"`
	Author  []string   `xml:"http://www.w3.org/2005/Atom author>name"`
	Links   []atomLink `xml:"http://www.w3.org/2005/Atom link"`
	Entries []struct {
		ID      []string   `xml:"http://www.w3.org/2005/Atom id"`
		Title   []string   `xml:"http://www.w3.org/2005/Atom title"`
		Updated []string   `xml:"http://www.w3.org/2005/Atom updated"`
		Links   []atomLink `xml:"http://www.w3.org/2005/Atom link"`
		Content []struct {
			Type string `xml:"type,attr"`
			Text string `xml:",chardata"`
		} `xml:"http://www.w3.org/2005/Atom content"`
	} `xml:"http://www.w3.org/2005/Atom entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

// readAtom decodes a feed and checks what RFC 4287 requires: section 4.1.1 of the feed and
// 4.1.2 of its entries.
func readAtom(t *testing.T, text []byte) atom {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(text)))
	var f atom
	if err := d.Decode(&f); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if _, err := d.Token(); err != io.EOF && !strings.HasSuffix(string(text), "</feed>\n") {
		t.Errorf("something follows the feed: %v", err)
	}
	one := func(what string, list []string) string {
		if len(list) != 1 || list[0] == "" {
			t.Errorf("%d elements %s %q, want one", len(list), what, list)
			return ""
		}
		return list[0]
	}
	date := func(list []string) {
		if _, err := time.Parse(time.RFC3339, one("updated", list)); err != nil {
			t.Error(err)
		}
	}
	one("title", f.Title)
	one("author", f.Author)
	date(f.Updated)
	seen := map[string]bool{one("id", f.ID): true}
	for _, e := range f.Entries {
		if id := one("id", e.ID); seen[id] || !strings.HasPrefix(id, "tag:") || strings.ContainsAny(id, " \"<>") {
			t.Errorf("the id %q is there twice or is not a tag URI", id)
		} else {
			seen[id] = true
		}
		one("title", e.Title)
		date(e.Updated)
		if len(e.Links) != 1 || e.Links[0].Rel != "alternate" || len(e.Content) != 1 || e.Content[0].Type != "text" {
			t.Errorf("entry %q has the links %v and content %v", e.Title, e.Links, e.Content)
		}
	}
	return f
}

// TestFeed: a feed has the changes of a score, the newest first and at most fifty, and is
// well-formed whatever a brand is called.
func TestFeed(t *testing.T) {
	day := func(n int) fieldmark.Time {
		return fieldmark.At(time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC).AddDate(0, 0, n))
	}
	points := func(n fieldmark.Milli) *fieldmark.Milli { n *= 1000; return &n }
	f := site.Feed{BaseURL: "https://marks.example:8443",
		Brand: fieldmark.Brand{Slug: "acme", Name: "A\x00]]><b>&\u202e", CreatedAt: day(0)}}
	empty, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got := readAtom(t, empty); len(got.Entries) != 0 || got.Updated[0] != day(0).String() ||
		got.Title[0] != "A ]]><b>&: GEO readiness" {
		t.Errorf("the feed of a new brand is\n%s", empty)
	}
	facts := func(at int, score, moved *fieldmark.Milli) fieldmark.HistoryChange {
		return fieldmark.HistoryChange{At: day(at), Kind: fieldmark.ChangeFacts, FactsDigest: "sha256:aa",
			Score: score, Moved: moved}
	}
	gate := facts(3, points(30), points(0))
	gate.Gates = []fieldmark.GateChange{{Gate: fieldmark.Gate{Limit: 30, Reason: "robots.txt blocks."}, Applied: true}}
	up := facts(4, points(72), points(42))
	up.Signals = []fieldmark.SignalChange{{ID: "text", Label: "Text of the <body>", From: 0, To: 9000}}
	f.Changes = []fieldmark.HistoryChange{facts(0, points(30), nil), facts(2, points(30), points(0)), gate, up,
		{At: day(5), Kind: fieldmark.ChangeModule, Module: &fieldmark.ModuleRef{Name: "geo", Version: "2.0.0"}},
		facts(6, nil, nil)}
	decided := func(at int, state fieldmark.DisputeState, answer string) fieldmark.DisputeStatus {
		on := day(at)
		return fieldmark.DisputeStatus{ID: fmt.Sprint("dsp_", at), Signal: "text", State: state, DecidedAt: &on,
			Answer: answer, Owner: true, Excerpt: "<script>buy</script>"}
	}
	f.Labels = map[string]string{"text": "Text"}
	f.Disputes = []fieldmark.DisputeStatus{decided(7, fieldmark.DisputeUpheld, "Served to\u202e readers."),
		decided(1, fieldmark.DisputeSettled, "")}
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := readAtom(t, text)
	var titles []string
	for _, e := range got.Entries {
		titles = append(titles, e.Title[0]+" | "+e.Content[0].Text)
	}
	want := `Dispute upheld: Text | The finding no longer counts for or against the score. Answer: Served to readers.
No score | An audit measured the site.
Scoring rules: geo 2.0.0 | Scores are computed by other rules from now on; the history is computed by the rules of ` +
		`today.
GEO score 72.0 (+42.0) | An audit measured the site. Text of the <body> +9.0.
GEO score 30.0 | An audit measured the site. capped at 30: robots.txt blocks.
Dispute settled: Text | The next audit found other facts.
GEO score 30.0 | An audit measured the site.`
	if s := strings.Join(titles, "\n"); s != want {
		t.Errorf("entries\n%s\nwant\n%s", s, want)
	}
	if got.Updated[0] != day(7).String() || got.ID[0] != "tag:marks.example,2026:acme/feed" ||
		fmt.Sprint(got.Links) != "[{self https://marks.example:8443/brands/acme/feed.atom} "+
			"{alternate https://marks.example:8443/brands/acme}]" {
		t.Errorf("the feed is\n%s", text)
	}
	for i := range 60 {
		f.Changes = append(f.Changes, facts(10+i, points(50), points(1)))
	}
	if text, err = f.Encode(); err != nil {
		t.Fatal(err)
	}
	if got := readAtom(t, text); len(got.Entries) != 50 || got.Entries[0].Updated[0] != day(69).String() {
		t.Errorf("%d entries from %v, want the newest 50", len(got.Entries), got.Entries[0].Updated)
	}
}
