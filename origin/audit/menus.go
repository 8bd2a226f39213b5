package audit

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// menuShare is the share of an element's text, in percent, that must stand in
// links before its class or id is believed when it calls itself a menu: the
// menu of a restaurant is text.
const menuShare = 80

// menuWords are what templates call their menus where they do not use nav. A
// sidebar is not among them: as many hold the summary of the page.
var menuWords = setOf("nav", "menu", "submenu", "navbar", "navigation", "breadcrumb", "breadcrumbs", "pagination", "pager")

// menuEnds are the same as the last part of a word: topnav, mainmenu.
var menuEnds = []string{"menu", "nav", "navbar", "breadcrumb", "breadcrumbs"}

// markMenus gives the role of a navigation to the elements that are one by
// their class or id and by being made of links, so that from there on they
// count as the frame they are.
func markMenus(doc *html.Node) { weighLinks(doc, false) }

// weight is what stands under a node: the bytes of its text, those in links,
// and whether it holds what a page is about.
type weight struct {
	text, links int
	main        bool
}

// weighLinks weighs n, which is under a link if linked, and marks the menus in it.
func weighLinks(n *html.Node, linked bool) (w weight) {
	switch n.Type {
	case html.TextNode:
		w.text = len(strings.TrimSpace(n.Data))
		if linked {
			w.links = w.text
		}
		return w
	case html.ElementNode:
		switch n.Data {
		case "script", "style":
			return w
		case "a":
			linked = true
		case "main", "article", "h1":
			w.main = true
		}
		w.main = w.main || strings.EqualFold(attr(n, "role"), "main")
	}
	for c := range n.ChildNodes() {
		in := weighLinks(c, linked)
		w.text, w.links, w.main = w.text+in.text, w.links+in.links, w.main || in.main
	}
	if !w.main && w.links > 0 && w.links*100 >= w.text*menuShare && namedMenu(n) {
		n.Attr = append(n.Attr, html.Attribute{Key: "role", Val: "navigation"})
	}
	return w
}

// namedMenu reports whether an element calls itself a menu. What says of itself
// what it is needs no guess.
func namedMenu(n *html.Node) bool {
	if n.Type != html.ElementNode || n.Namespace != "" || hasAttr(n, "role") {
		return false
	}
	switch n.Data {
	case "div", "ul", "ol", "section", "table", "td", "p", "span":
	default:
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(attr(n, "class")+" "+attr(n, "id")), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool {
		return menuWords[word] || slices.ContainsFunc(menuEnds, func(end string) bool { return strings.HasSuffix(word, end) })
	})
}
