package schema

import (
	_ "embed"
	"strings"
)

// schemaTypes has a line for each type of the schema.org vocabulary that matters here, with
// its direct supertypes, separated by tabs. It is version 30.0 of 19 March 2026, taken from
// the unions of subtypes in the package schema-dts 2.1.0 (Apache License 2.0).
//
//go:embed types.tsv
var schemaTypes string

// Version is the version of the schema.org vocabulary.
const Version = "30.0"

var (
	// organizationTypes may own a site: organizations, local businesses, and institutions
	// that the vocabulary lists as places only, such as museums.
	OrganizationTypes = subtypes("Organization", "CivicStructure")

	// personTypes may own a site if they have the name of the brand.
	PersonTypes = map[string]bool{"Person": true}

	// articleTypes are the kinds of page that should name an author.
	ArticleTypes = subtypes("Article")

	// contentTypes are the types of things that a page may be about.
	ContentTypes = newContentTypes()
)

// newContentTypes returns the types of what sites offer and write about. It excludes the
// layout of a page (FAQPage is a WebPage), and what is part of a page about something else.
func newContentTypes() map[string]bool {
	types := subtypes("CreativeWork", "Product", "Service", "Event", "Offer", "JobPosting", "Trip", "LocalBusiness",
		"CivicStructure", "Accommodation", "TouristAttraction", "MedicalEntity", "EducationalOccupationalProgram")
	for t := range subtypes("WebSite", "WebPage", "WebPageElement", "MediaObject", "Comment", "Review", "Certification",
		"Credential", "Message", "Quotation") {
		delete(types, t)
	}
	return types
}

// subtypes returns types and everything that the vocabulary derives from them, over all
// supertypes of a type: a Hospital is a CivicStructure and a LocalBusiness.
func subtypes(roots ...string) map[string]bool {
	types := map[string]bool{}
	for _, root := range roots {
		types[root] = true
	}
	for n := 0; n < len(types); {
		n = len(types)
		for line := range strings.Lines(schemaTypes) {
			name, parents, _ := strings.Cut(strings.TrimSpace(line), "\t")
			for parent := range strings.SplitSeq(parents, "\t") {
				if types[parent] {
					types[name] = true
				}
			}
		}
	}
	return types
}
