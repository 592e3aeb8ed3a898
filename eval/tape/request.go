package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"molar/eval/match"
	"molar/schemas"
)

// The kinds of [Part].
const (
	KindRole    = "role" // begins a message
	KindSystem  = "system"
	KindText    = "text"
	KindThought = "thought"
	KindCall    = "call"
	KindResult  = "result"
	// KindOther are the members of a message that are none of these.
	KindOther = "other"
	// KindSignature is a thought signature, which a service requires back unchanged.
	KindSignature = "signature"
)

// A Part is a piece of a model's input or output.
type Part struct {
	Kind, At string // At is the place, for messages
	// Text is the text, the role, the arguments of a call, or the result of one.
	Text string
	// ID and Name are those of a call, if the wire has them.
	ID, Name string
}

// A WireRequest is the parsed body of a request of any wire.
type WireRequest struct {
	Model string
	Parts []Part // in order; the system text first
	// Functions are the offered functions, in the form of the wire.
	Functions []object
	// Rest is everything else: the model and its settings.
	Rest object
}

// ReadRequest parses the body of a request.
func ReadRequest(body []byte) (*WireRequest, error) {
	v, err := match.Decode(body)
	if err != nil {
		return nil, err
	}
	rest, ok := v.(object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	r := &WireRequest{Rest: rest}
	r.Model, _ = rest["model"].(string)
	var parts wireReader
	for _, key := range []string{"system", "systemInstruction", "system_instruction", "instructions"} {
		parts.texts(KindSystem, key, rest[key])
		delete(rest, key)
	}
	for _, key := range []string{"messages", "contents"} {
		if list, there := rest[key].([]any); there {
			for i, m := range list {
				parts.message(fmt.Sprintf("%s[%d]", key, i), m)
			}
			delete(rest, key)
		}
	}
	switch input := rest["input"].(type) {
	case string:
		parts.responsesItem("input", object{"role": "user", "content": input})
		delete(rest, "input")
	case []any:
		for i, it := range input {
			parts.responsesItem(fmt.Sprintf("input[%d]", i), it)
		}
		delete(rest, "input")
	}
	tools, _ := rest["tools"].([]any)
	delete(rest, "tools")
	for _, t := range tools {
		r.offer(t)
	}
	r.Parts = parts
	return r, nil
}

// offer adds functions in the form of OpenAI and Ollama, of Gemini, or of offline providers.
func (r *WireRequest) offer(v any) {
	t, _ := v.(object)
	if list, there := t["functionDeclarations"].([]any); there {
		for _, f := range list {
			r.offer(f)
		}
		return
	}
	if f, there := t["function"].(object); there {
		outer := t
		t = maps.Clone(f)
		for key, value := range outer {
			if _, inner := f[key]; !inner && key != "function" {
				t[key] = value
			}
		}
	}
	r.Functions = append(r.Functions, t)
}

// A wireReader collects the parts of messages.
type wireReader []Part

// text adds a part unless its text is empty.
func (r *wireReader) text(kind, at, text string) {
	if text != "" {
		*r = append(*r, Part{Kind: kind, At: at, Text: text})
	}
}

// texts adds a text, or the texts in a list or object.
func (r *wireReader) texts(kind, at string, v any) {
	switch v := v.(type) {
	case nil:
	case string:
		r.text(kind, at, v)
	case []any:
		for _, item := range v {
			r.texts(kind, at, item)
		}
	case object:
		if text, ok := v["text"].(string); ok {
			r.text(kind, at, text)
		} else if parts, ok := v["parts"]; ok {
			r.texts(kind, at, parts)
		} else {
			r.text(kind, at, match.Canonical(v))
		}
	default:
		r.text(kind, at, match.Canonical(v))
	}
}

// message adds the parts of a message of any wire.
func (r *wireReader) message(at string, v any) {
	m, ok := v.(object)
	if !ok {
		r.text(KindText, at, match.Canonical(v))
		return
	}
	role, _ := m["role"].(string)
	content := m["content"]
	switch {
	case role == "system" || role == "developer":
		r.texts(KindSystem, at, content)
		return
	case m["parts"] == nil && (role == "tool" || role == "function"):
		p := Part{Kind: KindResult, At: at}
		p.ID, _ = m["tool_call_id"].(string)
		if p.Name, _ = m["tool_name"].(string); p.Name == "" {
			p.Name, _ = m["name"].(string)
		}
		var texts wireReader
		texts.texts(KindResult, at, content)
		for _, text := range texts {
			p.Text += text.Text
		}
		*r = append(*r, p)
		return
	}
	*r = append(*r, Part{Kind: KindRole, At: at, Text: role})
	r.blocks(at, content)
	r.texts(KindThought, at, m["thinking"])
	if images, there := m["images"]; there {
		r.text(KindText, at, match.Canonical(images))
	}
	parts, _ := m["parts"].([]any)
	for i, p := range parts {
		r.part(fmt.Sprintf("%s.parts[%d]", at, i), p)
	}
	calls, _ := m["tool_calls"].([]any)
	for i, call := range calls {
		c, _ := call.(object)
		r.call(fmt.Sprintf("%s.tool_calls[%d]", at, i), c["id"], c["function"])
		r.other(at, c, "id", "function")
	}
	r.other(at, m, "role", "content", "thinking", "images", "parts", "tool_calls")
}

// other adds the members that are not known.
func (r *wireReader) other(at string, m object, known ...string) {
	rest := maps.Clone(m)
	for _, key := range known {
		delete(rest, key)
	}
	if len(rest) > 0 {
		r.text(KindOther, at, match.Canonical(rest))
	}
}

// blocks adds the content of a message: a text, or a list of texts, files, and Anthropic's blocks.
func (r *wireReader) blocks(at string, content any) {
	list, ok := content.([]any)
	if !ok {
		r.texts(KindText, at, content)
		return
	}
	for i, item := range list {
		r.block(fmt.Sprintf("%s.content[%d]", at, i), item)
	}
}

// block adds a block of a message, or of an answer.
func (r *wireReader) block(at string, v any) {
	b, _ := v.(object)
	kind, _ := b["type"].(string)
	switch kind {
	case "tool_use":
		r.call(at, b["id"], object{"name": b["name"], "arguments": b["input"]})
	case "tool_result":
		p := Part{Kind: KindResult, At: at}
		p.ID, _ = b["tool_use_id"].(string)
		var texts wireReader
		texts.texts(KindResult, at, b["content"])
		for _, text := range texts {
			p.Text += text.Text
		}
		*r = append(*r, p)
	case "thinking":
		thinking, _ := b["thinking"].(string)
		signature, _ := b["signature"].(string)
		r.text(KindThought, at, thinking)
		r.text(KindSignature, at, signature)
	case "redacted_thinking":
		data, _ := b["data"].(string)
		r.text(KindSignature, at, data)
	default:
		if _, marked := b["cache_control"]; marked {
			v = maps.Clone(b)
			delete(v.(object), "cache_control")
		}
		r.texts(KindText, at, v)
	}
}

// part adds a part of a Gemini content, or of a message of an offline provider.
func (r *wireReader) part(at string, v any) {
	p, _ := v.(object)
	rest := maps.Clone(p)
	for _, key := range []string{"thoughtSignature", "thought_signature", "state"} {
		if signature, there := p[key]; there {
			r.text(KindSignature, at+"."+key, match.Canonical(signature))
			delete(rest, key)
		}
	}
	text, isText := p["text"].(string)
	call, isCall := p["functionCall"].(object)
	result, isResult := p["functionResponse"].(object)
	kind, _ := p["kind"].(string)
	switch {
	case isCall:
		r.call(at, call["id"], call)
	case isResult:
		id, _ := result["id"].(string)
		name, _ := result["name"].(string)
		*r = append(*r, Part{Kind: KindResult, At: at, ID: id, Name: name, Text: match.Canonical(result["response"])})
	case kind == "call":
		call, _ := p["call"].(object)
		r.call(at, call["id"], call["function"])
	case kind == "result":
		result, _ := p["result"].(object)
		id, _ := result["id"].(string)
		text, _ := p["text"].(string)
		*r = append(*r, Part{Kind: KindResult, At: at, ID: id, Text: text})
	case p["thought"] == true:
		r.text(KindThought, at, text)
	case isText:
		r.text(KindText, at, text)
	default:
		r.text(KindText, at, match.Canonical(rest))
	}
}

// call adds a call of the form {name, arguments} or {name, args}, with arguments as text or an
// object.
func (r *wireReader) call(at string, id, function any) {
	f, _ := function.(object)
	p := Part{Kind: KindCall, At: at}
	p.ID, _ = id.(string)
	p.Name, _ = f["name"].(string)
	args := f["arguments"]
	if args == nil {
		args = f["args"]
	}
	var isText bool
	if p.Text, isText = args.(string); !isText {
		p.Text = match.Canonical(args)
	}
	*r = append(*r, p)
	r.other(at, f, "id", "name", "arguments", "args")
}

// A Message is one message of a request.
type Message struct {
	Role, Text string
	Calls      []Call
	Results    []Part
}

// Messages returns the messages of the conversation. The system text is a separate message, and
// results without a message of their own are in one of role tool.
func (r *WireRequest) Messages() []Message {
	var all []Message
	in := func(role string) *Message {
		if n := len(all); n == 0 || role != "" && all[n-1].Role != role {
			all = append(all, Message{Role: role})
		}
		return &all[len(all)-1]
	}
	for _, p := range r.Parts {
		switch p.Kind {
		case KindRole:
			all = append(all, Message{Role: p.Text})
		case KindSystem:
			m := in(KindSystem)
			m.Text = strings.TrimSpace(m.Text + "\n" + p.Text)
		case KindText:
			m := in("")
			m.Text = strings.TrimSpace(m.Text + "\n" + p.Text)
		case KindCall:
			m := in("")
			m.Calls = append(m.Calls, Call{p.ID, p.Name, p.Text})
		case KindResult:
			m := in("")
			if m.Role != "user" || m.Text != "" {
				m = in("tool")
			}
			m.Results = append(m.Results, p)
		}
	}
	return all
}

// A Tool is the definition of a tool, in MCP's form.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations,omitzero"`
}

