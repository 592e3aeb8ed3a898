package web_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A saying is a text in the source code that becomes a reason on a page.
type saying struct {
	at   string // file and line
	text string // as it is in the code: with the verbs of a format
}

// sentence matches what has words; JSON in pieces is none.
var sentence = regexp.MustCompile(`[a-z]{2,}`)

// isReason reports whether what has this name holds a reason for people.
func isReason(name string) bool {
	switch strings.ToLower(name) {
	case "reason", "why", "withheld", "warning", "warnings":
		return true
	}
	return false
}

// said returns the reasons that the packages of a turn and of the servers can give: the texts that are assigned to,
// returned as, or passed as what is called reason, why or withheld, the warnings of a turn, and what it says of its
// memory.
func said(t *testing.T) []saying {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, folder := range []string{"agent", "toolhandler", "mcpclients", "providers", "internal/host"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if strings.Contains(path, filepath.Join("agent", "prompts")) { // it says all in both languages itself
				return nil
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			files = append(files, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	takes := reasonParameters(files)
	var all []saying
	for _, file := range files {
		add := func(e ast.Expr) {
			ast.Inspect(e, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && sentence.MatchString(text) && !strings.Contains(text, `":`) {
						all = append(all, saying{set.Position(lit.Pos()).String(), text})
					}
				}
				_, isIndex := n.(*ast.IndexExpr)
				return !isIndex
			})
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if i < len(n.Rhs) && isReason(lastName(left)) {
						add(n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) && isReason(name.Name) {
						add(n.Values[i])
					}
				}
			case *ast.KeyValueExpr:
				if isReason(lastName(n.Key)) {
					add(n.Value)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && isLog(lastName(f.X)) {
					return true // for the log, which is English
				}
				for _, i := range takes[lastName(n.Fun)] {
					if i < len(n.Args) {
						add(n.Args[i])
					}
				}
			case *ast.FuncDecl:
				i := reasonResult(n.Type)
				if i < 0 && isReason(n.Name.Name) {
					i = 0
				}
				if i >= 0 && n.Body != nil {
					ast.Inspect(n.Body, func(n ast.Node) bool {
						if ret, ok := n.(*ast.ReturnStmt); ok && i < len(ret.Results) {
							add(ret.Results[i])
						}
						_, inner := n.(*ast.FuncLit)
						return !inner
					})
				}
			}
			return true
		})
	}
	return all
}

// isLog reports whether what has this name is a log.
func isLog(name string) bool {
	switch strings.ToLower(name) {
	case "log", "logger", "slog":
		return true
	}
	return false
}

// lastName returns the name of a variable, a field or a function.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// reasonParameters returns for the names of functions which of their parameters are reasons.
func reasonParameters(files []*ast.File) map[string][]int {
	takes := map[string][]int{"Warn": {1}, "WarnOfHost": {2}, "Miss": {1}, "Lose": {0}, "Memory": {0}}
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := 0
			for _, field := range f.Type.Params.List {
				for _, name := range field.Names {
					if isReason(name.Name) && lastName(field.Type) == "string" {
						takes[f.Name.Name] = append(takes[f.Name.Name], at)
					}
					at++
				}
			}
		}
	}
	return takes
}

// reasonResult returns which result of a function is a reason, by its name; -1 for none.
func reasonResult(f *ast.FuncType) int {
	if f.Results == nil {
		return -1
	}
	at := 0
	for _, field := range f.Results.List {
		for _, name := range field.Names {
			if isReason(name.Name) {
				return at
			}
			at++
		}
	}
	return -1
}

// Whatever reason the host's code can give, a Vietnamese reader gets it in Vietnamese. The errors of other programs
// in it stay as they are.
func TestReasons_InVietnamese(t *testing.T) {
	table := vietnamese(t)
	all := said(t)
	if len(all) < 50 {
		t.Errorf("only %d reasons are found in the code", len(all))
	}
	for _, s := range all {
		if left := english(s.text, table.say(filled(s.text))); left != "" {
			t.Errorf("%s: %q has no Vietnamese text in reasons.js: %q stays", s.at, s.text, left)
		}
	}
}

// A reason without a translation is found, and one with a translation is not.
func TestReasons_English(t *testing.T) {
	table := vietnamese(t)
	for text, want := range map[string]string{
		"its policy is deny":                    "",
		"the server is being started; X":        "",
		"nobody has translated this":            "nobody has",
		"its policy is deny, as %s wanted it":   "wanted it",
		"read it, then run: molar servers list": "read it",
		"unheard":                               "unheard",
	} {
		if got := english(text, table.say(filled(text))); got != want {
			t.Errorf("%q: %q stays, want %q", text, got, want)
		}
	}
}

// A translation is the table of reasons.js.
type translation []struct {
	pattern *regexp.Regexp
	to      string
}

var entry = regexp.MustCompile(`(?m)^  \[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'), ("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\],$`)

func vietnamese(t *testing.T) translation {
	t.Helper()
	source, err := os.ReadFile("pages/static/reasons.js")
	if err != nil {
		t.Fatal(err)
	}
	unquote := func(literal string) string {
		if literal[0] == '\'' {
			literal = `"` + strings.ReplaceAll(literal[1:len(literal)-1], `"`, `\"`) + `"`
		}
		text, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatalf("%s: %v", literal, err)
		}
		return text
	}
	var table translation
	for _, m := range entry.FindAllStringSubmatch(string(source), -1) {
		pattern, to := unquote(m[1]), regexp.MustCompile(`\$(\d)`).ReplaceAllString(unquote(m[2]), "$${$1}")
		if before, ahead, ok := strings.Cut(pattern, "(?="); ok { // Go has no look-ahead: what is seen is put back
			pattern = before + "(" + ahead
			to += "${" + strconv.Itoa(regexp.MustCompile(pattern).NumSubexp()) + "}"
		}
		table = append(table, struct {
			pattern *regexp.Regexp
			to      string
		}{regexp.MustCompile(pattern), to})
	}
	return table
}

func (t translation) say(text string) string {
	for _, s := range t {
		text = s.pattern.ReplaceAllString(text, s.to)
	}
	return text
}

// filled returns a format with a value for each verb.
func filled(format string) string {
	return regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`).ReplaceAllStringFunc(format, func(verb string) string {
		switch verb[len(verb)-1] {
		case 'd':
			return "7"
		case 'q':
			return `"X"`
		case 'f', 'g':
			return "1.50"
		}
		return "X"
	})
}

// english returns words of a text of the code that still stand in its translation: two that follow each other, or
// the whole text.
func english(format, got string) string {
	bare := regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]|molar( [a-z]+)*|\S*[._=/]\S*`).ReplaceAllString(format, " | ")
	words := regexp.MustCompile(`[A-Za-z']+|[|]`).FindAllString(bare, -1)
	for i := 0; i+1 < len(words); i++ {
		if pair := words[i] + " " + words[i+1]; !strings.Contains(pair, "|") && strings.Contains(got, pair) {
			return pair
		}
	}
	if got == filled(format) && len(words) == 1 { // more words with nothing but values between them are no sentence
		return got
	}
	return ""
}
