package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the largest config file that is read, in bytes.
const maxFile = 1 << 20

// readFile reads the config file that a setting names.
func readFile(at setting) (map[string]setting, error) {
	f, err := os.Open(at.text)
	if err != nil {
		return nil, fmt.Errorf("read the config file (%s): %w", at.source, err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the config file (%s): %w", at.source, err)
	}
	return parseFile(at.text, data)
}

// parseFile reads the YAML of a config file. What it can read it returns beside the errors.
func parseFile(name string, data []byte) (map[string]setting, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes, which no config file has", name, maxFile)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil // empty, or comments alone
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: want lines of the form \"key: value\"", name)
	}
	out := map[string]setting{}
	var problems []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		problems = append(problems, takeKey(out, name, root.Content[i], root.Content[i+1]))
	}
	return out, errors.Join(problems...)
}

// takeKey reads one key of the file with its value. The text is taken as it is written, so that a YAML number or date
// does not change on the way.
func takeKey(out map[string]setting, file string, key, value *yaml.Node) error {
	where := fmt.Sprintf("%s, line %d", file, key.Line)
	o, known := option(key.Value)
	if !known || o.NoFile || key.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s: unknown key %q%s", where, shorten(key.Value), suggest(key.Value, fileKeys()))
	}
	if _, twice := out[o.Name]; twice {
		return fmt.Errorf("%s: %s is set a second time", where, o.Name)
	}
	text, err := scalars(o, value)
	if err != nil {
		return &OptionError{Option: o.Name, Source: where, Got: kindName(value), Want: err.Error()}
	}
	if text != "" {
		out[o.Name] = setting{text: text, source: where}
	}
	return nil
}

// scalars returns the text of a value; the elements of a list are joined with commas.
func scalars(o *Option, value *yaml.Node) (string, error) {
	if value.Kind == yaml.ScalarNode {
		if value.Tag == "!!null" {
			return "", nil
		}
		return value.Value, nil
	}
	if !o.List {
		return "", errors.New("one value")
	}
	if value.Kind != yaml.SequenceNode {
		return "", errors.New("a list of values")
	}
	parts := make([]string, 0, len(value.Content))
	for _, e := range value.Content {
		if e.Kind != yaml.ScalarNode || strings.Contains(e.Value, ",") {
			return "", errors.New("a list of plain values, each without a comma")
		}
		parts = append(parts, e.Value)
	}
	return strings.Join(parts, ","), nil
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "something else"
}

func shorten(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}

// fileKeys are the keys that a file may have.
func fileKeys() []string {
	var out []string
	for _, o := range table {
		if !o.NoFile {
			out = append(out, o.Name)
		}
	}
	return out
}
