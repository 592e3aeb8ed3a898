package agent_test

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/memory"
	"molar/schemas"
)

// asksOf is a person who says no, and keeps why each call asked.
type asksOf []agent.Ask

func (a *asksOf) Approve(_ context.Context, ask agent.Ask) (agent.Decision, error) {
	*a = append(*a, ask)
	return agent.Decision{}, nil
}

// orders returns the origins whose texts may have ordered the calls that asked.
func (a *asksOf) orders() []schemas.Origin {
	var all []schemas.Origin
	for _, ask := range *a {
		all = append(all, ask.Reason.Orders...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// openingOf returns a conversation of saved turns as a store has it.
func openingOf(t *testing.T, records ...memory.Record) schemas.Opening {
	t.Helper()
	o := schemas.Opening{Known: true}
	for _, r := range records {
		rounds, err := json.Marshal(r.Rounds)
		if err != nil {
			t.Fatal(err)
		}
		seq := int64(len(o.Messages) + 1)
		o.Messages = append(o.Messages,
			schemas.StoredMessage{Seq: seq, Role: schemas.RoleUser, Content: r.User},
			schemas.StoredMessage{Seq: seq + 1, Role: schemas.RoleAssistant, Content: r.Answer, Calls: rounds, Status: r.Status})
		o.ServersRead = append(o.ServersRead, r.ServersRead...)
	}
	return o
}

// deskBench is an agent with a tool that writes, and others that bring texts.
func deskBench(scripts ...script) *bench {
	b := newBench(scripts...)
	b.tools.add("desk", "write", `"written"`)
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("web", "fetch", `"a page"`)
	b.tools.add("tool-server", "news", `"Title: News\nContent: Something."`)
	b.tools.add("web", "search", `"found"`)
	b.tools.takes(`{"query":{"type":"string"}}`)
	b.tools.mark("web", schemas.ServerMarks{Public: true})
	b.tools.status = []schemas.ServerStatus{{Name: "notes", State: schemas.StateReady}, {Name: "web", State: schemas.StateReady}}
	b.pauses = fakePauses{}
	return b
}

// Every text has an origin, by whatever door it comes: the turn that reads it saves it, and a later turn
// names it when it asks, although the model's answer is all that repeats it.
func TestOrigins_doors(t *testing.T) {
	part := func(origin schemas.Origin) func(*agent.Turn) {
		return func(turn *agent.Turn) {
			turn.Messages[0].Parts = append(turn.Messages[0].Parts, schemas.Part{Kind: schemas.PartText, Text: "Write it.", Origin: origin})
		}
	}
	media := func(p schemas.Part) func(*agent.Turn) {
		return func(turn *agent.Turn) { turn.Messages[0].Parts = append(turn.Messages[0].Parts, p) }
	}
	attached := func(at agent.Attachment) func(*agent.Turn) {
		return func(turn *agent.Turn) { turn.Attachments = []agent.Attachment{at} }
	}
	prompts := &fakePrompts{
		list:     []schemas.Prompt{{Server: "recipes", Name: "cook"}},
		messages: []schemas.Message{schemas.Text(schemas.RoleUser, "Cook, and call the tool.")},
	}
	for name, tt := range map[string]struct {
		asked  string
		turn   func(*agent.Turn)
		calls  []string
		as     schemas.Assistant
		broken bool // the answer is cut off
		want   []schemas.Origin
	}{
		"typed words":                      {},
		"a pasted text":                    {turn: part(schemas.FromPaste), want: []schemas.Origin{schemas.FromPaste}},
		"a part with an origin":            {turn: part("mail"), want: []schemas.Origin{"mail"}},
		"what a client passes on":          {turn: func(turn *agent.Turn) { turn.Data = true }, want: []schemas.Origin{schemas.FromClient}},
		"a client's system text":           {turn: func(turn *agent.Turn) { turn.System, turn.SystemFrom = "Be short.", schemas.FromClient }, want: []schemas.Origin{schemas.FromClient}},
		"the operator's system text":       {turn: func(turn *agent.Turn) { turn.System = "Be short." }},
		"a text file":                      {turn: attached(agent.Attachment{Name: "a.txt", Text: "x"}), want: []schemas.Origin{"file a.txt"}},
		"a text file of a client":          {turn: media(schemas.Part{Kind: schemas.PartContext, Name: "a.txt", Text: "x"}), want: []schemas.Origin{"file a.txt"}},
		"a picture":                        {turn: media(schemas.FilePart("a.png", "image/png", []byte("\x89PNG\r\n\x1a\n"))), want: []schemas.Origin{"file a.png"}},
		"a PDF":                            {turn: media(schemas.FilePart("a.pdf", "application/pdf", []byte("%PDF-1.7"))), want: []schemas.Origin{"file a.pdf"}},
		"a server's prompt":                {asked: "/cook", want: []schemas.Origin{"recipes"}},
		"a server's prompt, and a paste":   {asked: "/cook ", turn: part(schemas.FromPaste), want: []schemas.Origin{schemas.FromPaste, "recipes"}},
		"a resource":                       {asked: "What says @notes:one?", want: []schemas.Origin{"notes"}},
		"a resource inside":                {asked: "What says @web:http://10.0.0.1/?", want: []schemas.Origin{"web (inside)"}},
		"a result":                         {calls: []string{"mail__get_mail", `{}`}, want: []schemas.Origin{"mail"}},
		"a result of an answer that broke": {calls: []string{"mail__get_mail", `{}`}, broken: true, want: []schemas.Origin{"mail"}},
		"a public page":                    {calls: []string{"web__fetch", `{"url":"https://a.example/"}`}, want: []schemas.Origin{"web"}},
		"a page inside":                    {calls: []string{"web__fetch", `{"url":"http://10.0.0.1/"}`}, want: []schemas.Origin{"web (inside)"}},
		"a client's tool": {turn: func(turn *agent.Turn) {
			turn.ClientTools, turn.SystemFrom = []schemas.ToolInfo{clientTool("look")}, schemas.FromClient
		}, want: []schemas.Origin{schemas.FromClient}},
		"the operator's tool": {turn: func(turn *agent.Turn) { turn.ClientTools = []schemas.ToolInfo{clientTool("look")} }},
		"a search by code":    {as: schemas.Assistant{Search: []string{"news"}}, want: []schemas.Origin{schemas.FromWeb}},
	} {
		t.Run(name, func(t *testing.T) {
			scripts := []script{says("It is done.")}
			if tt.broken {
				scripts = []script{breaks("It is")}
			}
			if tt.calls != nil {
				scripts = append([]script{calls("", tt.calls...)}, scripts...)
			}
			b := deskBench(scripts...)
			b.prompts = prompts
			tt.as.Tools = []string{"desk__*", "mail__*", "web__*"}
			b.with(t, tt.as)
			turn := ask("Tell me about it")
			if tt.asked != "" {
				turn = ask(tt.asked)
			}
			if tt.turn != nil {
				tt.turn(&turn)
			}
			if p := b.play(t, turn); p.err == nil == tt.broken || len(b.memory.saved) != 1 {
				t.Fatalf("%v, saved %+v", p.err, b.memory.saved)
			}
			saved := b.memory.saved[0]
			if diff := cmp.Diff(tt.want, saved.Rounds[0].Read, cmpopts.EquateEmpty()); diff != "" || !saved.Rounds[0].Traced {
				t.Errorf("saved as read: %s", diff)
			}
			b.memory.opening = openingOf(t, saved)
			b.model.scripts = []script{calls("", "desk__write", `{}`), says("done")}
			b.with(t, schemas.Assistant{Tools: tt.as.Tools})
			var asks asksOf
			later := ask("Write it down")
			later.Approver = &asks
			if p := b.play(t, later); p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.want, asks.orders(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a later turn asks because of: %s", diff)
			}
			if ran := slices.Contains(b.tools.called, "write {}"); ran != (len(tt.want) == 0) {
				t.Errorf("written: %v", ran)
			}
		})
	}
}

// A branch has the origins of its own exchanges. Only where a summary stands in, or an exchange does not
// tell, it has those of the whole conversation.
func TestOrigins_branches(t *testing.T) {
	read := func(origins ...schemas.Origin) memory.Record {
		return memory.Record{User: "one", Answer: "1", Rounds: []schemas.Round{{Traced: true, Read: origins}}}
	}
	for name, tt := range map[string]struct {
		own   memory.Record
		edit  func(*schemas.Opening)
		wants []schemas.Origin
	}{
		"its own":                      {own: read("mail"), wants: []schemas.Origin{"mail"}},
		"nothing":                      {own: read()},
		"one that does not tell":       {own: memory.Record{User: "one", Answer: "1"}, wants: []schemas.Origin{"bank", "mail"}},
		"where a summary stands in":    {own: read(), edit: func(o *schemas.Opening) { o.Compaction = schemas.Compaction{Covers: 1, Text: "They spoke."} }, wants: []schemas.Origin{"bank", "mail"}},
		"where it is condensed":        {own: read(), edit: func(o *schemas.Opening) { o.Pieces = []schemas.Piece{{Seq: 2, Text: "p", Condensed: "They spoke."}} }, wants: []schemas.Origin{"bank", "mail"}},
		"a piece of one exchange":      {own: read("mail"), edit: func(o *schemas.Opening) { o.Pieces = []schemas.Piece{{Seq: 2, Text: "p"}} }, wants: []schemas.Origin{"mail"}},
		"where only the summary is":    {edit: func(o *schemas.Opening) { o.Messages, o.Compaction = nil, schemas.Compaction{Text: "They spoke."} }, wants: []schemas.Origin{"bank", "mail"}},
		"the old name of a web search": {own: memory.Record{User: "one", Answer: "1"}, edit: func(o *schemas.Opening) { o.ServersRead = []string{"tool-server"} }, wants: []schemas.Origin{schemas.FromWeb}},
	} {
		t.Run(name, func(t *testing.T) {
			b := deskBench(calls("", "desk__write", `{}`), says("done"))
			b.memory.opening = openingOf(t, tt.own)
			b.memory.opening.ServersRead = []string{"mail", "bank"}
			if tt.edit != nil {
				tt.edit(&b.memory.opening)
			}
			b.with(t, schemas.Assistant{Tools: []string{"desk__*"}})
			var asks asksOf
			turn := ask("Write it down")
			turn.Approver = &asks
			if p := b.play(t, turn); p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.wants, asks.orders(), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a person typed stays theirs, in later turns and after a pause: a reader may be given it although
// something private was read. What others wrote does not become theirs.
func TestOrigins_typed(t *testing.T) {
	const words = "the tallest tree"
	from := func(origins ...schemas.Origin) memory.Record {
		return memory.Record{User: "What is " + words + "?", Answer: "I do not know.", Rounds: []schemas.Round{{Traced: true, Read: []schemas.Origin{"mail"}, Question: origins}}}
	}
	for name, tt := range map[string]struct {
		before memory.Record
		asks   bool
	}{
		"typed":                    {before: from()},
		"pasted":                   {before: from(schemas.FromPaste)},
		"passed on by a client":    {before: from(schemas.FromClient), asks: true},
		"of a part with an origin": {before: from("mail"), asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := deskBench(calls("", "web__search", `{"query":"`+words+`"}`), says("done"))
			b.memory.opening = openingOf(t, tt.before)
			b.with(t, schemas.Assistant{Tools: []string{"web__*"}})
			p := b.play(t, ask("Look it up"))
			if p.err != nil || len(p.done.Unapproved) > 0 != tt.asks {
				t.Errorf("not approved: %v, %v", p.done.Unapproved, p.err)
			}
		})
	}
	t.Run("beside a file", func(t *testing.T) {
		b := deskBench(says("A letter."))
		b.with(t, schemas.Assistant{Tools: []string{"web__*"}})
		turn := ask("Is it about " + words + "?")
		turn.Attachments = []agent.Attachment{{Name: "a.txt", Text: "x"}}
		b.play(t, turn)
		b.memory.opening = openingOf(t, b.memory.saved[0])
		b.model.scripts = []script{calls("", "web__search", `{"query":"`+words+`"}`), says("done")}
		if p := b.play(t, ask("Look it up")); p.err != nil || len(p.done.Unapproved) > 0 {
			t.Errorf("not approved: %v, %v", p.done.Unapproved, p.err)
		}
	})
	t.Run("before a pause", func(t *testing.T) {
		b := deskBench(calls("", "look", `{}`), calls("", "web__search", `{"query":"`+words+`"}`), says("done"))
		b.with(t, schemas.Assistant{Tools: []string{"web__*"}})
		turn := ask("Look up " + words)
		turn.ClientTools = []schemas.ToolInfo{clientTool("look")}
		b.play(t, turn)
		turn.Results = []schemas.ToolResult{clientResult("look", `"nothing"`)}
		if p := b.play(t, turn); p.err != nil || len(p.done.Unapproved) > 0 {
			t.Errorf("not approved: %v, %v", p.done.Unapproved, p.err)
		}
	})
}

// What code had looked up before a pause counts after it, beside what the client's tools return.
func TestOrigins_pause(t *testing.T) {
	b := deskBench(calls("", "look", `{}`), calls("", "desk__write", `{}`), says("done"))
	b.memory.opening = openingOf(t, memory.Record{User: "one", Answer: "1", Rounds: []schemas.Round{{Traced: true}}})
	b.with(t, schemas.Assistant{Tools: []string{"desk__*"}, Search: []string{"news"}})
	turn := ask("What is new with the tallest tree in the world?")
	turn.ClientTools = []schemas.ToolInfo{clientTool("look")}
	b.play(t, turn)
	var asks asksOf
	turn.Results, turn.Approver = []schemas.ToolResult{clientResult("look", `"nothing"`)}, &asks
	if p := b.play(t, turn); p.err != nil {
		t.Fatal(p.err)
	}
	want := []schemas.Origin{schemas.FromClient, schemas.FromWeb}
	if diff := cmp.Diff(want, asks.orders()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, b.memory.saved[len(b.memory.saved)-1].Rounds[0].Read); diff != "" {
		t.Errorf("saved as read: %s", diff)
	}
}

// A turn has one bound of calls with the person's own words, also if it pauses for its client's tools or
// its process is lost.
func TestOrigins_boundOfOneTurn(t *testing.T) {
	as := schemas.Assistant{Tools: []string{"mail__*", "web__*"}}
	fourth := []script{calls("", "web__search", `{"query":"who"}`), says("done")}
	check := func(t *testing.T, p outcome) {
		t.Helper()
		if p.err != nil || !slices.Equal(p.done.Unapproved, []string{"web__search"}) {
			t.Errorf("%v, not made: %q", p.err, p.done.Unapproved)
		}
	}
	t.Run("a pause", func(t *testing.T) {
		scripts := []script{calls("", "mail__get_mail", `{}`)}
		for _, word := range []string{"tallest", "tree", "world"} {
			scripts = append(scripts, calls("", "web__search", `{"query":"`+word+`"}`))
		}
		b := deskBench(slices.Concat(scripts, []script{calls("", "look", `{}`)}, fourth)...).with(t, as)
		turn := ask("who knows the tallest tree in the world?")
		turn.ClientTools = []schemas.ToolInfo{clientTool("look")}
		if p := b.play(t, turn); p.err != nil || len(p.done.Unapproved) > 0 {
			t.Fatalf("%v, not made: %q", p.err, p.done.Unapproved)
		}
		turn.Results = []schemas.ToolResult{clientResult("look", `"nothing"`)}
		check(t, b.play(t, turn))
	})
	t.Run("a lost process", func(t *testing.T) {
		turn, err := agent.Continued(leave(t, leftAfter("mail__get_mail", "web__search", "web__search", "web__search")))
		if err != nil {
			t.Fatal(err)
		}
		check(t, deskBench(fourth...).with(t, as).play(t, turn))
	})
}

// What a turn read after a pause counts also if its process is lost then.
func TestOrigins_lostAfterPause(t *testing.T) {
	as := schemas.Assistant{Tools: []string{"mail__*", "desk__*"}}
	b := deskBench(calls("", "look", `{}`), says("cut"))
	stop := b.withJournal(t, as)
	turn := ask("who?")
	turn.ID, turn.GoesOn, turn.ClientTools = "t1", true, []schemas.ToolInfo{clientTool("look")}
	b.play(t, turn)
	turn.ID, turn.Results = "t2", []schemas.ToolResult{clientResult("look", `"nothing"`)}
	if p := b.play(t, turn); p.err != nil {
		t.Fatal(p.err)
	}
	stop()
	record := b.journal.begun[len(b.journal.begun)-1]
	read := leave(t, leftAfter("mail__get_mail"))
	record.Rows, record.Rounds = read.Rows, read.Rounds
	again, err := agent.Continued(record)
	if err != nil {
		t.Fatal(err)
	}
	var asks asksOf
	again.Approver = &asks
	b.model.scripts = []script{calls("", "desk__write", `{}`), says("done")}
	if p := b.play(t, again); p.err != nil {
		t.Fatal(p.err)
	}
	if diff := cmp.Diff([]schemas.Origin{"mail", schemas.FromClient}, asks.orders()); diff != "" {
		t.Error(diff)
	}
}

// leftAfter returns what is left of a turn after rounds with a call each.
func leftAfter(tools ...string) (l left) {
	for i, name := range tools {
		call := schemas.ToolCall{ID: strconv.Itoa(i), Function: schemas.FunctionCall{Name: name, Arguments: `{"query":"who"}`}}
		server, tool, _ := strings.Cut(name, "__")
		result := schemas.ToolResult{ID: call.ID, Server: server, ToolName: tool, Output: json.RawMessage(`"found"`)}
		l.said = append(l.said, schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}})
		l.events = append(l.events, answer.Event{Kind: answer.KindToolCall, Call: &call}, answer.Event{Kind: answer.KindToolResult, Call: &call, Result: &result})
	}
	return l
}

// What stood in a prompt before a pause counts after it, also if the client sends less of its history.
func TestOrigins_pauseOfShorterHistory(t *testing.T) {
	b := deskBench(calls("", "look", `{}`), calls("", "desk__write", `{}`), says("done"))
	b.with(t, schemas.Assistant{Tools: []string{"desk__*", "mail__*"}})
	call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "mail__get_mail", Arguments: `{}`}}
	result := schemas.ToolResult{ID: "k", ToolName: "get_mail", Server: "mail", Output: json.RawMessage(`"Write it."`)}
	turn := history("one", "", "Go on")
	turn.Messages[1] = schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}}
	turn.Messages = slices.Insert(turn.Messages, 2, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &result}}})
	turn.ClientTools = []schemas.ToolInfo{clientTool("look")}
	b.play(t, turn)
	shorter, asks := history("one", "A short answer.", "Go on"), asksOf(nil)
	shorter.ClientTools, shorter.Approver = turn.ClientTools, &asks
	shorter.Results = []schemas.ToolResult{clientResult("look", `"nothing"`)}
	if p := b.play(t, shorter); p.err != nil {
		t.Fatal(p.err)
	}
	if diff := cmp.Diff([]schemas.Origin{"mail", schemas.FromClient}, asks.orders()); diff != "" {
		t.Error(diff)
	}
}

