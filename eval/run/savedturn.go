package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"molar/agent/answer"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/internal/store"
	"molar/schemas"
)

// recordTurn makes a case from a saved turn.
func (a *Commands) recordTurn(ctx context.Context, f RecordFlags) error {
	c, err := f.draft()
	if err != nil {
		return err
	}
	h, err := a.openHost(ctx, f.MCP)
	if err != nil {
		return err
	}
	defer h.Close()
	raw, err := serve.Trace(ctx, a.CLI, h.Config, f.Turn)
	if err != nil {
		return err
	}
	var t answer.Trace
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	e, err := gather(ctx, h, t)
	if not, ok := errors.AsType[schemas.UntestableError](err); ok {
		return cli.Usage(fmt.Errorf("turn %q: %w", f.Turn, not))
	}
	if err != nil {
		return err
	}
	if e.Error != "" && !f.AllowFailure {
		return a.requireComplete(c.ID, []string{fmt.Sprintf("turn %s ended as %s: %s", f.Turn, e.Status, e.Error)})
	}
	if err := h.Attached(ctx); err != nil && !f.AllowFailure {
		return a.requireComplete(c.ID, []string{err.Error()})
	}
	// The case has what happened, whatever the mark; an answer marked down is no model for other answers.
	mark := e.feedback.Mark
	e.feedback = schemas.Feedback{}
	if err := a.writeTurn(ctx, h, c, e, eval.NoMasker()); err != nil || mark == schemas.MarkDown {
		return err
	}
	return a.proposeChecks(c.File, f.Take, host.Redactor(h.Config))
}

// openHost opens a host with the person's own config.
func (a *Commands) openHost(ctx context.Context, servers []string) (*host.Host, error) {
	cfg, err := a.LoadWithServers(nil, servers)
	if err != nil {
		return nil, err
	}
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return nil, err
	}
	return host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Env: a.Env})
}

// A savedTurn is what was stored of a turn.
type savedTurn struct {
	answer.Trace
	// earlier holds the previous messages; missing describes those that are not available.
	earlier  []eval.Message
	missing  string
	feedback schemas.Feedback
	// tapes are those of the conversation's turns up to this one, if all were kept.
	tapes []*tape.Tape
	// why it was selected, if it was.
	why []string
}

// endOf returns the end of a turn's id, for the name of a case.
func endOf(turnID string) string { return eval.SafeName(turnID[max(0, len(turnID)-8):]) }

// load loads what was stored of a turn. It fails with a [schemas.UntestableError] if no case can be made of it.
func load(ctx context.Context, h *host.Host, turnID string) (none savedTurn, err error) {
	t, ok, err := traceOf(ctx, h, turnID)
	switch {
	case err != nil:
		return none, err
	case !ok:
		return none, untraced
	}
	return gather(ctx, h, t)
}

// traceOf returns the trace of a turn; ok is false if none is kept.
func traceOf(ctx context.Context, h *host.Host, turnID string) (t answer.Trace, ok bool, err error) {
	kept, ok, err := h.DB.GetTrace(ctx, turnID)
	if err != nil || !ok {
		return t, false, err
	}
	if err := json.Unmarshal(kept.Body, &t); err != nil {
		return t, false, fmt.Errorf("read the trace of turn %q: %w", turnID, err)
	}
	t.Owner = kept.Owner
	return t, true, nil
}

// Why no case can be made of a turn.
const (
	untraced schemas.UntestableError = "it has no trace: none was written, or it is no longer kept"
	textless schemas.UntestableError = "the text of a refused question is not kept; telemetry.wire together with wire: true of the assistant keeps it from then on"
)

// gather loads what was stored of a turn in addition to its trace. Of a refused question the trace has no text,
// but its wire traffic has, if the settings keep that.
func gather(ctx context.Context, h *host.Host, t answer.Trace) (e savedTurn, err error) {
	e.Trace = t
	if e.Untraced {
		return e, untraced
	}
	if e.Question == "" {
		own, err := keptTape(ctx, h, e.TurnID)
		if err != nil {
			return e, err
		}
		if own == nil || len(own.Turns) == 0 {
			return e, textless
		}
		e.Question = own.Turns[0].User
	}
	if e.feedback, _, err = h.DB.GetMark(ctx, e.TurnID); err != nil {
		return e, err
	}
	if e.earlier, e.missing, err = earlierMessages(ctx, h, e.Trace); err != nil {
		return e, err
	}
	e.tapes, err = keptTapes(ctx, h, e.Trace)
	return e, err
}

