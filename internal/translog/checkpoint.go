package translog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// MaxCheckpoint bounds a signed checkpoint in bytes: three lines and a hundred signatures.
const MaxCheckpoint = 16 << 10

// Checkpoint is the state of a log (C2SP tlog-checkpoint).
type Checkpoint struct {
	Origin string // names the log: its address without the scheme
	tlog.Tree
}

// Text returns the text that is signed.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.N, base64.StdEncoding.EncodeToString(c.Hash[:]))
}

// ParseCheckpoint parses the text of a checkpoint whose signatures were verified. Lines of extensions
// are ignored.
func ParseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return c, errors.New("a checkpoint has fewer than 3 lines")
	}
	c.Origin = lines[0]
	if c.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.N < 0 || strconv.FormatInt(c.N, 10) != lines[1] {
		return c, fmt.Errorf("%.40q is not the size of a log", lines[1])
	}
	hash, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(hash) != tlog.HashSize {
		return c, fmt.Errorf("%.60q is not the root of a log", lines[2])
	}
	copy(c.Hash[:], hash)
	return c, nil
}

// OpenCheckpoint verifies a signed checkpoint by one of the keys of a log, each in the form of
// note.NewVerifier.
func OpenCheckpoint(signed []byte, keys ...string) (c Checkpoint, n *note.Note, err error) {
	if len(signed) > MaxCheckpoint {
		return c, nil, fmt.Errorf("a checkpoint has more than %d bytes", MaxCheckpoint)
	}
	verifiers := make([]note.Verifier, len(keys))
	for i, key := range keys {
		if verifiers[i], err = note.NewVerifier(key); err != nil {
			return c, nil, fmt.Errorf("key %.100q: %w", key, err)
		}
	}
	if n, err = note.Open(signed, note.VerifierList(verifiers...)); err != nil {
		return c, nil, fmt.Errorf("verify a checkpoint: %w", err)
	}
	for _, sig := range n.Sigs { // package note ignores the bits that base64 does not use
		if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil {
			return c, nil, fmt.Errorf("the signature by %s: %w", sig.Name, err)
		}
	}
	c, err = ParseCheckpoint(n.Text)
	return c, n, err
}

// Algorithms of signatures (C2SP signed-note).
const (
	algorithmEd25519     = 1
	algorithmCosignature = 4
)

// NewSigner returns the signer of a log's name for a seed of Ed25519, 32 bytes, and its public key in the
// form of note.NewVerifier.
func NewSigner(name string, seed []byte) (signer note.Signer, key string, err error) {
	private := ed25519.NewKeyFromSeed(seed)
	if key, err = note.NewEd25519VerifierKey(name, private.Public().(ed25519.PublicKey)); err != nil {
		return nil, "", fmt.Errorf("the name %.100q of a log: %w", name, err)
	}
	parts := strings.Split(key, "+") // of which a name has none
	signer, err = note.NewSigner("PRIVATE+KEY+" + name + "+" + parts[1] + "+" +
		base64.StdEncoding.EncodeToString(append([]byte{algorithmEd25519}, seed...)))
	return signer, key, err
}

// Cosigner signs checkpoints as a witness (C2SP tlog-cosignature, cosignature/v1).
type Cosigner struct {
	name    string
	hash    uint32
	private ed25519.PrivateKey
}

// NewCosigner returns the cosigner of a name for a seed of Ed25519, 32 bytes.
func NewCosigner(name string, seed []byte) (*Cosigner, error) {
	if name == "" || strings.ContainsAny(name, "+ \t\r\n") {
		return nil, fmt.Errorf("%.100q cannot be the name of a witness: spaces and + are not allowed", name)
	}
	c := &Cosigner{name: name, private: ed25519.NewKeyFromSeed(seed)}
	c.hash = cosignatureHash(name, c.private.Public().(ed25519.PublicKey))
	return c, nil
}

