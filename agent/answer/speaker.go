package answer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// ErrStopped means that the consumer broke off.
var ErrStopped = errors.New("stopped by the consumer")

// A Speaker writes the output of one turn.
type Speaker struct {
	Trace *Tracer

	// BeforeText is called before each piece of text is shown; it may be nil, and blocks until the
	// text may be shown.
	BeforeText func()
	// Private is set if nothing that is asked or answered may be logged, at no level.
	Private bool

	yield  func(Event, error) bool
	log    *slog.Logger
	turnID string
	// marks is set if the steps of a turn are logged.
	marks bool
	leak  *leak // nil lets all pass
	watch *Watch
	// sourced leaves out what stands in no source; nil lets all pass.
	sourced *Sourced
	links   *Links

	mu sync.Mutex // guards tally: the judge and the journal use it concurrently
	tally

	// lang is the language of the turn, once it is settled.
	lang string
	// breakDue is set when the next text starts a new paragraph.
	breakDue bool
	// round is the text since the last call.
	round strings.Builder
	// good is how many bytes of the answer are known to keep to the subject.
	good int
	// spoke is set once the model wrote text since the last call.
	spoke bool
	// wantsJSON is set if the answer must be a JSON value, and texts of the host are refusals.
	wantsJSON bool
}

// tally collects the turn's output and usage so far.
type tally struct {
	seen  Collector
	usage schemas.Usage
	// modelCalls includes the judge's.
	modelCalls int
	// lost is set once the store failed.
	lost bool
	// emergency names the kinds that the question describes.
	emergency []string
}

// NewSpeaker returns the speaker of a turn, which logs under its id.
func NewSpeaker(ctx context.Context, turnID string, tracer *Tracer, log *slog.Logger, yield func(Event, error) bool) *Speaker {
	return &Speaker{Trace: tracer, yield: yield, log: log, turnID: turnID, marks: log.Enabled(ctx, slog.LevelInfo)}
}

// Resume starts with what an earlier process of the turn has shown.
func (s *Speaker) Resume(seen Collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.breakDue = seen, seen.Answer() != "" || len(seen.Commentary) > 0
}

// Emit yields an event; it fails once the consumer has gone.
func (s *Speaker) Emit(e Event) error {
	s.mu.Lock()
	s.seen.Add(e)
	s.mu.Unlock()
	if !s.yield(e, nil) {
		return ErrStopped
	}
	return nil
}

// Say yields a text of the host, unchecked.
func (s *Speaker) Say(text string) error { return s.say(text, s.wantsJSON) }

func (s *Speaker) say(text string, refusal bool) error {
	if text == "" {
		return nil
	}
	if s.breakDue {
		s.breakDue = false
		if s.begun() {
			text = "\n\n" + strings.TrimLeft(text, "\n")
		}
	}
	s.round.WriteString(text)
	if s.BeforeText != nil {
		s.BeforeText()
	}
	return s.Emit(Event{Kind: KindText, Text: text, Refusal: refusal})
}

// begun reports whether any text has been shown.
func (s *Speaker) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.Answer() != "" || len(s.seen.Commentary) > 0
}

// Model yields a piece of the model's text: through the watch over the subject, if set, and the
// filters of sources, of the prompt and of addresses. A strayed answer fails with the error of the watch.
func (s *Speaker) Model(text string) error {
	s.spoke = s.spoke || strings.TrimSpace(text) != ""
	sound, rest, strayed := s.watch.Pass(text)
	found := sound != ""
	sound, rest = s.filter(sound), s.filter(rest)
	if err := s.say(sound+rest, false); err != nil {
		return err
	}
	if found {
		s.good = len(s.Answer()) - len(rest)
	}
	return strayed
}

// Settle yields the text that the checks still hold back.
func (s *Speaker) Settle() error {
	text, err := s.watch.Rest()
	if err != nil {
		return err
	}
	text = s.filter(text)
	text += s.pass(s.leak.Pass(s.sourced.Rest()) + s.leak.Rest())
	return s.say(text+s.links.Rest(), false)
}

// filter returns what the filters let through of a text now.
func (s *Speaker) filter(text string) string {
	if text == "" {
		return ""
	}
	return s.pass(s.leak.Pass(s.sourced.Pass(text)))
}

