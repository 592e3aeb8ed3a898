package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// An InvalidError is an error in a file that a person wrote or named. Its text names file and
// line.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return e.Err.Error() }
func (e *InvalidError) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error {
	return &InvalidError{fmt.Errorf(format, args...)}
}

// A suiteFile holds defaults and cases. The cases are inline or in files matched by globs.
type suiteFile struct {
	V        int      `yaml:"v"`
	Name     string   `yaml:"name"`
	Defaults defaults `yaml:"defaults"`
	Files    []string `yaml:"files"`
	Cases    []Case   `yaml:"cases"`
}

// defaults apply to each case of a suite that does not set the value itself.
type defaults struct {
	Tags      []string           `yaml:"tags"`
	Config    string             `yaml:"config"`
	Assistant string             `yaml:"assistant"`
	Provider  string             `yaml:"provider"`
	Model     string             `yaml:"model"`
	Judge     JudgeModel         `yaml:"judge"`
	Policy    Policy             `yaml:"policy"`
	Trials    int                `yaml:"trials"`
	Gate      map[string]float64 `yaml:"gate"`
	// Tapes is the folder of the tapes, relative to the suite's file.
	Tapes string `yaml:"tapes"`
}

// Load reads cases from files and folders: YAML with one or more documents, each a case or a
// suite, and JSON Lines. Folders are read recursively, without the tapes in them. A duplicate id
// is an error.
func Load(paths ...string) ([]Case, error) {
	var cases []Case
	for _, path := range paths {
		files, err := caseFiles(path)
		if err != nil {
			return nil, &InvalidError{err}
		}
		for _, file := range files {
			more, err := loadFile(file)
			if err != nil {
				return nil, &InvalidError{err}
			}
			cases = append(cases, more...)
		}
	}
	seen := make(map[string]Case, len(cases))
	for _, c := range cases {
		if first, twice := seen[c.ID]; twice {
			return nil, invalid("%s:%d: id %q is taken: it stands at %s:%d", c.File, c.Line, c.ID, first.File, first.Line)
		}
		seen[c.ID] = c
	}
	return cases, nil
}

// caseFiles lists the case files at a path. A folder with a suite.yaml yields only that file,
// any other folder all case files in it, recursively.
func caseFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	suite := filepath.Join(path, "suite.yaml")
	if _, err := os.Stat(suite); err == nil {
		return []string{suite}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && isCaseFile(name) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

func isCaseFile(name string) bool {
	if strings.HasSuffix(name, ".tape.jsonl") {
		return false
	}
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".jsonl":
		return !strings.HasPrefix(filepath.Base(name), "molar.")
	}
	return false
}

func loadFile(file string) ([]Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(file) == ".jsonl" {
		return loadLines(file, data)
	}
	return loadYAML(file, data)
}

// loadLines reads JSON Lines, one case per line.
func loadLines(file string, data []byte) ([]Case, error) {
	var cases []Case
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(make([]byte, 64<<10), 16<<20)
	for line := 1; in.Scan(); line++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.DisallowUnknownFields()
		dec.UseNumber()
		c := Case{File: file, Line: line}
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s:%d: %s", file, line, withSuggestion(err.Error()))
		}
		if err := c.check(); err != nil {
			return nil, atLine(file, line, err)
		}
		cases = append(cases, c)
	}
	return cases, in.Err()
}

// atLine prefixes every line of an error with file and line.
func atLine(file string, line int, err error) error {
	var faults []error
	for text := range strings.Lines(err.Error()) {
		faults = append(faults, fmt.Errorf("%s:%d: %s", file, line, strings.TrimSpace(text)))
	}
	return errors.Join(faults...)
}

func loadYAML(file string, data []byte) (cases []Case, err error) {
	defer func() {
		if r := recover(); r != nil { // the third-party parser may panic
			cases, err = nil, fmt.Errorf("%s:1: the YAML parser cannot make sense of it", file)
		}
	}()
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlFault(file, err)
	}
	for _, doc := range parsed.Docs {
		root, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			if doc.Body == nil {
				continue
			}
			return nil, fmt.Errorf("%s:%d: want a case: a mapping with id, user and expect", file, line(doc.Body))
		}
		var more []Case
		if value(root, "cases") != nil || value(root, "files") != nil {
			more, err = loadSuite(file, root)
		} else {
			more, err = loadCase(file, root)
		}
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	return cases, nil
}

