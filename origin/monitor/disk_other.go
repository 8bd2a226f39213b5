//go:build !linux && !darwin

package monitor

import "errors"

// DiskSpace is not implemented on this system: no issue of a disk is found.
func DiskSpace(string) (free, total uint64, err error) { return 0, 0, errors.ErrUnsupported }
