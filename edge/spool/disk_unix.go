//go:build linux || darwin || freebsd

package spool

import "syscall"

// diskUse returns how much of the disk of a folder is in use, in percent; 0 if that is unknown. Blocks that
// only root may use count neither as free nor as used, as df counts them.
func diskUse(dir string) int {
	var v syscall.Statfs_t
	if err := syscall.Statfs(dir, &v); err != nil || v.Blocks == 0 {
		return 0
	}
	used, free := v.Blocks-v.Bfree, uint64(max(v.Bavail, 0)) //nolint:unconvert // it is signed on some systems
	if used+free == 0 {
		return 0
	}
	return int(100 * used / (used + free))
}
