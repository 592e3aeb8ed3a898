package drift

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

// A Canon gives requests of all wires one form in which they are compared. What
// changes with every run is taken out by a fixed list: fence marks and ids of calls.
type Canon struct {
	fence *regexp.Regexp
	mark  *regexp.Regexp
	judge *regexp.Regexp
}

// NewCanon returns a canon.
func NewCanon() *Canon {
	return &Canon{
		fence: regexp.MustCompile(`(?s)<data(?:-[0-9a-f]{16})? source="(?:[^"\\]|\\.)*">\n.*?\n</data(?:-[0-9a-f]{16})?>`),
		mark:  regexp.MustCompile(`data-[0-9a-f]{16}`),
		judge: regexp.MustCompile(`<<[A-Z2-7]{12}\b|\b[A-Z2-7]{12}>>`),
	}
}

// A part is a piece of what the model reads.
type part struct {
	kind string // system | text | call.name | call.args | result | signature
	at   string // where it stands, for people
	text string
}

// A tool is one offered function.
type tool struct{ name, description, schema string }

// A Request is a model request in canonical form.
type Request struct {
	parts  []part // in order; the system text first
	tools  []tool
	config string
}

// Key is equal for requests that ask the same.
func (r *Request) Key() string {
	return fmt.Sprintf("%q %q %q", r.parts, r.tools, r.config)
}

// Sha is the first twelve digits of the SHA-256 of a text.
func Sha(s string) string {
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
	// kindSignature is what a service wants back unchanged.
	kindSignature = "signature"
)

// Read reads the body of any wire that Molar speaks.
func (c *Canon) Read(body []byte) *Request {
	v, err := match.Decode(body)
	object, ok := v.(map[string]any)
	r := &Request{}
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
	for _, key := range []string{"tools", "user", "session_id"} {
		delete(rest, key)
	}
	if options, ok := rest["options"].(map[string]any); ok {
		// The window follows what the server has loaded at the moment.
		options = maps.Clone(options)
		delete(options, "num_ctx")
		rest["options"] = options
	}
	r.config = c.mask(match.Canonical(rest))
	return r
}

// message takes one message of a history apart.
func (c *Canon) message(r *Request, at string, v any) {
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
func (c *Canon) part(r *Request, at string, v any) {
	p, _ := v.(map[string]any)
	for _, key := range []string{"thoughtSignature", "thought_signature", "state"} {
		if signature, there := p[key]; there {
			r.parts = append(r.parts, part{kind: kindSignature, at: at + "." + key, text: match.Canonical(signature)})
		}
	}
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
	for _, key := range []string{"thoughtSignature", "thought_signature", "state"} {
		delete(rest, key)
	}
	c.add(r, kindText, at, match.Canonical(rest))
}

// call takes {name, arguments} or {name, args} apart.
func (c *Canon) call(r *Request, at string, v any) {
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
func (c *Canon) texts(r *Request, kind, at string, v any) {
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
func (c *Canon) add(r *Request, kind, at, text string) {
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
func (c *Canon) mask(text string) string {
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
func (c *Canon) tool(r *Request, v any) {
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

func (c *Canon) function(r *Request, v any) {
	f, _ := v.(map[string]any)
	name, _ := f["name"].(string)
	description, _ := f["description"].(string)
	rest := maps.Clone(f)
	delete(rest, "name")
	delete(rest, "description")
	r.tools = append(r.tools, tool{name: name, description: c.mask(description), schema: match.Canonical(rest)})
	slices.SortStableFunc(r.tools, func(a, b tool) int { return strings.Compare(a.name, b.name) })
}

// Params is what an MCP request is found by: its params without what changes
// from run to run.
func Params(params json.RawMessage) string {
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
