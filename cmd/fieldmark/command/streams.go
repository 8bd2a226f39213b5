package command

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Streams are what a command reads and writes. Results go to Out and everything
// else to Err, so that Out can be piped.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Log      *slog.Logger
}

// PrintJSON writes v to Out as indented JSON.
func (s *Streams) PrintJSON(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// UseColor reports whether Out is a terminal whose user has not set NO_COLOR
// (https://no-color.org).
func (s *Streams) UseColor() bool { return isTerminal(s.Out) && os.Getenv("NO_COLOR") == "" }

// Interactive reports whether In is a terminal, so that questions can be asked.
func (s *Streams) Interactive() bool { return isTerminal(s.In) }

// TerminalSize returns the size of the terminal that Out is; ok is false if it is not one.
func (s *Streams) TerminalSize() (columns, rows int, ok bool) {
	f, ok := s.Out.(*os.File)
	if !ok {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	return columns, rows, err == nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Count writes a number of things: "1 error", "2 errors".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
