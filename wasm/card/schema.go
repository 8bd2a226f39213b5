package card

import _ "embed" // the schema is part of the binary

//go:embed schema.json
var schemaFile []byte

// Schema returns the JSON Schema (draft 2020-12) of a card file, for completion and
// checks in editors. Parse also checks sums, names and the order of points. The
// caller must not change the bytes, which are shared.
func Schema() []byte { return schemaFile }
