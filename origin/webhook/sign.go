package webhook

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Header fields of Standard Webhooks 1.0.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"

	HeaderTest = "fieldmark-test" // 1 on messages of test worlds
)

// HeaderTrace is the field of W3C Trace Context. It identifies the attempt within
// the trace that caused the event.
const HeaderTrace = "traceparent"

// Tolerance is the maximum difference between a timestamp and the receiver's clock.
// It limits how long a captured request can be replayed.
const Tolerance = 5 * time.Minute

// The formats of keys. A shared secret has 24 to 64 random bytes: fewer can be
// guessed, more add nothing to HMAC-SHA-256. A private key has the 64 bytes of an
// Ed25519 key: seed and public half.
const (
	SecretPrefix  = "whsec_"
	PrivatePrefix = "whsk_"
	PublicPrefix  = "whpk_"
	minSecret     = 24
	maxSecret     = 64
	newSecret     = 32 // bytes of a generated secret: the size of the hash
)

// MaxKeys limits the keys that sign one message: the current one and the previous
// ones whose overlap has not ended.
const MaxKeys = 5

// NewSecret generates a secret for a scheme from random.
func NewSecret(scheme fieldmark.Signing, random io.Reader) (string, error) {
	var seed [newSecret]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return "", fmt.Errorf("draw a webhook secret: %w", err)
	}
	if scheme == fieldmark.SigningV1a {
		return PrivatePrefix + base64.StdEncoding.EncodeToString(ed25519.NewKeyFromSeed(seed[:])), nil
	}
	return SecretPrefix + base64.StdEncoding.EncodeToString(seed[:]), nil
}

// key signs or verifies under one scheme.
type key struct {
	scheme  fieldmark.Signing
	shared  []byte             // of v1
	private ed25519.PrivateKey // of v1a; nil in a receiver
	public  ed25519.PublicKey  // of v1a
}

// parseKey parses a secret, private or public key. Its errors never contain the
// key.
func parseKey(text string) (key, error) {
	prefix, digits, ok := strings.Cut(text, "_")
	if !ok {
		return key{}, errors.New("a webhook secret begins with " + SecretPrefix + " or " + PrivatePrefix)
	}
	b, err := base64.StdEncoding.DecodeString(digits)
	if err != nil {
		return key{}, errors.New("a webhook secret is base64 after its first underscore")
	}
	switch prefix + "_" {
	case SecretPrefix:
		if len(b) < minSecret || len(b) > maxSecret {
			return key{}, fmt.Errorf("a webhook secret holds %d to %d bytes, not %d", minSecret, maxSecret, len(b))
		}
		return key{scheme: fieldmark.SigningV1, shared: b}, nil
	case PrivatePrefix:
		if len(b) != ed25519.PrivateKeySize || !bytes.Equal(b, ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])) {
			return key{}, errors.New(
				"a private webhook key is the seed of an Ed25519 key and its public half, 64 bytes")
		}
		private := ed25519.PrivateKey(b)
		return key{scheme: fieldmark.SigningV1a, private: private, public: private.Public().(ed25519.PublicKey)}, nil
	case PublicPrefix:
		if len(b) != ed25519.PublicKeySize {
			return key{}, fmt.Errorf("a public webhook key holds %d bytes", ed25519.PublicKeySize)
		}
		return key{scheme: fieldmark.SigningV1a, public: b}, nil
	}
	return key{}, errors.New("a webhook secret begins with " + SecretPrefix + " or " + PrivatePrefix)
}

// CheckSecret returns an error if a secret that the client chose is invalid for a
// scheme.
func CheckSecret(scheme fieldmark.Signing, secret string) error {
	k, err := parseKey(secret)
	if err != nil {
		return err
	}
	if k.scheme != scheme || k.public != nil && k.private == nil {
		return fmt.Errorf("the secret is not valid for %s", scheme)
	}
	return nil
}

