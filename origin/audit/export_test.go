package audit

import (
	"io"
	"net/http"
	"net/url"
	"time"
)

// What the fuzz targets reach into: parsers of strangers' bytes, which a server
// in between would make a thousand times slower to try.

// FuzzPage parses a page and computes every fact that follows from it.
func TryPage(body []byte, contentType, robots string) {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	header := http.Header{"Content-Type": {contentType}, "Link": {contentType}, "X-Robots-Tag": {contentType}}
	v := visit{asked: u.String(), url: u, status: 200, header: header, body: body}
	f := &site{subject: Subject{Name: "Example"}, now: time.Unix(1_800_000_000, 0), front: v, sample: []*url.URL{u}, visits: []visit{v},
		robots: newRobots(visit{asked: u.String() + "robots.txt", status: 200, body: []byte(robots)})}
	f.home = parsePage(u, header, body)
	f.pages = []*page{f.home}
	f.sitemap = sitemap{files: []string{"x"}}
	for range sampleOf(f.home, &f.sitemap) {
	}
	f.facts()
}

// FuzzJSONLD parses one script.
func TryJSONLD(src []byte) int {
	g := &graph{}
	g.add(src)
	for _, t := range g.things {
		for _, at := range t.holds {
			for _, i := range at {
				_ = g.things[i]
			}
		}
	}
	return len(g.things)
}

// FuzzSitemap parses one file.
func TrySitemap(r io.Reader) (addresses int, err error) {
	f, err := parseSitemap(r)
	return len(f.entries) + len(f.children), err
}

// FuzzRobots asks one file about one address; it must never panic.
func TryRobots(body, token, path string) (string, string, []string) {
	r := newRobots(visit{asked: "https://example.com/robots.txt", status: 200, body: []byte(body)})
	u, err := url.Parse("https://example.com/" + path)
	if err != nil {
		return "", "", nil
	}
	v, rule := r.judge(token, u)
	return string(v), rule, r.sitemaps()
}

// JudgeRobots says whether a robots.txt lets a crawler fetch an address.
func JudgeRobots(body, token, address string) (allowedTo bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, err
	}
	r := newRobots(visit{asked: "https://example.com/robots.txt", status: 200, body: []byte(body)})
	v, _ := r.judge(token, u)
	return v == allowed, nil
}

// Crawlers returns the token of every crawler in the registry.
func Crawlers() []string {
	tokens := make([]string, len(registry))
	for i, c := range registry {
		tokens[i] = c.token
	}
	return tokens
}
