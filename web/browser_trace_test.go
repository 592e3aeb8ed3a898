package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/agent/answer"
	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// tracedStore has several traces.
type tracedStore struct {
	*fullStore
	traces map[string]answer.Trace
	others map[string]bool // those of another person
}

func (s *tracedStore) Trace(_ context.Context, _, id string) (json.RawMessage, bool, error) {
	trace, found := s.traces[id]
	raw, err := json.Marshal(trace)
	if s.others[id] {
		raw = []byte(strings.Replace(string(raw), "{", `{"person":"p7",`, 1))
	}
	return raw, found, err
}

const (
	calledReason   = "the model called it"
	offeredReason  = "offered, and the model did not call it"
	withheldReason = "the assistant's tools do not include it"
)

// tracedTurn returns the trace of a turn that called tools, each once and all at the same time.
func tracedTurn(id string, called ...answer.CallTrace) answer.Trace {
	t := answer.Trace{
		TurnID: id, ConversationID: "c1", Assistant: "general", Provider: "ollama", Model: "qwen2.5:7b-instruct", Route: "it answers and has the configured model",
		Started: created, TookMS: 6200, Status: "done", Language: "en", Memory: "read",
		Question: "Which of our orders of this week are late, and who has to be told about them?",
		Answer:   "Two orders are late: 4711 and 4712. Tell Ms Nguyen in sales.",
		Steps:    []answer.StepTrace{{Step: "memory", StartMS: 2, TookMS: 14}, {Step: "answer", StartMS: 18, TookMS: 6100}, {Step: "save", StartMS: 6120, TookMS: 60}},
		Passes: []answer.PassTrace{
			{Pass: providers.PassTool, Model: "qwen2.5:7b-instruct", StartMS: 20, TookMS: 1400, FirstMS: 600, Offered: 26, Prompt: "You are a helpful assistant.", Finish: "tool_calls"},
			{Pass: providers.PassAnswer, Model: "qwen2.5:7b-instruct", StartMS: 4100, TookMS: 2000, FirstMS: 300, Offered: 26, Output: "Two orders are late.", Finish: "stop"},
		},
		Done: &answer.Done{Provider: "ollama", Model: "qwen2.5:7b-instruct", Saved: true, Usage: schemas.Usage{PromptTokens: 2100, CompletionTokens: 180, TotalTokens: 2280}},
	}
	for _, c := range called {
		t.Tools = append(t.Tools, answer.ToolTrace{Name: c.Server + "__" + c.Tool, Offered: true, Reason: calledReason, Calls: []answer.CallTrace{c}})
	}
	return t
}

// callTrace returns a call that ended endMS after the start of its turn.
func callTrace(server, tool string, endMS, tookMS float64) answer.CallTrace {
	return answer.CallTrace{
		ID: "k-" + tool, At: created.Add(time.Duration(endMS) * time.Millisecond), Server: server, Tool: tool, Status: toolhandler.StatusOK, TookMS: tookMS,
		Arguments: `{"since":"2026-05-01","state":"late","limit":20}`, Output: `{"orders":[{"id":4711,"customer":"Nguyen"},{"id":4712,"customer":"Tran"}]}`,
	}
}

// withTools adds tools that were not called.
func withTools(t answer.Trace, offered, withheld int) answer.Trace {
	for i := range offered {
		t.Tools = append(t.Tools, answer.ToolTrace{Name: fmt.Sprintf("%s__read_thing_%d", []string{"shop", "mail", "files"}[i%3], i), Offered: true, Reason: offeredReason})
	}
	for i := range withheld {
		t.Tools = append(t.Tools, answer.ToolTrace{Name: fmt.Sprintf("shop__write_thing_%d", i), Reason: []string{withheldReason, "it is switched off", withheldReason}[i%3]})
	}
	return t
}

