package fieldmark_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of the shape. In the projects we compare with, nine functions in ten
// have fewer than 42 lines and nine files in ten fewer than 500.
const (
	maxFunctionLines = 80
	maxFileLines     = 600
	maxPackageFiles  = 25 // tests not counted
	maxTypeMethods   = 40 // declared in the package of the type, tests not counted
	maxColumns       = 120
)

// tabColumns is the width of a tab in columns.
const tabColumns = 4

// wideLines is the maximum number of lines of Go that exceed maxColumns. Only a field with a struct tag may: Go has
// no way to wrap a tag. It must not be raised; a long help text belongs to the Help method of its command.
const wideLines = 160

// shapeExceptions lists the allowed violations of a rule, with the date and the reason.
// An exception that is no longer needed fails the test. Do not add exceptions for size.
var shapeExceptions = map[string]string{

	"internal/testkit/browsertest/browser.go context": "2026-11-21: chromedp keeps its browser in the context",
	"internal/testkit/browsertest/page.go context":    "2026-11-21: chromedp keeps its tab in the context",
}

func TestShape(t *testing.T) {
	used := map[string]bool{}
	complain := func(key, format string, args ...any) {
		if _, ok := shapeExceptions[key]; ok {
			used[key] = true
			return
		}
		t.Errorf("%s: %s", key, fmt.Sprintf(format, args...))
	}
	wide := 0
	for _, p := range listPackages(t, "./...") {
		dir, _ := room(p.ImportPath)
		hasDoc := p.Name == "main"
		vars := map[string]bool{}
		files := parsePackage(t, p, dir, vars, complain)
		checkPackage(dir, files, complain)
		wide += countWide(t, p, dir, complain)
		for path, f := range files {
			hasDoc = hasDoc || filepath.Base(path) == "doc.go" && f.file.Doc != nil
			checkFile(f.fset, f.file, path, vars, complain)
		}
		if !hasDoc {
			complain(dir, "package without a doc.go")
		}
	}
	if wide > wideLines {
		t.Errorf("%d lines exceed %d columns, at most %d: wrap the new ones", wide, maxColumns, wideLines)
	}
	for key := range shapeExceptions {
		if !used[key] {
			t.Errorf("%s: exception no longer needed", key)
		}
	}
}

// checkPackage checks the number of files of a package and the number of methods of its
// types.
func checkPackage(dir string, files map[string]parsedFile, complain complainFunc) {
	if len(files) > maxPackageFiles {
		complain(cmp.Or(dir, ".")+" files", "%d files, at most %d", len(files), maxPackageFiles)
	}
	methods := map[string]int{}
	for _, f := range files {
		for _, d := range f.file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
				methods[receiver(d)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxTypeMethods {
			complain(dir+" "+name+" methods", "%d methods, at most %d", n, maxTypeMethods)
		}
	}
}

// countWide counts the fields with a tag in a package's Go files, tests included, that exceed maxColumns. Any other
// wide line is a violation.
func countWide(t *testing.T, p goPackage, dir string, complain complainFunc) (wide int) {
	t.Helper()
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if isGenerated(src) {
			continue
		}
		for i, line := range strings.Split(string(src), "\n") {
			if utf8.RuneCountInString(line)+strings.Count(line, "\t")*(tabColumns-1) <= maxColumns {
				continue
			}
			if wide++; !strings.HasSuffix(line, "\"`") {
				complain(filepath.Join(dir, name), "line %d exceeds %d columns", i+1, maxColumns)
			}
		}
	}
	return wide
}

type parsedFile struct {
	fset *token.FileSet
	file *ast.File
}

// parsePackage parses a package's files, checks their length and collects every
// package-level variable.
func parsePackage(t *testing.T, p goPackage, dir string, vars map[string]bool,
	complain complainFunc) map[string]parsedFile {
	t.Helper()
	files := map[string]parsedFile{}
	for _, name := range p.GoFiles {
		path := filepath.Join(dir, name)
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if isGenerated(src) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(src, []byte("\n")); n > maxFileLines {
			complain(path, "%d lines, at most %d", n, maxFileLines)
		}
		packageVars(file, vars)
		files[path] = parsedFile{fset, file}
	}
	return files
}

func isGenerated(src []byte) bool {
	head, _, _ := bytes.Cut(src, []byte("\npackage "))
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT."))
}

type complainFunc func(key, format string, args ...any)

func checkFile(fset *token.FileSet, file *ast.File, path string, vars map[string]bool, complain complainFunc) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			checkFunc(fset, d, path, vars, complain)
		case *ast.GenDecl:
			checkGenDecl(d, path, complain)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			if sel, ok := f.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" && isIdent(sel.X, "context") {
				complain(path+" context", "%s: context.Context in a struct", fset.Position(f.Pos()))
			}
		}
		return true
	})
}

func checkFunc(fset *token.FileSet, d *ast.FuncDecl, path string, vars map[string]bool, complain complainFunc) {
	key := path + " " + d.Name.Name
	if d.Name.Name == "init" && d.Recv == nil {
		complain(key, "init function")
	}
	if n := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1; n > maxFunctionLines {
		complain(key, "%d lines, at most %d", n, maxFunctionLines)
	}
	if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
		complain(key, "exported without a comment")
	}
	if d.Body == nil {
		return
	}
	local := localNames(d)
	ast.Inspect(d.Body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || assign.Tok == token.DEFINE {
			return true
		}
		for _, left := range assign.Lhs {
			if id, ok := left.(*ast.Ident); ok && vars[id.Name] && !local[id.Name] {
				complain(key, "assigns to package variable %s", id.Name)
			}
		}
		return true
	})
}

// localNames collects every name a function declares itself.
func localNames(d *ast.FuncDecl) map[string]bool {
	local := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					if id, ok := left.(*ast.Ident); ok {
						local[id.Name] = true
					}
				}
			}
		}
		return true
	})
	return local
}

func exportedReceiver(d *ast.FuncDecl) bool {
	return d.Recv == nil || ast.IsExported(receiver(d))
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch generic := typ.(type) {
	case *ast.IndexExpr:
		typ = generic.X
	case *ast.IndexListExpr:
		typ = generic.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func checkGenDecl(d *ast.GenDecl, path string, complain complainFunc) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
				complain(path+" "+s.Name.Name, "exported without a comment")
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					complain(path+" "+name.Name, "exported without a comment")
				}
			}
		}
	}
}

// packageVars notes a file's package-level variables.
func packageVars(file *ast.File, vars map[string]bool) {
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					vars[name.Name] = true
				}
			}
		}
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