// PublicKey returns the public half of a private key, as whpk_ and base64 and as a
// JSON Web Key without an id. It reports false for a shared secret.
func PublicKey(secret string) (string, fieldmark.PublicJWK, bool) {
	k, err := parseKey(secret)
	if err != nil || k.public == nil {
		return "", fieldmark.PublicJWK{}, false
	}
	return PublicPrefix + base64.StdEncoding.EncodeToString(k.public), fieldmark.PublicJWK{
		Type: "OKP", Curve: "Ed25519", X: base64.RawURLEncoding.EncodeToString(k.public), Use: "sig",
		Algorithm: "EdDSA",
	}, true
}

// Signer signs with every key that has not expired, so that a receiver needs only
// one of them.
type Signer struct {
	keys  []key
	until []time.Time // when a key expires; zero: never
}

// Add adds a key that signs until a time; the zero time means no end.
func (s *Signer) Add(secret string, until time.Time) error {
	k, err := parseKey(secret)
	if err == nil && k.scheme == fieldmark.SigningV1a && k.private == nil {
		err = errors.New("a public webhook key cannot sign")
	}
	if err != nil {
		return err
	}
	s.keys, s.until = append(s.keys, k), append(s.until, until)
	return nil
}

// Sign returns the signature field of a message: for each valid key its scheme, a
// comma and base64 of the signature over id, time of the attempt and body.
func (s *Signer) Sign(id string, at time.Time, body []byte) (string, error) {
	// With a dot, one pair of id and time could be read as another.
	if id == "" || strings.Contains(id, ".") {
		return "", errors.New("a webhook id is not empty and has no dot")
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	var field []byte
	for i, k := range s.keys {
		if !s.until[i].IsZero() && !at.Before(s.until[i]) {
			continue
		}
		if len(field) > 0 {
			field = append(field, ' ')
		}
		field = append(append(field, k.scheme...), ',')
		field = base64.StdEncoding.AppendEncode(field, k.sign(id, timestamp, body))
	}
	if len(field) == 0 {
		return "", errors.New("no webhook key is live")
	}
	return string(field), nil
}

func (k key) sign(id, timestamp string, body []byte) []byte {
	if k.private != nil {
		return ed25519.Sign(k.private, content(id, timestamp, body))
	}
	return mac(k.shared, id, timestamp, body)
}

// content returns the bytes that are signed.
func content(id, timestamp string, body []byte) []byte {
	return slices.Concat([]byte(id), []byte("."), []byte(timestamp), []byte("."), body)
}

func mac(shared []byte, id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, shared)
	io.WriteString(h, id)
	io.WriteString(h, ".")
	io.WriteString(h, timestamp)
	io.WriteString(h, ".")
	h.Write(body)
	return h.Sum(nil)
}

// verify reports whether a signature was made with this key.
func (k key) verify(signature []byte, id, timestamp string, body []byte) bool {
	if k.public != nil {
		return ed25519.Verify(k.public, content(id, timestamp, body), signature)
	}
	return hmac.Equal(signature, mac(k.shared, id, timestamp, body))
}

// Verify verifies a message as a receiver does: it checks that the three fields are
// present, that the timestamp is within Tolerance of now, and that one of the
// signatures is valid. The secret is a shared one (whsec_) or a public key (whpk_).
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	k, err := parseKey(secret)
	if err != nil {
		return err
	}
	id, timestamp, signatures := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	if id == "" || timestamp == "" || signatures == "" {
		return errors.New("verify webhook: webhook-id, webhook-timestamp and webhook-signature are required")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || timestamp != strconv.FormatInt(seconds, 10) {
		return errors.New("verify webhook: the timestamp is not a number of seconds")
	}
	// In whole seconds, and without a subtraction that a hostile number could
	// overflow.
	if at, slack := now.Unix(), int64(Tolerance/time.Second); seconds < at-slack || seconds > at+slack {
		return errors.New("verify webhook: the timestamp is more than 5 minutes off")
	}
	for signature := range strings.FieldsSeq(signatures) {
		scheme, digits, _ := strings.Cut(signature, ",")
		if scheme != string(k.scheme) {
			continue
		}
		if got, err := base64.StdEncoding.DecodeString(digits); err == nil && k.verify(got, id, timestamp, body) {
			return nil
		}
	}
	return errors.New("verify webhook: no signature fits")
}
