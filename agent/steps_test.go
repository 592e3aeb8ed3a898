package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/offer"
	"molar/providers"
	"molar/schemas"
)

const unsure = "tell me about the one that my aunt had"

// Code cannot decide the question, so the judge is called; nothing is executed and nothing shown
// before it has answered.
func TestRun_refused(t *testing.T) {
	b := familyBench(calls("", "family__get", "{}"))
	b.model.judge = says("NO")
	as := family()
	as.Topic = "dental"
	p := b.with(t, as).play(t, ask(unsure))
	if p.err != nil || !p.done.Refused || !strings.Contains(p.text, "dental") {
		t.Fatalf("%q %v %+v", p.text, p.err, p.done)
	}
	if len(b.tools.called) != 0 || len(b.memory.saved) != 0 {
		t.Errorf("called %v, saved %v", b.tools.called, b.memory.saved)
	}
	trace := b.recorder.last
	if trace.Status != "refused" || trace.Question != "" || trace.QuestionHash == "" || trace.Verdict == nil {
		t.Errorf("trace of a refused turn: %+v", trace)
	}
	data, err := trace.Encode()
	if err != nil || strings.Contains(string(data), "my aunt") {
		t.Errorf("the trace of a refused turn holds the text: %s %v", data, err)
	}
}

// The tool pass runs during the judge's call, and its text may quote the question: none of it
// stays in the trace of a refused turn.
func TestRun_refusedTraceHoldsNoText(t *testing.T) {
	b := familyBench(calls("You asked of my aunt", "family__get", `{"q":"my aunt"}`))
	b.model.judge = says("NO, my aunt is no dentist")
	as := family()
	as.Topic = "dental"
	if p := b.with(t, as).play(t, ask(unsure)); !p.done.Refused {
		t.Fatalf("%q %v", p.text, p.err)
	}
	data, err := b.recorder.last.Encode()
	if err != nil || strings.Contains(string(data), "my aunt") {
		t.Errorf("the trace holds the text: %s %v", data, err)
	}
	if passes := b.recorder.last.Passes; len(passes) == 0 || passes[0].Pass == "" {
		t.Errorf("passes %+v", passes)
	}
}

func TestRun_judgePasses(t *testing.T) {
	b := newBench(says("Brush twice a day."))
	p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask(unsure))
	if p.text != "Brush twice a day." || p.done.ModelCalls != 2 {
		t.Errorf("%q in %d calls, %v", p.text, p.done.ModelCalls, p.err)
	}
}

func TestRun_sureInCodeCostsNoCall(t *testing.T) {
	b := newBench(says("answer")).with(t, schemas.Assistant{Topic: "dental"})
	if p := b.play(t, ask("How often should I brush my teeth to avoid cavities?")); p.done.ModelCalls != 1 {
		t.Errorf("%d model calls", p.done.ModelCalls)
	}
}

func TestRun_judgeFails(t *testing.T) {
	b := newBench(says("answer"))
	b.model.judge = breaks("")
	p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask(unsure))
	if p.err != nil || !p.done.Refused || !strings.Contains(strings.ToLower(p.text), "try again") {
		t.Errorf("%q %v", p.text, p.err)
	}
}

// A follow-up passes because of the previous exchange, although the message alone is not
// recognisable.
func TestRun_followUp(t *testing.T) {
	b := newBench(says("answer"))
	b.model.judge = says("NO")
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Role: schemas.RoleUser, Content: "How is a dental implant made?"}, {Role: schemas.RoleAssistant, Content: "In steps."},
	}
	if p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask("And how much does it cost?")); p.text != "answer" {
		t.Errorf("%q %v", p.text, p.err)
	}
}

