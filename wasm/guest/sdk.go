//go:build !wasm

package guest

import "embed"

//go:embed c/scorer.h assemblyscript/scorer.ts rust/scorer.rs
var files embed.FS

// SDK returns the SDK file that a project in another language needs, and its name;
// nil if it needs none.
func SDK(language string) (name string, text []byte) {
	path := map[string]string{"c": "c/scorer.h", "assemblyscript": "assemblyscript/scorer.ts",
		"rust": "rust/scorer.rs"}[language]
	if path == "" {
		return "", nil
	}
	text, err := files.ReadFile(path)
	if err != nil {
		panic("BUG: an SDK that is not embedded: " + err.Error())
	}
	return map[string]string{"c": "scorer.h", "assemblyscript": "scorer.ts", "rust": "src/scorer.rs"}[language], text
}
