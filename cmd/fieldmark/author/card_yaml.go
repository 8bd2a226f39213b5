package author

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

const (
	// maxYAMLDepth bounds nesting. A card has ten levels.
	maxYAMLDepth = 32
	// maxYAMLNodes bounds the number of values. The largest file has fewer, unless it uses
	// aliases to multiply them.
	maxYAMLNodes = card.MaxFile
)

// parseCard parses a scorecard in JSON or, depending on the file name, in YAML. Its
// warnings and complaints name the place in that file.
func parseCard(path string, text []byte) (*card.Card, []string, error) {
	if !isYAML(path) {
		c, err := card.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Warnings(), nil
	}
	doc, asJSON, err := yamlToJSON(text)
	if err != nil {
		return nil, nil, err
	}
	c, err := card.Parse(asJSON)
	if list, ok := errors.AsType[abi.Problems](err); ok {
		for i := range list {
			list[i] = locateYAML(doc, list[i])
		}
		return nil, nil, fmt.Errorf("card: %w", list)
	}
	if err != nil {
		return nil, nil, err
	}
	warnings := c.Warnings()
	for i := range warnings {
		warnings[i] = locateYAML(doc, warnings[i])
	}
	return c, warnings, nil
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// yamlToJSON converts YAML to JSON, member by member.
func yamlToJSON(text []byte) (*yaml.Node, []byte, error) {
	if len(text) > card.MaxFile {
		return nil, nil, fmt.Errorf("card of more than %d bytes", card.MaxFile)
	}
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, nil, err
	}
	if len(file.Content) != 1 {
		return nil, nil, errors.New("contains no card")
	}
	w := yamlWriter{left: maxYAMLNodes}
	b, err := w.append(nil, file.Content[0], 0)
	return file.Content[0], b, err
}

type yamlWriter struct{ left int }

func (w *yamlWriter) append(b []byte, n *yaml.Node, depth int) ([]byte, error) {
	fail := func(what string) ([]byte, error) { return nil, fmt.Errorf("%d:%d: %s", n.Line, n.Column, what) }
	if w.left--; w.left < 0 || depth > maxYAMLDepth {
		return fail("too many values, or nested too deeply")
	}
	var err error
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		seen := map[string]bool{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || seen[key.Value] {
				return nil, fmt.Errorf("%d:%d: member %q is not a name, or is repeated", key.Line, key.Column,
					key.Value)
			}
			seen[key.Value] = true
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendText(b, key.Value); err != nil {
				return nil, err
			}
			if b, err = w.append(append(b, ':'), n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = w.append(b, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case yaml.ScalarNode:
		if (n.Tag == "!!int" || n.Tag == "!!float") && json.Valid([]byte(n.Value)) {
			return append(b, n.Value...), nil // keeps the digits as written
		}
		if n.Tag == "!!str" || n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!timestamp" {
			return appendText(b, n.Value)
		}
		return fail(fmt.Sprintf("%q is neither a string nor a number; put strings in quotes", n.Value))
	}
	return fail("aliases are not supported")
}

func appendText(b []byte, text string) ([]byte, error) {
	raw, err := json.Marshal(text)
	return append(b, raw...), err
}

var (
	positionPattern = regexp.MustCompile(`^[0-9]+:[0-9]+: `)
	stepPattern     = regexp.MustCompile(`[a-z_]+|\[[0-9]+\]`)
)

// locateYAML puts the place in the YAML in front of a complaint, in place of that
// in the JSON. A missing member is looked for where it should be.
func locateYAML(n *yaml.Node, complaint string) string {
	complaint = positionPattern.ReplaceAllString(complaint, "")
	path, _, _ := strings.Cut(complaint, " ")
	for _, step := range stepPattern.FindAllString(path, -1) {
		next := childYAML(n, step)
		if next == nil {
			break
		}
		n = next
	}
	return fmt.Sprintf("%d:%d: %s", n.Line, n.Column, complaint)
}

func childYAML(n *yaml.Node, step string) *yaml.Node {
	if index, ok := strings.CutPrefix(step, "["); ok {
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
			return nil
		}
		return n.Content[i]
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i+1]
		}
	}
	return nil
}