func TestRun_search(t *testing.T) {
	const found = `"Title: Brushing\nContent: Twice a day.\nLink: https://example.org/brush"`
	const question = "How often should I brush my teeth to avoid cavities?"
	const empty = `{"results":[]}`
	tests := []struct {
		name          string
		first, second string // outputs; "" fails
		calls         int
		found         bool
		fails         bool
	}{
		{"the first answers", found, found, 1, true, false},
		{"the first finds nothing", empty, found, 2, true, false},
		{"the first fails", "", found, 2, true, false},
		{"an empty last entry is no failure", empty, empty, 2, false, false},
		{"a failed last entry behind an empty one", empty, "", 2, false, false},
		{"all fail: the turn goes on, and says so", "", "", 2, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(says("Twice a day."))
			b.tools.add("tool-server", "guide", tt.first)
			b.tools.add("tool-server", "web", tt.second)
			for name, output := range map[string]string{"guide": tt.first, "web": tt.second} {
				if output == "" {
					delete(b.tools.results, name)
				}
			}
			p := b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"guide", "web"}}).play(t, ask(question))
			if len(b.tools.called) != tt.calls {
				t.Errorf("%d tools called, want %d", len(b.tools.called), tt.calls)
			}
			if p.err != nil {
				t.Fatal(p.err)
			}
			prompt := b.model.requests[0].Messages[0].FullText()
			if told := strings.Contains(prompt, "Nothing could be looked up"); told != tt.fails || (len(p.done.Warnings) == 1) != tt.fails {
				t.Errorf("the model is told: %v, warnings %v\n%s", told, p.done.Warnings, prompt)
			}
			if got := strings.Contains(prompt, "Twice a day"); got != tt.found {
				t.Errorf("results in the prompt: %v\n%s", got, prompt)
			}
			if tt.found != strings.HasSuffix(p.text, "\n\nSources:\n\n1. [Brushing](https://example.org/brush)") {
				t.Errorf("answer %q", p.text)
			}
		})
	}
}

func TestRun_smallTalkSkipsTheSearch(t *testing.T) {
	b := newBench(says("Hello!"))
	b.tools.add("tool-server", "web", `"x"`)
	if p := b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}}).play(t, ask("xin chào")); p.text != "Hello!" || len(b.tools.called) != 0 {
		t.Errorf("%q, called %v, %v", p.text, b.tools.called, p.err)
	}
}

// Sources are read from results in every form, once each, http and https only; links in the
// model's text are not listed.
func TestRun_sources(t *testing.T) {
	b := newBench(calls("", "s__t", "{}"), says("See [mine](https://invented.example)."))
	b.tools.add("s", "t", `{"items":[{"title":"One","url":"https://a.example/(x)"},{"name":"Two","link":"http://b.example"},{"title":"Again","url":"https://a.example/(x)"},{"title":"Bad","url":"javascript:alert(1)"}],"md":"y"}`)
	result := b.tools.results["t"]
	result.Links = []schemas.Source{{Title: "Res [1]", URL: "https://c.example"}}
	b.tools.mark("s", schemas.ServerMarks{Public: true}) // the answer's link stays
	b.tools.results["t"] = result
	p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask("x"))
	want := "See [mine](https://invented.example).\n\nSources:\n\n1. [Res \\[1\\]](https://c.example)\n2. [One](https://a.example/%28x%29)\n3. [Two](http://b.example)"
	if diff := cmp.Diff(want, p.text); diff != "" {
		t.Error(diff)
	}
	turn := ask("x")
	turn.Schema = providers.AnyObject()
	b.model.scripts = []script{calls("", "s__t", "{}"), says(`{"a":1}`)}
	if p := b.play(t, turn); p.text != `{"a":1}` || len(p.done.Sources) != 3 {
		t.Errorf("a JSON answer: %q with %d sources", p.text, len(p.done.Sources))
	}
}

// A topic's prompt contains the summary under its heading, the exchanges that it does not cover
// as messages with their roles, and the question last.
func TestRun_topicPrompt(t *testing.T) {
	b := newBench(says("answer"))
	b.memory.opening.Compaction = schemas.Compaction{Covers: 4, Text: "An dị ứng penicillin."}
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Role: schemas.RoleUser, Content: "Tôi bị đau răng"}, {Role: schemas.RoleAssistant, Content: "Hãy đi khám."},
	}
	b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask("Sâu răng có nguy hiểm không?"))
	var got []string
	for _, m := range b.model.requests[0].Messages {
		got = append(got, string(m.Role)+": "+m.FullText())
	}
	if diff := cmp.Diff([]string{
		"user: Tóm tắt cuộc trò chuyện trước:\n<data source=\"summary\">\nAn dị ứng penicillin.\n</data>\n\nBệnh nhân:\n\nTôi bị đau răng",
		"assistant: Hãy đi khám.",
		"user: Sâu răng có nguy hiểm không?",
	}, got); diff != "" {
		t.Error(diff)
	}
}

