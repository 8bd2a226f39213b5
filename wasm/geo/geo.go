package geo

import (
	_ "embed" // the card and the module are part of the binary
	"sync"

	"github.com/fieldmark/fieldmark/wasm/card"
)

//go:generate go test -run TestCommittedModule -update

//go:embed geo-readiness.json
var cardFile []byte

//go:embed geo-readiness.wasm
var moduleFile []byte

var parsed = sync.OnceValue(func() *card.Card {
	c, err := card.Parse(cardFile)
	if err != nil {
		panic("BUG: the built-in " + err.Error())
	}
	return c
})

// Card returns the scorecard of geo-readiness.
func Card() *card.Card { return parsed() }

// Module returns the bytes of the module compiled from the card. They are
// shared: the caller must not change them.
func Module() []byte { return moduleFile }