// Annotations are the hints and the title that a server gives its tool.
type Annotations struct {
	Title string `json:"title,omitempty"`
	schemas.ToolAnnotations
}

// listed parses the result of a tools/list. It returns nil if the result is malformed.
func listed(result json.RawMessage) []Tool {
	var list struct {
		Tools []Tool `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return nil
	}
	return list.Tools
}

// Tools returns the offered functions in MCP's form.
func (r *WireRequest) Tools() []Tool {
	var all []Tool
	for _, f := range r.Functions {
		t := Tool{InputSchema: json.RawMessage(`{"type":"object"}`)}
		t.Name, _ = f["name"].(string)
		t.Description, _ = f["description"].(string)
		for _, key := range []string{"parametersJsonSchema", "parameters", "inputSchema", "input_schema"} {
			if schema, there := f[key].(object); there {
				if key == "parameters" {
					lowerTypes(schema, false)
				}
				t.InputSchema = encode(schema)
				break
			}
		}
		all = append(all, t)
	}
	return all
}

// lowerTypes converts Gemini's types to those of JSON Schema, such as OBJECT to object. If names
// is set, the keys of v are names of properties.
func lowerTypes(v any, names bool) {
	switch v := v.(type) {
	case object:
		for key, value := range v {
			if text, ok := value.(string); ok && key == "type" && !names {
				v[key] = strings.ToLower(text)
			}
			lowerTypes(value, key == "properties" && !names)
		}
	case []any:
		for _, item := range v {
			lowerTypes(item, false)
		}
	}
}
