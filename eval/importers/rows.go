package importers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"molar/eval"
	"molar/eval/tape"
)

// The usual names of what a row has, in lower case and with _ between words.
func usualNames(what string) []string {
	return map[string][]string{
		"user":     {"input", "question", "prompt", "query", "user", "user_input", "user_message", "message", "messages", "instruction", "problem", "text"},
		"system":   {"system", "system_prompt", "system_message"},
		"contains": {"ideal", "answer", "expected", "expected_answer", "correct_answer", "target", "label", "correct_label"},
		"like":     {"reference", "reference_answer", "ground_truth", "expected_output", "expected_response", "output", "completion", "response"},
		"id":       {"id", "item_id", "test_id", "case_id"},
		"tags":     {"tags", "category"},
	}[what]
}

// rows makes a case of each row: the lines of a data set, or the rows of a table.
func (r *reader) rows(d *document) {
	for _, row := range d.roots {
		r.row(row)
	}
}

// row makes a case of a row. Its item is in it, or the row itself.
func (r *reader) row(row *node) {
	item, sample := row, row.get("sample")
	for item.has("item") || item.has("datasource_item") {
		item = item.get("item", "datasource_item")
	}
	if item.fields == nil {
		r.refuse(row.errorf("a row must be an object, this is %s", outline(row)))
		return
	}
	vars := merged(row, member(row, "item", item), member(row, "sample", sample))
	c := r.newConversation("rows", r.pick(item, "id").text(), row)
	c.tags = append(c.tags, r.pick(item, "tags").texts()...)
	said, err := r.question(item, sample, vars)
	if err == nil {
		err = c.ask(said)
	}
	if err != nil {
		r.refuse(row.errorf("%w", err))
		return
	}
	t := &c.turns[len(c.turns)-1]
	if err := r.rowChecks(c, &t.expect, item, vars); err != nil {
		r.refuse(row.errorf("%w", err))
		return
	}
	if answer := cmp.Or(sampleText(sample), item.get("sample.output_text").text()); answer != "" {
		c.provider, c.model = tape.OpenAI, "imported"
		c.say(tape.WireAnswer{Text: answer})
	}
	r.finish(c, row)
}

// pick returns what --map names, or what has a usual name and is not named for something else.
func (r *reader) pick(item *node, what string) *node {
	if name, chosen := r.opts.Map[what]; chosen {
		return lookup(item, name)
	}
	mapped := slices.Collect(maps.Values(r.opts.Map))
	for _, prefix := range []string{"", "_"} { // such as question, then ticket_question
		for _, usual := range usualNames(what) {
			for _, key := range item.keys {
				name := strings.ToLower(strings.NewReplacer(" ", "_", "-", "_").Replace(key))
				fits := name == usual || prefix != "" && strings.HasSuffix(name, prefix+usual)
				if fits && !slices.Contains(mapped, key) && !r.isCompared(key) && item.get(key) != nil {
					return item.get(key)
				}
			}
		}
	}
	return nil
}

// isCompared reports whether an eval object compares a member of the items with the answer.
func (r *reader) isCompared(key string) bool {
	for _, criterion := range r.evalOf("testing_criteria").items() {
		if regexp.MustCompile(`\{\{\s*item\.` + regexp.QuoteMeta(key) + `\b`).MatchString(criterion.get("reference").text()) {
			return true
		}
	}
	return false
}

// A message is one of a conversation.
type message struct{ role, text string }

// question returns the messages of a row.
func (r *reader) question(item, sample, vars *node) ([]message, error) {
	if _, chosen := r.opts.Map["user"]; !chosen {
		if said, err := r.runMessages(vars); len(said) > 0 || err != nil {
			return said, err
		}
		if said := messagesOf(sample.get("input")); len(said) > 0 {
			return said, nil
		}
	}
	value := r.pick(item, "user")
	said := messagesOf(value)
	if len(said) == 0 {
		return nil, fmt.Errorf("it is unknown which member is the question: it has %s; choose it with --map user=NAME", outline(item))
	}
	if name := keyOf(item, value); r.opts.Map["user"] == "" && name != "input" { // as OpenAI's evals name it
		r.noteOnce("%s: %q is taken as the question; choose another one with --map user=NAME", item.file, name)
	}
	if system := r.pick(item, "system").text(); system != "" {
		said = append([]message{{tape.KindSystem, system}}, said...)
	}
	return said, nil
}

