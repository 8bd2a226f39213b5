package abi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/bytecode"
)

// componentHeader starts a component instead of a core module, which deserves a
// separate error.
const componentHeader = "\x00asm\x0d\x00\x01\x00"

// Module is what can be read from a module without running it.
type Module struct {
	Manifest *Manifest
	Vectors  []Vector
	Class    Class
	Imports  []string // each as module.name
	Imported int      // number of imported functions, which come first in the numbering
	Exports  []string // in the order of the module
	Pages    int      // declared maximum of the memory
}

// Parse reads a module and rejects it if its sections are not those of a scorer/1
// module. If the sections can be separated, the error is Problems and the Module
// has what could be read. Parse does not read code.
func Parse(module []byte) (*Module, error) {
	sections, err := Sections(module)
	if err != nil {
		return nil, err
	}
	w := sectionParser{size: len(module)}
	for i := range sections {
		w.section(&sections[i])
	}
	m := w.finish()
	return m, w.problems.err()
}

// Section is one section of a module.
type Section struct {
	ID   byte
	Body []byte
}

// Sections splits a module into its sections. It rejects a module that is too
// large, is not a core module, or has sections that are truncated or out of order.
func Sections(module []byte) ([]Section, error) {
	if len(module) > fieldmark.MaxAnyModule {
		return nil, fmt.Errorf("module of %d bytes, at most %d", len(module), fieldmark.MaxAnyModule)
	}
	if bytes.HasPrefix(module, []byte(componentHeader)) {
		return nil, fmt.Errorf("a component; scorer/1 requires a core module")
	}
	rest, ok := bytes.CutPrefix(module, []byte(bytecode.Header))
	if !ok {
		return nil, fmt.Errorf("not a WebAssembly module of version 1")
	}
	var all []Section
	r := bytecode.Reader{Buf: rest}
	last := 0
	for r.Pos < len(r.Buf) {
		if len(all) == MaxSections {
			return nil, fmt.Errorf("more than %d sections", MaxSections)
		}
		id := r.Byte()
		body := r.Vector()
		if r.Failed {
			return nil, fmt.Errorf("section %d is cut short", id)
		}
		if id > bytecode.SectionDataCount {
			return nil, fmt.Errorf("section %d is unknown", id)
		}
		if id != bytecode.SectionCustom {
			if sectionOrder[id] <= last {
				return nil, fmt.Errorf("section %d is out of order or appears twice", id)
			}
			last = sectionOrder[id]
		}
		all = append(all, Section{ID: id, Body: body})
	}
	return all, nil
}

// sectionOrder is the position of each section. The data count was added later and
// comes before the code, which it helps to validate.
var sectionOrder = [...]int{
	1: 1, 2: 2, 3: 3, bytecode.SectionTable: 4, bytecode.SectionMemory: 5, bytecode.SectionGlobal: 6,
	bytecode.SectionExport: 7,
	bytecode.SectionStart:  8, bytecode.SectionElement: 9, bytecode.SectionDataCount: 10, 10: 11,
	bytecode.SectionData: 12,
}

// AppendCustom appends a custom section to a module. It may follow any section, so
// the manifest can be added to the output of every tool chain.
func AppendCustom(module []byte, name string, content []byte) []byte {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	body = append(append(body, name...), content...)
	return bytecode.AppendSection(module, bytecode.SectionCustom, body)
}

// sectionParser collects the contents of the sections.
type sectionParser struct {
	manifest, vectors []byte
	hasMemory         bool
	pages             uint32 // declared maximum
	size              int    // of the module
	class             Class
	imported          int
	exports           map[string]byte
	imports, names    []string
	problems          Problems
}

func (w *sectionParser) addProblem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// section parses one section. It rejects sections that would run code outside of
// the ABI.
func (w *sectionParser) section(s *Section) {
	r := bytecode.Reader{Buf: s.Body}
	switch s.ID {
	case bytecode.SectionCustom:
		w.customSection(&r)
	case bytecode.SectionImport:
		if n := r.U32(); n != 0 {
			w.importSection(&r, n)
		}
	case bytecode.SectionMemory:
		w.memorySection(&r)
	case bytecode.SectionExport:
		w.exportSection(&r)
	case bytecode.SectionStart:
		w.addProblem("a start function is not allowed; use %s", ExportInit)
	}
	if r.Failed {
		w.addProblem("section %d is malformed", s.ID)
	}
}

