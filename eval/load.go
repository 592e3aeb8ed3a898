package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"molar/eval/cassettes"
)

// An InvalidError is an error in a file that a person wrote or named. Its text names file and
// line.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return e.Err.Error() }
func (e *InvalidError) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error {
	return &InvalidError{fmt.Errorf(format, args...)}
}

// Invalid returns an error that names the case, its file and line, as an [InvalidError].
func (c *Case) Invalid(err error) error {
	return invalid("%s:%d: case %q: %w", c.File, c.Line, c.ID, err)
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
	Trials    int                `yaml:"trials"`
	Gate      map[string]float64 `yaml:"gate"`
	// Tapes is the folder of the tapes, relative to the suite's file.
	Tapes string `yaml:"tapes"`
}

// Load reads cases from files and folders: YAML with one or more documents, each a case or a
// suite, and JSON Lines. Folders are read recursively, without the tapes in them. What is invalid
// in a file is a case with an Err and, where they can be read, an id and tags; the other cases of
// the file are not affected. A path that does not exist, or a folder without any case file, is an
// [InvalidError].
func Load(paths ...string) ([]Case, error) {
	var cases []Case
	for _, path := range paths {
		files, err := caseFiles(path)
		if err != nil {
			return nil, &InvalidError{err}
		}
		for _, file := range files {
			cases = append(cases, loadFile(file)...)
		}
	}
	seen := make(map[string]*Case, len(cases))
	for i := range cases {
		c := &cases[i]
		if c.Err == nil {
			if err := c.check(); err != nil {
				c.Err = &InvalidError{atLine(c.File, c.Line, err)}
			}
		}
		if first, twice := seen[c.ID]; twice && c.Err == nil {
			c.Err = invalid("%s:%d: id %q is taken: it stands at %s:%d", c.File, c.Line, c.ID, first.File, first.Line)
		} else if !twice && c.ID != "" {
			seen[c.ID] = c
		}
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
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: there is no case file in this folder", path)
	}
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

func loadFile(file string) []Case {
	data, err := os.ReadFile(file)
	switch {
	case err != nil:
		return []Case{broken(file, 1, fmt.Errorf("%s:1: %w", file, err))}
	case filepath.Ext(file) == ".jsonl":
		return loadLines(file, data)
	}
	return loadYAML(file, data)
}

// broken returns a case that cannot be run.
func broken(file string, line int, err error) Case {
	return Case{File: file, Line: line, Err: &InvalidError{err}}
}

// A named has what selects a case. It is read even if the case is invalid; without both, the case has no
// id and is always selected.
type named struct {
	ID   string   `yaml:"id" json:"id"`
	Tags []string `yaml:"tags" json:"tags"`
}

// loadLines reads JSON Lines, one case per line.
func loadLines(file string, data []byte) []Case {
	var cases []Case
	number := 0
	for line := range bytes.Lines(data) {
		if number++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		dec.UseNumber()
		c := Case{File: file, Line: number}
		if err := dec.Decode(&c); err != nil {
			c = broken(file, number, fmt.Errorf("%s:%d: %s", file, number, withRemedy(err.Error(), string(line))))
			var n named
			if json.Unmarshal(line, &n) == nil {
				c.ID, c.Tags = n.ID, n.Tags
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// atLine prefixes every line of an error with file and line.
func atLine(file string, line int, err error) error {
	var faults []error
	for text := range strings.Lines(err.Error()) {
		faults = append(faults, fmt.Errorf("%s:%d: %s", file, line, strings.TrimSpace(text)))
	}
	return errors.Join(faults...)
}

// loadYAML reads the documents of a file. If the parser rejects the file, each document is read
// by itself, so that only the broken ones are invalid.
func loadYAML(file string, data []byte) []Case {
	cases, err := readYAML(file, data)
	if err == nil {
		return cases
	}
	cases = nil
	from := 0
	for _, at := range append(regexp.MustCompile(`(?m)^---(?:\s|$)`).FindAllIndex(data, -1), []int{len(data)}) {
		before := bytes.Count(data[:from], []byte("\n"))
		more, err := readYAML(file, append(bytes.Repeat([]byte("\n"), before), data[from:at[0]]...)) // errors keep their lines
		if err != nil {
			more = []Case{broken(file, before+1, err)}
		}
		cases, from = append(cases, more...), at[0]
	}
	return cases
}

func readYAML(file string, data []byte) (cases []Case, err error) {
	defer func() {
		if r := recover(); r != nil { // the third-party parser may panic
			cases, err = nil, fmt.Errorf("%s:1: the YAML parser cannot make sense of it", file)
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := cassettes.Nested(file, tokens); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, yamlFault(file, data, err)
	}
	for _, doc := range parsed.Docs {
		root, ok := doc.Body.(*ast.MappingNode)
		switch {
		case doc.Body == nil:
		case !ok:
			cases = append(cases, broken(file, line(doc.Body), fmt.Errorf("%s:%d: want a case: a mapping with id, user and expect", file, line(doc.Body))))
		case value(root, "cases") != nil || value(root, "files") != nil:
			cases = append(cases, loadSuite(file, data, root)...)
		default:
			cases = append(cases, loadCase(newDecoder(), file, data, root))
		}
	}
	return cases, nil
}

func loadCase(dec *yaml.Decoder, file string, data []byte, root ast.Node) Case {
	c := Case{File: file, Line: line(root)}
	if err := dec.DecodeFromNode(root, &c); err != nil {
		c = broken(file, c.Line, yamlFault(file, data, err))
		var n named
		if yaml.NewDecoder(bytes.NewReader(nil)).DecodeFromNode(root, &n) == nil {
			c.ID, c.Tags = n.ID, n.Tags
		}
	}
	return c
}

// loadSuite reads a suite: its inline cases and those in the files that it names. Each case is
// decoded by itself, so that an invalid one leaves the others valid.
func loadSuite(file string, data []byte, root *ast.MappingNode) []Case {
	fail := func(err error) []Case { return []Case{broken(file, line(root), err)} }
	list, ok := value(root, "cases").(*ast.SequenceNode)
	if !ok && value(root, "cases") != nil && value(root, "cases").Type() != ast.NullType {
		return fail(fmt.Errorf("%s:%d: cases: want a list of cases", file, line(value(root, "cases"))))
	}
	head := *root
	head.Values = slices.DeleteFunc(slices.Clone(root.Values), func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == "cases" })
	var suite suiteFile
	dec := newDecoder() // one for all, since a case may refer to the anchors of an earlier one
	if err := dec.DecodeFromNode(&head, &suite); err != nil {
		return fail(yamlFault(file, data, err))
	}
	if suite.V > CaseVersion {
		return fail(fmt.Errorf("%s:%d: the suite has version %d, this program reads up to %d: use a newer molar", file, line(root), suite.V, CaseVersion))
	}
	var cases []Case
	if list != nil {
		for _, item := range list.Values {
			cases = append(cases, loadCase(dec, file, data, item))
		}
	}
	for _, glob := range suite.Files {
		names, err := filepath.Glob(filepath.Join(filepath.Dir(file), glob))
		if err != nil {
			cases = append(cases, fail(fmt.Errorf("%s:%d: files: %w", file, line(root), err))...)
		}
		slices.Sort(names)
		for _, name := range names {
			if isCaseFile(name) && filepath.Clean(name) != filepath.Clean(file) {
				cases = append(cases, loadFile(name)...)
			}
		}
	}
	for i := range cases {
		suite.Defaults.apply(&cases[i], file)
	}
	return cases
}

// apply sets the fields that a case leaves empty. Paths in the defaults are relative to the
// suite's file.
func (d *defaults) apply(c *Case, suite string) {
	if c.Config == "" && d.Config != "" {
		c.Config = relativeTo(c.File, resolvePath(suite, d.Config))
	}
	c.Assistant, c.Provider, c.Model = cmp.Or(c.Assistant, d.Assistant), cmp.Or(c.Provider, d.Provider), cmp.Or(c.Model, d.Model)
	c.Trials, c.Judge = cmp.Or(c.Trials, d.Trials), cmp.Or(c.Judge, d.Judge)
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

func newDecoder() *yaml.Decoder { return yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict()) }

// yamlFault adds file and line to an error of the parser or decoder.
func yamlFault(file string, data []byte, err error) error {
	if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
		at := ye.GetToken().Position.Line
		source := strings.Split(string(data), "\n")
		return fmt.Errorf("%s:%d: %s", file, at, withRemedy(ye.GetMessage(), source[min(at, len(source))-1]))
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
