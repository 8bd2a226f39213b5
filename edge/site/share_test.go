package site_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A page about a brand is previewed with its share card, every other page with the picture
// of the site; both are large, with words for who cannot see them.
func TestPreview(t *testing.T) {
	pages := samplePages(t)
	for name, want := range map[string]string{
		"brand": base + "/api/card/alpenglow.png", "verify-own": base + "/api/card/alpenglow.png",
		"board": base + "/static/share.", "about": base + "/static/share.",
	} {
		meta := map[string]string{}
		for _, n := range parse(t, name, pages[name]) {
			if n.Data == "meta" {
				meta[attr(n, "property")+attr(n, "name")] = attr(n, "content")
			}
		}
		if image := meta["og:image"]; !strings.HasPrefix(image, want) || meta["og:image:alt"] == "" ||
			meta["og:image:width"] != "1200" || meta["og:image:height"] != "630" ||
			meta["twitter:card"] != "summary_large_image" {
			t.Errorf("%s: %v, want a large picture %s with a text", name, meta, want)
		}
	}
}

// The manifest leads to icons that are there, with the sizes they have.
func TestManifest(t *testing.T) {
	s := newSite(t)
	for _, n := range parse(t, "about", samplePages(t)["about"]) {
		if n.Data != "link" || attr(n, "rel") != "manifest" {
			continue
		}
		body, contentType, _, ok := s.Asset(attr(n, "href"))
		var manifest struct {
			StartURL string `json:"start_url"`
			Icons    []struct{ Src, Sizes, Type string }
		}
		if err := json.Unmarshal(body, &manifest); !ok || err != nil || manifest.StartURL != "/" ||
			len(manifest.Icons) != 2 || contentType != "application/manifest+json; charset=utf-8" {
			t.Fatalf("manifest %q: %v %s %+v", attr(n, "href"), err, contentType, manifest)
		}
		for _, icon := range manifest.Icons {
			if _, kind, _, ok := s.Asset(icon.Src); !ok || kind != icon.Type {
				t.Errorf("icon %s: %t, type %q, want %q", icon.Src, ok, kind, icon.Type)
			}
		}
		return
	}
	t.Error("no manifest")
}

// Only the brand's page says where its oEmbed response is.
func TestOEmbedLink(t *testing.T) {
	for name, page := range samplePages(t) {
		want := strings.HasPrefix(name, "brand")
		if got := strings.Contains(string(page), `type="application/json+oembed"`); got != want {
			t.Errorf("%s: oEmbed link %t, want %t", name, got, want)
		}
	}
}
