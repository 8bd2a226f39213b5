package abi

// Name is the name of the ABI in a manifest. The names of the exports contain its
// version too, so that it is visible without running anything.
const Name = "scorer/1"

// The exports of a module.
const (
	ExportMemory = "memory"          // the only linear memory
	ExportInput  = "scorer_v1_input" // () -> i32: address of the inputs
	ExportScore  = "scorer_v1_score" // () -> i32: address of the result, 0 without one
	ExportInit   = "_initialize"     // () -> (): optional, run once per instance
)

// ReservedPrefix starts the names of exports that a host adds when it rewrites a
// module. A module that exports such a name is rejected.
const ReservedPrefix = "fieldmark."

// The custom sections of a module.
const (
	SectionManifest = "scorer.manifest"
	SectionVectors  = "scorer.vectors"
)

// PageSize is the unit of linear memory (WebAssembly Core Specification 4.2.8).
const PageSize = 64 << 10

// The limits of a module. Each is far above what a normal module needs and far
// below what would harm a host.
const (
	MaxPages      = 16        // 1 MiB per instance; a hundred instances fit anywhere
	MaxInputs     = 256       // the whole input and the result fit into the first page
	MaxSignals    = 256       // more lines than people read
	MaxComponents = 16        // groups on a page
	MaxGates      = 32        // bits of the result's mask
	MaxManifest   = 256 << 10 // bytes; the built-in's is under 16 KiB
	MaxVectors    = 1000      // all are run at every load
	MinVectors    = 10        // fewer do not show much
	MaxVectorData = 512 << 10 // bytes of the section
	MaxSections   = 64        // the built-in has six; the debug sections of an ordinary build fit too
	MaxExports    = 256       // limits the search for names
)

// MaxValue limits every input in both directions. The host clamps to it, so a
// module can multiply an input by a million without overflow.
const MaxValue = 1_000_000_000_000

// TotalWeight is the sum of the points of all signals.
const TotalWeight = 100

// The states of an input.
const (
	StateUnknown       byte = 0
	StateMeasured      byte = 1
	StateNotApplicable byte = 2
)

// The marks of a signal: 0 to MarkFull, or a reason for having none.
const (
	MarkFull          int32 = 1000
	MarkNotApplicable int32 = -1
	MarkUnknown       int32 = -2
)

// NoScore is the score of a result without any measured signal.
const NoScore int32 = -1
