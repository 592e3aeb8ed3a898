package toolhandler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/schemas"
	"molar/toolhandler"
)

type approverFunc func(ctx context.Context, a toolhandler.Approval) (toolhandler.Decision, error)

func (f approverFunc) Approve(ctx context.Context, a toolhandler.Approval) (toolhandler.Decision, error) {
	return f(ctx, a)
}

// readFrom returns a flow in which a model has read text of some servers.
func readFrom(servers ...string) toolhandler.Flow {
	var f toolhandler.Flow
	for _, server := range servers {
		f.Readings = append(f.Readings, of(schemas.Origin(server), "text of "+server))
	}
	return f
}

// The rules count in their order: deny, confirm, allow, destructive, flows, orders.
func TestTurn_policy(t *testing.T) {
	yes, no := new(true), new(false)
	type rules = schemas.ToolRules
	type hints = schemas.ToolAnnotations
	for _, tt := range []struct {
		name  string
		rules rules
		hints hints
		read  []string
		args  string
		want  string
	}{
		{"nothing read", rules{}, hints{}, nil, `{"x":"1"}`, "free"},
		{"own server read", rules{}, hints{}, []string{"s"}, `{}`, "order"},
		{"own server read, to somewhere", rules{}, hints{}, []string{"s"}, `{"x":"1"}`, "flow"},
		{"other server read", rules{}, hints{}, []string{"web"}, `{}`, "order"},
		{"other server read, to somewhere", rules{}, hints{}, []string{"web"}, `{"x":"1"}`, "flow"},
		{"says that it destroys nothing", rules{}, hints{DestructiveHint: no}, []string{"web"}, `{}`, "order"},
		{"says that it only reads", rules{}, hints{ReadOnlyHint: yes}, []string{"web"}, `{}`, "free"},
		{"says that it only reads, to somewhere", rules{}, hints{ReadOnlyHint: yes}, []string{"web"}, `{"x":"1"}`, "flow"},
		{"marked readOnly", rules{ReadOnly: true}, hints{}, []string{"web"}, `{}`, "free"},
		{"marked adds", rules{Adds: true}, hints{}, []string{"web"}, `{}`, "free"},
		{"marked adds, to somewhere", rules{Adds: true}, hints{}, []string{"web"}, `{"x":"1"}`, "flow"},
		{"allowed", rules{Policy: schemas.PolicyAllow}, hints{DestructiveHint: yes}, []string{"web"}, `{"x":"1"}`, "free"},
		{"destructive", rules{}, hints{DestructiveHint: yes}, nil, `{}`, "destructive"},
		{"destructive, after a text", rules{}, hints{DestructiveHint: yes}, []string{"web"}, `{"x":"1"}`, "destructive"},
		{"destructive, marked readOnly", rules{ReadOnly: true}, hints{DestructiveHint: yes}, []string{"web"}, `{}`, "free"},
		{"destructive, not so for the operator", rules{Mild: true}, hints{DestructiveHint: yes}, nil, `{}`, "free"},
		{"the same, after a text", rules{Mild: true}, hints{DestructiveHint: yes}, []string{"web"}, `{}`, "order"},
		{"confirm", rules{Policy: schemas.PolicyConfirm, ReadOnly: true}, hints{}, nil, `{}`, "confirm"},
		{"deny", rules{Policy: schemas.PolicyDeny}, hints{}, nil, `{}`, "deny"},
	} {
		s := tool("s", "act", schema("x"))
		s.Rules, s.Annotations = tt.rules, tt.hints
		if got := whether(t, readFrom(tt.read...), s, tt.args); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Texts of others may have ordered a call: of servers, files, clients, the web and pastes. Those of
// servers that the operator vouches for have no orders.
func TestTurn_orders(t *testing.T) {
	act := tool("s", "act", schema("x"))
	for _, origin := range []schemas.Origin{"web", "s", schemas.FileOrigin("a.txt"), schemas.FromClient, schemas.FromWeb, schemas.FromPaste} {
		r := of(origin, "x")
		r.Public = true
		if got := whether(t, flow(r), act, `{"x":"1"}`); got != "order" {
			t.Errorf("%s: %s", origin, got)
		}
		if got := whether(t, flow(trusted(r)), act, `{"x":"1"}`); got != "free" {
			t.Errorf("%s, trusted: %s", origin, got)
		}
		if got := whether(t, flow(trusted(r), of("mail", "y")), act, `{}`); got != "order" && got != "flow" {
			t.Errorf("%s, trusted, with mail: %s", origin, got)
		}
	}
}

// A tool that changes its schema, or its rules, is judged by what it has in that turn.
func TestTurn_policy_changedTool(t *testing.T) {
	h := newHandler(t, echo)
	judged := func(look schemas.Tool, args string) (acts bool, status toolhandler.Status) {
		turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{look}, Flow: readFrom("web")})
		return turn.MayAct(look), collect(t.Context(), turn, call("1", look.Name, args))[0].Status
	}
	look := tool("s", "get_it", schema("x"))
	if acts, status := judged(look, `{}`); acts || status != toolhandler.StatusOK {
		t.Errorf("it reads: %v, %s", acts, status)
	}
	look.InputSchema = []byte(schema("sql"))
	if acts, status := judged(look, `{}`); !acts || status != toolhandler.StatusUnapproved {
		t.Errorf("it takes a command now: %v, %s", acts, status)
	}
	if _, status := judged(look, `{"sql":1}`); status != toolhandler.StatusInvalid {
		t.Errorf("another type than its new schema has: %s", status)
	}
	look.Rules.ReadOnly = true
	if acts, status := judged(look, `{}`); acts || status != toolhandler.StatusOK {
		t.Errorf("the operator says that it reads: %v, %s", acts, status)
	}
}

