package wasm

import "github.com/tetratelabs/wazero/experimental"

// MapMemory allocates the memory of instances on this system.
var MapMemory = mapMemory

// HeapMemory allocates it on other systems.
func HeapMemory(_, limit uint64) experimental.LinearMemory { return &heapMemory{limit: limit} }

// Rewritten returns a module's code as an Engine passes it to the compiler.
func Rewritten(module []byte) ([]byte, error) {
	_, p, err := parseModule(module)
	if err != nil {
		return nil, err
	}
	return p.meter().binary, nil
}
