package llms

import (
	"crypto/sha256"
	"fmt"
	"html"
	"net/url"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// SpecVersion is the edition of the llms.txt proposal that is written: its
// second, of August 2026.
const SpecVersion = "2026-08"

// TemplateVersion names the form of the output. It changes whenever the same
// request would give other bytes, so that stored answers can be told apart.
const TemplateVersion = 2

// Request is what a brand says about itself. Bounds are in code points after
// cleaning.
type Request struct {
	Name        string      `json:"name" required:"true" minLength:"1" maxLength:"100" doc:"The brand's name; becomes the heading"`
	Niche       string      `json:"niche" required:"true" minLength:"1" maxLength:"100" doc:"The field it works in"`
	Description string      `json:"description" required:"true" minLength:"20" maxLength:"2000" doc:"What it does; the first sentences become the summary"`
	UniqueValue string      `json:"uniqueValue,omitempty" maxLength:"1000" doc:"What sets it apart"`
	Language    string      `json:"language,omitempty" maxLength:"35" default:"en" doc:"BCP 47 tag of the text"`
	URL         string      `json:"url,omitempty" maxLength:"2048" format:"uri" doc:"The home page"`
	Links       []Link      `json:"links,omitempty" maxItems:"20" doc:"More pages"`
	FAQ         []Question  `json:"faq,omitempty" maxItems:"10" doc:"Questions with their answers"`
	Contact     *Contact    `json:"contact,omitempty" doc:"How to reach the brand"`
	Alternates  []Alternate `json:"alternates,omitempty" maxItems:"20" doc:"The same file in other languages"`
	Full        bool        `json:"full,omitempty" doc:"Also write llms-full.txt"`
}

// Link is a page worth reading.
type Link struct {
	Title   string `json:"title" required:"true" minLength:"1" maxLength:"100"`
	URL     string `json:"url" required:"true" minLength:"1" maxLength:"2048" format:"uri"`
	Note    string `json:"note,omitempty" maxLength:"200"`
	Section string `json:"section,omitempty" enum:"profiles,pages,optional" default:"pages"`
}

// Question is a question that is often asked, and its answer.
type Question struct {
	Q string `json:"q" required:"true" minLength:"1" maxLength:"200"`
	A string `json:"a" required:"true" minLength:"1" maxLength:"600"`
}

// Contact is how to reach the brand.
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

// Document is a finished file and what there is to say about it.
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
	LLMSFullTxt string    `json:"llmsFullTxt,omitempty"` // when Full was asked for
}

// Warning is something the writer should know but that stops nothing.
type Warning struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"` // JSON Pointer (RFC 6901)
	Message string `json:"message"`
}

// Install is how a site's pages point to the file.
type Install struct {
	LinkHeader string `json:"linkHeader"` // the whole header line
	HTMLLink   string `json:"htmlLink"`
}

// Limits of what is written.
const (
	// maxOutput is what agents read without truncating.
	maxOutput = 32 << 10

	// maxFullOutput is for llms-full.txt, which readers fetch knowing it is long.
	maxFullOutput = 128 << 10
)

// filename is what the file is called wherever it is put.
const filename = "llms.txt"

// Generate writes the llms.txt of a brand. Bad input is a *fieldmark.Error that
// lists every complaint at once; text that gives orders to models is one with
// CodeInstructionLikeText. The same request always gives the same bytes.
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
			Message: "without an address the file links to nothing, and some checkers refuse it"})
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
	if err := doc.accept(); err != nil {
		return Document{}, err
	}
	return doc, nil
}

// accept refuses a document that no reader should be given.
func (doc Document) accept() error {
	switch {
	case len(doc.Content) > maxOutput, len(doc.LLMSFullTxt) > maxFullOutput:
		e := fieldmark.Errorf(fieldmark.CodeValidationFailed, "the file would have %d bytes; agents read %d", len(doc.Content), maxOutput)
		e.Fields = []fieldmark.FieldError{{Pointer: "", Code: "too_long", Detail: "all fields together are too long; shorten or leave out links, alternates or questions"}}
		return e
	case doc.Lint.Has("instruction-override"):
		// No field alone gave an order, but they do side by side.
		i := slices.IndexFunc(doc.Lint.Issues, func(i Issue) bool { return i.Code == "instruction-override" })
		return fieldmark.Errorf(fieldmark.CodeInstructionLikeText,
			"the fields together read as orders to a model: the file %s; describe the brand instead", doc.Lint.Issues[i].Message)
	case doc.Lint.Errors() > 0:
		return fmt.Errorf("generate llms.txt: own file has errors: %v", doc.Lint.Issues)
	}
	return nil
}

// install says how pages point to the file. It lies beside the home page, whose
// path it covers.
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
