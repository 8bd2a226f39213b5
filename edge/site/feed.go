package site

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// FeedSuffix follows the address of a brand's page in that of its feed, and FeedType is the
// media type of the feed.
const (
	FeedSuffix = "/feed.atom"
	FeedType   = "application/atom+xml"
)

// maxFeedEntries limits a feed: readers poll it, and a year of changes fits.
const maxFeedEntries = 50

// Feed is what the feed of a brand is made of.
type Feed struct {
	BaseURL string
	Brand   fieldmark.Brand
	Changes []fieldmark.HistoryChange // oldest first
	// that were settled, upheld or rejected, the newest first
	Disputes []fieldmark.DisputeStatus
	Labels   map[string]string // of signals, by id
}

type (
	// AtomFeed is an Atom document (RFC 4287), with the elements that the feeds use.
	AtomFeed struct {
		XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID       string      `xml:"id"`
		Title    string      `xml:"title"`
		Subtitle string      `xml:"subtitle"`
		Updated  string      `xml:"updated"`
		Author   string      `xml:"author>name"`
		Links    []AtomLink  `xml:"link"`
		Entries  []AtomEntry `xml:"entry"`
	}
	// AtomEntry is an entry of a feed.
	AtomEntry struct {
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Updated string      `xml:"updated"`
		Link    AtomLink    `xml:"link"`
		Content AtomContent `xml:"content"`
	}
	// AtomLink is a link of a feed or an entry.
	AtomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	// AtomContent is the content of an entry: text, or HTML as text.
	AtomContent struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// Encode returns the Atom document: the audits that moved the score or a gate, the
// activations of scoring modules, and the outcomes of disputes, the newest first. Ids are tag
// URIs (RFC 4151) of digests and times, so that an entry keeps its id on every node.
func (f *Feed) Encode() ([]byte, error) {
	page := brandAddress(f.BaseURL, f.Brand.Slug)
	name := plain(f.Brand.Name)
	doc := AtomFeed{
		ID: f.id("feed"), Title: name + ": GEO readiness", Author: "Fieldmark",
		Subtitle: "Changes of the generative engine optimisation (GEO) score of " + name + ".",
		Updated:  f.Brand.CreatedAt.String(),
		Links: []AtomLink{{"self", FeedType, f.BaseURL + fieldmark.PathBrandPage + string(f.Brand.Slug) + FeedSuffix},
			{"alternate", "text/html", page}},
	}
	for i := range f.Disputes {
		doc.Entries = append(doc.Entries, f.disputeEntry(&f.Disputes[i]))
	}
	for _, c := range slices.Backward(f.Changes) {
		if entry, ok := f.entry(&c); ok {
			doc.Entries = append(doc.Entries, entry)
		}
	}
	// times in one format and zone sort as texts
	slices.SortStableFunc(doc.Entries, func(a, b AtomEntry) int { return strings.Compare(b.Updated, a.Updated) })
	doc.Entries = doc.Entries[:min(len(doc.Entries), maxFeedEntries)]
	for i := range doc.Entries {
		doc.Entries[i].Link = AtomLink{"alternate", "text/html", page}
	}
	if len(doc.Entries) > 0 {
		doc.Updated = doc.Entries[0].Updated
	}
	return doc.Encode()
}

// Encode returns the document.
func (f *AtomFeed) Encode() ([]byte, error) {
	body, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the feed %q: %w", f.Title, err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

// TagURI returns the id of a feed or an entry (RFC 4151). A node without a configured public
// address is localhost.
func TagURI(baseURL string, parts ...string) string {
	host := "localhost"
	if u, err := url.Parse(baseURL); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return "tag:" + host + ",2026:" + strings.Join(parts, "/")
}

// entry returns the entry of a change; not ok is an audit that moved nothing.
func (f *Feed) entry(c *fieldmark.HistoryChange) (e AtomEntry, ok bool) {
	e = AtomEntry{Updated: c.At.String(), Content: AtomContent{Type: "text"}}
	if c.Kind == fieldmark.ChangeModule {
		e.ID = f.id("module", string(c.Module.Digest), e.Updated)
		e.Title = fmt.Sprintf("Scoring rules: %s %s", c.Module.Name, c.Module.Version)
		e.Content.Text = "Scores are computed by other rules from now on; the history is computed by the rules of " +
			"today."
		return e, true
	}
	still := c.Moved != nil && *c.Moved == 0
	if still && len(c.Gates) == 0 {
		return e, false
	}
	e.ID = f.id("facts", string(c.FactsDigest), e.Updated)
	switch {
	case c.Score == nil:
		e.Title = "No score"
	case c.Moved == nil || still:
		e.Title = "GEO score " + decimal(*c.Score)
	default:
		e.Title = fmt.Sprintf("GEO score %s (%s)", decimal(*c.Score), moved(*c.Moved))
	}
	e.Content.Text = "An audit measured the site."
	if causes := causesOf(c); len(causes) > 0 {
		e.Content.Text += " " + strings.Join(causes, "; ") + "."
	}
	return e, true
}

// disputeOutcomes are what the states of a decided dispute mean to readers of a feed.
var disputeOutcomes = map[fieldmark.DisputeState]string{
	fieldmark.DisputeSettled:  "The next audit found other facts.",
	fieldmark.DisputeUpheld:   "The finding no longer counts for or against the score.",
	fieldmark.DisputeRejected: "The finding stays.",
}

// disputeEntry returns the entry of the outcome of a dispute. What the brand wrote is not in it:
// feed readers show entries far from the page that says whose words they are.
func (f *Feed) disputeEntry(d *fieldmark.DisputeStatus) AtomEntry {
	e := AtomEntry{ID: f.id("dispute", d.ID), Updated: d.DecidedAt.String(),
		Title:   fmt.Sprintf("Dispute %s: %s", d.State, plain(cmp.Or(f.Labels[d.Signal], d.Signal))),
		Content: AtomContent{Type: "text", Text: disputeOutcomes[d.State]}}
	if answer := plain(d.Answer); answer != "" {
		e.Content.Text += " Answer: " + answer
	}
	return e
}

func (f *Feed) id(parts ...string) string {
	return TagURI(f.BaseURL, append([]string{string(f.Brand.Slug)}, parts...)...)
}
