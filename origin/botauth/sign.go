package botauth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/fieldmark/fieldmark"
)

// Form is the form of the Signature-Agent field.
type Form string

// The draft requires the dictionary. Verifiers that were deployed before it accept only the
// string. A request has one of them, because a second signature would not verify there
// either.
const (
	FormDictionary Form = "dictionary"
	FormString     Form = "string"
)

const (
	// label names the signature in the three fields of a request.
	label = "fm"

	// lifetime of a signature: enough for clocks that differ and a slow connection, and
	// as little as possible for a recorded request that is sent again.
	lifetime = time.Minute

	nonceBytes = 64 // as in the examples of the draft

	requestTag   = "web-bot-auth"
	directoryTag = "http-message-signatures-directory"
)

// Key is an Ed25519 key with its id.
type Key struct {
	ID      string // Thumbprint of the public half
	UseFrom time.Time
	private ed25519.PrivateKey
}

// NewKey returns the key of a seed of ed25519.SeedSize bytes.
func NewKey(seed []byte, useFrom time.Time) Key {
	private := ed25519.NewKeyFromSeed(seed)
	return Key{ID: Thumbprint(private.Public().(ed25519.PublicKey)), UseFrom: useFrom, private: private}
}

// public returns the public half in base64url, the member x of a JWK (RFC 8037, section 2).
func (k *Key) public() string {
	return base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
}

// Thumbprint returns the SHA-256 thumbprint of a public key (RFC 7638, section 3; RFC 8037,
// appendix A.3): the hash of its required members in lexical order.
func Thumbprint(public ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` +
		base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Signer signs requests. It is safe for concurrent use.
type Signer struct {
	form      Form
	directory string // URL of the key directory
	authority string // its host, as in @authority
	agent     string // value of Signature-Agent
	keys      atomic.Pointer[[]Key]
}

// NewSigner returns a Signer for an installation. base is its public URL: the dictionary
// names the key directory below it, and the string form base itself. It signs nothing until a
// Service has loaded its keys.
func NewSigner(base string, form Form) (*Signer, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("sign requests as %q: the public URL must be https", base)
	}
	s := &Signer{form: form, authority: authority(u)}
	origin := "https://" + s.authority
	s.directory = origin + fieldmark.PathKeyDirectory
	switch form {
	case FormDictionary:
		s.agent = label + `="` + s.directory + `"`
	case FormString:
		s.agent = `"` + origin + `"`
	default:
		return nil, fmt.Errorf("sign requests: unknown form %q", form)
	}
	return s, nil
}

// setKeys replaces the keys. Those that come into use later are among them.
func (s *Signer) setKeys(keys []Key) { s.keys.Store(&keys) }

// key returns the key to sign with: the one that came into use last.
func (s *Signer) key(now time.Time) (current *Key) {
	if list := s.keys.Load(); list != nil {
		for i := range *list {
			if k := &(*list)[i]; !k.UseFrom.After(now) && (current == nil || k.UseFrom.After(current.UseFrom)) {
				current = k
			}
		}
	}
	return current
}

// Sign adds a signature to an https request, which must not change afterwards. It covers the
// address without the query, so the same request may not be sent elsewhere. Requests over
// http are left as they are: the draft asks verifiers to refuse their signatures, because
// they can be read and used on the way.
func (s *Signer) Sign(req *http.Request) {
	now := time.Now()
	k := s.key(now)
	if k == nil || req.URL.Scheme != "https" {
		return
	}
	agent := component{name: "signature-agent", value: s.agent}
	if s.form == FormDictionary {
		agent.key, agent.value = label, strings.TrimPrefix(s.agent, label+"=")
	}
	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails
	params := fmt.Sprintf(`;created=%d;expires=%d;keyid="%s";alg="ed25519";nonce="%s";tag="%s"`, now.Unix(),
		now.Add(lifetime).Unix(), k.ID, base64.StdEncoding.EncodeToString(nonce[:]), requestTag)
	input, signature := sign(k, label, []component{
		{name: "@authority", value: authority(req.URL)}, {name: "@method", value: req.Method},
		{name: "@path", value: path}, agent,
	}, params)
	req.Header.Set("Signature-Agent", s.agent)
	req.Header.Set("Signature-Input", input)
	req.Header.Set("Signature", signature)
}

// authority returns the component @authority of a request to u (RFC 9421, section 2.2.3):
// the Host field as net/http sends it, in lower case and without a default port.
func authority(u *url.URL) string {
	host := u.Host
	if ascii, err := httpguts.PunycodeHostPort(host); err == nil {
		host = ascii
	}
	host = strings.ToLower(host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}

// component is a covered component of a message (RFC 9421, section 2).
type component struct {
	name  string
	key   string // of a dictionary member; "": the whole field
	req   bool   // of the request, in the signature of a response
	value string
}

// sign returns the members of Signature-Input and Signature for components (RFC 9421,
// section 3.1) with parameters. Both are structured fields, written here because nothing in
// them needs an escape: names are of this package, ids and nonces are base64. Values must not
// have line breaks, which fields of net/http cannot have.
func sign(k *Key, label string, components []component, params string) (input, signature string) {
	var ids, base strings.Builder
	for i, c := range components {
		id := `"` + c.name + `"`
		if c.req {
			id += ";req"
		}
		if c.key != "" {
			id += `;key="` + c.key + `"`
		}
		if i > 0 {
			ids.WriteByte(' ')
		}
		ids.WriteString(id)
		base.WriteString(id + ": " + c.value + "\n")
	}
	input = "(" + ids.String() + ")" + params
	base.WriteString(`"@signature-params": ` + input)
	return label + "=" + input, bytesMember(label, ed25519.Sign(k.private, []byte(base.String())))
}

// bytesMember returns a dictionary with one byte sequence (RFC 9651, section 4.1.8).
func bytesMember(label string, value []byte) string {
	return label + "=:" + base64.StdEncoding.EncodeToString(value) + ":"
}
