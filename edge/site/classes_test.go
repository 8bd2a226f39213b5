package site_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A class that no rule names is a typing error in a template or in a sheet that the page
// loads.
func TestClasses(t *testing.T) {
	sheet := map[string]string{}
	for _, name := range []string{"site", "components", "developer", "recompute"} {
		source, err := os.ReadFile("static/" + name + ".css")
		if err != nil {
			t.Fatal(err)
		}
		sheet[name] = string(source)
	}
	unstyled := map[string]bool{ // said for those who read the source
		"s-measured": true, "v-none": true,
	}
	for name, page := range samplePages(t) {
		rules := sheet["site"]
		if bytes.Contains(page, []byte("/static/components.")) {
			rules += sheet["components"]
		}
		if bytes.Contains(page, []byte("/static/developer.")) {
			rules += sheet["developer"]
		}
		if bytes.Contains(page, []byte("/static/recompute.")) {
			rules += sheet["recompute"]
		}
		for _, n := range parse(t, name, page) {
			for class := range strings.FieldsSeq(attr(n, "class")) {
				if !strings.Contains(rules, "."+class) && !unstyled[class] {
					t.Errorf("%s: <%s class=%q> has no rule", name, n.Data, class)
				}
			}
		}
	}
}

// TestSpellsOutGEO: every page spells GEO out where it first uses it, and so does its
// description where that or the title uses it.
func TestSpellsOutGEO(t *testing.T) {
	const spelt = "generative engine optimisation (GEO)"
	for name, page := range samplePages(t) {
		title, description, text := "", "", ""
		doc, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		body := false
		for n := range doc.Descendants() {
			switch {
			case n.Data == "title" && n.Parent.Data == "head":
				title = n.FirstChild.Data
			case n.Data == "meta" && attr(n, "name") == "description":
				description = attr(n, "content")
			case n.Data == "body":
				body = true
			case body && n.Type == html.TextNode:
				text += n.Data
			}
		}
		if first := strings.Index(text, "GEO"); first >= 0 &&
			!strings.HasPrefix(strings.ToLower(text[max(first-len(spelt)+len("GEO)"), 0):]), strings.ToLower(spelt)) {
			t.Errorf("%s: the first GEO is not spelt out: %.80q", name, text[max(first-40, 0):])
		}
		if strings.Contains(title+description, "GEO") &&
			!strings.Contains(strings.ToLower(description), strings.ToLower(spelt)) {
			t.Errorf("%s: the title %q and the description %q do not spell out GEO", name, title, description)
		}
	}
}
