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

	"molar/internal/httpguard"
)

func TestSessions_IdleUnlessUsedOrHeld(t *testing.T) {
	now := time.Unix(0, 0)
	s := newSessions(func() time.Time { return now })
	nobody := httpguard.Principal{}
	idle, used, held := s.begin(nobody), s.begin(nobody), s.begin(nobody)
	release := s.hold(held)
	now = now.Add(sessionTTL / 2)
	if err := s.check(nobody, used); err != nil {
		t.Fatal(err)
	}
	now = now.Add(sessionTTL / 2)
	if diff := cmp.Diff([]string{idle}, s.idle(sessionTTL)); diff != "" {
		t.Errorf("idle (-want +got)\n%s", diff)
	}
	release()
	s.hold("no session")()
	if _, err := (keyed{s, nobody}).Terminate(idle); err != nil {
		t.Fatal(err)
	}
	if err := s.check(nobody, idle); !errors.Is(err, errSession) {
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
	nobody := httpguard.Principal{}
	held := s.begin(nobody)
	release := s.hold(held)
	defer release()
	if got := s.excess(1); got != nil {
		t.Errorf("a session with an open stream is in excess: %v", got)
	}
	var ids []string
	for range 3 {
		now = now.Add(time.Second)
		ids = append(ids, s.begin(nobody))
	}
	now = now.Add(time.Second)
	if err := s.check(nobody, ids[0]); err != nil {
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
