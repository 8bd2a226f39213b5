//go:build linux || darwin

package monitor

import "syscall"

// DiskSpace returns the bytes that are free for this process and the total bytes of the disk
// that contains a path.
func DiskSpace(path string) (free, total uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
