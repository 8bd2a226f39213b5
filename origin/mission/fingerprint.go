package mission

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Fingerprint returns a digest of a validated request. It distinguishes a retry from a
// different mission with the same source and externalId: the order of members, the case of the
// source and the escaping of text do not matter. Numbers keep their digits: 1.0 and 1 differ.
func Fingerprint(r *fieldmark.MissionRequest) (fieldmark.Digest, error) {
	same := *r
	same.Source = strings.ToLower(r.Source)
	// Metadata are raw JSON: decoding and encoding sorts their members.
	if len(r.Metadata) > 0 {
		var tree any
		err := decodeDocument(r.Metadata, &tree)
		if err == nil {
			same.Metadata, err = json.Marshal(tree)
		}
		if err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(same)
	if err != nil {
		return "", err
	}
	return fieldmark.DigestOf(sha256.Sum256(b)), nil
}

// documentOf returns the request as decoded JSON, with the source in lower case.
func documentOf(r *fieldmark.MissionRequest) (map[string]any, error) {
	same := *r
	same.Source = strings.ToLower(r.Source)
	b, err := json.Marshal(same)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, decodeDocument(b, &tree)
}

// decodeDocument decodes JSON without losing digits of numbers. encoding/json would decode them
// into float64, which has 53 bits.
func decodeDocument(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}

// Differences returns the members in which two validated requests differ, by JSON
// Pointer and without their values, which may be private.
func Differences(a, b *fieldmark.MissionRequest) (validation.Errors, error) {
	first, err := documentOf(a)
	if err != nil {
		return nil, err
	}
	second, err := documentOf(b)
	if err != nil {
		return nil, err
	}
	var c validator
	c.differ("", first, second)
	slices.SortFunc(c.Errors, func(a, b fieldmark.FieldError) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return c.Errors, nil
}

// differ compares objects member by member; any other value is one difference.
func (c *validator) differ(at string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for name := range names {
		va, vb := a[name], b[name]
		oa, inA := va.(map[string]any)
		ob, inB := vb.(map[string]any)
		switch {
		case inA && inB:
			c.differ(validation.Pointer(at, name), oa, ob)
		case !sameJSON(va, vb):
			c.Add(validation.Pointer(at, name), "conflict", "differs from what the mission was opened with")
		}
	}
}

// sameJSON compares decoded values by their encoding, in which the members of objects are
// sorted.
func sameJSON(a, b any) bool {
	ta, errA := json.Marshal(a)
	tb, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(ta, tb)
}