func loadCase(file string, root ast.Node) ([]Case, error) {
	c := Case{File: file, Line: line(root)}
	if err := decodeNode(root, &c); err != nil {
		return nil, yamlFault(file, err)
	}
	if err := c.check(); err != nil {
		return nil, atLine(file, c.Line, err)
	}
	return []Case{c}, nil
}

// loadSuite reads a suite: its inline cases and those in the files that it names.
func loadSuite(file string, root *ast.MappingNode) ([]Case, error) {
	var suite suiteFile
	if err := decodeNode(root, &suite); err != nil {
		return nil, yamlFault(file, err)
	}
	if suite.V > CaseVersion {
		return nil, fmt.Errorf("%s:%d: the suite has version %d, this program reads up to %d: use a newer molar", file, line(root), suite.V, CaseVersion)
	}
	lines := caseLines(root)
	cases := suite.Cases
	for i := range cases {
		c := &cases[i]
		c.File, c.Line = file, line(root)
		if i < len(lines) {
			c.Line = lines[i]
		}
		suite.Defaults.apply(c, file)
		if err := c.check(); err != nil {
			return nil, atLine(file, c.Line, err)
		}
	}
	for _, glob := range suite.Files {
		names, err := filepath.Glob(filepath.Join(filepath.Dir(file), glob))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: files: %w", file, line(root), err)
		}
		slices.Sort(names)
		for _, name := range names {
			if !isCaseFile(name) || filepath.Clean(name) == filepath.Clean(file) {
				continue
			}
			more, err := loadFile(name)
			if err != nil {
				return nil, err
			}
			for i := range more {
				suite.Defaults.apply(&more[i], file)
				if err := more[i].check(); err != nil {
					return nil, atLine(name, more[i].Line, err)
				}
			}
			cases = append(cases, more...)
		}
	}
	return cases, nil
}

// apply sets the fields that a case leaves empty. Paths in the defaults are relative to the
// suite's file.
func (d *defaults) apply(c *Case, suite string) {
	if c.Config == "" && d.Config != "" {
		c.Config = relativeTo(c.File, resolvePath(suite, d.Config))
	}
	c.Assistant, c.Provider, c.Model = cmp.Or(c.Assistant, d.Assistant), cmp.Or(c.Provider, d.Provider), cmp.Or(c.Model, d.Model)
	c.Policy, c.Trials, c.Judge = cmp.Or(c.Policy, d.Policy), cmp.Or(c.Trials, d.Trials), cmp.Or(c.Judge, d.Judge)
	if c.Gate == nil {
		c.Gate = d.Gate
	}
	if c.Tape == "" && d.Tapes != "" {
		c.Tape = relativeTo(c.File, filepath.Join(resolvePath(suite, d.Tapes), SafeName(c.ID)+".tape.jsonl"))
	}
	for _, tag := range d.Tags {
		if !slices.Contains(c.Tags, tag) {
			c.Tags = append(c.Tags, tag)
		}
	}
}

// resolvePath resolves a path written in a file, which is relative to that file's folder.
func resolvePath(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// relativeTo returns a path relative to the folder of a file.
func relativeTo(file, path string) string {
	rel, err := filepath.Rel(filepath.Dir(file), path)
	if err != nil {
		return path
	}
	return rel
}

func decodeNode(n ast.Node, to any) error {
	return yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict()).DecodeFromNode(n, to)
}

// yamlFault adds file and line to an error of the parser or decoder.
func yamlFault(file string, err error) error {
	if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", file, ye.GetToken().Position.Line, withSuggestion(ye.GetMessage()))
	}
	return fmt.Errorf("%s:1: %w", file, err)
}

func line(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position.Line
	}
	return n.GetToken().Position.Line
}

func value(m *ast.MappingNode, key string) ast.Node {
	for _, e := range m.Values {
		if e.Key.GetToken().Value == key {
			return e.Value
		}
	}
	return nil
}

// caseLines returns the lines on which the cases of a suite begin.
func caseLines(root *ast.MappingNode) []int {
	list, ok := value(root, "cases").(*ast.SequenceNode)
	if !ok {
		return nil
	}
	var lines []int
	for _, item := range list.Values {
		lines = append(lines, line(item))
	}
	return lines
}
