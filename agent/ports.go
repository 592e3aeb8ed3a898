package agent

import (
	"context"

	"molar/agent/answer"
	"molar/providers"
)

// Models chooses the provider and models of a turn.
type Models interface {
	// Pick returns a route for the wanted names, each empty for the default. It returns within a
	// moment; the error says why there is no route.
	Pick(ctx context.Context, provider, model, small string) (providers.Route, error)
}

// Summaries writes summaries in the background; [memory.Worker] fits.
type Summaries interface {
	// Nudge reports a saved turn. due is set when it moved exchanges into the summary, which should
	// not wait for a quiet moment. It must not block.
	Nudge(due bool)
	// Began reports a running turn; the returned func ends it.
	Began() (ended func())
}

// Pauses stores turns that wait for the client's tools, and calls pending approval.
type Pauses interface {
	PauseStore
	ConsentStore
}

// An Observer receives the trace of each accepted turn, even if no traces are kept; without a
// Recorder the trace has no prompts and no model output. It must not block.
type Observer interface {
	Observe(t answer.Trace)
}

// A Recorder stores the trace of each turn. It must not block.
type Recorder interface {
	Record(t answer.Trace)
}