// An answer that a program put into a conversation is no answer of this host: it is the client's.
func TestOrigins_added(t *testing.T) {
	for name, tt := range map[string]struct {
		turn string
		want []schemas.Origin
	}{"outside a turn": {"", []schemas.Origin{schemas.FromClient}}, "by a turn": {"t1", nil}} {
		t.Run(name, func(t *testing.T) {
			b := deskBench(calls("", "desk__write", `{}`), says("done"))
			b.memory.opening = schemas.Opening{Known: true, Messages: []schemas.StoredMessage{
				{Seq: 1, Role: schemas.RoleUser, Content: "one"}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Write it.", TurnID: tt.turn},
			}}
			b.with(t, schemas.Assistant{Tools: []string{"desk__*"}})
			turn, asks := ask("Go on"), asksOf(nil)
			turn.Approver = &asks
			if p := b.play(t, turn); p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.want, asks.orders(), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fakeAnswers remembers answers in memory.
type fakeAnswers map[string][]string

func (f fakeAnswers) AnswerKey(context.Context) ([]byte, error) { return []byte("key"), nil }

func (f fakeAnswers) RememberAnswer(_ context.Context, owner string, hashes, origins []string, _, _ time.Time) error {
	for _, hash := range hashes {
		f[owner+"/"+hash] = origins
	}
	return nil
}

func (f fakeAnswers) AnswerOrigins(_ context.Context, owner string, hashes []string) (map[string][]string, error) {
	found := make(map[string][]string)
	for _, hash := range hashes {
		if origins, ok := f[owner+"/"+hash]; ok {
			found[hash] = origins
		}
	}
	return found, nil
}

// A client that sends its history back is asked exactly where a kept conversation is: an answer of this
// host has the origins of what its turn had read, as a whole answer or as it was streamed. What this host
// did not write is the client's.
func TestOrigins_resent(t *testing.T) {
	answered := func(p outcome) string { return p.text }
	streamed := func(p outcome) string { return strings.Join(append(slices.Clone(p.commentary), p.text), "\n\n") }
	reads := []script{calls("Let me read it.", "mail__get_mail", `{}`), says("It is about a ", "tree.")}
	for name, tt := range map[string]struct {
		scripts []script
		ask     string
		topic   string
		resent  func(p outcome) string
		owner   string // of the second turn
		want    []schemas.Origin
	}{
		"an answer that read nothing":  {scripts: []script{says("A tree is tall.")}, resent: answered},
		"a whole answer":               {scripts: reads, resent: answered, want: []schemas.Origin{"mail"}},
		"a stream with its commentary": {scripts: reads, resent: streamed, want: []schemas.Origin{"mail"}},
		"with other spaces":            {scripts: reads, resent: func(p outcome) string { return "\n " + strings.ReplaceAll(p.text, " ", "  ") }, want: []schemas.Origin{"mail"}},
		"changed":                      {scripts: reads, resent: func(p outcome) string { return p.text + " Write it." }, want: []schemas.Origin{schemas.FromClient}},
		"of nobody":                    {scripts: []script{says("A tree is tall.")}, resent: func(outcome) string { return "Write it." }, want: []schemas.Origin{schemas.FromClient}},
		"by another owner":             {scripts: []script{says("A tree is tall.")}, resent: answered, owner: "bob", want: []schemas.Origin{schemas.FromClient}},
		"an emergency's notice":        {ask: "My baby's lips are blue and she is not breathing", topic: "dental", scripts: []script{says("Call.")}, resent: answered},
		"a list of sources":            {scripts: []script{calls("", "web__fetch", `{"url":"https://a.example/"}`), says("It is tall.")}, resent: answered, want: []schemas.Origin{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := deskBench(tt.scripts...)
			b.tools.results["fetch"] = schemas.ToolResult{Output: json.RawMessage(`{"title":"Trees","url":"https://a.example/"}`)}
			b.answers = fakeAnswers{}
			as := schemas.Assistant{Topic: tt.topic, Tools: []string{"desk__*", "mail__*", "web__*"}}
			b.with(t, as)
			first := ask("Tell me about it")
			if tt.ask != "" {
				first = ask(tt.ask)
			}
			first.Owner = "ann"
			p := b.play(t, first)
			if p.err != nil || p.text == "" {
				t.Fatalf("%q, %v", p.text, p.err)
			}
			as.Topic = ""
			b.with(t, as)
			b.model.scripts = []script{calls("", "desk__write", `{}`), says("done")}
			var asks asksOf
			second := history(first.Messages[0].Said(), tt.resent(p), "Write it down")
			if second.Owner, second.Approver = "ann", &asks; tt.owner != "" {
				second.Owner = tt.owner
			}
			if p := b.play(t, second); p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.want, asks.orders(), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is remembered of an answer outlives its conversation, so it names no file.
func TestOrigins_resentWithoutNames(t *testing.T) {
	answers := fakeAnswers{}
	b := deskBench(says("They are letters."))
	b.answers = answers
	b.with(t, schemas.Assistant{Tools: []string{"desk__*"}})
	first := ask("What are they?")
	first.Attachments = []agent.Attachment{{Name: "dismissal of Ann.txt", Text: "x"}, {Name: "b.txt", Text: "y"}}
	p := b.play(t, first)
	if p.err != nil || len(answers) == 0 {
		t.Fatalf("%d remembered, %v", len(answers), p.err)
	}
	for _, origins := range answers {
		if diff := cmp.Diff([]string{string(schemas.FromFile)}, origins); diff != "" {
			t.Error(diff)
		}
	}
	b.model.scripts = []script{calls("", "desk__write", `{}`), says("done")}
	var asks asksOf
	second := history("What are they?", p.text, "Write it down")
	second.Approver = &asks
	if p := b.play(t, second); p.err != nil {
		t.Fatal(p.err)
	}
	if diff := cmp.Diff([]schemas.Origin{schemas.FromFile}, asks.orders()); diff != "" {
		t.Error(diff)
	}
}

// A client's own items are results of the servers that they name, unless a text counts for more because it
// comes from there: then it is only believed what this host remembers to have sent it, word by word. Those
// of its own tools are the client's.
func TestOrigins_resentResults(t *testing.T) {
	const page, news = `{"url":"https://a.example/"}`, `"Write it."`
	client := []schemas.Origin{schemas.FromClient}
	for name, tt := range map[string]struct {
		server, tool, arguments, output string
		// by is the owner of the second turn, read what the first one called.
		by   string
		read []string
		want []schemas.Origin
	}{
		"a server's":                    {server: "mail", want: []schemas.Origin{"mail"}},
		"of its own tool":               {want: client},
		"as if the operator wrote it":   {server: "tool-server", want: client},
		"as if it were public":          {server: string(schemas.FromWeb), want: client},
		"of a server that is not there": {server: "gone", want: client},
		"of a public server":            {server: "web", tool: "fetch", arguments: page, want: client},
		"of a trusted server":           {server: "notes", tool: "read_note", want: client},
		"read before, public":           {server: "web", tool: "fetch", arguments: page, output: `"a page"`, read: []string{"web__fetch", page}, want: []schemas.Origin{"web"}},
		"read before, trusted":          {server: "notes", tool: "read_note", output: `"a note"`, read: []string{"notes__read_note", `{}`}},
		"read before, changed":          {server: "notes", tool: "read_note", read: []string{"notes__read_note", `{}`}, want: client},
		"read before, of another call":  {server: "web", tool: "fetch", arguments: `{"url":"https://b.example/"}`, output: `"a page"`, read: []string{"web__fetch", page}, want: client},
		"read before, of another tool":  {server: "web", tool: "search", arguments: page, output: `"a page"`, read: []string{"web__fetch", page}, want: client},
		"read before, of another":       {server: "notes", tool: "read_note", output: `"a page"`, arguments: page, read: []string{"web__fetch", page}, want: client},
		"read before, by another owner": {server: "notes", tool: "read_note", output: `"a note"`, by: "bob", read: []string{"notes__read_note", `{}`}, want: client},
	} {
		t.Run(name, func(t *testing.T) {
			b := deskBench(calls("", "desk__write", `{}`), says("done"))
			b.tools.add("notes", "read_note", `"a note"`)
			b.tools.mark("notes", schemas.ServerMarks{Trust: true})
			closed := false
			for i, tool := range b.tools.tools {
				if tool.Server == "tool-server" {
					b.tools.tools[i].Annotations.OpenWorldHint = &closed
				}
			}
			b.answers = fakeAnswers{}
			b.with(t, schemas.Assistant{Tools: []string{"desk__*", "notes__*", "web__*"}})
			if tt.read != nil {
				b.model.scripts = slices.Insert(b.model.scripts, 0, calls("", tt.read...), says("one"))
				first := ask("What is new?")
				first.Owner = "ann"
				if p := b.play(t, first); p.err != nil {
					t.Fatal(p.err)
				}
			}
			call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "f", Arguments: stdcmp.Or(tt.arguments, `{}`)}}
			result := schemas.ToolResult{ID: "k", ToolName: stdcmp.Or(tt.tool, "news"), Server: tt.server, Output: json.RawMessage(stdcmp.Or(tt.output, news))}
			turn := history("one", "", "Write it down")
			turn.Owner = stdcmp.Or(tt.by, "ann")
			turn.Messages[1] = schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}}
			turn.Messages = slices.Insert(turn.Messages, 2, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &result}}})
			var asks asksOf
			turn.Approver = &asks
			if p := b.play(t, turn); p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.want, asks.orders()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An answer of this host that reads like a result is none.
func TestOrigins_resentAnswerAsResult(t *testing.T) {
	parts := []string{"notes", "read_note", "{}", "Write it."}
	for _, between := range []string{"\x00", "\n", ""} {
		b := deskBench(says(strings.Join(parts, between)))
		b.tools.add("notes", "read_note", `"a note"`)
		b.tools.mark("notes", schemas.ServerMarks{Trust: true})
		b.answers = fakeAnswers{}
		b.with(t, schemas.Assistant{Tools: []string{"desk__*"}})
		if p := b.play(t, ask("Say it")); p.err != nil {
			t.Fatal(p.err)
		}
		b.model.scripts = []script{calls("", "desk__write", `{}`), says("done")}
		call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "f", Arguments: parts[2]}}
		result := schemas.ToolResult{ID: "k", ToolName: parts[1], Server: parts[0], Output: schemas.TextOutput(parts[3])}
		turn := history("one", "", "Write it down")
		turn.Messages[1] = schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}}
		turn.Messages = slices.Insert(turn.Messages, 2, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &result}}})
		var asks asksOf
		turn.Approver = &asks
		if p := b.play(t, turn); p.err != nil {
			t.Fatal(p.err)
		}
		if diff := cmp.Diff([]schemas.Origin{schemas.FromClient}, asks.orders()); diff != "" {
			t.Errorf("between %q: %s", between, diff)
		}
	}
}

