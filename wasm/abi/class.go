package abi

import "github.com/fieldmark/fieldmark"

// Class is a kind of module, by what it needs of its host.
type Class int

// The classes. The standard class imports nothing. The class wasi-null is for
// languages that bring a runtime, such as stock Go: its modules may import some
// functions of WASI preview 1, all of which do nothing, and are given more of
// everything; a host runs them only where it was told to.
const (
	ClassStandard Class = iota
	ClassWASI
)

// MaxWASIPages bounds the memory of the class wasi-null: 16 MiB.
const MaxWASIPages = 256

// maxImports bounds the list; stock Go has under twenty.
const maxImports = 32

// WASIModule is where modules of the class wasi-null import from.
const WASIModule = "wasi_snapshot_preview1"

// WASIFunctions lists what stock Go imports, which is all there is to import.
func WASIFunctions() []string {
	return []string{
		"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_close", "fd_fdstat_get",
		"fd_fdstat_set_flags", "fd_prestat_dir_name", "fd_prestat_get", "fd_read", "fd_seek", "fd_write", "path_open",
		"poll_oneoff", "proc_exit", "random_get", "sched_yield",
	}
}

// String names the class as reports do.
func (c Class) String() string {
	if c == ClassWASI {
		return "wasi-null"
	}
	return "standard"
}

// MaxBytes bounds a module of the class.
func (c Class) MaxBytes() int {
	if c == ClassWASI {
		return fieldmark.MaxAnyModule
	}
	return fieldmark.MaxModule
}

// MaxPages bounds its memory.
func (c Class) MaxPages() int {
	if c == ClassWASI {
		return MaxWASIPages
	}
	return MaxPages
}
