package importers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"molar/eval"
	"molar/eval/match"
	"molar/eval/tape"
	"molar/schemas"
)

// Server is the name under which imported tools are attached.
const Server = "imported"

// An Imported is a case with its tape.
type Imported struct {
	Case eval.Case
	Tape []byte
	// Notes say what could not be carried over.
	Notes []string
}

// A convo is a conversation of another program, taken apart.
type convo struct {
	id, source, provider, model string
	tags                        []string
	system                      string
	tools                       []tape.ToolDef
	turns                       []convoTurn
	notes                       []string
}

type convoTurn struct {
	user  string
	steps []convoStep
}

// A convoStep is one answer of the model: what was sent, what it said and called, and
// what the calls gave.
type convoStep struct {
	method, path string
	request      json.RawMessage
	chunks       [][]byte
	contentType  string
	text         string
	calls        []convoCall
}

type convoCall struct {
	id, name  string
	arguments string
	output    json.RawMessage // nil when the recording ends before
	isError   bool
}

// build writes the case and the tape.
func (c *convo) build() (Imported, error) {
	var b bytes.Buffer
	w := tape.NewBuilder(&b, tape.Header{
		TapeID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.source+c.id)).String(), Case: c.id, Host: "import",
		Provider: c.provider, Model: c.model, Small: c.model, Imported: c.source,
	})
	w.Server(Server, c.completeTools())
	out := eval.Case{V: eval.CaseVersion, ID: c.id, Tags: c.tags, Source: c.source}
	if c.system != "" {
		out.Input = &eval.Input{System: c.system}
	}
	for _, t := range c.turns {
		w.User(t.user)
		turn := eval.Turn{User: t.user}
		answer := ""
		var items []eval.Call
		for _, step := range t.steps {
			w.Exchange("", step.method, step.path, step.request, 200, step.contentType, step.chunks...)
			for slot, call := range step.calls {
				items = append(items, expectedCall(call))
				output := call.output
				if output == nil {
					output = json.RawMessage(`"(the recording ends before the result)"`)
				}
				id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.id+call.id+call.name)).String()
				w.Call(slot+1, Server, call.name, schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: call.name, Arguments: call.arguments}}, output, call.isError)
			}
			answer = step.text
		}
		if n := len(t.steps); n == 0 || len(t.steps[n-1].calls) > 0 {
			c.notes = append(c.notes, fmt.Sprintf("turn %d: the recording ends before the answer; one that says so was added", len(out.Turns)+1))
			end := c.ending()
			w.Exchange("", end.method, end.path, nil, 200, end.contentType, end.chunks...)
			answer = ""
		}
		w.Answer(answer)
		if len(items) > 0 {
			turn.Expect.Calls = &eval.Calls{Mode: string(match.ModeExact), Items: items}
		} else {
			turn.Expect.NoCall = true
		}
		if line := firstLine(answer); line != "" {
			turn.Expect.Answer = &eval.Answer{All: []eval.Check{{Contains: line}}}
		}
		out.Turns = append(out.Turns, turn)
	}
	return Imported{Case: out, Tape: b.Bytes(), Notes: c.notes}, w.Err()
}

// ending is an answer that says that there is no more.
func (c *convo) ending() convoStep {
	const text = "(The recording ends here.)"
	switch c.provider {
	case "gemini":
		return convoStep{method: "POST", contentType: "text/event-stream", chunks: [][]byte{event(json.RawMessage(
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"` + text + `"}]},"finishReason":"STOP"}]}`))}}
	case "ollama":
		return convoStep{method: "POST", contentType: "application/x-ndjson", chunks: [][]byte{[]byte(
			`{"message":{"role":"assistant","content":"` + text + `"},"done":true,"done_reason":"stop"}` + "\n")}}
	}
	return assistantStep(openAIMessage{}, text)
}

// completeTools adds tools that were called and never described.
func (c *convo) completeTools() []tape.ToolDef {
	known := make(map[string]bool)
	for _, t := range c.tools {
		known[t.Name] = true
	}
	all := c.tools
	for _, t := range c.turns {
		for _, s := range t.steps {
			for _, call := range s.calls {
				if !known[call.name] {
					known[call.name] = true
					all = append(all, tape.ToolDef{Name: call.name, InputSchema: json.RawMessage(`{"type":"object"}`)})
				}
			}
		}
	}
	return all
}

func expectedCall(call convoCall) eval.Call {
	out := eval.Call{Name: call.name}
	v, err := match.Decode([]byte(call.arguments))
	if args, ok := v.(map[string]any); err == nil && ok {
		out.Args, _ = match.Plain(args).(map[string]any)
		out.NoArgs = len(args) == 0
	}
	return out
}

// firstLine is the first line of an answer that is long enough to know it again.
func firstLine(s string) string {
	const longest = 120
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); len(line) >= 2 {
			if len(line) > longest {
				line = strings.ToValidUTF8(line[:longest], "")
			}
			return line
		}
	}
	return ""
}
