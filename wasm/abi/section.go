package abi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fieldmark/fieldmark"
)

// The sections of a WebAssembly module (Core Specification 5.5) this package
// looks into or refuses.
const (
	sectionCustom    = 0
	sectionImport    = 2
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionData      = 11
	sectionDataCount = 12
)

// header is the magic number and version 1. A component has other bytes in the
// second half, which deserves a message of its own.
const (
	header          = "\x00asm\x01\x00\x00\x00"
	componentHeader = "\x00asm\x0d\x00\x01\x00"
)

// Module is what can be read off a module without running it.
type Module struct {
	Manifest *Manifest
	Vectors  []Vector
}

// Parse reads a module and refuses whatever cannot be a scorer/1 module. It
// does not look at code: that a module is valid WebAssembly is for an engine to
// say.
func Parse(module []byte) (*Module, error) {
	var w walker
	if err := w.walk(module); err != nil {
		return nil, err
	}
	if w.manifest == nil {
		return nil, fmt.Errorf("no custom section %s", SectionManifest)
	}
	if w.vectors == nil {
		return nil, fmt.Errorf("no custom section %s", SectionVectors)
	}
	if !w.hasMemory {
		return nil, fmt.Errorf("no memory")
	}
	for _, e := range []struct {
		name string
		kind byte
	}{{ExportMemory, kindMemory}, {ExportInput, kindFunction}, {ExportScore, kindFunction}} {
		if kind, ok := w.exports[e.name]; !ok || kind != e.kind {
			return nil, fmt.Errorf("no export %s of kind %d", e.name, e.kind)
		}
	}
	manifest, err := ParseManifest(w.manifest)
	if err != nil {
		return nil, err
	}
	if uint32(manifest.Limits.Pages) != w.pages {
		return nil, fmt.Errorf("memory of at most %d pages, the manifest says %d", w.pages, manifest.Limits.Pages)
	}
	vectors, err := ParseVectors(w.vectors, manifest)
	if err != nil {
		return nil, err
	}
	return &Module{Manifest: manifest, Vectors: vectors}, nil
}

// AppendCustom appends a custom section to a module. It may follow any section,
// so every tool chain's output can be stamped after it was built.
func AppendCustom(module []byte, name string, content []byte) []byte {
	var prefix []byte
	prefix = binary.AppendUvarint(prefix, uint64(len(name)))
	prefix = append(prefix, name...)
	module = append(module, sectionCustom)
	module = binary.AppendUvarint(module, uint64(len(prefix)+len(content)))
	module = append(module, prefix...)
	return append(module, content...)
}

// walker gathers what the sections say.
type walker struct {
	manifest, vectors []byte
	hasMemory         bool
	pages             uint32 // declared maximum
	exports           map[string]byte
}

func (w *walker) walk(module []byte) error {
	if len(module) > fieldmark.MaxModule {
		return fmt.Errorf("module of %d bytes, at most %d", len(module), fieldmark.MaxModule)
	}
	if bytes.HasPrefix(module, []byte(componentHeader)) {
		return fmt.Errorf("a component; scorer/1 wants a core module")
	}
	rest, ok := bytes.CutPrefix(module, []byte(header))
	if !ok {
		return fmt.Errorf("not a WebAssembly module of version 1")
	}
	r := reader{rest: rest}
	last := -1
	for n := 0; len(r.rest) > 0; n++ {
		if n == MaxSections {
			return fmt.Errorf("more than %d sections", MaxSections)
		}
		id := r.byte()
		body := reader{rest: r.bytes(r.u32())}
		if r.failed {
			return fmt.Errorf("section %d is cut short", id)
		}
		if id != sectionCustom {
			if int(id) <= last {
				return fmt.Errorf("section %d stands behind section %d", id, last)
			}
			last = int(id)
		}
		if err := w.section(id, &body); err != nil {
			return err
		}
		if body.failed {
			return fmt.Errorf("section %d is malformed", id)
		}
	}
	return nil
}

