package fieldmark_test

import (
	"os"
	"regexp"
	"testing"
)

// TestImageHasToolchain: the image of Go builds with the release it has, whatever go.mod prefers, so the tag must name
// the release of go.mod, which has no known holes in the standard library.
func TestImageHasToolchain(t *testing.T) {
	find := func(file, pattern string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return string(m[1])
	}
	want := find("go.mod", `(?m)^toolchain go(\S+)$`)
	for _, got := range []string{find("deploy/Dockerfile", `/golang:([0-9.]+)-`),
		find("deploy/check/go.mod", `(?m)^toolchain go(\S+)$`)} {
		if got != want {
			t.Errorf("Go %s, want %s", got, want)
		}
	}
}

// TestImagesAreQualified checks that every image has a registry and a tag. Without a
// registry, the engine chooses one; without a tag, it pulls the newest image.
func TestImagesAreQualified(t *testing.T) {
	image := regexp.MustCompile(`(?m)^(?:FROM(?: --platform=\S+)?|\s+image:) +(\S+)`)
	qualified := regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+/[a-z0-9._/-]+:[a-zA-Z0-9._-]+(@sha256:[0-9a-f]{64})?$`)
	const built = "fieldmark" // built by compose from the Dockerfile
	for file, want := range map[string]int{"deploy/Dockerfile": 2, "deploy/compose.yaml": 4} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := image.FindAllSubmatch(text, -1)
		if len(found) < want {
			t.Errorf("%s: found %d images, want %d or more", file, len(found), want)
		}
		for _, m := range found {
			if name := string(m[1]); name != built && !qualified.MatchString(name) {
				t.Errorf("%s: image %s: want REGISTRY/NAME:TAG", file, name)
			}
		}
	}
}
