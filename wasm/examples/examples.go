package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/guest"
)

//go:embed c assemblyscript rust go card
var files embed.FS

// Languages returns the languages of the examples.
// card is a scorecard in JSON; the others are compiled to WebAssembly.
func Languages() []string { return []string{"assemblyscript", "c", "card", "go", "rust"} }

// Write creates a project in a folder that must not exist or must be empty: the
// example of the language with its SDK file, or a scorecard with its schema.
func Write(language, folder string) error {
	if !slices.Contains(Languages(), language) {
		return fmt.Errorf("no example in %q; there are %s", language, strings.Join(Languages(), ", "))
	}
	// A folder with files is refused: the project would overwrite those of the same name.
	if old, err := os.ReadDir(folder); err == nil && len(old) > 0 {
		return fmt.Errorf("%s is not empty", folder)
	}
	if err := copyOut(language, folder); err != nil {
		return err
	}
	name, text := guest.SDK(language)
	if language == "card" {
		name, text = "card.schema.json", card.Schema()
	}
	if name == "" {
		return nil
	}
	return write(folder, name, text)
}

// copyOut writes the files of an example without the folder of its language.
func copyOut(language, folder string) error {
	return fs.WalkDir(files, language, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, language+"/")
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return write(folder, name, text)
	})
}

func write(folder, name string, text []byte) error {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// embed keeps no modes, so build scripts get theirs here.
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o755
	}
	return os.WriteFile(path, text, mode)
}
