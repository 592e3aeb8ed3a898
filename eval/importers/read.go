package importers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/eval/cassettes"
	"molar/internal/text"
)

// A File is a file to import.
type File struct {
	Name string
	Data []byte
}

// Options of [Read].
type Options struct {
	// Format is one of those that [Read] lists in its errors; if empty, it is recognised.
	Format string
	// Map says which column or member of a row becomes what: its keys are user, system, id, tags, tool
	// and the checks of an answer, its values the names in the file.
	Map map[string]string
}

// A format is a form of files that are read as nodes.
type format struct {
	name string
	// is reports whether a file has the format, by its first value.
	is func(first *node) bool
	// read makes cases; nil if the file only says how others are read.
	read func(r *reader, d *document)
	// want is what a file of the format must have.
	want string
}

// formats returns the formats that are read as nodes; the first one that matches counts. Files that name
// others are read first.
func formats() []format {
	return []format{
		{name: "promptfoo", is: isPromptfoo, read: (*reader).promptfoo, want: "prompts, and tests or scenarios"},
		{name: "promptfoo-tests", is: func(n *node) bool { return n.has("vars") }, read: (*reader).testsAlone, want: "vars"},
		{name: "adk", is: isADK, read: (*reader).adk, want: "eval_cases with conversations, or a list with query"},
		{name: adkConfig, is: isADKConfig, want: "criteria with metrics"},
		{name: openAIEval, is: isEval, read: (*reader).evalRows, want: "testing_criteria, or data_source"},
		{name: openAIRegistry, is: isRegistry, want: "class and args of each eval"},
		{name: "openai", is: isConversation, read: (*reader).conversations, want: "messages, input or output"},
		{name: "gemini-session", is: isGeminiSession, read: (*reader).geminiSession, want: "messages with type user and gemini"},
		{name: "rows", is: func(n *node) bool { return n != nil && n.fields != nil }, read: (*reader).rows, want: "objects or lines with a question"},
	}
}

// recordings are the formats of recorded traffic.
func recordings() []string { return []string{"cassette", geminiCLI, "pairs"} }

// geminiCLI is the format of the fake responses of Gemini CLI.
const geminiCLI = "gemini-cli"

// The formats that say how data sets are read.
const (
	adkConfig      = "adk-config"
	openAIEval     = "openai-eval"
	openAIRegistry = "openai-registry"
)

// A document is a file that was read as nodes.
type document struct {
	File
	roots []*node
}

// A reader reads files that are given together: some of them say what others are.
type reader struct {
	opts      Options
	given     map[string]File        // by their cleaned names
	documents map[string][]*document // by format
	responses map[string]*node       // by id
	continued map[string]bool        // the ids of responses that others continue
	ids       map[string]int         // of the cases, with the last number for each
	used      map[string]bool        // the files that others name, by their cleaned names

	made   []Imported
	faults []error
	notes  []string
}

// Read converts files to cases. The errors name, with file and line, each file or part of a file that
// became no case.
func Read(opts Options, files ...File) ([]Imported, []error) {
	r := &reader{
		opts: opts, given: make(map[string]File), documents: make(map[string][]*document),
		responses: make(map[string]*node), continued: make(map[string]bool), ids: make(map[string]int), used: make(map[string]bool),
	}
	for _, f := range files {
		r.given[filepath.Clean(f.Name)] = f
	}
	for _, f := range files {
		name, err := r.formatOf(f)
		switch {
		case err != nil:
			r.refuse(err)
		case slices.Contains(recordings(), name):
			r.recordings(name, f)
		default:
			r.parse(name, f)
		}
	}
	for _, d := range r.documents["openai"] {
		for _, n := range d.roots {
			r.responses[responseID(n)] = n
			r.continued[previousID(n)] = true
		}
	}
	for _, f := range formats() {
		for _, d := range r.documents[f.name] {
			if f.read != nil && !r.used[filepath.Clean(d.Name)] {
				f.read(r, d)
			}
		}
	}
	if len(r.made) == 0 && len(r.faults) == 0 {
		for name, documents := range r.documents {
			r.refuse(documents[0].roots[0].errorf("this is %s, which says how other files are read, and has no data: give the data as well", name))
		}
	}
	if len(r.notes) > 0 {
		r.made = append(r.made, Imported{Notes: r.notes})
	}
	return r.made, r.faults
}

