package wasmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/examples"
)

// compilers are the programs that an example needs, one of each list.
var compilers = map[string][][]string{
	"c": {{"clang-19", "clang"}, {"wasm-ld-19", "wasm-ld"}}, "assemblyscript": {{"npm"}, {"node"}},
	"go": {{"go"}}, "rust": {{"cargo"}},
}

// Example builds the example of a language from a project as `fieldmark module new` makes it,
// and returns the packed module and its card. The test is skipped without the compiler, but
// fails in CI.
func Example(t *testing.T, language string) ([]byte, *card.Card) {
	t.Helper()
	for _, names := range compilers[language] {
		found := false
		for _, name := range names {
			_, err := exec.LookPath(name)
			found = found || err == nil
		}
		if !found {
			lacking(t, "none of %v is on the PATH", names)
		}
	}
	folder := filepath.Join(t.TempDir(), "scorer")
	must(t, examples.Write(language, folder))
	text, err := os.ReadFile(filepath.Join(folder, "card.json"))
	must(t, err)
	oracle, err := card.Parse(text)
	must(t, err)
	if language == "card" {
		module, err := oracle.Compile()
		must(t, err)
		return module, oracle
	}
	// A card is the only language without a compiler; all others build by the script that authors get.
	env := os.Environ()
	switch language {
	case "assemblyscript":
		env = append(env, "ASC="+AssemblyScript(t))
	case "rust":
		compiler := Rustc(t)
		env = append(env, "RUSTC="+compiler)
		if compiler == debianRustc { // it lacks rust-lld, the default linker of the target
			env = append(env, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19")
		}
	case "go":
		folder = filepath.Join(sources(t), "go") // it imports the SDK, which is in this module
	}
	raw := filepath.Join(t.TempDir(), "raw.wasm")
	caller := filepath.Dir(folder)
	output, err := filepath.Rel(caller, raw) // as an author writes it, unlike the folder of the script
	must(t, err)
	// From the folder above, because authors call the script so, and it must find its sources.
	build := exec.Command("sh", filepath.Join(filepath.Base(folder), "build.sh"), output)
	build.Dir, build.Env = caller, env
	// A new project compiles without a warning.
	if said, err := build.CombinedOutput(); err != nil || len(said) > 0 {
		t.Fatalf("build.sh: %v\n%s", err, said)
	}
	compiled, err := os.ReadFile(raw)
	must(t, err)
	// With the manifest and vectors of the card, so that the module is checked against it.
	packed, err := wasm.Pack(compiled, oracle.Manifest(), oracle.Vectors(), false)
	must(t, err)
	return packed, oracle
}

// debianRustc is the compiler that .ci/tools gives the target wasm32-unknown-unknown where no other has it.
const debianRustc = "/usr/bin/rustc"

// Rustc returns a compiler of Rust that has the target wasm32-unknown-unknown.
func Rustc(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"rustc", debianRustc} {
		out, err := exec.Command(name, "--print", "target-libdir", "--target", "wasm32-unknown-unknown").Output()
		// The name of the folder is printed whether or not the target is installed.
		if err == nil && exists(strings.TrimSpace(string(out))) {
			return name
		}
	}
	lacking(t, "no rustc has the target wasm32-unknown-unknown")
	return ""
}

// AssemblyScript returns the path of AssemblyScript's compiler, which npm installs the first time.
func AssemblyScript(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	folder := filepath.Join(cache, "fieldmark-npm", "assemblyscript")
	tool := filepath.Join(folder, "node_modules", ".bin", "asc")
	if exists(tool) {
		return tool
	}
	must(t, os.MkdirAll(folder, 0o755))
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(sources(t), "assemblyscript", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(folder, name), text, 0o644))
	}
	// ci installs what the lock file names and runs no scripts of packages.
	install := exec.Command("npm", "ci", "--silent", "--ignore-scripts")
	install.Dir = folder
	if said, err := install.CombinedOutput(); err != nil {
		lacking(t, "npm could not install AssemblyScript: %v\n%s", err, said)
	}
	return tool
}

// sources returns the folder of the examples in this repository.
func sources(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/fieldmark/fieldmark/wasm/examples").Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// lacking skips a test without what it needs, or fails it in CI.
func lacking(t *testing.T, format string, args ...any) {
	t.Helper()
	// CI has every compiler, so a skipped test there would hide a missing one.
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// exists reports whether a path can be read; any error is treated as a missing file.
func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
