package botauth

import (
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// Covered is a component with its value, to sign the messages of published test vectors.
type Covered struct {
	Name, Key, Value string
	Req              bool
}

// SignComponents signs components of any message.
func SignComponents(k Key, label string, list []Covered, params *httpsfv.Params) (input, signature string, err error) {
	components := make([]component, len(list))
	for i, c := range list {
		components[i] = component{name: c.Name, key: c.Key, value: c.Value, req: c.Req}
	}
	return sign(&k, label, components, params)
}

// SetKeys replaces the keys of a Signer.
func (s *Signer) SetKeys(keys ...Key) { s.setKeys(keys) }

// SignDirectory signs a key directory.
var SignDirectory = func(keys []Key, authority string, body []byte, now time.Time) (http.Header, error) {
	return signDirectory(keys, authority, body, now)
}
