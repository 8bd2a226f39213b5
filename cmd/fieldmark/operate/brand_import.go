package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/client"
)

// brandImportCmd imports brands in our own format, and lists that other directories
// publish: arrays of objects with at least a name and a website.
type brandImportCmd struct {
	adminFlags `embed:""`
	File       string `arg:"" type:"existingfile" help:"JSON array of brands with name and url (or domain), and optionally slug, niche (or category), language, description and public."`
	Private    bool   `help:"Keep brands off the leaderboard unless their entry sets public."`
}

// importEntry is one brand of an import file.
type importEntry struct {
	Slug        string `json:"slug"`
	Name        string `json:"name"`
	URL         string `json:"url"`
	Domain      string `json:"domain"`
	Niche       string `json:"niche"`
	Category    string `json:"category"`
	Language    string `json:"language"`
	Description string `json:"description"`
	Public      *bool  `json:"public"`
}

// Run imports the file and reports every rejected entry.
func (c *brandImportCmd) Run(ctx context.Context, s *command.Streams) error {
	raw, err := s.ReadFile(c.File)
	if err != nil {
		return err
	}
	var entries []importEntry
	if err := json.Unmarshal(raw, &entries); err != nil {
		return fmt.Errorf("%s: not an array of brands: %w", c.File, err)
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	taken, err := registeredSites(ctx, api)
	if err != nil {
		return err
	}
	report, err := api.ImportBrands(ctx, brandsOf(entries, !c.Private, taken))
	if err != nil {
		return err
	}
	for _, r := range report.Rejected {
		fmt.Fprintf(s.Out, "rejected %s%s: %s\n", r.Pointer, entryName(entries, r.Pointer), r.Detail)
	}
	if report.Omitted > 0 {
		fmt.Fprintf(s.Out, "and %s\n", command.Count(report.Omitted, "more problem", "more problems"))
	}
	fmt.Fprintf(s.Out, "%d entries: %d added, %d updated, %d unchanged, %d rejected\n",
		len(entries), report.Added, report.Updated, report.Unchanged, len(report.Rejected)+report.Omitted)
	if len(report.Rejected) > 0 {
		return errors.New("some entries were rejected; the others are registered")
	}
	return nil
}

// entryName returns the name of the entry that a pointer like /12/url refers to, in
// parentheses.
func entryName(entries []importEntry, pointer string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if i, err := strconv.Atoi(first); err == nil && i >= 0 && i < len(entries) {
		return " (" + cleanText(entries[i].Name, 40) + ")"
	}
	return ""
}

// registeredSites maps the slug of each registered brand to its site.
func registeredSites(ctx context.Context, api *client.Client) (map[string]string, error) {
	sites := map[string]string{}
	err := eachBrand(ctx, api, func(b *fieldmark.Brand) bool {
		sites[string(b.Slug)] = siteOf(b.URL)
		return true
	})
	return sites, err
}

// siteOf returns an address without its scheme, in lower case and without a slash at the
// end, so that two spellings of an address compare equal.
func siteOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	return strings.TrimSuffix(strings.ToLower(rest), "/")
}

// brandsOf fills in what entries leave out. taken maps slugs to sites: if the slug
// derived from a name belongs to another site, -2, -3 and so on is appended. Importing
// a list again, in any order, gives every entry the same slug.
func brandsOf(entries []importEntry, public bool, taken map[string]string) []fieldmark.Brand {
	brands := make([]fieldmark.Brand, len(entries))
	for i, r := range entries {
		site := command.AddScheme(cmp.Or(r.URL, r.Domain))
		slug := r.Slug
		if slug == "" {
			slug = freeSlug(cmp.Or(slugify(r.Name), slugify(command.HostOf(site))), siteOf(site), taken)
		}
		b := fieldmark.Brand{
			Slug: fieldmark.Slug(slug), Name: cleanText(r.Name, fieldmark.MaxBrandName), URL: site,
			Niche:    cmp.Or(slugify(cmp.Or(r.Niche, r.Category)), "general"),
			Language: cmp.Or(r.Language, "und"), Description: cleanText(r.Description, fieldmark.MaxBrandDescription),
			Public: public,
		}
		if r.Public != nil {
			b.Public = *r.Public
		}
		brands[i] = b
	}
	return brands
}

// freeSlug returns slug, or the first of slug-2, slug-3 and so on that does not belong to
// another site.
func freeSlug(slug, site string, taken map[string]string) string {
	candidate := slug
	for n := 2; ; n++ {
		if owner, ok := taken[candidate]; !ok || owner == site {
			taken[candidate] = site
			return candidate
		}
		suffix := fmt.Sprintf("-%d", n)
		candidate = cleanText(slug, fieldmark.MaxSlug-len(suffix)) + suffix
	}
}

// cleanText puts s on one line, removes control characters and shortens it to n code
// points. Lists from other directories contain line breaks and worse.
func cleanText(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }),
		" ")
	if r := []rune(s); len(r) > n {
		return strings.TrimRight(string(r[:n]), "- ")
	}
	return s
}

// letters spells out letters that Unicode does not decompose into a base and a mark.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i", "þ", "th",
	"ð", "d", "&", " and ")

// slugify derives a slug from a name: it removes accents, keeps ASCII letters and digits,
// and replaces everything else by single hyphens. It returns "" if nothing is left.
func slugify(name string) string {
	var b strings.Builder
	for _, c := range norm.NFD.String(letters.Replace(strings.ToLower(name))) {
		switch {
		case unicode.Is(unicode.Mn, c):
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := b.String()
	if len(s) > fieldmark.MaxSlug {
		s = s[:fieldmark.MaxSlug]
	}
	return strings.Trim(s, "-")
}
