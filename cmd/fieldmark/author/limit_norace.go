//go:build !race

package author

// raceDetector reports whether this is a build with the race detector, which reserves terabytes of
// addresses: limitProcess sets no limit of memory then.
const raceDetector = false
