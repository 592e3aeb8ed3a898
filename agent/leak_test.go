package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"molar/agent"
	"molar/agent/offer"
	"molar/schemas"
	"molar/toolhandler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// callerFunc executes tools by a function.
type callerFunc func(ctx context.Context, tool string) (schemas.ToolResult, error)

func (f callerFunc) CallFor(ctx context.Context, _ *schemas.Person, _, tool string, _ json.RawMessage) (schemas.ToolResult, error) {
	return f(ctx, tool)
}

// calling builds the bench's agent with the assistant named family and the given caller of tools.
func (b *bench) calling(t *testing.T, limits agent.Limits, call callerFunc) *bench {
	t.Helper()
	handler, err := toolhandler.New(toolhandler.Config{Caller: call})
	if err != nil {
		t.Fatal(err)
	}
	as := family()
	as.Name = "test"
	b.agent, err = agent.New(agent.Config{
		Rank:       offer.Of,
		Assistants: []schemas.Assistant{as}, Default: "test", Models: fakeModels{b.route}, Tools: b.tools,
		Handler: handler, Memory: b.memory, Recorder: b.recorder, Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A client that disconnects while tools run cancels them and the turn: no goroutine stays, and no
// further model call is made.
func TestRun_leavingEndsTheToolsThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		b := familyBench(calls("", "family__get", "{}"), says("too late"))
		b.calling(t, agent.Limits{}, func(ctx context.Context, _ string) (schemas.ToolResult, error) {
			<-ctx.Done()
			ended++
			return schemas.ToolResult{}, ctx.Err()
		})
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, leave)
		start := time.Now()
		var last error
		for _, err := range b.agent.Run(ctx, ask("who?")) {
			last = err
		}
		if !errors.Is(last, context.Canceled) || ended != 1 || len(b.model.requests) != 1 {
			t.Errorf("error %v, %d tools ended, %d model calls", last, ended, len(b.model.requests))
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("the turn ended after %v", took)
		}
	})
}
