package style

import "golang.org/x/net/html"

// MaxSteps is the limit of work for one document.
const MaxSteps = maxSteps

// Cost computes the style of a document. exceeded reports whether the style elements
// exceed a limit; steps is the work they caused.
func Cost(doc *html.Node) (exceeded bool, steps int) {
	w := &walker{sheet: newSheet()}
	external, canvas := w.readSheets(doc)
	if !w.sheet.exceeded() {
		w.run(doc, external, canvas)
	}
	return w.sheet.exceeded(), maxSteps - w.sheet.left
}