// expect returns what a case of the turn expects: what happened, or another answer if a person marked it down,
// found nothing by it, or asked again. A refusal may be right, so it is expected until a person says otherwise.
func (e *savedTurn) expect(seen tape.Turn) eval.Expect {
	isBad := e.feedback.Mark == schemas.MarkDown
	if e.feedback.Mark == "" {
		isBad = slices.Contains(e.why, host.WhyNoResult) || slices.Contains(e.why, host.WhyAskedTwice)
	}
	switch {
	case isBad:
		other := eval.ExpectOtherAnswer(seen)
		other.Found = answer.OutcomeOf(e.Trace) == schemas.OutcomeNotFound
		return other
	case e.Status == string(schemas.OutcomeRefused):
		return eval.Expect{Guardrail: seen.Guardrail}
	}
	return eval.Observed(seen)
}

// texts returns what people, models and tools wrote in a turn.
func (e *savedTurn) texts() []string {
	all := []string{e.feedback.Note, e.Question, e.Answer}
	for _, m := range e.earlier {
		all = append(all, m.Content)
	}
	for _, p := range e.Passes {
		all = append(all, p.Output, p.Thinking)
		for _, call := range p.Calls {
			all = append(all, call.Function.Arguments)
		}
	}
	for _, t := range e.tapes {
		for _, r := range t.Records {
			all = append(all, r.Text, string(r.Content))
			if r.Call != nil {
				all = append(all, r.Call.Function.Arguments)
			}
		}
	}
	for _, tool := range e.Tools {
		for _, call := range tool.Calls {
			all = append(all, call.Arguments, call.Output)
		}
	}
	return all
}

// mask replaces all personal data.
func (e *savedTurn) mask(m *eval.Masker) error {
	raw, err := json.Marshal(e.Trace)
	if err != nil {
		return err
	}
	e.Trace = answer.Trace{}
	if err := json.Unmarshal([]byte(m.Text(string(raw))), &e.Trace); err != nil {
		return fmt.Errorf("mask the trace of a turn: %w", err)
	}
	for i := range e.earlier {
		e.earlier[i].Content = m.Text(e.earlier[i].Content)
	}
	e.feedback.Note = m.Text(e.feedback.Note)
	return nil
}

// writeTurn writes a case and a tape from a turn, and replays it. The tape is made from the kept
// wire traffic of the conversation if that replays without drift, else from the trace.
func (a *Commands) writeTurn(ctx context.Context, h *host.Host, c eval.Case, e savedTurn, masker *eval.Masker) error {
	if err := e.mask(masker); err != nil {
		return err
	}
	config, err := configFrom(filepath.Dir(c.File), h.Config.File)
	if err != nil {
		return cli.Usage(err)
	}
	c.V, c.Config, c.Note, c.Assistant = eval.CaseVersion, config, e.feedback.Note, cmp.Or(c.Assistant, e.Assistant)
	if len(e.tapes) > 0 {
		r, err := a.tryTape(ctx, h, c, e, func() ([]byte, error) { return tape.Join(c.ID, e.tapes, masker.Text) })
		if err == nil && r.Status != eval.StatusDrift {
			return a.printReplay(c, r)
		}
		if err != nil {
			r.Why = err.Error()
		}
		a.Say("%s: the kept wire traffic does not replay as it was, so the tape is made from the trace: %s", c.ID, r.Why)
	}
	if len(e.earlier) > 0 {
		c.Input = &eval.Input{Messages: e.earlier}
	}
	if e.missing != "" {
		a.Say("turn %s: not in the case: %s", e.TurnID, e.missing)
	}
	r, err := a.tryTape(ctx, h, c, e, func() ([]byte, error) { return tapeOf(h, c.ID, e.Trace) })
	if err != nil {
		return err
	}
	return a.printReplay(c, r)
}