// importSection accepts functions of the class wasi-null, all or none: a module
// with any other import belongs to the standard class, which has none.
func (w *sectionParser) importSection(r *bytecode.Reader, n uint32) {
	all := *r
	for range min(n, maxImports+1) {
		module, name, kind := r.Vector(), r.Vector(), r.Byte()
		r.U32() // type
		if r.Failed || n > maxImports || kind != bytecode.KindFunction || string(module) != WASIModule ||
			!slices.Contains(WASIFunctions(), string(name)) {
			w.imports = importNames(all, n)
			w.addProblem("%d imports, none are allowed: %s", n, strings.Join(w.imports, ", "))
			r.Failed = false
			return
		}
		w.imports = append(w.imports, WASIModule+"."+string(name))
	}
	w.class, w.imported = ClassWASI, int(n)
}

// shownImports limits the imports named in a problem.
const shownImports = 5

// importNames returns the first imported functions as module.name; it stops at an
// import of another kind.
func importNames(r bytecode.Reader, n uint32) []string {
	var names []string
	for range min(n, shownImports) {
		module, name, kind := r.Vector(), r.Vector(), r.Byte()
		if r.Failed {
			break
		}
		names = append(names, fmt.Sprintf("%.32q.%.32q", module, name))
		if kind != bytecode.KindFunction {
			break
		}
		r.U32() // type
	}
	return names
}

// customSection keeps the manifest and the vectors and ignores other custom sections.
func (w *sectionParser) customSection(r *bytecode.Reader) {
	name := r.Vector()
	if r.Failed {
		return
	}
	into := map[string]*[]byte{SectionManifest: &w.manifest, SectionVectors: &w.vectors}[string(name)]
	if into == nil {
		return
	}
	if *into != nil {
		w.addProblem("custom section %s appears twice", name)
	}
	*into = r.Rest()
}

// memoryHasMax is the only accepted kind of limits: not shared, 32-bit addresses, a
// declared maximum.
const memoryHasMax = 1

// memorySection checks that there is one memory within the limits of the class.
func (w *sectionParser) memorySection(r *bytecode.Reader) {
	w.hasMemory = true
	if n := r.U32(); n != 1 {
		w.addProblem("%d memories, exactly one is allowed", n)
		return
	}
	flags := r.Byte()
	if flags != memoryHasMax && (flags != 0 || w.class == ClassStandard) {
		w.addProblem("memory with limits of kind %d, a declared maximum is required", flags)
		return
	}
	least, limit := r.U32(), uint32(w.class.MaxPages())
	if w.pages = limit; flags == memoryHasMax { // without one the host declares it
		w.pages = r.U32()
	}
	if w.pages > limit || least > w.pages {
		w.addProblem("memory of %d to %d pages, at most %d", least, w.pages, limit)
	}
}

// exportSection collects the exports and rejects duplicate and reserved names.
func (w *sectionParser) exportSection(r *bytecode.Reader) {
	w.exports = map[string]byte{}
	n := r.U32()
	if n > MaxExports {
		w.addProblem("%d exports, at most %d", n, MaxExports)
		return
	}
	for range n {
		name, kind := string(r.Vector()), r.Byte()
		r.U32() // index
		if r.Failed {
			return
		}
		if _, twice := w.exports[name]; twice {
			w.addProblem("export %.40q appears twice", name)
		}
		if strings.HasPrefix(name, ReservedPrefix) {
			w.addProblem("export %.40q: names starting with %s are reserved for the host", name, ReservedPrefix)
		}
		w.exports[name] = kind
		w.names = append(w.names, name)
	}
}

// finish checks what involves several sections.
func (w *sectionParser) finish() *Module {
	m := &Module{Class: w.class, Imports: w.imports, Imported: w.imported, Exports: w.names, Pages: int(w.pages)}
	if limit := w.class.MaxBytes(); w.size > limit {
		w.addProblem("module of %d bytes, at most %d", w.size, limit)
	}
	if !w.hasMemory {
		w.addProblem("no memory")
	}
	for _, e := range []struct {
		name, is string
		kind     byte
	}{{ExportMemory, "memory", bytecode.KindMemory}, {ExportInput, "function", bytecode.KindFunction},
		{ExportScore, "function", bytecode.KindFunction}} {
		if kind, ok := w.exports[e.name]; !ok || kind != e.kind {
			w.addProblem("no exported %s %s", e.is, e.name)
		}
	}
	if w.manifest == nil {
		w.addProblem("no custom section %s", SectionManifest)
	} else if manifest, err := ParseManifest(w.manifest); err != nil {
		w.problems.add("manifest", err)
	} else {
		m.Manifest = manifest
		if w.hasMemory && uint32(manifest.Limits.Pages) != w.pages {
			w.addProblem("memory of at most %d pages, the manifest says %d", w.pages, manifest.Limits.Pages)
		}
	}
	if w.vectors == nil {
		w.addProblem("no custom section %s", SectionVectors)
	} else if m.Manifest != nil {
		vectors, err := ParseVectors(w.vectors, m.Manifest)
		if err != nil {
			w.problems.add("vectors", err)
		}
		m.Vectors = vectors
	}
	return m
}
