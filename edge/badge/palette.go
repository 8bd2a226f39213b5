package badge

import "github.com/fieldmark/fieldmark"

// ink is the colour of a grade or a state. Its class is its own, so that badges
// of different colours can stand inlined in one page: a style element is valid
// for the whole document.
type ink struct {
	class  string
	letter byte   // of the grade; 0 for a state
	light  string // on the light surface
	dark   string // on the dark surface
}

// Every ink has a contrast of at least 4.5 on its surface (WCAG 2.2, 1.4.3).
var (
	grades = [...]ink{
		{class: "fmA", letter: 'A', light: "#1a7f37", dark: "#3fb950"},
		{class: "fmB", letter: 'B', light: "#4d7c0f", dark: "#8ac926"},
		{class: "fmC", letter: 'C', light: "#9a6700", dark: "#d29922"},
		{class: "fmD", letter: 'D', light: "#bc4c00", dark: "#f0883e"},
		{class: "fmE", letter: 'E', light: "#cf222e", dark: "#f85149"},
	}
	grey  = ink{class: "fmN", light: "#59636e", dark: "#9198a1"}
	amber = ink{class: "fmO", light: "#9a6700", dark: "#d29922"}
)

// inkOf returns the ink of a grade; what is no grade is written in grey.
func inkOf(g fieldmark.Grade) *ink {
	for i := range grades {
		if len(g) == 1 && g[0] == grades[i].letter {
			return &grades[i]
		}
	}
	return &grey
}

// The colours that do not depend on the score.
const (
	lightSurface, darkSurface = "#fff", "#0d1117"
	lightBorder, darkBorder   = "#ccc", "#445"
	lightText, darkText       = "#222", "#eee"
)
