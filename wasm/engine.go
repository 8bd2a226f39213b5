package wasm

import (
	"context"
	"errors"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Config is what an Engine may be told.
type Config struct {
	// Instances bounds how many copies of one module run at once; zero means
	// twice GOMAXPROCS.
	Instances int
}

// Engine loads modules.
type Engine struct{ instances int }

// New returns an Engine; it starts nothing.
func New(c Config) (*Engine, error) { return &Engine{instances: c.Instances}, nil }

// Load compiles a module.
func (e *Engine) Load(ctx context.Context, module []byte) (*Module, error) {
	return nil, errors.ErrUnsupported
}

// Close closes every module.
func (e *Engine) Close(ctx context.Context) error { return nil }

// Module is a loaded module.
type Module struct {
	ref         fieldmark.ModuleRef
	methodology fieldmark.Methodology
}

// Ref names the module.
func (m *Module) Ref() fieldmark.ModuleRef { return m.ref }

// Methodology names the method the module implements.
func (m *Module) Methodology() fieldmark.Methodology { return m.methodology }

// Assess scores facts.
func (m *Module) Assess(ctx context.Context, facts *fieldmark.Facts, now time.Time) (fieldmark.Assessment, error) {
	return fieldmark.Assessment{}, errors.ErrUnsupported
}

// Close gives back everything the module holds.
func (m *Module) Close(ctx context.Context) error { return nil }

// Ref reads a module's name, version and digest without running it.
func Ref(module []byte) (fieldmark.ModuleRef, error) {
	return fieldmark.ModuleRef{}, errors.ErrUnsupported
}
