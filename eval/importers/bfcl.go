package importers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"molar/eval"
	"molar/eval/bfcl"
	"molar/eval/match"
	"molar/eval/tape"
)

// BFCL makes a case of a benchmark case. Its tape holds the tools and no model: it runs
// with --live-model.
func BFCL(c bfcl.Case) (Imported, error) {
	if len(c.Question) == 0 || len(c.Question[0]) == 0 {
		return Imported{}, fmt.Errorf("case %q has no question", c.ID)
	}
	out := eval.Case{V: eval.CaseVersion, ID: c.ID, Tags: []string{"bfcl", c.Category}, Source: "bfcl", Policy: eval.Policy{Args: string(match.PolicyBFCL)}}
	var notes []string
	if len(c.Question) > 1 {
		return Imported{}, fmt.Errorf("case %q has several turns over simulated services: it cannot be judged by its calls", c.ID)
	}
	messages := c.Question[0]
	last := len(messages) - 1
	in := eval.Input{}
	for _, m := range messages[:last] {
		if m.Role == "system" {
			in.System = strings.TrimSpace(in.System + "\n" + m.Content)
			continue
		}
		in.Messages = append(in.Messages, eval.Message{Role: m.Role, Content: m.Content})
	}
	if in.System != "" || in.Messages != nil {
		out.Input = &in
	}
	expect, err := bfclExpect(c)
	if err != nil {
		return Imported{}, err
	}
	out.Turns = []eval.Turn{{User: messages[last].Content, Expect: expect}}
	var b bytes.Buffer
	w := tape.NewBuilder(&b, tape.Header{
		TapeID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("bfcl"+c.ID)).String(), Case: c.ID, Host: "import", Provider: "auto", Imported: "bfcl",
	})
	var tools []tape.ToolDef
	for _, t := range c.Tools {
		schema, err := bfcl.JSONSchema(t.Parameters)
		if err != nil {
			return Imported{}, fmt.Errorf("case %q: parameters of %q: %w", c.ID, t.Name, err)
		}
		tools = append(tools, tape.ToolDef{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	w.Server(Server, tools)
	return Imported{Case: out, Tape: b.Bytes(), Notes: notes}, w.Err()
}

func bfclExpect(c bfcl.Case) (eval.Expect, error) {
	switch {
	case strings.Contains(c.Category, "irrelevance"):
		return eval.Expect{NoCall: true}, nil
	case strings.Contains(c.Category, "relevance"):
		var items []eval.Call
		for _, f := range c.Functions {
			items = append(items, eval.Call{Name: f.Name, Optional: true, Max: 8})
		}
		return eval.Expect{Calls: &eval.Calls{Mode: string(match.ModeSuperset), Items: items}}, nil
	case len(c.Answers) == 0:
		return eval.Expect{}, fmt.Errorf("case %q has no accepted answer: give its file with --answers", c.ID)
	}
	mode := match.ModeExact
	if strings.Contains(c.Category, "parallel") {
		mode = match.ModeAnyOrder
	}
	calls := &eval.Calls{Mode: string(mode)}
	for _, a := range c.Answers {
		item := eval.Call{Name: a.Name, Args: make(map[string]any), NoArgs: len(a.Accepted) == 0}
		for _, accepted := range a.Accepted {
			item.Args[accepted.Param] = match.Plain(match.AcceptedMatcher(accepted))
		}
		calls.Items = append(calls.Items, item)
	}
	return eval.Expect{Calls: calls}, nil
}
