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
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// features are those a module may use: version 1 of WebAssembly and three small
// additions that every tool chain emits. Reference types, SIMD, multi-value and
// experiments are excluded, so that an untrusted module cannot reach their code in
// the engine.
const features = api.CoreFeaturesV1 |
	api.CoreFeatureBulkMemoryOperations |
	api.CoreFeatureSignExtensionOps |
	api.CoreFeatureNonTrappingFloatToIntConversion

const (
	// compileTime limits compilation. The built-in module takes milliseconds; a
	// megabyte of malicious control flow takes many seconds.
	compileTime = 5 * time.Second * timeout.Scale

	// compileWASITime is longer: a language runtime compiles in half a second on an
	// idle machine, and a hundred times slower with the race detector on a busy
	// one.
	compileWASITime = time.Minute

	// compileWorkers is more than one because only then the engine checks the
	// deadline between functions.
	compileWorkers = 2

	// instancesPerCPU gives the default size of a pool. A running module never
	// yields, so more than one per processor only covers the time between calls.
	instancesPerCPU = 2

	// maxInstances limits Config.Instances: at 1 MiB each, a gigabyte.
	maxInstances = 1024
)

// ErrClosed is returned by a closed Module or Engine. A caller that shares a module
// behind a pointer loads the pointer again.
var ErrClosed = errors.New("scoring module is closed")

// Config configures an Engine.
type Config struct {
	// Instances limits how many instances of one module exist at once; further
	// callers wait. Zero means twice GOMAXPROCS.
	Instances int

	// Interpret selects the interpreter, about a hundred times slower. Check uses
	// it to verify the compiler.
	Interpret bool

	// WASI accepts modules of the class wasi-null, which need more of every
	// resource and may block the process for two seconds.
	WASI bool

	// Trace adds the stack to faults, for authors: a call that fails is repeated with the names and the
	// debugging information of the module, which its author wrote. Not for modules of strangers.
	Trace bool

	// Observer receives the events of modules.
	Observer Observer
}

// Engine loads modules. Each has its own runtime, so that modules cannot reach each
// other and closing one frees everything.
type Engine struct {
	instances int
	wasi      bool
	trace     bool
	interpret bool // instead of compiling
	observe   Observer

	mu     sync.Mutex
	open   map[*Module]struct{}
	closed bool
}

// New returns an Engine. It starts nothing.
func New(c Config) (*Engine, error) {
	if c.Instances < 0 || c.Instances > maxInstances {
		return nil, fmt.Errorf("wasm: Instances is %d, may be 0 to %d", c.Instances, maxInstances)
	}
	if c.Instances == 0 {
		c.Instances = instancesPerCPU * runtime.GOMAXPROCS(0)
	}
	return &Engine{instances: c.Instances, wasi: c.WASI, trace: c.Trace, interpret: c.Interpret,
		observe: c.Observer, open: map[*Module]struct{}{}}, nil
}

// Load validates a module, rewrites it to count fuel, compiles it and runs its
// golden vectors. It rejects a module that fails any of these. The caller closes
// the module.
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
	if e.trace {
		m.traced = &traced{original: module, program: program, inputs: len(parsed.Manifest.Inputs)}
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

// ErrWASI is returned for a module of the class wasi-null if Config.WASI is false.
var ErrWASI = errors.New("modules of the class wasi-null are disabled here")

// compile rewrites a program and compiles it in a new runtime, without running it.
func (e *Engine) compile(ctx context.Context, p *program, digest fieldmark.Digest, manifest *abi.Manifest) (*Module,
	error) {
	if p.class == abi.ClassWASI && !e.wasi {
		return nil, ErrWASI
	}
	module, fuel := p.meter(), p.limits().fuel
	config := wazero.NewRuntimeConfig()
	if e.interpret {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	rt := newRuntime(ctx, config, p.class, false)
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

// newRuntime returns a runtime for one module. debug reads the DWARF sections of the module.
func newRuntime(ctx context.Context, config wazero.RuntimeConfig, class abi.Class, debug bool) wazero.Runtime {
	return wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features).
		WithMemoryLimitPages(uint32(class.MaxPages())).WithDebugInfoEnabled(debug))
}

// checkExports checks the signatures of the exported functions.
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

// register adds a module to those that Close closes.
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

// Close closes every open module and prevents loading more. It waits for running
// calls until ctx ends.
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
