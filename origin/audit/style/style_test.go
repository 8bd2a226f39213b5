package style_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark/origin/audit/style"
)

// find returns the hidden texts of a document as "text: how", and whether all are gone.
func find(t testing.TB, src string) (list []string, gone string) {
	t.Helper()
	doc, err := html.ParseWithOptions(strings.NewReader(src), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	r := style.Compute(doc)
	for _, h := range r.Hidden {
		list = append(list, textOf(h.Nodes)+": "+h.How)
	}
	for _, g := range r.Generated {
		list = append(list, g.Text+": "+g.How)
	}
	var all []string
	for _, g := range r.Gone {
		all = append(all, textOf(g.Nodes))
	}
	return list, strings.Join(all, " ")
}

func textOf(nodes []*html.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				b.WriteString(d.Data + " ")
			}
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestHidden: each way of hiding text, and how it is described.
func TestHidden(t *testing.T) {
	for _, tt := range []struct{ css, body, want string }{
		{".x{display:none}", `<p class=x>a</p>b`, "a: in an element with display:none (.x)"},
		{"", `<p style="display:none">a</p>b`, "a: in an element with display:none (style attribute)"},
		{"p{visibility:hidden}i.v{visibility:visible}", `<p>a <i class=v>b</i> c</p>`,
			"a: in an element with visibility:hidden (p)|c: in an element with visibility:hidden (p)"},
		{".x{opacity:.5}.y{opacity:0.08}", `<p class=x><b class=y>a</b></p>b`,
			"a: in an element with opacity:0.04 (.y)"},
		{".x{filter:opacity(0)}", `<p class=x>a</p>b`, "a: in an element with opacity:0 (.x)"},
		{".x{font-size:1px}", `<p class=x>a</p>b`, "a: in text of font-size 1px (.x)"},
		{".x{font-size:.05em}", `<p class=x>a</p>b`, "a: in text of font-size 0.8px (.x)"},
		{".x{font:0/0 a}", `<p class=x>a <q style="font-size:1rem">b</q></p>`, "a: in text of font-size 0px (.x)"},
		{".x{font-size:calc(1px - 1px)}", `<p class=x>a</p>b`, "a: in text of font-size 0px (.x)"},
		{".x{color:#fff}", `<p class=x>a</p>b`, "a: in white text on a white background (.x)"},
		{"body{background:#fefefe}.x{color:rgb(255 255 255 / 1)}", `<p class=x>a</p>b`,
			"a: in white text on a #fefefe background (.x)"},
		{":root{--ink:white}.x{color:var(--ink)}", `<p class=x>a</p>b`, "a: in white text on a white background (.x)"},
		{".x{color:var(--no, hsl(0, 0%, 100%))}", `<p class=x>a</p>b`, "a: in white text on a white background (.x)"},
		{".x{color:oklch(1 0 0)}", `<p class=x>a</p>b`, "a: in white text on a white background (.x)"},
		{".x{color:oklab(62.8% .225 .126);background:red}", `<p class=x>a</p>b`,
			"a: in #ff0000 text on a #ff0000 background (.x)"},
		{".x{color:transparent}", `<p class=x>a</p>b`, "a: in transparent text (.x)"},
		{"", `<body bgcolor=black text=white><p><font color=#000000>a</font>b`,
			"a: in black text on a black background (attribute)"},
		{".x{text-indent:-9999px}", `<p class=x>a</p>b`, "a: in text indented by -9999px (.x)"},
		{".x{text-indent:100%;white-space:nowrap;overflow:hidden}", `<p class=x>a</p>b`,
			"a: in text indented by 100% (.x)"},
		{".x{position:absolute;left:-9999px}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by left:-9999px (.x)"},
		{".x{position:fixed;inset:-999em auto auto 0}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by top:-999em (.x)"},
		{".x{position:absolute;left:9999px}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by left:9999px (.x)"},
		{".x{position:absolute;top:-500%}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by top:-500% (.x)"},
		{".x{scale:.01}", `<p class=x>a</p>b`, "a: in an element with scale:.01 (.x)"},
		{".x{zoom:1%}", `<p class=x>a</p>b`, "a: in an element with zoom:1% (.x)"},
		{".x{transform:rotateY(90deg)}", `<p class=x>a</p>b`, "a: in an element with transform:rotatey(90deg) (.x)"},
		{".x{transform:translateX(-1000%)}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by transform:translatex(-1000%) (.x)"},
		{".x{content-visibility:hidden}", `<p class=x>a</p>b`, "a: in an element with content-visibility:hidden (.x)"},
		{".x{text-indent:9999px;white-space:nowrap;overflow:hidden}", `<p class=x>a</p>b`,
			"a: in text indented by 9999px (.x)"},
		{".x{margin-left:-5000px}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by margin-left:-5000px (.x)"},
		{".x{transform:translateX(-9999px)}", `<p class=x>a</p>b`,
			"a: in an element moved off the screen by transform:translatex(-9999px) (.x)"},
		{".x{transform:rotate(3deg) scale(0, 1)}", `<p class=x>a</p>b`,
			"a: in an element with transform:rotate(3deg) scale(0, 1) (.x)"},
		{".x{position:absolute;clip:rect(1px,1px,1px,1px)}", `<p class=x>a</p>b`,
			"a: in an element with clip:rect(1px,1px,1px,1px) (.x)"},
		{".x{clip-path:inset(50%)}", `<p class=x>a</p>b`, "a: in an element with clip-path:inset(50%) (.x)"},
		{".x{clip-path:polygon(0 0, 0 0, 0 0)}", `<p class=x>a</p>b`,
			"a: in an element with clip-path:polygon(0 0, 0 0, 0 0) (.x)"},
		{".x{height:0;overflow:hidden}", `<p class=x>a</p>b`,
			"a: in an element with height:0 and overflow:hidden (.x)"},
		{".x{width:1px;height:1px;overflow:hidden}", `<p class=x>a</p>b`,
			"a: in an element with width:1px and overflow:hidden (.x)"},
		{`.x::before{content:"a\62 c" attr(data-y)}`, `<p class=x data-y=" d">b</p>`,
			"abc d: in text that a style sheet adds (.x::before)"},
		{"", `<p hidden>a</p>b`, "a: in a hidden element"},
		{"", `<p aria-hidden=true>a</p>b`, "a: in an element with aria-hidden"},
		{"", `<dialog>a</dialog>b`, "a: in a closed dialog"},
		{"", `b<noscript>a</noscript>`, "a: in a hidden element"},
	} {
		list, _ := find(t, "<!doctype html><style>"+tt.css+"</style>"+tt.body)
		if got := strings.Join(list, "|"); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.css, tt.body, got, tt.want)
		}
	}
}

