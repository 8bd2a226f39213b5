package sdktest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// generators pins the generators of TypeScript. openapi-typescript works with a compiler before 7.
const generators = `{
  "private": true,
  "dependencies": {
    "openapi-typescript": "7.13.0",
    "typescript": "5.9.3",
    "typescript7": "npm:typescript@7.0.2"
  }
}
`

// OpenAPI returns the document that the API publishes now.
// It is the golden file, which TestOpenAPI keeps equal to what the server sends.
func OpenAPI(t *testing.T) []byte {
	t.Helper()
	return read(t, filepath.Join(Folder(t), "..", "origin", "api", "testdata", "openapi.json"))
}

// Generated returns the path of a Go program whose client oapi-codegen has generated from the document.
// The program is a module, so its dependencies are not those of the product.
func Generated(t *testing.T) string {
	t.Helper()
	files, source := map[string][]byte{"openapi.json": OpenAPI(t)}, filepath.Join(Folder(t), "testdata", "generated")
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		files[name] = read(t, filepath.Join(source, name))
	}
	dir := cached(t, "go", files, func(dir string) error {
		// Building proves that the generated client compiles; its test then uses it.
		return errors.Join(run(dir, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "main",
			"-o", "client.go", "openapi.json"), run(dir, "go", "build", "-o", "generated", "."))
	})
	return filepath.Join(dir, "generated")
}

// Types returns the types that openapi-typescript generates from a document. They compile under strict.
func Types(t *testing.T, openAPI []byte) []byte {
	t.Helper()
	tools := npmTools(t, "npm", generators)
	dir := cached(t, "types", map[string][]byte{"openapi.json": openAPI, "generators": []byte(generators)},
		func(dir string) error {
			return errors.Join(
				run(dir, "node", filepath.Join(tools, "openapi-typescript", "bin", "cli.js"), "openapi.json",
					"-o", "schema.d.ts"),
				// The document of types must compile with the newest compiler, which clients use, not only with that
				// of the generator.
				run(dir, "node", filepath.Join(tools, "typescript7", "bin", "tsc"), "--strict", "--noEmit",
					"schema.d.ts"))
		})
	return read(t, filepath.Join(dir, "schema.d.ts"))
}

// Compile compiles the TypeScript client, and returns the folder of the result.
func Compile(t *testing.T) string {
	t.Helper()
	tools, source := npmTools(t, "npm", generators), filepath.Join(Folder(t), "typescript")
	files := map[string][]byte{"generators": []byte(generators)}
	for _, name := range []string{"index.ts", "webhook.ts", "schema.d.ts", "tsconfig.json", "package.json"} {
		files[name] = read(t, filepath.Join(source, name))
	}
	dir := cached(t, "typescript", files, func(dir string) error {
		return run(dir, "node", filepath.Join(tools, "typescript7", "bin", "tsc"), "-p", ".")
	})
	return filepath.Join(dir, "dist")
}

// cached returns a folder with files and what fill makes of them. The same files are made into it once on a
// machine: the result depends on nothing else, and the tools need seconds of processor time.
func cached(t *testing.T, name string, files map[string][]byte, fill func(dir string) error) string {
	t.Helper()
	// Of the user, not of the work tree: all work trees share the results.
	top, err := os.UserCacheDir()
	if err != nil {
		missing(t, err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q", files) // in the order of the names
	top = filepath.Join(top, "fieldmark-generated")
	dir := filepath.Join(top, name+"-"+hex.EncodeToString(sum.Sum(nil)))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	// Made in a temporary folder and then renamed, so that an incomplete result is never used.
	if err := os.MkdirAll(top, 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(top, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(fresh, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := fill(fresh); err != nil {
		t.Fatal(err)
	}
	// Results of earlier files are not used again.
	// The pattern has the length of a digest, so that folders in the making are not deleted.
	old, _ := filepath.Glob(filepath.Join(top, name+"-"+strings.Repeat("?", 2*sha256.Size)))
	for _, o := range old[:max(0, len(old)-keptResults)] {
		_ = os.RemoveAll(o)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, err := os.Stat(dir); err != nil { // another process was not faster
			t.Fatal(err)
		}
	}
	return dir
}

// keptResults is how many results of a kind are kept: work trees of several changes alternate.
const keptResults = 20

// npmTools returns the folder of the packages that a package.json names, which it installs the first time.
func npmTools(t *testing.T, name, packages string) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, err)
		}
	}
	dir := cached(t, name, map[string][]byte{"package.json": []byte(packages)}, func(dir string) error {
		// No package may run scripts at installation: one that was taken over would run code on the machine of a
		// developer.
		return run(dir, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock",
			"--loglevel=error")
	})
	return filepath.Join(dir, "node_modules")
}

// missing skips a test for which something is missing on a developer's machine, and fails it in CI.
func missing(t *testing.T, err error) {
	t.Helper()
	// A machine that lacks a tool must not turn a test off in CI without notice.
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// run runs a tool in a folder, outside of the workspace of the repository.
func run(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	// The folder is outside of a repository, where stamping the version fails.
	c.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
