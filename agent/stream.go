package agent

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// stream makes one model call, counts it and its tokens, and traces it.
func (r *run) stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		pass := r.trace.pass(req)
		r.logPrompt(ctx, req)
		var usage schemas.Usage
		defer func() {
			r.mu.Lock()
			r.modelCalls++
			r.usage = r.usage.Add(usage)
			r.mu.Unlock()
			pass.end(usage)
		}()
		for chunk, err := range r.route.Provider.Stream(ctx, req) {
			if err != nil {
				pass.fail(err)
				yield(chunk, err)
				return
			}
			if chunk.Usage != nil {
				usage = *chunk.Usage
			}
			pass.chunk(chunk)
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// listen takes a round's stream in: text is shown as it arrives, once the verdict
// is a pass and the hold is open; calls are collected. With quiet, no text is shown.
func (r *run) listen(ctx context.Context, req providers.Request, quiet bool) (*said, error) {
	out := &said{}
	kept := hold{open: len(req.Tools) == 0}
	for chunk, err := range r.stream(ctx, req) {
		if err != nil {
			return out, err
		}
		chunk.Call = r.leak.redact(chunk.Call)
		out.add(chunk)
		if chunk.Switched != nil {
			if err := r.switched(*chunk.Switched); err != nil {
				return out, err
			}
		}
		if chunk.Thinking != "" && !quiet {
			if err := r.think(chunk.Thinking); err != nil {
				return out, err
			}
		}
		if chunk.Text != "" && !quiet {
			if err := r.show(ctx, kept.add(chunk.Text)); err != nil {
				return out, err
			}
		}
		if chunk.Call != nil {
			kept.drop()
		}
		r.grounded = append(r.grounded, chunk.Sources...)
	}
	if r.turn.OneCall {
		out.keepOneCall()
	}
	// A hold that never opened has shown nothing. What a call dropped counts after
	// all when the answer was cut and the call is not executed.
	if len(out.calls()) == 0 && !quiet && !kept.open {
		if err := r.show(ctx, out.text()); err != nil {
			return out, err
		}
	}
	return out, nil
}

// show says a piece of the answer, after the verdict. What an earlier round showed
// is set apart by a blank line.
func (r *run) show(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if err := r.admit(ctx); err != nil {
		return err
	}
	if r.apart {
		r.apart = false
		if r.answer.Len() > 0 {
			text = "\n\n" + strings.TrimLeft(text, "\n")
		}
	}
	r.spoke = r.spoke || strings.TrimSpace(text) != ""
	return r.sayOnSubject(text)
}

// think yields the model's reasoning. An assistant with a topic keeps it to itself:
// models quote their instructions there, and nothing may be sent before the verdict.
func (r *run) think(text string) error {
	if r.assistant.Topic != "" {
		return nil
	}
	return r.emit(Event{Kind: EventThinking, Text: text})
}

// switched notes that another provider answers from here on.
func (r *run) switched(s providers.Switch) error {
	if r.served != nil && *r.served == s {
		return nil
	}
	r.served = &s
	return r.warn(fmt.Sprintf("%s answers instead: %s", s.Provider, s.Why))
}