// tryTape writes a tape and its case, with expectations for the last turn, and replays it.
func (a *Commands) tryTape(ctx context.Context, h *host.Host, c eval.Case, e savedTurn, make func() ([]byte, error)) (none eval.CaseResult, err error) {
	data, err := make()
	if err == nil {
		err = os.WriteFile(c.TapeFile(), data, 0o600)
	}
	if err != nil {
		return none, err
	}
	t, err := c.ReadTape()
	if err != nil {
		return none, err
	}
	for _, seen := range t.Turns {
		c.Turns = append(c.Turns, eval.Turn{User: seen.User})
	}
	last := len(t.Turns) - 1
	if last < 0 {
		return none, errors.New("the trace made no whole tape")
	}
	c.Turns[last].Expect = e.expect(t.Turns[last])
	if err := writeCase(c, host.Redactor(h.Config)); err != nil {
		return none, err
	}
	cases, err := eval.Load(c.File)
	if err != nil {
		return none, evalError(err)
	}
	runner, err := a.runner(eval.Mode{}, Flags{Quiet: true}, cases)
	if err != nil {
		return none, err
	}
	defer runner.Close()
	r, err := runner.Case(ctx, &cases[0])
	if err != nil {
		return none, evalError(err)
	}
	return r, nil
}

// printReplay prints what was written and the result of the replay. A failed replay is no error
// of the command: the person decides what to do about it.
func (a *Commands) printReplay(c eval.Case, r eval.CaseResult) error {
	t, err := c.ReadTape()
	if err != nil {
		return err
	}
	a.printTurns(t.Turns)
	a.printWritten(c)
	if r.Status == eval.StatusPass {
		a.Say("replayed: it passes")
		return nil
	}
	a.Say("replayed: %s, %s", r.Status, r.Why)
	return nil
}

// maxEarlier is the maximum number of earlier messages in a case.
const maxEarlier = 20

// earlierMessages returns the messages before the turn; missing describes those that are not
// available.
func earlierMessages(ctx context.Context, h *host.Host, t answer.Trace) (earlier []eval.Message, missing string, err error) {
	switch {
	case t.Memory == "stateless":
		return nil, "earlier messages that the client sent along, if any: no trace keeps them", nil
	case t.Memory != "read" || t.ConversationID == "":
		return nil, "", nil
	}
	messages, err := messagesBefore(ctx, h, t)
	if err != nil {
		return nil, "", err
	}
	for _, m := range messages {
		earlier = append(earlier, eval.Message{Role: string(m.Role), Content: m.Content})
	}
	if over := len(earlier) - maxEarlier; over > 0 {
		earlier, missing = earlier[over:], fmt.Sprintf("%d messages from the beginning of the conversation", over)
	}
	return earlier, missing, nil
}

// messagesBefore returns the messages of a turn's conversation before the turn, which has none itself if it
// was refused.
func messagesBefore(ctx context.Context, h *host.Host, t answer.Trace) ([]schemas.StoredMessage, error) {
	if t.ConversationID == "" {
		return nil, nil
	}
	all, _, err := h.DB.Messages(ctx, "", t.ConversationID, store.MessageRange{})
	if end := slices.IndexFunc(all, func(m schemas.StoredMessage) bool { return m.TurnID == t.TurnID || !m.Timestamp.Before(t.Started) }); end >= 0 {
		all = all[:end]
	}
	return all, err
}

// keptTapes returns the tapes of the turns of a conversation up to this one. It returns none if
// one of them was not kept, or if a verdict was cached, since that judge call is on no tape.
func keptTapes(ctx context.Context, h *host.Host, t answer.Trace) (all []*tape.Tape, err error) {
	if t.Memory == "stateless" {
		return nil, nil
	}
	messages, err := messagesBefore(ctx, h, t)
	if err != nil {
		return nil, err
	}
	var turns []string
	for _, m := range messages {
		turns = append(turns, m.TurnID)
	}
	for _, id := range append(slices.Compact(turns), t.TurnID) {
		kept, err := keptTape(ctx, h, id)
		if err != nil || kept == nil {
			return nil, err
		}
		trace, _, err := traceOf(ctx, h, id)
		if err != nil || trace.Verdict != nil && trace.Verdict.Cached {
			return nil, err
		}
		all = append(all, kept)
	}
	return all, nil
}

// keptTape returns the kept wire traffic of a turn; nil if there is none.
func keptTape(ctx context.Context, h *host.Host, turnID string) (*tape.Tape, error) {
	lines, ok, err := h.DB.GetWire(ctx, turnID)
	if err != nil || !ok {
		return nil, err
	}
	return tape.Read("the kept traffic of turn "+turnID, lines)
}
