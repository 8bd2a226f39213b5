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

// Issue is one finding about a file.
type Issue struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Line     int      `json:"line,omitempty"`   // from 1; 0 means the whole file
	Column   int      `json:"column,omitempty"` // from 1, in code points
	Message  string   `json:"message"`
	SpecRef  string   `json:"specRef,omitempty"` // URL of the rule's specification
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

// Errors returns the number of issues that are errors.
func (r Report) Errors() int {
	n := 0
	for _, i := range r.Issues {
		if i.Severity == SeverityError {
			n++
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
