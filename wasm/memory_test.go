package wasm_test

import (
	"bytes"
	"testing"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// TestMemories checks that the memory of this system and the portable one behave alike:
// zeroed at first, unchanged by growth, and released in the end.
func TestMemories(t *testing.T) {
	for name, make := range map[string]func(initial, limit uint64) experimental.LinearMemory{"system": wasm.MapMemory,
		"portable": wasm.HeapMemory} {
		t.Run(name, func(t *testing.T) {
			m := make(abi.PageSize, 4*abi.PageSize)
			first := m.Reallocate(abi.PageSize)
			if len(first) != abi.PageSize || !bytes.Equal(first, bytes.Repeat([]byte{0}, abi.PageSize)) {
				t.Fatalf("begins with %d bytes, all zero: want %d", len(first), abi.PageSize)
			}
			first[7], first[abi.PageSize-1] = 1, 2
			grown := m.Reallocate(3 * abi.PageSize)
			if len(grown) != 3*abi.PageSize || grown[7] != 1 || grown[abi.PageSize-1] != 2 || grown[abi.PageSize] != 0 {
				t.Errorf("grown to %d bytes: %d %d %d", len(grown), grown[7], grown[abi.PageSize-1],
					grown[abi.PageSize])
			}
			if over := m.Reallocate(5 * abi.PageSize); over != nil {
				t.Errorf("grew to %d bytes, past its limit", len(over))
			}
			m.Free()
		})
	}
}
