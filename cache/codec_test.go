package cache_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fieldmark/fieldmark/cache"
)

func entries() []*cache.Entry {
	return []*cache.Entry{
		{},
		{Body: []byte("<svg/>"), Head: []byte("A: b\r\n"), Type: "image/svg+xml", ETag: `"x"`, Status: 200,
			Tags: []string{"module", "brand:acme"},
			AsOf: 42, Born: time.Unix(1790000000, 5), Fresh: time.Minute, Stale: time.Hour, OnError: 7 * 24 * time.Hour,
			Took: 3 * time.Millisecond},
		{AsOf: math.MinInt64, Fresh: math.MaxInt64, Stale: math.MinInt64, Status: -1, Tags: []string{"", ""},
			Born: time.Unix(-1, 0)},
		{Body: bytes.Repeat([]byte("x"), 1<<19)},
	}
}

// sameEntry compares bodies as a whole: byte by byte, half a megabyte takes seconds.
var sameEntry = cmp.Options{cmpopts.IgnoreUnexported(cache.Entry{}), cmp.Comparer(func(a, b []byte) bool {
	return (a == nil) == (b == nil) && bytes.Equal(a, b)
})}

func TestEntryRoundTrip(t *testing.T) {
	for i, e := range entries() {
		raw, err := e.AppendBinary([]byte("before"))
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if !strings.HasPrefix(string(raw), "before") {
			t.Errorf("entry %d: existing bytes were overwritten", i)
		}
		var got cache.Entry
		if err := got.UnmarshalBinary(raw[len("before"):]); err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
		if diff := cmp.Diff(e, &got, sameEntry); diff != "" {
			t.Errorf("entry %d (-want +got):\n%s", i, diff)
		}
	}
	if _, err := (&cache.Entry{Body: make([]byte, 1<<20)}).AppendBinary(nil); err == nil {
		t.Error("an entry of a megabyte was encoded, want an error")
	}
}

func FuzzEntry(f *testing.F) {
	for _, e := range entries()[:3] {
		raw, err := e.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e cache.Entry
		if e.UnmarshalBinary(data) == nil {
			again(t, &e)
		}
	})
}

// again checks that a decoded entry survives another round trip.
func again(t *testing.T, e *cache.Entry) {
	raw, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatalf("write what was read: %v", err)
	}
	var got cache.Entry
	if err := got.UnmarshalBinary(raw); err != nil {
		t.Fatalf("read what was written: %v", err)
	}
	if diff := cmp.Diff(e, &got, sameEntry); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