// formatOf returns the format of a file that is a recording, or the one that was chosen, or "".
func (r *reader) formatOf(f File) (string, error) {
	name := r.opts.Format
	if name == "" {
		return cassettes.Guess(f.Data), nil
	}
	known := recordings()
	for _, format := range formats() {
		known = append(known, format.name)
	}
	if !slices.Contains(known, name) {
		slices.Sort(known)
		return "", fmt.Errorf("format %q: choose %s", name, strings.Join(known, ", "))
	}
	return name, nil
}

// parse reads a file as nodes, and files it under its format. If it has none, the error says what it looks like.
func (r *reader) parse(name string, f File) {
	roots, faults := readNodes(f)
	r.faults = append(r.faults, faults...)
	if len(roots) == 0 && len(faults) == 0 {
		r.refuse(fmt.Errorf("%s:1: there is nothing in it", f.Name))
	}
	if len(roots) == 0 {
		return
	}
	for _, format := range formats() {
		switch {
		case name != "" && name != format.name, name == "" && format.name == adkConfig && len(roots) > 1:
		case format.is(roots[0]):
			r.documents[format.name] = append(r.documents[format.name], &document{f, roots})
			return
		case name != "":
			r.refuse(roots[0].errorf("this is not %s: it lacks %s; it has %s", name, format.want, outline(roots[0])))
			return
		}
	}
	r.refuse(roots[0].errorf("there is no object or line in it that could be a case: it begins with %s", outline(roots[0])))
}

// outline returns the names of a node's members.
func outline(n *node) string {
	if n.fields == nil {
		return fmt.Sprintf("%q", text.Clip(n.text(), longestQuote, "…"))
	}
	return text.Clip(strings.Join(slices.Sorted(maps.Keys(n.fields)), ", "), longestQuote, "…")
}

// refuse notes that something became no case.
func (r *reader) refuse(err error) { r.faults = append(r.faults, err) }

// finish builds a conversation and takes it over. place is where it stands.
func (r *reader) finish(c *conversation, place *node) {
	c.id = r.unique(c.id)
	made, err := c.build()
	if err == nil && (len(c.turns) == 0 || slices.ContainsFunc(c.turns, func(t conversationTurn) bool { return strings.TrimSpace(t.user) == "" })) {
		err = errors.New("a turn has no text of a user")
	}
	if err == nil {
		err = made.Case.Valid()
	}
	if err != nil {
		r.refuse(place.errorf("%w", err))
		return
	}
	r.made = append(r.made, made)
}

// lost notes that a part of a file has no counterpart.
func (c *conversation) lost(n *node, format string, args ...any) {
	if note := n.at() + ": not carried: " + fmt.Sprintf(format, args...); !slices.Contains(c.notes, note) {
		c.notes = append(c.notes, note)
	}
}

// newConversation returns an empty conversation with an id, or one named after its position in a file.
func (r *reader) newConversation(source, id string, place *node) *conversation {
	id = text.Clip(strings.TrimSpace(id), longestID, "")
	id = cmp.Or(id, fmt.Sprintf("%s-%d", baseName(place.file), place.line))
	return &conversation{id: id, source: source, tags: []string{"imported", source}}
}

// longestID is the maximum length of an id, in bytes: it becomes the name of a file.
const longestID = 100

// unique numbers the ids that are taken.
func (r *reader) unique(id string) string {
	name := id
	for r.ids[name] > 0 {
		r.ids[id]++
		name = fmt.Sprintf("%s-%d", id, r.ids[id])
	}
	r.ids[name]++
	return name
}

// maxFile is the maximum size of a file that another one names, in bytes.
const maxFile = 64 << 20

// open reads the files that a node names, relative to its own file: one of those given, or those under the
// current folder or, if its own is elsewhere, under that one.
func (r *reader) open(by *node, name string) ([]File, error) {
	base, dir := filepath.Dir(by.file), filepath.Dir(by.file)
	name = filepath.FromSlash(strings.TrimPrefix(name, "file://"))
	path := filepath.Join(dir, name)
	if f, given := r.given[path]; given {
		r.used[path] = true
		return []File{f}, nil
	}
	if name = filepath.Clean(name); filepath.IsLocal(path) && !filepath.IsAbs(name) {
		base, name = ".", path
	}
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%s lies outside the folder of %s: give it as another FILE", name, by.file)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	names, err := fs.Glob(root.FS(), filepath.ToSlash(name))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s is not there: give it too, or leave out what names it", path)
	}
	var files []File
	for _, name := range names {
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		if err = errors.Join(err, f.Close()); err == nil && len(data) > maxFile {
			err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
		}
		if err != nil {
			return nil, err
		}
		name = filepath.Join(base, name)
		r.used[name] = true
		files = append(files, File{Name: name, Data: data})
	}
	return files, nil
}
