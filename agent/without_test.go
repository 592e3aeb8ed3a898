package agent_test

import (
	"errors"
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

const leftOutReason = "left out for this question, as the person asked"

// A tool that a turn leaves out is not offered, and a call to it that the model makes nevertheless runs nothing.
func TestWithout(t *testing.T) {
	b := familyBench(calls("", "family__get", `{"id":1}`), says("I cannot look."))
	b.tools.add("family", "list", `[]`)
	b.with(t, schemas.Assistant{Tools: []string{"family__*"}})
	turn := ask("who?")
	turn.Without = []string{"family__g*"}
	if p := b.play(t, turn); p.err != nil {
		t.Fatal(p.err)
	}
	for _, req := range b.model.requests {
		for _, tool := range req.Tools {
			if tool.Name == "family__get" {
				t.Error("it is offered")
			}
		}
	}
	if len(b.tools.called) > 0 {
		t.Errorf("called %v", b.tools.called)
	}
	if got := b.recorder.last.Without; len(got) != 1 || got[0] != "family__g*" {
		t.Errorf("the trace says %q", got)
	}
	turn = ask("and now?")
	b.model.scripts = []script{says("Yes.")}
	if p := b.play(t, turn); p.err != nil || len(b.model.requests[len(b.model.requests)-1].Tools) != 2 {
		t.Errorf("the next turn: %v", p.err)
	}
}

// The trace names the tool with its reason. What is withheld anyway keeps its own.
func TestWithout_Trace(t *testing.T) {
	b := familyBench(says("I cannot look."))
	b.tools.add("other", "find", `[]`)
	b.with(t, family())
	turn := ask("who?")
	turn.Without = []string{"*__get", "other__find"}
	b.play(t, turn)
	got := map[string]string{}
	for _, tool := range b.recorder.last.Tools {
		got[tool.Name] = tool.Reason
	}
	if got["family__get"] != leftOutReason || got["other__find"] != "the assistant's tools do not include it" {
		t.Errorf("the reasons are %q", got)
	}
}

// A search that the turn leaves out is not made by code either, and the next in the list is.
func TestWithout_Search(t *testing.T) {
	for _, tt := range []struct {
		without []string
		called  string
	}{{nil, "guide"}, {[]string{"tool-server__guide"}, "web"}, {[]string{"tool-server__*"}, ""}} {
		b := newBench(says("Yes."))
		b.tools.add(schemas.ToolServer, "guide", `{"results":[{"title":"a","text":"b"}]}`)
		b.tools.add(schemas.ToolServer, "web", `{"results":[{"title":"a","text":"b"}]}`)
		b.with(t, schemas.Assistant{Search: []string{"guide", "web"}})
		turn := ask("How often should I brush my teeth?")
		turn.Without = tt.without
		p := b.play(t, turn)
		name, _, _ := strings.Cut(strings.Join(b.tools.called, " "), " ")
		if p.err != nil || name != tt.called {
			t.Errorf("without %v: %v are called, %v", tt.without, b.tools.called, p.err)
		}
	}
}

// A name that is not there fails before anything runs, with the nearest that the person may know of.
func TestWithout_Unknown(t *testing.T) {
	rights := &schemas.Rights{Groups: []schemas.Group{{Name: "staff", Assistants: []string{"*"}, Tools: []string{"other__*"}}}}
	tests := []struct {
		name    string
		without []string
		rights  *schemas.Rights
		want    string
	}{
		{"a name", []string{"family__get"}, nil, ""},
		{"a glob", []string{"family__*"}, nil, ""},
		{"of a server that lists nothing now", []string{"down__find"}, nil, ""},
		{"a slip", []string{"family__gte"}, nil, `no tool is called "family__gte"; do you mean "family__get"?`},
		{"unlike any", []string{"x"}, nil, `no tool is called "x"; GET /v1/tools`},
		{"a glob of nothing", []string{"nobody__*"}, nil, `no tool is called "nobody__*"`},
		{"a broken glob", []string{"[", "family__get"}, nil, `"[" is not a tool's name`},
		{"what adds", []string{"!family__get"}, nil, `"!family__get" is not a tool's name`},
		{"not theirs to know", []string{"family__gte"}, rights, "GET /v1/tools"},
		{"of a server that is not theirs to know", []string{"down__find"}, rights, "GET /v1/tools"},
		{"too many", make([]string, 129), nil, "129 tools, and 128 are the most"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := familyBench(says("Yes."))
			b.tools.status = []schemas.ServerStatus{{Name: "family", State: schemas.StateReady}, {Name: "down", State: schemas.StateFailed}}
			b.with(t, family())
			turn := ask("who?")
			turn.Without, turn.Rights = tt.without, tt.rights
			p := b.play(t, turn)
			if tt.want == "" && p.err != nil || tt.want != "" && (!errors.Is(p.err, agent.ErrWithout) || !errors.Is(p.err, agent.ErrInvalid) || !strings.Contains(p.err.Error(), tt.want)) {
				t.Errorf("got %v", p.err)
			}
			if p.err != nil && len(b.model.requests) > 0 {
				t.Error("the model is asked")
			}
		})
	}
}
