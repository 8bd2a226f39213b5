package fieldmark

import (
	"regexp"
)

// Bounds of an account's settings.
const (
	MaxAccountName = 100 // code points
	MaxAccountNote = 500 // code points
)

// Account is an integrator: keys, missions and webhook endpoints belong to one,
// and none of it is seen by another.
type Account struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Note      string `json:"note,omitempty"`
	CreatedAt Time   `json:"createdAt"`
}

// AccountRequest makes an account or changes what it is called.
type AccountRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Display name"`
	Note string `json:"note,omitempty" maxLength:"500" doc:"Note for administrators"`
}

var accountID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidAccount reports whether s may be an account's id: 1 to 64 of a-z, 0-9,
// hyphens and underscores, beginning with a letter or digit.
func ValidAccount(s string) bool { return accountID.MatchString(s) }
