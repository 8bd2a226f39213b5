package fieldmark

// ModuleRef names a scoring module; the digest is of its bytes.
type ModuleRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  Digest `json:"digest"`
}

// MaxModule bounds a scoring module of the standard class, in bytes.
const MaxModule = 1 << 20

// Methodology names the published method a module implements. Scores of
// different methodologies never stand in one list.
type Methodology struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	URL     string `json:"url"`
}
