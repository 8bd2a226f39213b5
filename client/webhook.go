package client

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// CodeInvalidSignature is the code of a message that VerifyWebhook refuses. The API never sends it.
const CodeInvalidSignature fieldmark.Code = "invalid_signature"

// DefaultTolerance is the usual difference between the time of a message and now. It bounds how long a
// captured message can be sent again.
const DefaultTolerance = 5 * time.Minute

// VerifyWebhook verifies a message to a webhook endpoint and returns its event. Body is what was received,
// byte by byte. Secret is the secret of the endpoint (whsec_, scheme v1) or its public key (whpk_, scheme
// v1a). Tolerance 0 means DefaultTolerance.
func VerifyWebhook(
	body []byte, h http.Header, secret string, tolerance time.Duration,
) (e fieldmark.Envelope, err error) {
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	refuse := func(detail string) (fieldmark.Envelope, error) {
		return fieldmark.Envelope{}, fieldmark.Errorf(CodeInvalidSignature, "%s", detail)
	}
	prefix, digits, _ := strings.Cut(secret, "_")
	key, err := base64.StdEncoding.DecodeString(digits)
	// A shorter secret than the API accepts was cut, and with an empty one, messages that anyone can sign would verify.
	if err != nil || prefix == "whsec" && len(key) < 24 || prefix == "whpk" && len(key) != ed25519.PublicKeySize ||
		prefix != "whsec" && prefix != "whpk" {
		return refuse("the secret is not whsec_ or whpk_ and base64")
	}
	id, at := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	// Compared without a subtraction that a hostile number could overflow.
	if now, slack := time.Now().Unix(), int64(tolerance/time.Second); id == "" || err != nil ||
		seconds < now-slack || seconds > now+slack {
		return refuse("webhook-id is missing, or webhook-timestamp is too far from now")
	}
	signed := slices.Concat([]byte(id+"."+at+"."), body)
	for signature := range strings.FieldsSeq(h.Get("webhook-signature")) {
		scheme, digits, _ := strings.Cut(signature, ",")
		got, err := base64.StdEncoding.DecodeString(digits)
		if err != nil || !verify(prefix, scheme, key, signed, got) {
			continue
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return refuse("the signature is valid, but the body is not JSON")
		}
		return e, nil
	}
	return refuse("no signature in webhook-signature is valid")
}

func verify(prefix, scheme string, key, signed, signature []byte) bool {
	switch {
	case prefix == "whsec" && scheme == "v1":
		mac := hmac.New(sha256.New, key)
		mac.Write(signed)
		return hmac.Equal(signature, mac.Sum(nil))
	case prefix == "whpk" && scheme == "v1a":
		return ed25519.Verify(key, signed, signature)
	}
	return false
}
