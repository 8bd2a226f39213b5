package audit

// Known is a fact an audit can tell of a site, for those who write scorers.
type Known struct {
	ID      string `json:"id"`
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
}

// Vocabulary lists every fact there is, sorted by id.
func Vocabulary() []Known {
	all := make([]Known, 0, len(vocabulary))
	for _, v := range vocabulary {
		all = append(all, Known{ID: v.id, Unit: v.unit, Meaning: meanings[v.id]})
	}
	return all
}

// meanings says what each fact tells. "Pages" are those the audit read.
var meanings = map[string]string{
	"agent.describedby":        "a page points to llms.txt by rel=describedby",
	"agent.feed":               "an RSS, Atom or JSON feed is linked",
	"agent.markdown":           "pages are offered as Markdown",
	"answer.kinds":             "kinds of liftable blocks on a page, on average: lists, tables, definition lists, answered questions",
	"author.share":             "articles that name an author; does not apply without articles",
	"canonical.good":           "pages with one absolute canonical address on this domain",
	"cite.domains":             "other sites linked from the text",
	"crawler.bingbot":          "addresses that robots.txt lets Bingbot read",
	"crawler.claude-searchbot": "addresses that robots.txt lets Claude-SearchBot read",
	"crawler.googlebot":        "addresses that robots.txt lets Googlebot read",
	"crawler.oai-searchbot":    "addresses that robots.txt lets OAI-SearchBot read",
	"crawler.others":           "addresses that robots.txt lets smaller answer crawlers read",
	"crawler.perplexitybot":    "addresses that robots.txt lets PerplexityBot read",
	"description.good":         "pages with a description of 50 to 300 characters",
	"fetcher.share":            "addresses that robots.txt lets assistants fetch for a person who asked",
	"fresh.age":                "age of the newest page that dates itself credibly",
	"headings.good":            "pages with an H1, no skipped level and a heading for every 300 words",
	"home.indexable":           "nothing forbids indexing or quoting the home page",
	"home.reachable":           "the home page answers with a page of HTML",
	"home.words":               "words of main text in the HTML of the home page",
	"https.hsts":               "Strict-Transport-Security of at least 180 days",
	"https.redirect":           "http leads to https in one redirect",
	"https.tls":                "the certificate is valid",
	"lang.hreflang":            "pages whose translations link back; does not apply to one language",
	"lang.html":                "pages that state a valid language",
	"link.about":               "an about page is linked",
	"link.contact":             "a contact page is linked",
	"llms.errors":              "errors in llms.txt; none without one",
	"llms.level":               "llms.txt: 0 none, 1 Markdown, 2 with a title, 3 with a summary, 4 with links",
	"manipulation.found":       "orders to models where readers do not see them",
	"name.coherence":           "places that name the brand the same way",
	"og.fields":                "of og:title, og:description, og:image and og:url on the home page",
	"org.contact":              "the organisation's data has a contact point or an address",
	"org.description":          "the organisation's data has a description",
	"org.logo":                 "the organisation's data has a logo",
	"org.name":                 "the organisation's data has its name",
	"org.url":                  "the organisation's data has its address on the web",
	"page.early_text":          "pages whose main text begins in the first 100 kB",
	"page.light":               "pages of at most 500 kB of HTML",
	"page.snippet_eligible":    "pages that may be indexed and quoted",
	"quote.spans":              "quotations of people",
	"response.ok":              "requests for pages that were answered with 2xx",
	"response.ttfb":            "time to the first byte, median of the pages",
	"sameas.profiles":          "official profiles in the organisation's sameAs",
	"sameas.reference":         "the organisation's sameAs leads to Wikidata or Wikipedia",
	"schema.typed":             "structured data says what a page is about, as its text does",
	"sitemap.found":            "there is a sitemap",
	"sitemap.live":             "addresses in the sitemap that answer 2xx on this host",
	"sitemap.valid":            "the sitemap is well-formed and within its limits",
	"stat.numbers":             "figures with a unit, a percentage or a currency",
	"text.words":               "words of main text in the HTML, median of the pages",
	"title.good":               "pages with a title of 10 to 70 characters",
	"titles.distinct":          "pages whose title and description no other has",
}
