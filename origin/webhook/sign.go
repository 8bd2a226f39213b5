package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Header fields of Standard Webhooks 1.0.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how far a timestamp may be from the receiver's clock; it bounds
// how long a recorded request can be played again.
const Tolerance = 5 * time.Minute

// SecretPrefix marks a symmetric secret. A secret holds 24 to 64 random bytes:
// fewer can be guessed, more add nothing to HMAC-SHA-256.
const (
	SecretPrefix = "whsec_"
	minSecret    = 24
	maxSecret    = 64
	newSecret    = 32 // bytes of a secret we make: the size of the hash
)

// schemeV1 marks an HMAC-SHA-256 signature.
const schemeV1 = "v1"

// NewSecret draws a secret from random.
func NewSecret(random io.Reader) (string, error) {
	var key [newSecret]byte
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return "", fmt.Errorf("draw a webhook secret: %w", err)
	}
	return SecretPrefix + base64.StdEncoding.EncodeToString(key[:]), nil
}

// parseSecret returns the key inside a secret. Its errors never quote it.
func parseSecret(secret string) ([]byte, error) {
	digits, ok := strings.CutPrefix(secret, SecretPrefix)
	if !ok {
		return nil, errors.New("a webhook secret begins with " + SecretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(digits)
	if err != nil {
		return nil, errors.New("a webhook secret is base64 after " + SecretPrefix)
	}
	if len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("a webhook secret holds %d to %d bytes, not %d", minSecret, maxSecret, len(key))
	}
	return key, nil
}

// Sign returns the signature field of a message: "v1," and the base64 of an
// HMAC-SHA-256 over id, time of the attempt and body.
func Sign(secret, id string, at time.Time, body []byte) (signature string, err error) {
	key, err := parseSecret(secret)
	if err != nil {
		return "", err
	}
	// A dot would let one id and time be read as another's.
	if id == "" || strings.Contains(id, ".") {
		return "", errors.New("a webhook id is not empty and has no dot")
	}
	sum := mac(key, id, strconv.FormatInt(at.Unix(), 10), body)
	return schemeV1 + "," + base64.StdEncoding.EncodeToString(sum), nil
}

func mac(key []byte, id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	io.WriteString(h, id+"."+timestamp+".")
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks a message as a receiver does: the three fields are there, the
// timestamp is within Tolerance of now, and one of the signatures is right.
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := parseSecret(secret)
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
	// In whole seconds and without subtraction that a hostile number overflows.
	if at, slack := now.Unix(), int64(Tolerance/time.Second); seconds < at-slack || seconds > at+slack {
		return errors.New("verify webhook: the timestamp is more than 5 minutes off")
	}
	want := mac(key, id, timestamp, body)
	for signature := range strings.FieldsSeq(signatures) {
		scheme, digits, _ := strings.Cut(signature, ",")
		if scheme != schemeV1 {
			continue
		}
		if got, err := base64.StdEncoding.DecodeString(digits); err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return errors.New("verify webhook: no signature fits")
}
