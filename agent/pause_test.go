package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/schemas"
)

// shelf is a store that can fail.
type shelf struct {
	kept schemas.PauseRecord
	err  error
}

func (s *shelf) KeepTurn(_ context.Context, k schemas.PauseRecord) error { s.kept = k; return s.err }

func (s *shelf) GetKeptTurn(context.Context, string, string) (json.RawMessage, bool, error) {
	return s.kept.State, s.kept.State != nil, s.err
}

func pauseCalls(ids ...string) []schemas.ToolCall {
	var all []schemas.ToolCall
	for _, id := range ids {
		all = append(all, schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "f", Arguments: "{}"}})
	}
	return all
}

// pausedTurn is a turn whose last round called a server's tool and two of the client's.
func pausedTurn() agent.PausedTurn {
	var parts []schemas.Part
	for _, call := range pauseCalls("a", "b", "c") {
		parts = append(parts, schemas.Part{Kind: schemas.PartCall, Call: &call})
	}
	return agent.PausedTurn{
		PausedIdentity: agent.PausedIdentity{TurnID: "t", ConversationID: "c", Assistant: "plain", Key: "k"},
		PausedWork: agent.PausedWork{Rounds: []schemas.Round{{
			Said:    schemas.Message{Role: schemas.RoleAssistant, Parts: parts},
			Results: []schemas.ToolResult{{ID: "b", ToolName: "f", Server: "srv", Output: json.RawMessage(`"kept"`)}},
		}}, ToolCalls: 1},
	}
}

func TestKeepAndFind(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, turn := &shelf{}, pausedTurn()
	if err := agent.Keep(t.Context(), s, "ann", pauseCalls("a", "c"), turn, now); err != nil {
		t.Fatal(err)
	}
	if k := s.kept; k.Owner != "ann" || k.ConversationID != "c" || !cmp.Equal(k.CallIDs, []string{"a", "c"}) || !k.Expires.Equal(now.Add(time.Hour)) {
		t.Errorf("kept %+v", k)
	}
	got, err := agent.Find(t.Context(), s, "ann", "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&turn, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestKeep_bounded(t *testing.T) {
	turn := pausedTurn()
	turn.Answer = strings.Repeat("x", 9<<20)
	s := &shelf{}
	if err := agent.Keep(t.Context(), s, "", nil, turn, time.Now()); err == nil || s.kept.State != nil {
		t.Errorf("error %v, %d bytes kept", err, len(s.kept.State))
	}
}

// A picture is stored once: those of earlier rounds in the messages, those of the last round in
// its results.
func TestKeep_picturesOnce(t *testing.T) {
	picture := func(letter string) []schemas.Part {
		return []schemas.Part{{Kind: schemas.PartImage, Text: "data:image/png;base64," + strings.Repeat(letter, 100)}}
	}
	s, turn := &shelf{}, pausedTurn()
	turn.Rounds[0].Results[0].Media = picture("L")
	earlier := schemas.ToolResult{ID: "z", ToolName: "f", Server: "srv", Output: json.RawMessage(`"seen"`), Media: picture("E")}
	turn.Rounds = append([]schemas.Round{{Results: []schemas.ToolResult{earlier}}}, turn.Rounds...)
	turn.Messages = []schemas.Message{{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &earlier}}}}
	if err := agent.Keep(t.Context(), s, "ann", pauseCalls("a", "c"), turn, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, letter := range []string{"L", "E"} {
		if n := strings.Count(string(s.kept.State), strings.Repeat(letter, 100)); n != 1 {
			t.Errorf("%s is kept %d times", letter, n)
		}
	}
}

func TestFind_nothing(t *testing.T) {
	for name, state := range map[string]string{"nothing kept": "", "torn": `{"rounds":[`, "no round": `{"turn_id":"t"}`} {
		s := &shelf{}
		if state != "" {
			s.kept.State = json.RawMessage(state)
		}
		if got, err := agent.Find(t.Context(), s, "", "a"); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := agent.Find(t.Context(), &shelf{err: errors.New("down")}, "", "a"); err == nil {
		t.Error("a store that fails passed for an empty one")
	}
}

// All results are in call order, the client's under the client's name.
func TestComplete(t *testing.T) {
	turn := pausedTurn()
	given := []schemas.ToolResult{{ID: "c", ToolName: "f", Output: json.RawMessage(`3`)}, {ID: "a", ToolName: "f", Output: json.RawMessage(`1`)}}
	if err := turn.Complete(given[:1]); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a call without a result: %v", err)
	}
	if err := turn.Complete(given); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range turn.Rounds[0].Results {
		got = append(got, r.ID+" "+r.Server)
	}
	if diff := cmp.Diff([]string{"a " + agent.PauseClient, "b srv", "c " + agent.PauseClient}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	turn.Show(func(r schemas.ToolResult) schemas.ToolResult { return r })
	if last := turn.Messages[len(turn.Messages)-1]; last.Role != schemas.RoleTool || len(last.Parts) != 3 || turn.ToolCalls != 3 {
		t.Errorf("%d calls, last message %+v", turn.ToolCalls, last)
	}
}
