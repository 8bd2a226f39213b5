//go:build linux || darwin

package author

import "syscall"

// limitProcess limits the resources of this process. The kernel kills it when its
// processor time is used up, and allocations beyond its address space fail.
func limitProcess(seconds, bytes uint64) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1}); err != nil {
		return err
	}
	if raceDetector {
		return nil
	}
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