// The trace records for each tool whether it was offered or called, or why it was not.
func TestRun_trace(t *testing.T) {
	b := familyBench(calls("", "family__get", `{"id":1}`), says("ok"))
	b.tools.add("other", "x", `1`)
	denied := b.tools.tools[0]
	denied.Name, denied.ToolName, denied.Rules.Policy = "family__drop", "drop", schemas.PolicyDeny
	idle := b.tools.tools[0]
	idle.Name, idle.ToolName = "family__idle", "idle"
	b.tools.tools = append(b.tools.tools, denied, idle)
	b.tools.status = []schemas.ServerStatus{{Name: "family", State: schemas.StateReady}, {Name: "family2", State: schemas.StateReady}}
	b.with(t, family()).play(t, ask("who?"))
	got := map[string]string{}
	for _, tool := range b.recorder.last.Tools {
		got[tool.Name] = tool.Reason
	}
	want := map[string]string{
		"family__get":  "the model called it",
		"family__idle": "offered, and the model did not call it",
		"family__drop": "its policy is deny",
		"other__x":     "the assistant's tools do not include it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(b.recorder.last.Passes); n != 2 {
		t.Errorf("%d passes", n)
	}
}

func TestRun_failedServerIsToldAndTraced(t *testing.T) {
	b := familyBench(says("ok"))
	b.tools.status = []schemas.ServerStatus{{Name: "family", State: schemas.StateFailed, Reason: "command not found"}}
	p := b.with(t, family()).play(t, ask("who?"))
	if len(p.done.Warnings) != 1 || !strings.Contains(p.done.Warnings[0], "command not found") {
		t.Errorf("warnings %v", p.done.Warnings)
	}
	told := slices.IndexFunc(p.events, func(e answer.Event) bool { return e.Kind == answer.KindWarning })
	if told < 0 || p.events[told].Code != answer.CodeServerMissing || p.events[told].Server != "family" {
		t.Errorf("clients cannot tell the warning apart: %+v", p.events)
	}
}

// A turn waits for a required server during its first start. A server that was lost is not waited
// for until it is called, and one that is not required is not waited for at all.
func TestRun_waitsForTheServersItNeeds(t *testing.T) {
	b := familyBench(says("ok"))
	b.tools.status = []schemas.ServerStatus{
		{Name: "family", State: schemas.StateBackoff, Protocol: "2025-11-25"},
		{Name: "other", State: schemas.StateBackoff},
	}
	b.with(t, family()).play(t, ask("who?"))
	b.tools.status[0] = schemas.ServerStatus{Name: "family", State: schemas.StateStarting}
	b.play(t, ask("who?"))
	if diff := cmp.Diff([]string{"family"}, b.tools.awaited); diff != "" {
		t.Error(diff)
	}
}

func TestTrace_EncodeFits(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it encodes 3 MB, and trims them, in one goroutine")
	}
	long := answer.Trace{Question: strings.Repeat("é", 100<<10)}
	for range 50 {
		long.Passes = append(long.Passes, answer.PassTrace{Prompt: strings.Repeat("<x>", 20<<10), Output: "o"})
	}
	data, err := long.Encode()
	if err != nil || len(data) > answer.MaxTraceSize || !json.Valid(data) {
		t.Errorf("%d bytes, valid %v, %v", len(data), json.Valid(data), err)
	}
}

// The number of offered tools is limited to those that fit best, in their own order.
func TestRun_offersTheBest(t *testing.T) {
	b := newBench(says("ok"))
	b.limits = agent.Limits{Offered: 3}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.tools.add("s", name, `1`)
	}
	b.rank = func([]schemas.ToolInfo) func(string) []offer.Ranked {
		return func(string) []offer.Ranked {
			return []offer.Ranked{{Name: "s__c", Score: 3}, {Name: "s__a", Score: 2}, {Name: "s__d", Score: 1}}
		}
	}
	b.with(t, schemas.Assistant{Tools: []string{"*", "!s__b"}}).play(t, ask("x"))
	var names []string
	for _, tool := range b.model.requests[0].Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{offer.FindTools, "s__a", "s__c"}, names); diff != "" {
		t.Error(diff)
	}
	if b.model.requests[0].Pass != providers.PassTool {
		t.Error("the first round with tools is the tool pass")
	}
}

// The trace says what the model was not shown of a tool.
func TestRun_tracesShortenedDescriptions(t *testing.T) {
	b := newBench(says("ok"))
	b.limits = agent.Limits{ToolTokens: 300}
	b.tools.add("s", "short", `1`)
	b.tools.add("s", "long", `1`)
	b.tools.tools[1].Description = strings.Repeat("Looks things up. ", 200)
	b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask("x"))
	shown := map[string]string{}
	for _, tool := range b.recorder.last.Tools {
		shown[tool.Name] = tool.Shown
	}
	if diff := cmp.Diff(map[string]string{"s__short": "", "s__long": "953 of the 3400 characters of its description"}, shown); diff != "" {
		t.Error(diff)
	}
}
