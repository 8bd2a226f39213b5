package developer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/edge/site"
)

const base = "https://geo.example"

func newPages(t *testing.T, cfg developer.Config) *developer.Pages {
	t.Helper()
	s, err := site.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg.BaseURL = base
	p, err := developer.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// allPaths are the paths of all pages.
func allPaths(r *developer.Reference) []string {
	paths := []string{site.PathReference, site.PathReference + "/administration", site.PathProblems, site.PathLimits,
		site.PathChangelog}
	for _, g := range site.Guides() {
		paths = append(paths, site.PathGuides+g.Name)
	}
	for _, g := range r.Groups {
		for _, p := range g.Parts {
			for _, o := range p.Operations {
				paths = append(paths, site.PathReference+"/"+o.ID)
			}
		}
	}
	for _, e := range r.Events {
		paths = append(paths, site.PathReference+"/events/"+e.Type)
	}
	for _, c := range fieldmark.Codes() {
		paths = append(paths, site.PathProblems+"/"+string(c))
	}
	return paths
}

// content is what a page holds.
type content struct {
	ids   map[string]bool
	links []string
	title string
	text  string
}

func read(t *testing.T, page []byte) content {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	c := content{ids: map[string]bool{}}
	var text strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
		if n.Data == "title" && n.FirstChild != nil {
			c.title = n.FirstChild.Data
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if c.ids[a.Val] {
					t.Errorf("id %q is there twice", a.Val)
				}
				c.ids[a.Val] = true
			case "href":
				if n.Data == "a" {
					c.links = append(c.links, a.Val)
				}
			}
		}
	}
	c.text = text.String()
	return c
}

// maxBody is what the HTML of a page may weigh in bytes, so that it stays below 60 KiB with the
// 23 KiB of styles and scripts that it loads.
const maxBody = 37 << 10

// TestPages renders every page. Each operation and event has an anchor on an index and a page, each page
// its own title, and every link within the site leads somewhere.
func TestPages(t *testing.T) {
	r, pages := parse(t), newPages(t, developer.Config{})
	contents := map[string]content{}
	titles := map[string]string{}
	heaviest, weight := "", 0
	for _, path := range allPaths(r) {
		page, err := pages.Append(nil, path, r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(page) > weight {
			heaviest, weight = path, len(page)
		}
		c := read(t, page)
		if other := titles[c.title]; other != "" {
			t.Errorf("%s has the title %q, as %s has", path, c.title, other)
		}
		titles[c.title] = path
		if strings.Contains(c.text, "{base}") || strings.Contains(c.text, "127.0.0.1:8080") {
			t.Errorf("%s: the address of the site is not inserted", path)
		}
		_, intro, _ := bytes.Cut(page, []byte(`<p class="intro">`))
		intro, _, _ = bytes.Cut(intro, []byte("</p>"))
		if strings.HasPrefix(path, site.PathGuides) && (len(intro) == 0 || bytes.ContainsAny(intro, "`*[")) {
			t.Errorf("%s: the introduction is plain text, got %q", path, intro)
		}
		contents[path] = c
	}
	t.Logf("the heaviest page is %s with %d bytes", heaviest, weight)
	if weight > maxBody {
		t.Errorf("%s weighs %d bytes, at most %d", heaviest, weight, maxBody)
	}
	for _, g := range r.Groups {
		index := site.PathReference
		if g.Name == "administration" {
			index += "/administration"
		}
		for _, p := range g.Parts {
			for _, o := range p.Operations {
				if !contents[index].ids[o.ID] {
					t.Errorf("%s has no anchor %s", index, o.ID)
				}
				c := contents[site.PathReference+"/"+o.ID].text
				if !strings.Contains(c, o.Method) || !strings.Contains(c, o.Path) || o.Scope != "" &&
					!strings.Contains(c, o.Scope) {
					t.Errorf("the page of %s lacks its method, path or scope", o.ID)
				}
				for _, p := range o.Parameters {
					if !strings.Contains(c, p.Name) {
						t.Errorf("the page of %s lacks the parameter %s", o.ID, p.Name)
					}
				}
			}
		}
	}
	for _, e := range r.Events {
		if !contents[site.PathReference].ids[e.Type] {
			t.Errorf("the reference has no anchor %s", e.Type)
		}
	}
	for path, c := range contents {
		for _, link := range c.links {
			checkLink(t, path, strings.TrimPrefix(link, base), contents)
		}
	}
}

// TestLimits: the page has every limit of the origin and of the edge, and the numbers in the guides are
// those limits.
func TestLimits(t *testing.T) {
	r := parse(t)
	own := developer.Limit{Group: "Rates", Name: "Reads with a key", Value: 6000, Unit: "requests a minute"}
	page, err := newPages(t, developer.Config{Limits: []developer.Limit{own}}).Append(nil, site.PathLimits, r)
	if err != nil {
		t.Fatal(err)
	}
	text, values := read(t, page).text, map[string]int64{}
	for _, l := range append(r.Limits, own) {
		values[l.Name] = l.Value
		if !strings.Contains(text, l.Name) || l.Code != "" && !strings.Contains(text, string(l.Code)) {
			t.Errorf("the page of limits lacks %q", l.Name)
		}
	}
	for _, want := range []string{"6,000 requests a minute", "64 KiB", "1 MiB", "1 day", "90 days"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of limits lacks %q", want)
		}
	}
	const hour = 60 * 60
	for _, said := range []struct {
		guide, text, limit string
		value              int64
	}{
		{"retry-safely", "for 24 hours", "Idempotency-Key kept", 24 * hour},
		{"receive-webhooks", "for five days", "Failure until an endpoint is disabled", 5 * 24 * hour},
	} {
		guide, err := newPages(t, developer.Config{}).Append(nil, site.PathGuides+said.guide, nil)
		if err != nil || !strings.Contains(string(guide), said.text) || values[said.limit] != said.value {
			t.Errorf("%s says %q: %v, the limit %q is %d", said.guide, said.text, err, said.limit, values[said.limit])
		}
	}
}

