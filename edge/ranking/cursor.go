package ranking

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"github.com/fieldmark/fieldmark"
)

// CursorKey authenticates cursors, so that clients can only use positions that the server
// issued.
type CursorKey [32]byte

// NewCursorKey derives a key from a secret. Nodes with the same secret accept each
// other's cursors.
func NewCursorKey(secret string) CursorKey {
	return sha256.Sum256([]byte("leaderboard cursor\x00" + secret))
}

const cursorMAC = 8 // bytes; a forged cursor gains nothing but a page of a public list

// Encode returns the cursor of a place in a list of the snapshot with an id.
func (k CursorKey) Encode(id string, offset int, f fieldmark.BoardFilter) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic("BUG: a snapshot id that is not hexadecimal: " + id)
	}
	raw = binary.BigEndian.AppendUint32(raw, uint32(offset))
	return base64.RawURLEncoding.EncodeToString(append(raw, k.mac(raw, f)...))
}

// mac covers the filter too: a cursor of one list is not valid in another.
func (k CursorKey) mac(raw []byte, f fieldmark.BoardFilter) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write(raw)
	h.Write([]byte(f.Basis + "\x00" + f.Niche + "\x00" + f.Language + "\x00"))
	h.Write(f.MinConfidence.Append(nil))
	return h.Sum(nil)[:cursorMAC]
}

// Decode is the reverse of Encode; not ok is a cursor that Encode did not return for
// the filter.
func (k CursorKey) Decode(cursor string, f fieldmark.BoardFilter) (id string, offset int, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) != 8+4+cursorMAC {
		return "", 0, false
	}
	body, mac := raw[:12], raw[12:]
	if !hmac.Equal(mac, k.mac(body, f)) {
		return "", 0, false
	}
	return hex.EncodeToString(body[:8]), int(binary.BigEndian.Uint32(body[8:])), true
}
