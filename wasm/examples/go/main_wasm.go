// Command go is the module: it registers the scorer with the SDK.
package main

import (
	"github.com/fieldmark/fieldmark/wasm/examples/go/shop"
	"github.com/fieldmark/fieldmark/wasm/guest"
)

func init() { guest.Serve(shop.Inputs, shop.Signals, shop.Score) }

func main() {}
