package developer

import (
	"errors"
	"html/template"
	"regexp"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/edge/site"
)

// changelog is CHANGELOG.md (Keep a Changelog 1.1), newest version first.
type changelog struct {
	Intro    template.HTML
	Versions []version
}

// version is a section of the changelog.
type version struct {
	Name string // "Unreleased" or a number
	ID   string // of the heading
	Day  string // of the release, as 2026-11-22; empty before it
	Body template.HTML
}

// heading2 is the heading of a version: "## 1.2.0 - 2026-11-22", with or without brackets.
// Another form of the heading would be part of the version before it; a test reads the
// changelog of this program.
var heading2 = regexp.MustCompile(`(?m)^## \[?([^\]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?$`)

// readChangelog splits a changelog into its versions and renders them.
func readChangelog(text string) (*changelog, error) {
	_, rest := cutTitle(text)
	at := heading2.FindAllStringSubmatchIndex(rest, -1)
	if at == nil {
		// Without a version the page would be empty, so the start of the program fails.
		return nil, errors.New("read the changelog: it has no version")
	}
	c := &changelog{}
	var err error
	if c.Intro, err = render(rest[:at[0][0]]); err != nil {
		return nil, err
	}
	for i, m := range at {
		end := len(rest)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		v := version{Name: rest[m[2]:m[3]]}
		if m[4] >= 0 {
			v.Day = rest[m[4]:m[5]]
		}
		// The id is lower case, as those that goldmark makes for other headings.
		v.ID = strings.ToLower(v.Name)
		if v.Body, err = render(rest[m[1]:end]); err != nil {
			return nil, err
		}
		c.Versions = append(c.Versions, v)
	}
	return c, nil
}

// feedStart is when the feed was last changed before the first release.
// A feed must have a time of change (RFC 4287, 4.1.1), and there may be no release yet.
var feedStart = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// Feed returns the releases as an Atom feed. What is not released has no entry: it still changes.
func (p *Pages) Feed() ([]byte, error) { return p.changelog.feed(p.cfg.BaseURL) }

// ChangelogFeed returns the feed of another changelog, for tests: that of the program may have no
// release yet.
func ChangelogFeed(text, baseURL string) ([]byte, error) {
	c, err := readChangelog(text)
	if err != nil {
		return nil, err
	}
	return c.feed(baseURL)
}

// feed returns the releases as an Atom feed.
func (c *changelog) feed(baseURL string) ([]byte, error) {
	const name = "changelog"
	page := baseURL + site.PathChangelog
	doc := site.AtomFeed{ID: site.TagURI(baseURL, name, "feed"), Title: "Fieldmark: changelog", Author: "Fieldmark",
		Subtitle: "The releases of Fieldmark.", Updated: feedStart.Format(time.RFC3339),
		Links: []site.AtomLink{{Rel: "self", Type: site.FeedType, Href: baseURL + site.PathChangelogFeed},
			{Rel: "alternate", Type: "text/html", Href: page}}}
	for _, v := range c.Versions {
		if v.Day == "" {
			// An unreleased section changes with every day, and readers show an entry once.
			continue
		}
		doc.Entries = append(doc.Entries, site.AtomEntry{ID: site.TagURI(baseURL, name, v.Name),
			Title: "Fieldmark " + v.Name, Updated: v.Day + "T00:00:00Z",
			Link:    site.AtomLink{Rel: "alternate", Type: "text/html", Href: page + "#" + v.ID},
			Content: site.AtomContent{Type: "html", Text: string(v.Body)}})
	}
	if len(doc.Entries) > 0 {
		doc.Updated = doc.Entries[0].Updated
	}
	return doc.Encode()
}
