package wire

import (
	"encoding/json"
	"strings"
)

// tags are the marks of calls that look like XML. Names are attributes, values plain text:
//
//	<function=NAME> { <parameter=NAME>VALUE</parameter> } </function>
//	<invoke name="NAME"> { <parameter name="NAME">VALUE</parameter> } </invoke>
//
// Instead of parameters there may be a JSON object. The end of a parameter may be missing.
type tags struct{ open, shut, param, paramShut string }

func (t tags) read(c *cursor) {
	c.trim(blanks)
	c.must(t.open)
	c.name, _ = t.attribute(c)
	c.sure = false
	tool := c.set.Resolve(c.name)
	var args object
	for c.trim(blanks); c.state == reading && !c.next(t.shut); c.trim(blanks) {
		switch {
		case len(args.keys) == 0 && strings.HasPrefix(c.text, "{"):
			c.sure = true
			raw := c.value()
			c.trim(blanks)
			c.must(t.shut)
			c.call(c.name, raw)
			return
		case c.next(t.param):
			c.sure = true
			name, more := t.attribute(c)
			value := c.content(t.paramShut, t.param, t.shut)
			if strings.Contains(more, `string="true"`) { // DeepSeek says which values are no text
				args.add(name, quote(value))
			} else {
				args.add(name, tool.convert(name, value))
			}
		default:
			c.fail(wrong)
		}
	}
	c.call(c.name, args.json())
}

// attribute takes the rest of an opening tag: a value, which may be quoted, and what follows it.
func (t tags) attribute(c *cursor) (value, more string) {
	inside, _, _ := strings.Cut(c.text, ">")
	isQuoted := strings.HasPrefix(inside, `"`) || strings.HasPrefix(inside, "'")
	if strings.ContainsAny(inside, "<\n") || !isQuoted && strings.Contains(inside, " ") {
		c.fail(wrong)
	}
	text, _ := c.until(">")
	value = strings.TrimSpace(text)
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value, more, _ = strings.Cut(value[1:], value[:1])
	}
	if value == "" {
		c.fail(wrong)
	}
	return value, more
}

// content takes a value up to its end mark, which may be missing before the others. A line end at
// its beginning and its end belongs to the marks.
func (c *cursor) content(end string, others ...string) string {
	text := c.text
	value, mark := c.until(append([]string{end}, others...)...)
	if mark != end && c.state == reading {
		c.text = text[len(value):]
	}
	value = strings.TrimPrefix(strings.TrimPrefix(value, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
}

// pairs are calls with the names and values of arguments in turn, before the end of the frame:
//
//	NAME { <arg_key>NAME</arg_key> <arg_value>VALUE</arg_value> }
type pairs struct{ prefix, end string }

func (p pairs) read(c *cursor) {
	shut := "</" + p.prefix[1:]
	c.trim(blanks)
	tool := c.set.Resolve(c.word())
	var args object
	for c.trim(blanks); c.next(p.prefix + "arg_key>"); c.trim(blanks) {
		c.sure = true
		name, _ := c.until(shut + "arg_key>")
		c.trim(blanks)
		c.must(p.prefix + "arg_value>")
		value := c.content(shut+"arg_value>", p.prefix+"arg_key>", p.end)
		args.add(strings.TrimSpace(name), tool.convert(strings.TrimSpace(name), value))
	}
	end := *c
	if end.must(p.end); end.state != reading {
		c.fail(end.state)
	}
	c.call(c.name, args.json())
}

// An object is a JSON object in the making. Of a key that comes again the last value counts.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

func (o *object) add(key string, value json.RawMessage) {
	if o.values == nil {
		o.values = map[string]json.RawMessage{}
	}
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) json() []byte {
	out := []byte{'{'}
	for i, key := range o.keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(key)...), ':'), o.values[key]...)
	}
	return append(out, '}')
}

// convert returns the JSON of a value that was written as text, by the type of the argument. A
// text that is of none of its types stays one: the check of the arguments reports it.
func (t *Tool) convert(name, text string) json.RawMessage {
	var param parameter
	if t != nil {
		var sig signature
		_ = json.Unmarshal(t.Params, &sig) // without it, every type is allowed
		param = sig.Properties[name]
	}
	if text == "null" && param.typed() && param.takes(json.RawMessage(text)) {
		return json.RawMessage(text)
	}
	if param.takes(quote("")) && param.typed() && len(param.Enum) == 0 || len(param.Enum) > 0 && param.takes(quote(text)) {
		return quote(text)
	}
	trimmed := strings.TrimSpace(text)
	literal := cursor{text: trimmed, last: true}
	raw := json.RawMessage(trimmed)
	if !json.Valid(raw) {
		if raw = literal.literal(0); literal.state != reading || literal.text != "" {
			return quote(text)
		}
	}
	if !param.takes(raw) {
		return quote(text)
	}
	return raw
}

// typed reports whether the schema names types.
func (p parameter) typed() bool { return p.Type != nil || len(p.AnyOf) > 0 }

// quote returns a text as JSON.
func quote(text string) json.RawMessage {
	data, _ := json.Marshal(text)
	return data
}
