package toolhandler_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// grants keeps the approvals of a person.
type grants struct{ all []schemas.Grant }

func (g *grants) Granted(context.Context) []schemas.Grant { return g.all }

func (g *grants) Grant(_ context.Context, given schemas.Grant, _ toolhandler.Scope) error {
	g.all = append(g.all, given)
	return nil
}

// An asker decides about all calls and keeps what it was asked.
type asker struct {
	decision toolhandler.Decision
	asked    []toolhandler.Approval
}

func (a *asker) Approve(_ context.Context, ask toolhandler.Approval) (toolhandler.Decision, error) {
	a.asked = append(a.asked, ask)
	return a.decision, nil
}

// always allows for good, for a destination of an id.
func always(destination string) *asker {
	return &asker{decision: toolhandler.Decision{Allowed: true, Scope: toolhandler.Always, Destination: destination}}
}

// asks reports whether a call asks, and that it says so before.
func asks(t *testing.T, f toolhandler.Flow, given *grants, who *asker, tool schemas.Tool, args string) bool {
	t.Helper()
	before := len(who.asked)
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}, Flow: f, Approver: who, Grants: given})
	waits := turn.Asks(t.Context(), call("1", tool.Name, args))
	if o := collect(t.Context(), turn, call("1", tool.Name, args))[0]; o.Status != toolhandler.StatusOK {
		t.Fatalf("%s: %s", args, o.Result.OutputText())
	}
	if waits != (len(who.asked) > before) {
		t.Errorf("%s: it is said to wait: %v", args, waits)
	}
	return len(who.asked) > before
}

