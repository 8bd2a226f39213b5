package llms

import (
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/injection"
)

// Limits of a request, in code points after cleaning unless stated otherwise. They
// keep the file within what agents read; the limits of a brand itself are in
// package fieldmark.
const (
	minDescription = 20 // shorter is not a description
	maxNiche       = 100
	maxUniqueValue = 1000
	maxTitle       = 100
	maxNote        = 200
	maxQuestion    = 200
	maxAnswer      = 600
	maxEmail       = 254 // RFC 5321, section 4.5.3.1.3, without the brackets
	maxPhone       = 40
	maxPostal      = 200
	maxLinks       = 20
	maxFAQ         = 10
	maxAlternates  = 20
)

// The sections that a link may select.
const (
	sectionPages    = "pages"
	sectionProfiles = "profiles"
	sectionOptional = "optional"
)

// draft is a validated request.
// What is in it can be written to the file without another check.
type draft struct {
	name, niche, description, uniqueValue string

	tag        language.Tag
	url        *url.URL
	home       link // to url
	links      []link
	faq        []Question
	contact    string // one line
	contactURL string
	alternates []alternate
}

// link is a validated Link.
type link struct{ title, url, note, section string }

// alternate is a validated Alternate.
type alternate struct{ language, url string }

// checker collects the errors and warnings of a request.
type checker struct {
	errors       []fieldmark.FieldError
	instructions int // of the faults, those about text that gives orders
	warnings     []Warning
	urls         map[string]bool
	detector     *injection.Detector
}

func (c *checker) addError(pointer, code, format string, args ...any) {
	c.errors = append(c.errors, fieldmark.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format,
		args...)})
}

func (c *checker) warn(code, pointer, message string) {
	c.warnings = append(c.warnings, Warning{Code: code, Field: pointer, Message: message})
}

// check validates the whole request and returns all errors at once.
// The address of the home page is taken from the links if it is among them, so that it is written
// once.
func check(r Request) (draft, []Warning, error) {
	c := &checker{urls: map[string]bool{}, detector: injection.New(r.Name)}
	d := draft{
		name:        c.text("/name", r.Name, 1, fieldmark.MaxBrandName),
		niche:       c.text("/niche", r.Niche, 0, maxNiche),
		description: c.text("/description", r.Description, minDescription, fieldmark.MaxBrandDescription),
		uniqueValue: c.text("/uniqueValue", r.UniqueValue, 0, maxUniqueValue),
		tag:         c.language("/language", r.Language, "en"),
	}
	if r.URL != "" {
		d.url = c.address("/url", r.URL)
	}
	d.links = c.links(r.Links)
	d.home = link{title: d.name}
	if d.url != nil {
		d.home.url = d.url.String()
		// A link to the home page keeps its title and its note, and is listed only once.
		if i := slices.IndexFunc(d.links, func(l link) bool { return l.url == d.home.url }); i >= 0 {
			d.home = d.links[i]
			d.links = slices.Delete(d.links, i, i+1)
		}
	}
	d.faq = c.faq(r.FAQ)
	if r.Contact != nil {
		d.contact, d.contactURL = c.contact(*r.Contact)
	}
	d.alternates = c.alternates(r.Alternates, d.tag)
	if len(c.errors) > 0 {
		return draft{}, nil, c.err()
	}
	return d, c.warnings, nil
}

// err returns all errors as one.
// The code about instructions is returned only if nothing else is wrong, since a client shows one
// code for the whole request.
func (c *checker) err() error {
	if c.instructions == len(c.errors) {
		e := fieldmark.Errorf(fieldmark.CodeInstructionLikeText,
			"the text reads as instructions to a model; describe the brand instead")
		e.Fields = c.errors
		return e
	}
	e := fieldmark.Errorf(fieldmark.CodeValidationFailed, "the request has %d invalid fields", len(c.errors))
	if len(c.errors) == 1 {
		e.Detail = "the request has one invalid field"
	}
	e.Fields = c.errors
	return e
}

// text cleans a field and checks its length and content.
// Instructions are searched for in the raw text, its length is that of the cleaned one.
func (c *checker) text(pointer, raw string, least, most int) string {
	if !utf8.ValidString(raw) {
		c.addError(pointer, "format", "not valid UTF-8")
		return ""
	}
	s, dropped := clean(raw)
	switch n := utf8.RuneCountInString(s); {
	case n == 0 && least > 0:
		c.addError(pointer, "required", "must not be empty")
	case n < least:
		c.addError(pointer, "too_short", "must have at least %d characters", least)
	case n > most:
		c.addError(pointer, "too_long", "must have at most %d characters", most)
	}
	if dropped {
		c.warn("removed-characters", pointer, "invisible characters were removed")
	}
	c.checkInstructions(pointer, raw)
	if strings.Contains(s, "://") {
		c.warn("url-in-text", pointer, "an address in text does not become a link; use url or links")
	}
	return s
}

// maxReportedInstructions is how many instructions are reported per field.
const maxReportedInstructions = 5

