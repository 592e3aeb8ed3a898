package importers

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"molar/eval"
)

// isPromptfoo reports whether a value is a config of promptfoo.
func isPromptfoo(n *node) bool {
	return n.has("prompts") && !n.has("messages") || n.has("tests") && (n.has("providers") || n.has("targets") || n.has("defaultTest")) || n.has("scenarios", "providers")
}

// A prompt is a template of promptfoo: a text, or messages.
type prompt struct {
	place *node
	said  []message
}

// promptfoo makes a case of each test with each prompt.
func (r *reader) promptfoo(d *document) {
	for _, root := range d.roots {
		if !isPromptfoo(root) {
			continue
		}
		prompts := r.prompts(root.get("prompts"))
		tests := r.tests(root.get("tests"))
		for _, scenario := range root.get("scenarios").items() {
			for _, with := range r.tests(scenario.get("config")) {
				for _, test := range r.tests(scenario.get("tests")) {
					tests = append(tests, mergedTest(with, test))
				}
			}
		}
		if len(tests) == 0 && root.get("tests") == nil {
			tests = []*node{newObject(root.file, root.line)}
		}
		defaults := root.get("defaultTest")
		if name := defaults.text(); strings.HasPrefix(name, "file://") {
			defaults = nil
			if all := r.named(root.get("defaultTest"), name); len(all) > 0 {
				defaults = all[0]
			}
		}
		for _, test := range tests {
			if defaults != nil {
				test = mergedTest(defaults, test)
			}
			sets, err := r.varSets(test)
			if err != nil {
				r.refuse(test.errorf("%w", err))
				continue
			}
			for _, vars := range sets {
				for _, p := range prompts {
					r.promptCase(root, test, vars, p)
				}
			}
		}
	}
}

// named reads the values of the files that a node names. What cannot be read is refused.
func (r *reader) named(by *node, name string) []*node {
	switch filepath.Ext(strings.TrimPrefix(name, "file://")) {
	case ".yaml", ".yml", ".json", ".jsonl", ".csv":
	default:
		r.refuse(by.errorf("%s is code or a service, which is not run: write what it makes into a YAML, JSON or CSV file", name))
		return nil
	}
	files, err := r.open(by, name)
	if err != nil {
		r.refuse(by.errorf("%w", err))
	}
	var all []*node
	for _, f := range files {
		roots, faults := readNodes(f)
		r.faults, r.used[filepath.Clean(f.Name)] = append(r.faults, faults...), true
		for _, root := range roots {
			all = append(all, root.items()...)
		}
	}
	return all
}

// prompts reads the prompts of a config.
func (r *reader) prompts(list *node) []prompt {
	var all []prompt
	for _, n := range list.items() {
		name := n
		if n.fields != nil {
			name = n.get("raw", "id", "label")
		}
		text := name.text()
		path, isFile := strings.CutPrefix(text, "file://")
		ext := strings.ToLower(filepath.Ext(path))
		if known := slices.Contains([]string{".txt", ".md", ".json", ".jsonl", ".yaml", ".yml"}, ext); !isFile && (!known || strings.ContainsAny(text, "\n{")) {
			all = append(all, textPrompts(n, text)...)
			continue
		} else if !known && ext != "" {
			r.refuse(n.errorf("prompt %s is code, or a file of a form that is not read", text))
			continue
		}
		files, err := r.open(n, text)
		if err != nil {
			r.refuse(n.errorf("prompt: %w", err))
		}
		for _, f := range files {
			r.used[filepath.Clean(f.Name)] = true
			if ext == ".jsonl" {
				for line := range strings.Lines(string(f.Data)) {
					all = append(all, textPrompts(n, line)...)
				}
				continue
			}
			for part := range strings.SplitSeq("\n"+strings.ReplaceAll(string(f.Data), "\r\n", "\n"), "\n---\n") {
				all = append(all, textPrompts(n, part)...)
			}
		}
	}
	return all
}

