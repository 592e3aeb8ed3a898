package tape

import (
	"encoding/json"
	"fmt"
	"strings"

	"molar/eval/match"
)

// compare reports the differences between a turn of the replay and the one on the tape. With a
// live model the turns are not comparable.
func (p *Player) compare(turn int, now *Turn) {
	if p.cfg.LiveModel || p.hasLeft() || turn > len(p.cfg.Tape.Turns) {
		return
	}
	was := &p.cfg.Tape.Turns[turn-1]
	recorded := !p.IsBuilt()
	p.compareLines(turn, was, now)
	if recorded {
		p.compareText(turn, was.At.User, Messages, "user", was.User, now.User)
	}
	if recorded && now.Assistant != "" { // the turn began
		p.compareText(turn, was.At.User, Config, "assistant", was.Assistant, now.Assistant)
	}
	if h := p.cfg.Tape.Header; recorded {
		if model, same := strings.CutPrefix(now.By, h.Provider+" "); same {
			p.compareText(turn, 1, Config, "model", h.Model, model)
		}
	}
	p.compareGuard(turn, was, now)
	p.compareCalls(turn, was, now)
	p.compareResults(turn, was, now)
	if now.Sum.Error != "" && was.Answered && was.Sum.Error == "" && !p.drifted(turn) { // it failed before its first request
		p.drift(turn, was.At.User, Drift{Class: TurnFailed, Where: "turn", Want: "an answer", Got: now.Sum.Error})
	}
	if p.cfg.Tape.Header.Imported != "" { // another program may assemble its answers differently
		return
	}
	if !was.Answered || p.cfg.LiveTools && hasResults(was) {
		return
	}
	p.compareText(turn, was.At.Answer, Answer, "answer", was.Answer, now.Answer)
	if recorded && !p.drifted(turn) {
		p.compareText(turn, was.At.Answer, Answer, "end of the turn", match.Canonical(was.Sum), match.Canonical(now.Sum))
	}
}

// compareText reports a text that differs from the one at a line of the tape; 0 is no line.
func (p *Player) compareText(turn, line int, class, where, was, now string) {
	if now = p.cfg.Redactor.Text(now); line > 0 && was != now {
		p.drift(turn, line, differing(class, where, was, now))
	}
}

// compareLines reports lines that every recording of a turn has and that are missing on the
// tape, or there twice: without them the missing parts would not be compared.
func (p *Player) compareLines(turn int, was, now *Turn) {
	lost := func(class, where, got string) {
		p.drift(turn, p.cfg.Tape.Records[len(p.cfg.Tape.Records)-1].Line, Drift{Class: class, Where: where, Want: "(the tape has lost its line)", Got: clip(got)})
	}
	if was.At.User == 0 {
		lost(Messages, "user", now.User)
	}
	if p.cfg.Tape.Torn != nil { // the missing end is reported already
		return
	}
	if was.At.Answer == 0 {
		lost(Answer, "answer", now.Answer)
		return
	}
	for i := range min(len(was.Calls), len(now.Calls)) {
		if !was.Calls[i].Done && now.Calls[i].Done && was.Sum.Error == "" {
			lost(Result, fmt.Sprintf("result %d", i+1), resultText(now.Calls[i].Output, now.Calls[i].IsError))
		}
	}
	if p.IsBuilt() || p.drifted(turn) || now.Sum.Error != "" && was.Sum.Error == "" {
		return
	}
	for _, lines := range []struct {
		class    string
		was, now int
	}{{Guardrail, was.verdicts, now.verdicts}, {Result, was.results, now.results}} {
		if lines.was != lines.now {
			p.drift(turn, was.At.Answer, Drift{Class: lines.class, Where: "lines", Want: fmt.Sprint(lines.was), Got: fmt.Sprint(lines.now)})
		}
	}
}

func hasResults(s *Turn) bool {
	for _, c := range s.Calls {
		if c.Done {
			return true
		}
	}
	return false
}

