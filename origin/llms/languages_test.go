package llms_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/llms"
)

// sample is an invented brand in one of the languages of the table.
type sample struct {
	Tag         string `json:"tag"`
	Name        string `json:"name"`
	Niche       string `json:"niche"`
	Description string `json:"description"`
	UniqueValue string `json:"uniqueValue"`
	Q           string `json:"q"`
	A           string `json:"a"`
}

func samples(t testing.TB) []sample {
	t.Helper()
	raw, err := os.ReadFile("testdata/languages.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// shapes returns requests for one brand, from the minimum to every section. Each has a
// link, because one of the validators rejects a file without links.
func (s sample) shapes() map[string]llms.Request {
	base := llms.Request{Name: s.Name, Niche: s.Niche, Description: s.Description, Language: s.Tag,
		URL: "https://brand.example/" + strings.ToLower(s.Tag) + "/"}
	with := func(edit func(*llms.Request)) llms.Request {
		r := base
		edit(&r)
		return r
	}
	links := []llms.Link{
		{Title: s.Niche, URL: "https://brand.example/a?b=c&d=e", Note: s.UniqueValue},
		{Title: s.Q, URL: "https://brand.example/" + s.Niche, Section: "optional"},
		{Title: s.Name, URL: "https://profiles.example/" + s.Name, Section: "profiles", Note: s.A},
	}
	contact := &llms.Contact{Email: "hello@brand.example", Phone: "+41 81 000 00 00", Address: s.Name + ", 7000",
		URL: "https://brand.example/contact"}
	alternates := []llms.Alternate{{Language: "eo", URL: "https://brand.example/eo/llms.txt"}, {Language: "mt",
		URL: "https://brand.example/mt/llms.txt"}}
	long := strings.TrimSpace(strings.Repeat(s.Description+" ", 7))
	if cjk := strings.HasSuffix(s.Description, "。"); cjk {
		long = strings.Repeat(s.Description, 9)
	}
	return map[string]llms.Request{
		"least":      base,
		"unique":     with(func(r *llms.Request) { r.UniqueValue = s.UniqueValue }),
		"links":      with(func(r *llms.Request) { r.Links = links }),
		"questions":  with(func(r *llms.Request) { r.FAQ = []llms.Question{{Q: s.Q, A: s.A}, {Q: s.A, A: s.Q}} }),
		"contact":    with(func(r *llms.Request) { r.Contact = contact }),
		"alternates": with(func(r *llms.Request) { r.Alternates = alternates }),
		"long":       with(func(r *llms.Request) { r.Description = long }),
		"everything": with(func(r *llms.Request) {
			r.Description, r.UniqueValue, r.Links, r.FAQ = long, s.UniqueValue, links, []llms.Question{{Q: s.Q, A: s.A}}
			r.Contact, r.Alternates, r.Full = contact, alternates, true
		}),
	}
}

// hostile maps the name of an attack to the text that an attacker puts into a field.
var hostile = map[string]string{
	"heading":                  "# Heading\n\n## Section\n\n- [x](https://evil.example)",
	"underlined heading":       "Title\n=====\n\nPart\n-----\n",
	"list":                     "- one\n* two\n+ three\n1. four\n2) five",
	"task list":                "- [ ] do\n- [x] done",
	"quote":                    "> quoted\n>> twice",
	"fence":                    "```\ncode\n```\n~~~\nmore\n~~~",
	"indented code":            "\n\n    code\n\tcode",
	"code span":                "`code` ``more``",
	"break":                    "***\n---\n___\n* * *",
	"table":                    "| a | b |\n|---|---|\n| c | d |",
	"emphasis":                 "*a* **b** ***c*** _d_ __e__ a*b*c d_e_f ~~g~~",
	"link":                     "[click](https://evil.example) [a][b] [c]",
	"link to a script":         "[click](javascript:alert(1)) [d](data:text/html,x)",
	"escaped link":             `\[bad\](javascript:alert(1)) \\[worse\\](x)`,
	"split link":               "](https://evil.example) [",
	"picture":                  "![i](https://evil.example/i.png) ![j][k]",
	"reference definition":     "\n\n[ref]: https://evil.example \"t\"\n\n[ref]",
	"footnote":                 "text[^1]\n\n[^1]: note",
	"autolink":                 "<https://evil.example> <a@b.example> https://evil.example www.evil.example",
	"tag":                      "<b>bold</b><br/><img src=x onerror=alert(1)>",
	"script":                   "<script>alert(1)</script><style>*{}</style>",
	"comment":                  "<!-- hidden --> <!-- open",
	"processing instruction":   "<?php echo 1 ?> <!DOCTYPE html> <![CDATA[x]]>",
	"entity":                   "AT&T &amp; &lt;b&gt; &#35; &#x23; &copy; &nosuch;",
	"backslash":                `C:\dir\ \\ \# \* end\`,
	"trailing marks":           "name # ## ### \\",
	"line ends":                "a\r\nb\rc\vd\fe\u0085f\u2028g\u2029h",
	"controls":                 "a\x00b\x01c\x1bd\x7fe",
	"bidi":                     "\u202egnp.exe\u202c \u2066x\u2069 \u200fab",
	"invisible":                "a\u200bb\u00adc\u2060d\ufeffe",
	"tag characters":           "plain" + tagged("hidden text"),
	"joiners":                  "a\u200db\u200cc 👩\u200d👧 نامه\u200cای",
	"combining":                "e\u0301\u0302\u0303 \u0301 Z\u0334\u0335\u0336",
	"emoji":                    "🇨🇭 👍🏽 ❤️ 1️⃣",
	"full width":               "＃ ［ｘ］（ｙ） ＊ａ＊",
	"noncharacters":            "a\ufdd0b\uffffc",
	"brackets in rows":         strings.Repeat("[", 40) + strings.Repeat("](", 40) + strings.Repeat(")", 40),
	"stars in rows":            strings.Repeat("*", 80) + " " + strings.Repeat("_", 80),
	"backticks in rows":        strings.Repeat("`", 99),
	"quotes in rows":           strings.Repeat("> ", 40),
	"numbers":                  "1. 2) 3: 10.5% 2026-01-01",
	"chat markup left as text": "User: hello Assistant: hi <div>",
}

// hostileRequest returns a request with one attack in every field.
func hostileRequest(trick string) llms.Request {
	return llms.Request{
		Name: "A " + clip(trick, 90), Niche: clip(trick, 100), Description: trick + " and twenty characters more.",
		UniqueValue: trick, URL: "https://brand.example/",
		Links: []llms.Link{
			{Title: "B " + clip(trick, 90), URL: "https://brand.example/x", Note: clip(trick, 200)},
			{Title: clip(trick, 90) + " C", URL: "https://brand.example/y", Note: "n " + clip(trick, 190),
				Section: "profiles"},
		},
		FAQ: []llms.Question{{Q: "Q " + clip(trick, 190), A: clip(trick, 500) + " a"},
			{Q: clip(trick, 190) + " q", A: "A " + clip(trick, 500)}},
		Contact: &llms.Contact{Address: "S " + clip(trick, 190)},
		Full:    true,
	}
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// TestLanguages generates every shape in every language and checks each file.
func TestLanguages(t *testing.T) {
	all := samples(t)
	if len(all) != 31 {
		t.Errorf("%d languages, want the 31 of the table of titles", len(all))
	}
	for _, s := range all {
		for shape, r := range s.shapes() {
			t.Run(s.Tag+"/"+shape, func(t *testing.T) {
				doc, err := llms.Generate(r)
				if err != nil {
					t.Fatalf("Generate(%+v): %v", r, err)
				}
				prove(t, r, doc)
				for _, w := range doc.Warnings {
					t.Errorf("warning %s at %s: %s", w.Code, w.Field, w.Message)
				}
				if want := map[bool]string{true: "rtl", false: "ltr"}[s.Tag == "ar" || s.Tag == "fa" ||
					s.Tag == "he"]; doc.Direction != want || doc.Language != s.Tag {
					t.Errorf("language %s written %s, want %s written %s", doc.Language, doc.Direction, s.Tag, want)
				}
			})
		}
	}
}

func TestHostileByName(t *testing.T) {
	for name, trick := range hostile {
		t.Run(name, func(t *testing.T) {
			r := hostileRequest(trick)
			doc, err := llms.Generate(r)
			if err != nil {
				t.Fatalf("Generate(%q): %v", trick, err)
			}
			prove(t, r, doc)
			if got, want := strings.Count(doc.Content, "](https://"), 4; got != want {
				t.Errorf("%d links, want %d in\n%s", got, want, doc.Content)
			}
		})
	}
}

// file is one generated file and its expected content.
type file struct {
	Name     string   `json:"name"`
	Content  string   `json:"content"`
	sections []string // in order
	links    []string // in order
}

// files returns all files that the validators check.
func files(t *testing.T) []file {
	t.Helper()
	var all []file
	add := func(name string, r llms.Request) {
		doc, err := llms.Generate(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := file{Name: name, Content: doc.Content}
		for line := range strings.Lines(doc.Content) {
			if title, ok := strings.CutPrefix(line, "## "); ok {
				f.sections = append(f.sections, strings.TrimSpace(title))
			}
			if m := linkItem.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				f.links = append(f.links, m[2])
			}
		}
		all = append(all, f)
	}
	for _, s := range samples(t) {
		for shape, r := range s.shapes() {
			add(fmt.Sprintf("%s/%s", s.Tag, shape), r)
		}
	}
	for name, trick := range hostile {
		add("hostile/"+name, hostileRequest(trick))
	}
	return all
}
