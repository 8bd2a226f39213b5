package audit

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/robots"
	"github.com/fieldmark/fieldmark/origin/audit/schema"
	"github.com/fieldmark/fieldmark/origin/injection"
)

// The functions below call the parsers of untrusted input directly for the fuzz targets.
// Fuzzing them through a server would be about a thousand times slower.

// TryPage parses a page and computes every fact that depends only on it.
func TryPage(body []byte, contentType, rules string) fieldmark.Facts {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	header := http.Header{"Content-Type": {contentType}, "Link": {contentType}, "X-Robots-Tag": {contentType}}
	v := visit{asked: u.String(), url: u, status: 200, header: header, body: body}
	f := &site{subject: Subject{Name: "Example"}, now: time.Unix(1_800_000_000, 0), front: v,
		sample: []sampled{{url: u, role: fieldmark.PageHome, visit: v}}, rules: map[string]decision{},
		robots: robotsFile{File: newRobots(visit{asked: u.String() + "robots.txt", status: 200, body: []byte(rules)})}}
	if f.home, f.parseErr = parsePage(context.Background(), u, header, body); f.parseErr != nil {
		return f.facts()
	}
	f.sample[0].page = f.home
	f.sitemap = sitemap{files: []string{"x"}, unreadable: "not looked for"}
	f.candidates()
	f.arrange(1)
	return f.facts()
}

// TryReplicates returns a function that computes the replicates of a site of the pages, of
// which it read all but the first by a draw from 1,000.
func TryReplicates(pages [][]byte) (run func() *fieldmark.Replicates, err error) {
	f := &site{subject: Subject{Name: "Example"}, now: time.Unix(1_800_000_000, 0), rules: map[string]decision{},
		robots: robotsFile{File: newRobots(visit{status: 200, body: []byte("User-agent: *\nDisallow: /private\n")})},
		seed:   strings.Repeat("5e", seedBytes), population: 1_000}
	for i, body := range pages {
		u := &url.URL{Scheme: "https", Host: "example.com", Path: "/p" + strconv.Itoa(i)}
		p, err := parsePage(context.Background(), u, http.Header{}, body)
		if err != nil {
			return nil, err
		}
		f.sample = append(f.sample, sampled{url: u, role: fieldmark.PageDrawn, page: p,
			visit: visit{asked: u.String(), url: u, status: 200}})
	}
	f.home, f.sample[0].role = f.sample[0].page, fieldmark.PageHome
	f.arrange(1)
	base := newFindings()
	f.pageFacts(base)
	return func() *fieldmark.Replicates { return f.replicates(base) }, nil
}

// TryJSONLD parses one script.
func TryJSONLD(src []byte) int {
	g := &schema.Graph{}
	g.Add(src)
	for _, t := range g.Things {
		for _, at := range t.Holds {
			for _, i := range at {
				_ = g.Things[i]
			}
		}
	}
	return len(g.Things)
}

// TrySitemap parses one file.
func TrySitemap(r io.Reader) (addresses int, err error) {
	if r, err = gunzipIfNeeded(r); err != nil {
		return 0, err
	}
	f, err := parseSitemap(r, maxSitemapKept)
	return len(f.entries) + len(f.children), err
}

// TryRobots parses a robots.txt and evaluates it for one path. It must never panic.
func TryRobots(body, token, path string) (string, string, []string) {
	r := newRobots(visit{asked: "https://example.com/robots.txt", status: 200, body: []byte(body)})
	u, err := url.Parse("https://example.com/" + path)
	if err != nil {
		return "", "", nil
	}
	v, rule := r.Check(token, u)
	return string(v), rule, r.Sitemaps()
}

// JudgeRobots reports whether a robots.txt allows a crawler to fetch an address.
func JudgeRobots(body, token, address string) (allowedTo bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, err
	}
	r := newRobots(visit{asked: "https://example.com/robots.txt", status: 200, body: []byte(body)})
	v, _ := r.Check(token, u)
	return v == robots.Allowed, nil
}

// Crawlers returns the token of every crawler in the registry.
func Crawlers() []string {
	tokens := make([]string, len(robots.Crawlers))
	for i, c := range robots.Crawlers {
		tokens[i] = c.Token
	}
	return tokens
}

// TryMicrodata reads a page's microdata after n JSON-LD items and returns, for every
// property with items as values, the index of one item.
func TryMicrodata(body string, n int) (things int, holds []int) {
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	prune(doc)
	all := schema.Join(make([]schema.Thing, n), schema.Microdata(doc, newTree(doc).textOf))
	for _, t := range all {
		for _, at := range t.Holds {
			holds = append(holds, at...)
		}
	}
	return len(all) - n, holds
}

// HeaderLink is one link of a Link header field.
type HeaderLink struct {
	Rels []string
	URL  *url.URL
}

// TryLinks reads Link header fields.
func TryLinks(fields ...string) (list []HeaderLink) {
	for _, l := range headerLinks(&url.URL{Scheme: "https", Host: "example.com", Path: "/"},
		http.Header{"Link": fields}) {
		list = append(list, HeaderLink{l.rels, l.url})
	}
	return list
}

