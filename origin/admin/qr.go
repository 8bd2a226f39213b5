package admin

import (
	"fmt"
	"html/template"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the margin a QR code needs, in modules (ISO/IEC 18004).
const quietZone = 4

// qrCode draws a text as a QR code. It is black on white in dark mode too, because many cameras cannot read
// inverted codes.
func qrCode(text, title string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			from := x
			for x < size && color.GrayModel.Convert(code.At(x, y)).(color.Gray).Y < 128 {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1H%dz", from+quietZone, y+quietZone, x-from, from+quietZone)
			}
		}
	}
	side := size + 2*quietZone
	// The numbers and the path are safe HTML; the title is escaped.
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="%s" `+
		`shape-rendering="crispEdges"><rect width="%d" height="%d" fill="#fff"/><path d="%s" fill="#000"/></svg>`,
		side, side, template.HTMLEscapeString(title), side, side, path.String())), nil
}
