package wasm

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// mapMemory gives an instance memory of its own pages: all that it may ever have
// is reserved, what it touches is committed, and the heap knows nothing of it.
func mapMemory(_, limit uint64) experimental.LinearMemory {
	const flags = syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_NORESERVE
	reserved, err := syscall.Mmap(-1, 0, int(limit), syscall.PROT_READ|syscall.PROT_WRITE, flags)
	if err != nil { // no more mappings
		return &heapMemory{limit: limit}
	}
	return &mappedMemory{reserved}
}

type mappedMemory struct{ reserved []byte }

// Reallocate grows in place, up to what is reserved.
func (m *mappedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	return m.reserved[:size]
}

// Free gives the pages back. A mapping of ours cannot fail to be undone.
func (m *mappedMemory) Free() { _ = syscall.Munmap(m.reserved) }
