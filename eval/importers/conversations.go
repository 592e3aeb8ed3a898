package importers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/eval/tape"
)

// isConversation reports whether a value is a conversation: messages, a response or a completion that OpenAI's service
// stored, a log of a request with its response, or a session of docker-agent.
func isConversation(n *node) bool {
	return n.has("messages") && !isGeminiSession(n) || n.has("choices") || n.has("request", "response") ||
		n.get("object").text() == "response" || n.has("input", "output") && n.get("output").list != nil ||
		n.get("response").get("object").text() == "response"
}

// conversations makes a case of each conversation. Responses that continue each other are one.
func (r *reader) conversations(d *document) {
	for _, n := range d.roots {
		if id := responseID(n); id != "" && r.continued[id] {
			continue
		}
		c := r.newConversation("openai", cmp.Or(n.get("id").text(), responseID(n)), n)
		c.provider, c.model, c.note = tape.OpenAI, "imported", n.get("title").text()
		items, err := r.itemsOf(c, n, 0)
		if err == nil {
			err = c.read(items)
		}
		if err != nil {
			r.refuse(n.errorf("%w", err))
			continue
		}
		if last := len(c.turns) - 1; last >= 0 {
			c.turns[last].judged = n.get("evals").get("relevance").texts() // of docker-agent
		}
		r.finish(c, n)
	}
}

// responseID returns the id of a stored response, by which another one continues it.
func responseID(n *node) string {
	if inner := n.get("response"); inner != nil {
		n = inner
	}
	return n.get("id").text()
}

// previousID returns the id of the response that one continues.
func previousID(n *node) string {
	for _, in := range []*node{n, n.get("response"), n.get("request")} {
		if id := in.get("previous_response_id"); id != nil {
			return id.text()
		}
	}
	return ""
}

// itemsOf returns the messages and other items of a conversation in their order, and adds its tools and system text.
func (r *reader) itemsOf(c *conversation, n *node, depth int) (items []*node, err error) {
	id := previousID(n)
	if previous := r.responses[id]; previous != nil && id != "" && depth < maxDepth {
		if items, err = r.itemsOf(c, previous, depth+1); err != nil {
			return nil, err
		}
	} else if id != "" {
		c.lost(n, "response %s, which it continues: it is in none of the files", id)
	}
	request, response := n, n
	if n.has("request") {
		request = n.get("request")
	}
	if n.has("response") {
		response = n.get("response")
	}
	for _, part := range []*node{request, response} {
		if part.get("tools", "functions") != nil && len(c.tools) == 0 {
			if parsed, err := tape.ReadRequest([]byte(renewed(string(part.json())))); err == nil {
				c.tools = slices.DeleteFunc(parsed.Tools(), func(t tape.Tool) bool { return t.Name == "" })
			}
		}
		if text := contentText(part.get("instructions")); text != "" {
			c.system = text
		}
	}
	for _, m := range request.get("messages").items() {
		for m.has("message") { // as docker-agent nests it
			m = m.get("message")
		}
		items = append(items, m)
	}
	for _, part := range []*node{n, request, response} {
		if input := part.get("input_items", "input"); input != nil && !request.has("messages") {
			items = append(items, inputItems(input)...)
			break
		}
	}
	choices := response.get("choices").items()
	if len(items) == 0 && (len(choices) > 0 || response.has("output")) {
		return nil, errors.New(`a response without input: give its input items or its request beside it, {"response": …, "input_items": …} or {"request": …, "response": …}`)
	}
	if len(choices) > 1 {
		return nil, errors.New("several choices have no one truth: keep one")
	}
	for _, choice := range choices {
		items = append(items, choice.get("message"))
	}
	return append(items, response.get("output").items()...), nil
}

// inputItems returns the items of an input. A list that the service returned begins with the newest.
func inputItems(input *node) []*node {
	if input.fields == nil {
		return input.items()
	}
	items := slices.Clone(input.get("data").items())
	called := make(map[string]bool)
	for _, it := range items {
		id := it.get("call_id").text()
		if called[id] && it.has("output") {
			return items // the result follows the call
		}
		called[id] = id != ""
	}
	slices.Reverse(items)
	return items
}

