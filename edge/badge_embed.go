package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
)

var embedSuffix = []byte("/embed")

// embedFormats are the values of format=.
const embedFormats = "json, html, picture, markdown, rst, asciidoc, bbcode, react"

// serveEmbed answers GET /api/badge/{slug}/embed: how to show the badge on
// another page, in every markup as JSON, or in one of them.
func (e *Edge) serveEmbed(ctx *fasthttp.RequestCtx) {
	slug := string(bytes.TrimSuffix(ctx.Path()[len(fieldmark.PathBadge):], embedSuffix))
	if !fieldmark.ValidSlug(slug) {
		e.fail(ctx, brandNotFound())
		return
	}
	get := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	look, err := badge.ParseOptions(get)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	rc, cancel := e.requestContext(ctx)
	defer cancel()
	entry, _, err := e.score(rc, fieldmark.Slug(slug))
	if err != nil {
		e.failBrand(ctx, err, fieldmark.PathBadge, string(embedSuffix))
		return
	}
	embed := badge.EmbedOf(badge.Of(&entry.Value.(*scoreValue).score), look,
		e.cfg.BaseURL+fieldmark.PathBadge+slug, e.cfg.BaseURL+fieldmark.PathBrandPage+slug)
	body, kind, err := embedAs(&embed, get("format"), string(ctx.Request.Header.Peek("Accept")))
	if err != nil {
		e.fail(ctx, err)
		return
	}
	h := &ctx.Response.Header
	for i := 0; i < len(badgeFields); i += 2 {
		h.Set(badgeFields[i], badgeFields[i+1])
	}
	if strings.HasPrefix(kind, "text/html") {
		// A browser that came here by itself is shown the badge it would embed.
		h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; sandbox allow-top-navigation-by-user-activation")
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", badgeSeconds))
	h.Set("Vary", "Accept")
	sendOnce(ctx, http.StatusOK, body)
}

// embedAs encodes an embed as format asks, or else Accept. A snippet asked for
// by format is text to copy; so is one of HTML that a browser would show.
func embedAs(embed *badge.Embed, format, accept string) (body []byte, kind string, err error) {
	if format == "" {
		format = acceptedFormat(embed, accept)
		if s, ok := embed.Snippet(format); ok {
			return []byte(s.Text + "\n"), s.Type + "; charset=utf-8", nil
		}
	}
	if s, ok := embed.Snippet(format); ok {
		return []byte(s.Text + "\n"), "text/plain; charset=utf-8", nil
	}
	if format != "json" {
		return nil, "", fieldmark.Errorf(fieldmark.CodeInvalidParameter, "unknown format; known are %s", embedFormats)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // the snippets are there to be read
	enc.SetIndent("", "  ")
	if err := enc.Encode(embed); err != nil {
		return nil, "", fmt.Errorf("encode the snippets: %w", err)
	}
	return out.Bytes(), "application/json", nil
}

// acceptedFormat returns the first format of an Accept list that we have; JSON
// where it names none.
func acceptedFormat(embed *badge.Embed, accept string) string {
	for item := range strings.SplitSeq(accept, ",") {
		kind, _, _ := strings.Cut(item, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
		for _, s := range embed.Snippets {
			if s.Type == kind {
				return s.Format
			}
		}
		if kind == "application/json" {
			break
		}
	}
	return "json"
}