// section reads one section. What it refuses outright could keep state between
// calls that a copy of the memory does not restore, or run code the contract
// does not name.
func (w *walker) section(id byte, r *reader) error {
	switch id {
	case sectionCustom:
		return w.custom(r)
	case sectionImport:
		if n := r.u32(); n != 0 {
			return fmt.Errorf("%d imports, none are allowed", n)
		}
	case sectionTable, sectionElement:
		if n := r.u32(); n != 0 {
			return fmt.Errorf("section %d: tables are not allowed", id)
		}
	case sectionMemory:
		return w.memory(r)
	case sectionGlobal:
		return w.globals(r)
	case sectionExport:
		return w.exported(r)
	case sectionStart:
		return fmt.Errorf("a start function; %s is the way to set up", ExportInit)
	case sectionDataCount:
		return fmt.Errorf("a data count section; data segments must be active")
	default:
		if id > sectionData {
			return fmt.Errorf("section %d is unknown", id)
		}
	}
	return nil
}

func (w *walker) custom(r *reader) error {
	name := r.bytes(r.u32())
	if r.failed {
		return nil
	}
	into := map[string]*[]byte{SectionManifest: &w.manifest, SectionVectors: &w.vectors}[string(name)]
	if into == nil {
		return nil
	}
	if *into != nil {
		return fmt.Errorf("custom section %s stands twice", name)
	}
	*into = r.rest
	return nil
}

// memoryHasMax is the one form of limits allowed: not shared, 32-bit addresses,
// a declared maximum.
const memoryHasMax = 1

func (w *walker) memory(r *reader) error {
	n, flags := r.u32(), r.byte()
	least := r.u32()
	if r.failed || n != 1 {
		return fmt.Errorf("%d memories, exactly one is allowed", n)
	}
	if flags != memoryHasMax {
		return fmt.Errorf("memory with limits of kind %d, a declared maximum is required", flags)
	}
	w.pages = r.u32()
	if r.failed || w.pages > MaxPages || least > w.pages {
		return fmt.Errorf("memory of %d to %d pages, at most %d", least, w.pages, MaxPages)
	}
	w.hasMemory = true
	return nil
}

func (w *walker) globals(r *reader) error {
	n := r.u32()
	if n > MaxGlobals {
		return fmt.Errorf("%d globals, at most %d", n, MaxGlobals)
	}
	for i := range n {
		r.byte() // type
		if mutable := r.byte(); mutable != 0 && !r.failed {
			return fmt.Errorf("global %d is mutable; only memory is reset between calls", i)
		}
		if !r.skipConstant() {
			return fmt.Errorf("global %d: not a constant", i)
		}
	}
	return nil
}

// Kinds of exports.
const (
	kindFunction = 0
	kindMemory   = 2
)

func (w *walker) exported(r *reader) error {
	n := r.u32()
	if n > MaxExports {
		return fmt.Errorf("%d exports, at most %d", n, MaxExports)
	}
	w.exports = make(map[string]byte, n)
	for range n {
		name, kind := r.bytes(r.u32()), r.byte()
		r.u32() // index
		if _, twice := w.exports[string(name)]; twice {
			return fmt.Errorf("export %.40q stands twice", name)
		}
		w.exports[string(name)] = kind
	}
	return nil
}

// reader takes the primitives of the binary format off the front of its bytes.
// A failed read yields zeros from then on, so callers check once.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) byte() byte {
	b := r.bytes(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (r *reader) bytes(n uint32) []byte {
	if r.failed || uint64(n) > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// u32 reads an unsigned LEB128 of at most five bytes.
func (r *reader) u32() uint32 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 5 || v > math.MaxUint32 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return uint32(v)
}

// skipConstant reads one constant instruction and the end of its expression.
func (r *reader) skipConstant() bool {
	const i32Const, i64Const, f32Const, f64Const, end = 0x41, 0x42, 0x43, 0x44, 0x0b
	switch r.byte() {
	case i32Const, i64Const:
		for r.byte()&0x80 != 0 && !r.failed { // sign and value do not matter here
		}
	case f32Const:
		r.bytes(4)
	case f64Const:
		r.bytes(8)
	default:
		return false
	}
	return r.byte() == end && !r.failed
}
