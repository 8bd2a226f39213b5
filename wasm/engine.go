package wasm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// features is all that a scorer may use: the first version of WebAssembly and
// the three small additions every tool chain emits. What is left out (reference
// types, SIMD, multi-value and all experiments) is engine code a stranger's
// module can then not reach.
const features = api.CoreFeaturesV1 |
	api.CoreFeatureBulkMemoryOperations |
	api.CoreFeatureSignExtensionOps |
	api.CoreFeatureNonTrappingFloatToIntConversion

const (
	// compileTime bounds compilation; the built-in takes milliseconds, hostile
	// control flow of a megabyte takes many seconds.
	compileTime = 5 * time.Second

	// compileWASITime is longer: a language's runtime takes half a second on a
	// machine at rest, and a hundred times that under a race detector on one that
	// is not.
	compileWASITime = time.Minute

	// compileWorkers is more than one because only then does the engine look
	// at the deadline between functions.
	compileWorkers = 2

	// instancesPerCPU is the default cap of a pool. A running module never
	// yields, so more than one per processor only bridges hand-overs.
	instancesPerCPU = 2

	// maxInstances bounds Config.Instances: at 1 MiB each, a gigabyte.
	maxInstances = 1024
)

// ErrClosed is what a closed Module or Engine answers. A caller that shares a
// module behind a pointer loads the pointer again.
var ErrClosed = errors.New("scoring module is closed")

// Config is what an Engine may be told.
type Config struct {
	// Instances bounds how many copies of one module exist at once; who comes
	// when all are busy waits. Zero means twice GOMAXPROCS.
	Instances int

	// Interpret runs modules by the slow engine, some hundred times slower. It
	// is the second opinion on what the compiling engine makes of a module.
	Interpret bool

	// WASI lets modules of the class wasi-null run, which need more of everything
	// and may hold the process up for two seconds.
	WASI bool

	// Observer is told what modules do.
	Observer Observer
}

// Engine loads modules. Each module lives in a runtime of its own, so none can
// reach another and closing it frees everything.
type Engine struct {
	instances int
	wasi      bool
	interpret bool // run by the slow engine, as a second opinion
	observe   Observer

	mu     sync.Mutex
	open   map[*Module]struct{}
	closed bool
}

// New returns an Engine; it starts nothing.
func New(c Config) (*Engine, error) {
	if c.Instances < 0 || c.Instances > maxInstances {
		return nil, fmt.Errorf("wasm: Instances is %d, may be 0 to %d", c.Instances, maxInstances)
	}
	if c.Instances == 0 {
		c.Instances = instancesPerCPU * runtime.GOMAXPROCS(0)
	}
	return &Engine{instances: c.Instances, wasi: c.WASI, interpret: c.Interpret, observe: c.Observer, open: map[*Module]struct{}{}}, nil
}

// Load checks a module, rewrites it to count what it does, compiles it, and runs
// its golden vectors; a module that fails any of this is refused. A caller
// closes what it loaded.
func (e *Engine) Load(ctx context.Context, module []byte) (*Module, error) {
	start := time.Now()
	digest := fieldmark.DigestOf(sha256.Sum256(module))
	parsed, program, err := parseModule(module)
	if err != nil {
		return nil, fmt.Errorf("load module %s: %w", digest, err)
	}
	m, err := e.compile(ctx, program, digest, parsed.Manifest)
	if err != nil {
		return nil, fmt.Errorf("load module %s: %w", digest, err)
	}
	err = m.verifyVectors(ctx, parsed.Vectors)
	if err == nil {
		err = m.pool.prewarm(ctx, runtime.GOMAXPROCS(0))
	}
	if err == nil {
		err = e.register(m)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load module %s: %w", digest, err), m.pool.close(context.WithoutCancel(ctx)))
	}
	e.observe.loaded(m.ref, time.Since(start))
	return m, nil
}

// ErrWASI refuses a module of the class wasi-null where that is off.
var ErrWASI = errors.New("a module of the class wasi-null, which is off here")

func (e *Engine) compile(ctx context.Context, p *program, digest fieldmark.Digest, manifest *abi.Manifest) (*Module, error) {
	if p.class == abi.ClassWASI && !e.wasi {
		return nil, ErrWASI
	}
	module, fuel := p.meter(), p.limits().fuel
	config := wazero.NewRuntimeConfig()
	if e.interpret {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	rt := wazero.NewRuntimeWithConfig(ctx, config.
		WithCoreFeatures(features).
		WithMemoryLimitPages(uint32(p.class.MaxPages())).
		WithDebugInfoEnabled(false))
	within := compileTime
	if p.class == abi.ClassWASI {
		within = compileWASITime
	}
	deadline, cancel := context.WithTimeout(experimental.WithCompilationWorkers(ctx, compileWorkers), within)
	defer cancel()
	compiled, err := rt.CompileModule(deadline, module.binary)
	if err == nil && p.class == abi.ClassWASI {
		err = nullWASI(ctx, rt)
	}
	if err == nil {
		err = checkExports(compiled)
	}
	if err != nil {
		return nil, errors.Join(err, rt.Close(context.WithoutCancel(ctx)))
	}
	ref := fieldmark.ModuleRef{Name: manifest.Name, Version: manifest.Version, Digest: digest}
	return &Module{
		engine: e,
		ref:    ref,
		pool: newPool(e.instances, poolConfig{
			runtime: rt, compiled: compiled, globals: module.globals,
			inputSize: abi.InputSize(len(manifest.Inputs)), fuel: fuel, class: p.class, ref: ref, observe: &e.observe,
		}),

		manifest: manifest,
		fuel:     fuel,
		points:   manifest.Points(),
	}, nil
}

// checkExports holds the exported functions to their signatures.
func checkExports(compiled wazero.CompiledModule) error {
	functions := compiled.ExportedFunctions()
	for name, results := range map[string]int{abi.ExportInput: 1, abi.ExportScore: 1, abi.ExportInit: 0} {
		f, ok := functions[name]
		if !ok {
			if name == abi.ExportInit {
				continue // optional
			}
			return fmt.Errorf("no exported function %s", name)
		}
		got := f.ResultTypes()
		if len(f.ParamTypes()) != 0 || len(got) != results || results == 1 && got[0] != api.ValueTypeI32 {
			return fmt.Errorf("function %s has the wrong signature", name)
		}
	}
	return nil
}

func (e *Engine) register(m *Module) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.open[m] = struct{}{}
	return nil
}

func (e *Engine) unregister(m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, m)
}

// Close closes every module that is still open and refuses to load more. It
// waits for running calls until ctx ends.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	var open []*Module
	for m := range e.open {
		open = append(open, m)
	}
	e.mu.Unlock()

	var errs []error
	for _, m := range open {
		errs = append(errs, m.Close(ctx))
	}
	return errors.Join(errs...)
}
