package importers

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"molar/eval"
	"molar/internal/text"
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
		if !root.has("prompts") {
			prompts = textPrompts(root, "{{prompt}}") // the default
		}
		tests := r.tests(root.get("tests"))
		for _, scenario := range root.get("scenarios").items() {
			configs, others := r.tests(scenario.get("config")), r.tests(scenario.get("tests"))
			if len(configs)*len(others) > maxTests {
				r.refuse(scenario.errorf("the scenario makes more than %d tests", maxTests))
				continue
			}
			for _, with := range configs {
				for _, test := range others {
					tests = append(tests, mergedTest(with, test))
				}
			}
		}
		left := maxTests
		if len(tests) == 0 && root.get("tests") == nil {
			tests = []*node{merged(root)}
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
			if left -= len(sets) * len(prompts); left < 0 {
				r.refuse(test.errorf("the config makes more than %d cases", maxTests))
				break
			}
			for _, vars := range sets {
				for _, p := range prompts {
					r.promptCase(root, test, vars, p)
				}
			}
		}
	}
}

// testsAlone refuses tests that no config in the import names: they have no prompts.
func (r *reader) testsAlone(d *document) {
	r.refuse(d.roots[0].errorf("these are promptfoo's tests, and the prompts are in a config that names them: give that"))
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
		r.faults = append(r.faults, faults...)
		all = append(all, roots...)
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
		if n.fields == nil || n.has("vars") || n.has("assert") || filepath.Ext(n.file) != ".csv" {
			continue
		}
		vars := merged(n) // of a row of a table
		for _, key := range n.keys {
			if !strings.HasPrefix(key, "__") {
				vars.set(key, n.fields[key])
			}
		}
		all[i] = merged(n, member(n, "vars", vars), member(n, "row", n))
	}
	return all
}

// mergedTest returns a test with what it does not say itself taken from another one, and the asserts of both.
func mergedTest(base, test *node) *node {
	asserts := &node{file: test.file, line: test.line, list: slices.Concat(base.get("assert").items(), test.get("assert").items())}
	return merged(test, base, test, member(test, "vars", merged(test, base.get("vars"), test.get("vars"))), member(test, "assert", asserts))
}

// maxTests bounds the cases of a config, and the tests that the lists of values of one test make.
const maxTests = 10_000

