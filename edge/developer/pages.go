package developer

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

//go:embed templates/*.html guides/*.md
var files embed.FS

// The paths below those of package site.
const (
	pathAdministration = site.PathReference + "/administration"
	pathEvents         = site.PathReference + "/events/"
)

// adminTag is the tag of the operations that have an index of their own: they are most of all.
const adminTag = "administration"

// Config is the data of this installation that the pages show.
// Its values do not change while the program runs, so the pages that use no reference could be
// kept.
type Config struct {
	BaseURL   string  // scheme and host of the site, without a slash at the end
	Limits    []Limit // of the edge
	HideAdmin bool    // this node does not serve the operations of administrators
	Tools     []Tool  // of agents
}

// Tool is a tool that agents can call.
type Tool struct{ Name, Description string }

// Pages renders the pages. It is immutable.
type Pages struct {
	cfg       Config
	site      *site.Site
	templates *template.Template
	guides    []guide
	changelog *changelog
}

// New parses the templates, the guides and the changelog.
// An error is a mistake in a file of the program: it fails the start, and so every test.
func New(s *site.Site, cfg Config) (*Pages, error) {
	p := &Pages{cfg: cfg, site: s}
	var err error
	if p.templates, err = template.New("developer").Funcs(template.FuncMap{
		// The functions only format: templates make no decisions about data.
		"heading": heading, "amount": amount, "pair": func(a, b string) []string { return []string{a, b} },
		"base": func(s string) string {
			return strings.ReplaceAll(s, "{base}", cfg.BaseURL)
		},
	}).Funcs(accessFuncs).ParseFS(files, "templates/*.html"); err != nil {
		return nil, fmt.Errorf("parse the templates: %w", err)
	}
	if p.guides, err = readGuides(cfg); err != nil {
		return nil, err
	}
	if p.changelog, err = readChangelog(fieldmark.Changelog()); err != nil {
		return nil, err
	}
	return p, nil
}

// NeedsReference reports whether the page at a path shows the OpenAPI document.
// For the others an edge need not read the document from the origin.
func NeedsReference(path string) bool {
	return path == site.PathReference || strings.HasPrefix(path, site.PathReference+"/") ||
		path == site.PathProblems || strings.HasPrefix(path, site.PathProblems+"/") || path == site.PathLimits
}

// Append appends the page at a path. A path without a page is not_found. Without a reference, the
// pages of problems and limits show the data of this program.
// r is of the origin that answers now, which may be of another version than this program.
func (p *Pages) Append(dst []byte, path string, r *Reference) ([]byte, error) {
	if r == nil {
		r = &Reference{}
	}
	// The order matters: a code, a guide or an event may have any name below its own prefix
	// only.
	if code, ok := strings.CutPrefix(path, site.PathProblems+"/"); ok {
		return p.appendProblem(dst, r, fieldmark.Code(code))
	}
	if name, ok := strings.CutPrefix(path, site.PathGuides); ok {
		return p.appendGuide(dst, name)
	}
	if name, ok := strings.CutPrefix(path, pathEvents); ok && r.events[name] != nil {
		return p.appendEvent(dst, r, r.events[name])
	}
	if id, ok := strings.CutPrefix(path, site.PathReference+"/"); ok && r.operations[id] != nil {
		return p.appendOperation(dst, r, r.operations[id])
	}
	switch path {
	case site.PathReference:
		return p.append(dst, "index.html", r, site.Article{Path: path, Title: "API reference",
			Description: "Every operation of the Fieldmark API and every webhook event: parameters, bodies, " +
				"responses, errors and examples."})
	case pathAdministration:
		return p.append(dst, "administration.html", r, site.Article{Path: path, Title: "API reference: administration",
			Description: "The operations of administrators on brands, keys, webhooks, modules and everything " +
				"else under /api/admin/v1."})
	case site.PathProblems:
		return p.append(dst, "problems.html", allProblems(r), site.Article{Path: path, Title: "Problems of the API",
			Description: "Every error code of the Fieldmark API with its status, what it means and what to do."})
	case site.PathLimits:
		return p.append(dst, "limits.html", groupLimits(slices.Concat(p.cfg.Limits, r.Limits)),
			site.Article{Path: path, Title: "Limits of the API",
				Description: "All limits of the Fieldmark API in one table: rates, sizes, counts and times, with " +
					"the error of each."})
	case site.PathChangelog:
		return p.append(dst, "changelog.html", p.changelog, site.Article{Path: path, Title: "Changelog of Fieldmark",
			Description: "What changed in each version, and the policy for versions, deprecation and sunset of " +
				"the API.", Feed: site.PathChangelogFeed})
	}
	return dst, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address")
}

// append renders a template into the frame of the site.
// The page is complete before any of it is appended: an error leaves dst as it was.
func (p *Pages) append(dst []byte, name string, view any, a site.Article) ([]byte, error) {
	var body bytes.Buffer
	if err := p.templates.ExecuteTemplate(&body, name, view); err != nil {
		return dst, fmt.Errorf("render %s: %w", name, err)
	}
	a.BaseURL, a.Body = p.cfg.BaseURL, template.HTML(body.String()) // the template has escaped it
	return p.site.AppendArticle(dst, a)
}

