package main

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the percentage of a container's memory that is set as soft memory limit of
// the Go runtime. The rest is for kernel stacks, file caches and peaks.
const memoryShare = 90

// limitMemory sets the soft memory limit of the Go runtime from the cgroup, unless
// GOMEMLIMIT is set, so that garbage is collected before the kernel kills the process.
func limitMemory(log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := cgroupLimit(os.DirFS("/")); limit > 0 {
		soft := limit / 100 * memoryShare
		debug.SetMemoryLimit(soft)
		log.Info("memory limit set from the cgroup", "limitBytes", limit, "goMemoryLimitBytes", soft)
	}
}

// cgroupLimit returns the memory limit of this process's cgroup in bytes: the minimum of
// its own limit and those of its parents, or 0 without a limit. It reads cgroups version 2
// and, for containers on older hosts, version 1.
func cgroupLimit(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	read := func(name string) {
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 {
			least = min(least, n) // "max" means no limit
		}
	}
	own, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for dir := path.Clean(group); dir != "." && !strings.HasPrefix(dir, ".."); dir = path.Dir(dir) {
			read(path.Join("sys/fs/cgroup", dir, "memory.max"))
		}
	}
	read("sys/fs/cgroup/memory.max")
	read("sys/fs/cgroup/memory/memory.limit_in_bytes")
	if least > 1<<50 { // version 1 without a limit
		return 0
	}
	return least
}
