//go:build !linux && !darwin

package sampler

import (
	"errors"
	"os"
)

// lock is not available: without a lock two processes could ask a question twice.
func lock(*os.File) error {
	return errors.New("sampling needs file locks, which this system has in another form")
}
