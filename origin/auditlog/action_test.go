package auditlog_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// sources parses the files of the packages below a folder, without tests.
func sources(t *testing.T, root string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// calledName returns the name of the function or the method that a call calls.
func calledName(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fn.Sel.Name
	case *ast.Ident:
		return fn.Name
	}
	return ""
}

// TestActions: the names of actions are one dialect, and no code uses another.
func TestActions(t *testing.T) {
	form := regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`)
	names := auditlog.Actions()
	for _, name := range names {
		if !form.MatchString(name) {
			t.Errorf("%q is not noun.verb", name)
		}
		if auditlog.ActionName(name) != name {
			t.Errorf("%q is the earlier name of %q, and a name", name, auditlog.ActionName(name))
		}
	}
	writers := []string{"Append", "AppendIfNone", "AppendAlone", "audit", "auditEach", "auditEndpoint",
		"changeEndpoint",
		"change", "put", "endHolder"}
	found := 0
	for _, file := range sources(t, "..") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(writers, calledName(call)) {
				return true
			}
			for _, arg := range call.Args {
				literal, ok := arg.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				name, _ := strconv.Unquote(literal.Value)
				if !strings.Contains(name, ".") || strings.Contains(name, " ") {
					continue
				}
				found++
				if !slices.Contains(names, name) {
					t.Errorf("%s writes %q, which is not in the list of actions", file.Name, name)
				}
			}
			return true
		})
	}
	if found < 70 {
		t.Errorf("found %d calls with an action, want at least 70", found)
	}
}

// TestOperations: every operation of the API by which administrators and owners change something has a name in the
// list, which it writes if its service does not.
func TestOperations(t *testing.T) {
	b, err := os.ReadFile("../api/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
		}
	}
	if err := json.Unmarshal(b, &spec); err != nil {
		t.Fatal(err)
	}
	names, found := auditlog.Actions(), 0
	for path, methods := range spec.Paths {
		for method, op := range methods {
			scopes := fmt.Sprint(op.Security)
			if method == "get" || !strings.Contains(scopes, "admin:*") && !strings.Contains(scopes, "brand:manage") {
				continue
			}
			found++
			action := op.OperationID
			if at := strings.IndexFunc(action, unicode.IsUpper); at > 0 { // as origin/api derives it
				action = strings.ToLower(action[at:]) + "." + action[:at]
			}
			if name := auditlog.ActionName(action); !slices.Contains(names, name) {
				t.Errorf("%s %s writes %q, which is not in the list of actions", method, path, name)
			}
		}
	}
	if found < 45 {
		t.Errorf("found %d operations, want at least 45", found)
	}
}

// TestConsoleForms: every form of the console adds an entry. Those of sessions have theirs from package access, and
// verifying the log changes nothing.
func TestConsoleForms(t *testing.T) {
	methods := map[string]*ast.FuncDecl{}
	for _, file := range sources(t, "../admin") {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[typeName(fn.Recv.List[0].Type)+"."+fn.Name.Name] = fn
			}
		}
	}
	found := 0
	for name, routes := range methods {
		if !strings.HasPrefix(name, "handler.") || !strings.HasSuffix(name, "Routes") ||
			len(routes.Type.Params.List) != 1 {
			continue
		}
		of := typeName(routes.Type.Params.List[0].Type)
		ast.Inspect(routes.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || calledName(call) != "Handle" || !isForm(call.Args[0]) {
				return true
			}
			action := call.Args[1]
			for wrapper, ok := action.(*ast.CallExpr); ok; wrapper, ok = action.(*ast.CallExpr) {
				action = wrapper.Args[len(wrapper.Args)-1]
			}
			method := of + "." + action.(*ast.SelectorExpr).Sel.Name
			found++
			if method != "auditLogHandler.verify" && !audits(methods, of, methods[method], 3) {
				t.Errorf("the form of %s adds no entry to the audit log", method)
			}
			return true
		})
	}
	if found < 30 {
		t.Errorf("found %d forms, want at least 30", found)
	}
}

func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// isForm reports whether the pattern of a route begins with POST.
func isForm(pattern ast.Expr) bool {
	for {
		sum, ok := pattern.(*ast.BinaryExpr)
		if !ok {
			break
		}
		pattern = sum.X
	}
	literal, ok := pattern.(*ast.BasicLit)
	return ok && strings.HasPrefix(literal.Value, `"POST `)
}

// audits reports whether a method calls audit or auditEach, itself or by methods of its type.
func audits(methods map[string]*ast.FuncDecl, of string, fn *ast.FuncDecl, depth int) (found bool) {
	if fn == nil || depth == 0 {
		return false
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name := calledName(call)
			found = found || name == "audit" || name == "auditEach" ||
				audits(methods, of, methods[of+"."+name], depth-1)
		}
		return !found
	})
	return found
}