// pass filters the addresses of a piece of the answer.
func (s *Speaker) pass(text string) string {
	if s.wantsJSON {
		return s.links.JSON(text)
	}
	return s.links.Pass(text)
}

// JSON yields the model's whole answer to a client that wants JSON, as the filters leave it, if check
// finds no fault with that; else it yields nothing and returns the fault.
func (s *Speaker) JSON(text string, check func(text string) error) (fault, err error) {
	if _, _, err := s.watch.Pass(Prose(text)); err != nil {
		return nil, err
	}
	if _, err := s.watch.Rest(); err != nil {
		return nil, err
	}
	text = s.sourced.JSON(text)
	text = s.links.JSON(s.leak.Pass(text)+s.leak.Rest()) + s.links.Rest()
	if fault := check(text); fault != nil {
		return fault, nil
	}
	s.spoke, s.breakDue = true, false
	return nil, s.say(text, false)
}

// Commentary marks the text since the last call as commentary, as a call follows it. It stays on
// the screen, and is not part of the answer.
func (s *Speaker) Commentary() error {
	if err := s.Settle(); err != nil {
		return err
	}
	text := strings.TrimLeft(s.round.String(), "\n") // without the blank line that separates it
	s.round.Reset()
	s.breakDue, s.spoke = true, false
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return s.Emit(Event{Kind: KindCommentary, Text: text})
}

// Notice yields a text of the host that the answer begins with.
func (s *Speaker) Notice(text string) error {
	err := s.Say(text)
	s.round.Reset()
	s.breakDue, s.good = true, len(s.Answer())
	return err
}

// Step reports a step under its number.
func (s *Speaker) Step(number, text string) error {
	return s.Emit(Event{Kind: KindStep, Step: number, Text: text})
}

// Call reports a call that starts, under the number of its step; acts is set if it may have an effect,
// asks if a person is asked first.
func (s *Speaker) Call(step string, call *schemas.ToolCall, tool schemas.Tool, acts, asks bool) error {
	return s.Emit(Event{
		Kind: KindToolCall, Step: step, Call: call, Server: tool.Server, ToolName: tool.ToolName, Effect: acts && isAttached(tool), Asks: asks,
	})
}

// Outcome reports the result of a call; the trace also gets why it was made.
func (s *Speaker) Outcome(step string, o *toolhandler.Outcome, why string) error {
	s.Trace.Outcome(*o, why)
	return s.Emit(Event{
		Kind: KindToolResult, Step: step, Call: &o.Call, Result: &o.Result, Server: o.Tool.Server, ToolName: o.Tool.ToolName,
		Effect: o.Acted && isAttached(o.Tool), DecidedBy: o.DecidedBy, Refused: o.DecidedBy != "" && o.Status == toolhandler.StatusRefused,
	})
}

// isAttached reports whether a tool is one of an attached server. The built-in ones change nothing.
func isAttached(tool schemas.Tool) bool {
	return tool.Server != "" && tool.Server != schemas.ToolServer
}

// Warn reports to the person and the log something about this answer that did not stop the turn.
func (s *Speaker) Warn(code Code, text string) error {
	return s.warn(Event{Code: code, Text: text})
}

// WarnOfHost reports a state of the host that goes on after this answer; server is empty if it is not
// about one server.
func (s *Speaker) WarnOfHost(code Code, server, text string) error {
	return s.warn(Event{Code: code, Server: server, Text: text, Lasting: true})
}

// Lose warns that the store failed, so that the turn will not be saved.
func (s *Speaker) Lose(text string) error {
	s.lost = true
	return s.warn(Event{Code: CodeStoreDown, Text: text, Lasting: true, Unsaved: true})
}

func (s *Speaker) warn(e Event) error {
	e.Kind = KindWarning
	told := e.Text
	if s.Private && !e.Lasting { // it may quote the question
		told = "an answer has a warning: " + string(e.Code)
	}
	s.log.Warn(told, "turn", s.turnID)
	return s.Emit(e)
}

// Answer returns the text of the answer so far. It may be called concurrently with the turn.
func (s *Speaker) Answer() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.Answer()
}

// Shown returns all text shown so far.
func (s *Speaker) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(append(slices.Clone(s.seen.Commentary), s.seen.Answer()), "\n")
}