// textPrompts returns a prompt unless the text is blank. A list of messages may be written as JSON or YAML.
func textPrompts(place *node, text string) []prompt {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "- role:") {
		name := "prompt.yaml"
		if text[0] == '[' {
			name = "prompt.json"
		}
		roots, faults := readNodes(File{Name: name, Data: []byte(text)})
		if len(roots) == 1 && roots[0].list != nil {
			roots = roots[0].list
		}
		if len(faults) == 0 && len(roots) > 0 && roots[0].has("role") {
			return []prompt{{place, messagesOf(&node{list: roots})}}
		}
	}
	return []prompt{{place, []message{{"user", text}}}}
}

// tests reads tests: a list of them, or of files with them.
func (r *reader) tests(list *node) []*node {
	var all []*node
	for _, n := range list.items() {
		if name := n.text(); n.fields == nil {
			all = append(all, r.named(n, name)...)
			continue
		}
		all = append(all, n)
	}
	for i, n := range all {
		if n.has("vars") || n.has("assert") || n.fields == nil || filepath.Ext(n.file) != ".csv" {
			continue
		}
		test := newObject(n.file, n.line) // a row of a table
		vars := newObject(n.file, n.line)
		for _, key := range n.keys {
			if !strings.HasPrefix(key, "__") {
				vars.fields[key] = n.fields[key]
			}
		}
		test.fields["vars"], test.fields["row"] = vars, n
		all[i] = test
	}
	return all
}

// mergedTest returns a test with what it does not say itself taken from another one, and the asserts of both.
func mergedTest(base, test *node) *node {
	merged := newObject(test.file, test.line)
	for _, from := range []*node{base, test} {
		for key, value := range from.fields {
			merged.fields[key] = value
		}
	}
	vars := newObject(test.file, test.line)
	asserts := &node{file: test.file, line: test.line, list: []*node{}}
	for _, from := range []*node{base, test} {
		if v := from.get("vars"); v != nil {
			for key, value := range v.fields {
				vars.fields[key] = value
			}
		}
		asserts.list = append(asserts.list, from.get("assert").items()...)
	}
	merged.fields["vars"], merged.fields["assert"] = vars, asserts
	return merged
}

// maxSets bounds the tests that the lists of values of one test make.
const maxSets = 1000

// varSets returns the variables of a test: one set for each combination of the values in lists. Values
// may be in files, and may hold other variables.
func (r *reader) varSets(test *node) ([]*node, error) {
	given := test.get("vars")
	if name := given.text(); strings.HasPrefix(name, "file://") {
		all := r.named(given, name)
		if len(all) != 1 {
			return nil, fmt.Errorf("%s does not hold variables", name)
		}
		given = all[0]
	}
	sets := []*node{newObject(test.file, test.line)}
	if given == nil {
		return sets, nil
	}
	keys := make([]string, 0, len(given.fields))
	for key := range given.fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		values := given.fields[key].items()
		if len(values) > 0 && values[0].list == nil && values[0].fields != nil {
			values = []*node{given.fields[key]} // such as messages
		}
		if len(sets)*len(values) > maxSets {
			return nil, fmt.Errorf("the lists of values make more than %d tests", maxSets)
		}
		var more []*node
		for _, set := range sets {
			for _, value := range values {
				value, err := r.fileText(value)
				if err != nil {
					return nil, fmt.Errorf("variable %s: %w", key, err)
				}
				next := newObject(test.file, test.line)
				for k, v := range set.fields {
					next.fields[k] = v
				}
				next.fields[key] = value
				more = append(more, next)
			}
		}
		sets = more
	}
	for _, set := range sets {
		for range 3 { // variables in variables in variables
			for key, value := range set.fields {
				if text, ok := value.scalar.(string); ok && strings.Contains(text, "{{") {
					if rendered, err := render(text, set); err == nil {
						set.fields[key] = newText(value.file, value.line, rendered)
					}
				}
			}
		}
	}
	return sets, nil
}

