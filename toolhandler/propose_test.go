package toolhandler_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

func proposedFor(name, schema string, hints schemas.ToolAnnotations) schemas.Tool {
	if schema == "" {
		schema = "{}"
	}
	return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: "s", ToolName: name, InputSchema: json.RawMessage(schema), Annotations: hints}}
}

func TestPropose(t *testing.T) {
	no, yes := new(bool), new(true)
	address := `{"properties":{"url":{"type":"string","format":"uri"}}}`
	text := `{"properties":{"text":{"type":"string"},"list":{"type":"string"}}}`
	for name, tc := range map[string]struct {
		tools          []schemas.Tool
		public, closed bool
		reads, adds    bool // of the first tool
		mayAdd         bool
	}{
		"a reader by name":                  {tools: []schemas.Tool{proposedFor("get_note", "", schemas.ToolAnnotations{})}, reads: true},
		"a fetcher":                         {tools: []schemas.Tool{proposedFor("fetch", address, schemas.ToolAnnotations{})}, public: true, reads: true},
		"a fetcher beside a writer":         {tools: []schemas.Tool{proposedFor("fetch", address, schemas.ToolAnnotations{}), proposedFor("send", "", schemas.ToolAnnotations{})}, reads: true},
		"a closed server":                   {tools: []schemas.Tool{proposedFor("get", "", schemas.ToolAnnotations{ReadOnlyHint: yes, OpenWorldHint: no})}, closed: true, reads: true},
		"an adder that reaches others":      {tools: []schemas.Tool{proposedFor("create_event", text, schemas.ToolAnnotations{})}, mayAdd: true},
		"one that says it destroys nothing": {tools: []schemas.Tool{proposedFor("refund", "", schemas.ToolAnnotations{DestructiveHint: no})}, mayAdd: true},
		"an adder of a closed server":       {tools: []schemas.Tool{proposedFor("add_note", text, schemas.ToolAnnotations{DestructiveHint: no, OpenWorldHint: no})}, closed: true, adds: true, mayAdd: true},
		"a destructive one":                 {tools: []schemas.Tool{proposedFor("add_or_replace", "", schemas.ToolAnnotations{DestructiveHint: yes})}},
		"one that takes a command":          {tools: []schemas.Tool{proposedFor("insert", `{"properties":{"sql":{"type":"string"}}}`, schemas.ToolAnnotations{})}},
		"a writer":                          {tools: []schemas.Tool{proposedFor("send", "", schemas.ToolAnnotations{})}},
		"a reader's name with a command":    {tools: []schemas.Tool{proposedFor("query", `{"properties":{"sql":{"type":"string"}}}`, schemas.ToolAnnotations{})}},
	} {
		p := toolhandler.Propose("s", append(tc.tools, schemas.Tool{ToolInfo: schemas.ToolInfo{Server: "other", ToolName: "send"}}))
		first := p.Tools[0]
		got := []bool{p.Public, p.Closed, first.Reads, first.Adds, first.MayAdd}
		if diff := cmp.Diff([]bool{tc.public, tc.closed, tc.reads, tc.adds, tc.mayAdd}, got); diff != "" {
			t.Errorf("%s: public, closed, reads, adds, may add (-want +got):\n%s", name, diff)
		}
	}
	announced := proposedFor("write_file", text, schemas.ToolAnnotations{DestructiveHint: yes})
	if p := toolhandler.Propose("s", []schemas.Tool{announced}); !p.Tools[0].Destroys || p.Tools[0].Mild {
		t.Errorf("one that announces itself destructive: %+v", p.Tools[0])
	}
	if p := toolhandler.Propose("none", nil); p.Closed || p.Public || len(p.Tools) > 0 {
		t.Errorf("a server without tools: %+v", p)
	}
}

// nowhere executes no call.
type nowhere struct {
	mu     sync.Mutex
	called []string
}

func (n *nowhere) CallFor(_ context.Context, _ *schemas.Person, server, tool string, _ json.RawMessage) (schemas.ToolResult, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.called = append(n.called, server+"__"+tool)
	return schemas.ToolResult{Server: server, ToolName: tool, Output: schemas.TextOutput("done")}, nil
}

