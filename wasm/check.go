package wasm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fieldmark/fieldmark/wasm/abi"
)

// The extent of a check. Each part ends after its number of calls, or when its
// calls together have used checkFuel, so that the most expensive module takes
// seconds: 100 million units take up to two seconds compiled and a few more
// interpreted.
const (
	checkFuel      = 100_000_000
	randomCases    = 100  // random cases, in addition to the constructed ones
	freshCases     = 16   // cases run on a new instance
	repeatedCalls  = 1000 // calls with one case in a row
	searchCalls    = 2000 // calls to search for the most expensive input
	directionBases = 100  // starting points from which every input is changed
)

// Check validates a module before it may be activated and returns every problem it
// finds. It checks the structure; runs the golden vectors and a corpus of edge
// cases on both engines, which must agree in result and fuel; repeats the cases on
// new and used instances and in another order; searches for the most expensive
// input; and tests every declared direction.
//
// Compiling a malicious module may take seconds and much memory. A server must call
// Check in a separate process.
func Check(ctx context.Context, module []byte) Report {
	r, parsed, p := inspect(module)
	if len(r.Problems) > 0 {
		return r
	}
	t := checker{report: &r, manifest: parsed.Manifest, random: rand.New(rand.NewPCG(1, 0))}
	for _, interpret := range []bool{false, true} {
		engine, err := New(Config{Instances: 1, Interpret: interpret, WASI: true})
		if err != nil {
			r.addError(err)
			return r
		}
		m, err := engine.compile(ctx, p, r.Digest, parsed.Manifest)
		if err != nil {
			r.addError(err)
			return r
		}
		defer func() { r.addError(m.pool.close(context.WithoutCancel(ctx))) }()
		if err := m.pool.prewarm(ctx, 1); err != nil {
			r.addError(err) // every case would fail the same way
			return r
		}
		t.modules = append(t.modules, m)
	}
	r.Measurements = &Measurements{}
	t.runVectors(ctx, parsed.Vectors)
	t.addCorpus()
	t.compareEngines(ctx)
	t.compareOrders(ctx)
	t.findWorst(ctx)
	t.checkDirections(ctx)
	r.addError(ctx.Err())
	return r
}

// checker is the state of one Check.
// Its random numbers have a fixed seed, so two checks of a module give the same result.
type checker struct {
	report      *Report
	manifest    *abi.Manifest
	modules     []*Module // compiled, interpreted
	random      *rand.Rand
	cases       []testCase
	interesting [][]int64 // for each input, values likely to reveal errors
	faults      map[string]bool
}

// testCase is an input and its outcome.
type testCase struct {
	values []int64
	states []byte
	got    outcome
}

// outcome is everything that must be equal in two runs with one input.
type outcome struct {
	fault  string
	fuel   int64
	result abi.Result
}

func (f *outcome) equal(g *outcome) bool {
	return f.fault == g.fault && f.fuel == g.fuel && f.result.Score == g.result.Score &&
		f.result.Gates == g.result.Gates && slices.Equal(f.result.Marks, g.result.Marks)
}

func (f *outcome) String() string {
	if f.fault != "" {
		return fmt.Sprintf("%s after %d units", f.fault, f.fuel)
	}
	return fmt.Sprintf("score %d, gates %#x, marks %v, %d units", f.result.Score, f.result.Gates, f.result.Marks,
		f.fuel)
}

// run scores once. A fault is recorded by its kind and text.
// Fuel is part of the outcome: two engines that disagree about it would disagree about which
// inputs exceed the budget.
func (t *checker) run(ctx context.Context, m *Module, values []int64, states []byte) outcome {
	var f outcome
	fuel, err := m.Measure(ctx, values, states, &f.result)
	f.fuel = fuel
	if fault, ok := errors.AsType[*Fault](err); ok {
		f.fault, f.result = string(fault.Kind)+": "+fault.Err.Error(), abi.Result{}
	} else if err != nil {
		f.fault = err.Error()
	}
	if m == t.modules[0] {
		t.report.Measurements.Calls++
	}
	return f
}

// reportOnce reports only the first problem of each kind, because a module that
// always fails would have thousands. The first report contains the input.
func (t *checker) reportOnce(kind, format string, args ...any) {
	if t.faults[kind] {
		return
	}
	if t.faults == nil {
		t.faults = map[string]bool{}
	}
	t.faults[kind] = true
	t.report.addf(format, args...)
}

