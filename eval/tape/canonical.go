package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"molar/eval/match"
)

// canon gives requests of all wires one form in which they are compared. What
// changes with every run is taken out by a fixed list: fence marks, ids of calls,
// thought signatures, and switches of the transport.
type canon struct {
	fence *regexp.Regexp
	mark  *regexp.Regexp
	judge *regexp.Regexp
}

func newCanon() *canon {
	return &canon{
		fence: regexp.MustCompile(`(?s)<data-([0-9a-f]{16}) source=("(?:[^"\\]|\\.)*")>\n(.*?)\n</data-[0-9a-f]{16}>`),
		mark:  regexp.MustCompile(`data-[0-9a-f]{16}`),
		judge: regexp.MustCompile(`<<[A-Z2-7]{12}\b|\b[A-Z2-7]{12}>>`),
	}
}

// A part is a piece of what the model reads.
type part struct {
	kind string // system | text | call.name | call.args | result
	at   string // where it stands, for people
	text string
}

// A tool is one offered function.
type tool struct{ name, description, schema string }

// A request is a model request in canonical form.
type request struct {
	parts  []part // in order; the system text first
	tools  []tool
	config string
}

// keys are the hashes of the request's components.
func (r *request) keys() Keys {
	var system, messages, tools strings.Builder
	for _, p := range r.parts {
		to := &messages
		if p.kind == kindSystem {
			to = &system
		}
		fmt.Fprintf(to, "%s %q\n", p.kind, p.text)
	}
	for _, t := range r.tools {
		fmt.Fprintf(&tools, "%q %q %q\n", t.name, t.description, t.schema)
	}
	return Keys{System: sha(system.String()), Messages: sha(messages.String()), Tools: sha(tools.String()), Config: sha(r.config)}
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// The kinds of part.
const (
	kindSystem   = "system"
	kindText     = "text"
	kindCallName = "call.name"
	kindCallArgs = "call.args"
	kindResult   = "result"
)

// request reads the body of any wire that Molar speaks.
func (c *canon) request(body []byte) *request {
	v, err := match.Decode(body)
	object, ok := v.(map[string]any)
	r := &request{}
	if err != nil || !ok {
		r.parts = []part{{kind: kindText, at: "body", text: string(body)}}
		return r
	}
	rest := maps.Clone(object)
	for _, key := range []string{"system", "systemInstruction", "system_instruction"} {
		if value, there := rest[key]; there {
			c.texts(r, kindSystem, key, value)
			delete(rest, key)
		}
	}
	for _, key := range []string{"messages", "contents"} {
		if list, there := rest[key].([]any); there {
			for i, m := range list {
				c.message(r, fmt.Sprintf("%s[%d]", key, i), m)
			}
			delete(rest, key)
		}
	}
	if list, there := rest["tools"].([]any); there {
		for _, t := range list {
			c.tool(r, t)
		}
	}
	for _, key := range []string{"tools", "stream", "stream_options", "user", "session_id"} {
		delete(rest, key)
	}
	r.config = c.mask(match.Canonical(rest))
	return r
}

// message takes one message of a history apart.
func (c *canon) message(r *request, at string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.add(r, kindText, at, match.Canonical(v))
		return
	}
	role, _ := m["role"].(string)
	switch role {
	case "system", "developer":
		c.texts(r, kindSystem, at, m["content"])
		return
	case "tool", "function":
		if content, there := m["content"]; there {
			c.texts(r, kindResult, at, content)
			return
		}
	}
	r.parts = append(r.parts, part{kind: kindText, at: at, text: "role " + role})
	c.texts(r, kindText, at, m["content"])
	c.texts(r, kindText, at, m["thinking"])
	if images, there := m["images"]; there {
		c.add(r, kindText, at, match.Canonical(images))
	}
	if parts, there := m["parts"].([]any); there {
		for i, p := range parts {
			c.part(r, fmt.Sprintf("%s.parts[%d]", at, i), p)
		}
	}
	if calls, there := m["tool_calls"].([]any); there {
		for i, call := range calls {
			object, _ := call.(map[string]any)
			c.call(r, fmt.Sprintf("%s.tool_calls[%d]", at, i), object["function"])
		}
	}
}

