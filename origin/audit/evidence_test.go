package audit_test

import (
	"net/http"
	"strings"
	"testing"
)

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// thousand extends the text of a page to a thousand words, so that a density per thousand
// words equals the count.
func thousand(body string, have int) web {
	return one("", "<main><div>"+body+"</div><p>"+words(1000-have)+"</p></main>")
}

func TestCitations(t *testing.T) {
	runFacts(t, []factTest{
		{"distinct domains",
			thousand(`<a href="https://a.example.org/1">x</a><a href="https://b.example.org/">x</a><a `+
				`href="https://www.bbc.co.uk/">x</a><a href="https://gov.uk/">x</a>`, 1), []string{"cite.domains 3"}},
		{"own and social ones",
			thousand(`<a href="https://www.example.com/">x</a><a href="https://x.com/a">x</a><a `+
				`href="mailto:a@b.example">x</a><a href=/y>x</a>`, 1), []string{"cite.domains 0"}},
		{"another domain of the brand",
			one(ld(`{"@type":"Organization","name":"Example","url":"https://example.net/",`+
				`"sameAs":["https://github.com/example"]}`),
				"<main>"+words(998)+
					` <a href="https://www.example.net/">x</a> <a href="https://github.com/other">y</a></main>`),
			[]string{"cite.domains 1"}},
		{"in the frame", one("", `<main>`+words(1000)+`</main><footer><a href="https://a.example.org/">x</a></footer>`),
			[]string{"cite.domains 0"}},
		{"own domains by hreflang", one(`<link rel=alternate hreflang=de href="https://example.de/">`,
			"<main>"+words(999)+`<a href="https://www.example.de/x">x</a></main>`), []string{"cite.domains 0"}},
		{"maps, shorteners and shops", thousand(`<a href="https://www.google.com/maps/place/x">x</a><a `+
			`href="https://maps.google.de/x">x</a><a href="https://goo.gl/maps/x">x</a><a `+
			`href="https://maps.app.goo.gl/x">x</a><a href="https://bit.ly/x">x</a>
			<a href="https://www.amazon.co.uk/dp/1">x</a><a href="https://www.amazon.de/dp/1">x</a><a `+
			`href="https://apps.apple.com/app/1">x</a><a href="https://www.bing.com/maps?x">`+
			`x</a>`, 9), []string{"cite.domains 0"}},
		{"documents of the same companies",
			thousand(`<a href="https://developers.google.com/search">x</a><a href="https://developer.apple.com/x">`+
				`x</a>`, 1), []string{"cite.domains 2"}},
		{"accounts of the brand",
			thousand(`<a href="https://github.com/Example/tool">x</a><a href="https://www.npmjs.com/org/example">`+
				`x</a><a href="https://example.github.io/docs">x</a><a href="https://medium.com/@example/post">`+
				`x</a>`, 4), []string{"cite.domains 0"}},
		{"accounts it claims",
			one(ld(`{"@type":"Organization","name":"Example","sameAs":["https://gitlab.com/ex-tools/",`+
				`"https://github.com/"]}`),
				"<main>"+words(998)+
					` <a href="https://gitlab.com/Ex-Tools/x">x</a> <a href="https://github.com/other/x">y</a></main>`),
			[]string{"cite.domains 1"}},
		{"little text counts as some", one("", `<main><a href="https://a.example.org/">x</a></main>`),
			[]string{"cite.domains 3.333"}},
	})
}

func TestStatistics(t *testing.T) {
	yes := []string{"40 %", "40%", "12.5 percent", "12,5 Prozent", "$5 a month", "$9.99", "$12", "€ 5", "5 €", "USD 20",
		"20 euros", "1,000", "1.000.000", "10 000", "1'000", "3 kWh", "25 kg", "30 minutes", "5 Jahre", "3 ans", "2°C",
		"10 Mo", "3 millions", "１０００円", "三つの5億", "٤٠ ٪", "٢٥ كيلو و ٣٠ دقيقة", "10年間", "100 m²", "80 km/h",
		"between 3 and 5 kg",
		"281 terabytes", "352 bytes", "10 times faster", "a 30-day trial", "a 1000-fold gain", "100 nanoseconds",
		"$8K-85K/year", "3-7 days"}
	no := []string{"2024", "in 1999 we", "5", "v1.2.3", "12", "+49 30 123456", "+1 800 555 1234", "0800 123 456",
		"(030) 123 456", "2024-01-31", "31/12/2024", "10:30", "H2", "B2B", "24/7", "from 10 to 20", "ISO 9001",
		"192.168.0.1", "page 3", "0x", "04x and 0x1f",
		"10<sup>-9</sup> seconds", "2<sup><small>48</small></sup> bytes", "an F-16s", "COVID-19 days", "3-D",
		"a 64-bit build", "PDP-11 times",
		// Codes, and the content of code elements.
		"$1", "run it as sh -c '$1' and $2", "Class 0L", "code 2201G", "2026-04-07T22:13:13Z", "0F", "a 5G network",
		"a %20 b", "printf %5d", "HRB 12.345", "RCS Paris 123 456 789", "FN 123.456 x",
		"<code>30 kg</code>", "<pre>sleep 30 s; echo 40 %</pre>", "<kbd>5 m</kbd> <samp>12 ms</samp>"}
	for _, s := range yes {
		if got := say(thousand("<p>"+s+"</p>", 0).audit(t), "stat.numbers"); got == "0" {
			t.Errorf("stat.numbers of %q = 0, want one at least", s)
		}
	}
	for _, s := range no {
		facts := thousand("<p>"+s+"</p>", 0).audit(t)
		if got := say(facts, "stat.numbers"); got != "0" {
			t.Errorf("stat.numbers of %q = %s, want 0; seen:\n%s", s, got, seen(facts, "stat.numbers"))
		}
	}
}

