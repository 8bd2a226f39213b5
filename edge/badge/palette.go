package badge

import "github.com/fieldmark/fieldmark"

// gradeColor is the colour of a grade or a state. Its letter is part of a class of its
// own, so that badges of different colours can stand inlined in one page: a
// style element is valid for the whole document.
type gradeColor struct {
	class  byte
	letter byte   // of the grade; 0 for a state
	light  string // on the light surface, and behind white
	dark   string // on the dark surface
}

// Every color has a contrast of at least 4.5 on its surface (WCAG 2.2, 1.4.3).
var (
	grades = [...]gradeColor{
		{class: 'A', letter: 'A', light: "#1a7f37", dark: "#3fb950"},
		{class: 'B', letter: 'B', light: "#4d7c0f", dark: "#8ac926"},
		{class: 'C', letter: 'C', light: "#9a6700", dark: "#d29922"},
		{class: 'D', letter: 'D', light: "#bc4c00", dark: "#f0883e"},
		{class: 'E', letter: 'E', light: "#cf222e", dark: "#f85149"},
	}
	grey  = gradeColor{class: 'N', light: "#59636e", dark: "#9198a1"}
	amber = gradeColor{class: 'O', light: "#9a6700", dark: "#d29922"}
)

// colorOf returns the color of a grade; what is no grade is written in grey.
func colorOf(g fieldmark.Grade) *gradeColor {
	for i := range grades {
		if len(g) == 1 && g[0] == grades[i].letter {
			return &grades[i]
		}
	}
	return &grey
}

// scheme holds the colours that do not depend on the score.
type scheme struct {
	surface, border string // of pill, card and seal
	muted           string // of notes on the surface
	textFill        string // the fill of words on the surface, as an attribute
	mutedFill       string // that of notes
	text            string // the colour in textFill
	label           string // behind the white words of compact
}

// schemes are the colours of each theme's attributes: automatic badges are
// light ones with a style.
var schemes = [themeCount]scheme{
	Auto:  light,
	Light: light,
	Dark:  dark,
	Mono: {surface: "#fff", border: monoInk, label: monoInk, text: monoInk, muted: monoInk,
		textFill: ` fill="` + monoInk + `"`, mutedFill: ` fill="` + monoInk + `"`},
}

var (
	light = scheme{surface: "#fff", border: "#ccc", text: "#222", textFill: ` fill="#222"`, muted: "#59636e",
		mutedFill: ` fill="#59636e"`, label: "#24292f"}
	dark = scheme{surface: "#0d1117", border: darkBorder, text: "#eee", textFill: ` fill="#eee"`, muted: "#9198a1",
		mutedFill: ` fill="#9198a1"`, label: "#3d444d"}
)

const (
	monoInk    = "#222"
	monoTint   = "#666" // monoInk behind white words, where two parts meet
	darkBorder = "#445"
	// shieldsLabel is the left half of every badge of shields.io.
	shieldsLabel = "#555"
)

// color returns the colour of the grade or state in attributes.
func (p *svgWriter) color() string {
	switch p.options.Theme {
	case Dark:
		return p.content.color.dark
	case Mono:
		return monoInk
	}
	return p.content.color.light
}

// backdrop returns the background color behind the white words about the score: the
// light-theme color in every theme, because white text needs a dark background.
func (p *svgWriter) backdrop() string {
	if p.options.Theme == Mono {
		return monoTint
	}
	return p.content.color.light
}
