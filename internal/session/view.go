package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"molar/agent/answer"
	"molar/internal/terminal"
	"molar/internal/text"
	"molar/schemas"
)

// quiet is how long nothing may be shown before the session shows what it waits for.
const quiet = 900 * time.Millisecond

// A turnView shows one turn: the answer as Markdown, tools as lines, and below them, while
// nothing else comes, one line with what is waited for.
type turnView struct {
	s         *session
	began     time.Time
	lastEvent time.Time            // when the last event came
	running   map[string]time.Time // the calls under way, by "name"
	names     map[string]string    // of the calls, by their ID
	detail    string               // a running tool's progress message
	waits     bool                 // servers were still starting when the turn began
	answered  bool                 // a part of the answer is on the screen
	open      bool                 // the Markdown is not closed
	warned    bool                 // the turn had a warning, of which the log tells too
}

func (v *turnView) event(e answer.Event) error {
	v.lastEvent = time.Now()
	switch e.Kind {
	case answer.KindText:
		v.hide()
		v.answered = true
		if v.isNotice(e.Text) {
			v.pause()
			v.s.notice(terminal.Emergency, "EMERGENCY / KHẨN CẤP", strings.TrimSpace(e.Text))
			break
		}
		v.open = true
		return v.s.md.Write(e.Text)
	case answer.KindCommentary, answer.KindReset:
		v.hide()
		v.open = false
		return v.s.md.SetApart()
	case answer.KindStart:
		v.s.f.Conversation, v.s.answering, v.s.lastTurn = e.Start.ConversationID, e.Start.Assistant, e.Start.TurnID
	case answer.KindStep:
		v.waits = v.waits || e.Step == stepTools && e.Text != ""
	case answer.KindToolCall:
		v.call(e)
	case answer.KindToolResult:
		v.result(e)
	case answer.KindWarning:
		v.warned = true
		if v.s.reported[e.Text] {
			break
		}
		v.s.reported[e.Text] = e.Lasting
		v.pause()
		v.s.warn(e.Text)
	case answer.KindDone:
		v.done(e.Done)
	}
	return nil
}

// isNotice reports whether a piece of the answer is an emergency notice, which is always one
// whole piece.
func (v *turnView) isNotice(piece string) bool {
	notice := v.s.h.Agent.Notice(strings.TrimSpace(piece))
	return notice != "" && notice == strings.TrimSpace(piece)
}

// call shows a call that starts.
func (v *turnView) call(e answer.Event) {
	v.pause()
	name := terminal.Clean(e.Call.Function.Name)
	if v.names == nil {
		v.names = map[string]string{}
	}
	v.names[e.Call.ID], v.running[e.Call.ID] = name, time.Now()
	columns, _ := v.s.size()
	args := flat(e.Call.Function.Arguments)
	v.s.say("%s", terminal.Bold("• "+terminal.Truncate(name, columns-3))+
		terminal.Dim(terminal.Truncate(" "+args, columns-3-terminal.Width(name))))
}

// result shows the result of a call, on one line.
func (v *turnView) result(e answer.Event) {
	v.pause()
	delete(v.running, e.Result.ID)
	v.detail = ""
	took := e.Result.Duration.Round(time.Millisecond)
	verdict := fmt.Sprintf("  ✓ %s: ", took)
	if e.Result.IsError {
		verdict = fmt.Sprintf("  ✗ %s: ", took)
	}
	if len(v.running) > 0 || len(v.names) > 1 {
		verdict += v.names[e.Result.ID] + ": "
	}
	columns, _ := v.s.size()
	v.s.say("%s", terminal.Dim(terminal.Truncate(verdict+flat(e.Result.OutputText()), columns-1)))
}

// done shows who answered, and how long it took.
func (v *turnView) done(d *answer.Done) {
	v.pause()
	if d.Refused {
		v.s.notice(terminal.Refusal, "refused", v.s.assistant()+" does not answer this; /assistant lists the others")
	}
	parts := []string{d.Provider}
	if d.Model != "" {
		parts = append(parts, d.Model)
	}
	if d.ToolCalls > 0 {
		parts = append(parts, text.Counted(d.ToolCalls, "tool call"))
	}
	parts = append(parts, fmt.Sprintf("%.1f s", time.Since(v.began).Seconds()))
	if d.Saved {
		v.s.answering = v.s.assistant() // the conversation stores it
	} else {
		parts = append(parts, "not saved")
	}
	columns, _ := v.s.size()
	v.s.say("%s", terminal.Dim(terminal.Truncate("["+terminal.Clean(strings.Join(parts, ", "))+"]", columns-1)))
}

// pause ends the open part of the answer, so that a line can be written below it, and leaves
// the cursor at the start of one.
func (v *turnView) pause() {
	v.hide()
	if v.open {
		_ = v.s.md.Close() // the next key notices a terminal that is gone
		v.open = false
	}
}

// excludeWait excludes the time a person took to decide: neither a tool nor the model used it.
func (v *turnView) excludeWait(since time.Time) {
	for id, began := range v.running {
		v.running[id] = began.Add(time.Since(since))
	}
	v.lastEvent = time.Now()
}

// note shows a running tool's message.
func (v *turnView) note(text string) {
	if len(v.running) > 0 {
		v.detail = flat(text)
		v.show()
	}
}

// tick shows what is waited for, for how long, and the held-back part of a long block.
func (v *turnView) tick() error {
	if time.Since(v.lastEvent) > quiet && !v.open {
		v.show()
	}
	return v.resized()
}

// resized repaints the bottom for the new window size.
func (v *turnView) resized() error {
	return v.s.editor.Together(func() error {
		if v.open {
			if err := v.s.md.Flush(); err != nil {
				return err
			}
		}
		return v.s.editor.Paint()
	})
}

// starting names the servers that are still starting.
func (v *turnView) starting() string {
	var names []string
	for _, status := range v.s.h.MCP.Status() {
		if status.State == schemas.StateStarting || status.State == schemas.StateBackoff {
			names = append(names, terminal.Clean(status.Name))
		}
	}
	return strings.Join(names, ", ")
}

// show writes the status line over the previous one.
func (v *turnView) show() {
	what, since := "waiting for the model", v.lastEvent
	if v.lastEvent.IsZero() {
		since = v.began
	}
	if v.waits {
		if names := v.starting(); names != "" {
			what = "waiting for servers: " + names
		}
	}
	if len(v.running) > 0 {
		var names []string
		for _, id := range slices.Sorted(maps.Keys(v.running)) {
			names = append(names, v.names[id])
			since = v.running[id]
		}
		what = strings.Join(names, ", ")
	}
	if v.detail != "" {
		what += ": " + v.detail
	}
	line := fmt.Sprintf("  %.0f s, Ctrl-C stops: %s", time.Since(since).Seconds(), what)
	if next := v.s.waiting(); next != "" {
		line += ";" + next
	}
	v.s.editor.SetStatus(line)
}

// hide leaves in the status line only what waits for the end of the turn.
func (v *turnView) hide() { v.s.editor.SetStatus(v.s.waiting()) }

// flat returns foreign text on one line, shortened, without control sequences.
func flat(text string) string {
	const most = 4 << 10
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return strings.Join(strings.Fields(terminal.Clean(text)), " ")
}
