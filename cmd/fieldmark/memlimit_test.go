package main

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroup": {nil, 0},
		"a container": {map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		"without a limit": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"a unit of systemd": {map[string]string{"proc/self/cgroup": "0::/system.slice/a.service\n",
			"sys/fs/cgroup/system.slice/a.service/memory.max": "500000000\n"}, 500_000_000},
		"its parent has less": {map[string]string{"proc/self/cgroup": "0::/system.slice/a.service\n",
			"sys/fs/cgroup/system.slice/a.service/memory.max": "max\n",
			"sys/fs/cgroup/system.slice/memory.max":           "400000000\n"}, 400_000_000},
		"outside of the namespace": {map[string]string{"proc/self/cgroup": "0::/../x\n",
			"sys/fs/cgroup/memory.max": "300000000\n"}, 300_000_000},
		"version 1": {map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"},
			256 << 20},
		"version 1 without": {map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"},
			0},
	} {
		root := fstest.MapFS{}
		for path, text := range tt.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupLimit(root); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
