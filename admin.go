package fieldmark

// Role is what an administrator may do.
type Role string

// An admin may do everything; a viewer sees everything but secrets and changes nothing.
const (
	RoleAdmin  Role = "admin"
	RoleViewer Role = "viewer"
)

// Valid reports whether the role is known.
func (r Role) Valid() bool { return r == RoleAdmin || r == RoleViewer }

// Admin is somebody who may sign in to the pages for administrators.
type Admin struct {
	Name         string `json:"name"`
	Role         Role   `json:"role"`
	SecondFactor bool   `json:"secondFactor"` // is asked for a code beside the password
	Foreign      bool   `json:"foreign"`      // has no password: a sign-in provider vouches
	CreatedAt    Time   `json:"createdAt"`
}
