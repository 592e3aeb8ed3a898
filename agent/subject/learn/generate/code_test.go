package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the root of the module.
const root = "../../../.."

// Every file of code that the learning of a table depends on is counted in the table's sum,
// except three that contribute only types and names, and the program that only names the files.
func TestTables_NameTheCodeThatLearns(t *testing.T) {
	code := &source{
		packages: make(map[string]*types.Package), declared: make(map[types.Object]ast.Node), files: token.NewFileSet(),
		info: &types.Info{Defs: make(map[*ast.Ident]types.Object), Uses: make(map[*ast.Ident]types.Object)},
	}
	trained, err := code.Import("molar/agent/subject/learn/generate")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables() {
		name := "learn" + strings.ToUpper(table.name[:1]) + table.name[1:]
		reached := code.reach(trained.Scope().Lookup(name))
		if len(reached) < 5 {
			t.Errorf("%s reaches only %q", name, reached)
		}
		for _, file := range reached {
			onlyTypes := slices.Contains(in(subjectFolder, "detect.go", "needs.go", "voice.go"), file) || path.Dir(file)+"/" == learnFolder+"generate/"
			counted := slices.ContainsFunc(table.from, func(pattern string) bool { matches, _ := path.Match(pattern, file); return matches })
			if !onlyTypes && !counted {
				t.Errorf("%s uses %s, which the sum of table %q does not count", name, file, table.name)
			}
		}
	}
}

// source is the code of this module that learning uses. Imports from other modules are empty
// packages.
type source struct {
	packages map[string]*types.Package
	declared map[types.Object]ast.Node
	files    *token.FileSet
	info     *types.Info
}

// Import reads a package, see [types.Importer].
func (s *source) Import(name string) (*types.Package, error) {
	if known := s.packages[name]; known != nil {
		return known, nil
	}
	folder, own := strings.CutPrefix(name, "molar/")
	if !own {
		s.packages[name] = types.NewPackage(name, path.Base(name))
		s.packages[name].MarkComplete()
		return s.packages[name], nil
	}
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(s.files, folder+"/"+filepath.Base(name), data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	check := types.Config{Importer: s, Error: func(error) {}} // names of other modules are unknown
	s.packages[name], _ = check.Check(name, s.files, files, s.info)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				s.declared[s.info.Defs[n.Name]] = n
			case *ast.TypeSpec:
				s.declared[s.info.Defs[n.Name]] = n
			case *ast.ValueSpec:
				for _, name := range n.Names {
					s.declared[s.info.Defs[name]] = n
				}
			}
			return true
		})
	}
	return s.packages[name], nil
}

// reach returns the files that declare what a function uses, directly or through its calls.
func (s *source) reach(from types.Object) []string {
	var files []string
	seen, next := make(map[types.Object]bool), []types.Object{from}
	for len(next) > 0 {
		o := next[len(next)-1]
		next = next[:len(next)-1]
		if f, ok := o.(*types.Func); ok {
			o = f.Origin()
		}
		node := s.declared[o]
		if node == nil || seen[o] {
			continue
		}
		seen[o] = true
		files = append(files, s.files.Position(node.Pos()).Filename)
		ast.Inspect(node, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && s.info.Uses[name] != nil {
				next = append(next, s.info.Uses[name])
			}
			return true
		})
	}
	slices.Sort(files)
	return slices.Compact(files)
}
