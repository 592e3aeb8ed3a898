package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/server"
)

func TestSessions_IdleUnlessUsedOrHeld(t *testing.T) {
	now := time.Unix(0, 0)
	s := newSessions(func() time.Time { return now })
	idle, used, held := s.Generate(), s.Generate(), s.Generate()
	release := s.hold(held)
	now = now.Add(sessionTTL / 2)
	if _, err := s.Validate(used); err != nil {
		t.Fatal(err)
	}
	now = now.Add(sessionTTL / 2)
	if diff := cmp.Diff([]string{idle}, s.idle(sessionTTL)); diff != "" {
		t.Errorf("idle (-want +got)\n%s", diff)
	}
	release()
	s.hold("no session")()
	if _, err := s.Terminate(idle); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Validate(idle); !errors.Is(err, errSession) {
		t.Errorf("an ended session: %v", err)
	}
	now = now.Add(sessionTTL)
	if got := s.idle(sessionTTL); len(got) != 2 {
		t.Errorf("%d idle sessions, want the released and the used one", len(got))
	}
}

func TestSessions_ExcessIsTheLeastUsed(t *testing.T) {
	now := time.Unix(0, 0)
	s := newSessions(func() time.Time { return now })
	held := s.Generate()
	release := s.hold(held)
	defer release()
	if got := s.excess(1); got != nil {
		t.Errorf("a session with an open stream is in excess: %v", got)
	}
	var ids []string
	for range 3 {
		now = now.Add(time.Second)
		ids = append(ids, s.Generate())
	}
	now = now.Add(time.Second)
	if _, err := s.Validate(ids[0]); err != nil {
		t.Fatal(err)
	}
	if got := s.excess(5); got != nil {
		t.Errorf("with room left: %v", got)
	}
	if diff := cmp.Diff([]string{ids[1]}, s.excess(4)); diff != "" {
		t.Errorf("excess (-want +got)\n%s", diff)
	}
}

func TestEvents_ReplayOfOneStreamIsBounded(t *testing.T) {
	e, ctx := newEvents(), t.Context()
	var ids []string
	for i := range keptEvents + 10 {
		id, err := e.StoreEvent(ctx, "s", fmt.Sprint("stream", i%2), json.RawMessage(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	replay := func(session, last string) ([]string, error) {
		var got []string
		_, err := e.ReplayEventsAfter(ctx, session, last, func(_ string, m json.RawMessage) error {
			got = append(got, string(m))
			return nil
		})
		return got, err
	}
	got, err := replay("s", ids[len(ids)-5])
	if diff := cmp.Diff([]string{"263", "265"}, got); err != nil || diff != "" {
		t.Errorf("replay: %v (-want +got)\n%s", err, diff)
	}
	for session, last := range map[string]string{"s": ids[0], "other": ids[len(ids)-1]} {
		if _, err := replay(session, last); !errors.Is(err, server.ErrUnknownEventID) {
			t.Errorf("event %s of session %s: %v", last, session, err)
		}
	}
	if err := e.PurgeSession(context.Background(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := replay("s", ids[len(ids)-1]); err == nil {
		t.Error("a purged session was replayed")
	}
}

func TestLimiter_ForgetsIdleClients(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLimiter(20, func() time.Time { return now })
	for i := range manyClients {
		l.take(fmt.Sprint(i), 1)
	}
	now = now.Add(time.Second)
	l.take("new", 1)
	if len(l.left) != 1 {
		t.Errorf("%d clients are remembered, want 1", len(l.left))
	}
}
