package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark/origin/audit/schema"
)

// TestValueReadOnce: the text of an element is read once, however many properties it is the
// value of, and not at all beyond the limit of values.
func TestValueReadOnce(t *testing.T) {
	const names, elements, maxValues = 700, 20, 10_000
	var list strings.Builder
	for i := range names {
		fmt.Fprintf(&list, "n%d ", i)
	}
	doc, err := html.Parse(strings.NewReader("<div itemscope>" +
		strings.Repeat("<div itemprop=\""+list.String()+"\">", elements)))
	if err != nil {
		t.Fatal(err)
	}
	reads, values := 0, 0
	things := schema.Microdata(doc, func(*html.Node, int) string { reads++; return "" })
	for _, v := range things[0].Text {
		values += len(v)
	}
	if want := (maxValues + names - 1) / names; reads != want || values != maxValues {
		t.Errorf("%d values, text read %d times; want %d values, read %d times", values, reads, maxValues, want)
	}
}