// TestCascade: which declaration wins. The text a is hidden exactly if want is true.
func TestCascade(t *testing.T) {
	const none, block = "{display:none}", "{display:block}"
	for css, want := range map[string]bool{
		".x" + none + "p" + block:                               true,
		"p" + block + ".x" + none + ".x" + block:                false,
		"#i" + block + ".x.x.x" + none:                          false,
		".x{display:none!important}#i" + block:                  true,
		".x{display:none!important}#i{display:block!important}": false,
		".x{display:none;display:nonsense}":                     true,
		".x{display:none;display:block}":                        false,
		".X" + none:                                             false,
		"P" + none:                                              true,
		"/* } */ .x /* { */ " + none:                            true,
		`.\78` + none:                                           true,
		`.x{d\69splay:n\6f ne}`:                                 true,
		"body > div > .x" + none:                                true,
		"body > .x" + none:                                      false,
		"h2 + .x" + none:                                        true,
		"h1 ~ .x" + none:                                        true,
		"h1 + .x" + none:                                        false,
		"div p" + none:                                          true,
		"[data-k]" + none:                                       true,
		"[data-k=v]" + none:                                     true,
		`[data-k="V" i]` + none:                                 true,
		`[data-k="V"]` + none:                                   false,
		"[data-k^=w]" + none:                                    false,
		"p:not(.y)" + none:                                      true,
		"p:not(.x)" + none:                                      false,
		"p:not(main .x)" + none:                                 true,
		"p:not(div .x)" + none:                                  false,
		":is(.y,div .x)" + none:                                 true,
		":where(#i)" + none + "p" + block:                       false,
		":is(#i,.y)" + none + ".x.x.x" + block:                  true,
		"p:nth-child(3)" + none:                                 true,
		"p:nth-child(2n)" + none:                                false,
		"p:lang(en)" + none:                                     true,
		"p:lang(de)" + none:                                     false,
		"p:first-of-type" + none:                                true,
		"p:last-child" + none:                                   true,
		"p:first-child" + none:                                  false,
		"@layer a,b;@layer b{.x" + none + "}@layer a{#i" + block + "}":                      true,
		"@layer a{#i" + none + "}.x" + block:                                                false,
		"@layer a{.x{display:none!important}}#i{display:block!important}":                   true,
		"@supports (display:grid){.x" + none + "}":                                          true,
		"@supports not (display:grid){.x" + none + "}":                                      false,
		"@media print{.x" + none + "}":                                                      false,
		"@media screen{.x" + none + "}":                                                     true,
		"@media not print{.x" + none + "}":                                                  true,
		"@media all and (min-width:1px){.x" + none + "}":                                    true,
		"@media (max-width:600px){.x" + none + "}":                                          false,
		".x" + none + "@media (min-width:40em){.x" + block + "}":                            false,
		".x" + none + "@media (width >= 1024px){.x" + block + "}":                           false,
		".x" + none + "@media (min-width:9000px){.x" + block + "}":                          true,
		".x" + none + "@media print{.x" + block + "}":                                       true,
		"@media (prefers-color-scheme:dark){.x" + none + "}":                                false,
		"@media (prefers-reduced-motion:reduce){.x" + none + "}":                            false,
		"div{.x" + none + "}":                                                               true,
		"div{& > .x" + none + "}":                                                           true,
		"div{main & .x" + none + "}":                                                        false,
		".x{color:red;@media screen{display:none}}":                                         true,
		"@font-face{src:url(x)}.x" + none:                                                   true,
		"@import 'x.css';.x" + none:                                                         true,
		"@scope (.a){.x" + none + "}":                                                       false,
		".x{display:none":                                                                   true,
		"}.x" + none:                                                                        false,
		".y{}}.x" + none + ".x" + none:                                                      true,
		"<!-- .x" + none + " -->":                                                           true,
		".x{animation:in 1s forwards;opacity:0}@keyframes in{from{opacity:0}to{opacity:1}}": false,
		".x{animation:in 1s;opacity:0}@keyframes in{to{left:0}}":                            true,
		".x{--h:none;display:var(--h)}":                                                     true,
		"div{--h:none}.x{display:var(--h,block)}":                                           true,
		".x{--a:var(--b);--b:var(--a);display:var(--a)}":                                    false,
		".x:hover" + none:                                                                   false,
	} {
		list, _ := find(t, "<!doctype html><style>"+css+"</style><div lang=en-GB><h1>h</h1><h2>h</h2>"+
			`<p class="k x" id=i data-k=v>a</p></div>b`)
		got := slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "a: ") })
		if got != want {
			t.Errorf("%s: hidden is %t, want %t (%q)", css, got, want, list)
		}
	}
}