// The descriptions of a server that nobody has confirmed order no call of another server's tool.
func TestTurn_Described(t *testing.T) {
	tool := func(server, name string, rules schemas.ToolRules) schemas.Tool {
		rules.Policy = schemas.PolicyAuto
		return schemas.Tool{ToolInfo: schemas.ToolInfo{Name: server + "__" + name, Server: server, ToolName: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, Rules: rules}
	}
	caller := &nowhere{}
	handler, err := toolhandler.New(toolhandler.Config{Caller: caller})
	if err != nil {
		t.Fatal(err)
	}
	tools := []schemas.Tool{
		tool("bank", "pay", schemas.ToolRules{}), tool("bank", "get_balance", schemas.ToolRules{}), tool("bank", "note", schemas.ToolRules{Adds: true}), tool("evil", "write", schemas.ToolRules{}),
	}
	turn := handler.Begin(toolhandler.TurnConfig{Tools: tools, Flow: toolhandler.Flow{Described: []string{"evil"}}})
	var calls []schemas.ToolCall
	for i, tl := range tools {
		calls = append(calls, schemas.ToolCall{ID: string(rune('a' + i)), Function: schemas.FunctionCall{Name: tl.Name, Arguments: "{}"}})
	}
	for out := range turn.Execute(t.Context(), calls) {
		want := toolhandler.StatusOK
		if out.Result.Server == "bank" && out.Result.ToolName == "pay" {
			want = toolhandler.StatusUnapproved
		}
		if out.Status != want {
			t.Errorf("%s: %s, want %s", out.Result.ToolName, out.Status, want)
		}
	}
	if slices.Contains(caller.called, "bank__pay") || len(caller.called) != 3 {
		t.Errorf("called %v", caller.called)
	}
}

// What a server says of tools that join a turn was read from then on, like that of the tools before it.
func TestTurn_Join(t *testing.T) {
	tool := func(server, name string, unseen bool) schemas.Tool {
		return schemas.Tool{
			ToolInfo: schemas.ToolInfo{Name: server + "__" + name, Server: server, ToolName: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			Rules:    schemas.ToolRules{Policy: schemas.PolicyAuto, Marks: schemas.ServerMarks{Unseen: unseen}},
		}
	}
	handler, err := toolhandler.New(toolhandler.Config{Caller: &nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	turn := handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("bank", "pay", false)}})
	status := func(name string) (status toolhandler.Status) {
		for out := range turn.Execute(t.Context(), []schemas.ToolCall{{ID: "a", Function: schemas.FunctionCall{Name: name, Arguments: "{}"}}}) {
			status = out.Status
		}
		return status
	}
	if got := [2]toolhandler.Status{status("evil__write"), status("bank__pay")}; got != [2]toolhandler.Status{toolhandler.StatusUnknown, toolhandler.StatusOK} {
		t.Errorf("before: %v", got)
	}
	turn = handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("bank", "pay", false)}})
	turn.Join(tool("evil", "write", true))
	if got := [2]toolhandler.Status{status("bank__pay"), status("evil__write")}; got != [2]toolhandler.Status{toolhandler.StatusUnapproved, toolhandler.StatusOK} {
		t.Errorf("after: %v", got)
	}
}

func TestMarkLines(t *testing.T) {
	p := schemas.Proposal{Server: "on", Closed: true, Tools: []schemas.ProposedTool{
		{Tool: "get*", Reads: true}, {Tool: "note", Adds: true, Content: []string{"text", "a.b"}}, {Tool: "book", MayAdd: true},
	}}
	want := `mcpServers:
  "on":
    closed: true
    tools:
      "get\\*": {readOnly: true, content: []}
      note: {adds: true, content: [text, "a.b"]}
      book: {content: []} # adds: true, if what it adds harms nobody`
	if diff := cmp.Diff(want, strings.Join(toolhandler.MarkLines([]schemas.Proposal{p}), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a server that nobody has confirmed says of its tools orders calls of other servers only.
func TestFlow_Described(t *testing.T) {
	f := toolhandler.Flow{Described: []string{"evil"}, Readings: []toolhandler.Reading{{Origin: "mail"}}}
	if diff := cmp.Diff([]schemas.Origin{"evil", "mail"}, f.Orders("bank")); diff != "" {
		t.Errorf("a tool of another server (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schemas.Origin{"mail"}, f.Orders("evil")); diff != "" {
		t.Errorf("its own tool (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schemas.Origin{"mail"}, f.Private()); diff != "" {
		t.Errorf("private (-want +got):\n%s", diff)
	}
}
