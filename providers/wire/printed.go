package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"molar/schemas"
)

// maxPrinted bounds the calls of one printed answer.
const maxPrinted = 32

// maxPrefix bounds how much of a beginning is examined, in bytes.
const maxPrefix = 256

// Models print calls as text when they miss their own format. An answer is parsed as calls only
// if the whole of it matches:
//
//	answer = part { part }
//	part   = value | "<tool_call>" values "</tool_call>" | fence values "```"
//	       | "[TOOL_CALLS]" values [ "[/TOOL_CALLS]" ]
//	fence  = "```" [ "json" | "tool_call" | "tool_calls" ] end of line
//	value  = call | "[" call { "," call } "]" | {"tool_calls": [ call … ]}
//	call   = {"name": text, "arguments": object} | {"function": call without more}
//
// with blanks between any two. A call may also have "id", "type" and "index", and "parameters"
// for "arguments", which may be a string that holds the object. No other text is allowed.

// A printedFrame is an allowed frame around values.
type printedFrame struct {
	open, close string
	// loose frames may end with the answer.
	loose bool
}

func frames() []printedFrame {
	return []printedFrame{
		{"<tool_call>", "</tool_call>", false},
		{"[TOOL_CALLS]", "[/TOOL_CALLS]", true},
		{"```json\n", "```", false},
		{"```tool_call\n", "```", false},
		{"```tool_calls\n", "```", false},
		{"```\n", "```", false},
	}
}

// ReadPrinted parses a whole answer as printed calls; it returns nil if any of it is something
// else.
func ReadPrinted(text string) []schemas.FunctionCall {
	rest := strings.Trim(strings.ReplaceAll(text, "\r\n", "\n"), blanks)
	var calls []schemas.FunctionCall
	for rest != "" && len(calls) <= maxPrinted {
		more, after, ok := readPart(rest)
		if !ok {
			return nil
		}
		calls = append(calls, more...)
		rest = strings.TrimLeft(after, blanks)
	}
	if len(calls) > maxPrinted {
		return nil
	}
	return calls
}

// readPart parses a value, or a frame with values in it.
func readPart(text string) (calls []schemas.FunctionCall, after string, ok bool) {
	for _, f := range frames() {
		if inner, framed := strings.CutPrefix(text, f.open); framed {
			return f.read(inner)
		}
	}
	return readValue(text)
}

func (f printedFrame) read(text string) (calls []schemas.FunctionCall, after string, ok bool) {
	for len(calls) <= maxPrinted {
		text = strings.TrimLeft(text, blanks)
		if after, closed := strings.CutPrefix(text, f.close); closed {
			return calls, after, len(calls) > 0
		}
		if text == "" && f.loose {
			return calls, "", len(calls) > 0
		}
		more, rest, ok := readValue(text)
		if !ok {
			return nil, "", false
		}
		calls, text = append(calls, more...), rest
	}
	return nil, "", false
}

// readValue parses one JSON value that is a call or a list of calls.
func readValue(text string) (calls []schemas.FunctionCall, after string, ok bool) {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil, "", false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if dec.Decode(&raw) != nil || schemas.CheckJSON(raw) != nil {
		return nil, "", false
	}
	if calls, ok = callsOf(raw); !ok {
		return nil, "", false
	}
	return calls, text[dec.InputOffset():], true
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
	if json.Unmarshal(keys["name"], &call.Name) != nil || call.Name == "" || len(args) == 0 {
		return call, false
	}
	call.Arguments = Arguments(args)
	return call, args[0] != 'n' && call.Arguments[0] == '{' && schemas.CheckJSON([]byte(call.Arguments)) == nil
}

// callKeys returns the keys that a printed call may have.
func callKeys() []string {
	return []string{"name", "arguments", "parameters", "function", "id", "type", "index"}
}

// mayBePrinted reports whether text, which has no leading white space, may be the beginning of a tool
// call that a model writes as text.
func mayBePrinted(text string) bool {
	text = strings.ReplaceAll(text[:min(len(text), maxPrefix)], "\r\n", "\n")
	text = strings.TrimSuffix(text, "\r")
	for _, f := range frames() {
		if strings.HasPrefix(f.open, text) {
			return true
		}
		if inner, framed := strings.CutPrefix(text, f.open); framed {
			return mayBeValue(strings.TrimLeft(inner, blanks))
		}
	}
	return mayBeValue(text)
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

// maxHeld bounds the text held back as a possible call, in bytes.
const maxHeld = 16 << 10

// Printed returns a reader of text in which calls to the tools of the set may be printed. It
// holds back a possible call, and blanks, which alone are no answer.
func Printed(set ToolSet) func() Reader {
	return func() Reader { return &printed{set: set} }
}

type printed struct {
	set  ToolSet
	held []byte
	open bool // text passes unheld
}

// Take reads a piece and returns the text to show now.
func (r *printed) Take(piece string) (string, error) {
	if r.open || piece == "" {
		return piece, nil
	}
	r.held = append(r.held, piece...)
	start := bytes.TrimLeft(r.held, blanks)
	undecided := len(start) == 0 || len(r.set) > 0 && mayBePrinted(string(start[:min(len(start), maxPrefix)]))
	if undecided && len(r.held) <= maxHeld {
		return "", nil
	}
	return r.Rest(), nil
}

// End parses the text as calls only if each is to an offered tool.
func (r *printed) End(bool) ([]schemas.FunctionCall, error) {
	if r.open || len(r.set) == 0 {
		return nil, nil
	}
	calls := ReadPrinted(string(r.held))
	for _, call := range calls {
		if t := r.set.Resolve(call.Name); t == nil || !t.fits(call.Arguments) {
			return nil, nil
		}
	}
	return calls, nil
}

// Rest returns the held text and stops looking for calls.
func (r *printed) Rest() string {
	text := string(r.held)
	r.held, r.open = nil, true
	if strings.Trim(text, blanks) == "" {
		return ""
	}
	return text
}