// part takes one part of a Gemini content, or of a canonical message, apart.
func (c *canon) part(r *request, at string, v any) {
	p, _ := v.(map[string]any)
	if call, there := p["functionCall"]; there {
		c.call(r, at, call)
		return
	}
	if result, there := p["functionResponse"].(map[string]any); there {
		c.add(r, kindResult, at, match.Canonical(map[string]any{"name": result["name"], "response": result["response"]}))
		return
	}
	switch kind, _ := p["kind"].(string); kind {
	case "call":
		call, _ := p["call"].(map[string]any)
		c.call(r, at, call["function"])
		return
	case "result":
		c.texts(r, kindResult, at, p["text"])
		return
	}
	if text, there := p["text"].(string); there {
		c.add(r, kindText, at, text)
		return
	}
	rest := maps.Clone(p)
	delete(rest, "thoughtSignature")
	delete(rest, "state")
	c.add(r, kindText, at, match.Canonical(rest))
}

// call takes {name, arguments} or {name, args} apart.
func (c *canon) call(r *request, at string, v any) {
	f, _ := v.(map[string]any)
	name, _ := f["name"].(string)
	r.parts = append(r.parts, part{kind: kindCallName, at: at, text: name})
	args := f["arguments"]
	if args == nil {
		args = f["args"]
	}
	text, isText := args.(string)
	if isText {
		text = match.CanonicalJSON([]byte(text))
	} else {
		text = match.Canonical(args)
	}
	r.parts = append(r.parts, part{kind: kindCallArgs, at: at, text: c.mask(text)})
}

// texts adds a text, or the texts of a list of parts.
func (c *canon) texts(r *request, kind, at string, v any) {
	switch v := v.(type) {
	case nil:
	case string:
		c.add(r, kind, at, v)
	case []any:
		for _, item := range v {
			c.texts(r, kind, at, item)
		}
	case map[string]any:
		if text, ok := v["text"].(string); ok {
			c.add(r, kind, at, text)
			return
		}
		if parts, ok := v["parts"]; ok {
			c.texts(r, kind, at, parts)
			return
		}
		c.add(r, kind, at, match.Canonical(v))
	default:
		c.add(r, kind, at, match.Canonical(v))
	}
}

// add appends a text. What stands in fences is a result wherever it is found.
func (c *canon) add(r *request, kind, at, text string) {
	if text == "" {
		return
	}
	if kind == kindResult || kind == kindSystem {
		r.parts = append(r.parts, part{kind: kind, at: at, text: c.mask(text)})
		return
	}
	last := 0
	for _, m := range c.fence.FindAllStringIndex(text, -1) {
		if m[0] > last {
			r.parts = append(r.parts, part{kind: kind, at: at, text: c.mask(text[last:m[0]])})
		}
		r.parts = append(r.parts, part{kind: kindResult, at: at, text: c.mask(text[m[0]:m[1]])})
		last = m[1]
	}
	if last < len(text) {
		r.parts = append(r.parts, part{kind: kind, at: at, text: c.mask(text[last:])})
	}
}

// mask takes the fence marks out: those of data, and those of the guardrail's question.
func (c *canon) mask(text string) string {
	text = c.mark.ReplaceAllString(text, "data-MARK")
	if !strings.Contains(text, "<<") && !strings.Contains(text, ">>") {
		return text
	}
	return c.judge.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "<<") {
			return "<<MARK"
		}
		return "MARK>>"
	})
}

// tool adds an offered function: OpenAI's and Ollama's form, Gemini's, or ours.
func (c *canon) tool(r *request, v any) {
	t, _ := v.(map[string]any)
	if list, there := t["functionDeclarations"].([]any); there {
		for _, f := range list {
			c.function(r, f)
		}
		return
	}
	if f, there := t["function"]; there {
		c.function(r, f)
		return
	}
	c.function(r, v)
}

func (c *canon) function(r *request, v any) {
	f, _ := v.(map[string]any)
	name, _ := f["name"].(string)
	description, _ := f["description"].(string)
	rest := maps.Clone(f)
	delete(rest, "name")
	delete(rest, "description")
	r.tools = append(r.tools, tool{name: name, description: c.mask(description), schema: match.Canonical(rest)})
	slices.SortStableFunc(r.tools, func(a, b tool) int { return strings.Compare(a.name, b.name) })
}

// canonicalParams is what an MCP request is found by: its params without what changes
// from run to run.
func canonicalParams(params json.RawMessage) string {
	v, err := match.Decode(params)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return string(params)
	}
	for _, key := range []string{"_meta", "clientInfo", "capabilities", "protocolVersion"} {
		delete(object, key)
	}
	if args, there := object["arguments"]; there && args == nil {
		object["arguments"] = map[string]any{}
	}
	return match.Canonical(object)
}
