package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fieldmark/fieldmark/wasm/geo"
)

// sloppy is a card with a wrong direction.
const sloppy = `{
	"name": "sloppy", "version": "1.0.0", "methodology": {"id": "sloppy", "version": "1.0", "url": "/sloppy"},
	"author": "Somebody", "licence": "MIT",
	"inputs": [{"name": "text.words", "unit": "words", "direction": "down"}],
	"components": [{"id": "all", "label": "All", "weight": 100, "signals": [
		{"id": "all.one", "label": "One", "points": 100, "advice": "Do.", "combine": "mean",
		 "parts": [{"input": "text.words", "curve": {"linear": [[0, 0], [300, 1]]}}]}
	]}],
	"gates": []
}`

// TestModuleScripts tests the commands on modules that are too large for scripts.
func TestModuleScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/module",
		Setup: func(env *testscript.Env) error {
			usePlainProgram(t, env)
			for name, module := range map[string][]byte{
				"good.wasm": geo.Module(),
				"bad.wasm": []byte(
					"\x00asm\x01\x00\x00\x00\x02\x0b\x01\x03env\x03log\x00\x00\x05\x04\x01\x01\x01\x63"),
				"sloppy.json": []byte(sloppy),
				"small.json":  []byte(strings.NewReplacer("down", "up", "sloppy", "small").Replace(sloppy)),
			} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), module, 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	})
}