func TestQuotations(t *testing.T) {
	long := "This is the best thing that has happened"
	yes := []string{
		"“" + long + "”, says Ada.", "According to Ada, “" + long + "”.", "Ada said: \"" + long + "\"", "„" + long +
			"“, sagte Ada.", "« " + long + " », explique Ada.", "»" + long + "«, so die Chefin.",
		"「この宿は本当に静かで落ち着いていて、また必ず来たいと思います」と述べました。", "<blockquote>" + long +
			"<footer>Ada, engineer</footer></blockquote>",
		`<blockquote cite="https://study.example/">` + long + "</blockquote>", "<blockquote>" + long +
			"</blockquote><p>— Ada Byron, engineer</p>", "<blockquote><p>" + long +
			"</p><p>— Ada Byron</p></blockquote>",
		"<figure><blockquote>" + long + "</blockquote><figcaption>Ada</figcaption></figure>",
		"<p>Ada says:</p><blockquote>" + long + "</blockquote>",
		"<blockquote>" + long + "</blockquote><cite>Ada</cite>",
		"“" + long + "” — Ada Byron, engineer", "「この宿は本当に静かで落ち着いていて、また必ず来たいと思います」—田中",
		"«هذا أفضل شيء حدث لنا في هذه المدينة منذ سنوات»، قال أحمد.",
		"“" + long + "”, disse Ana.", "Secondo la fondatrice, «" + long + "».",
	}
	no := []string{"“Short one”, says Ada.", "“" + long + "” is our motto.", "“" + strings.Repeat("long ", 100) +
		"”, says Ada.", "“" + long + " without an end, says Ada.", "<blockquote>Short</blockquote>", long,
		"<blockquote>" + long + "</blockquote>", "<blockquote>" + long + "</blockquote><p>— and so on.</p>", "“" +
			long +
			"” - and more.",
		"<blockquote><div><table><tr><td>" + long + "<td>3.1</table></div></blockquote>", "<blockquote><pre>" + long +
			"</pre></blockquote>",
		// Code, commit trailers, and the two sides of a translation.
		"<pre>print(\"" + long + "\") # says Ada</pre>", "<code>“" + long + "”</code>, says Ada.",
		"Git says “Signed-off-by: Ada Lovelace <ada@example.com>”.",
		"<blockquote>Co-authored-by: Ada Lovelace &lt;ada@example.com&gt;</blockquote>",
		"She says “" + long + "” → “C’est la meilleure chose qui soit arrivée”", "<blockquote lang=en>" + long +
			"</blockquote><blockquote lang=fr>C’est la meilleure chose qui soit arrivée</blockquote>"}
	for _, s := range yes {
		facts := thousand("<p>"+s+"</p>", 0).audit(t)
		if got := say(facts, "quote.spans"); got == "0" || len(got) > 5 {
			t.Errorf("quote.spans of %q = %s, want one; seen:\n%s", s, got, seen(facts, "quote.spans"))
		}
	}
	for _, s := range no {
		if got := say(thousand("<p>"+s+"</p>", 0).audit(t), "quote.spans"); got != "0" {
			t.Errorf("quote.spans of %q = %s, want 0", s, got)
		}
	}
	if got := say(thousand("<blockquote>“"+long+"”, says Ada.</blockquote>", 10).audit(t), "quote.spans"); got != "1" {
		t.Errorf("quote.spans of a quotation inside a block quotation = %s, want 1", got)
	}
}