// runVectors runs the golden vectors on both engines.
// Their values become part of the corpus: authors choose them at the thresholds of their module.
func (t *checker) runVectors(ctx context.Context, runVectors []abi.Vector) {
	t.interesting = make([][]int64, len(t.manifest.Inputs))
	for i := range runVectors {
		v := &runVectors[i]
		states := v.AppendStates(nil)
		t.cases = append(t.cases, testCase{values: v.Values, states: states})
		for j, value := range v.Values {
			t.interesting[j] = append(t.interesting[j], value)
		}
		want := outcome{result: v.Result()}
		for _, m := range t.modules {
			got := t.run(ctx, m, v.Values, states)
			t.report.Measurements.Fuel = max(t.report.Measurements.Fuel, got.fuel)
			if want.fuel = got.fuel; !got.equal(&want) {
				t.report.addf("golden vector %d: got %s, want %s", i, &got, &want)
				break
			}
		}
	}
	for i := range t.interesting {
		t.interesting[i] = append(t.interesting[i], 0, 1, -1, 500, 1000, -1000, 1_000_000, abi.MaxValue, -abi.MaxValue)
		slices.Sort(t.interesting[i])
		t.interesting[i] = slices.Compact(t.interesting[i])
	}
}

// addCorpus adds edge cases: everything unknown, not applicable or at a limit,
// single inputs missing, and random values.
func (t *checker) addCorpus() {
	n := len(t.manifest.Inputs)
	add := func(state byte, value func(i int) int64) *testCase {
		e := testCase{values: make([]int64, n), states: slices.Repeat([]byte{state}, n)}
		for i := range e.values {
			e.values[i] = value(i)
		}
		t.cases = append(t.cases, e)
		return &t.cases[len(t.cases)-1]
	}
	same := func(v int64) func(int) int64 { return func(int) int64 { return v } }
	add(abi.StateUnknown, same(0))
	add(abi.StateNotApplicable, same(0))
	for _, v := range []int64{0, 1, -1, 1000, -1000, abi.MaxValue, -abi.MaxValue} {
		add(abi.StateMeasured, same(v))
	}
	add(abi.StateMeasured, func(i int) int64 { return abi.MaxValue * int64(1-i%2*2) })
	for i := range n {
		add(abi.StateMeasured, same(1000)).states[i] = abi.StateUnknown
		add(abi.StateUnknown, same(0)).states[i] = abi.StateMeasured
	}
	for range randomCases {
		t.randomize(add(abi.StateMeasured, same(0)))
	}
}

// randomize sets random inputs, most of them measured.
func (t *checker) randomize(e *testCase) {
	for i := range e.values {
		e.values[i] = t.value(i)
		e.states[i] = abi.StateMeasured
		if t.random.IntN(8) == 0 {
			e.states[i] = byte(t.random.IntN(3))
		}
	}
}

// value returns a value for an input: an interesting one, or one between two of
// them.
// Values between two interesting ones find thresholds that the author did not put into a vector.
func (t *checker) value(input int) int64 {
	pool := t.interesting[input]
	at := t.random.IntN(len(pool))
	if at == 0 || t.random.IntN(2) == 0 {
		return pool[at]
	}
	return pool[at-1] + t.random.Int64N(pool[at]-pool[at-1])
}

// compareEngines runs the corpus on both engines, which must agree in result and
// fuel. Of faults it compares the first of each text: the module is rejected anyway, and
// an endless one would take the interpreter seconds.
func (t *checker) compareEngines(ctx context.Context) {
	var spent int64
	for i := range t.cases {
		e := &t.cases[i]
		e.got = t.run(ctx, t.modules[0], e.values, e.states)
		known := e.got.fault != "" && t.faults[e.got.fault]
		if e.got.fault != "" {
			t.reportOnce(e.got.fault, "values %v, states %v: %s", e.values, e.states, e.got.fault)
		}
		if known || spent > checkFuel {
			continue
		}
		spent += e.got.fuel
		other := t.run(ctx, t.modules[1], e.values, e.states)
		if !other.equal(&e.got) {
			t.reportOnce("engines", "values %v, states %v: the compiler says %s, the interpreter %s", e.values,
				e.states, &e.got, &other)
			continue
		}
		t.report.Measurements.Compared++
	}
}

