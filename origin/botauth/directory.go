package botauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// DirectoryType is the media type of the key directory.
	DirectoryType = "application/http-message-signatures-directory+json"

	// directoryAge is how long anyone may cache the directory: it bounds how long a retired
	// key is accepted.
	directoryAge = time.Hour

	// directoryLifetime is that of the signatures of the directory. It is much longer than
	// directoryAge, so that a cached copy, and one that a verifier got from another party,
	// keeps its proof.
	directoryLifetime = 48 * time.Hour
)

// jwk is a key in the directory (RFC 7517; RFC 8037, section 2). Its times are in seconds.
type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	ID        string `json:"kid"`
	X         string `json:"x"`
	Use       string `json:"use"`
	NotBefore int64  `json:"nbf"`
	Expires   int64  `json:"exp"`
}

// Directory is the key directory with the header fields of its response.
type Directory struct {
	Header http.Header // without Content-Type and ETag
	Body   []byte
}

// Directory returns the public keys, signed by each of them over the content and the host
// (draft-ietf-webbotauth-httpsig-protocol-01, appendix B.1): a copy on another host has no
// valid signature.
func (s *Service) Directory(ctx context.Context) (Directory, error) {
	if s.cfg.Signer == nil {
		return Directory{}, errOff()
	}
	rows, keys, err := s.open(ctx)
	if err != nil {
		return Directory{}, err
	}
	if len(keys) == 0 {
		return Directory{}, errNoKey
	}
	set := struct {
		Keys []jwk `json:"keys"`
	}{}
	for i := range keys {
		set.Keys = append(set.Keys, jwk{Type: "OKP", Curve: "Ed25519", ID: keys[i].ID, X: keys[i].public(), Use: "sig",
			NotBefore: rows[i].UseFrom.Unix(), Expires: expiry(rows, i).Unix()})
	}
	body, err := json.Marshal(set)
	if err != nil {
		return Directory{}, fmt.Errorf("encode the key directory: %w", err)
	}
	h := signDirectory(keys, s.cfg.Signer.authority, body, time.Now())
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(directoryAge.Seconds())))
	h.Set("Surrogate-Key", string(TagKeys))
	h.Set("Access-Control-Allow-Origin", "*") // verifiers may run in browsers; the keys are public
	return Directory{Header: h, Body: body}, nil
}

// signDirectory returns the digest of the directory (RFC 9530) and a signature of each key.
func signDirectory(keys []Key, authority string, body []byte, now time.Time) http.Header {
	sum := sha256.Sum256(body)
	digest := bytesMember("sha-256", sum[:])
	var inputs, signatures []string
	for i := range keys {
		input, signature := sign(&keys[i], fmt.Sprintf("binding%d", i+1), []component{
			{name: "@authority", req: true, value: authority}, {name: "content-digest", value: digest},
		}, fmt.Sprintf(`;created=%d;expires=%d;keyid="%s";tag="%s"`, now.Unix(), now.Add(directoryLifetime).Unix(),
			keys[i].ID, directoryTag))
		inputs, signatures = append(inputs, input), append(signatures, signature)
	}
	return http.Header{"Content-Digest": {digest}, "Signature-Input": {strings.Join(inputs, ", ")},
		"Signature": {strings.Join(signatures, ", ")}}
}
