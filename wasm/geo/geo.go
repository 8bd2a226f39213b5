package geo

import (
	_ "embed" // the cards and the modules are part of the binary
	"slices"
	"sync"

	"github.com/fieldmark/fieldmark/wasm/card"
)

//go:generate go test -run TestCommittedModules -update

var (
	//go:embed geo-readiness-1.json
	card1 []byte
	//go:embed geo-readiness-1.wasm
	module1 []byte
	//go:embed geo-readiness-2.json
	card2 []byte
	//go:embed geo-readiness-2.wasm
	module2 []byte
)

var cards = sync.OnceValue(func() (all []*card.Card) {
	for _, file := range [][]byte{card1, card2} {
		c, err := card.Parse(file)
		if err != nil {
			panic("BUG: the built-in " + err.Error())
		}
		all = append(all, c)
	}
	return all
})

// Cards returns the scorecard of every version, the oldest first. The bytes of a
// published version never change, so that its scores can be computed again.
func Cards() []*card.Card { return slices.Clone(cards()) }

// Card returns the scorecard of the newest version.
func Card() *card.Card { return cards()[len(cards())-1] }

// Modules returns the module of every version, the oldest first. The bytes are shared:
// the caller must not change them.
func Modules() [][]byte { return [][]byte{module1, module2} }

// Module returns the module of the newest version, which new installations activate.
func Module() []byte { return module2 }
