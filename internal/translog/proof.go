package translog

import (
	"encoding/base64"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
)

// maxProof bounds the hashes of a proof: one for each level of a tree.
const maxProof = 63

// Verify verifies that a log that signed with one of keys has the record of a proof, and returns both. The
// caller compares the record with the score.
func Verify(p *fieldmark.ScoreProof, keys ...string) (r Record, c Checkpoint, err error) {
	if c, _, err = OpenCheckpoint([]byte(p.Checkpoint), keys...); err != nil {
		return r, c, err
	}
	if r, err = ParseRecord(p.Record); err != nil {
		return r, c, err
	}
	if len(p.Hashes) > maxProof {
		return r, c, fmt.Errorf("the proof has %d hashes, more than %d", len(p.Hashes), maxProof)
	}
	proof := make(tlog.RecordProof, len(p.Hashes))
	for i, text := range p.Hashes {
		if proof[i], err = tlog.ParseHash(text); err != nil {
			return r, c, fmt.Errorf("hash %d of the proof: %w", i, err)
		}
	}
	salt, err := base64.StdEncoding.Strict().DecodeString(p.Salt)
	if err != nil {
		return r, c, fmt.Errorf("the salt of the proof: %w", err)
	}
	if p.Index < 0 || p.Index >= c.N {
		return r, c, fmt.Errorf("the log has %d leaves, and the proof is of leaf %d", c.N, p.Index)
	}
	if err := tlog.CheckRecord(proof, c.N, c.Hash, p.Index, LeafHash(Entry(salt, p.Record))); err != nil {
		return r, c, fmt.Errorf("the record is not leaf %d of the log as of size %d: %w", p.Index, c.N, err)
	}
	return r, c, nil
}
