package fieldmark_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/releasedtest"
	"github.com/fieldmark/fieldmark/origin/event"
)

// TestReleased compares what callers rely on with the lists of testdata/released, which hold what the last release
// promised. A line may be added but never disappear, except for demands (a required field, parameter or scope):
// those may disappear but never be added to what was released. The golden files of other tests are not enough,
// because -update rewrites them together with the mistake. `-args -release` adds what is new at a release; nothing
// removes a line, except a person who breaks a promise on purpose.
func TestReleased(t *testing.T) {
	for name, current := range map[string]func(*testing.T) []string{
		"openapi": openAPILines, "wire": wireLines, "metrics": metricLines, "events": eventLines, "go": goLines,
	} {
		t.Run(name, func(t *testing.T) {
			releasedtest.Compare(t, filepath.Join("testdata", "released", name+".txt"), current(t), subjectOf)
		})
	}
}

// demand starts a line that is one. Its subject is the next word.
const demand = "requires "

func subjectOf(line string) (subject string, is bool) {
	rest, is := strings.CutPrefix(line, demand)
	subject, _, _ = strings.Cut(rest, " ")
	return subject, is
}

// schema is the part of JSON Schema that compatibility depends on.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Enum                 []any
	Properties           map[string]*schema
	Required             []string
	Items                *schema
	AdditionalProperties *schema
	AnyOf                []*schema
}

type media map[string]struct{ Schema *schema }

type operation struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   *schema
	}
	RequestBody struct{ Content media }
	Responses   map[string]struct {
		Ref     string `json:"$ref"`
		Content media
	}
	Security []map[string][]string
}

// document collects the lines of an OpenAPI document.
type document struct {
	lines   []string
	schemas map[string]*schema
	sent    map[string]bool // named schemas, reached from requests
	read    map[string]bool // named schemas, reached from responses and webhooks
}

func openAPILines(t *testing.T) []string {
	var file struct {
		Paths, Webhooks map[string]map[string]operation
		Components      struct{ Schemas map[string]*schema }
		Problems        []struct {
			Code   string
			Status int
		} `json:"x-problems"`
	}
	decodeFile(t, filepath.Join("origin", "api", "testdata", "openapi.json"), &file)
	d := &document{schemas: file.Components.Schemas, sent: map[string]bool{}, read: map[string]bool{}}
	for path, operations := range file.Paths {
		for method, o := range operations {
			d.operation(strings.ToUpper(method)+":"+path, o)
		}
	}
	for name, operations := range file.Webhooks {
		for _, o := range operations {
			for kind, body := range o.RequestBody.Content {
				d.add("webhook:%s sends %s", name, kind)
				d.walk(body.Schema, "webhook:"+name, false)
			}
		}
	}
	for _, p := range file.Problems {
		d.add("problem:%s status %d", p.Code, p.Status)
	}
	if len(d.lines) < 3000 {
		t.Fatalf("%d lines: the document was not read", len(d.lines))
	}
	return d.lines
}

func (d *document) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *document) operation(name string, o operation) {
	d.add("%s is %s", name, o.OperationID)
	for _, p := range o.Parameters {
		param := p.In + ":" + p.Name
		d.add("%s takes %s", name, param)
		if p.Required {
			d.add(demand+"%s %s", name, param)
		}
		d.walk(p.Schema, name+"?"+param, true)
	}
	for _, alternative := range o.Security {
		for _, scopes := range alternative {
			for _, scope := range scopes {
				d.add(demand+"%s scope:%s", name, scope)
			}
		}
	}
	for kind, body := range o.RequestBody.Content {
		d.add("%s accepts %s", name, kind)
		d.walk(body.Schema, name+"<", true)
	}
	for status, r := range o.Responses {
		d.add("%s answers %s %s", name, status, r.Ref)
		for kind, body := range r.Content {
			d.add("%s answers %s %s", name, status, kind)
			d.walk(body.Schema, name+">"+status, false)
		}
	}
}

// walk adds the lines of a schema. A required member is a demand on requests and a promise of responses.
func (d *document) walk(s *schema, path string, request bool) {
	if s == nil {
		return
	}
	if name := filepath.Base(s.Ref); s.Ref != "" {
		d.add("%s is %s", path, name)
		seen := d.read
		if request {
			seen = d.sent
		}
		if !seen[name] {
			seen[name] = true
			d.walk(d.schemas[name], name, request)
		}
		return
	}
	if s.Type != nil {
		d.add("%s type %v", path, s.Type)
	}
	for _, v := range s.Enum {
		d.add("%s value %v", path, v)
	}
	for _, name := range s.Required {
		if request {
			d.add(demand+"%s %s", path, name)
		} else {
			d.add("%s always %s", path, name)
		}
	}
	for name, member := range s.Properties {
		d.add("%s member %s", path, name)
		d.walk(member, path+"."+name, request)
	}
	for _, alternative := range s.AnyOf {
		d.walk(alternative, path, request)
	}
	d.walk(s.Items, path+"[]", request)
	d.walk(s.AdditionalProperties, path+"{}", request)
}

