// Package imports contains the table of which folder of the module may import which, and the
// checker that applies it to the source. It does not run the go command, so that it works without a
// module cache.
package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A File is one Go source file, as far as the checker needs it.
type File struct {
	// Path is relative to the module root, with slashes.
	Path string
	// Package is the name in the package clause.
	Package string
	Imports []string
	// HasInit reports whether the file declares func init().
	HasInit bool
}

func (f File) isTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// A Violation is one broken rule.
type Violation struct {
	File string
	// Import is the imported path; empty if the rule does not concern an import.
	Import string
	Rule   string
}

// String names the file, the import and the rule.
func (v Violation) String() string {
	if v.Import == "" {
		return v.File + ": " + v.Rule
	}
	return fmt.Sprintf("%s: imports %q: %s", v.File, v.Import, v.Rule)
}

// Load parses every Go file below root. It skips node_modules and the folders that the go command
// skips: testdata, vendor, and names that begin with a dot or an underscore.
func Load(root fs.FS) ([]File, error) {
	var files []File
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && (skipped(entry.Name()) || isModule(root, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parse(name, source)
		if err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the module's source: %w", err)
	}
	return files, nil
}

// isModule reports whether a folder is the root of another module.
func isModule(root fs.FS, folder string) bool {
	_, err := fs.Stat(root, path.Join(folder, "go.mod"))
	return err == nil
}

func skipped(folder string) bool {
	return folder == "testdata" || folder == "vendor" || folder == "node_modules" ||
		strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func parse(name string, source []byte) (File, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return File{}, err
	}
	file := File{Path: name, Package: tree.Name.Name}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return File{}, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		file.Imports = append(file.Imports, imported)
	}
	for _, decl := range tree.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			file.HasInit = true
		}
	}
	return file, nil
}

// Check returns the violations in the files of the module, in file order. Test files must follow
// only the rules for every file: they may import other layers, to test against the real
// implementation.
func Check(module string, files []File) []Violation {
	var found []Violation
	for _, f := range files {
		found = append(found, checkAnyFile(f)...)
		if f.isTest() {
			continue
		}
		for _, imported := range f.Imports {
			rule := checkLibrary(f.Path, imported)
			if own, ok := strings.CutPrefix(imported, module+"/"); ok {
				rule = checkLayer(f.Path, own)
			}
			if rule != "" {
				found = append(found, Violation{f.Path, imported, rule})
			}
		}
		if layerOf(path.Dir(f.Path)) == nil {
			found = append(found, Violation{File: f.Path, Rule: "folder belongs to no layer; see layers in internal/imports/rules.go"})
		}
	}
	return found
}

// checkAnyFile applies the rules that also apply to tests.
func checkAnyFile(f File) []Violation {
	var found []Violation
	if f.HasInit {
		found = append(found, Violation{File: f.Path, Rule: "no func init(): build it in cmd/molar and pass it down"})
	}
	if name := strings.TrimSuffix(f.Package, "_test"); slices.Contains(vagueNames(), name) {
		found = append(found, Violation{File: f.Path, Rule: fmt.Sprintf("no package named %s: name it after what it holds", name)})
	}
	for _, imported := range f.Imports {
		for _, ban := range banned() {
			if within(imported, ban.library) {
				found = append(found, Violation{f.Path, imported, "never: " + ban.why})
			}
		}
	}
	return found
}

func checkLayer(file, own string) string {
	l := layerOf(path.Dir(file))
	if l == nil || matchAny(l.may, own) {
		return "" // a folder without a layer is reported once, for the file
	}
	allowed := "nothing of ours"
	if len(l.may) > 0 {
		allowed = strings.Join(l.may, ", ")
	}
	return fmt.Sprintf("%s may import %s", l.folder, allowed)
}

func checkLibrary(file, imported string) string {
	folder := path.Dir(file)
	for _, c := range confined() {
		if within(imported, c.library) && !matchAny(c.folders, folder) {
			return fmt.Sprintf("%s belongs in %s", c.library, strings.Join(c.folders, ", "))
		}
	}
	return ""
}

// layerOf returns the first layer that matches the folder; nil if none does.
func layerOf(folder string) *layer {
	for _, l := range layers() {
		if match(l.folder, folder) {
			return &l
		}
	}
	return nil
}

func matchAny(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, folder) })
}

// match reports whether a pattern matches a folder: "x" matches x, "x/*" the folders below it, and
// "x/..." both.
func match(pattern, folder string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(folder, base)
	}
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return folder != base && within(folder, base)
	}
	return folder == pattern
}

func within(p, base string) bool {
	return p == base || strings.HasPrefix(p, base+"/")
}
