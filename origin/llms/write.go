package llms

import (
	"net/url"
	"slices"
	"strings"
)

// fullFilename is the name of the long form, by convention; it is not part of the
// proposal.
const fullFilename = "llms-full.txt"

// optionalTitle is not translated: readers that may skip the section look for the
// English word.
const optionalTitle = "Optional"

// file returns the llms.txt, in the form that every known parser accepts: the
// summary on one line, a blank line between blocks, and only link items under
// level-two headings.
func (d draft) file(words titles, full bool) string {
	var b strings.Builder
	summary, rest := summarise(d.description)
	d.head(&b, words, summary)
	if d.uniqueValue != "" {
		paragraph(&b, escapeStart(words.UniqueValue+": "+d.uniqueValue))
	}
	if rest != "" {
		paragraph(&b, escapeStart(rest))
	}
	for _, q := range d.faq {
		paragraph(&b, "**"+escape(q.Q)+"** "+escape(q.A))
	}
	d.linkSections(&b, words, full)
	return b.String()
}

// fullFile returns the llms-full.txt: the same content, with the description in one
// piece and a heading for each question.
func (d draft) fullFile(words titles) string {
	var b strings.Builder
	summary, rest := summarise(d.description)
	d.head(&b, words, summary)
	if d.uniqueValue != "" {
		paragraph(&b, escapeStart(words.UniqueValue+": "+d.uniqueValue))
	}
	if rest != "" {
		paragraph(&b, escapeStart(d.description))
	}
	for _, q := range d.faq {
		paragraph(&b, "## "+escape(q.Q))
		paragraph(&b, escapeStart(q.A))
	}
	d.linkSections(&b, words, false)
	return b.String()
}

// head writes the heading, the summary and the list of facts.
func (d draft) head(b *strings.Builder, words titles, summary string) {
	b.WriteString("# " + escape(d.name) + "\n")
	paragraph(b, "> "+escapeStart(summary))
	facts := "- " + words.Language + ": " + d.tag.String()
	if d.niche != "" {
		facts = "- " + words.Field + ": " + escape(d.niche) + "\n" + facts
	}
	if d.contact != "" {
		facts += "\n- " + words.Contact + ": " + escape(d.contact)
	}
	paragraph(b, facts)
}

// paragraph writes one block after a blank line.
func paragraph(b *strings.Builder, s string) { b.WriteString("\n" + s + "\n") }

// linkSections writes the level-two headings that have links.
func (d draft) linkSections(b *strings.Builder, words titles, full bool) {
	var site, profiles, contact, optional []link
	if d.url != nil {
		site = append(site, d.home)
	}
	site = append(site, d.linksIn(sectionPages)...)
	profiles = d.linksIn(sectionProfiles)
	if d.contactURL != "" {
		contact = append(contact, link{title: words.Contact, url: d.contactURL})
	}
	for _, a := range d.alternates {
		optional = append(optional, link{title: filename + " (" + a.language + ")", url: a.url})
	}
	if full && d.url != nil {
		optional = append(optional, link{title: fullFilename,
			url: d.url.ResolveReference(&url.URL{Path: fullFilename}).String()})
	}
	optional = append(optional, d.linksIn(sectionOptional)...)
	writeSection(b, words.Website, site)
	writeSection(b, words.Profiles, profiles)
	writeSection(b, words.Contact, contact)
	writeSection(b, optionalTitle, optional)
}

// linksIn returns the links for a section.
func (d draft) linksIn(section string) []link {
	return slices.DeleteFunc(slices.Clone(d.links), func(l link) bool { return l.section != section })
}

// linked reports whether the file has any link.
func (d draft) linked() bool {
	return d.url != nil || len(d.links) > 0 || d.contactURL != "" || len(d.alternates) > 0
}

// writeSection writes a heading with its links, or nothing without links.
func writeSection(b *strings.Builder, title string, links []link) {
	if len(links) == 0 {
		return
	}
	items := make([]string, len(links))
	for i, l := range links {
		items[i] = "- [" + escape(l.title) + "](" + l.url + ")"
		if l.note != "" {
			items[i] += ": " + escape(l.note)
		}
	}
	paragraph(b, "## "+title)
	paragraph(b, strings.Join(items, "\n"))
}
