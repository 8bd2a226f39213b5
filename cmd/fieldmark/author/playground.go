package author

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin/playground"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

// The limits of a run that anyone may cause, below those of a check for an administrator. The built-in module takes a
// tenth of a second and 100 MB.
const (
	playCPU    = 10        // seconds of processor time
	playMemory = 2 << 30   // bytes of address space, much of which a Go process only reserves
	playHeap   = "512MiB"  // above which the garbage collector runs more often
	playOutput = 256 << 10 // bytes of the findings that are sent, at most
)

// played is what the child of RunPlayground prints.
type played struct {
	Result   json.RawMessage        `json:"result,omitempty"`
	Mistakes []fieldmark.FieldError `json:"mistakes,omitempty"` // of a card, which has no result
}

// RunPlayground is a playground.Runner: it runs an input in a child process.
func RunPlayground(ctx context.Context, in playground.Input) (json.RawMessage, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	out, err := runChild(ctx, playground.RunTimeout, input, []string{"module", "play"}, "GOMEMLIMIT="+playHeap,
		"GOMAXPROCS=1")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &fieldmark.Error{Code: fieldmark.CodeModuleRefused, Err: err, Detail: fmt.Sprintf(
			"it could not be compiled and run within %d s of processor time and %d GiB", playCPU, playMemory>>30)}
	}
	var p played
	if err := json.Unmarshal(out, &p); err != nil {
		return nil, fmt.Errorf("run in a child process: %w", err)
	}
	if len(p.Mistakes) > 0 {
		return nil, &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Fields: p.Mistakes,
			Detail: "the card has " + command.Count(len(p.Mistakes), "mistake", "mistakes")}
	}
	return p.Result, nil
}

type modulePlayCmd struct{}

// Run is the child of RunPlayground.
func (c *modulePlayCmd) Run(ctx context.Context, s *command.Streams) error {
	if err := limitProcess(playCPU, playMemory); err != nil {
		return fmt.Errorf("limit this process: %w", err)
	}
	var in playground.Input
	if err := json.NewDecoder(s.In).Decode(&in); err != nil {
		return err
	}
	p, err := play(ctx, in)
	if err != nil {
		return err
	}
	return json.NewEncoder(s.Out).Encode(p)
}

// play runs an input in this process.
func play(ctx context.Context, in playground.Input) (p played, err error) {
	var result any
	switch in.Kind {
	case playground.KindModule:
		result = playModule(ctx, in.Body)
	case playground.KindCall:
		result = playCall(ctx, in)
	default:
		report, err := playCard(ctx, string(in.Kind), in.Body)
		if err != nil {
			return played{Mistakes: mistakesOf(err)}, nil
		}
		result = report
	}
	p.Result, err = json.Marshal(result)
	return p, err
}

// playModule checks a module as `module check` does.
func playModule(ctx context.Context, module []byte) playground.Report {
	check := wasm.Check(ctx, module)
	checkInputs(&check)
	r := playground.Report{Problems: []playground.Finding{}, Warnings: []playground.Finding{}}
	left := playOutput
	for _, problem := range check.Problems {
		if left -= len(problem); left < 0 {
			break
		}
		r.Problems = append(r.Problems, playground.Finding{Detail: problem})
	}
	check.Problems = check.Problems[:len(r.Problems)]
	r.Metered, _ = wasm.Metered(module) // without it the module is run as it is
	r.Check, _ = json.Marshal(check)    // cannot fail: it was measured and not decoded
	return r
}