// A result of one server requires approval for calls of others for the rest of the turn.
func TestTurn_policy_afterARead(t *testing.T) {
	one, two := tool("a", "add_one", ""), tool("b", "add_two", "")
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{one, two}})
	if o := collect(t.Context(), turn, call("1", "add_one", ""), call("2", "add_two", "")); o[0].Status != toolhandler.StatusOK || o[1].Status != toolhandler.StatusOK {
		t.Fatalf("calls planned together: %s, %s", o[0].Status, o[1].Status)
	}
	if o := collect(t.Context(), turn, call("3", "add_one", ""))[0]; o.Status != toolhandler.StatusUnapproved {
		t.Errorf("after both servers were read: %s", o.Status)
	}
}

func TestTurn_approval(t *testing.T) {
	tests := []struct {
		name     string
		decision toolhandler.Decision
		err      error
		want     toolhandler.Status
		output   string
	}{
		{"yes", toolhandler.Decision{Allowed: true}, nil, toolhandler.StatusOK, `{"familyId":"a"}`},
		{"no", toolhandler.Decision{}, nil, toolhandler.StatusRefused, ""},
		{"nobody", toolhandler.Decision{}, errors.New("gone"), toolhandler.StatusUnapproved, ""},
		{"edited", toolhandler.Decision{Allowed: true, Arguments: `{"familyId":"b"}`}, nil, toolhandler.StatusOK, `{"arguments_changed_by_a_person":{"familyId":"b"},"output":{"familyId":"b"}}`},
		{"edited badly", toolhandler.Decision{Allowed: true, Arguments: `{"familyId":1}`}, nil, toolhandler.StatusInvalid, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tool("s", "act", familySchema)
			s.Rules.Policy = schemas.PolicyConfirm
			ask := approverFunc(func(context.Context, toolhandler.Approval) (toolhandler.Decision, error) { return tt.decision, tt.err })
			turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{s}, Approver: ask})
			o := collect(t.Context(), turn, call("1", "act", `{"familyId":"a"}`))[0]
			if o.Status != tt.want || tt.output != "" && string(o.Result.Output) != tt.output {
				t.Errorf("%s %s, want %s %s", o.Status, o.Result.Output, tt.want, tt.output)
			}
		})
	}
}

