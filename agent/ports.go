package agent

import (
	"context"

	"molar/agent/answer"
	"molar/providers"
)

// Models chooses the provider and models of a turn.
type Models interface {
	// Pick returns a route for the wanted names, each empty for the default. It
	// takes at most a moment; an error says why there is none.
	Pick(ctx context.Context, provider, model, small string) (providers.Route, error)
}

// Summaries writes summaries in the background; [memory.Worker] fits.
type Summaries interface {
	// Nudge says that a turn was saved; due, that it moved exchanges behind the summary,
	// which should not wait for a quiet moment. It must not block.
	Nudge(due bool)
	// Began says that a turn runs, until the returned func is called.
	Began() (ended func())
}

// Pauses keeps turns that wait for the client's tools, and calls that wait for a yes.
type Pauses interface {
	PauseStore
	ConsentStore
}

// An Observer is told how each accepted turn went, whether traces are kept or not;
// without a Recorder it gets no prompts and no model's words. It must not block.
type Observer interface {
	Observe(t answer.Trace)
}

// A Recorder takes the trace of each turn. It must not block.
type Recorder interface {
	Record(t answer.Trace)
}
