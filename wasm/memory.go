package wasm

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/experimental"
)

// withMemory allocates instance memory outside the Go heap where the system
// supports it: it grows without copying, and a hundred instances do not raise the
// garbage collector's target for the rest of the heap.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(mapMemory))
}

// heapMemory is the portable implementation.
type heapMemory struct {
	b     []byte
	limit uint64
}

// Reallocate grows the memory, by copying if necessary.
func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		return nil
	}
	if more := int(size) - len(m.b); more > 0 {
		m.b = append(slices.Grow(m.b, more), make([]byte, more)...)
	}
	return m.b[:size]
}

// Free leaves the memory to the garbage collector.
func (m *heapMemory) Free() { m.b = nil }
