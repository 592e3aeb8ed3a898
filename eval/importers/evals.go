package importers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"molar/eval"
)

// isEval reports whether a value is an eval object of OpenAI, or a run of one.
func isEval(n *node) bool {
	return n.has("testing_criteria") || n.has("data_source_config") || n.has("data_source")
}

// isRegistry reports whether a value is a registry of OpenAI's open evals: named objects with a class.
func isRegistry(n *node) bool {
	return n != nil && slices.ContainsFunc(n.keys, func(key string) bool { return n.get(key).has("class") })
}

// evalRows makes cases of the rows inside of runs.
func (r *reader) evalRows(d *document) {
	for _, run := range d.roots {
		for _, row := range run.get("data_source").get("source").get("content").items() {
			r.row(row)
		}
	}
}

// evalOf returns the first eval object or run with a member.
func (r *reader) evalOf(keys ...string) *node {
	for _, d := range r.documents[openAIEval] {
		for _, e := range d.roots {
			for _, key := range keys {
				e = e.get(key)
			}
			if e != nil {
				return e
			}
		}
	}
	return nil
}

// runMessages returns the messages that a run sends for an item.
func (r *reader) runMessages(vars *node) ([]message, error) {
	source := r.evalOf("data_source", "input_messages")
	if path := source.get("item_reference"); path != nil {
		return messagesOf(lookup(vars, path.text())), nil
	}
	said := messagesOf(source.get("template"))
	for i, m := range said {
		text, err := render(m.text, vars)
		if err != nil {
			return nil, fmt.Errorf("input_messages (%s): %w", source.at(), err)
		}
		said[i].text = text
	}
	return said, nil
}

// sampleText returns the text of the answer in a sample.
func sampleText(sample *node) string {
	if text := sample.get("output_text"); text != nil {
		return text.text()
	}
	for _, m := range sample.get("output", "choices").items() {
		if inner := m.get("message"); inner != nil {
			m = inner
		}
		if text := contentText(m); text != "" {
			return text
		}
	}
	return ""
}

// criteriaChecks adds the checks of an eval object's testing_criteria. It reports whether there is one.
func (r *reader) criteriaChecks(c *conversation, e *eval.Expect, vars *node) bool {
	all := r.evalOf("testing_criteria").items()
	vars = merged(vars, vars, member(vars, "sample", member(vars, "output_text", vars.newText("(the answer)"))))
	for _, criterion := range all {
		if err := addCriterion(e, criterion, vars); err != nil {
			c.lost(criterion, "%s %q%s", criterion.get("type").text(), criterion.get("name").text(), because(err))
		}
	}
	return len(all) > 0
}

func addCriterion(e *eval.Expect, n, vars *node) error {
	kind := n.get("type").text()
	switch kind {
	case "string_check", "text_similarity":
		input, reference := n.get("input"), n.get("reference")
		if !strings.Contains(input.text(), "sample.") {
			input, reference = reference, input
		}
		if !strings.Contains(input.text(), "sample.output_text") || strings.Contains(reference.text(), "sample.") {
			return fmt.Errorf("it compares %s with %s, not the answer's text with the item", n.get("input").text(), n.get("reference").text())
		}
		want, err := render(reference.text(), vars)
		if err != nil {
			return err
		}
		check := map[string]string{"eq": "equals", "ne": "not_equals", "like": "contains", "ilike": "icontains", "": "like"}[n.get("operation").text()]
		return expect(e, check, want)
	case "label_model", "score_model":
		var rubric []string
		for _, m := range messagesOf(n.get("input")) {
			text, err := render(m.text, vars)
			if err != nil {
				return err
			}
			rubric = append(rubric, text)
		}
		if kind == "label_model" {
			rubric = append(rubric, fmt.Sprintf("The answer passes with one of these labels: %s. The labels are: %s.", strings.Join(n.get("passing_labels").texts(), ", "), strings.Join(n.get("labels").texts(), ", ")))
		} else {
			rubric = append(rubric, fmt.Sprintf("The answer passes with a score of at least %s in the range %s.", n.get("pass_threshold").text(), n.get("range").text()))
		}
		return expect(e, "judge", strings.Join(rubric, "\n"))
	}
	return errNoCounterpart
}

// registries returns the evals of the registries.
func (r *reader) registries() (all []*node) {
	for _, d := range r.documents[openAIRegistry] {
		for _, root := range d.roots {
			for _, key := range root.keys {
				if e := root.fields[key]; e.has("class") {
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// registryChecks adds the check of the class that a registry gives the data. It reports whether there is one.
func (r *reader) registryChecks(c *conversation, e *eval.Expect, item *node) bool {
	var found *node
	registries := r.registries()
	for _, entry := range registries {
		samples := entry.get("args").get("samples_jsonl", "test_jsonl").text()
		switch {
		case samples != "" && strings.HasSuffix(filepath.ToSlash(item.file), "/"+strings.TrimPrefix(filepath.ToSlash(samples), "./")), len(registries) == 1:
			found = entry
		case found == nil && samples != "" && filepath.Base(samples) == filepath.Base(item.file):
			found = entry
		}
	}
	if found == nil {
		return false
	}
	class := found.get("class").text()
	if i := strings.LastIndexAny(class, ":."); i >= 0 {
		class = class[i+1:]
	}
	ideal := item.get("ideal", "answer", "target").texts()
	kind := ""
	switch {
	case class == "Match":
		kind = "starts"
	case class == "Includes" && found.get("args").get("ignore_case").text() == "true":
		kind = "icontains"
	case class == "Includes":
		kind = "contains"
	case class == "FuzzyMatch", strings.HasPrefix(class, "Model"):
		kind = "like"
		if len(ideal) == 0 {
			kind, ideal = "judge", item.get("criteria", "rubric").texts()
		}
	}
	err := errNoCounterpart
	if kind != "" {
		err = expect(e, kind, ideal...)
	}
	if err != nil {
		c.lost(found, "class %s%s", class, because(err))
	}
	return true
}