func (p *Player) compareGuard(turn int, was, now *Turn) {
	if was.At.Guardrail != 0 && was.Guardrail != now.Guardrail && (now.Sum.Error == "" || now.Guardrail != "") {
		p.drift(turn, was.At.Guardrail, Drift{Class: Guardrail, Where: "guardrail", Want: was.Guardrail, Got: now.Guardrail})
	}
}

// compareCalls compares the calls by position, unless only their order changed.
func (p *Player) compareCalls(turn int, was, now *Turn) {
	if reordered(was.Calls, now.Calls) {
		p.drift(turn, was.Calls[0].Line, Drift{Class: CallOrder, Where: "calls", Want: callList(was.Calls), Got: callList(now.Calls)})
		return
	}
	for i := range max(len(was.Calls), len(now.Calls)) {
		where := fmt.Sprintf("call %d", i+1)
		switch {
		case i >= len(now.Calls):
			if now.Sum.Error == "" { // a failed turn makes no further calls
				p.drift(turn, was.Calls[i].Line, Drift{Class: CallMissing, Where: where, Want: callText(was.Calls[i]), Got: "(nothing)"})
			}
		case i >= len(was.Calls):
			p.drift(turn, afterCalls(was), Drift{Class: CallExtra, Where: where, Want: "(nothing)", Got: callText(now.Calls[i])})
		case p.nameOf(was.Calls[i]) != p.nameOf(now.Calls[i]):
			p.drift(turn, was.Calls[i].Line, Drift{Class: CallName, Where: where, Want: callText(was.Calls[i]), Got: callText(now.Calls[i])})
		case !p.IsBuilt() && (was.Calls[i].Server != now.Calls[i].Server || was.Calls[i].Tool != now.Calls[i].Tool):
			p.drift(turn, was.Calls[i].Line, Drift{Class: CallName, Where: where, Want: was.Calls[i].Server + "__" + was.Calls[i].Tool, Got: now.Calls[i].Server + "__" + now.Calls[i].Tool})
		case args(was.Calls[i].Call.Function.Arguments) != args(p.cfg.Redactor.Text(now.Calls[i].Call.Function.Arguments)):
			p.drift(turn, was.Calls[i].Line, differing(CallArgs, where, callText(was.Calls[i]), callText(now.Calls[i])))
		}
	}
}

// nameOf returns the name by which a call is compared. Another program's recording has only the
// tools' own names.
func (p *Player) nameOf(c TurnCall) string {
	if p.cfg.Tape.Header.Imported != "" && c.Server != "" && c.Tool != "" {
		return c.Tool
	}
	return c.Call.Function.Name
}

// afterCalls returns the line after the last call of the turn.
func afterCalls(s *Turn) int {
	if n := len(s.Calls); n > 0 {
		return s.Calls[n-1].Line + 1
	}
	return s.At.User + 1
}

// reordered reports whether the same calls were made in another order.
func reordered(was, now []TurnCall) bool {
	if len(was) != len(now) || len(was) < 2 {
		return false
	}
	same := true
	count := make(map[string]int)
	for i := range was {
		a, b := callText(was[i]), callText(now[i])
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

// compareResults compares the results by the position of their calls.
func (p *Player) compareResults(turn int, was, now *Turn) {
	for i := range min(len(was.Calls), len(now.Calls)) {
		w, n := was.Calls[i], now.Calls[i]
		if !w.Done || !n.Done {
			continue
		}
		want, got := resultText(w.Output, w.IsError), p.cfg.Redactor.Text(resultText(n.Output, n.IsError))
		if want != got {
			p.drift(turn, w.DoneLine, differing(Result, fmt.Sprintf("result %d", i+1), want, got))
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

func callText(c TurnCall) string {
	return c.Call.Function.Name + " " + args(c.Call.Function.Arguments)
}

func callList(list []TurnCall) string {
	var text strings.Builder
	for _, c := range list {
		text.WriteString(callText(c) + "; ")
	}
	return clip(text.String())
}
