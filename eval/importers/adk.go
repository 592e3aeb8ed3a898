package importers

import (
	"slices"
	"strconv"
	"strings"

	"molar/eval"
	"molar/eval/tape"
)

// isADK reports whether a value is an eval set of Google's ADK, one case of it, or a row of its first form.
func isADK(n *node) bool {
	data := n.get("data").items()
	return n.get("eval_cases", "evalCases") != nil || n.has("query", "expected_tool_use") || len(data) > 0 && data[0].has("query") || n.get("conversation") != nil && n.get("eval_id", "evalId") != nil
}

// isADKConfig reports whether a value has criteria as ADK names them: metrics, each with a threshold or more.
func isADKConfig(n *node) bool {
	criteria := n.get("criteria")
	return criteria != nil && criteria.fields != nil && !slices.ContainsFunc(criteria.keys, func(key string) bool {
		value := criteria.fields[key]
		_, err := strconv.ParseFloat(value.text(), 64)
		return value.fields == nil && err != nil
	})
}

// adk makes a case of each case of an eval set, or of all rows of the first form together.
func (r *reader) adk(d *document) {
	first := d.roots[0]
	var criteria *node
	if files, err := r.open(first, "test_config.json"); err == nil {
		if roots, _ := readNodes(files[0]); len(roots) > 0 {
			criteria = roots[0].get("criteria")
		}
	}
	if first.has("query") {
		r.adkRows(baseName(baseName(d.Name)), d.roots, criteria)
		return
	}
	for _, root := range d.roots {
		if rows := root.get("data").items(); len(rows) > 0 {
			r.adkRows(root.get("name").text(), rows, criteria)
			continue
		}
		cases := []*node{root}
		if list := root.get("eval_cases", "evalCases"); list != nil {
			cases = list.items()
		}
		for _, n := range cases {
			if n.get("conversation") == nil {
				r.refuse(n.errorf("case %q has no conversation: ADK plays the user in it (conversation_scenario), which a case cannot", n.get("eval_id", "evalId").text()))
				continue
			}
			r.adkCase(n, criteria)
		}
	}
}

// adkRows makes a case of rows of the first form: its turns.
func (r *reader) adkRows(name string, rows []*node, criteria *node) {
	c := r.newConversation("adk", name, rows[0])
	for _, row := range rows {
		t := invocation{user: row.get("query").text(), answer: row.get("reference").text(), place: row}
		for _, call := range row.get("expected_tool_use").items() {
			t.calls = append(t.calls, tape.Call{Name: call.get("tool_name").text(), Arguments: call.get("tool_input").text()})
		}
		c.invoke(t, criteria)
	}
	r.finish(c, rows[0])
}

// An invocation is a turn of an eval set.
type invocation struct {
	user, answer string
	calls        []tape.Call
	results      []tape.Part
	place        *node
}

// adkCase makes a case of one of an eval set. With the results of all calls it gets a tape.
func (r *reader) adkCase(n, criteria *node) {
	c := r.newConversation("adk", baseName(n.get("eval_id", "evalId").text()), n)
	c.provider, c.model = tape.Gemini, "imported"
	if state := n.get("session_input", "sessionInput").get("state"); len(state.items()) > 0 && len(state.keys) > 0 {
		c.lost(state, "session_input.state (%s)", strings.Join(state.keys, ", "))
	}
	var all []invocation
	taped := true
	conversation := n.get("conversation").items()
	for _, in := range conversation {
		t := readInvocation(in)
		taped = taped && t.answer != "" && len(t.results) == len(t.calls)
		all = append(all, t)
	}
	for i, t := range all {
		c.invoke(t, criteria)
		c.rubrics(append(slices.Clone(conversation[i].get("rubrics").items()), n.get("rubrics").items()...))
		if taped && len(t.calls) > 0 {
			c.say(tape.WireAnswer{Calls: t.calls}, t.results...)
		}
		if taped {
			c.say(tape.WireAnswer{Text: t.answer})
		}
	}
	r.finish(c, n)
}

func readInvocation(in *node) invocation {
	t := invocation{user: contentText(in.get("user_content", "userContent")), answer: contentText(in.get("final_response", "finalResponse")), place: in}
	data := in.get("intermediate_data", "intermediateData")
	calls, results := slices.Clone(data.get("tool_uses", "toolUses").items()), slices.Clone(data.get("tool_responses", "toolResponses").items())
	for _, event := range data.get("invocation_events", "invocationEvents").items() {
		for _, part := range event.get("content").get("parts").items() {
			if call := part.get("function_call", "functionCall"); call != nil {
				calls = append(calls, call)
			}
			if result := part.get("function_response", "functionResponse"); result != nil {
				results = append(results, result)
			}
		}
	}
	for _, call := range calls {
		args := "{}"
		if given := call.get("args"); given != nil {
			args = given.text()
		}
		t.calls = append(t.calls, tape.Call{ID: call.get("id").text(), Name: call.get("name").text(), Arguments: args})
	}
	for _, result := range results {
		t.results = append(t.results, tape.Part{ID: result.get("id").text(), Name: result.get("name").text(), Text: result.get("response").text()})
	}
	return t
}

// invoke adds a turn with its expectations. Without criteria ADK's own hold: exactly the calls, and an
// answer like the reference.
func (c *conversation) invoke(t invocation, criteria *node) {
	turn := conversationTurn{user: t.user}
	e := &turn.expect
	order, others, calls, like := true, false, criteria == nil, criteria == nil
	if criteria != nil {
		for _, name := range criteria.keys {
			criterion := criteria.fields[name]
			switch {
			case name == "tool_trajectory_avg_score":
				calls = true
				threshold := criterion.get("threshold")
				if criterion.fields == nil {
					threshold = criterion
				}
				if text := threshold.text(); text != "" && text != "1" && text != "1.0" {
					c.lost(criterion, "the threshold %s of %s: the calls of every turn have to match", text, name)
				}
				kind := criterion.get("match_type", "matchType").text()
				order, others = kind != "ANY_ORDER", kind == "IN_ORDER" || kind == "ANY_ORDER"
			case strings.Contains(name, "response_match"):
				like = true
			case strings.HasPrefix(name, "hallucinations"):
				expectGrounded(e)
			case strings.HasPrefix(name, "rubric_based"):
				defer func() { c.rubrics(criterion.get("rubrics").items()) }()
			default:
				c.lost(criterion, "criterion %s", name)
			}
		}
	}
	if calls {
		var items []eval.Call
		for _, call := range t.calls {
			items = append(items, eval.ObservedCall(call.Name, call.Arguments))
		}
		expectCalls(e, order, others, items...)
	}
	if like && t.answer != "" {
		if err := expect(e, "like", t.answer); err != nil {
			c.lost(t.place, "final_response: %v", err)
		}
	}
	c.turns = append(c.turns, turn)
}

// rubrics adds rubrics to the last turn.
func (c *conversation) rubrics(all []*node) {
	for _, rubric := range all {
		content := rubric.get("rubric_content", "rubricContent")
		if err := expect(&c.turns[len(c.turns)-1].expect, "judge", content.get("text_property", "textProperty").text()); err != nil {
			c.lost(rubric, "rubric %s: %v", rubric.get("rubric_id", "rubricId").text(), err)
		}
	}
}
