package llms

import (
	"crypto/sha256"
	"fmt"
	"html"
	"net/url"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// SpecVersion is the edition of the llms.txt proposal that Generate writes: the
// second, of August 2026.
const SpecVersion = "2026-08"

// TemplateVersion is the version of the output. It changes whenever the same
// request would give other bytes, so that cached files can be distinguished.
const TemplateVersion = 3

// Request describes a brand. Limits are in code points after cleaning. The API completes
// a request without a name or a description from the last audit of the site at url.
type Request struct {
	Name        string      `json:"name,omitempty" maxLength:"100" doc:"The brand's name; becomes the heading. May be left out if url is the home page of an audited brand"`
	Niche       string      `json:"niche,omitempty" maxLength:"100" doc:"The field it works in"`
	Description string      `json:"description,omitempty" maxLength:"2000" doc:"What it does; the first sentences become the summary. May be left out like name"`
	UniqueValue string      `json:"uniqueValue,omitempty" maxLength:"1000" doc:"What sets it apart"`
	Language    string      `json:"language,omitempty" maxLength:"35" default:"en" doc:"BCP 47 tag of the text"`
	URL         string      `json:"url,omitempty" maxLength:"2048" format:"uri" doc:"The home page"`
	Links       []Link      `json:"links,omitempty" maxItems:"20" doc:"More pages; one with the address of the home page gives it a title and a note"`
	FAQ         []Question  `json:"faq,omitempty" maxItems:"10" doc:"Questions with their answers"`
	Contact     *Contact    `json:"contact,omitempty" doc:"How to reach the brand"`
	Alternates  []Alternate `json:"alternates,omitempty" maxItems:"20" doc:"The same file in other languages"`
	Full        bool        `json:"full,omitempty" doc:"Also write llms-full.txt"`
}

// Link is a page to list.
type Link struct {
	Title   string `json:"title" required:"true" minLength:"1" maxLength:"100"`
	URL     string `json:"url" required:"true" minLength:"1" maxLength:"2048" format:"uri"`
	Note    string `json:"note,omitempty" maxLength:"200"`
	Section string `json:"section,omitempty" enum:"profiles,pages,optional" default:"pages"`
}

// Question is a frequent question with its answer.
type Question struct {
	Q string `json:"q" required:"true" minLength:"1" maxLength:"200"`
	A string `json:"a" required:"true" minLength:"1" maxLength:"600"`
}

// Contact is the contact information of the brand.
type Contact struct {
	Email   string `json:"email,omitempty" maxLength:"254"`
	Phone   string `json:"phone,omitempty" maxLength:"40"`
	Address string `json:"address,omitempty" maxLength:"200"`
	URL     string `json:"url,omitempty" maxLength:"2048" format:"uri" doc:"The contact page"`
}

// Alternate is the same file in another language.
type Alternate struct {
	Language string `json:"language" required:"true" minLength:"2" maxLength:"35"`
	URL      string `json:"url" required:"true" minLength:"1" maxLength:"2048" format:"uri"`
}

// Document is a generated file with its metadata.
type Document struct {
	Content     string    `json:"content"`
	Filename    string    `json:"filename"`
	Language    string    `json:"language"`  // canonical BCP 47
	Direction   string    `json:"direction"` // ltr or rtl
	SpecVersion string    `json:"specVersion"`
	Bytes       int       `json:"bytes"`
	SHA256      string    `json:"sha256"` // of Content, hexadecimal
	Warnings    []Warning `json:"warnings"`
	Lint        Report    `json:"lint"`
	Install     Install   `json:"install"`
	LLMSFullTxt string    `json:"llmsFullTxt,omitempty"` // if Full was set

	// Source is the completed request, if it was completed from an audit: change it and
	// send it to change the file.
	Source *Request `json:"source,omitempty"`
}

// Warning is a problem that does not prevent the file.
type Warning struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"` // JSON Pointer (RFC 6901)
	Message string `json:"message"`
}

// Install shows how the site's pages link to the file.
type Install struct {
	LinkHeader string `json:"linkHeader"` // the complete header line
	HTMLLink   string `json:"htmlLink"`
}

// Limits of the output.
const (
	// maxOutput is what agents read without truncating.
	maxOutput = 32 << 10

	// maxFullOutput is the limit of llms-full.txt, which readers expect to be long.
	maxFullOutput = 128 << 10
)

// filename is the name of the file on every site.
const filename = "llms.txt"

// Generate returns the llms.txt of a brand. For invalid input the error is a
// *fieldmark.Error that lists all problems at once; for text with instructions to
// models it has CodeInstructionLikeText. The same request always gives the same
// bytes.
func Generate(r Request) (Document, error) {
	d, warnings, err := check(r)
	if err != nil {
		return Document{}, err
	}
	words, localised := titlesFor(d.tag)
	if !localised {
		warnings = append(warnings, Warning{Code: "titles-not-localised", Field: "/language",
			Message: "the section titles are in English; the text keeps its own language"})
	}
	content := d.file(words, r.Full)
	if !d.linked() {
		warnings = append(warnings, Warning{Code: "no-link", Field: "/url",
			Message: "without an address the file has no links, and some checkers reject it"})
	}
	doc := Document{
		Content: content, Filename: filename,
		Language: d.tag.String(), Direction: direction(d.tag),
		SpecVersion: SpecVersion,
		Bytes:       len(content), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		Warnings: append([]Warning{}, warnings...),
		Lint:     Lint([]byte(content)),
		Install:  install(d.url),
	}
	if r.Full {
		doc.LLMSFullTxt = d.fullFile(words)
	}
	if err := doc.validate(); err != nil {
		return Document{}, err
	}
	return doc, nil
}

// validate rejects a document that must not be published.
func (doc Document) validate() error {
	switch {
	case len(doc.Content) > maxOutput, len(doc.LLMSFullTxt) > maxFullOutput:
		e := fieldmark.Errorf(fieldmark.CodeValidationFailed, "the file would have %d bytes; agents read %d",
			len(doc.Content), maxOutput)
		e.Fields = []fieldmark.FieldError{{Pointer: "", Code: "too_long",
			Detail: "all fields together are too long; shorten or remove links, alternates or questions"}}
		return e
	case doc.Lint.Has(CodeInstructionOverride):
		// The instruction only exists where two fields meet.
		i := slices.IndexFunc(doc.Lint.Issues, func(i Issue) bool { return i.Code == CodeInstructionOverride })
		return fieldmark.Errorf(fieldmark.CodeInstructionLikeText,
			"the fields together read as instructions to a model: the file %s: %q; describe the brand instead",
			doc.Lint.Issues[i].Message, doc.Lint.Issues[i].Places[0].Text)
	case doc.Lint.Errors() > 0:
		return fmt.Errorf("generate llms.txt: own file has errors: %v", doc.Lint.Issues)
	}
	return nil
}

// install returns how pages link to the file, which is next to the home page and
// covers its path.
func install(home *url.URL) Install {
	path := "/" + filename
	if home != nil {
		path = home.ResolveReference(&url.URL{Path: filename}).EscapedPath()
	}
	return Install{
		LinkHeader: "Link: <" + path + ">; rel=\"describedby\"",
		HTMLLink:   `<link rel="describedby" type="text/markdown" href="` + html.EscapeString(path) + `">`,
	}
}