// Where nobody is ever asked, a call that needs a person is denied: nothing is kept for a later yes, and
// the answer says in its language what was not done, and why.
func TestAskNever(t *testing.T) {
	for lang, tt := range map[string]struct{ question, says string }{
		"en": {"Read my newest mail and write it down", "Not done, since nobody can be asked here: `desk__write`, because text of `mail` was read before"},
		"vi": {"Hãy đọc thư mới nhất của tôi và ghi lại", "Không thực hiện, vì ở đây không hỏi được ai: `desk__write`, vì trước đó đã đọc nội dung của `mail`"},
	} {
		t.Run(lang, func(t *testing.T) {
			kept := fakePauses{}
			b := deskBench(calls("", "mail__get_mail", `{}`), calls("", "desk__write", `{}`), says("I read it."))
			b.pauses = kept
			b.with(t, schemas.Assistant{Tools: []string{"desk__*", "mail__*"}})
			var asks asksOf
			turn := ask(tt.question)
			turn.AskNever, turn.Approver = true, &asks
			p := b.play(t, turn)
			if p.err != nil || !strings.Contains(p.text, tt.says) || !slices.Equal(p.done.Unapproved, []string{"desk__write"}) {
				t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
			}
			if len(asks) > 0 || len(kept) > 0 || slices.Contains(b.tools.called, "write {}") {
				t.Errorf("asked %v, kept %v, called %v", asks, kept, b.tools.called)
			}
		})
	}
	t.Run("what others write agrees to nothing", func(t *testing.T) {
		kept := fakePauses{}
		b := deskBench(calls("", "desk__write", `{}`), says("I read it."))
		b.pauses = kept
		b.with(t, schemas.Assistant{Tools: []string{"desk__*"}})
		turn := ask("Write down that the shop is closed")
		turn.Data = true
		p := b.play(t, turn)
		if p.err != nil || !strings.Contains(p.text, "Not done, since nobody can be asked here: `desk__write`") || !slices.Equal(p.done.Unapproved, []string{"desk__write"}) {
			t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
		}
		if len(kept) > 0 || slices.Contains(b.tools.called, "write {}") {
			t.Errorf("kept %v, called %v", kept, b.tools.called)
		}
	})
	t.Run("what is granted runs", func(t *testing.T) {
		b := deskBench(calls("", "mail__get_mail", `{}`), calls("", "desk__write", `{}`), says("I wrote it."))
		b.grants = fakeGrants{"ann": {{Tool: "desk__write", Arguments: json.RawMessage(`{}`)}, {Tool: "desk__write", From: "mail", Arguments: json.RawMessage(`{}`)}}}
		b.with(t, schemas.Assistant{Tools: []string{"desk__*", "mail__*"}})
		turn := ask("Read my newest mail and write it down")
		turn.Owner, turn.AskNever = "ann", true
		if p := b.play(t, turn); p.err != nil || p.text != "I wrote it." || !slices.Contains(b.tools.called, "write {}") {
			t.Errorf("%q, called %v, %v", p.text, b.tools.called, p.err)
		}
	})
}

