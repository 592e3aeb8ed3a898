package mcpclients_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// kept returns the decisions that another process with the same keeper reads.
func (k *keeper) kept(context.Context) (schemas.ToolDecisions, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return schemas.ToolDecisions{Off: maps.Clone(k.now.Off), Pins: maps.Clone(k.now.Pins)}, k.err
}

// Two replicas use one database: a decision about a tool on the first applies on the second after its
// next refresh.
func TestRefresh(t *testing.T) {
	real, kept := goodServer(), newKeeper()
	web := serveHTTP(t, server.NewStreamableHTTPServer(real, server.WithStateful(true)))
	pinned := overHTTP(web.URL)
	pinned.Pin = true
	here := start(t, kept.config(pinned))
	there := start(t, mcpclients.Config{Servers: []transport.ServerConfig{pinned}, Keeper: kept, Decisions: schemas.ToolDecisions{Pins: maps.Clone(kept.now.Pins)}})
	refresh := func() {
		t.Helper()
		if err := there.Refresh(t.Context(), kept.kept); err != nil {
			t.Fatal(err)
		}
	}
	for _, on := range []bool{false, true, false} {
		if err := here.Switch(t.Context(), "add", on); err != nil {
			t.Fatal(err)
		}
		if got := tool(t, there, "add"); got.Off == !on {
			t.Fatalf("switched to %v: the second replica knows before its refresh", on)
		}
		refresh()
		if got := tool(t, there, "add"); got.Off == on {
			t.Errorf("switched to %v: the second replica has %+v", on, got)
		}
	}
	// A refresh that is running during a local decision must not undo it, and still brings the others'.
	if err := here.Switch(t.Context(), "sleep", false); err != nil {
		t.Fatal(err)
	}
	decided := false
	err := there.Refresh(t.Context(), func(ctx context.Context) (schemas.ToolDecisions, error) {
		old, err := kept.kept(ctx)
		if decided {
			return old, err
		}
		decided = true
		return old, errors.Join(err, there.Switch(ctx, "add", true), there.Switch(ctx, "weather", false))
	})
	if err != nil {
		t.Fatal(err)
	}
	if add, weather, sleep := tool(t, there, "add"), tool(t, there, "weather"), tool(t, there, "sleep"); add.Off || !weather.Off || !sleep.Off {
		t.Errorf("add off: %v, weather off: %v, sleep off: %v", add.Off, weather.Off, sleep.Off)
	}
	// Approvals are shared too.
	real.AddTool(mcp.NewTool("new"), saying("new"))
	pends := func(m *mcpclients.Manager) bool { return len(status(t, m).Pending) == 1 }
	waitFor(t, "both see the new tool", func() bool { return pends(here) && pends(there) })
	if _, err := here.Approve(t.Context(), "web", ""); err != nil {
		t.Fatal(err)
	}
	refresh()
	if got := tool(t, there, "new"); got.Withheld != "" || pends(there) {
		t.Errorf("after the approval: %+v", got)
	}
	kept.err = errors.New("disk gone")
	if err := there.Refresh(t.Context(), kept.kept); !errors.Is(err, kept.err) {
		t.Errorf("a failed read: %v", err)
	}
	if got := tool(t, there, "weather"); !got.Off {
		t.Error("a failed read switched a tool on")
	}
}
