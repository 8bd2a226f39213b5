package origin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// The labels under which keys are derived from the application secret. A label
// is never used for two purposes; a new way of keeping something gets a new one.
const (
	labelAPIKey        = "api-key/v1"
	labelWebhookSecret = "webhook-secret/v1"
	labelCalendar      = "calendar/v1"
	labelCredentials   = "webhook-credentials/v1"
	labelAudit         = "audit-log/v1"
	labelTOTP          = "totp/v1"
	labelSignOn        = "sign-on/v1"
	labelSavedResponse = "saved-response/v1"
	labelThrottle      = "login-throttle/v1"
)

// keyHashVersion marks hashes made under labelAPIKey.
const keyHashVersion = 1

// vault holds what is derived from the application secret.
type vault struct {
	apiKey      []byte
	calendar    []byte
	audit       []byte
	throttle    []byte // names that failed sign-ins are counted under
	webhook     cipher.AEAD
	credentials cipher.AEAD // values of header fields and what receivers know us by
	totp        cipher.AEAD // secrets of second factors
	responses   cipher.AEAD // saved responses that may hold a secret
	signOn      cipher.AEAD // what browsers keep while they are at the sign-in provider
}

func newVault(secret []byte) (vault, error) {
	var v vault
	for _, d := range []struct {
		label string
		key   *[]byte
	}{{labelAPIKey, &v.apiKey}, {labelCalendar, &v.calendar}, {labelAudit, &v.audit}, {labelThrottle, &v.throttle}} {
		key, err := hkdf.Key(sha256.New, secret, nil, d.label, sha256.Size)
		if err != nil {
			return vault{}, fmt.Errorf("derive %s: %w", d.label, err)
		}
		*d.key = key
	}
	for _, d := range []struct {
		label string
		seal  *cipher.AEAD
	}{{labelWebhookSecret, &v.webhook}, {labelCredentials, &v.credentials}, {labelTOTP, &v.totp}, {labelSignOn, &v.signOn}, {labelSavedResponse, &v.responses}} {
		sealing, err := newSeal(secret, d.label)
		if err != nil {
			return vault{}, err
		}
		*d.seal = sealing
	}
	return v, nil
}

// newSeal derives a cipher under a label.
func newSeal(secret []byte, label string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, label, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", label, err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", label, err)
	}
	sealing, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", label, err)
	}
	return sealing, nil
}

// hashToken returns what is kept of an API key. The key of the HMAC stops
// somebody who can write rows from making keys of his own.
func (v vault) hashToken(token string) string {
	return hashUnder(v.apiKey, token)
}

// hashCalendar returns what is kept of the token in a calendar's address.
func (v vault) hashCalendar(token string) string { return hashUnder(v.calendar, token) }

func hashUnder(key []byte, token string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(token))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// seal encrypts an endpoint's secret.
func (v vault) seal(endpoint, secret string) string { return seal(v.webhook, endpoint, secret) }

// open decrypts what seal returned.
func (v vault) open(endpoint, sealed string) (string, error) {
	return unseal(v.webhook, endpoint, sealed)
}

// seal encrypts what is an endpoint's. The endpoint's id is bound to it, so that
// a row cannot be given another's.
func seal(with cipher.AEAD, endpoint, plain string) string {
	nonce := make([]byte, with.NonceSize())
	rand.Read(nonce) // never fails (crypto/rand)
	return base64.StdEncoding.EncodeToString(with.Seal(nonce, nonce, []byte(plain), []byte(endpoint)))
}

// unseal decrypts what seal returned.
func unseal(with cipher.AEAD, endpoint, sealed string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(b) < with.NonceSize() {
		return "", errors.New("open what was sealed: not in the form it was kept in")
	}
	n := with.NonceSize()
	plain, err := with.Open(nil, b[:n], b[n:], []byte(endpoint))
	if err != nil {
		return "", fmt.Errorf("open what was sealed: %w", err)
	}
	return string(plain), nil
}

// randomBase62 draws n characters of alphabet, each as likely as any other.
func randomBase62(alphabet string, n int) string {
	limit := byte(256 / len(alphabet) * len(alphabet)) // bytes from here on would favour the first characters
	out := make([]byte, 0, n)
	var pool [64]byte
	for len(out) < n {
		rand.Read(pool[:]) // never fails (crypto/rand)
		for _, b := range pool {
			if b < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}
