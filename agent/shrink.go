package agent

import (
	"context"
	"errors"
	"slices"

	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
)

const (
	// leastResult is the fewest bytes of a result that stay when it is shortened.
	leastResult = 256
	// leastPast is the fewest bytes in which earlier exchanges are worth showing.
	leastPast = 512
	// pastShare is the part of the free room that the past keeps when it gives way, without its
	// summary.
	pastShare = 3
	// maxTries bounds how often a request is sent again, shorter, when a model refuses its length.
	maxTries = 3
)

// call makes the model call of a round. The prompt is fitted into the model's window. A model that
// refuses its length before any output is asked again with half of it, and its window is learnt. No
// tool runs twice for that.
func (a *Agent) call(ctx context.Context, w *task, p *prompt, o *offer.Offer, rules flowRules, ask *step, quiet bool, verdict *Gate, progress *outcome) (*Reply, *providers.Request, error) {
	if room, known := a.messageBytes(ctx, w, len(p.system), offer.Size(o.Tools)); known {
		if err := a.fit(ctx, w, p, ask, progress, room); err != nil {
			return nil, nil, err
		}
	}
	for try := 1; ; try++ {
		req := a.request(ctx, w, p.system, o, rules, *ask)
		reply, err := a.listen(ctx, w, req, quiet, verdict, progress)
		if bare, changed := withoutPastFiles(ask.messages); changed && providers.KindOf(err) == providers.KindInvalid && reply.isEmpty() {
			ask.messages = bare
			w.out.Mark("8", "The model refused the request: asked again without the files of earlier questions")
			continue
		}
		if try > maxTries || providers.KindOf(err) != providers.KindContextLength || !reply.isEmpty() {
			return reply, req, err
		}
		before := Size(ask.messages)
		a.learnWindow(ctx, w, req, err)
		room, known := a.messageBytes(ctx, w, len(p.system), offer.Size(o.Tools))
		if !known || room > before/2 {
			room = before / 2
		}
		if err := a.fit(ctx, w, p, ask, progress, room); err != nil {
			return reply, req, err
		}
		after := Size(ask.messages)
		if after >= before { // there is nothing to leave out
			return reply, req, err
		}
		w.out.Mark("8", "The model refused the length of the prompt: asked again with a shorter one", "bytes", after, "before", before)
	}
}

// learnWindow records the window of a model that refused the length of a prompt: as the refusal
// names it, else, if it is not known, a guess that half of the prompt fits.
func (a *Agent) learnWindow(ctx context.Context, w *task, req *providers.Request, err error) {
	e, _ := errors.AsType[*providers.Error](err)
	switch {
	case e.Window > 0:
		a.windows.learn(e.Provider, e.Model, e.Window)
	case a.maxWindow(ctx, w) == 0 || a.windows.guessed(w):
		half := int(float64(promptSize(req))/a.tokens.BytesOf(w.route.Model)) / 2
		a.windows.guess(e.Provider, e.Model, half+w.answerRoom())
	}
}

// fit shortens the messages of the next request if they exceed the room. It replays the rounds of
// the turn, so that a client that sends them all with each request gets the same prompt as in the
// request before, until the room is passed again.
func (a *Agent) fit(ctx context.Context, w *task, p *prompt, ask *step, progress *outcome, room int) error {
	if Size(ask.messages) <= room {
		return nil
	}
	at := questionAt(ask.messages) + 1
	rounds := ask.messages[at:]
	messages := slices.Clone(ask.messages[:at])
	for i, m := range rounds {
		messages = append(messages, m)
		if last := i == len(rounds)-1; !last && m.Role != schemas.RoleTool || Size(messages) <= room {
			continue
		}
		var err error
		if messages, err = a.shrink(ctx, w, p, messages, progress, room); err != nil {
			return err
		}
	}
	if len(rounds) == 0 {
		var err error
		if messages, err = a.shrink(ctx, w, p, messages, progress, room); err != nil {
			return err
		}
	}
	ask.messages = messages
	return nil
}

