package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/client"
)

type brandCmd struct {
	Add    brandAddCmd    `cmd:"" help:"Register a brand, or change it."`
	Import brandImportCmd `cmd:"" help:"Register the brands of a JSON file."`
	List   brandListCmd   `cmd:"" help:"List brands."`
	Audit  brandAuditCmd  `cmd:"" help:"Have a registered brand audited now."`
	Audits brandAuditsCmd `cmd:"" help:"List the audits that run, with their progress, and those that wait."`
	Rename brandRenameCmd `cmd:"" help:"Give a brand another slug; the old one leads to it."`
	Alias  brandAliasCmd  `cmd:"" help:"Set the other slugs that lead to a brand."`
	Remove brandRemoveCmd `cmd:"" help:"Take a brand down, everywhere and at once."`
}

type brandAddCmd struct {
	targetSettings `embed:""`
	Name           string `arg:"" help:"The brand's name."`
	Site           string `arg:"" help:"Its website: an absolute http or https address."`
	Slug           string `help:"Its name in addresses; made from the name if unset."`
	Niche          string `default:"general" help:"The field it works in: a-z, 0-9 and hyphens."`
	Language       string `default:"en" help:"Language of the website (BCP 47)."`
	Description    string `help:"What it does, in a sentence or two."`
	Private        bool   `help:"Keep it off the leaderboard."`
	Audit          bool   `help:"Have it audited right away." default:"true" negatable:""`
}

