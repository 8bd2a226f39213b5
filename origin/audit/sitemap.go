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
	"slices"
	"strings"
	"time"
)

// The limits of the sitemap protocol, and lower ones of this package.
const (
	maxSitemapURLs  = 50_000   // per file, by the protocol
	maxSitemapBytes = 50 << 20 // per decompressed file, by the protocol
	maxSitemapFiles = 10       // read per audit: one index and its first files
	maxLoc          = 2048     // bytes of an address, by the protocol

	maxSitemapToken = 256 << 10 // bytes of one tag, text or comment, which the parser holds in memory
	maxSitemapDepth = 32        // nested elements; real files have five
	// bytes of addresses kept per audit: as many as the protocol allows, of 335 bytes each
	maxSitemapKept     = 16 << 20
	maxSitemapChildren = 5_000 // addresses kept of an index, of which maxSitemapFiles are drawn
)

// Why a sitemap is not valid. The texts are shown to users as evidence.
var (
	errSitemapURLs  = fmt.Errorf("more than %d addresses", maxSitemapURLs)
	errSitemapBytes = fmt.Errorf("more than %d MiB", maxSitemapBytes>>20)
	errSitemapToken = fmt.Errorf("an element or text of more than %d KiB", maxSitemapToken>>10)
	errSitemapDepth = fmt.Errorf("elements nested more than %d deep", maxSitemapDepth)
	errSitemapXML   = errors.New("not well-formed XML")
	errSitemapRoot  = errors.New("neither a urlset nor a sitemapindex")
)

// entry is one address of a sitemap.
type entry struct {
	loc     *url.URL
	lastmod string
}

// sitemap is the combined content of a site's sitemaps.
type sitemap struct {
	files      []string // read, in order
	first      visit    // to the first of them, without the body
	found      bool
	unreadable string // why the first unreadable file could not be read; "" if none
	outcome    string // of the first file, or why none was found
	invalid    string // the first problem; "" if all are valid
	entries    []entry
	otherHosts []string        // the first few addresses on other hosts
	kept       int             // bytes of the entries
	keys       map[string]bool // of the entries
	drawn      bool            // some files were not read; those that were are drawn
	total      int             // addresses listed
	offHost    int             // number of addresses on other hosts
	trusted    bool            // lastmod differs between pages
}

// sitemapFile is one parsed file: its entries, or the addresses of other files.
type sitemapFile struct {
	index    bool
	entries  []entry
	children []string
	listed   int // addresses in the file, kept or not
	kept     int // bytes of the entries kept
	room     int // maximum bytes of entries to keep
}

// parseSitemap parses one file as a stream and keeps entries of at most room bytes.
// It stops at the limits of the protocol, of a token and of nesting.
// encoding/xml resolves no external entities and reads no DTD, so neither requests nor expansion
// come from a file.
func parseSitemap(r io.Reader, room int) (f sitemapFile, err error) {
	f.room = room
	limited := &limitedReader{r: r, left: maxSitemapBytes}
	dec := xml.NewDecoder(limited)
	dec.Strict = true
	dec.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(label, "us-ascii") || strings.EqualFold(label, "iso-8859-1") || strings.EqualFold(label,
			"latin1") {
			return in, nil // addresses are ASCII
		}
		return nil, errSitemapXML
	}
	p := sitemapParser{file: &f}
	for {
		limited.token = 0
		tok, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF) && !p.root:
			return f, errSitemapRoot
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil:
			return f, limited.explain(err)
		}
		if err := p.handle(tok); err != nil {
			return f, err
		}
	}
}

// sitemapParser tracks the elements of a file: a root, url or sitemap elements in
// it, and loc and lastmod in these.
// Namespaces are ignored: many files have none or a wrong one, and crawlers read them all the same.
type sitemapParser struct {
	file         *sitemapFile
	root         bool
	depth        int // number of open elements
	entry        bool
	text         *[]byte // destination for the text of the open element; nil if not needed
	loc, lastmod []byte
}

// handle processes one token.
// Text is kept up to one address; what is longer is cut and then refused by add.
func (p *sitemapParser) handle(tok xml.Token) error {
	switch tok := tok.(type) {
	case xml.StartElement:
		p.depth++
		p.text = nil
		return p.startElement(tok.Name.Local)
	case xml.CharData:
		if p.text != nil && len(*p.text) <= maxLoc {
			*p.text = append(*p.text, tok...)
		}
	case xml.EndElement:
		p.text = nil
		if p.depth == 2 && p.entry {
			p.entry = false
			p.file.add(string(p.loc), string(p.lastmod))
		}
		p.depth--
	}
	return nil
}

// startElement processes the start of an element at the current depth.
func (p *sitemapParser) startElement(name string) error {
	switch p.depth {
	case 1:
		switch {
		case p.root: // a second root
			return errSitemapXML
		case name != "urlset" && name != "sitemapindex":
			return errSitemapRoot
		}
		p.root, p.file.index = true, name == "sitemapindex"
	case 2:
		if p.entry = name == "url" || name == "sitemap"; !p.entry {
			return nil
		}
		if p.file.listed++; p.file.listed > maxSitemapURLs {
			return errSitemapURLs
		}
		p.loc, p.lastmod = p.loc[:0], p.lastmod[:0]
	case 3:
		switch {
		case p.entry && name == "loc":
			p.loc, p.text = p.loc[:0], &p.loc
		case p.entry && name == "lastmod":
			p.lastmod, p.text = p.lastmod[:0], &p.lastmod
		}
	case maxSitemapDepth + 1:
		return errSitemapDepth
	}
	return nil
}

