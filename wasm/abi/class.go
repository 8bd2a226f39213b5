package abi

import "github.com/fieldmark/fieldmark"

// Class is a kind of module, by what it needs from its host.
type Class int

// The classes. The standard class imports nothing. The class wasi-null is for
// languages with a runtime, such as stock Go: its modules may import some functions
// of WASI preview 1, none of which has an effect, and get higher limits. A host
// runs them only if its operator opted in.
const (
	ClassStandard Class = iota
	ClassWASI
)

// MaxWASIPages limits the memory of the class wasi-null: 16 MiB.
const MaxWASIPages = 256

// maxImports limits the imports; stock Go has under twenty.
const maxImports = 32

// WASIModule is the module that the class wasi-null imports from.
const WASIModule = "wasi_snapshot_preview1"

// WASIFunctions returns the functions that stock Go imports, which are the only
// ones allowed.
func WASIFunctions() []string {
	return []string{
		"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_close", "fd_fdstat_get",
		"fd_fdstat_set_flags", "fd_prestat_dir_name", "fd_prestat_get", "fd_read", "fd_seek", "fd_write", "path_open",
		"poll_oneoff", "proc_exit", "random_get", "sched_yield",
	}
}

// String returns the name of the class in reports.
func (c Class) String() string {
	if c == ClassWASI {
		return "wasi-null"
	}
	return "standard"
}

// MaxBytes returns the maximum size of a module.
func (c Class) MaxBytes() int {
	if c == ClassWASI {
		return fieldmark.MaxAnyModule
	}
	return fieldmark.MaxModule
}

// MaxPages returns the maximum memory of a module.
func (c Class) MaxPages() int {
	if c == ClassWASI {
		return MaxWASIPages
	}
	return MaxPages
}
