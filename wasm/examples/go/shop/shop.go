package shop

import "github.com/fieldmark/fieldmark/wasm/guest"

// The inputs in the order of the manifest.
const (
	reachable = iota
	typed
	fields
	light
	orgContact
	linkContact
	Inputs // how many there are
)

// Signals is how many marks there are.
const Signals = 4

var (
	points = [Signals]int64{35, 25, 20, 20}
	whole  = [...]guest.Knot{{X: 0, Y: 0}, {X: 1000, Y: 1000}}
	most   = [...]guest.Knot{{X: 200, Y: 0}, {X: 1000, Y: 1000}}
)

// Score marks an online shop.
func Score(in *guest.Inputs, out *guest.Result) {
	var products, previews, weight, contact guest.Mix
	products.Add(in, typed, 1, guest.Linear(in.Values[typed], whole[:]))
	previews.Add(in, fields, 1, guest.Linear(in.Values[fields], whole[:]))
	weight.Add(in, light, 1, guest.Linear(in.Values[light], most[:]))
	contact.Add(in, orgContact, 1, guest.Linear(in.Values[orgContact], whole[:]))
	contact.Add(in, linkContact, 3, guest.Linear(in.Values[linkContact], whole[:]))
	out.Marks[0], out.Marks[1], out.Marks[2], out.Marks[3] = products.Mean(), previews.Mean(), weight.Mean(),
		contact.Mean()
	out.Gate(0, in.Below(reachable, 1000))
	out.Gate(1, in.Below(orgContact, 1000) && in.Below(linkContact, 1000))
	out.Total(points[:])
}
