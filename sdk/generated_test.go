package sdk_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/sdktest"
	"github.com/fieldmark/fieldmark/sdk"
)

var update = flag.Bool("update", false, "generate schema.d.ts and dist again")

// TestGeneratedFiles generates the types of the TypeScript client from the OpenAPI document, and compiles it. With
// -update it writes what differs.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(sdktest.Folder(t), "typescript")
	compare(t, filepath.Join(folder, "schema.d.ts"), sdktest.Types(t, clientPart(t, sdktest.OpenAPI(t))))
	built := sdktest.Compile(t)
	names, err := os.ReadDir(built)
	if err != nil || len(names) != 4 {
		t.Fatalf("the compiler wrote %v: %v", names, err)
	}
	for _, f := range names {
		b, err := os.ReadFile(filepath.Join(built, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, filepath.Join(folder, "dist", f.Name()), b)
	}
}

// TestForeignTypes generates the types of the whole OpenAPI document and compiles them under strict.
func TestForeignTypes(t *testing.T) {
	t.Parallel()
	types := string(sdktest.Types(t, sdktest.OpenAPI(t)))
	for _, name := range []string{`"mission.completed": {`, "openMission: {", "Mission: {"} {
		if !strings.Contains(types, name) {
			t.Errorf("the types have no %s", name)
		}
	}
}

// TestPackage: the npm package has the compiled client and its types, no dependencies and no scripts, and is small.
func TestPackage(t *testing.T) {
	packed, err := sdk.NPM()
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files, code := map[string][]byte{}, 0
	for archive := tar.NewReader(zip); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".js") {
			code += len(files[h.Name])
		}
	}
	want := []string{"package/dist/index.d.ts", "package/dist/index.js", "package/dist/schema.d.ts",
		"package/dist/webhook.d.ts", "package/dist/webhook.js", "package/package.json"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the package has %v, want %v", got, want)
	}
	var about map[string]any
	if err := json.Unmarshal(files["package/package.json"], &about); err != nil || about["dependencies"] != nil ||
		about["scripts"] != nil {
		t.Errorf("package.json: %v, %v", about, err)
	}
	const most = 16 << 10 // bytes of code, uncompressed
	if code > most {
		t.Errorf("the code has %d bytes, want at most %d", code, most)
	}
}

func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what is generated now; run this test with -update (%v)", path, err)
	}
}

// schemaRef matches references to schemas.
var schemaRef = regexp.MustCompile(`"#/components/schemas/([^"]+)"`)

// clientPart returns the part of the OpenAPI document that the client uses: its types must not change with those of
// administrators.
func clientPart(t *testing.T, raw []byte) []byte {
	t.Helper()
	var doc struct {
		OpenAPI    string                     `json:"openapi"`
		Info       json.RawMessage            `json:"info"`
		Paths      map[string]json.RawMessage `json:"paths"`
		Components struct {
			Responses       map[string]json.RawMessage `json:"responses"`
			Schemas         map[string]json.RawMessage `json:"schemas"`
			SecuritySchemes json.RawMessage            `json:"securitySchemes"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	used := map[string]json.RawMessage{}
	var add func(text []byte)
	add = func(text []byte) {
		for _, m := range schemaRef.FindAllSubmatch(text, -1) {
			if name := string(m[1]); used[name] == nil {
				used[name] = doc.Components.Schemas[name]
				add(used[name])
			}
		}
	}
	for path, item := range doc.Paths {
		if !strings.HasPrefix(path, fieldmark.PathMissions) && !strings.HasPrefix(path, fieldmark.PathWebhooks) &&
			path != fieldmark.PathPublicEvents && path != fieldmark.PathScore+"{slug}" {
			delete(doc.Paths, path)
			continue
		}
		add(item)
	}
	for _, response := range doc.Components.Responses {
		add(response)
	}
	doc.Components.Schemas = used
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
