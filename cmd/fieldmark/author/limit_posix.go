//go:build linux || darwin

package author

import "syscall"

// limitProcess bounds what this process may use from now on. It is killed when
// its processor time is up, and gets no memory past its address space.
func limitProcess(seconds, bytes uint64) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1}); err != nil {
		return err
	}
	if raceDetector {
		return nil // it reserves terabytes of addresses
	}
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
