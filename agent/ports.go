package agent

import (
	"context"
	"encoding/json"
	"time"

	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

// Models chooses the provider and models of a turn.
type Models interface {
	// Pick returns a route for the wanted names, each empty for the default. It
	// takes at most a moment; an error says why there is none.
	Pick(ctx context.Context, provider, model, small string) (providers.Route, error)
}

// Tools is the catalogue of the attached servers.
type Tools interface {
	// Tools returns the present tools, sorted by server and name.
	Tools() []schemas.Tool
	Status() []schemas.ServerStatus
	// Wait blocks until none of the named servers is starting, or ctx ends.
	Wait(ctx context.Context, servers []string) error
}

// Memory keeps conversations; [memory.Client] fits.
type Memory interface {
	Begin(ctx context.Context, conversationID, owner, key string) (memory.Opening, error)
	Save(ctx context.Context, r memory.Record) error
}

// Summaries brings the summary of one conversation up to date; [memory.Worker] fits.
type Summaries interface {
	CatchUp(ctx context.Context, c memory.Claim) (summary string, covers int64, err error)
	// Nudge says that a turn was saved. It must not block.
	Nudge()
}

// Pauses keeps turns that wait for the results of the client's own tools.
type Pauses interface {
	Keep(ctx context.Context, p Pause) error
	// Kept returns what was stored under a call id of the owner, and whether there is
	// anything.
	Kept(ctx context.Context, owner, callID string) (json.RawMessage, bool, error)
}

// A Pause is a turn to be kept, under each of its call ids, until it expires.
type Pause struct {
	Owner          string
	ConversationID string
	CallIDs        []string
	State          json.RawMessage
	Expires        time.Time
}

// An Observer is told how each accepted turn went, whether traces are kept or not;
// without a Recorder it gets no prompts and no model's words. It must not block.
type Observer interface {
	Observe(t Trace)
}

// A Recorder takes the trace of each turn. It must not block.
type Recorder interface {
	Record(t Trace)
}

// A Ranker orders tools by how well they fit a question, best first, with a score.
type Ranker func(question string, tools []schemas.ToolInfo) []Ranked

// Ranked is a tool with its score.
type Ranked struct {
	Name  string
	Score float64
}