// checkLink checks a link to another of the pages, with its fragment.
func checkLink(t *testing.T, from, link string, all map[string]content) {
	t.Helper()
	path, fragment, _ := strings.Cut(link, "#")
	if path == "" {
		path = from
	}
	if path == site.PathDevelopers || path == site.PathChangelogFeed || path == fieldmark.PathAccessPage ||
		path == site.PathPlayground ||
		path != site.PathProblems &&
			!strings.HasPrefix(path, site.PathDevelopers+"/") && !strings.HasPrefix(path, site.PathProblems+"/") {
		return // served by others
	}
	target, ok := all[path]
	if !ok || fragment != "" && fragment != "main" && !target.ids[fragment] {
		t.Errorf("%s: the link %s leads nowhere", from, link)
	}
}

// TestWithoutReference: without the document the pages of problems and limits have what the program
// knows, and nothing else is found.
func TestWithoutReference(t *testing.T) {
	pages := newPages(t, developer.Config{Limits: []developer.Limit{{Group: "Rates", Name: "Reads", Value: 6000,
		Unit: "requests"}}})
	for path, want := range map[string]string{
		site.PathReference: "temporarily unavailable", site.PathProblems: "version_mismatch",
		site.PathProblems + "/not_found": "temporarily", site.PathLimits: "6,000 requests",
	} {
		page, err := pages.Append(nil, path, nil)
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for _, path := range []string{site.PathReference + "/getScore", site.PathReference + "/events/ping",
		site.PathProblems + "/none", site.PathGuides + "none", site.PathGuides + "../doc", site.PathReference + "/"} {
		var fe *fieldmark.Error
		if _, err := pages.Append(nil, path, nil); !errors.As(err, &fe) || fe.Code != fieldmark.CodeNotFound {
			t.Errorf("%s: %v, want not_found", path, err)
		}
	}
}

// TestHideAdmin: a node that does not serve administration does not offer to send its requests.
func TestHideAdmin(t *testing.T) {
	r, form := parse(t), "data-try"
	for _, hide := range []bool{false, true} {
		pages := newPages(t, developer.Config{HideAdmin: hide})
		for id, want := range map[string]bool{"listKeys": !hide, "listMissions": true} {
			page, err := pages.Append(nil, site.PathReference+"/"+id, r)
			if got := strings.Contains(string(page), form); err != nil || got != want {
				t.Errorf("hidden %v: %s has a form: %v, want %v (%v)", hide, id, got, want, err)
			}
		}
	}
}

// TestHostileDocument: texts of the document are text on the pages, and schemas that refer to
// themselves or to nothing end.
func TestHostileDocument(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	schema := map[string]any{"type": "object", "required": []string{"child"}, "properties": map[string]any{
		"child":    map[string]any{"$ref": "#/components/schemas/Node"},
		"children": map[string]any{"type": "array", "items": map[string]any{"$ref": "#/components/schemas/Node"}},
		"none":     map[string]any{"$ref": "#/components/schemas/None"},
		"map":      map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer"}},
		evil:       map[string]any{"type": "string", "description": evil, "enum": []string{evil}},
	}}
	body := map[string]any{"content": map[string]any{"application/json": map[string]any{
		"schema": map[string]any{"$ref": "#/components/schemas/Node"}}}}
	raw, err := json.Marshal(map[string]any{
		"info": map[string]any{"version": evil}, "tags": []any{map[string]any{"name": evil, "description": evil}},
		"paths": map[string]any{"/x'; rm -rf {id}": map[string]any{"post": map[string]any{"operationId": "evil",
			"summary": evil + "; " + evil, "tags": []string{evil}, "requestBody": body,
			"responses": map[string]any{"200": body, "": body},
			"parameters": []any{map[string]any{"name": evil, "in": "path", "description": evil,
				"schema": map[string]any{"type": "string", "examples": []string{"'$(reboot)'"}}}}}}},
		"webhooks":   map[string]any{evil: map[string]any{"post": map[string]any{"summary": evil}}},
		"components": map[string]any{"schemas": map[string]any{"Node": schema}},
		"x-problems": []any{map[string]any{"code": evil, "title": evil, "remedy": evil}},
		"x-limits":   []any{map[string]any{"group": evil, "name": evil, "unit": evil, "code": evil, "note": evil}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := developer.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	pages := newPages(t, developer.Config{})
	for _, path := range []string{site.PathReference, site.PathReference + "/evil", site.PathProblems, site.PathLimits,
		site.PathReference + "/events/" + evil} {
		page, err := pages.Append(nil, path, r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		doc, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			if n.Data == "script" && n.FirstChild != nil && strings.HasPrefix(n.FirstChild.Data, "alert") {
				t.Errorf("%s runs a script of the document", path)
			}
		}
	}
	if got := r.Groups[0].Parts[0].Operations[0].Curl; !strings.Contains(got, `'{base}/x'\''; rm -rf {id}'`) {
		t.Errorf("the command is %s", got)
	}
}

// TestChangelogFeed: a release has an entry, what is not released has none.
func TestChangelogFeed(t *testing.T) {
	const text = "# Changelog\n\nAll changes.\n\n## Unreleased\n\n### Added\n- *New* <b>\n\n" +
		"## [1.1.0] - 2027-02-01\n\n- Second\n\n## 1.0.0 - 2027-01-01\n\n- First & best\n"
	feed, err := developer.ChangelogFeed(text, base)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<updated>2027-02-01T00:00:00Z</updated>",
		"<id>tag:geo.example,2026:changelog/1.0.0</id>",
		`<link rel="self" type="application/atom+xml" href="https://geo.example/developers/changelog.atom">`,
		"/developers/changelog#1.1.0", "First &amp;amp; best"} {
		if !strings.Contains(string(feed), want) {
			t.Errorf("the feed has no %s:\n%s", want, feed)
		}
	}
	if strings.Contains(string(feed), "nreleased") || strings.Count(string(feed), "<entry>") != 2 {
		t.Errorf("the feed has what is not released:\n%s", feed)
	}
	if _, err := developer.ChangelogFeed("# Changelog\n", base); err == nil {
		t.Error("a changelog without a version is accepted")
	}
	if feed, err := developer.ChangelogFeed(fieldmark.Changelog(), ""); err != nil ||
		!strings.Contains(string(feed), "<updated>") {
		t.Errorf("the changelog of the program: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"paths":{"/x":{"get":{"operationId":"x","tags":["t"],"responses":{"200":{}}}}},"tags":[{"name":` +
		`"t"}]}`))
	f.Add([]byte(`{"paths":{"/x":{"put":{"operationId":"x","tags":["t"],"requestBody":{"content":{"application/json":` +
		`{"schema":{"anyOf":[{"$ref":"#/components/schemas/A"}]}}}}}}},"components":{"schemas":{"A":{"type":["array",` +
		`"null"],"items":{"$ref":"#/components/schemas/A"}}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := developer.Parse(raw)
		if err == nil && r == nil {
			t.Error(fmt.Errorf("neither a reference nor an error"))
		}
	})
}
