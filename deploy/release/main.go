// Command release builds the published files: for each platform one archive with the
// binary, its manual page, its licence, the licences of linked modules and a bill of
// materials; the clients in TypeScript and Python; and the checksums of all files. The
// same sources, version and Go release give the same bytes on every machine.
//
//	go run ./deploy/release -version v1.2.3 -out dist
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/sdk"
)

// platforms are the operating systems and architectures with an archive.
// All are cross-compiled, which needs no C compiler because SQLite is linked in its Go translation.
var platforms = []struct{ os, arch string }{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

// epoch is the modification time of every file in an archive, the earliest that zip can
// encode. With the build time, two builds of the same sources would differ.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// member is a file of an archive.
type member struct {
	name string
	mode int64
	data []byte
}

func main() {
	version := flag.String("version", "dev", "what the binaries say they are")
	out := flag.String("out", "dist", "folder of the archives; what is in it goes")
	licences := flag.Bool("licences", false, "only check the licences of what is linked")
	flag.Parse()
	if *licences {
		if err := checkLicences(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "licences:", err)
			os.Exit(1)
		}
		return
	}
	if err := release(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds everything into an empty folder. An error leaves it incomplete, without SHA256SUMS.
func release(version, out string) error {
	// A file of an earlier version would be published and counted in SHA256SUMS.
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	// One manual page serves all platforms: settings and commands do not differ between them.
	manual, err := manualPage(version)
	if err != nil {
		return err
	}
	files, err := clients(out)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	for _, p := range platforms {
		made, err := archive(p.os, p.arch, version, out, manual)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		files = append(files, made...)
	}
	// The format of sha256sum -c: two spaces before the name.
	var sums strings.Builder
	for _, name := range files {
		// Read back from the disk: the sums are of what was written.
		raw, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(raw), name)
		fmt.Println(name, len(raw)>>10, "KiB")
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// clients writes the clients of the API in TypeScript, as npm pack makes them, and in Python, and returns their
// names.
func clients(out string) ([]string, error) {
	packed, err := sdk.NPM()
	if err != nil {
		return nil, err
	}
	names := []string{sdk.NPMFile, sdk.PythonFile}
	for i, content := range [][]byte{packed, sdk.Python()} {
		if err := os.WriteFile(filepath.Join(out, names[i]), content, 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// manualPage returns the manual page, which it generates with a binary for this
// machine.
func manualPage(version string) ([]byte, error) {
	cmd := exec.Command("go", "run", "-ldflags", "-X main.version="+version, "./cmd/fieldmark", "man")
	cmd.Stderr = os.Stderr
	page, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("write the manual page: %w", err)
	}
	return page, nil
}

// archive builds for one platform and returns the names of what it made.
func archive(goos, arch, version, out string, manual []byte) ([]string, error) {
	base := fmt.Sprintf("fieldmark-%s-%s-%s", version, goos, arch)
	binary := filepath.Join(out, base+".bin")
	// -trimpath and -buildvcs=false keep the machine's paths and the state of the checkout out of the binary; the
	// linker leaves out symbols, DWARF and the build id, which a release does not need.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= -X main.version="+version, "-o", binary, "./cmd/fieldmark")
	// GOFLAGS of the environment is replaced, because it could change the bytes.
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	raw, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	modules, err := linked(goos, arch)
	if err != nil {
		return nil, err
	}
	// The bill is read from the binary that is packed, not from go.mod, so it lists exactly what is linked.
	bill, err := materials(raw, version, modules)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(binary); err != nil {
		return nil, err
	}
	name := "fieldmark"
	if goos == "windows" {
		name += ".exe"
	}
	members := []member{{name, 0o755, raw}, {"fieldmark.1", 0o644, manual},
		{"THIRD_PARTY_LICENSES", 0o644, credits(modules)}}
	for _, doc := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			return nil, err
		}
		members = append(members, member{doc, 0o644, text})
	}
	pack, end := tarball, ".tar.gz"
	// Windows opens zip files without another program.
	if goos == "windows" {
		pack, end = zipped, ".zip"
	}
	packed, err := pack(base, members)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	// .cdx.json is the file name that CycloneDX recommends; scanners recognize it.
	made := []string{base + end, base + ".cdx.json"}
	if err := os.WriteFile(filepath.Join(out, made[0]), packed, 0o644); err != nil {
		return nil, err
	}
	// The bill is beside the archive, not in it: scanners read it without unpacking.
	return made, os.WriteFile(filepath.Join(out, made[1]), bill, 0o644)
}

// tarball packs members into a folder named base. Owner, group and the time in the gzip header stay zero, because
// they would differ between machines.
func tarball(base string, members []member) ([]byte, error) {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, m := range members {
		if err := tw.WriteHeader(&tar.Header{Name: base + "/" + m.name, Mode: m.mode, Size: int64(len(m.data)),
			ModTime: epoch, Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := tw.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	err = zw.Close()
	return b.Bytes(), err
}

// zipped packs members into a folder named base. It sets no modes, which Windows does not have.
func zipped(base string, members []member) ([]byte, error) {
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, m := range members {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: base + "/" + m.name, Method: zip.Deflate, Modified: epoch})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	err := zw.Close()
	return b.Bytes(), err
}

// The parts of a CycloneDX 1.6 bill of materials (ECMA-424) that the build information
// of a Go binary provides.
type billOfMaterials struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

// component is a module. PURL is its package URL (ECMA-427), by which vulnerability databases find it.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`

	Licences []licence `json:"licenses,omitempty"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

// materials lists the modules linked into a binary, from its build information.
func materials(binary []byte, version string, modules []module) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("read what the binary is made of: %w", err)
	}
	bill := billOfMaterials{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	bill.Metadata.Component = component{"application", info.Main.Path, version,
		"pkg:golang/" + info.Main.Path + "@" + version, under("Apache-2.0")}
	// The standard library is a component too: vulnerabilities are reported for its version.
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	bill.Components = []component{{"library", "std", goVersion, "pkg:golang/std@" + goVersion, under("BSD-3-Clause")}}
	for _, m := range info.Deps {
		// A replaced module is known to vulnerability databases by what replaces it.
		if m.Replace != nil {
			m = m.Replace
		}
		i := slices.IndexFunc(modules, func(o module) bool { return o.Path == m.Path })
		// The list and the binary come from two commands; if they disagree, a licence would be missing.
		if i < 0 {
			return nil, fmt.Errorf("%s is linked and was not listed", m.Path)
		}
		bill.Components = append(bill.Components, component{"library", m.Path, m.Version,
			"pkg:golang/" + m.Path + "@" + m.Version, under(modules[i].licences...)})
	}
	// In a fixed order, so that the bill has the same bytes for the same sources.
	slices.SortFunc(bill.Components, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	raw, err := json.MarshalIndent(bill, "", "  ")
	return append(raw, '\n'), err
}

// under returns licences by their SPDX identifiers, as CycloneDX has them.
func under(names ...string) []licence {
	all := make([]licence, len(names))
	for i, name := range names {
		all[i].License.ID = name
	}
	return all
}