// playCard compiles a card and checks the module. The name says whether it is YAML. The error is of the card.
func playCard(ctx context.Context, name string, text []byte) (playground.Report, error) {
	parsed, warnings, err := parseCard(name, text)
	if err != nil {
		return playground.Report{}, err
	}
	module, err := parsed.Compile()
	if err != nil {
		return playground.Report{}, err
	}
	r := playModule(ctx, module)
	r.Module = module
	asJSON := text
	if isYAML(name) {
		if _, asJSON, err = yamlToJSON(text); err != nil {
			return r, err
		}
	}
	formatted, err := card.Format(asJSON)
	if err != nil {
		return r, err
	}
	r.Card = string(formatted)
	inputs := parsed.Manifest().Inputs
	for i, problem := range r.Problems {
		// A check names an input; the card has the line where it is declared.
		m := inputPattern.FindStringSubmatch(problem.Detail)
		at := -1
		if m != nil {
			at = slices.IndexFunc(inputs, func(in abi.Input) bool { return in.Name == m[1] })
		}
		if at >= 0 {
			place := locateCard(name, text, fmt.Sprintf("inputs[%d] %s", at, problem.Detail))
			r.Problems[i].Line, r.Problems[i].Column, _ = splitPlace(place)
		}
	}
	for _, warning := range warnings {
		var f playground.Finding
		f.Line, f.Column, f.Detail = splitPlace(warning)
		r.Warnings = append(r.Warnings, f)
	}
	return r, nil
}

// inputPattern matches the problems of a check that are about an input.
var inputPattern = regexp.MustCompile(`^input ([^ :]+)`)

// locateCard puts the position in a card in front of a problem that starts with a path.
func locateCard(name string, text []byte, problem string) string {
	if !isYAML(name) {
		return card.Locate(text, []string{problem})[0]
	}
	doc, _, err := yamlToJSON(text)
	if err != nil {
		return problem
	}
	return locateYAML(doc, problem)
}

var (
	placePattern    = regexp.MustCompile(`^(?:card: )?([0-9]+):([0-9]+): `)
	yamlLinePattern = regexp.MustCompile(`^yaml: line ([0-9]+): `)
	pathPattern     = regexp.MustCompile(`^[a-zA-Z_]+(\[[0-9]+\]|\.[a-zA-Z_]+)*( |$)`)
)

// splitPlace cuts a position from the start of a text; without one, line and column are 0.
func splitPlace(text string) (line, column int, rest string) {
	m := placePattern.FindStringSubmatch(text)
	if m == nil {
		if m = yamlLinePattern.FindStringSubmatch(text); m == nil {
			return 0, 0, text
		}
		line, _ = strconv.Atoi(m[1])
		return line, 1, text[len(m[0]):]
	}
	line, _ = strconv.Atoi(m[1])
	column, _ = strconv.Atoi(m[2])
	return line, column, text[len(m[0]):]
}

// mistakesOf returns the mistakes of a card, each with its JSON pointer and its position in the file.
func mistakesOf(err error) (fields []fieldmark.FieldError) {
	list, ok := errors.AsType[abi.Problems](err)
	if !ok {
		list = abi.Problems{err.Error()}
	}
	for _, text := range list {
		f := fieldmark.FieldError{Code: "format"}
		f.Line, f.Column, f.Detail = splitPlace(text)
		if ok {
			path := strings.TrimSpace(pathPattern.FindString(f.Detail))
			if path != "" && path != "card" {
				f.Pointer = "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(path)
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// playCall runs a module once, as an edge does, and finds where it fails.
func playCall(ctx context.Context, in playground.Input) (call playground.Call) {
	v := abi.Vector{Values: in.Values, States: in.States}
	err := withModule(ctx, in.Body, func(m *wasm.Module) (err error) {
		if n := len(m.Manifest().Inputs); n != len(in.Values) {
			return fmt.Errorf("the module reads %d inputs, the call has %d", n, len(in.Values))
		}
		var result abi.Result
		call.Fuel, err = m.Measure(ctx, v.Values, v.AppendStates(nil), &result)
		return err
	})
	if fault, ok := errors.AsType[*wasm.Fault](err); ok {
		call.Fault = &playground.Fault{Kind: string(fault.Kind), Detail: fault.Err.Error(), Stack: []playground.Frame{}}
		for _, frame := range fault.Stack {
			call.Fault.Stack = append(call.Fault.Stack, playground.Frame(frame))
		}
	} else if err != nil {
		call.Fault = &playground.Fault{Kind: "load", Detail: err.Error(), Stack: []playground.Frame{}}
	}
	return call
}
