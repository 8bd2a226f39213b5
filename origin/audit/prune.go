package audit

import "golang.org/x/net/html"

// What a document may hold. Everything below walks the tree, and some of it
// looks up from a node to the root, so a page of a few million tiny elements
// or of one element with a million attributes would cost minutes. Real pages
// stay under a hundred thousand nodes and thirty attributes.
const (
	maxNodes     = 200_000
	maxAttrs     = 64
	maxAttrBytes = 4 << 10
)

// prune cuts a document down to its limits, keeping what comes first.
func prune(doc *html.Node) {
	count := 0
	var excess []*html.Node
	for n := range doc.Descendants() {
		if count++; count > maxNodes {
			if len(excess) == 0 || !isUnder(n, excess[len(excess)-1]) {
				excess = append(excess, n)
			}
			continue
		}
		if len(n.Attr) > maxAttrs {
			n.Attr = n.Attr[:maxAttrs]
		}
		for i := range n.Attr {
			a := &n.Attr[i]
			if len(a.Val) > maxAttrBytes {
				a.Val = a.Val[:maxAttrBytes]
			}
			if a.Key == "style" { // asked of every ancestor of every node, so it is read once
				a.Val = reduceStyle(a.Val)
			}
		}
	}
	for _, n := range excess {
		n.Parent.RemoveChild(n)
	}
}
