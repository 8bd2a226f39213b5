package fieldmark

import "strings"

// TagBoard is on everything that shows places in the ranking.
const TagBoard Tag = "board"

// tagBrandPrefix begins the tag of a brand.
const tagBrandPrefix = "brand:"

// Brand returns the slug of a brand's tag.
func (t Tag) Brand() (Slug, bool) {
	s, ok := strings.CutPrefix(string(t), tagBrandPrefix)
	return Slug(s), ok && ValidSlug(s)
}

// TagURL is on whatever an edge has stored of what it passes on, under this host,
// or under any for an empty one. target is a path with its query.
func TagURL(host, target string) Tag { return Tag("url:" + strings.ToLower(host) + target) }

// maxTag bounds a tag, in bytes: an address is the longest there is.
const maxTag = 2100

// ValidTag reports whether t can be a tag: ours, or one that an origin gives its
// answers in Surrogate-Key or Cache-Tag, where neither space nor comma has a place.
func ValidTag(t Tag) bool {
	if strings.HasPrefix(string(t), tagBrandPrefix) {
		_, ok := t.Brand()
		return ok
	}
	for i := range len(t) {
		if t[i] <= ' ' || t[i] == ',' || t[i] >= 0x7f {
			return false
		}
	}
	return t != "" && len(t) <= maxTag
}

// MaxPurgeTags bounds the tags of one purge.
const MaxPurgeTags = 100

// PurgeRequest says what edges shall no longer hold for true, in exactly one of
// three ways.
type PurgeRequest struct {
	Tags       []Tag  `json:"tags,omitempty"`       // whatever carries one of them
	URL        string `json:"url,omitempty"`        // what this address, or path, is made from
	Everything bool   `json:"everything,omitempty"` // all there is
	Hard       bool   `json:"hard,omitempty"`       // not even to be served while the origin is away
}

// Purged is a purge as the log has it, and as its asker gets to see it.
type Purged struct {
	Event      int64 `json:"event,omitempty"` // its number; an edge that follows this far has done it
	Tags       []Tag `json:"tags,omitempty"`
	Everything bool  `json:"everything,omitempty"`
	Hard       bool  `json:"hard,omitempty"`

	URL string `json:"url,omitempty"` // as it was asked for
	By  string `json:"by,omitempty"`  // the key that asked
}
