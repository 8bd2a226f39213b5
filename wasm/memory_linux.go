package wasm

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// mapMemory maps memory for one instance: its maximum is reserved, touched pages
// are committed, and the Go heap is not affected.
func mapMemory(_, limit uint64) experimental.LinearMemory {
	const flags = syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_NORESERVE
	reserved, err := syscall.Mmap(-1, 0, int(limit), syscall.PROT_READ|syscall.PROT_WRITE, flags)
	if err != nil { // too many mappings
		return &heapMemory{limit: limit}
	}
	return &mappedMemory{reserved}
}

type mappedMemory struct{ reserved []byte }

// Reallocate grows in place, up to the reserved size.
func (m *mappedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	return m.reserved[:size]
}

// Free unmaps the pages, which cannot fail for a mapping made here.
func (m *mappedMemory) Free() { _ = syscall.Munmap(m.reserved) }
