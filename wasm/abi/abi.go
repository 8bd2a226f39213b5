package abi

// Name is the ABI's name in a manifest; its version also stands in the names
// of the exports, so that it is visible without running anything.
const Name = "scorer/1"

// The exports of a module.
const (
	ExportMemory = "memory"          // the one linear memory
	ExportInput  = "scorer_v1_input" // () -> i32: where the host writes the inputs
	ExportScore  = "scorer_v1_score" // () -> i32: where the result stands, 0 if there is none
	ExportInit   = "_initialize"     // () -> (): optional, run once per instance
)

// ReservedPrefix begins the names of exports that a host adds while it rewrites
// a module; a module that has one already is refused.
const ReservedPrefix = "fieldmark."

// The custom sections of a module.
const (
	SectionManifest = "scorer.manifest"
	SectionVectors  = "scorer.vectors"
)

// PageSize is the unit of linear memory (WebAssembly Core Specification 4.2.8).
const PageSize = 64 << 10

// The limits of a module. Each is far above what an honest scorer needs and far
// below what would hurt a host.
const (
	MaxPages      = 16        // 1 MiB an instance; a hundred instances fit anywhere
	MaxInputs     = 256       // the whole input fits the first page beside the result
	MaxSignals    = 256       // more lines than a person would read
	MaxComponents = 16        // groups on a page
	MaxGates      = 32        // bits of the result's mask
	MaxManifest   = 256 << 10 // bytes; the built-in's is under 16 KiB
	MaxVectors    = 1000      // all are run at every load
	MinVectors    = 10        // fewer prove nothing
	MaxVectorData = 512 << 10 // bytes of the section
	MaxSections   = 64        // ours has six; debug sections of a careless build fit too
	MaxExports    = 256       // names to look through
)

// MaxValue bounds every input on both sides: the host clamps to it, so a module
// may multiply an input by a million without overflow.
const MaxValue = 1_000_000_000_000

// TotalWeight is what the points of all signals come to.
const TotalWeight = 100

// The states of an input.
const (
	StateUnknown       byte = 0
	StateMeasured      byte = 1
	StateNotApplicable byte = 2
)

// The marks of a signal: 0 to MarkFull, or one of two reasons for having none.
const (
	MarkFull          int32 = 1000
	MarkNotApplicable int32 = -1
	MarkUnknown       int32 = -2
)

// NoScore is the score of a result in which nothing was measured.
const NoScore int32 = -1
