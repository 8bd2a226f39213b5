//go:build linux || darwin

package sampler

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file until it is closed; the kernel unlocks it when the process ends.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}