// fileText returns the text of the file that a value names, or else the value.
func (r *reader) fileText(value *node) (*node, error) {
	name, isFile := strings.CutPrefix(value.text(), "file://")
	if !isFile {
		return value, nil
	}
	if ext := filepath.Ext(name); slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".py", ".rb"}, ext) || strings.Contains(ext, ":") {
		return nil, fmt.Errorf("%s is code, which is not run", name)
	}
	files, err := r.open(value, name)
	if err != nil {
		return nil, err
	}
	r.used[filepath.Clean(files[0].Name)] = true
	return newText(value.file, value.line, strings.TrimSpace(string(files[0].Data))), nil
}

// promptCase makes a case of a test with one of its prompts.
func (r *reader) promptCase(root, test, vars *node, p prompt) {
	c := r.newConversation("promptfoo", "", test)
	c.note = test.get("description").text()
	var said []message
	for _, m := range p.said {
		text, err := render(m.text, vars)
		if err != nil {
			r.refuse(p.place.errorf("with the test at %s: %w", test.at(), err))
			return
		}
		said = append(said, message{m.role, text})
	}
	if err := c.ask(said); err != nil {
		r.refuse(p.place.errorf("with the test at %s: %w", test.at(), err))
		return
	}
	e := &c.turns[0].expect
	r.asserts(c, e, root, test.get("assert"), vars)
	c.expectedColumns(e, test.get("row"))
	r.finish(c, test)
}

// asserts adds checks for asserts. Those without a counterpart are named.
func (r *reader) asserts(c *conversation, e *eval.Expect, root, list, vars *node) {
	for _, n := range list.items() {
		if ref := n.get("$ref"); ref != nil {
			n = lookup(root, strings.ReplaceAll(strings.TrimPrefix(ref.text(), "#/"), "/", "."))
		}
		kind := n.get("type").text()
		if kind == "assert-set" && n.get("threshold") == nil {
			r.asserts(c, e, root, n.get("assert"), vars)
			continue
		}
		value, err := n.get("value"), error(nil)
		if value != nil && value.list == nil && value.fields == nil {
			if value, err = r.fileText(value); err == nil {
				var text string
				text, err = render(value.text(), vars)
				value = newText(value.file, value.line, text)
			}
		} else if value != nil && value.list != nil {
			rendered := &node{file: value.file, line: value.line, list: []*node{}}
			for _, item := range value.list {
				if text, ok := item.scalar.(string); ok && err == nil {
					text, err = render(text, vars)
					item = newText(item.file, item.line, text)
				}
				rendered.list = append(rendered.list, item)
			}
			value = rendered
		}
		if err == nil {
			err = assert(e, kind, value)
		}
		if err != nil {
			threshold := ""
			if t := n.get("threshold"); t != nil {
				threshold = fmt.Sprintf(" (threshold %s)", t.text())
			}
			if n == nil {
				n = list
			}
			c.lost(n, "%s assert%s%s", kind, threshold, because(err))
		}
	}
}

