package eval_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"molar/eval"
)

// files writes files and returns their folder.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	dir := files(t, map[string]string{
		"suite.yaml": `v: 1
name: all
defaults:
  config: ../molar.yaml
  assistant: family
  tags: [base]
  tapes: tapes
cases:
  - id: one
    user: Hello
    expect: {no_call: true}
files: ["more/*"]
`,
		"more/two.yaml":      "id: two\nassistant: other\nuser: Hi\ntags: [x]\n---\nid: three\nturns: [{user: a}, {user: b}]\n",
		"more/four.jsonl":    `{"id":"four","user":"x"}` + "\n\n" + `{"id":"five","user":"x","expect":{"calls":{"items":[{"name":"f","args":{"n":5}}]}}}` + "\n",
		"more/x.tape.jsonl":  "not a case",
		"more/molar.yaml":    "default: not a case",
		"more/notes.txt":     "nor this",
		"elsewhere/six.yaml": "id: six\nuser: not named\n",
	})
	cases, err := eval.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cases {
		tape, err := filepath.Rel(dir, c.TapeFile())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{c.ID, c.Assistant, strings.Join(c.Tags, "+"), tape, filepath.Base(c.ConfigFile())}, " "))
	}
	want := []string{
		"one family base tapes/one.tape.jsonl molar.yaml",
		"four family base tapes/four.tape.jsonl molar.yaml",
		"five family base tapes/five.tape.jsonl molar.yaml",
		"two other x+base tapes/two.tape.jsonl molar.yaml",
		"three family base tapes/three.tape.jsonl molar.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLoad_faults: every error of a case names file and line.
func TestLoad_faults(t *testing.T) {
	for _, test := range []struct{ name, file, text, want string }{
		{"unknown key", "a.yaml", "id: a\nuser: x\nexpekt: {}\n", `a.yaml:3: unknown field "expekt", did you mean "expect"?`},
		{"unknown key below", "a.yaml", "id: a\nuser: x\nexpect:\n  calls:\n    itms: []\n", `a.yaml:5: unknown field "itms", did you mean "items"?`},
		{"unknown key in a line", "a.jsonl", "\n" + `{"id":"a","user":"x","colour":1}`, `a.jsonl:2: json: unknown field "colour"`},
		{"no id", "a.yaml", "\nuser: x\n", "a.yaml:2: the case has no id"},
		{"no text", "a.yaml", "id: a\n", "a.yaml:1: turn 1 has no user text"},
		{"newer", "a.yaml", "v: 9\nid: a\nuser: x\n", "a.yaml:1: the case has version 9"},
		{"both", "a.yaml", "id: a\nuser: x\nturns: [{user: y}]\n", "a.yaml:1: write either turns, or user and expect"},
		{"twice", "a.yaml", "id: a\nuser: x\n---\nid: a\nuser: y\n", `a.yaml:4: id "a" is taken: it stands at`},
		{"bad YAML", "a.yaml", "id: [a\n", "a.yaml:1:"},
		{"deep brackets", "a.yaml", "id: " + strings.Repeat("[", 20_000), "a.yaml:1: it is nested more than 200 deep"},
		{"a list", "a.yaml", "- a\n", "a.yaml:1: want a case"},
		{"known key elsewhere", "a.yaml", "id: a\nuser: x\nexpect: {gate: {}}\n", `a.yaml:3: unknown field "gate", which belongs to another part of the file`},
		{"mode exact", "a.yaml", "id: a\nuser: x\nexpect: {calls: {mode: exact}}\n", "a.yaml:3: calls have no mode any more: instead of mode: exact write order: true"},
		{"mode in_order", "a.yaml", "id: a\nuser: x\nexpect:\n  calls:\n    items: []\n    mode: in_order\n", "a.yaml:6: calls have no mode any more: instead of mode: in_order write order: true and others: true"},
		{"mode any_order", "a.yaml", "id: a\nuser: x\nexpect: {calls: {mode: any_order}}\n", "instead of mode: any_order leave it out"},
		{"mode subset", "a.yaml", "id: a\nuser: x\nexpect: {calls: {mode: subset}}\n", "instead of mode: subset write optional: true in each item"},
		{"mode superset in a line", "a.jsonl", `{"id":"a","user":"x","expect":{"calls":{"items":[{"name":"f","args":{"mode":"dark"}}],"mode": "superset"}}}`, "a.jsonl:1: calls have no mode any more: instead of mode: superset write others: true"},
		{"mode that never was", "a.yaml", "id: a\nuser: x\nexpect: {calls: {mode: same}}\n", "write order: true if the order of the items matters, and others: true if other calls are allowed"},
		{"mode in a suite", "a.yaml", "v: 1\ncases:\n  - id: a\n    user: x\n    expect: {calls: {mode: dag}}\n", "a.yaml:5: calls have no mode any more: instead of mode: dag leave it out"},
		{"policy", "a.yaml", "id: a\nuser: x\npolicy: {on_miss: report}\n", "a.yaml:3: there is no policy any more: a request that differs from the tape is drift, and --live compares none; remove it"},
		{"policy of a suite", "a.yaml", "v: 1\ndefaults:\n  policy: {on_miss: fail}\ncases: []\n", "a.yaml:3: there is no policy any more"},
		{"guardrail", "a.yaml", "id: a\nuser: x\nexpect: {guardrail: maybe}\n", `guardrail "maybe"`},
		{"no name", "a.yaml", "id: a\nuser: x\nexpect: {calls: {items: [{args: {}}]}}\n", "call 1 has no name"},
		{"after nobody", "a.yaml", "id: a\nuser: x\nexpect: {calls: {items: [{name: f, after: [g]}]}}\n", `after "g"`},
		{"pattern", "a.yaml", "id: a\nuser: x\nexpect: {answer: {all: [{regex: \"(\"}]}}\n", "check 1"},
		{"two in one check", "a.yaml", "id: a\nuser: x\nexpect: {answer: {all: [{regex: a, contains: b}]}}\n", "exactly one of"},
		{"fault", "a.yaml", "id: a\nuser: x\nfaults: [boom]\n", "a.yaml:3: unknown field \"faults\": faults are no part of a case; ask a model behind one with molar eval run --fault"},
		{"call and no call", "a.yaml", "id: a\nuser: x\nexpect: {no_call: true, calls: {items: [{name: f}]}}\n", "exclude each other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cases, err := eval.Load(filepath.Join(files(t, map[string]string{test.file: test.text}), test.file))
			if err != nil || len(cases) == 0 {
				t.Fatalf("%d cases, %v", len(cases), err)
			}
			if err := cases[len(cases)-1].Err; err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "nothing.yaml"), t.TempDir()} {
		if _, err := eval.Load(path); err == nil {
			t.Errorf("%s is read without an error", path)
		}
	}
}

// TestLoad_invalid: what is invalid leaves everything else in its file, and the other files, valid.
func TestLoad_invalid(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		want             []string // id, line, and what the error contains
	}{
		{
			"a line", "a.jsonl", "{\"id\":\"a\",\"user\":\"x\"}\n{\"id\":\n{\"id\":\"c\",\"tags\":[\"t\"],\"users\":\"x\"}\n{\"id\":\"d\",\"user\":\"x\"}\n",
			[]string{"a 1 ", " 2 a.jsonl:2: ", "c 3 t a.jsonl:3: json: unknown field", "d 4 "},
		},
		{
			"a document that does not parse", "a.yaml", "id: a\nuser: x\n---\nid: [b\n---\nid: c\nuser: x\n--- # the last\nid: d\nuser: [x\n",
			[]string{"a 1 ", " 3 a.yaml:", "c 6 ", " 8 a.yaml:"},
		},
		{
			"a document that is invalid", "a.yaml", "id: a\nuser: x\n---\nid: b\ntags: [t]\nusr: x\n---\n- list\n---\nid: c\nuser: x\n",
			[]string{"a 1 ", "b 4 t a.yaml:6: unknown field", " 8 a.yaml:8: want a case", "c 10 "},
		},
		{
			"a case of a suite", "suite.yaml", "defaults: {tags: [s]}\ncases:\n  - {id: a, user: &q x}\n  - {id: b, usr: x}\n  - {id: c, user: *q}\n  - 5\nfiles: [more.yaml]\n",
			[]string{"a 3 s ", "b 4 s suite.yaml:4: unknown field", "c 5 s ", " 6 s suite.yaml:6: "},
		},
		{
			"the head of a suite", "a.yaml", "default: {}\ncases: [{id: a, user: x}]\n---\ncases: 5\n---\nid: c\nuser: x\n",
			[]string{" 1 a.yaml:1: unknown field", " 4 a.yaml:4: cases: want a list", "c 6 "},
		},
		{
			"an id that is there twice", "a.yaml", "id: a\nuser: x\n---\nid: a\nuser: y\n---\nid: b\nuser: x\n",
			[]string{"a 1 ", "a 4 a.yaml:4: id \"a\" is taken", "b 7 "},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := files(t, map[string]string{test.file: test.text, "z.yaml": "id: z\nuser: x\n"})
			cases, err := eval.Load(filepath.Join(dir, test.file), filepath.Join(dir, "z.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range cases {
				line := fmt.Sprintf("%s %d ", c.ID, c.Line)
				for _, tag := range c.Tags {
					line += tag + " "
				}
				if c.Err != nil {
					line += strings.ReplaceAll(c.Err.Error(), dir+string(filepath.Separator), "")
				}
				got = append(got, line)
			}
			if !slices.EqualFunc(got, append(test.want, "z 1 "), func(g, w string) bool { return g == w || strings.Contains(w, ":") && strings.HasPrefix(g, w) }) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestSchema: the bundled suites match the schema, and an unknown key does not.
func TestSchema(t *testing.T) {
	data, err := eval.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("case.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("case.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	shipped, err := filepath.Glob("suites/*/cases.yaml")
	if err != nil || len(shipped) < 3 {
		t.Fatalf("%v, %v", shipped, err)
	}
	for _, file := range append(shipped, "suites/suite.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, bad := range []string{"id: a\nexpekt: {}\n", "id: a\nexpect: {guardrail: maybe}\n", "id: a\nexpect: {calls: {order: same}}\n", "cases: [{id: 5}]\n"} {
		if valid([]byte(bad)) == nil {
			t.Errorf("%q fits", bad)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("id: a\nuser: x\nexpect: {calls: {items: [{name: f, args: {a: {any_of: [1]}}}]}}\n")
	f.Add("cases: [{id: a, user: x}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = eval.Load(file)
	})
}
