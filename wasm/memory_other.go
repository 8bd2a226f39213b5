//go:build !linux

package wasm

import "github.com/tetratelabs/wazero/experimental"

// mapMemory allocates memory on the heap.
func mapMemory(_, limit uint64) experimental.LinearMemory { return &heapMemory{limit: limit} }
