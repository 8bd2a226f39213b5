//go:build !race

package conn_test

const raceDetector = false
