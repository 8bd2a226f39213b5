//go:build linux || darwin || freebsd

package spool

import "syscall"

// diskUse returns how much of the disk of a folder is in use, in percent; 0 if that is unknown.
func diskUse(dir string) int {
	var v syscall.Statfs_t
	if err := syscall.Statfs(dir, &v); err != nil || v.Blocks == 0 {
		return 0
	}
	free := uint64(max(v.Bavail, 0)) //nolint:unconvert // it is signed on some systems
	return int(100 - 100*free/v.Blocks)
}