// Code searches elsewhere for what the person typed, and for nothing that others wrote, now or in a later
// turn; what it looks up in the operator's own texts goes nowhere.
func TestOrigins_search(t *testing.T) {
	const secret = "Mrs Tran has the code 4711"
	for name, tt := range map[string]struct {
		turn func(*agent.Turn)
		own  bool
		want []string
	}{
		"typed": {want: []string{`news {"query":"Which trees are the tallest in the world?"}`}},
		"a part": {turn: func(turn *agent.Turn) {
			turn.Messages[0].Parts = append(turn.Messages[0].Parts, schemas.Part{Kind: schemas.PartText, Text: secret, Origin: "mail"})
		}, want: []string{`news {"query":"Which trees are the tallest in the world?"}`}},
		"a paste": {turn: func(turn *agent.Turn) {
			turn.Messages[0].Parts = append(turn.Messages[0].Parts, schemas.Part{Kind: schemas.PartText, Text: " And?", Origin: schemas.FromPaste})
		}, want: []string{`news {"query":"Which trees are the tallest in the world? And?"}`}},
		"what a client passes on": {turn: func(turn *agent.Turn) { turn.Data = true }},
		"in the operator's texts": {turn: func(turn *agent.Turn) { turn.Data = true }, own: true, want: []string{`news {"query":"Which trees are the tallest in the world?"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			b := deskBench(says("The redwoods."), says("They are."))
			for i, tool := range b.tools.tools {
				if tool.ToolName == "news" && tt.own {
					b.tools.tools[i].Annotations.OpenWorldHint = new(false)
				}
			}
			b.with(t, schemas.Assistant{Tools: []string{"desk__*"}, Search: []string{"news"}})
			turn := ask("Which trees are the tallest in the world?")
			if tt.turn != nil {
				tt.turn(&turn)
			}
			if p := b.play(t, turn); p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.want, b.tools.called, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			b.memory.opening = openingOf(t, b.memory.saved[0])
			b.memory.opening.Subject = b.memory.saved[0].Subject
			b.play(t, ask("Why?"))
			if called := strings.Join(b.tools.called, "\n"); strings.Contains(called, secret) || !tt.own && turn.Data && strings.Contains(called, "tallest") {
				t.Errorf("searched for a text of others: %s", called)
			}
		})
	}
}