func cosignatureHash(name string, key ed25519.PublicKey) uint32 {
	sum := sha256.Sum256(append([]byte(name+"\n"), append([]byte{algorithmCosignature}, key...)...))
	return binary.BigEndian.Uint32(sum[:])
}

// Key returns the public key of the witness, in the form of note.NewVerifier.
func (c *Cosigner) Key() string {
	public := append([]byte{algorithmCosignature}, c.private.Public().(ed25519.PublicKey)...)
	return fmt.Sprintf("%s+%08x+%s", c.name, c.hash, base64.StdEncoding.EncodeToString(public))
}

// cosignedText is the message that a cosignature signs.
func cosignedText(at uint64, text string) []byte {
	return []byte("cosignature/v1\ntime " + strconv.FormatUint(at, 10) + "\n" + text)
}

// At returns the note.Signer of a time, which is part of the cosignature, in seconds.
func (c *Cosigner) At(now time.Time) note.Signer { return cosignatureAt{c, uint64(max(now.Unix(), 0))} }

type cosignatureAt struct {
	*Cosigner
	at uint64
}

// Name returns the name of the witness.
func (c cosignatureAt) Name() string { return c.name }

// KeyHash returns the id of its key.
func (c cosignatureAt) KeyHash() uint32 { return c.hash }

// Sign returns the time and the signature.
func (c cosignatureAt) Sign(text []byte) ([]byte, error) {
	at := binary.BigEndian.AppendUint64(nil, c.at)
	return append(at, ed25519.Sign(c.private, cosignedText(c.at, string(text)))...), nil
}

// Cosign adds a cosignature to a signed checkpoint. It verifies nothing.
func (c *Cosigner) Cosign(signed []byte, now time.Time) ([]byte, error) {
	n, err := note.Open(signed, note.VerifierList())
	if e, ok := errors.AsType[*note.UnverifiedNoteError](err); ok { // as expected without keys
		n, err = e.Note, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cosign a checkpoint: %w", err)
	}
	return note.Sign(n, c.At(now))
}

// Cosigned returns when a witness cosigned a checkpoint, by its key as Cosigner.Key returns it.
func Cosigned(signed []byte, key string) (at time.Time, err error) {
	v, err := CosignatureVerifier(key)
	if err != nil {
		return at, err
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return at, fmt.Errorf("verify the cosignature by %s: %w", v.Name(), err)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(n.Sigs[0].Base64)
	if err != nil || len(raw) < 12 { // the id of the key, and the time
		return at, fmt.Errorf("the cosignature by %s is malformed", v.Name())
	}
	return time.Unix(int64(binary.BigEndian.Uint64(raw[4:])), 0).UTC(), nil
}

// CosignatureVerifier returns the note.Verifier of a witness by its key, as Cosigner.Key returns it.
func CosignatureVerifier(key string) (note.Verifier, error) {
	parts := strings.SplitN(key, "+", 3)
	if len(parts) != 3 || parts[0] == "" {
		return nil, fmt.Errorf("%.100q is not the key of a witness", key)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != algorithmCosignature {
		return nil, fmt.Errorf("%.100q is not the key of a witness", key)
	}
	v := witnessKey{parts[0], cosignatureHash(parts[0], raw[1:]), raw[1:]}
	if fmt.Sprintf("%08x", v.hash) != parts[1] {
		return nil, fmt.Errorf("the id of key %.100q does not match it", key)
	}
	return v, nil
}

type witnessKey struct {
	name   string
	hash   uint32
	public ed25519.PublicKey
}

// Name returns the name of the witness.
func (v witnessKey) Name() string { return v.name }

// KeyHash returns the id of its key.
func (v witnessKey) KeyHash() uint32 { return v.hash }

// Verify reports whether sig is a cosignature of text by the witness.
func (v witnessKey) Verify(text, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	return ed25519.Verify(v.public, cosignedText(binary.BigEndian.Uint64(sig), string(text)), sig[8:])
}
