package botauth

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// Covered is a component with its value, to sign the messages of published test vectors.
type Covered struct {
	Name, Key, Value string
	Req              bool
}

// SignComponents signs components of any message, with parameters as a library writes them.
func SignComponents(k Key, label string, list []Covered, params *httpsfv.Params) (input, signature string, err error) {
	components := make([]component, len(list))
	for i, c := range list {
		components[i] = component{name: c.Name, key: c.Key, value: c.Value, req: c.Req}
	}
	text, err := httpsfv.Marshal(httpsfv.Item{Value: true, Params: params})
	if err != nil {
		return "", "", err
	}
	input, signature = sign(&k, label, components, strings.TrimPrefix(text, "?1"))
	return input, signature, nil
}

// SetKeys replaces the keys of a Signer.
func (s *Signer) SetKeys(keys ...Key) { s.setKeys(keys) }

// SignDirectory signs a key directory.
var SignDirectory = signDirectory