func tracedTurns() map[string]answer.Trace {
	late := callTrace("shop", "list_orders", 2300, 850)
	asked := callTrace("mail", "send_message", 4000, 220)
	asked.WaitedMS, asked.DecidedBy = 1200, "Lan Tran"
	refusedCall := callTrace("mail", "delete_message", 4000, 0)
	refusedCall.WaitedMS, refusedCall.DecidedBy, refusedCall.Status, refusedCall.Output = 2300, "Lan Tran", toolhandler.StatusRefused, "the person refused it"
	one := withTools(tracedTurn("one", late), 24, 17)

	var parallel []answer.CallTrace
	for i := range 12 {
		parallel = append(parallel, callTrace("shop", fmt.Sprintf("read_order_with_a_long_name_%d", i), 1500+float64(i*190), 60+float64(i*180)))
	}
	retried := tracedTurn("retried", late, asked, refusedCall)
	again := late
	again.Status, again.Output, again.TookMS, again.At = toolhandler.StatusTimeout, "no result within 60 s", 60000, created.Add(62*time.Second)
	retried.Tools[0].Calls = append(retried.Tools[0].Calls, again)
	retried.TookMS, retried.Passes[1].StartMS, retried.Passes[0].Error = 184000, 90000, "the service answered 503"
	retried.Passes[1].TookMS, retried.Steps = 94000, []answer.StepTrace{{Step: "answer", StartMS: 18, TookMS: 183900}}

	refused := answer.Trace{
		TurnID: "refused", ConversationID: "c1", Assistant: "dental", Provider: "ollama", Started: created, TookMS: 40, Status: "refused", Tools: []answer.ToolTrace{},
		Verdict: &answer.VerdictTrace{Verdict: subject.Verdict{By: "code", Reason: "clearly of another subject"}, TookMS: 0.3}, Done: &answer.Done{Refused: true},
	}
	failed := tracedTurn("failed")
	failed.Status, failed.Error, failed.Answer, failed.Tools, failed.Passes[1].Error = "failed", "no answer from the service: connection refused", "", nil, "connection refused"
	interrupted := tracedTurn("interrupted", late)
	interrupted.Status, interrupted.Answer = "interrupted", "Two orders are"
	emergency := tracedTurn("emergency")
	emergency.Verdict = &answer.VerdictTrace{Verdict: subject.Verdict{Pass: true, By: "emergency", Reason: "it describes an emergency"}}
	emergency.Tools, emergency.Passes = nil, nil
	untraced := answer.Trace{TurnID: "untraced", ConversationID: "c1", Assistant: "general", Started: created, Status: "interrupted", Untraced: true, Question: "Which orders are late?"}
	running := answer.Trace{TurnID: "running", ConversationID: "c1", Assistant: "general", Started: created, Status: "running"}
	other := one
	other.TurnID = "other"
	gone := one
	gone.TurnID, gone.ConversationID = "gone", "gone"
	without := withTools(tracedTurn("without", callTrace("mail", "search", 900, 300)), 24, 12)
	without.Without, without.Model, without.Done = []string{"shop__list_orders"}, "gemini-2.5-flash", &answer.Done{Provider: "gemini", Model: "gemini-2.5-flash", Saved: true}
	without.Tools = append(without.Tools, answer.ToolTrace{Name: "shop__list_orders", Reason: "left out for this question, as the person asked"})
	without.Answer, without.TookMS = "I found no list of orders, only three messages about them.", 2900

	all := map[string]answer.Trace{}
	for _, t := range []answer.Trace{
		one, withTools(tracedTurn("parallel", parallel...), 3, 1), withTools(tracedTurn("many", late), 180, 119), retried, refused, failed, interrupted, emergency, untraced, running, other, gone, without,
		tracedTurn("none"),
	} {
		all[t.TurnID] = t
	}
	return all
}

func openTraces(t *testing.T, language string) *journey {
	t.Helper()
	cfg, full := fullConfig(t, toolTurn())
	store := &tracedStore{fullStore: full, traces: tracedTurns(), others: map[string]bool{"other": true}}
	cfg.Traces = store
	return openPages(t, language, cfg)
}

