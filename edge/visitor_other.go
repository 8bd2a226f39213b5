//go:build !unix

package edge

// prepare leaves waiting to the standard library, with a buffer held.
func (v *visitor) prepare() {}
