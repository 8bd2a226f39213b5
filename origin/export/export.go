package export

import (
	"net/http"
	"strings"
)

// Cell puts an apostrophe before a text that a spreadsheet would run as a formula (OWASP: CSV injection).
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Send returns a function that sends the next lines of a file at once. Header fields are set with the first
// lines, so that an error before them can still be the response.
func Send(w http.ResponseWriter, mediaType, name string) func(lines []byte) error {
	return func(lines []byte) error {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
		if _, err := w.Write(lines); err != nil {
			return err
		}
		_ = http.NewResponseController(w).Flush() // if the client has left, the next write fails
		return nil
	}
}