// checkInstructions reports instructions to a model in a field as it was sent: those in
// characters that cleaning removes were meant for a model as well.
func (c *checker) checkInstructions(pointer, raw string) {
	found := c.detector.Find(raw, injection.Models)
	slices.SortStableFunc(found, func(a, b injection.Match) int { // errors first
		return strings.Compare(string(instructionIssues[a.Kind].Severity), string(instructionIssues[b.Kind].Severity))
	})
	for _, m := range found[:min(len(found), maxReportedInstructions)] {
		issue := instructionIssues[m.Kind]
		switch {
		case issue.Severity == SeverityError:
			c.instructions++
			c.addError(pointer, "pattern", "reads as text that %s: %q", issue.Message, m.Words)
		case m.Kind == injection.Promotion:
			c.warn(issue.Code, pointer,
				fmt.Sprintf("%s: %q; readers distrust such files, and the score of such a site "+
					"is limited", issue.Message, m.Words))
		default:
			c.warn(issue.Code, pointer, fmt.Sprintf("%s: %q; most ignore it", issue.Message, m.Words))
		}
	}
}

// language parses a tag; an empty one is replaced by otherwise.
// The length is checked first: parsing time grows with it.
func (c *checker) language(pointer, s, otherwise string) language.Tag {
	if s == "" {
		s = otherwise
	}
	if len(s) > fieldmark.MaxLanguageTag {
		c.addError(pointer, "too_long", "must have at most %d bytes", fieldmark.MaxLanguageTag)
		return language.Und
	}
	tag, ok := parseLanguage(s)
	if !ok {
		c.addError(pointer, "format", "not a BCP 47 language tag")
	}
	return tag
}

// address parses an address. It returns nil if the address is invalid.
func (c *checker) address(pointer, s string) *url.URL {
	if strings.TrimSpace(s) == "" {
		c.addError(pointer, "required", "must not be empty")
		return nil
	}
	u, err := parseAddress(s)
	if err != nil {
		c.addError(pointer, "format", "%v", err)
		return nil
	}
	return u
}

// checkCount reports a list with too many entries and returns false, so that it is
// not processed.
func (c *checker) checkCount(pointer string, n, most int) bool {
	if n > most {
		c.addError(pointer, "too_long", "must have at most %d entries", most)
	}
	return n <= most
}

// links returns the valid links. A repeated one is dropped with a warning, because the file
// is correct without it.
func (c *checker) links(all []Link) []link {
	if !c.checkCount("/links", len(all), maxLinks) {
		return nil
	}
	var out []link
	for i, l := range all {
		at := fmt.Sprintf("/links/%d", i)
		accepted := link{
			title:   c.text(at+"/title", l.Title, 1, maxTitle),
			note:    c.text(at+"/note", l.Note, 0, maxNote),
			section: l.Section,
		}
		if accepted.section == "" {
			accepted.section = sectionPages
		}
		if !slices.Contains([]string{sectionPages, sectionProfiles, sectionOptional}, accepted.section) {
			c.addError(at+"/section", "enum", "must be profiles, pages or optional")
		}
		u := c.address(at+"/url", l.URL)
		if u == nil {
			continue
		}
		if accepted.url = u.String(); c.urls[accepted.url] {
			c.warn("duplicate-link", at, "this address is in the file already")
			continue
		}
		c.urls[accepted.url] = true
		out = append(out, accepted)
	}
	return out
}

// faq returns the questions with their answers.
func (c *checker) faq(all []Question) []Question {
	if !c.checkCount("/faq", len(all), maxFAQ) {
		return nil
	}
	var out []Question
	for i, q := range all {
		at := fmt.Sprintf("/faq/%d", i)
		out = append(out, Question{Q: c.text(at+"/q", q.Q, 1, maxQuestion), A: c.text(at+"/a", q.A, 1, maxAnswer)})
	}
	return out
}

// contact returns the contact details on one line, and the contact page.
// net/mail also accepts names and comments around an address, hence the comparison.
func (c *checker) contact(in Contact) (line, page string) {
	var parts []string
	if s := c.text("/contact/email", in.Email, 0, maxEmail); s != "" {
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s || strings.ContainsAny(s, `"[]`) {
			c.addError("/contact/email", "format", "not an e-mail address")
		}
		parts = append(parts, s)
	}
	if s := c.text("/contact/phone", in.Phone, 0, maxPhone); s != "" {
		if strings.Trim(s, "+0123456789 ()-./x") != "" || !strings.ContainsAny(s, "0123456789") {
			c.addError("/contact/phone", "format", "not a telephone number")
		}
		parts = append(parts, s)
	}
	if s := c.text("/contact/address", in.Address, 0, maxPostal); s != "" {
		parts = append(parts, s)
	}
	if in.URL != "" {
		if u := c.address("/contact/url", in.URL); u != nil && !c.urls[u.String()] {
			page = u.String()
			c.urls[page] = true
		}
	}
	return strings.Join(parts, " · "), page
}

// alternates returns the files in other languages, which the format lists as links.
func (c *checker) alternates(all []Alternate, own language.Tag) []alternate {
	if !c.checkCount("/alternates", len(all), maxAlternates) {
		return nil
	}
	var out []alternate
	for i, a := range all {
		at := fmt.Sprintf("/alternates/%d", i)
		if a.Language == "" {
			c.addError(at+"/language", "required", "must not be empty")
		}
		tag := c.language(at+"/language", a.Language, "en")
		u := c.address(at+"/url", a.URL)
		switch {
		case u == nil:
		case tag == own || c.urls[u.String()]:
			c.warn("duplicate-link", at, "this language or address is in the file already")
		default:
			c.urls[u.String()] = true
			out = append(out, alternate{language: tag.String(), url: u.String()})
		}
	}
	return out
}
