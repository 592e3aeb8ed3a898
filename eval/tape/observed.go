package tape

import (
	"encoding/json"
	"fmt"
	"strings"

	"molar/agent"
	"molar/eval/match"
)

// observed is what happened in a turn of a replay.
type observed struct {
	p      *Player
	turn   int
	calls  []agent.Event
	result []agent.Event
	answer []byte
	guard  string
	err    error
}

func (o *observed) event(e agent.Event, err error) {
	if err != nil {
		o.err = err
		return
	}
	switch e.Kind {
	case agent.EventText:
		o.answer = append(o.answer, e.Text...)
	case agent.EventStep:
		if d := decision(e); d != "" {
			o.guard = d
		}
	case agent.EventToolCall:
		o.calls = append(o.calls, e)
	case agent.EventToolResult:
		o.result = append(o.result, e)
	}
}

// compare names what differs from the taped turn. A live model makes its own turn.
func (o *observed) compare() {
	p := o.p
	if p.cfg.LiveModel || o.turn > len(p.x.turns) {
		return
	}
	t := p.x.turns[o.turn-1]
	o.compareGuard(t)
	o.compareCalls(t)
	o.compareResults(t)
	if p.x.header.Imported != "" { // another program may have put its answers together in its own way
		return
	}
	if t.answer.line == 0 || p.cfg.LiveTools && len(t.results) > 0 {
		return
	}
	rec, err := p.x.load(t.answer)
	if err != nil || rec.Done == nil {
		return
	}
	if got := p.redact.Text(string(o.answer)); got != rec.Text {
		want, got := window(rec.Text, got)
		p.drift(o.turn, t.answer.line, Drift{Class: DriftAnswer, Where: "answer", Want: want, Got: got})
	}
}

func (o *observed) compareGuard(t *tapedTurn) {
	want := ""
	line := t.user.line
	if n := len(t.guardrail); n > 0 {
		if rec, err := o.p.x.load(t.guardrail[n-1]); err == nil {
			want, line = rec.Decision, t.guardrail[n-1].line
		}
	}
	if want != "" && want != o.guard && (o.err == nil || o.guard != "") {
		o.p.drift(o.turn, line, Drift{Class: DriftGuardrail, Where: "guardrail", Want: want, Got: o.guard})
	}
}

// compareCalls pairs the calls by position; a call of a later position that fits
// exactly was moved.
func (o *observed) compareCalls(t *tapedTurn) {
	var taped []Record
	for _, at := range t.calls {
		rec, err := o.p.x.load(at)
		if err != nil || rec.Call == nil {
			return
		}
		taped = append(taped, rec)
	}
	if o.moved(taped) {
		o.p.drift(o.turn, t.calls[0].line, Drift{Class: DriftCallOrder, Where: "calls", Want: callList(taped), Got: eventList(o.calls)})
		return
	}
	for i := range max(len(taped), len(o.calls)) {
		where := fmt.Sprintf("call %d", i+1)
		switch {
		case i >= len(o.calls):
			if o.err == nil { // a turn that broke off made no further call
				o.p.drift(o.turn, t.calls[i].line, Drift{Class: DriftCallMissing, Where: where, Want: callText(taped[i]), Got: "(nothing)"})
			}
		case i >= len(taped):
			o.p.drift(o.turn, o.after(t), Drift{Class: DriftCallExtra, Where: where, Want: "(nothing)", Got: eventText(o.calls[i])})
		case taped[i].Call.Function.Name != o.calls[i].Call.Function.Name:
			o.p.drift(o.turn, t.calls[i].line, Drift{Class: DriftCallName, Where: where, Want: callText(taped[i]), Got: eventText(o.calls[i])})
		case args(taped[i].Call.Function.Arguments) != args(o.p.redact.Text(o.calls[i].Call.Function.Arguments)):
			want, got := window(callText(taped[i]), eventText(o.calls[i]))
			o.p.drift(o.turn, t.calls[i].line, Drift{Class: DriftCallArgs, Where: where, Want: want, Got: got})
		}
	}
}

// after is the line behind the last call of the turn.
func (o *observed) after(t *tapedTurn) int {
	if n := len(t.calls); n > 0 {
		return t.calls[n-1].line + 1
	}
	return t.user.line + 1
}

// moved reports whether the same calls were made in another order.
func (o *observed) moved(taped []Record) bool {
	if len(taped) != len(o.calls) || len(taped) < 2 {
		return false
	}
	same := true
	count := make(map[string]int)
	for i := range taped {
		a := callText(taped[i])
		b := eventText(o.calls[i])
		same = same && a == b
		count[a]++
		count[b]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return !same
}

func (o *observed) compareResults(t *tapedTurn) {
	for i := range min(len(t.results), len(o.result)) {
		rec, err := o.p.x.load(t.results[i])
		if err != nil || o.result[i].Result == nil {
			return
		}
		want := resultText(rec.Content, rec.IsError)
		got := o.p.redact.Text(resultText(o.result[i].Result.Output, o.result[i].Result.IsError))
		if want != got {
			a, b := window(want, got)
			o.p.drift(o.turn, t.results[i].line, Drift{Class: DriftResult, Where: fmt.Sprintf("result %d", i+1), Want: a, Got: b})
		}
	}
}

func resultText(output json.RawMessage, isError bool) string {
	text := match.CanonicalJSON(output)
	if isError {
		return "error: " + text
	}
	return text
}

func args(text string) string { return match.CanonicalJSON([]byte(text)) }

func callText(r Record) string {
	return r.Call.Function.Name + " " + args(r.Call.Function.Arguments)
}

func eventText(e agent.Event) string {
	return e.Call.Function.Name + " " + args(e.Call.Function.Arguments)
}

func callList(list []Record) string {
	var text strings.Builder
	for _, r := range list {
		text.WriteString(callText(r) + "; ")
	}
	return clip(text.String())
}

func eventList(list []agent.Event) string {
	var text strings.Builder
	for _, e := range list {
		text.WriteString(eventText(e) + "; ")
	}
	return clip(text.String())
}