// TryDirectives reports whether a meta element and header fields block a page for all
// crawlers, or for one answer crawler.
func TryDirectives(name, content string, tags ...string) (closed, partial bool) {
	p := &page{header: http.Header{"X-Robots-Tag": tags}, metas: []meta{{strings.ToLower(strings.TrimSpace(name)),
		content}}}
	d := directivesOf(p)
	return d.blocked != "", d.blockedForOne != ""
}

// Exported names for extractors with plain parameters and results.
var (
	ParseDate  = parseDate
	Statistics = func(text string) (int, []string) { return statistics(text, "") }
	Quotations = func(text string) (int, []string) { return quotations(text, "") }
	CountWords = countWords
	Shorten    = shorten
	SameName   = sameName
	SaysName   = mentionsName
	NameWords  = nameWords
	RetryAfter = retryAfter
	HSTSAge    = hstsAge
	RoundWait  = roundWait
	Smuggled   = hasTagCharacters
)

// TrySuspect returns the suspicions about a text of a page.
func TrySuspect(text string) []Suspicion {
	f := &site{detector: injection.New("Example")}
	suspicionFacts{f}.suspect(&page{url: &url.URL{Scheme: "https", Host: "example.com"}}, text, "")
	return f.suspicions
}

// MaxSteps is the limit of reading one document.
const MaxSteps = maxSteps

// TrySteps reads a page and returns the steps that it takes. exceeded reports whether these
// are more than the limit. The parser has no deadline here, which a busy machine could miss.
func TrySteps(body string) (steps int, exceeded bool, err error) {
	src, err := inlineFormatting([]byte(body))
	if err != nil {
		return 0, false, err
	}
	doc, err := html.ParseWithOptions(bytes.NewReader(src), html.ParseOptionEnableScripting(false))
	if err != nil {
		return 0, false, err
	}
	prune(doc)
	t := newTree(doc)
	newPage(t, &url.URL{Scheme: "https", Host: "example.com"}, http.Header{}, src)
	return maxSteps - t.left, t.exceeded(), nil
}

// TrySiteName returns the name of a site for a brand without a configured name.
func TrySiteName(address, head, llmsTitle string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	p, err := parsePage(context.Background(), u, http.Header{}, []byte("<head>"+head+"</head><main>x"))
	if err != nil {
		return ""
	}
	f := &site{home: p, fixed: []*page{p}}
	f.llms.visit.status, f.llms.report.Title = http.StatusOK, llmsTitle
	return entityFacts{f}.siteName(entityFacts{f}.organization())
}

// TryUnpack decodes the content encoding of a body as a fetch does, up to the limits.
func TryUnpack(body []byte, encoding string) (n int64, err error) {
	r, err := decompress(&countingReader{r: bytes.NewReader(body)}, encoding)
	if err != nil {
		return 0, err
	}
	return io.Copy(io.Discard, r)
}

// The limits of TryUnpack.
const (
	MaxRatio   = maxRatio
	RatioAfter = ratioAfter
)

// TryHead reads a page's canonical address and translations. It returns the number of links
// that it kept, and whether any of them is not an HTTP URL.
func TryHead(head string) (links int, odd bool, canonical, translations string) {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	p, err := parsePage(context.Background(), u, http.Header{},
		[]byte("<!doctype html><html><head>"+head+"</head><body><main>x</main></body></html>"))
	if err != nil {
		return 0, false, "", ""
	}
	f := &site{home: p, pages: []*page{p}}
	for _, l := range p.links {
		odd = odd || l.url != nil && !isWeb(l.url) || len(l.rels) == 0
	}
	if list := alternates(p); len(list) > 0 {
		translations = f.hreflangFault(p, list)
	}
	return len(p.links), odd, f.canonicalFault(p), translations
}

// The types of structured data that count as an owner and as the subject of a page.
var (
	OrganizationTypes = schema.OrganizationTypes
	ContentTypes      = schema.ContentTypes
)

// LexiconTags returns the languages that have a lexicon, in order.
func LexiconTags() (tags []string) {
	for _, l := range lexicons {
		tags = append(tags, l.tag)
	}
	return tags
}

// LexiconOf returns the words that every lexicon must have, by field name.
func LexiconOf(tag string) map[string][]string {
	for _, l := range lexicons {
		if l.tag == tag {
			return map[string][]string{
				"about": splitWords(l.about), "contact": splitWords(l.contact), "offer": splitWords(l.offer),
				"says":  append(splitWords(l.says), splitWords(strings.ToLower(l.saysPattern))...),
				"units": splitWords(l.units),
			}
		}
	}
	return nil
}

// PurposeOf returns the first purpose that a link names by its text or its path.
func PurposeOf(text, path string) string {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: path}
	for i := range purposes {
		if purposes[i].matches(anchor{url: u, text: text}) {
			return string(purposes[i].role)
		}
	}
	return ""
}