// UnmarshalJSON accepts a boolean schema, which allows or forbids every value.
func (s *schema) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		return nil
	}
	type plain schema
	return json.Unmarshal(data, (*plain)(s))
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// wireLines lists the members of the golden JSON with the kinds of their values.
func wireLines(t *testing.T) (lines []string) {
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for name := range v {
				walk(path+"."+name, v[name])
			}
		case []any:
			for _, item := range v {
				walk(path+"[]", item)
			}
		case nil:
			lines = append(lines, path)
		default:
			lines = append(lines, path, fmt.Sprintf("%s %T", path, v))
		}
	}
	for _, pattern := range []string{"*.json", "event/*.json"} {
		files, err := filepath.Glob(filepath.Join("testdata", "wire", pattern))
		if err != nil || len(files) < 10 {
			t.Fatalf("%d golden files: %v", len(files), err)
		}
		for _, file := range files {
			var value any
			decodeFile(t, file, &value)
			walk(strings.TrimSuffix(filepath.Base(file), ".json"), value)
		}
	}
	return lines
}

// metricLines reads the table of deploy/README.md, which TestMetricsTable compares with a running node.
func metricLines(t *testing.T) (lines []string) {
	src, err := os.ReadFile(filepath.Join("deploy", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(fieldmark_[a-z0-9_]+)` \\| ([^|]*)\\|").FindAllSubmatch(src, -1) {
		lines = append(lines, string(m[1]))
		for label := range strings.SplitSeq(strings.TrimSpace(string(m[2])), ",") {
			if label = strings.TrimSpace(label); label != "" {
				lines = append(lines, string(m[1])+" label "+label)
			}
		}
	}
	return lines
}

func eventLines(*testing.T) (lines []string) {
	for _, k := range event.Kinds() {
		lines = append(lines, string(k.Type))
	}
	return lines
}

// goLines lists the exported names of the packages that customers import, with their types. Text is compared in
// place of types: a parameter that gets another name counts as a change, which costs an edit of the list.
func goLines(t *testing.T) (lines []string) {
	for _, dir := range []string{".", "client", filepath.Join("wasm", "guest")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		fset := token.NewFileSet()
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				for _, line := range declLines(fset, decl) {
					lines = append(lines, file.Name.Name+" "+line)
				}
			}
		}
	}
	return lines
}

func declLines(fset *token.FileSet, decl ast.Decl) (lines []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(strings.TrimLeft(receiver(d), "*"))) {
			return []string{source(fset, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						lines = append(lines, d.Tok.String()+" "+name.Name)
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, typeLines(fset, s)...)
				}
			}
		}
	}
	return lines
}

// typeLines lists a type, or the exported fields of a struct: a field may be added, a method of an interface not.
func typeLines(fset *token.FileSet, s *ast.TypeSpec) []string {
	fields, ok := s.Type.(*ast.StructType)
	if !ok {
		return []string{"type " + s.Name.Name + " " + source(fset, s.Type)}
	}
	lines := []string{"type " + s.Name.Name + " struct"}
	for _, f := range fields.Fields.List {
		names := slices.Clone(f.Names)
		if len(names) == 0 { // embedded
			lines = append(lines, "type "+s.Name.Name+" embeds "+source(fset, f.Type))
		}
		for _, name := range names {
			if name.IsExported() {
				lines = append(lines, fmt.Sprintf("type %s.%s %s", s.Name.Name, name.Name, source(fset, f.Type)))
			}
		}
	}
	return lines
}

var blanks = regexp.MustCompile(`\s+`)

// source prints a node on one line.
func source(fset *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, node); err != nil {
		panic("BUG: " + err.Error())
	}
	return blanks.ReplaceAllString(b.String(), " ")
}

// TestBrokenPromises checks the comparison itself: a member or value that is gone and a new demand are found, a new
// member, a new type with demands and a demand that is gone are not.
func TestBrokenPromises(t *testing.T) {
	lines := func(change func(*schema)) []string {
		s := schema{Properties: map[string]*schema{"a": {Enum: []any{"X", "Y"}}, "b": {}}, Required: []string{"a"}}
		change(&s)
		d := &document{}
		d.walk(&s, "S", true)
		return d.lines
	}
	for want, change := range map[string]func(*schema){
		`["S member b" was released and is gone]`: func(s *schema) { delete(s.Properties, "b") },
		`["S.a value Y" was released and is gone]`: func(s *schema) {
			s.Properties["a"] = &schema{Enum: []any{"X"}}
		},
		`["requires S b" was not demanded by the last release]`: func(s *schema) { s.Required = []string{"a", "b"} },
		`[]`: func(s *schema) {
			s.Required = nil
			s.Properties["c"] = &schema{Properties: map[string]*schema{"d": {}}, Required: []string{"d"}}
		},
	} {
		if got := fmt.Sprint(releasedtest.Broken(lines(func(*schema) {}), lines(change), subjectOf)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
