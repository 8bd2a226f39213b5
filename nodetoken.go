package fieldmark

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// NodeTokens are the node tokens an origin accepts from edges: two while the token
// is being changed. The zero value accepts none.
type NodeTokens struct {
	sums [][sha256.Size]byte // hashed, so that comparing takes the same time at any length
}

// ParseNodeTokens reads tokens with commas between, as FIELDMARK_NODE_TOKEN has
// them. Empty ones are left out.
func ParseNodeTokens(list string) (t NodeTokens) {
	for _, token := range SplitNodeTokens(list) {
		if token != "" {
			t.sums = append(t.sums, sha256.Sum256([]byte(token)))
		}
	}
	return t
}

// SplitNodeTokens returns the tokens of a list, without the spaces around them. An
// edge sends the first.
func SplitNodeTokens(list string) []string {
	tokens := strings.Split(list, ",")
	for i := range tokens {
		tokens[i] = strings.TrimSpace(tokens[i])
	}
	return tokens
}

// Contains reports whether token is one of t, in a time that does not depend on
// which, or on how much of it is right.
func (t NodeTokens) Contains(token string) bool {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range t.sums {
		found |= subtle.ConstantTimeCompare(sum[:], t.sums[i][:])
	}
	return found == 1
}
