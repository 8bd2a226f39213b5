package badge

import (
	"bytes"
	goflag "flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"testing"
)

// The icons of the site for home screens are its logo on a ground without corners, which
// systems cut to their own shape. They are drawn here and embedded by package site; run the
// tests with -update to draw them again.
func TestIcons(t *testing.T) {
	const logo = `<svg width="32" height="32"><rect width="32" height="32" fill="#16302b"/>` +
		`<g fill="none" stroke-width="4"><circle cx="16" cy="16" r="9" stroke="#3c5a52"/>` +
		`<path d="M16 7a9 9 0 1 1-.1 0z" stroke="#8fd19e" stroke-dasharray="42.4 60" stroke-linecap="round"/></g></svg>`
	for _, size := range []int{180, 192, 512} {
		m, err := rasterise([]byte(logo), float64(size)/32)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := encode(paletted(m))
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("../site/static/icon-%d.png", size)
		if goflag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(name, raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got.Bounds() != image.Rect(0, 0, size, size) {
			t.Errorf("%s: %v, want %d by %d", name, got.Bounds(), size, size)
		}
	}
}
