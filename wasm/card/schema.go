package card

import _ "embed" // the schema is part of the binary

//go:embed schema.json
var schemaFile []byte

// Schema returns the JSON Schema (draft 2020-12) of a card file, for editors
// that complete and check while one types. Parse checks more: sums, names and
// the order of points. The bytes are shared: the caller must not change them.
func Schema() []byte { return schemaFile }
