package importers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/text"
	"molar/schemas"
)

// Server is the name of the server of imported tools.
const Server = "imported"

// An Imported is a case with its tape.
type Imported struct {
	Case eval.Case
	// Tape is nil if the file has no answers of a model.
	Tape []byte
	// Notes list what could not be converted, with file and line where they are known.
	Notes []string
}

// A conversation is a parsed conversation of another program.
type conversation struct {
	id, source, provider, model string
	tags                        []string
	note                        string
	system                      string
	earlier                     []eval.Message // without their own turns
	tools                       []tape.Tool
	turns                       []conversationTurn
	notes                       []string
}

type conversationTurn struct {
	user   string
	expect eval.Expect // if empty, what was recorded is expected
	judged []string    // what a judge has to find in the answer, in addition
	steps  []conversationStep
}

// A conversationStep is one answer of the model: the request, the response, and the results of
// the calls.
type conversationStep struct {
	method  string
	request json.RawMessage
	stream  tape.Stream
	text    string
	calls   []conversationCall
}

type conversationCall struct {
	tape.Call
	output json.RawMessage // nil if the recording ends before the result
}

// addAnswer adds an answer to the last turn.
func (c *conversation) addAnswer(a tape.WireAnswer, s tape.Stream) *conversationStep {
	t := &c.turns[len(c.turns)-1]
	step := conversationStep{method: http.MethodPost, stream: s, text: a.Text}
	for _, call := range a.Calls {
		step.calls = append(step.calls, conversationCall{Call: call})
	}
	t.steps = append(t.steps, step)
	return &t.steps[len(t.steps)-1]
}

// say adds an answer to the last turn, as its service would stream it, with the results of its calls.
func (c *conversation) say(a tape.WireAnswer, results ...tape.Part) {
	c.addAnswer(a, a.Stream(c.provider, ""))
	takeResults(c.lastCalls(), results)
}

// build returns the case, and the tape if the model's answers are known.
func (c *conversation) build() (Imported, error) {
	out := eval.Case{V: eval.CaseVersion, ID: c.id, Tags: c.tags, Source: c.source, Note: c.note}
	if c.system != "" || len(c.earlier) > 0 {
		out.Input = &eval.Input{System: c.system, Messages: c.earlier}
	}
	if !slices.ContainsFunc(c.turns, func(t conversationTurn) bool { return len(t.steps) > 0 }) {
		for _, t := range c.turns {
			out.Turns = append(out.Turns, eval.Turn{User: t.user, Expect: t.expect})
		}
		return Imported{Case: out, Notes: c.notes}, nil
	}
	var b bytes.Buffer
	w := tape.NewBuilder(&b, tape.Header{
		TapeID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.source+c.id)).String(), Case: c.id, Host: "import",
		Route: tape.Route{Provider: tape.ServiceOf(c.provider), Model: c.model, Small: c.model}, Imported: c.source,
	})
	w.Server(Server, c.completeTools())
	for _, t := range c.turns {
		w.User(t.user)
		turn := eval.Turn{User: t.user, Expect: t.expect}
		answer := ""
		var items []eval.Call
		for _, step := range t.steps {
			w.Exchange("", step.method, step.stream.Path, step.request, 200, step.stream.ContentType, step.stream.Chunks...)
			for slot, call := range step.calls {
				items = append(items, eval.ObservedCall(call.Name, call.Arguments))
				output := call.output
				if output == nil {
					output = json.RawMessage(`"(the recording ends before the result)"`)
				}
				id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.id+call.ID+call.Name)).String()
				w.Call(slot+1, Server, call.Name, schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: call.Name, Arguments: call.Arguments}}, output, false)
			}
			answer = step.text
		}
		if n := len(t.steps); n == 0 || len(t.steps[n-1].calls) > 0 {
			c.notes = append(c.notes, fmt.Sprintf("turn %d: the recording ends before the answer; one that says so was added", len(out.Turns)+1))
			end := tape.WireAnswer{Text: "(The recording ends here.)"}.Stream(c.provider, c.model)
			w.Exchange("", http.MethodPost, end.Path, nil, 200, end.ContentType, end.Chunks...)
			answer = ""
		}
		w.Answer(answer)
		if t.expect == (eval.Expect{}) {
			expectCalls(&turn.Expect, true, false, items...)
			if piece := checkable(answer); piece != "" {
				turn.Expect.Answer = &eval.Answer{All: []eval.Check{{Contains: piece}}}
			}
		}
		for _, text := range t.judged {
			if err := expect(&turn.Expect, "judge", text); err != nil {
				return Imported{}, fmt.Errorf("turn %d: %w", len(out.Turns)+1, err)
			}
		}
		out.Turns = append(out.Turns, turn)
	}
	return Imported{Case: out, Tape: b.Bytes(), Notes: c.notes}, w.Err()
}

// completeTools returns the tools, including those that were called but not described.
func (c *conversation) completeTools() []tape.Tool {
	known := make(map[string]bool)
	for _, t := range c.tools {
		known[t.Name] = true
	}
	all := c.tools
	for _, t := range c.turns {
		for _, s := range t.steps {
			for _, call := range s.calls {
				if !known[call.Name] {
					known[call.Name] = true
					all = append(all, tape.Tool{Name: call.Name, InputSchema: json.RawMessage(`{"type":"object"}`)})
				}
			}
		}
	}
	return all
}

// changeable is what the host may make code of, or escape: the rest of a name with a dot or an @, an address,
// and marks.
var changeable = regexp.MustCompile(`\S*(?:[:@]\pL|//|www\.)\S*|(?:\b|[^\x00-\x7F]|-)\.\pL\S*|[][<>\\|` + "`]+")

// checkable returns what an answer has to contain, cut to 120 bytes: its first line, or the longest piece of its
// first lines that the host leaves as it is.
func checkable(answer string) string {
	const enough = 12
	longest := ""
	for line := range strings.Lines(answer) {
		pieces := changeable.Split(line, -1)
		for _, piece := range pieces {
			if piece = strings.TrimLeft(strings.TrimSpace(piece), ",;: "); len(piece) >= 2 && len(piece) > len(longest) {
				longest = piece
			}
		}
		if longest != "" && (len(pieces) == 1 || len(longest) >= enough) {
			break
		}
	}
	return text.Clip(longest, 120, "")
}