// read takes over the items of a conversation.
func (c *conversation) read(items []*node) error {
	var said tape.WireAnswer // what the model said since the last message of another one
	flush := func() {
		if said.Text != "" || len(said.Calls) > 0 {
			c.say(said)
		}
		said = tape.WireAnswer{}
	}
	for i, n := range items {
		kind, role := n.get("type").text(), n.get("role").text()
		switch {
		case n != nil && n.fields == nil:
			role = "user"
		case kind == "function_call", kind == "custom_tool_call", kind == "mcp_call", kind == "" && role == "" && n.has("content"):
			role = "assistant"
		case kind == "function_call_output", kind == "custom_tool_call_output", role == "function":
			role = "tool"
		case kind == "reasoning", kind == "mcp_list_tools":
			continue
		case role == "":
			c.lost(n, "an item of type %q", kind)
			continue
		}
		switch role {
		case tape.KindSystem, "developer":
			c.system = strings.TrimSpace(c.system + "\n" + contentText(n))
		case "user":
			flush()
			c.user(contentText(n))
		case "assistant":
			if len(c.turns) == 0 {
				return fmt.Errorf("item %d: the assistant speaks before the user", i+1)
			}
			if kind == "" || kind == "message" {
				said.Text += contentText(n)
			}
			said.Calls = append(said.Calls, callsOf(n)...)
			if kind == "mcp_call" { // the service made the call, and it has the result
				flush()
				takeResults(c.lastCalls(), []tape.Part{{ID: n.get("id").text(), Text: n.get("output", "error").text()}})
			}
		case "tool":
			flush()
			result := tape.Part{ID: n.get("call_id", "tool_call_id").text(), Name: n.get("name").text(), Text: contentText(n.get("output", "content"))}
			if left := takeResults(c.lastCalls(), []tape.Part{result}); len(left) > 0 {
				return fmt.Errorf("item %d: no call has the id %q", i+1, left[0].ID)
			}
		default:
			return fmt.Errorf("item %d: role %q is not known", i+1, role)
		}
	}
	flush()
	if len(c.turns) == 0 {
		return errors.New("there is no user message")
	}
	return nil
}

// user begins a turn, unless the user goes on before an answer.
func (c *conversation) user(text string) {
	if last := len(c.turns) - 1; last >= 0 && len(c.turns[last].steps) == 0 {
		c.turns[last].user += "\n" + text
		return
	}
	c.turns = append(c.turns, conversationTurn{user: text})
}

// callsOf returns the calls of a message, or that of an item.
func callsOf(n *node) []tape.Call {
	var calls []tape.Call
	for _, call := range n.get("tool_calls").items() {
		f := call.get("function", "custom")
		calls = append(calls, tape.Call{ID: call.get("id").text(), Name: f.get("name").text(), Arguments: f.get("arguments", "input").text()})
	}
	if f := n.get("function_call"); f != nil {
		n = f
	} else if !strings.HasSuffix(n.get("type").text(), "_call") {
		return calls
	}
	return append(calls, tape.Call{ID: n.get("call_id", "id").text(), Name: n.get("name").text(), Arguments: n.get("arguments", "input").text()})
}

// isGeminiSession reports whether a value is a session of Gemini CLI, or the first line of one.
func isGeminiSession(n *node) bool { return n.has("sessionId") }

// geminiSession makes a case of a session of Gemini CLI: messages in one object, or one in each line.
// Later lines may take back or replace earlier ones.
func (r *reader) geminiSession(d *document) {
	var all []*node
	place := func(id *node) int {
		return slices.IndexFunc(all, func(n *node) bool { return n.get("id").text() == id.text() })
	}
	for _, root := range d.roots {
		if at := root.get("$rewindTo"); at != nil {
			if i := place(at); i >= 0 {
				all = all[:i]
			}
			continue
		}
		messages := root.get("messages").items()
		if root.has("type") {
			messages = []*node{root}
		}
		for _, m := range messages {
			if i := place(m.get("id")); m.has("id") && i >= 0 {
				all[i] = m
				continue
			}
			all = append(all, m)
		}
	}
	first := d.roots[0]
	c := r.newConversation("gemini-session", first.get("sessionId").text(), first)
	c.provider, c.model = tape.Gemini, "imported"
	for _, n := range all {
		text := contentText(n)
		switch {
		case n.get("type").text() == "user":
			c.user(text)
		case n.get("type").text() != "gemini", len(c.turns) == 0:
			continue // what the program said
		default:
			a := tape.WireAnswer{Text: text}
			results := []tape.Part{}
			for _, call := range n.get("toolCalls").items() {
				a.Calls = append(a.Calls, tape.Call{ID: call.get("id").text(), Name: call.get("name").text(), Arguments: call.get("args").text()})
				result := call.get("result")
				if f := lookup(result, "[0].functionResponse.response"); f != nil {
					result = f
				}
				results = append(results, tape.Part{ID: call.get("id").text(), Name: call.get("name").text(), Text: result.text()})
			}
			c.say(a, results...)
		}
	}
	r.finish(c, first)
}
