package wasm

import "github.com/tetratelabs/wazero/experimental"

// MapMemory is the memory instances get on this system.
var MapMemory = mapMemory

// HeapMemory is the memory they get elsewhere.
func HeapMemory(_, limit uint64) experimental.LinearMemory { return &heapMemory{limit: limit} }

// Rewritten returns a module's code as an Engine hands it to the compiler.
func Rewritten(module []byte) ([]byte, error) {
	_, p, err := parseModule(module)
	if err != nil {
		return nil, err
	}
	return p.meter().binary, nil
}