// shrink returns messages that are shortened to a room. The past gives way first, where it takes
// more than half of what the question and the calls leave. Then the results of this turn are
// shortened to half of their room, oldest first, so that the next rounds fit without that. If that
// is not enough, the oldest rounds go.
func (a *Agent) shrink(ctx context.Context, w *task, p *prompt, messages []schemas.Message, progress *outcome, room int) ([]schemas.Message, error) {
	at := questionAt(messages)
	past, asked, rounds := messages[:at], messages[at], slices.Clone(messages[at+1:])
	free := room - Size([]schemas.Message{asked}) - Size(rounds) + resultSize(rounds)
	if Size(past) > max(free, 0)/2 || free < room/2 {
		smaller, err := a.smaller(ctx, w, p, room, free)
		if err != nil {
			return nil, err
		}
		past, asked = smaller[:len(smaller)-1], smaller[len(smaller)-1]
	}
	free = room - Size(past) - Size([]schemas.Message{asked}) - Size(rounds) + resultSize(rounds)
	if resultSize(rounds) > free {
		a.shortenResults(ctx, w, rounds, progress, max(free, 0)/2)
	}
	head := slices.Concat(past, []schemas.Message{asked})
	if rest, dropped := newest(rounds, room-Size(head)); dropped > 0 {
		rounds = rest
		head[len(head)-1] = prompts.WithoutCalls(w.out.Lang(), asked)
	}
	return slices.Concat(head, rounds), nil
}

// smaller builds the past and the question within a smaller room; free is what the question and the
// calls leave of it.
func (a *Agent) smaller(ctx context.Context, w *task, p *prompt, room, free int) ([]schemas.Message, error) {
	c, bytes := p.content, free/pastShare
	if bytes < leastPast {
		c.past.exchanges, c.past.summary = nil, ""
	}
	smaller, err := a.build(ctx, w, &c, p.system, limits{past: pastRoom{all: bytes, last: bytes}, passages: min(a.resultBytes(ctx, w, 1), max(room/resultShare, leastResult))})
	if err != nil {
		return nil, err
	}
	p.passages = smaller.passages
	if smaller.compacted != nil {
		p.compacted = smaller.compacted
	}
	return smaller.messages[:questionAt(smaller.messages)+1], nil
}

// shortenResults shortens the results in the rounds of a turn, oldest first, until they have most
// bytes together.
func (a *Agent) shortenResults(ctx context.Context, w *task, rounds []schemas.Message, progress *outcome, most int) {
	total := resultSize(rounds)
	for i, m := range rounds {
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			if p.Result == nil || total <= most {
				continue
			}
			bytes := max(prompts.Shown(*p.Result)-(total-most), leastResult)
			short := w.results.Shorten(ctx, *p.Result, bytes)
			parts[j] = prompts.Results([]schemas.ToolResult{short}, 0).Parts[0]
			total -= len(p.Text) - len(parts[j].Text)
			progress.shorten(short.ID, bytes)
		}
		rounds[i].Parts = parts
	}
}

// newest returns the newest rounds that fit into a room, at least the last one, and how many
// messages it dropped.
func newest(rounds []schemas.Message, room int) (rest []schemas.Message, dropped int) {
	rest = rounds
	for Size(rest) > room {
		next := slices.IndexFunc(rest[min(1, len(rest)):], func(m schemas.Message) bool { return m.Role == schemas.RoleAssistant })
		if next < 0 {
			break
		}
		rest = rest[next+1:]
	}
	return rest, len(rounds) - len(rest)
}

// resultSize returns the bytes of the results in messages.
func resultSize(messages []schemas.Message) int {
	n := 0
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == schemas.PartResult {
				n += len(p.Text)
			}
		}
	}
	return n
}

// questionAt returns the index of the question, which is the last message of a person.
func questionAt(messages []schemas.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == schemas.RoleUser {
			return i
		}
	}
	return 0
}