// The trace page is shown in each state, on a phone and a desk, in light and dark, in both languages.
func TestTurnPage_Look(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	for at, language := range []string{"en", "vi"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			j := openTraces(t, language)
			i := at
			for id := range tracedTurns() {
				for _, width := range []int64{360, 1280} {
					i++
					l := look{fmt.Sprintf("%d-%s", width, []string{"light", "dark"}[i%2]), width, 900, []string{"light", "dark"}[i%2]}
					path := "/turn?id=" + id
					if id == "without" {
						path += "&before=one"
					}
					j.do(l.see(), chromedp.Navigate(j.url+path))
					j.sees(`document.querySelector(".summary, #trace > .note")`)
					if width == 360 { // opened, and on a wide screen as it is at first
						eval[any](j, `(() => { for (const d of document.querySelectorAll("#trace details:not(.others)")) d.open = true; })()`)
					} else if id == "one" {
						eval[any](j, `(() => { const m = document.querySelector(".others"); if (m) m.open = true; })()`)
					}
					name := id + "-" + language + "-" + l.name
					j.do(shoot(t, name), fitsWidth(name))
					judge(j.ctx, t, axe, "turn-"+name)
				}
			}
		})
	}
}

// What was called comes first, what was offered is one line that opens with a filter, and what was withheld is
// grouped by reason. Three hundred tools are drawn only when somebody looks at them.
func TestTurnPage_ManyTools(t *testing.T) {
	t.Parallel()
	j := openTraces(t, "en")
	j.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(j.url+"/turn?id=many"))
	j.sees(`document.querySelector(".why")`)
	const lines = `[...document.querySelectorAll(".why h3, .tools > summary")].map((e) => e.textContent).join("; ")`
	if got, want := eval[string](j, lines), "list_orders shop; 180 tools were offered and not called; 79 tools were not offered: the assistant's tools do not include it; 40 tools were not offered: it is switched off"; got != want {
		t.Errorf("the tools are %q, want %q", got, want)
	}
	if n := eval[int](j, `document.querySelectorAll(".tools li").length`); n != 0 {
		t.Errorf("%d tools are drawn before anybody looks", n)
	}
	j.do(chromedp.Click(".tools[data-kind=offered] > summary"))
	j.sees(`document.querySelectorAll(".tools[data-kind=offered] li").length === 180`)
	j.do(chromedp.SendKeys(".tools[data-kind=offered] input", "thing_17"))
	j.sees(`document.querySelector(".tools[data-kind=offered] [role=status]").textContent === "11 of 180"`)
	eval[any](j, `(() => { const s = document.querySelector(".tools[data-kind=offered] select"); s.value = "mail"; s.dispatchEvent(new Event("change")); })()`)
	j.sees(`[...document.querySelectorAll(".tools[data-kind=offered] li:not([hidden])")].every((li) => li.textContent.includes("mail")) && document.querySelector(".tools[data-kind=offered] [role=status]").textContent === "3 of 180"`)
}

// A turn can be asked again by whom it belongs to, while its conversation is there.
func TestTurnPage_OffersAskingAgain(t *testing.T) {
	t.Parallel()
	j := openTraces(t, "en")
	for id, want := range map[string][3]bool{ // without a tool, with another model, and a test of it
		"one": {true, true, true}, "other": {false, false, true}, "gone": {false, false, true}, "refused": {false, false, true}, "running": {},
	} {
		j.do(chromedp.Navigate(j.url + "/turn?id=" + id))
		j.sees(`document.querySelector(".summary, #trace > .note")`)
		if got := [3]bool{eval[bool](j, `Boolean(document.querySelector(".why .again"))`), eval[bool](j, `Boolean(document.querySelector(".others"))`), eval[bool](j, `Boolean(document.querySelector('.offers a[href="#make-test"]'))`)}; got != want {
			t.Errorf("%s: offered %v, want %v", id, got, want)
		}
	}
	j.do(chromedp.Navigate(j.url + "/turn?id=gone"))
	j.sees(`document.querySelector(".offers").textContent.includes("Its conversation is gone")`)
	j.do(chromedp.Navigate(j.url + "/turn?id=one"))
	j.sees(`document.querySelector(".why .again")`)
	j.do(chromedp.Click(".why .again"), until(`location.pathname === "/" && location.hash === "#c1"`))
}