// messagesOf reads messages, or a text as that of the user.
func messagesOf(n *node) []message {
	if n == nil {
		return nil
	}
	if n.list == nil {
		return []message{{"user", contentText(n)}}
	}
	var said []message
	for _, m := range n.list {
		role := m.get("role").text()
		switch {
		case m.fields == nil:
			role = "user"
		case role == "developer":
			role = tape.KindSystem
		case m.get("name").text() == "example_user": // as few-shot examples are written
			role = "user"
		case m.get("name").text() == "example_assistant":
			role = "assistant"
		}
		said = append(said, message{role, contentText(m)})
	}
	return said
}

// contentText returns the text of a message, of its parts, or of a list of parts.
func contentText(n *node) string {
	if parts := n.get("content", "parts", "text", "input_text"); parts != nil {
		return contentText(parts)
	}
	if n == nil || n.list == nil {
		if n != nil && n.fields != nil {
			return ""
		}
		return n.text()
	}
	var all []string
	for _, part := range n.list {
		if text := contentText(part); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// ask makes the last message of the user a turn, and the others what precedes it. If there is none of the
// user, the last one is the question.
func (c *conversation) ask(said []message) error {
	last := len(said) - 1
	for i, m := range said {
		if m.role == "user" {
			last = i
		}
	}
	if last < 0 || strings.TrimSpace(said[last].text) == "" {
		return errors.New("there is no text of a user")
	}
	for _, m := range said[:last] {
		switch {
		case m.text == "":
		case m.role == tape.KindSystem:
			c.system = strings.TrimSpace(c.system + "\n" + m.text)
		case m.role == "user", m.role == "assistant":
			c.earlier = append(c.earlier, eval.Message{Role: m.role, Content: m.text})
		default:
			return fmt.Errorf("role %q is not known", m.role)
		}
	}
	c.turns = append(c.turns, conversationTurn{user: said[last].text})
	return nil
}

// rowChecks adds the checks of a row: those that --map names, those of an eval object or registry that was
// given, those of promptfoo's columns, or those with usual names.
func (r *reader) rowChecks(c *conversation, e *eval.Expect, item, vars *node) error {
	chosen := false
	for _, what := range slices.Sorted(maps.Keys(r.opts.Map)) {
		name := r.opts.Map[what]
		value := lookup(item, name)
		switch what {
		case "user", "system", "id", "tags":
			continue
		case "tool":
			for _, tool := range value.texts() {
				expectCalls(e, false, true, eval.Call{Name: tool})
			}
		default:
			if value == nil {
				return fmt.Errorf("--map %s=%s: it has %s", what, name, outline(item))
			}
			if err := expect(e, what, value.texts()...); err != nil {
				return fmt.Errorf("--map %s=%s: %w", what, name, err)
			}
		}
		chosen = true
	}
	if chosen || r.criteriaChecks(c, e, vars) || r.registryChecks(c, e, item) || c.expectedColumns(e, item) {
		return nil
	}
	known := sampleText(vars.get("sample")) != ""
	for _, what := range []string{"contains", "like"} {
		value := r.pick(item, what)
		known = known || value != nil
		if len(value.texts()) == 0 || e.Answer != nil {
			continue
		}
		if err := expect(e, what, value.texts()...); err != nil {
			return err
		}
		r.noteOnce("%s: %q is taken as what the answer has to be (%s); choose another one with --map contains=NAME", item.file, keyOf(item, value), what)
	}
	if !known {
		r.noteOnce("%s: nothing of it is taken as what the answer has to be: it has %s; choose it with --map contains=NAME", item.file, outline(item))
	}
	return nil
}

func keyOf(item, value *node) string {
	for _, key := range item.keys {
		if item.fields[key] == value {
			return key
		}
	}
	return ""
}

// noteOnce adds a note that is about no single case.
func (r *reader) noteOnce(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}