// operationView is what templates/operation.html shows.
// Try is false where the node does not serve the operation.
type operationView struct {
	*Operation
	Group string
	Try   bool
}

// Parameters that a template shows in groups.
func (v operationView) In(where string) []Parameter {
	var out []Parameter
	for _, p := range v.Parameters {
		if p.In == where {
			out = append(out, p)
		}
	}
	return out
}

// appendOperation appends the page of an operation, with links to the others of its group.
func (p *Pages) appendOperation(dst []byte, r *Reference, o *Operation) ([]byte, error) {
	v := operationView{Operation: o, Group: o.Tag, Try: o.Tag != adminTag || !p.cfg.HideAdmin}
	a := site.Article{Path: site.PathReference + "/" + o.ID, Title: o.Title, Try: v.Try,
		Description: o.Method + " " + o.Path + ": " + o.Title + ". Parameters, body, responses, errors and a " +
			"command to copy."}
	// Titles must be unique for search engines, and operations of both groups have equal names.
	if o.Tag == adminTag {
		a.Title += " (administration)"
	}
	for _, g := range r.Groups {
		for _, part := range g.Parts {
			if slices.Contains(part.Operations, o) {
				a.Section = heading(cmp.Or(part.Name, g.Name))
				for _, other := range part.Operations {
					a.Links = append(a.Links, site.ArticleLink{Path: site.PathReference + "/" + other.ID,
						Text: other.Title, Here: other == o})
				}
			}
		}
	}
	return p.append(dst, "operation.html", v, a)
}

// appendEvent appends the page of a type of event, with links to the others of its subject.
func (p *Pages) appendEvent(dst []byte, r *Reference, e *Event) ([]byte, error) {
	a := site.Article{Path: pathEvents + e.Type, Title: "Event " + e.Type, Section: "Events",
		Description: "The webhook message " + e.Type + ": its header fields, the schema of its body and an example."}
	subject, _, _ := strings.Cut(e.Type, ".")
	for _, other := range r.Events {
		if s, _, _ := strings.Cut(other.Type, "."); s == subject {
			a.Links = append(a.Links, site.ArticleLink{Path: pathEvents + other.Type, Text: other.Type,
				Here: other == e})
		}
	}
	return p.append(dst, "event.html", e, a)
}

// allProblems returns the problems of the document, or without it those of this program, which has
// no remedies.
func allProblems(r *Reference) []Problem {
	if len(r.Problems) > 0 {
		return r.Problems
	}
	var all []Problem
	for _, code := range fieldmark.Codes() {
		all = append(all, Problem{Code: code, Status: code.Status(), Title: code.Title()})
	}
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return all
}

// appendProblem appends the page of an error code.
func (p *Pages) appendProblem(dst []byte, r *Reference, code fieldmark.Code) ([]byte, error) {
	all := allProblems(r)
	i := slices.IndexFunc(all, func(p Problem) bool { return p.Code == code })
	if i < 0 {
		return dst, fieldmark.Errorf(fieldmark.CodeNotFound, "no such problem code")
	}
	return p.append(dst, "problem.html", all[i], site.Article{Path: site.PathProblems + "/" + string(code),
		Title:       all[i].Title + " (" + string(code) + ")",
		Description: "What the error " + string(code) + " of the Fieldmark API means and what to do.", NoIndex: true})
}

// limitGroup is a table of limits.
type limitGroup struct {
	Name string
	Rows []Limit
}

// groupLimits makes a table of each group, in the order of the document.
func groupLimits(all []Limit) (out []limitGroup) {
	for _, l := range all {
		i := slices.IndexFunc(out, func(g limitGroup) bool { return g.Name == l.Group })
		if i < 0 {
			i = len(out)
			out = append(out, limitGroup{Name: l.Group})
		}
		out[i].Rows = append(out[i].Rows, l)
	}
	return out
}

// amount writes the value of a limit with its unit.
// A unit changes only where the number stays whole: 3600 seconds are 1 hour, 90 are 90 seconds.
func amount(l Limit) string {
	if l.Value < 0 {
		return "unlimited"
	}
	scale := func(steps []int64, units []string) string {
		i := 0
		v := l.Value
		for i < len(steps) && v >= steps[i] && v%steps[i] == 0 {
			v /= steps[i]
			i++
		}
		unit := units[i]
		if v == 1 && strings.HasSuffix(unit, "s") {
			unit = strings.TrimSuffix(unit, "s")
		}
		return strconv.FormatInt(v, 10) + " " + unit
	}
	switch l.Unit {
	case "bytes":
		return scale([]int64{1 << 10, 1 << 10}, []string{"bytes", "KiB", "MiB"})
	case "seconds":
		return scale([]int64{60, 60, 24}, []string{"seconds", "minutes", "hours", "days"})
	}
	return thousands(l.Value) + " " + l.Unit
}

// thousands writes n with commas.
// Digits are grouped as the English text of the pages does.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// heading writes the name of a group or of a part of it as a heading.
// Names are identifiers of the document, in lower case with hyphens.
func heading(name string) string {
	switch name {
	case "":
		return ""
	case "llms-txt":
		return "llms.txt"
	case "sla":
		return "SLA"
	}
	name = strings.ReplaceAll(name, "-", " ")
	return strings.ToUpper(name[:1]) + name[1:]
}
