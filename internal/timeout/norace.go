//go:build !race

package timeout

// Scale multiplies timeouts within which this program itself must answer.
const Scale = 1
