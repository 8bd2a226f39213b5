package author

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

// cardFile names a scorecard.
type cardFile struct {
	File string `arg:"" help:"Scorecard in JSON, or in YAML if the name ends in .yaml or .yml."`
}

func (c *cardFile) read() ([]byte, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, card.MaxFile+1))
}

// parse parses the card and prints one line for each warning or mistake.
func (c *cardFile) parse(s *command.Streams, text []byte) (*card.Card, error) {
	parsed, warnings, err := parseCard(c.File, text)
	if err != nil {
		return nil, c.explain(s, err)
	}
	for _, warning := range warnings {
		fmt.Fprintf(s.Err, "%s:%s (warning)\n", c.File, warning)
	}
	return parsed, nil
}

// explain prints each problem on a separate line, as compilers do.
func (c *cardFile) explain(s *command.Streams, err error) error {
	list, ok := errors.AsType[abi.Problems](err)
	if !ok {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	for _, complaint := range list {
		fmt.Fprintf(s.Err, "%s:%s\n", c.File, complaint)
	}
	return fmt.Errorf("%s: %s", c.File, command.Count(len(list), "mistake", "mistakes"))
}

type moduleBuildCmd struct {
	cardFile
	Output string `short:"o" required:"" placeholder:"FILE" help:"File to write the module to."`
}

// Run compiles the card. The output depends on the card alone.
func (c *moduleBuildCmd) Run(s *command.Streams) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	parsed, err := c.parse(s, text)
	if err != nil {
		return err
	}
	module, err := parsed.Compile()
	if err != nil {
		return err
	}
	return os.WriteFile(c.Output, module, 0o644)
}

type moduleFormatCmd struct {
	cardFile
	Write bool `short:"w" help:"Overwrite the file instead of printing the result."`
}

// Run formats the card.
func (c *moduleFormatCmd) Run(s *command.Streams) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	if isYAML(c.File) {
		if c.Write {
			return fmt.Errorf("%s: only JSON is formatted in place; without -w its JSON is printed", c.File)
		}
		if _, text, err = yamlToJSON(text); err != nil {
			return c.explain(s, err)
		}
	}
	formatted, err := card.Format(text)
	if err != nil {
		return c.explain(s, err)
	}
	if !c.Write {
		_, err = s.Out.Write(formatted)
		return err
	}
	if bytes.Equal(text, formatted) {
		return nil
	}
	return os.WriteFile(c.File, formatted, 0o644)
}

type moduleSchemaCmd struct{}

// Run prints the schema.
func (moduleSchemaCmd) Run(s *command.Streams) error {
	_, err := s.Out.Write(card.Schema())
	return err
}
