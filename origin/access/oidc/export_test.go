package oidc

import "encoding/json"

// Read applies the rules to claims in JSON.
func (r *Rules) Read(text []byte) (Identity, error) {
	c := claims{}
	if err := json.Unmarshal(text, &c); err != nil {
		return Identity{}, err
	}
	return r.identity("issuer", "subject", c), nil
}
