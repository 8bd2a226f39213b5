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