// Run registers the brand.
func (c *brandAddCmd) Run(ctx context.Context, s *streams) error {
	slug, err := fieldmark.ParseSlug(firstOf(c.Slug, slugify(c.Name)))
	if err != nil {
		return fmt.Errorf("--slug: %w", err)
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	b, err := api.PutBrand(ctx, fieldmark.Brand{
		Slug: slug, Name: c.Name, URL: c.Site, Niche: c.Niche, Language: c.Language,
		Description: c.Description, Public: !c.Private,
	})
	if err != nil {
		return err
	}
	if c.Audit {
		if err := api.RequestAudit(ctx, b.Slug); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(s.out, "%s is registered\n", b.Slug)
	return err
}

type brandListCmd struct {
	targetSettings `embed:""`
	Limit          int `default:"0" help:"How many at most; 0 lists them all."`
}

// brandPage is how many brands one request asks for: the most there is.
const brandPage = 200

// Run prints a line per brand.
func (c *brandListCmd) Run(ctx context.Context, s *streams) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	after, left := fieldmark.Slug(""), c.Limit
	for {
		page, err := api.Brands(ctx, after, brandPage)
		if err != nil {
			return err
		}
		for _, b := range page.Data {
			fmt.Fprintf(s.out, "%-32s %-24s %-6s %s  %s\n", b.Slug, b.Niche, b.Language, b.URL, b.Name)
			after = b.Slug
			if left--; left == 0 {
				return nil
			}
		}
		if !page.HasMore {
			return nil
		}
	}
}

type brandAuditCmd struct {
	targetSettings `embed:""`
	Slug           string `arg:"" help:"The brand's slug."`
	Wait           bool   `help:"Show the audit's progress and wait for its end."`
}

// Run queues the audit.
func (c *brandAuditCmd) Run(ctx context.Context, s *streams) error {
	slug, err := fieldmark.ParseSlug(c.Slug)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	if err := api.RequestAudit(ctx, slug); err != nil {
		return err
	}
	if c.Wait {
		return waitForAudit(ctx, s, api, slug)
	}
	_, err = fmt.Fprintf(s.out, "%s will be audited\n", slug)
	return err
}

// brandImportCmd takes our own brand records and the lists other directories
// publish: an array of objects with at least a name and a website.
type brandImportCmd struct {
	targetSettings `embed:""`
	File           string `arg:"" type:"existingfile" help:"JSON array of brands: name and url (or domain); slug, niche (or category), language, description and public if known."`
	Private        bool   `help:"Keep the brands off the leaderboard unless a record says public."`
}

// importRecord is one record of an import file.
type importRecord struct {
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

// maxImportFile bounds an import file, in bytes; it must fit one request.
const maxImportFile = fieldmark.MaxBulkBody

// Run imports the file and says what became of each record.
func (c *brandImportCmd) Run(ctx context.Context, s *streams) error {
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	if info.Size() > maxImportFile {
		return fmt.Errorf("%s has %d bytes, at most %d; split it", c.File, info.Size(), maxImportFile)
	}
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	var records []importRecord
	if err := json.Unmarshal(raw, &records); err != nil {
		return fmt.Errorf("%s: not an array of brands: %w", c.File, err)
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	taken, err := known(ctx, api)
	if err != nil {
		return err
	}
	report, err := api.ImportBrands(ctx, brandsOf(records, !c.Private, taken))
	if err != nil {
		return err
	}
	for _, r := range report.Rejected {
		fmt.Fprintf(s.out, "rejected %s%s: %s\n", r.Pointer, named(records, r.Pointer), r.Detail)
	}
	if report.Omitted > 0 {
		fmt.Fprintf(s.out, "and %d more problems\n", report.Omitted)
	}
	fmt.Fprintf(s.out, "%d records: %d added, %d updated, %d unchanged, %d rejected\n",
		len(records), report.Added, report.Updated, report.Unchanged, len(report.Rejected)+report.Omitted)
	if len(report.Rejected) > 0 {
		return errors.New("some records were rejected; the others are registered")
	}
	return nil
}

// named adds the name of the record a pointer like /12/url points into.
func named(records []importRecord, pointer string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if i, err := strconv.Atoi(first); err == nil && i >= 0 && i < len(records) {
		return " (" + cut(records[i].Name, 40) + ")"
	}
	return ""
}

// known lists the brands there are: slug to site.
func known(ctx context.Context, api *client.Client) (map[string]string, error) {
	sites := map[string]string{}
	for after := fieldmark.Slug(""); ; {
		page, err := api.Brands(ctx, after, brandPage)
		if err != nil {
			return nil, err
		}
		for _, b := range page.Data {
			sites[string(b.Slug)] = siteOf(b.URL)
			after = b.Slug
		}
		if !page.HasMore {
			return sites, nil
		}
	}
}

// siteOf is what two spellings of one address share.
func siteOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	return strings.TrimSuffix(strings.ToLower(rest), "/")
}

// brandsOf fills in what records leave out. A slug made from a name never takes
// another site's place: it gets -2, -3 and so on, and the same one again when
// the list is imported again, in whatever order. taken maps slugs to sites.
func brandsOf(records []importRecord, public bool, taken map[string]string) []fieldmark.Brand {
	brands := make([]fieldmark.Brand, len(records))
	for i, r := range records {
		site := absolute(firstOf(r.URL, r.Domain))
		slug := r.Slug
		if slug == "" {
			slug = freeSlug(firstOf(slugify(r.Name), slugify(hostOf(site))), siteOf(site), taken)
		}
		b := fieldmark.Brand{
			Slug: fieldmark.Slug(slug), Name: cut(r.Name, fieldmark.MaxBrandName), URL: site,
			Niche:    firstOf(slugify(firstOf(r.Niche, r.Category)), "general"),
			Language: firstOf(r.Language, "und"), Description: cut(r.Description, fieldmark.MaxBrandDescription), Public: public,
		}
		if r.Public != nil {
			b.Public = *r.Public
		}
		brands[i] = b
	}
	return brands
}

// freeSlug is slug, or the first of slug-2, slug-3 and so on that is not
// another site's.
func freeSlug(slug, site string, taken map[string]string) string {
	candidate := slug
	for n := 2; ; n++ {
		if owner, ok := taken[candidate]; !ok || owner == site {
			taken[candidate] = site
			return candidate
		}
		suffix := fmt.Sprintf("-%d", n)
		candidate = cut(slug, fieldmark.MaxSlug-len(suffix)) + suffix
	}
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// cut puts s on one line without control characters and shortens it to n code
// points: lists from elsewhere hold line breaks and worse.
func cut(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if r := []rune(s); len(r) > n {
		return strings.TrimRight(string(r[:n]), "- ")
	}
	return s
}

// absolute adds the scheme people leave out of a host name.
func absolute(site string) string {
	if strings.Contains(site, "://") || !strings.Contains(site, ".") {
		return site
	}
	return "https://" + site
}

func hostOf(site string) string {
	u, err := url.Parse(site)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}

// unfolded spells the letters that do not come apart into a base and a mark.
var unfolded = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i", "þ", "th", "ð", "d", "&", " and ")

// slugify turns a name into a slug: accents fall off, letters and digits of
// ASCII stay, all else becomes single hyphens. It is empty when nothing stays.
func slugify(name string) string {
	var b strings.Builder
	for _, c := range norm.NFD.String(unfolded.Replace(strings.ToLower(name))) {
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
