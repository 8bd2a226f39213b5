package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// files holds a folder for each site. Every text file is a template; a page that does not
// begin with a doctype is inserted into the layout of the site.
//
//go:embed all:sites
var files embed.FS

// layoutFile is the layout of the pages of a site.
const layoutFile = "_layout.html"

// page is a response.
type page struct {
	header http.Header
	body   []byte
}

// types are the media types of the files. Text is always UTF-8.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".md":   "text/markdown; charset=utf-8",
	".txt":  "text/plain; charset=utf-8",
	".xml":  "application/xml; charset=utf-8",
	".atom": "application/atom+xml; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
}

// render returns the pages of a site by path as they were a number of days ago, or nil if
// the site has no folder. A file that renders to nothing did not exist then. It panics if a
// file is wrong, because files are part of the program.
func render(site Site, base string, today time.Time, ago int) map[string]page {
	dir := path.Join("sites", string(site.Slug))
	pages := map[string]page{}
	err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) == layoutFile {
			return err
		}
		where, p, err := renderFile(dir, name, base, today, ago)
		if err != nil {
			return fmt.Errorf("render %s: %w", name, err)
		}
		if len(p.body) > 0 {
			pages[where] = p
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		panic("BUG: demo: " + err.Error())
	}
	return pages
}

// renderFile returns a page and its path: about.html is served at /about, index.html at
// its folder, and everything else under its own name.
func renderFile(dir, name, base string, today time.Time, ago int) (string, page, error) {
	raw, err := files.ReadFile(name)
	if err != nil {
		return "", page{}, err
	}
	where := strings.TrimPrefix(name, dir)
	if at, ok := strings.CutSuffix(where, ".html"); ok {
		where = strings.TrimSuffix(at, "index")
	}
	fields, text := frontMatter(string(raw))
	data := map[string]any{"Base": base, "Path": where, "URL": base + where}
	for k, v := range fields {
		data[k] = v
	}
	body, err := execute(name, text, data, today, ago)
	if err != nil {
		return "", page{}, err
	}
	if path.Ext(name) == ".html" && len(body) > 0 && !bytes.HasPrefix(bytes.ToLower(body), []byte("<!doctype")) {
		layout, err := files.ReadFile(path.Join(dir, layoutFile))
		if err != nil {
			return "", page{}, err
		}
		data["Content"] = string(body)
		if body, err = execute(layoutFile, string(layout), data, today, ago); err != nil {
			return "", page{}, err
		}
	}
	return where, page{header: header(name, fields, len(body), today), body: body}, nil
}

// header returns the header of a page, whose front matter may set Last-Modified and
// X-Robots-Tag.
func header(name string, fields map[string]string, size int, today time.Time) http.Header {
	h := http.Header{}
	h.Set("Content-Type", types[path.Ext(name)])
	if path.Base(name) == "llms.txt" {
		h.Set("Content-Type", types[".md"])
	}
	h.Set("Content-Length", strconv.Itoa(size))
	h.Set("X-Content-Type-Options", "nosniff")
	if days, err := strconv.Atoi(fields["modified"]); err == nil {
		h.Set("Last-Modified", today.AddDate(0, 0, days).Format(http.TimeFormat))
	}
	if v := fields["robotsTag"]; v != "" {
		h.Set("X-Robots-Tag", v)
	}
	return h
}

// frontMatter parses the comment at the beginning of a file, with one "name: value" on
// each line.
func frontMatter(text string) (fields map[string]string, rest string) {
	fields = map[string]string{}
	block, ok := strings.CutPrefix(text, "<!--\n")
	if !ok {
		return fields, text
	}
	block, rest, _ = strings.Cut(block, "\n-->\n")
	for line := range strings.Lines(block) {
		name, value, _ := strings.Cut(line, ":")
		fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return fields, rest
}

// execute executes a template. Its functions return dates relative to today, so that new
// pages stay new, and report whether something existed a number of days ago.
func execute(name, text string, data map[string]any, today time.Time, ago int) ([]byte, error) {
	day := func(days any, layout string) (string, error) {
		n, err := strconv.Atoi(fmt.Sprint(days))
		return today.AddDate(0, 0, n).Format(layout), err
	}
	t, err := template.New(name).Funcs(template.FuncMap{
		"date":  func(days any) (string, error) { return day(days, time.DateOnly) },
		"time":  func(days any) (string, error) { return day(days, time.RFC3339) },
		"day":   day,
		"since": func(days int) bool { return ago < days },
		"json":  func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil || len(bytes.TrimSpace(out.Bytes())) == 0 {
		return nil, err
	}
	return out.Bytes(), nil
}