// maxVariables bounds the variables of the tests that one test makes.
const maxVariables = 1 << 20

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
	sets := []*node{merged(test)}
	if given == nil {
		return sets, nil
	}
	for _, key := range given.keys {
		values := given.fields[key].items()
		if len(values) > 0 && values[0].list == nil && values[0].fields != nil {
			values = []*node{given.fields[key]} // such as messages
		}
		if n := len(sets) * len(values); n > maxTests || n*len(given.keys) > maxVariables {
			return nil, fmt.Errorf("the lists of values make more than %d tests, or %d variables in all", maxTests, maxVariables)
		}
		var more []*node
		for _, set := range sets {
			for _, value := range values {
				value, err := r.fileText(value)
				if err != nil {
					return nil, fmt.Errorf("variable %s: %w", key, err)
				}
				more = append(more, merged(test, set, member(test, key, value)))
			}
		}
		sets = more
	}
	for _, set := range sets {
		for range 3 { // variables in variables in variables
			for key, value := range set.fields {
				if text, ok := value.scalar.(string); ok && strings.Contains(text, "{{") {
					rendered, err := render(text, set)
					if errors.Is(err, errLong) {
						return nil, fmt.Errorf("variable %s: %w", key, err)
					}
					if err == nil { // else it is as it stands there
						set.fields[key] = value.newText(rendered)
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
	return value.newText(strings.TrimSpace(string(files[0].Data))), nil
}

// promptCase makes a case of a test with one of its prompts.
func (r *reader) promptCase(root, test, vars *node, p prompt) {
	c := r.newConversation("promptfoo", "", test)
	c.note = test.get("description").text()
	var said []message
	for _, m := range p.said {
		filled, err := render(m.text, vars)
		if err != nil {
			r.refuse(p.place.errorf("with the test at %s: %w", test.at(), err))
			return
		}
		said = append(said, message{m.role, filled})
	}
	if err := c.ask(said); err != nil {
		r.refuse(p.place.errorf("with the test at %s: %w", test.at(), err))
		return
	}
	for _, n := range []*node{test, test.get("options")} { // what changes the prompt, the answer or the verdict
		for _, key := range []string{"transform", "postprocess", "transformVars", "prefix", "suffix", "threshold", "assertScoringFunction"} {
			if value := n.get(key); value != nil {
				c.lost(value, "%s (%s)", key, text.Clip(value.text(), longestQuote, "…"))
			}
		}
	}
	e := &c.turns[0].expect
	r.asserts(c, e, root, test.get("assert"), vars, 0)
	c.expectedColumns(e, test.get("row"))
	r.finish(c, test)
}

// asserts adds checks for asserts. Those without a counterpart are named.
func (r *reader) asserts(c *conversation, e *eval.Expect, root, list, vars *node, depth int) {
	const deepest = 10 // a set may name itself
	if depth > deepest {
		c.lost(list, "sets of asserts in more than %d others", deepest)
		return
	}
	for _, n := range list.items() {
		if ref := n.get("$ref"); ref != nil {
			if n = lookup(root, strings.ReplaceAll(strings.TrimPrefix(ref.text(), "#/"), "/", ".")); n == nil {
				c.lost(ref, "assert %s: it is not there", ref.text())
				continue
			}
		}
		kind := n.get("type").text()
		if kind == "assert-set" && n.get("threshold") == nil {
			r.asserts(c, e, root, n.get("assert"), vars, depth+1)
			continue
		}
		value, err := r.filled(n.get("value"), vars)
		switch {
		case n.has("transform"):
			err = errors.New("its transform is code, which is not run")
		case err == nil:
			err = assert(e, kind, value)
		}
		if err != nil {
			if t := n.get("threshold"); t != nil {
				kind += fmt.Sprintf(" assert (threshold %s)", t.text())
			} else {
				kind += " assert"
			}
			c.lost(n, "%s%s", kind, because(err))
		}
	}
}

// filled returns a value of an assert with the variables in its texts replaced.
func (r *reader) filled(value, vars *node) (*node, error) {
	if value == nil || value.fields != nil {
		return value, nil
	}
	if value.list != nil {
		all := &node{file: value.file, line: value.line, list: []*node{}}
		for _, item := range value.list {
			item, err := r.filled(item, vars)
			if err != nil {
				return nil, err
			}
			all.list = append(all.list, item)
		}
		return all, nil
	}
	value, err := r.fileText(value)
	if err != nil {
		return nil, err
	}
	text, err := render(value.text(), vars)
	return value.newText(text), err
}

// assert adds the check that means the same as an assert.
func assert(e *eval.Expect, kind string, value *node) error {
	words := value.texts()
	list := strings.HasSuffix(kind, "-any") || strings.HasSuffix(kind, "-all") || kind == "tool-call-f1"
	if list && value != nil && value.list == nil && value.fields == nil { // as tables have it
		words = nil
		for word := range strings.SplitSeq(value.text(), ",") {
			words = append(words, strings.TrimSpace(word))
		}
	}
	each := func(check string) error { // all of the words
		for _, word := range words {
			if err := expect(e, check, word); err != nil {
				return err
			}
		}
		return nil
	}
	switch kind {
	case "equals", "contains", "icontains", "regex", "contains-any", "icontains-any":
		return expect(e, strings.TrimSuffix(kind, "-any"), words...)
	case "starts-with", "not-starts-with":
		return expect(e, strings.Replace(strings.TrimSuffix(kind, "-with"), "-", "_", 1), words...)
	case "not-equals", "not-contains", "not-icontains", "not-regex", "not-contains-any", "not-icontains-any":
		return expect(e, strings.Replace(strings.TrimSuffix(kind, "-any"), "-", "_", 1), words...)
	case "contains-all", "icontains-all":
		return each(strings.TrimSuffix(kind, "-all"))
	case "llm-rubric", "model-graded-closedqa", "g-eval", "agent-rubric", "trajectory:goal-success":
		return each("judge")
	case "answer-relevance":
		return expect(e, "judge", "The answer answers the question.")
	case "factuality", "model-graded-factuality", "similar", "rouge-n", "bleu", "gleu", "meteor", "levenshtein":
		return expect(e, "like", words...)
	case "context-faithfulness":
		expectGrounded(e)
	case "is-refusal":
		e.Guardrail = "refuse"
	case "not-is-refusal":
		e.Guardrail = "pass"
	case "tool-call-f1":
		if value == nil {
			return errors.New("it names no tool")
		}
		names := &node{file: value.file, line: value.line}
		for _, word := range words {
			names.list = append(names.list, value.newText(word))
		}
		return assertCalls(e, false, false, names, false)
	case "trajectory:tool-used", "trajectory:tool-args-match", "not-trajectory:tool-used":
		return assertCalls(e, false, true, value, strings.HasPrefix(kind, "not-"))
	case "trajectory:tool-sequence":
		others := value.get("mode").text() != "exact"
		if steps := value.get("steps"); steps != nil {
			value = steps
		}
		return assertCalls(e, true, others, value, false)
	default:
		return errNoCounterpart
	}
	return nil
}

// assertCalls expects the calls of an assert about tools, or forbids them.
func assertCalls(e *eval.Expect, order, others bool, list *node, forbidden bool) error {
	var items []eval.Call
	for _, item := range list.items() {
		call := eval.Call{Name: toolName(item)}
		if args := item.get("args", "arguments"); args != nil {
			call = eval.ObservedCall(call.Name, args.text())
		}
		if call.Name == "" {
			return errors.New("it names no tool")
		}
		items = append(items, call)
	}
	switch {
	case len(items) == 0:
		return errors.New("it names no tool")
	case e.Calls == nil:
		e.Calls = &eval.Calls{Order: order, Others: others}
	case e.Calls.Order != order || e.Calls.Others != others:
		return errors.New("another assert says in another way which calls are expected")
	}
	if forbidden {
		e.Calls.Forbid = append(e.Calls.Forbid, items...)
		return nil
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
		if err := assert(e, kind, row.newText(value)); err != nil {
			c.lost(row.fields[key], "%s assert%s", kind, because(err))
		}
	}
	return found
}
