package badge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Endpoint is the badge as data: first the fields that shields.io reads to draw the badge,
// then fields for other programs, which shields.io ignores.
type Endpoint struct {
	SchemaVersion int    `json:"schemaVersion"` // of shields.io: 1
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"` // six hexadecimal digits
	CacheSeconds  int    `json:"cacheSeconds"`

	Slug     fieldmark.Slug        `json:"slug"`
	Name     string                `json:"name"`
	Status   fieldmark.ScoreStatus `json:"status"`
	Score    *fieldmark.Milli      `json:"score"` // 0 to 100; null unless scored or stale
	Range    *fieldmark.Range      `json:"range"`
	Grade    fieldmark.Grade       `json:"grade,omitempty"` // of the lower end of Range
	GeoReady bool                  `json:"geoReady"`        // engines can use the site; independent of the score
	Updated  *fieldmark.Time       `json:"updated"`         // when the site was audited
	Page     string                `json:"page"`            // where the score is explained
}

// EndpointOf encodes a score document as an Endpoint, in the language of the options and
// with their label; seconds is its lifetime, page the brand's page.
// The color is that of the light theme, since shields.io draws the badge.
func EndpointOf(s *fieldmark.Score, opts Options, seconds int, page string) ([]byte, error) {
	b := Of(s)
	label, message := Words(b, opts)
	p := newSVGWriter(nil, b, Options{Theme: opts.Theme}, tenth)
	p.content = contentOf(&b)
	raw, err := json.Marshal(Endpoint{
		SchemaVersion: 1, Label: label, Message: message, Color: strings.TrimPrefix(p.backdrop(), "#"),
		CacheSeconds: seconds,
		Slug:         s.Slug, Name: s.Name, Status: s.Status, Score: s.Score, Range: s.Range, Grade: s.Grade,
		GeoReady: s.GeoReady,
		Updated:  s.AsOf, Page: page,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the badge of %s: %w", s.Slug, err)
	}
	return append(raw, '\n'), nil
}

// Words returns the two parts of a badge as plain text.
// They are those of the style Flat, which has a label and a message.
func Words(b Badge, opts Options) (label, message string) {
	opts.Style = Flat
	p := newSVGWriter(nil, b, opts, tenth)
	p.content = contentOf(&b)
	l, m := p.parts()
	for _, t := range m {
		message += p.plain(t)
	}
	return p.plain(l), message
}

// plain returns a part as text.
func (p *svgWriter) plain(t part) string {
	switch {
	case t.word != nil:
		return t.word.text
	case t.month:
		digits := p.badge.AsOf.digits()
		return string(digits[:])
	}
	return t.text
}
