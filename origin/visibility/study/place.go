package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark/origin/validation"
)

// addPlaces adds the line and column in a text of JSON to the errors about it. A member that is missing has the place
// of the object that it is missing in.
func addPlaces(body []byte, bad validation.Errors) {
	f := finder{in: json.NewDecoder(bytes.NewReader(body)), body: body, wanted: map[string]bool{},
		at: map[string]int64{}}
	for i := range bad {
		for p := bad[i].Pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
			f.wanted[p] = true
		}
	}
	f.value("")
	places := make([]int64, len(bad))
	order := make([]int, len(bad))
	for i := range bad {
		p := bad[i].Pointer
		for ; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
			if _, found := f.at[p]; found {
				break
			}
		}
		places[i], order[i] = f.at[p], i
	}
	// In the order of the text, so that its lines are counted once, and not for each of 1,000 errors.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	line, begin, from := 1, int64(0), int64(0)
	for _, i := range order {
		text := body[from:places[i]]
		line += bytes.Count(text, []byte("\n"))
		if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
			begin = from + int64(last) + 1
		}
		from = places[i]
		bad[i].Detail += fmt.Sprintf(", line %d, column %d", line, from-begin+1)
	}
}

// finder finds where values are in a text that is JSON.
type finder struct {
	in     *json.Decoder
	body   []byte
	wanted map[string]bool  // JSON Pointers (RFC 6901), with those of what contains them
	at     map[string]int64 // offsets of the values that were found
}

// value reads the next value, whose pointer is at. Values that nothing is wanted of are skipped as a whole: a
// document has up to 250,000 rows.
func (f *finder) value(at string) {
	start := f.in.InputOffset()
	for start < int64(len(f.body)) && strings.IndexByte(" \t\r\n,:", f.body[start]) >= 0 {
		start++
	}
	f.at[at] = start
	begin, err := f.in.Token()
	switch {
	case err != nil:
		return // the text was decoded before, so this is its end
	case begin == json.Delim('{'):
		for f.in.More() {
			name, err := f.in.Token()
			if err != nil {
				return
			}
			f.member(validation.Pointer(at, fmt.Sprint(name)))
		}
		_, _ = f.in.Token() // the end of the object
	case begin == json.Delim('['):
		for i := 0; f.in.More(); i++ {
			f.member(at + "/" + strconv.Itoa(i))
		}
		_, _ = f.in.Token()
	}
}

func (f *finder) member(at string) {
	if f.wanted[at] {
		f.value(at)
		return
	}
	var skipped json.RawMessage
	_ = f.in.Decode(&skipped) // the text was decoded before
}