func TestFreshness(t *testing.T) {
	ago := func(days int) string { return today.AddDate(0, 0, -days).Format("2006-01-02") }
	meta := func(p, v string) string { return `<meta property="article:` + p + `" content="` + v + `">` }
	xml := func(a, b string) answer {
		return answer{kind: "text/xml", body: "<urlset><url><loc>https://example.com/</loc><lastmod>" + a +
			"</lastmod></url><url><loc>https://example.com/a</loc><lastmod>" + b + "</lastmod></url></urlset>"}
	}
	withHeader := func(w web, days int) web {
		a := w["/"]
		a.header = map[string]string{"Last-Modified": today.AddDate(0, 0, -days).Format(http.TimeFormat)}
		w["/"] = a
		return w
	}
	rolledOut := func(days ...int) web {
		home, about := html("", "<a href=/about>About</a>"), html("", "x")
		home.header, about.header = withHeader(one("", ""), days[0])["/"].header, withHeader(one("", ""),
			days[1])["/"].header
		return web{"/": home, "/about": about}
	}
	runFacts(t, []factTest{
		{"undated", one("", "x"), []string{"fresh.age unknown"}},
		{"dateModified first",
			one(ld(`{"@type":"Article","dateModified":"`+ago(40)+`","datePublished":"`+ago(5)+`"}`)+
				meta("modified_time", ago(3)), "<main><time datetime="+ago(1)+">x</time></main>"),
			[]string{"fresh.age 40"}},
		{"datePublished", one(ld(`{"@type":"Article","datePublished":"`+ago(50)+`T10:00:00+02:00"}`), "x"),
			[]string{"fresh.age 50"}},
		{"article:modified_time", one(meta("modified_time", ago(7)), "<main><time datetime="+ago(1)+">x</time></main>"),
			[]string{"fresh.age 7"}},
		{"newest time element",
			one("", "<main><time datetime="+ago(9)+">x</time><time datetime="+ago(4)+">y</time></main>"),
			[]string{"fresh.age 4"}},
		{"time in the frame", one("", "<main>x</main><footer><time datetime="+ago(1)+">x</time></footer>"),
			[]string{"fresh.age unknown"}},
		{"future dates are not believed", one(meta("modified_time", ago(-30)),
			"<main><time datetime="+ago(4)+">y</time></main>"), []string{"fresh.age 4"}},
		{"nonsense dates", one(meta("modified_time", "0001-01-01T00:00:00Z"),
			"<main><time datetime=soon>y</time></main>"), []string{"fresh.age unknown"}},
		{"lastmod", web{"/": html("", "x"), "/a": html("", "y"), "/sitemap.xml": xml(ago(20), ago(30))},
			[]string{"fresh.age 20"}},
		{"lastmod that all share", web{"/": html("", "x"), "/a": html("", "y"), "/sitemap.xml": xml(ago(2), ago(2))},
			[]string{"fresh.age unknown"}},
		{"lastmod in the future", web{"/": html("", "x"), "/a": html("", "y"), "/sitemap.xml": xml(ago(-9), ago(30))},
			[]string{"fresh.age 30"}},
		{"Last-Modified last", withHeader(one("", "x"), 12), []string{"fresh.age 12"}},
		{"Last-Modified of two days", rolledOut(12, 9), []string{"fresh.age 9"}},
		{"Last-Modified of one deployment", rolledOut(3, 3), []string{"fresh.age unknown"}},
		{"newest page counts", web{"/": html(meta("modified_time", ago(300)), "<a href=/about>About</a>"),
			"/about": html(meta("modified_time", ago(100)), "x")}, []string{"fresh.age 100"}},
	})
}

func TestAuthorship(t *testing.T) {
	article := func(extra string) web { return one(`<meta property="og:type" content="article">`+extra, "x") }
	runFacts(t, []factTest{
		{"no article", one("", "x"), []string{"author.share not_applicable"}},
		{"unsigned", article(""), []string{"author.share 0"}},
		{"meta author", article(`<meta name=author content=Ada>`), []string{"author.share 1"}},
		{"person", one(ld(`{"@type":"BlogPosting","headline":"x","author":[{"@type":"Person","name":"Ada"}]}`), "x"),
			[]string{"author.share 1"}},
		{"name alone", one(ld(`{"@type":"BlogPosting","headline":"x","author":"Ada"}`), "x"),
			[]string{"author.share 1"}},
		{"nameless person", one(ld(`{"@type":"BlogPosting","headline":"x","author":{"@type":"Person"}}`), "x"),
			[]string{"author.share 0"}},
		{"byline", one(`<meta property="og:type" content="article">`,
			`<article><p class="post byline">By Ada</p>x</article>`), []string{"author.share 1"}},
		{"rel author", one(`<meta property="og:type" content="article">`,
			`<article><a rel=author href=/ada>Ada</a></article>`), []string{"author.share 1"}},
	})
}