// A standing approval covers a tool's calls with the same arguments under the same names, but for free text,
// or with those that a person's wider choice holds. What it covers it covers later too.
func TestGrants(t *testing.T) {
	list := `{"type":"array","items":{"type":"string"}}`
	send := tool("s", "send", schema("to "+list, "cc "+list, "url", "path", "owner", "repo", "head", "organization", "repository", "n "+`{"type":"integer","default":1}`, "to.0", "dest", "body", "note", "file "+`{"type":"string","description":"Path of the note"}`))
	for _, tt := range []struct {
		name, args, chosen string
		covered, others    []string
	}{
		{
			"exactly", `{"to":["a@b.example"],"body":"1"}`, "",
			[]string{`{"to":["a@b.example"],"body":"2"}`, `{"body":"x","to":["a@b.example"],"n":1}`},
			[]string{`{"to":["c@b.example"]}`, `{"to":["a@b.example","c@b.example"]}`, `{"cc":["a@b.example"]}`, `{"to":["a@b.example"],"cc":["c@b.example"]}`, `{"to":["a@b.example"],"n":2}`, `{"to":["A@b.example"]}`, `{"to":[" a@b.example"]}`, `{"to":["a@b.example"],"x":"1"}`, `{"to":["a@b.example"],"Body":"x"}`, `{"body":"x"}`, `{"to":["c@b.example"],"to.0":"a@b.example"}`},
		},
		{
			"with names", `{"owner":"me","repo":"notes"}`, "",
			[]string{`{"repo":"notes","owner":"me"}`},
			[]string{`{"owner":"evil","repo":"notes"}`, `{"owner":"notes","repo":"me"}`, `{"repo":"notes"}`, `{"owner":"me","repo":"notes","head":"evil:x"}`},
		},
		{
			"an id that is called note", `{"file":"a"}`, "", []string{`{"file":"a","note":"x"}`}, []string{`{"file":"b"}`},
		},
		{
			"a host", `{"url":"https://a.example/1","dest":"b.example"}`, "host url a.example",
			[]string{`{"url":"https://a.example/2","dest":"b.example"}`, `{"url":"http://A.example/","dest":"b.example","body":"x"}`},
			[]string{
				`{"url":"https://evil.example/1","dest":"b.example"}`, `{"url":"https://a.example:8080/","dest":"b.example"}`, `{"url":"https://a.example@evil.example/","dest":"b.example"}`, `{"url":"https://x@a.example/","dest":"b.example"}`,
				`{"url":"https://a.example.","dest":"b.example"}`, `{"url":"https://a.example\\@evil.example","dest":"b.example"}`, `{"url":"https://a.example/ https://evil.example/","dest":"b.example"}`, `{"url":"https://a.example/?u=https://evil.example/","dest":"b.example"}`,
				`{"url":"https://a.example/1","dest":"https://b.example/x"}`, `{"url":"https://a.example/2","dest":"https://b.example/x"}`, `{"url":"https://а.example/","dest":"b.example"}`, `{"url":"https://a.example/2"}`,
			},
		},
		{
			"mail addresses of a host", `{"url":"x@a.example"}`, "host url a.example",
			[]string{`{"url":"y@a.example"}`},
			[]string{`{"url":"eve@evil.example,y@a.example"}`, `{"url":"eve@evil.example y@a.example"}`, `{"url":"a.example <eve@evil.example>"}`, `{"url":"y@evil.example@a.example"}`, `{"url":"y@a.example?cc=eve@evil.example"}`},
		},
		{
			"a folder", `{"path":"reports/2026/a.txt","dest":"out"}`, "folder path reports",
			[]string{`{"path":"reports/b.txt","dest":"out"}`, `{"path":"reports/x/y z.txt","dest":"out"}`, `{"path":"reports/./b.txt","dest":"out"}`},
			[]string{
				`{"path":"reports/../../etc/passwd","dest":"out"}`, `{"path":"reportsx/b.txt","dest":"out"}`, `{"path":"/reports/b.txt","dest":"out"}`, `{"path":"reports/..\\..\\x","dest":"out"}`, `{"path":"reports/%2e%2e/%2e%2e/x","dest":"out"}`,
				`{"path":"reports/b.txt\n/etc/passwd","dest":"out"}`, `{"path":"reports/a,/etc/passwd","dest":"out"}`, `{"path":"reports/$(id)","dest":"out"}`, `{"path":"reports/‥/x","dest":"out"}`, `{"path":"reports/b.txt","dest":"out/x"}`, `{"path":"~/reports/b.txt","dest":"out"}`, `{"path":"C:/reports/b.txt","dest":"out"}`,
			},
		},
		{
			"a repository", `{"owner":"me","repo":"notes","head":"a"}`, "repository",
			[]string{`{"owner":"me","repo":"notes","head":"b"}`, `{"owner":"me","repo":"notes","path":"x","n":4}`},
			[]string{`{"owner":"evil","repo":"notes"}`, `{"owner":"me","repo":"other"}`, `{"repo":"notes"}`, `{"owner":"me","repo":"notes","organization":"evil"}`, `{"owner":"me","repo":"notes","repository":"evil/x"}`},
		},
		{"the server", `{"to":["a@b.example"]}`, "server", []string{`{"to":["c@b.example"],"n":4}`, `{}`}, nil},
		{"of an id that nobody offered", `{"to":["a@b.example"]}`, "host to.0 evil.example", []string{`{"to":["a@b.example"]}`}, []string{`{"to":["x@evil.example"]}`, `{"to":["x@b.example"]}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given, who := &grants{}, always(tt.chosen)
			if !asks(t, readFrom("web"), given, who, send, tt.args) || asks(t, readFrom("web"), given, who, send, tt.args) {
				t.Fatal("the call itself")
			}
			for _, args := range tt.covered {
				if asks(t, readFrom("web"), &grants{slices.Clone(given.all)}, always(""), send, args) {
					t.Errorf("%s asks", args)
				}
			}
			for _, args := range tt.others {
				if !asks(t, readFrom("web"), &grants{slices.Clone(given.all)}, always(""), send, args) {
					t.Errorf("%s is covered", args)
				}
			}
			for _, other := range []schemas.Tool{tool("t", "send", string(send.InputSchema)), tool("s", "send_all", string(send.InputSchema))} {
				if !asks(t, readFrom("web"), &grants{slices.Clone(given.all)}, always(""), other, tt.args) {
					t.Errorf("it covers %s", other.Name)
				}
			}
		})
	}
}

// An approval after texts of some origins covers no text of others; files count alike.
func TestGrants_from(t *testing.T) {
	fetch := tool("web", "fetch", schema("url"))
	const args = `{"url":"https://a.example/1"}`
	given := &grants{}
	if !asks(t, flow(of("vault", "x"), of(schemas.FileOrigin("a.txt"), "x")), given, always(""), fetch, args) {
		t.Fatal("it does not ask")
	}
	for _, tt := range []struct {
		f    toolhandler.Flow
		want bool
	}{
		{flow(of("vault", "x")), false}, {flow(of(schemas.FileOrigin("b.txt"), "x")), false}, {flow(of("mail", "x")), true}, {flow(of("vault", "x"), of("mail", "x")), true},
	} {
		if got := asks(t, tt.f, &grants{slices.Clone(given.all)}, always(""), fetch, args); got != tt.want {
			t.Errorf("with texts of %q: %v", tt.f.Origins(), got)
		}
	}
	writer := tool("web", "post", schema("url"))
	order := &grants{}
	f := toolhandler.Reading{Origin: "news", Public: true}
	if !asks(t, flow(f), order, always(""), writer, args) || asks(t, flow(f), order, always(""), writer, args) || !asks(t, flow(f, of("vault", "x")), order, always(""), writer, args) {
		t.Error("an approval of the call is one of the texts that it takes along")
	}
}

// What asks always, asks always: confirm, and a destructive tool but for its own destination.
func TestGrants_neverFor(t *testing.T) {
	confirmed, drop := tool("s", "ask", schema("path")), tool("s", "drop", schema("path"))
	confirmed.Rules.Policy, drop.Annotations.DestructiveHint = schemas.PolicyConfirm, new(true)
	const args, other = `{"path":"a/b/1"}`, `{"path":"a/b/2"}`
	given, who := &grants{}, always("server")
	for range 2 {
		if !asks(t, readFrom("web"), given, who, confirmed, args) {
			t.Error("confirm does not ask")
		}
	}
	if len(given.all) > 0 || !slices.Equal(who.asked[0].Scopes, []toolhandler.Scope{toolhandler.Once}) {
		t.Errorf("granted %v, offered %v", given.all, who.asked[0].Scopes)
	}
	given = &grants{[]schemas.Grant{
		{Tool: drop.Name, Width: schemas.WidthServer, Arguments: json.RawMessage(`{}`)}, {Tool: drop.Name, Width: schemas.WidthFolder, Arguments: json.RawMessage(`{"path":"a/b"}`)},
	}}
	who = always("folder path a/b")
	for i, tt := range []struct {
		args string
		want bool
	}{{args, true}, {args, false}, {other, true}} {
		if got := asks(t, flow(), given, who, drop, tt.args); got != tt.want {
			t.Errorf("destructive call %d, %s: %v", i, tt.args, got)
		}
	}
	if len(who.asked[0].Destinations) != 1 {
		t.Errorf("offered for what destroys: %v", who.asked[0].Destinations)
	}
}

// The person chooses among the call's destinations, which hold its own.
func TestDestinations(t *testing.T) {
	act := tool("s", "act", schema("owner", "repo", "path", "url"))
	for args, want := range map[string][]string{
		`{}`: {"exact"}, `{"path":"/a/b/c/d/e.txt"}`: {"exact", "folder path /a/b/c/d", "folder path /a/b/c", "folder path /a/b", "server"}, `{"path":"/a.txt"}`: {"exact", "server"}, `{"path":"~/a.txt"}`: {"exact", "server"}, `{"path":"../../a/b"}`: {"exact", "server"},
		`{"url":"https://u:p@a.example/"}`: {"exact", "server"}, `{"url":"https://A.example:8/x"}`: {"exact", "host url a.example:8", "server"}, `{"url":"https:\\\\a.example"}`: {"exact", "server"},
		`{"owner":"me","repo":"x","path":"a"}`: {"exact", "repository", "server"}, `{"owner":"me","repo":"x"}`: {"exact", "server"},
	} {
		who := always("")
		asks(t, readFrom("web"), &grants{}, who, act, args)
		var got []string
		for _, d := range who.asked[0].Destinations {
			got = append(got, d.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", args, diff)
		}
	}
}

// No argument hides another one of its destination.
func TestDestinationsOf_names(t *testing.T) {
	act := tool("s", "act", schema("to"))
	for _, args := range []string{`{"":{"to":"eve"},"to":"ann"}`, `{"a.b":"eve","a":{"b":"ann"}}`, `{"\\e":"eve","":"ann"}`} {
		if got := toolhandler.DestinationsOf(act, args)[0].Arguments; len(got) != 2 {
			t.Errorf("%s: %v", args, got)
		}
	}
}

// A permission applies to the arguments as the person edited them, not to the model's, and then to no
// wider destination than these.
func TestGrants_whatWasEdited(t *testing.T) {
	send := tool("mail", "send", schema("to"))
	given, edits := &grants{}, always("server")
	edits.decision.Arguments = `{"to":"a@b.example"}`
	asks(t, readFrom("web"), given, edits, send, `{"to":"evil@b.example"}`)
	for args, want := range map[string]bool{`{"to":"a@b.example"}`: false, `{"to":"evil@b.example"}`: true, `{"to":"c@b.example"}`: true} {
		if got := asks(t, readFrom("web"), &grants{slices.Clone(given.all)}, always(""), send, args); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}

// A decision about one waiting call covers another of the same turn only if a standing approval would.
func TestApproval_CoversToo(t *testing.T) {
	send := tool("mail", "send", schema("to", "body"))
	who := always("")
	for _, args := range []string{`{"to":"a@b.example","body":"1"}`, `{"to":"a@b.example","body":"2"}`, `{"to":"c@b.example"}`} {
		asks(t, readFrom("web"), &grants{}, who, send, args)
	}
	for destination, want := range map[string][]bool{"": {true, false}, "host to b.example": {true, true}, "host to evil.example": {false, false}} {
		for i, other := range who.asked[1:] {
			if got := who.asked[0].CoversToo(toolhandler.Decision{Allowed: true, Destination: destination}, other); got != want[i] {
				t.Errorf("%q, call %d: %v", destination, i+2, got)
			}
		}
	}
}
