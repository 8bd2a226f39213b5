package keyring

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

// MinSecret is the minimum length of the application secret in bytes: the size of
// the hash that every key is derived with.
const MinSecret = 32

// Keyring holds the keys that are derived from the application secret, one for
// each purpose.
type Keyring struct {
	APIKey        MAC // hashes of API keys
	Calendar      MAC // hashes of tokens in the addresses of calendar feeds
	Technician    MAC // tokens, PINs and sessions of technicians' links
	AuditLog      MAC // the chain of sums of the audit log
	LoginThrottle MAC // names that failed sign-ins are counted under
	Claim         MAC // secrets of claims, codes of transfers, and networks that claims are counted under
	Mail          MAC // links in mail, which confirm or unsubscribe an address
	Portal        MAC // hashes of tokens and sessions of portal links
	AccessRequest MAC // secrets of requests for API keys, and what such requests are counted under
	PublicLog     MAC // seeds of the keys that sign the public log

	WebhookSecret      Cipher // signing secrets of endpoints
	WebhookCredentials Cipher // header values and credentials that are sent to endpoints
	TOTP               Cipher // secrets of second factors
	SavedResponse      Cipher // saved responses, which may hold a secret
	Certificate        Cipher // private keys of TLS certificates and of accounts at CAs
	RequestSigning     Cipher // private keys that sign the requests of the auditor
	Attachment         Cipher // keys of the content of attachments, one for each
	CDNToken           Cipher // tokens for purges of CDNs
	SignOn             Cipher // the state of a sign-in at the OpenID Connect provider, which the browser keeps
}

// New derives the keys of secret, which must have at least MinSecret bytes. The
// label of a key is never used for a second purpose, and changes when the format
// of what it protects changes: a hash or a ciphertext is of no use elsewhere.
func New(secret []byte) (*Keyring, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the application secret has %d bytes, not at least %d", len(secret), MinSecret)
	}
	var k Keyring
	for label, mac := range map[string]*MAC{
		"api-key/v1": &k.APIKey, "calendar/v1": &k.Calendar, "audit-log/v1": &k.AuditLog,
		"login-throttle/v1": &k.LoginThrottle, "claim/v1": &k.Claim, "mail/v1": &k.Mail,
		"technician/v1": &k.Technician, "access-request/v1": &k.AccessRequest,
		"portal/v1": &k.Portal, "public-log/v1": &k.PublicLog,
	} {
		key, err := hkdf.Key(sha256.New, secret, nil, label, sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("derive %s: %w", label, err)
		}
		*mac = key
	}
	for label, c := range map[string]*Cipher{
		"webhook-secret/v1": &k.WebhookSecret, "webhook-credentials/v1": &k.WebhookCredentials, "totp/v1": &k.TOTP,
		"cdn-token/v1": &k.CDNToken, "sign-on/v1": &k.SignOn, "tls-certificate/v1": &k.Certificate,
		"attachment/v1": &k.Attachment, "saved-response/v1": &k.SavedResponse, "request-signing/v1": &k.RequestSigning,
	} {
		aead, err := newAEAD(secret, label)
		if err != nil {
			return nil, fmt.Errorf("derive %s: %w", label, err)
		}
		c.aead = aead
	}
	return &k, nil
}

// edgeLabel is the label of the key that encrypts certificate keys for edges.
const edgeLabel = "tls-key/v1"

// ForEdges returns the cipher of certificate keys on their way to edges. It is derived from
// the node token, which both sides have.
func ForEdges(nodeToken string) (Cipher, error) {
	aead, err := newAEAD([]byte(nodeToken), edgeLabel)
	if err != nil {
		return Cipher{}, fmt.Errorf("derive %s: %w", edgeLabel, err)
	}
	return Cipher{aead}, nil
}

func newAEAD(secret []byte, label string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, label, sha256.Size)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// MAC is a key that hashes texts (HMAC-SHA-256). Tokens are stored as such
// hashes: without the application secret, an attacker who can write rows cannot
// create a token that is accepted.
type MAC []byte

// Sum returns the hash of text in base64.
func (m MAC) Sum(text string) string {
	h := hmac.New(sha256.New, m)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// Cipher encrypts texts that are stored (AES-256-GCM with a random nonce).
type Cipher struct{ aead cipher.AEAD }

// Seal encrypts plain. The owner, such as the id of a row, is authenticated with
// it, so that a ciphertext copied to another row does not open.
func (c Cipher) Seal(owner, plain string) string {
	nonce := make([]byte, c.aead.NonceSize())
	rand.Read(nonce) // never fails (crypto/rand)
	return base64.StdEncoding.EncodeToString(c.aead.Seal(nonce, nonce, []byte(plain), []byte(owner)))
}

// Open decrypts the result of Seal for the same owner.
func (c Cipher) Open(owner, sealed string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(sealed)
	n := c.aead.NonceSize()
	if err != nil || len(b) < n {
		return "", errors.New("decrypt: not a nonce and a ciphertext in base64")
	}
	plain, err := c.aead.Open(nil, b[:n], b[n:], []byte(owner))
	if err != nil {
		return "", fmt.Errorf("decrypt: %w", err)
	}
	return string(plain), nil
}
