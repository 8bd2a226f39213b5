package wasm

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/experimental"
)

// withMemory has instances get memory outside the heap, where the system has
// such: it grows without copies, and a hundred instances do not make the
// collector generous with everything else.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(mapMemory))
}

// heapMemory is the portable memory.
type heapMemory struct {
	b     []byte
	limit uint64
}

// Reallocate grows, by a copy where there is no room.
func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		return nil
	}
	if more := int(size) - len(m.b); more > 0 {
		m.b = append(slices.Grow(m.b, more), make([]byte, more)...)
	}
	return m.b[:size]
}

// Free leaves the memory to the collector.
func (m *heapMemory) Free() { m.b = nil }
