package oidc

import "encoding/json"

// Read applies rules to claims as they were written.
func (r *Rules) Read(text []byte) (Identity, error) {
	c := claims{}
	if err := json.Unmarshal(text, &c); err != nil {
		return Identity{}, err
	}
	return r.identity("issuer", "subject", c), nil
}
