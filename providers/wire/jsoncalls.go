package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"molar/schemas"
)

// Calls as JSON:
//
//	value = call | "[" call { "," call } "]" | {"tool_calls": [ call … ]}
//	call  = {"name": text, "arguments": object} | {"function": call without more}
//
// A call may also have "id", "type" and "index", "parameters" for "arguments", which may be a
// string that holds the object, and Command R's "tool_name" and "tool_call_id".

// jsonCalls reads a value.
func jsonCalls(c *cursor) {
	if c.trim(blanks); !mayBeValue(c.text) {
		c.fail(wrong)
	}
	c.sure = c.sure || c.state == reading && c.text != ""
	raw := c.value()
	if c.state != reading {
		return
	}
	calls, ok := callsOf(raw)
	if !ok {
		c.fail(wrong)
		return
	}
	c.calls = append(c.calls, calls...)
}

// keyedCalls reads a list of objects whose only key is the name of a tool, with its arguments.
func keyedCalls(c *cursor) {
	if c.trim(blanks); c.text != "" && c.text[0] != '[' {
		c.fail(wrong)
	}
	var list []map[string]json.RawMessage
	if raw := c.value(); c.state != reading || json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		c.fail(wrong)
		return
	}
	for _, one := range list {
		if len(one) != 1 {
			c.fail(wrong)
		}
		for name, arguments := range one {
			c.call(name, arguments)
		}
	}
}

// callsOf parses a call, a list of calls, or an object that holds such a list.
func callsOf(raw json.RawMessage) ([]schemas.FunctionCall, bool) {
	if raw[0] == '{' {
		var keys map[string]json.RawMessage
		if json.Unmarshal(raw, &keys) != nil {
			return nil, false
		}
		list, listed := keys["tool_calls"]
		if !listed {
			call, ok := callOf(keys)
			return []schemas.FunctionCall{call}, ok
		}
		if len(keys) != 1 {
			return nil, false
		}
		raw = list
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 || len(list) > maxPrinted {
		return nil, false
	}
	calls := make([]schemas.FunctionCall, len(list))
	for i, keys := range list {
		var ok bool
		if calls[i], ok = callOf(keys); !ok {
			return nil, false
		}
	}
	return calls, true
}

// callOf parses the keys of a call.
func callOf(keys map[string]json.RawMessage) (call schemas.FunctionCall, ok bool) {
	for key := range keys {
		if !slices.Contains(callKeys(), key) {
			return call, false
		}
	}
	if inner, nested := keys["function"]; nested {
		_, named := keys["name"]
		_, given := keys["arguments"]
		_, meant := keys["parameters"]
		var function map[string]json.RawMessage
		if named || given || meant || json.Unmarshal(inner, &function) != nil || function["function"] != nil {
			return call, false
		}
		return callOf(function)
	}
	args, given := keys["arguments"]
	if other, meant := keys["parameters"]; meant && !given {
		args = other
	} else if meant {
		return call, false
	}
	name := keys["name"]
	if other, named := keys["tool_name"]; named && name == nil {
		name = other
	}
	if json.Unmarshal(name, &call.Name) != nil || call.Name == "" || len(args) == 0 {
		return call, false
	}
	call.Arguments = Arguments(args)
	return call, args[0] != 'n' && call.Arguments[0] == '{' && schemas.CheckJSON([]byte(call.Arguments)) == nil
}

// callKeys returns the keys that a printed call may have.
func callKeys() []string {
	return []string{"name", "arguments", "parameters", "function", "id", "type", "index", "tool_name", "tool_call_id"}
}

// mayBeValue checks up to the first key.
func mayBeValue(text string) bool {
	if text == "" {
		return true
	}
	if text[0] == '[' {
		text = strings.TrimLeft(text[1:], blanks)
		if text == "" {
			return true
		}
	}
	if text[0] != '{' {
		return false
	}
	key, begun := strings.CutPrefix(strings.TrimLeft(text[1:], blanks), `"`)
	if !begun {
		return key == ""
	}
	key, _, whole := strings.Cut(key, `"`)
	return slices.ContainsFunc(append(callKeys(), "tool_calls"), func(k string) bool {
		return k == key || !whole && strings.HasPrefix(k, key)
	})
}
