package translog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
)

// maxSkew is how far apart the clocks of a log and of a client may be. Servers with NTP stay within seconds;
// laptops are minutes off.
const maxSkew = 5 * time.Minute

// maxProof bounds the hashes of a proof: one for each level of a tree.
const maxProof = 63

// VerifyScore is Verify, and verifies that the record is that of a score: of its brand, its facts and its
// module, in the log that the proof names, and of a time that is not after now, with the clocks of the log
// and of now at most maxSkew apart.
func VerifyScore(s *fieldmark.Score, now time.Time, keys ...string) (r Record, c Checkpoint, err error) {
	if s.Proof == nil {
		return r, c, errors.New("the score has no proof")
	}
	if r, c, err = Verify(s.Proof, keys...); err != nil {
		return r, c, err
	}
	for _, m := range []struct{ what, logged, score string }{
		{"log", c.Origin, s.Proof.Log},
		{"brand", string(r.Brand), string(s.Slug)},
		{"digest of the facts", string(r.Facts), string(s.FactsDigest)},
		{"digest of the module", string(r.Module), string(s.Module.Digest)},
	} {
		if m.logged != m.score {
			return r, c, fmt.Errorf("the %s is %s, and in the log %s", m.what, m.score, m.logged)
		}
	}
	if r.Time.After(now.Add(maxSkew)) {
		return r, c, fmt.Errorf("leaf %d is of %s, which is in the future", s.Proof.Index, r.Time.Format(time.RFC3339))
	}
	return r, c, nil
}

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
		if proof[i].String() != text { // package tlog ignores the bits that base64 does not use
			return r, c, fmt.Errorf("hash %d of the proof is not in its canonical form", i)
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