// add keeps one address if it is valid; an invalid address does not invalidate the
// file.
// A file is read to its end even when no room is left, since its number of addresses is a fact.
func (f *sitemapFile) add(loc, lastmod string) {
	u, err := url.Parse(strings.TrimSpace(loc))
	if err != nil || len(loc) > maxLoc || !isWeb(u) {
		return
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment = ""
	switch {
	case f.index && len(f.children) < maxSitemapChildren:
		f.children = append(f.children, u.String())
	case !f.index && f.kept+len(loc) <= f.room:
		f.kept += len(loc)
		f.entries = append(f.entries, entry{u, strings.TrimSpace(lastmod)})
	}
}

// limitedReader returns an error, not the end of the file, when a file or one token
// is too large.
// An io.LimitReader would end with io.EOF, which a parser cannot distinguish from a file that is
// complete.
type limitedReader struct {
	r     io.Reader
	left  int64
	token int   // bytes read since the last token ended, including the parser's read-ahead
	over  error // the limit that was exceeded, or errTruncated
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	switch {
	case l.left <= 0:
		l.over = errSitemapBytes
	case l.token > maxSitemapToken:
		l.over = errSitemapToken
	}
	if l.over != nil {
		return 0, l.over
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	l.token += n
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errRatio) {
		l.over = errTruncated
	}
	return n, err
}

// explain converts the parser's error to a stable reason.
// Texts of the parser contain line numbers and bytes of the file, and would change the digest of
// equal facts.
func (l *limitedReader) explain(err error) error {
	switch {
	case l.over != nil:
		return l.over
	case errors.Is(err, errRatio):
		return errRatio
	}
	return errSitemapXML
}

// readSitemaps reads the sitemaps named by robots.txt, or the default one, and one
// level of indexes, with at most budget requests. Of more files, it draws which to read.
// Without a listed one the usual address is tried, as crawlers do. An index in an index is not
// allowed by the protocol, hence two levels.
func (r *crawl) readSitemaps(ctx context.Context, base *url.URL, listed []string, budget int, now time.Time) sitemap {
	s := sitemap{outcome: "robots.txt lists none", keys: map[string]bool{}}
	queue := listed
	if len(queue) == 0 {
		queue = []string{base.Scheme + "://" + base.Host + "/sitemap.xml"}
	}
	seen := map[string]bool{}
	for depth := 0; depth < 2; depth++ {
		var files []string
		for _, at := range queue {
			if !seen[at] {
				seen[at] = true
				files = append(files, at)
			}
		}
		if left := max(min(maxSitemapFiles, budget), 1) - len(s.files); len(files) > left {
			s.drawn = true
			files = r.draw(slices.Values(files), max(left, 0))
		}
		queue = nil
		for _, at := range files {
			if u, err := url.Parse(at); err == nil {
				queue = append(queue, s.read(ctx, r.fetcher, u)...)
			}
		}
	}
	s.filter(base, now)
	return s
}

// read fetches one file and adds its entries. It returns the files that an index
// names.
// It is parsed while it arrives, so a file of 50 MiB takes the memory of its addresses only.
func (s *sitemap) read(ctx context.Context, f *fetcher, u *url.URL) []string {
	var parsed sitemapFile
	var broken error
	v := f.get(ctx, request{url: u, accept: "application/xml,text/xml;q=0.9,*/*;q=0.5", read: func(r io.Reader,
		v *visit) error {
		var err error
		if r, err = gunzipIfNeeded(r); err != nil {
			broken = errSitemapXML
			return nil
		}
		if parsed, broken = parseSitemap(r, maxSitemapKept-s.kept); errors.Is(broken, errTruncated) {
			return errTruncated
		}
		return nil
	}})
	first := len(s.files) == 0
	s.files = append(s.files, u.String())
	if first {
		s.outcome, s.first = v.outcome(), v
		s.first.body = nil
	}
	if v.unanswered() && s.unreadable == "" {
		s.unreadable = v.outcome()
	}
	switch {
	case v.unseen():
		return nil
	case !v.ok():
		if s.found && s.invalid == "" {
			s.invalid = fmt.Sprintf("%s %s", u, v.outcome())
		}
		return nil
	case errors.Is(broken, errSitemapRoot), errors.Is(broken, errSitemapXML) &&
		len(parsed.entries)+len(parsed.children) == 0 && !s.found:
		// A page returned for every path is not a sitemap; a file with the right
		// root is one, perhaps malformed.
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
	s.kept += parsed.kept
	return parsed.children
}

// gunzipIfNeeded decompresses a file that is gzip itself, such as sitemap.xml.gz.
func gunzipIfNeeded(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return decompress(&countingReader{r: b}, "gzip")
}

// filter removes addresses on other hosts and decides whether lastmod is
// meaningful: a date that all pages share is that of the build.
// Addresses on other hosts need a proof of ownership that an audit cannot check (the protocol's
// section "Cross submits"), so they are counted and not used.
func (s *sitemap) filter(base *url.URL, now time.Time) {
	s.total = len(s.entries)
	own := s.entries[:0]
	values, undated := map[string]bool{}, false
	for _, e := range s.entries {
		if e.loc.Host != base.Host {
			if s.offHost++; len(s.otherHosts) < 3 {
				s.otherHosts = append(s.otherHosts, e.loc.String())
			}
			continue
		}
		if _, ok := parseDate(e.lastmod, now); !ok {
			e.lastmod = ""
		}
		s.keys[pageKey(e.loc)] = true
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