// assert adds the check that means the same as an assert.
func assert(e *eval.Expect, kind string, value *node) error {
	words := value.texts()
	if value != nil && value.list == nil && value.fields == nil && (strings.HasSuffix(kind, "-any") || strings.HasSuffix(kind, "-all") || kind == "tool-call-f1") {
		words = nil
		for word := range strings.SplitSeq(value.text(), ",") {
			words = append(words, strings.TrimSpace(word))
		}
	}
	base, not := strings.CutPrefix(kind, "not-")
	check := map[string]string{
		"equals": "equals", "contains": "contains", "icontains": "icontains", "starts-with": "starts", "regex": "regex",
		"contains-any": "contains", "icontains-any": "icontains", "contains-all": "contains", "icontains-all": "icontains",
	}[base]
	switch {
	case not && base == "contains-all", not && base == "icontains-all":
	case check != "" && not:
		return expect(e, "not_"+check, words...)
	case strings.HasSuffix(base, "-all") && check != "":
		for _, word := range words {
			if err := expect(e, check, word); err != nil {
				return err
			}
		}
		return nil
	case check != "":
		return expect(e, check, words...)
	case base == "is-refusal":
		e.Guardrail = map[bool]string{true: "pass", false: "refuse"}[not]
		return nil
	case base == "trajectory:tool-used" && not:
		for _, item := range value.items() {
			if e.Calls == nil {
				e.Calls = &eval.Calls{Others: true}
			}
			e.Calls.Forbid = append(e.Calls.Forbid, eval.Call{Name: toolName(item)})
		}
		return nil
	case not:
	default:
		switch base {
		case "llm-rubric", "model-graded-closedqa", "g-eval", "agent-rubric", "trajectory:goal-success":
			for _, word := range words {
				if err := expect(e, "judge", word); err != nil {
					return err
				}
			}
			return nil
		case "answer-relevance":
			return expect(e, "judge", "The answer answers the question.")
		case "factuality", "model-graded-factuality", "similar", "rouge-n", "bleu", "gleu", "meteor", "levenshtein":
			return expect(e, "like", words...)
		case "context-faithfulness":
			expectGrounded(e)
			return nil
		case "tool-call-f1", "trajectory:tool-used", "trajectory:tool-args-match", "trajectory:tool-sequence":
			return assertCalls(e, base, value, words)
		}
	}
	return errNoCounterpart
}

// assertCalls expects the calls of an assert about tools.
func assertCalls(e *eval.Expect, kind string, value *node, words []string) error {
	order, others, list := false, true, value.items()
	switch {
	case kind == "tool-call-f1":
		others, list = false, nil
		for _, word := range words {
			list = append(list, newText("", 0, word))
		}
	case kind == "trajectory:tool-sequence":
		order, others = true, value.get("mode").text() != "exact"
		if steps := value.get("steps"); steps != nil {
			list = steps.items()
		}
	}
	var items []eval.Call
	for _, item := range list {
		call := eval.Call{Name: toolName(item)}
		if call.Name == "" {
			return errors.New("it names no tool")
		}
		if args := item.get("args", "arguments"); args != nil {
			call = eval.ObservedCall(call.Name, args.text())
		}
		items = append(items, call)
	}
	if len(items) == 0 {
		return errors.New("it names no tool")
	}
	if e.Calls != nil && (e.Calls.Order != order || e.Calls.Others != others) {
		return errors.New("another assert says in another way which calls are expected")
	}
	expectCalls(e, order, others, items...)
	return nil
}

func toolName(n *node) string {
	if name := n.get("name", "tool"); name != nil {
		return name.text()
	}
	if n.fields != nil {
		return ""
	}
	return n.text()
}

// expectedColumns adds the checks in promptfoo's columns of a table: __expected, __expected1 and so on. It reports
// whether there is one.
func (c *conversation) expectedColumns(e *eval.Expect, row *node) bool {
	found := false
	if row == nil {
		return false
	}
	for _, key := range row.keys {
		text := strings.TrimSpace(row.fields[key].text())
		switch {
		case !strings.HasPrefix(key, "__") || text == "":
			continue
		case key == "__description":
			c.note = text
			continue
		case !strings.HasPrefix(key, "__expected"):
			c.lost(row.fields[key], "column %s", key)
			continue
		}
		found = true
		kind, value := "equals", text
		if m := regexp.MustCompile(`(?s)^([a-z][a-z0-9:-]*?)(?:\([\d.]+\))?:\s*(.*)$`).FindStringSubmatch(text); m != nil {
			kind, value = m[1], m[2]
		} else if regexp.MustCompile(`^(?:not-)?(?:is|contains)-[a-z-]+$`).MatchString(text) {
			kind, value = text, ""
		}
		if kind == "grade" {
			kind = "llm-rubric"
		}
		if err := assert(e, kind, newText(row.file, row.line, value)); err != nil {
			c.lost(row.fields[key], "%s assert%s", kind, because(err))
		}
	}
	return found
}
