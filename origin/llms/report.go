package llms

// Severity is the importance of an issue.
type Severity string

// An error makes the file unusable for its readers, a warning affects some of them,
// and an info is a matter of style.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Issue is one kind of fault in a file, with every place where it occurs.
type Issue struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Line     int      `json:"line,omitempty"`   // of the first place; 0 means the whole file
	Column   int      `json:"column,omitempty"` // of the first place
	Message  string   `json:"message"`
	SpecRef  string   `json:"specRef,omitempty"` // URL of the rule's specification
	Count    int      `json:"count"`             // how often it occurs
	Places   []Place  `json:"places,omitempty"`  // in order, at most maxPlaces; none for the whole file
}

// Place is a place in a file.
type Place struct {
	Line   int    `json:"line"`           // from 1
	Column int    `json:"column"`         // from 1, in code points
	Text   string `json:"text,omitempty"` // the words that were found, if the rule is about words
}

// The levels of a file; each includes the one before.
const (
	LevelNone     = 0 // not Markdown
	LevelMarkdown = 1 // Markdown without a level-one heading
	LevelTitled   = 2 // has a level-one heading
	LevelSummed   = 3 // has a quoted summary right after the heading
	LevelLinked   = 4 // has sections of links
)

// Report is the result of Lint.
type Report struct {
	Level  int     `json:"level"`
	Issues []Issue `json:"issues"`
	Title  string  `json:"title,omitempty"` // the text of the first level-one heading
	URL    string  `json:"url,omitempty"`   // of the file, if it was fetched from a site
}

// CodeInstructionOverride is the code of text that gives a model orders against its
// instructions.
const CodeInstructionOverride = "instruction-override"

// Errors returns the number of errors.
func (r Report) Errors() int {
	n := 0
	for _, i := range r.Issues {
		if i.Severity == SeverityError {
			n += i.Count
		}
	}
	return n
}

// Has reports whether an issue with the given code was found.
func (r Report) Has(code string) bool {
	for _, i := range r.Issues {
		if i.Code == code {
			return true
		}
	}
	return false
}
