package style_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark/origin/audit/style"
)

// numbered repeats a format with the numbers from 0 to n-1.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// nestedPage returns a document with elements inside of each other.
func nestedPage(css string, depth, times int) string {
	part := strings.Repeat("<div class=a>", depth) + "x" + strings.Repeat("</div>", depth)
	return "<!doctype html><style>" + css + "</style>" + strings.Repeat(part, times)
}

// maxOverrun is by how much one element can exceed the limit of steps.
const maxOverrun = 60_000

// TestHostile computes the style of documents that are made to cost time and memory. Steps
// count the work, whatever the machine does besides.
func TestHostile(t *testing.T) {
	const mb = 1 << 20
	flat := func(css string, n int) string {
		return "<!doctype html><style>" + css + "</style>" + strings.Repeat("<p class='a b c' data-x=y>x", n)
	}
	long := strings.Repeat("y", 4000)
	for _, tt := range []struct {
		name, src string
		most      uint64 // allocated bytes
		exceeded  bool
	}{
		{"descendants that never match", nestedPage(strings.Repeat("div ", 20)+"b{display:none}", 480, 20), 60 * mb,
			false},
		{"universal selectors", flat(numbered("[data-z%d]{display:none}", 10_000), 2_000), 120 * mb, true},
		{"long attributes", "<!doctype html><style>" + numbered("[data-x*=z%d]{display:none}", 3_000) + "</style>" +
			strings.Repeat("<p data-x="+long+">x", 300), 60 * mb, true},
		{"one rule of many declarations", flat("p{"+numbered("left:%dpx;", 50_000)+"}", 500), 120 * mb, true},
		{"many prefixes", flat(numbered(".p%d a{left:0}", 9_000), 1_000), 120 * mb, true},
		{"too many selectors", flat(numbered(".p%d,", 21_000)+"p{left:0}", 100), 60 * mb, false}, // one rule, too long
		{"too many rules", flat(numbered(".p%d{left:0}", 21_000), 100), 60 * mb, true},
		{"nested rules", flat(strings.Repeat(".aaaaaaaa,.bbbbbbbb,.cccccccc,.dddddddd{", 15)+
			strings.Repeat("& & &,& &{left:0}", 2_000)+strings.Repeat("}", 15), 100), 120 * mb, true},
		{"open blocks", flat(strings.Repeat("a{", 200_000), 100), 60 * mb, false},
		{"open brackets", flat(strings.Repeat("a:is(", 100_000), 100), 60 * mb, false},
		{"nested :is", flat(strings.Repeat(":is(", 500)+"p"+strings.Repeat(")", 500)+"{left:0}", 100), 60 * mb, false},
		{"variables in variables", flat(":root{"+numbered("--a%[1]d:var(--b%[1]d)var(--b%[1]d)var(--b%[1]d);"+
			"--b%[1]d:var(--a%[1]d) var(--a%[1]d);", 100)+"}p{color:var(--a1)}", 2_000), 60 * mb, false},
		{"calculations", flat("p{left:"+strings.Repeat("calc(", 150)+"1"+strings.Repeat(")", 150)+"}", 2_000), 60 * mb,
			false},
		{"animations", flat("@keyframes k{to{"+numbered("left:%dpx;", 5_000)+"}}p{animation:"+
			strings.Repeat("k,", 400)+"k}", 2_000), 60 * mb, false},
		{"layers", flat(numbered("@layer l%d{p{left:0}}", 5_000), 100), 60 * mb, false},
		{"generated text", flat("p::after{content:'"+strings.Repeat("z", 900)+"'}", 2_000), 120 * mb, false},
		{"long values with variables", flat(":root{--x:"+strings.Repeat("a ", 500)+"}p{clip:var(--x);"+
			"clip-path:var(--x);filter:var(--x);translate:var(--x);transform:var(--x)}", 8_000), 600 * mb, true},
		{"long values with functions", flat("p{position:absolute;transform:"+strings.Repeat("scale(1) ", 110)+
			";filter:"+strings.Repeat("blur(1) ", 120)+";clip-path:"+strings.Repeat("a(1) ", 200)+"}", 8_000),
			1200 * mb, true},
		{"bytes", flat(strings.Repeat("/**/ ", 300_000), 10), 60 * mb, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := html.Parse(strings.NewReader(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			exceeded, steps := style.Cost(doc)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > tt.most {
				t.Errorf("%d MB allocated, want at most %d", n/mb, tt.most/mb)
			}
			if exceeded != tt.exceeded || steps > style.MaxSteps+maxOverrun {
				t.Errorf("exceeded is %t after %d steps, want %t", exceeded, steps, tt.exceeded)
			}
		})
	}
}

// TestSiblingsOnce: the nodes after an element are counted as steps, and searched for another
// element once, however many selectors ask whether it is the last.
func TestSiblingsOnce(t *testing.T) {
	const comments, selectors = 20_000, 1_000
	css := numbered("[a%d]:last-child{left:0}", selectors)
	doc, err := html.Parse(strings.NewReader("<!doctype html><style>" + css + "</style><body><p></p>" +
		strings.Repeat("<!---->", comments)))
	if err != nil {
		t.Fatal(err)
	}
	_, steps := style.Cost(doc)
	if most := comments + 10*selectors; steps < comments || steps > most {
		t.Errorf("%d steps, want %d to %d", steps, comments, most)
	}
}

// TestExceeded: style elements that are not read to the end hide nothing, and style
// attributes do.
func TestExceeded(t *testing.T) {
	src := "<!doctype html><style>.x{display:none}" + numbered(".p%d{left:0}", 21_000) +
		`</style><p class=x>a<p style="display:none">b`
	list, gone := find(t, src)
	if len(list) != 1 || gone != "b" {
		t.Errorf("hidden %q, want b alone", list)
	}
}

// FuzzCompute: no document makes the computation fail, hide text that is not there, or do
// more than its limit of steps.
func FuzzCompute(f *testing.F) {
	for _, css := range []string{".x{display:none}", "@media (width>1px){p{color:#fff}}", `.\78{d\69splay:none`,
		"p:is(.a,:not(b c)){left:-9e9px}", "a{& b{--x:var(--x)}}", "@layer a.b,c;@keyframes k{to{opacity:0}}",
		"p::before{content:'\\e900' attr(x)", "p:nth-child(-2n+3){font:1px/2 x}", "}{([\"", "\x00/*",
		".x{clip-path:polygon(0 0,1px 1px);transform:matrix(0,0,0,0,0,0)}",
		".x{width:calc(1px*(2 - 3)/0);background:hsl(1,2%,3%) url(x)}"} {
		f.Add(css, "color:red;position:absolute")
	}
	f.Fuzz(func(t *testing.T, css, inline string) {
		doc := &html.Node{Type: html.DocumentNode}
		add := func(parent *html.Node, name string, attr ...html.Attribute) *html.Node {
			n := &html.Node{Type: html.ElementNode, Data: name, Attr: attr}
			parent.AppendChild(n)
			return n
		}
		root := add(doc, "html")
		add(root, "style").AppendChild(&html.Node{Type: html.TextNode, Data: css})
		body := add(root, "body")
		for _, class := range []string{"x", "a b"} {
			p := add(body, "p", html.Attribute{Key: "class", Val: class}, html.Attribute{Key: "style", Val: inline})
			p.AppendChild(&html.Node{Type: html.TextNode, Data: "text"})
		}
		_, steps := style.Cost(doc)
		r := style.Compute(doc)
		if steps > style.MaxSteps+maxOverrun || r.GoneBytes+r.VisibleBytes != 8 {
			t.Errorf("%d steps, %d bytes visible and %d gone, want 8", steps, r.VisibleBytes, r.GoneBytes)
		}
		for _, h := range r.Hidden {
			if h.How == "" || len(h.Nodes) == 0 {
				t.Errorf("hidden text %+v without a reason", h)
			}
		}
	})
}