// Deleting something that a text of the tool's own server named needs approval too.
func TestTurn_policy_unannotated(t *testing.T) {
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("mail", "read_mail", schema("id")), tool("mail", "delete_all", "")}, Flow: toolhandler.Flow{Typed: []string{"Read mails m1 and m2"}}})
	if o := collect(t.Context(), turn, call("1", "read_mail", ""))[0]; o.Status != toolhandler.StatusOK {
		t.Fatal(o.Status)
	}
	if o := collect(t.Context(), turn, call("2", "read_mail", `{"id":"m2"}`))[0]; o.Status != toolhandler.StatusOK {
		t.Errorf("reading again: %s", o.Status)
	}
	o := collect(t.Context(), turn, call("3", "delete_all", ""))[0]
	if want := `text of server mail was read before, and the tool may change something: its name says \"delete\"`; o.Status != toolhandler.StatusUnapproved || !strings.Contains(string(o.Result.Output), want) {
		t.Errorf("%s: %s", o.Status, o.Result.Output)
	}
}

// The time that a person takes to decide does not count as tool time.
func TestTurn_approval_doesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tool("s", "act", "")
		s.Rules.Policy = schemas.PolicyConfirm
		ask := approverFunc(func(context.Context, toolhandler.Approval) (toolhandler.Decision, error) {
			time.Sleep(5 * time.Minute)
			return toolhandler.Decision{Allowed: true}, nil
		})
		turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{s}, Approver: ask})
		o := collect(t.Context(), turn, call("1", "act", ""))[0]
		if o.Took != 0 || o.Result.Duration != 0 || o.Waited != 5*time.Minute {
			t.Errorf("the call took %s, shown as %s, and waited %s", o.Took, o.Result.Duration, o.Waited)
		}
		if why := turn.Exhausted(); why != "" {
			t.Error(why)
		}
	})
}

// A host tool runs in situations in which a server's tool needs approval, and its result makes no
// other call need approval.
func TestTurn_hostTools(t *testing.T) {
	reached := 0
	h := newHandler(t, func(context.Context, string, string, json.RawMessage) (schemas.ToolResult, error) {
		reached++
		return schemas.ToolResult{Output: json.RawMessage(`"sent"`)}, nil
	})
	find := toolhandler.HostTool{
		Info: schemas.ToolInfo{Name: "find_tools", ToolName: "find_tools", InputSchema: json.RawMessage(`{"type":"object","required":["words"]}`)},
		Call: func(_ context.Context, args json.RawMessage) (schemas.ToolResult, error) {
			return schemas.ToolResult{Output: args}, nil
		},
	}
	turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("mail", "send", `{"type":"object"}`)}, Host: []toolhandler.HostTool{find}})
	outs := collect(t.Context(), turn, call("1", "find_tools", `{"words":"mail"}`), call("2", "find_tools", `{}`))
	if outs[0].Status != toolhandler.StatusOK || outs[0].Result.OutputText() != `{"words":"mail"}` || outs[0].Result.ToolName != "find_tools" {
		t.Errorf("got %+v", outs[0])
	}
	if outs[1].Status != toolhandler.StatusInvalid {
		t.Errorf("without its argument: %s", outs[1].Status)
	}
	if out := collect(t.Context(), turn, call("3", "mail__send", `{}`))[0]; out.Status != toolhandler.StatusOK || reached != 1 {
		t.Errorf("a writer after it: %s %s, %d calls reached the server", out.Status, out.Result.Output, reached)
	}
	if read := turn.Flow().Origins(); len(read) != 1 || read[0] != "mail" {
		t.Errorf("read %q", read)
	}
	late := h.Begin(toolhandler.TurnConfig{Flow: readFrom("web"), Host: []toolhandler.HostTool{find}})
	if out := collect(t.Context(), late, call("4", "find_tools", `{"words":"mail"}`))[0]; out.Status != toolhandler.StatusOK {
		t.Errorf("after a read: %s %s", out.Status, out.Result.Output)
	}
}
