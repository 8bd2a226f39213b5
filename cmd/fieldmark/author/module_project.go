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
	Folder   string `arg:"" type:"path" help:"Where the project goes; it must be empty or not exist."`
}

// Help says what to begin with.
func (moduleNewCmd) Help() string {
	return `card is a scorecard, for which fieldmark alone is enough; c needs clang 14 with wasm-ld,
assemblyscript npm, rust 1.82 with wasm32-unknown-unknown, go TinyGo or Go. Each
project has a README that leads from the first build to every edge.`
}

// Run begins a project with an example that can be built at once.
func (c *moduleNewCmd) Run(s *command.Streams) error {
	if err := examples.Write(c.Language, c.Folder); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "a scorer in %s; begin with README.md\n", c.Folder)
	return err
}

type modulePackCmd struct {
	ModuleFile
	Card     string `type:"path" xor:"from" placeholder:"FILE" help:"Scorecard that says the same as the module: its manifest is taken, and golden vectors are made from it."`
	Manifest string `type:"path" xor:"from" placeholder:"FILE" help:"The manifest, as JSON in any form; with --vectors."`
	Vectors  string `type:"path" placeholder:"FILE" help:"The golden vectors, as JSON in any form."`
	Output   string `short:"o" required:"" placeholder:"FILE" help:"Where the packed module goes."`
}

// Help says what is packed.
func (modulePackCmd) Help() string {
	return `A compiler writes code; a module also says what it reads, what its marks mean and
which results prove it. Both are appended as custom sections, others are dropped.

  fieldmark module pack raw.wasm --card card.json -o my.wasm
  fieldmark module pack raw.wasm --manifest manifest.json --vectors vectors.json -o my.wasm`
}

// Run stamps what a compiler made with its manifest and vectors.
func (c *modulePackCmd) Run(s *command.Streams) error {
	module, err := c.Read(s)
	if err != nil {
		return err
	}
	manifest, vectors, err := c.sections(s)
	if err != nil {
		return err
	}
	packed, err := wasm.Pack(module, manifest, vectors)
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
		return m, nil, errors.New("say what to pack: --card, or --manifest and --vectors")
	}
	if err := readStrict(c.Manifest, &m); err != nil {
		return m, nil, err
	}
	return m, v, readStrict(c.Vectors, &v)
}

// readStrict reads JSON and refuses members nobody knows.
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

// watchEvery is how soon a change of the file is noticed.
const watchEvery = 200 * time.Millisecond

// Run runs the golden vectors and says which do not come out.
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
			case <-time.After(watchEvery):
			}
			if now, err := os.Stat(c.File); err == nil && (last == nil || now.ModTime() != last.ModTime() || now.Size() != last.Size()) {
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
	fmt.Fprintf(s.Out, "%d of %d vectors hold\n", len(outcomes)-failed, len(outcomes))
	if failed > 0 {
		return fmt.Errorf("%d vectors do not hold", failed)
	}
	return nil
}

type moduleDiffCmd struct {
	Old   string `arg:"" help:"The module to go from."`
	New   string `arg:"" help:"The module to go to."`
	Facts string `arg:"" help:"The population, - for standard input: JSON documents one after another, each an audit as fieldmark audit --json prints it, facts alone, or a brand's state."`
	JSON  bool   `name:"json" help:"Print the comparison as JSON."`
}

// Help shows how to make a population.
func (moduleDiffCmd) Help() string {
	return `  for site in https://example.com https://example.org; do
    fieldmark audit --json --quiet $site
  done > facts.json
  fieldmark module diff old.wasm new.wasm facts.json

Shown are the share of sites with another grade, the mean and the largest move, how
far the order stays (1 is the same), and the sites that move most with the reasons.`
}

// Run says what going from one module to the other would change.
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
	result, err := wasm.Compare(ctx, modules[0], modules[1], time.Now(), func(fn func(fieldmark.BrandState) error) error { return eachState(in, fn) })
	if err != nil {
		return err
	}
	if c.JSON {
		return s.PrintJSON(result)
	}
	return PrintComparison(s.Out, &result)
}

// eachState reads a population, document by document.
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
		if state.Brand.Slug == "" { // told apart by their sites
			state.Brand.Slug = fieldmark.Slug(command.HostOf(state.Facts.URL))
		}
		if err := fn(state); err != nil {
			return err
		}
	}
}

// readState reads a brand's state, an audit, or facts alone.
func readState(document []byte) (state fieldmark.BrandState, err error) {
	if err := json.Unmarshal(document, &state); err == nil && state.Brand.Slug != "" && state.Facts != nil && len(state.Facts.Facts) > 0 {
		return state, nil
	}
	facts, err := parseFacts(document)
	return fieldmark.BrandState{Facts: &facts}, err
}
