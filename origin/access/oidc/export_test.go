package oidc

import "encoding/json"

// Read applies rules to claims as they were written.
func (r *Rules) Read(text []byte) (Person, error) {
	c := claims{}
	if err := json.Unmarshal(text, &c); err != nil {
		return Person{}, err
	}
	return r.person("issuer", "subject", c), nil
}
