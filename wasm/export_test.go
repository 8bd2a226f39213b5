package wasm

// Rewritten returns a module's code as an Engine hands it to the compiler.
func Rewritten(module []byte) ([]byte, error) {
	_, p, err := read(module)
	if err != nil {
		return nil, err
	}
	return p.meter().binary, nil
}
