package author

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/examples"
)

type moduleNewCmd struct {
	Language string `arg:"" help:"assemblyscript, c, card, go or rust."`
	Folder   string `arg:"" type:"path" help:"Folder of the project; it must be empty or not exist."`
}

// Help is printed below the flags.
func (moduleNewCmd) Help() string {
	return `A card is a scorecard and needs only fieldmark; c needs clang 14 with wasm-ld,
assemblyscript needs npm, rust needs Rust 1.82 with wasm32-unknown-unknown, and go
needs TinyGo or Go. The README of each project leads from the first build to the
activation on every edge.`
}

// Run creates a project with an example that builds.
func (c *moduleNewCmd) Run(s *command.Streams) error {
	if err := examples.Write(c.Language, c.Folder); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "project created in %s; start with README.md\n", c.Folder)
	return err
}

type modulePackCmd struct {
	ModuleFile
	Card     string `type:"path" xor:"from" placeholder:"FILE" help:"Scorecard that is equivalent to the module: provides the manifest and the golden vectors."`
	Manifest string `type:"path" xor:"from" placeholder:"FILE" help:"Manifest as JSON; requires --vectors."`
	Vectors  string `type:"path" placeholder:"FILE" help:"Golden vectors as JSON."`
	Output   string `short:"o" required:"" placeholder:"FILE" help:"File to write the packed module to."`
	Debug    bool   `help:"Keep names and debugging information, which change the digest."`
}

// Help is printed below the flags.
func (modulePackCmd) Help() string {
	return `A module consists of code, a manifest that declares its inputs and signals, and golden
vectors that test it. Manifest and vectors are appended as custom sections; other custom
sections are removed, unless --debug keeps them.

  fieldmark module pack raw.wasm --card card.json -o my.wasm
  fieldmark module pack raw.wasm --manifest manifest.json --vectors vectors.json -o my.wasm`
}

// Run adds the manifest and the vectors to compiled code.
func (c *modulePackCmd) Run(s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	manifest, vectors, err := c.sections(s)
	if err != nil {
		return err
	}
	packed, err := wasm.Pack(module, manifest, vectors, c.Debug)
	if err != nil {
		return err
	}
	return os.WriteFile(c.Output, packed, 0o644)
}

// sections returns the manifest and the golden vectors to add.
func (c *modulePackCmd) sections(s *command.Streams) (m abi.Manifest, v []abi.Vector, err error) {
	if c.Card != "" {
		file := cardFile{File: c.Card}
		text, err := file.read()
		if err != nil {
			return m, nil, err
		}
		parsed, err := file.parse(s, text)
		if err != nil {
			return m, nil, err
		}
		return parsed.Manifest(), parsed.Vectors(), nil
	}
	if c.Manifest == "" || c.Vectors == "" {
		return m, nil, errors.New("choose what to add: --card, or --manifest and --vectors")
	}
	if err := readStrict(c.Manifest, &m); err != nil {
		return m, nil, err
	}
	return m, v, readStrict(c.Vectors, &v)
}

// readStrict reads JSON and rejects unknown members.
func readStrict(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

type moduleTestCmd struct {
	ModuleFile
	Watch bool `help:"Run again whenever the file changes, until stopped."`
}

// watchInterval is the time between two checks of the file.
const watchInterval = 200 * time.Millisecond

// Run runs the golden vectors and prints those that fail.
func (c *moduleTestCmd) Run(ctx context.Context, s *command.Streams) error {
	err := c.once(ctx, s)
	if !c.Watch {
		return err
	}
	last, _ := os.Stat(c.File)
	for {
		if err != nil {
			fmt.Fprintln(s.Err, err)
		}
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(watchInterval):
			}
			if now, err := os.Stat(c.File); err == nil && (last == nil || now.ModTime() != last.ModTime() ||
				now.Size() != last.Size()) {
				last = now
				break
			}
		}
		err = c.once(ctx, s)
	}
}

func (c *moduleTestCmd) once(ctx context.Context, s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	outcomes, err := wasm.TestVectors(ctx, module)
	if err != nil {
		return err
	}
	failed := 0
	for i, o := range outcomes {
		if o.Problem != "" {
			failed++
			fmt.Fprintf(s.Out, "✗ vector %d: %s\n", i, o.Problem)
		}
	}
	fmt.Fprintf(s.Out, "%d of %d vectors pass\n", len(outcomes)-failed, len(outcomes))
	if failed > 0 {
		return fmt.Errorf("%d of %d vectors fail", failed, len(outcomes))
	}
	return nil
}

type moduleDiffCmd struct {
	Old   string `arg:"" help:"Old module."`
	New   string `arg:"" help:"New module."`
	Facts string `arg:"" help:"Sites to score; - reads standard input. A sequence of JSON documents: audits as fieldmark audit --json prints them, facts, or states of brands."`
	JSON  bool   `name:"json" help:"Print the comparison as JSON."`
}

// Help is printed below the flags.
func (moduleDiffCmd) Help() string {
	return `  for site in https://example.com https://example.org; do
    fieldmark audit --json --quiet $site
  done > facts.json
  fieldmark module diff old.wasm new.wasm facts.json

Prints the share of sites whose grade changes, the mean and the largest change of the
score, the rank correlation (1 is the same order), and the sites that change most with
the reasons.`
}

// Run compares the modules.
func (c *moduleDiffCmd) Run(ctx context.Context, s *command.Streams) error {
	modules := [2][]byte{}
	for i, path := range []string{c.Old, c.New} {
		var err error
		if modules[i], err = (&ModuleFile{File: path}).Read(s); err != nil {
			return err
		}
	}
	in := s.In
	if c.Facts != "-" {
		f, err := os.Open(c.Facts)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	result, err := wasm.Compare(ctx, modules[0], modules[1], time.Now(),
		func(fn func(fieldmark.BrandState) error) error { return eachState(in, fn) })
	if err != nil {
		return err
	}
	if c.JSON {
		return s.PrintJSON(result)
	}
	return PrintComparison(s.Out, &result)
}

// eachState calls fn for each document.
func eachState(r io.Reader, fn func(fieldmark.BrandState) error) error {
	documents := json.NewDecoder(r)
	for n := 1; ; n++ {
		var raw json.RawMessage
		if err := documents.Decode(&raw); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		state, err := readState(raw)
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		if state.Brand.Slug == "" { // identified by its host instead
			state.Brand.Slug = fieldmark.Slug(command.HostOf(state.Facts.URL))
		}
		if err := fn(state); err != nil {
			return err
		}
	}
}

// readState parses the state of a brand, an audit, or facts.
func readState(document []byte) (state fieldmark.BrandState, err error) {
	if err := json.Unmarshal(document, &state); err == nil && state.Brand.Slug != "" && state.Facts != nil &&
		len(state.Facts.Facts) > 0 {
		return state, nil
	}
	facts, err := parseFacts(document)
	return fieldmark.BrandState{Facts: &facts}, err
}
