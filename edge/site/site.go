package site

import "github.com/fieldmark/fieldmark"

// Site holds the parsed templates and the static files. It is immutable.
type Site struct{}

// New parses the embedded templates and prepares the static files.
func New() (*Site, error) { return &Site{}, nil }

// BoardPage is the data of one page of the leaderboard.
type BoardPage struct {
	BaseURL     string // scheme and host of the site, without a slash at the end
	Board       fieldmark.Board
	Cursor      string // the one this page was asked for with; empty on the first page
	Pending     int    // public brands not audited yet
	Unreachable int    // public brands whose site did not answer
}

// BrandPage is the data of a brand's page.
type BrandPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
}

// ErrorPage is the data of a page that says why there is no page.
type ErrorPage struct {
	BaseURL   string         // scheme and host of the site, without a slash at the end
	Code      fieldmark.Code // decides the words and the status
	Brand     string         // the slug that was asked for, when a brand was; any text
	RequestID string         // shown for support; may be empty
}

// AppendBoard appends the leaderboard page.
func (s *Site) AppendBoard(dst []byte, p BoardPage) ([]byte, error) { return dst, nil }

// AppendBrand appends a brand's page.
func (s *Site) AppendBrand(dst []byte, p BrandPage) ([]byte, error) { return dst, nil }

// AppendError appends an error page.
func (s *Site) AppendError(dst []byte, p ErrorPage) ([]byte, error) { return dst, nil }

// Asset returns the static file at a path such as /static/site.<hash>.css. The
// name changes with the content, so an answer may be cached for ever.
func (s *Site) Asset(path string) (body []byte, contentType, etag string, ok bool) {
	return nil, "", "", false
}