// Texts returns the texts that a client may keep: the answer, each commentary, and all of them
// together.
func (s *Speaker) Texts() []string {
	all := append([]string{s.Answer()}, s.commentary()...)
	if len(all) > 1 {
		all = append(all, s.Shown())
	}
	return slices.DeleteFunc(all, func(text string) bool { return strings.TrimSpace(text) == "" })
}

func (s *Speaker) commentary() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen.Commentary)
}

// Count adds a model call. It may be called concurrently with the turn.
func (s *Speaker) Count(usage schemas.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modelCalls++
	s.usage = s.usage.Add(usage)
}

// Mark logs a step under its number.
func (s *Speaker) Mark(step, message string, attrs ...any) {
	if !s.marks {
		return
	}
	s.log.Info("[STEP "+step+"] "+message, append([]any{"turn", s.turnID}, attrs...)...)
}

// Between logs a text at debug level, between separators that are easy to find.
func (s *Speaker) Between(ctx context.Context, name, text string) {
	if !s.Verbose(ctx) {
		return
	}
	s.log.Debug("--- "+name+" START ---\n"+text+"\n--- "+name+" END ---", "turn", s.turnID)
}

// Verbose reports whether texts are logged.
func (s *Speaker) Verbose(ctx context.Context) bool {
	return !s.Private && s.log.Enabled(ctx, slog.LevelDebug)
}

// Language notes the language of the turn.
func (s *Speaker) Language(lang string, sure bool) {
	s.lang = lang
	s.Mark("1.5", "Detected language: "+lang, "sure", sure)
	s.Trace.Language(lang)
}

// Lang returns the language of the turn, once settled.
func (s *Speaker) Lang() string { return s.lang }

// Spoke reports whether the model has written text since its last call.
func (s *Speaker) Spoke() bool { return s.spoke }

// WantJSON declares that the answer must be a JSON value.
func (s *Speaker) WantJSON(want bool) { s.wantsJSON = want }

// StartParagraph starts a new paragraph with the next text.
func (s *Speaker) StartParagraph() { s.breakDue = true }

// Good returns the answer so far without a last block that the watch has not checked.
func (s *Speaker) Good() string {
	answer := s.Answer()
	return answer[:min(s.good, len(answer))]
}

// Watch sets the watch over the subject of the answer; nil removes it.
func (s *Speaker) Watch(w *Watch) { s.watch = w }

// Watching returns the watch over the subject, nil if none is set.
func (s *Speaker) Watching() *Watch { return s.watch }

// Source sets the filter of what must stand in a source; nil removes it.
func (s *Speaker) Source(f *Sourced) { s.sourced = f }

// Unsourced returns how many sentences were left out because no source says them.
func (s *Speaker) Unsourced() int { return s.sourced.LeftOut() }

// Address sets the filter of the addresses in the answer.
func (s *Speaker) Address(l *Links) { s.links = l }

// Redact removes quotations of the prompt from a call, which may be nil.
func (s *Speaker) Redact(call *schemas.ToolCall) *schemas.ToolCall { return s.leak.Redact(call) }

// Leaked reports whether any quotation was removed.
func (s *Speaker) Leaked() bool { return s.leak.Leaked() }

// Withhold sets the filter that keeps an assistant's system prompt out of the answer.
func (s *Speaker) Withhold(secret *Secret) {
	s.leak = newLeak(secret, func() string { return prompts.Withheld(s.lang) })
}

// Emergency notes the kinds of emergency that the question describes.
func (s *Speaker) Emergency(kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emergency = kinds
}

// Complete fills in the speaker's part of a turn's summary.
func (s *Speaker) Complete(d *Done) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Usage, d.ModelCalls, d.Warnings, d.Unsaved, d.Emergency = s.usage, s.modelCalls, s.seen.Warnings, s.lost, s.emergency
}

// End returns how the turn ended, for its trace.
func (s *Speaker) End(err error) End {
	e := End{Answer: s.seen.Answer(), Commentary: s.seen.Commentary, Done: s.seen.Done, Err: err}
	e.Stopped = errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled) // the client left, or a person stopped the turn
	if e.Done == nil {
		e.Done = &Done{}
		s.Complete(e.Done)
	}
	return e
}