// compareOrders runs the corpus again after different earlier calls: the outcome
// must not depend on them.
// A module that keeps state between calls would give a brand another score on each edge.
func (t *checker) compareOrders(ctx context.Context) {
	m := t.modules[0]
	again := func(past string, e *testCase) bool {
		got := t.run(ctx, m, e.values, e.states)
		if !got.equal(&e.got) {
			t.reportOnce("state", "values %v, states %v, %s: %s, before %s", e.values, e.states, past, &got, &e.got)
		}
		return got.equal(&e.got)
	}
	var spent int64
	for i := len(t.cases) - 1; i >= 0 && spent < checkFuel; i-- {
		again("in reversed order", &t.cases[i])
		spent += t.cases[i].got.fuel
	}
	for i := range min(freshCases, len(t.cases)) {
		m.pool.discardIdle()
		again("on a fresh instance", &t.cases[i])
	}
	last := &t.cases[len(t.cases)-1]
	for i := 0; i < repeatedCalls && int64(i)*last.got.fuel < checkFuel; i++ {
		if !again("called once more", last) {
			break
		}
	}
	t.compareAddresses(ctx)
}

// compareAddresses reads the address of the inputs of a used instance, which must
// not have changed.
func (t *checker) compareAddresses(ctx context.Context) {
	in, err := t.modules[0].pool.acquire(ctx)
	if err != nil {
		t.report.addError(err)
		return
	}
	addr, err := in.inputAddress(ctx)
	if err == nil && addr != in.snapshot.input {
		err = fmt.Errorf("%s says %d after some calls, at first %d", abi.ExportInput, addr, in.snapshot.input)
	}
	t.modules[0].pool.release(in, false)
	t.report.addError(err)
}

// findWorst searches for the most expensive input: first at random, then by hill
// climbing from the best so far.
// The result is a lower bound of the true maximum. The budget stops what is worse; this number
// shows an author how near the module is to it.
func (t *checker) findWorst(ctx context.Context) {
	best := t.cases[0]
	for _, e := range t.cases {
		if e.got.fuel > best.got.fuel {
			best = e
		}
	}
	next := testCase{values: slices.Clone(best.values), states: slices.Clone(best.states)}
	var spent int64
	for i := 0; i < searchCalls && spent < checkFuel; i++ {
		if i < searchCalls/4 {
			t.randomize(&next)
		} else {
			copy(next.values, best.values)
			copy(next.states, best.states)
			for range 1 + t.random.IntN(3) {
				at := t.random.IntN(len(next.values))
				next.values[at], next.states[at] = t.value(at), byte(t.random.IntN(3))
			}
		}
		next.got = t.run(ctx, t.modules[0], next.values, next.states)
		spent += next.got.fuel
		if next.got.fault != "" {
			t.reportOnce(next.got.fault, "values %v, states %v: %s", next.values, next.states, next.got.fault)
		}
		if next.got.fuel >= best.got.fuel {
			best = testCase{slices.Clone(next.values), slices.Clone(next.states), next.got}
		}
	}
	found := abi.NewVector(best.values, best.states, best.got.result)
	r := t.report.Measurements
	r.WorstFuel, r.WorstValues, r.WorstStates = best.got.fuel, found.Values, found.States
	r.WorstShare = float64(best.got.fuel) / float64(t.modules[0].fuel) * 100
}

// checkDirections changes one input at a time and checks that the shown score moves
// in the declared direction.
// An owner who improves a fact must not lose points. Only the shown score counts: within a
// gate's limit it may stay equal.
func (t *checker) checkDirections(ctx context.Context) {
	base := testCase{values: make([]int64, len(t.manifest.Inputs)), states: make([]byte, len(t.manifest.Inputs))}
	var spent int64
	for i := 0; i < directionBases && spent < checkFuel; i++ {
		if t.randomize(&base); i < len(t.cases) && i%2 == 0 {
			copy(base.values, t.cases[i].values)
			copy(base.states, t.cases[i].states)
		}
		before := t.run(ctx, t.modules[0], base.values, base.states)
		for j := range t.manifest.Inputs {
			in := &t.manifest.Inputs[j]
			if in.Direction == abi.None || base.states[j] != abi.StateMeasured || before.fault != "" {
				continue
			}
			old := base.values[j]
			base.values[j] = t.value(j)
			after := t.run(ctx, t.modules[0], base.values, base.states)
			spent += after.fuel
			t.report.Measurements.Directions++
			grew := t.manifest.Shown(&after.result) - t.manifest.Shown(&before.result)
			if base.values[j] < old {
				grew = -grew
			}
			if after.fault == "" && (in.Direction == abi.Up && grew < 0 || in.Direction == abi.Down && grew > 0) {
				t.reportOnce("direction "+in.Name, "input %s is declared %s, but from %d to %d the score goes "+
					"from %d to %d (values %v, states %v)",
					in.Name, in.Direction, old, base.values[j], t.manifest.Shown(&before.result),
					t.manifest.Shown(&after.result), base.values, base.states)
			}
			base.values[j] = old
		}
	}
}
