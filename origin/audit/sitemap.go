package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// The limits of the sitemap protocol, and our own below them.
const (
	maxSitemapURLs  = 50_000   // per file, by the protocol
	maxSitemapBytes = 50 << 20 // per file once unpacked, by the protocol
	maxSitemapFiles = 10       // read per audit: one index level and its first children
	maxLoc          = 2048     // bytes of an address, by the protocol
)

// Why a sitemap is not valid.
var (
	errSitemapURLs  = fmt.Errorf("more than %d addresses", maxSitemapURLs)
	errSitemapBytes = fmt.Errorf("more than %d MiB", maxSitemapBytes>>20)
	errSitemapXML   = errors.New("not well-formed XML")
	errSitemapRoot  = errors.New("neither a urlset nor a sitemapindex")
)

// entry is one address of a sitemap.
type entry struct {
	loc     *url.URL
	lastmod string
}

// sitemap is what a site's sitemaps say together.
type sitemap struct {
	files   []string // read, in order
	found   bool
	known   bool   // whether looking was possible at all
	outcome string // of the first file, or why none was found
	invalid string // the first complaint; "" when all are valid
	entries []entry
	foreign []string // addresses on other hosts, the first few
	total   int      // addresses listed
	offHost int      // of which on other hosts
	trusted bool     // lastmod tells pages apart
}

// sitemapFile is one file parsed: entries or the addresses of other files.
type sitemapFile struct {
	index    bool
	entries  []entry
	children []string
}

// parseSitemap reads one file as a stream; it stops at the protocol's limits.
func parseSitemap(r io.Reader) (f sitemapFile, err error) {
	limited := &limitedReader{r: r, left: maxSitemapBytes}
	dec := xml.NewDecoder(limited)
	dec.Strict = true
	dec.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(label, "us-ascii") || strings.EqualFold(label, "iso-8859-1") || strings.EqualFold(label, "latin1") {
			return in, nil // addresses are ASCII
		}
		return nil, errSitemapXML
	}
	root := ""
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			if root == "" {
				return f, errSitemapRoot
			}
			return f, nil
		}
		if err != nil {
			return f, limited.explain(err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch name := start.Name.Local; {
		case root == "":
			if name != "urlset" && name != "sitemapindex" {
				return f, errSitemapRoot
			}
			root, f.index = name, name == "sitemapindex"
		case name == "url" || name == "sitemap":
			if len(f.entries)+len(f.children) >= maxSitemapURLs {
				return f, errSitemapURLs
			}
			if err := f.addElement(dec, start); err != nil {
				return f, limited.explain(err)
			}
		default:
			if err := dec.Skip(); err != nil {
				return f, limited.explain(err)
			}
		}
	}
}

// addElement reads one url or sitemap element.
func (f *sitemapFile) addElement(dec *xml.Decoder, start xml.StartElement) error {
	var e struct {
		Loc     string `xml:"loc"`
		Lastmod string `xml:"lastmod"`
	}
	if err := dec.DecodeElement(&e, &start); err != nil {
		return err
	}
	u, err := url.Parse(strings.TrimSpace(e.Loc))
	if err != nil || len(e.Loc) > maxLoc || !isWeb(u) {
		return nil // one bad address spoils no file
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment = ""
	if f.index {
		f.children = append(f.children, u.String())
	} else {
		f.entries = append(f.entries, entry{u, strings.TrimSpace(e.Lastmod)})
	}
	return nil
}

// limitedReader fails, rather than ends, when there is too much.
type limitedReader struct {
	r    io.Reader
	left int64
	over bool
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		l.over = true
		return 0, errSitemapBytes
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// explain turns what ended the parser into a stable reason.
func (l *limitedReader) explain(err error) error {
	switch {
	case l.over:
		return errSitemapBytes
	case errors.Is(err, errBomb):
		return errBomb
	}
	return errSitemapXML
}

// readSitemaps reads the sitemaps robots.txt names, or the default one, and one
// level of indexes, with at most budget requests.
func readSitemaps(ctx context.Context, f *fetcher, base *url.URL, listed []string, budget int, now time.Time) sitemap {
	s := sitemap{outcome: "robots.txt names none"}
	queue := listed
	if len(queue) == 0 {
		queue = []string{base.Scheme + "://" + base.Host + "/sitemap.xml"}
	}
	seen := map[string]bool{}
	for depth := 0; depth < 2; depth++ {
		var children []string
		for _, at := range queue {
			if len(seen) >= min(maxSitemapFiles, max(budget, 1)) {
				break
			}
			u, err := url.Parse(at)
			if err != nil || seen[at] {
				continue
			}
			seen[at] = true
			children = append(children, s.read(ctx, f, u)...)
		}
		queue = children
	}
	s.judge(base, now)
	return s
}

// read fetches one file and adds what it says; it returns the files an index
// names.
func (s *sitemap) read(ctx context.Context, f *fetcher, u *url.URL) []string {
	var parsed sitemapFile
	var broken error
	v := f.get(ctx, request{url: u, accept: "application/xml,text/xml;q=0.9,*/*;q=0.5", read: func(r io.Reader, v *visit) error {
		var err error
		if r, err = maybeGunzip(r); err != nil {
			broken = errSitemapXML
			return nil
		}
		parsed, broken = parseSitemap(r)
		return nil
	}})
	first := len(s.files) == 0
	s.files = append(s.files, u.String())
	if !v.refused() {
		s.known = true
	}
	if first {
		s.outcome = v.outcome()
	}
	switch {
	case v.refused():
		return nil
	case !v.ok():
		if s.found && s.invalid == "" {
			s.invalid = fmt.Sprintf("%s %s", u, v.outcome())
		}
		return nil
	case errors.Is(broken, errSitemapRoot), errors.Is(broken, errSitemapXML) && len(parsed.entries)+len(parsed.children) == 0 && !s.found:
		// A page for every path is no sitemap; anything with a root of the
		// right name is one, if perhaps a broken one.
		if s.invalid == "" {
			s.invalid = fmt.Sprintf("%s: %v", u, broken)
		}
		return nil
	}
	s.found = true
	if broken != nil && s.invalid == "" {
		s.invalid = fmt.Sprintf("%s: %v", u, broken)
	}
	if room := maxSitemapURLs - len(s.entries); len(parsed.entries) > room {
		parsed.entries = parsed.entries[:room] // enough to draw a sample from
	}
	s.entries = append(s.entries, parsed.entries...)
	return parsed.children
}

// maybeGunzip unpacks a file that is gzip by itself, as sitemap.xml.gz is.
func maybeGunzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gunzip(&counter{r: b})
}

// judge drops addresses on other hosts and decides whether lastmod says
// anything: a date that all pages share is that of the build.
func (s *sitemap) judge(base *url.URL, now time.Time) {
	s.total = len(s.entries)
	own := s.entries[:0]
	values, undated := map[string]bool{}, false
	for _, e := range s.entries {
		if e.loc.Host != base.Host {
			if s.offHost++; len(s.foreign) < 3 {
				s.foreign = append(s.foreign, e.loc.String())
			}
			continue
		}
		if _, ok := parseDate(e.lastmod, now); !ok {
			e.lastmod = ""
		}
		if e.lastmod != "" {
			values[e.lastmod] = true
		} else {
			undated = true
		}
		own = append(own, e)
	}
	s.entries = own
	s.trusted = len(values) > 1 || len(values) == 1 && (undated || len(own) == 1)
}
