package wire_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers/wire"
	"molar/schemas"
)

// shelf stores refusals for several processes.
type shelf struct {
	kept map[string]schemas.Refusal
	err  error
}

func (s *shelf) Refusals(context.Context) (all []schemas.Refusal, err error) {
	for _, r := range s.kept {
		all = append(all, r)
	}
	return all, s.err
}

func (s *shelf) KeepRefusal(_ context.Context, r schemas.Refusal) error {
	if s.err == nil {
		s.kept[r.Provider+" "+r.Tool] = r
	}
	return s.err
}

func (s *shelf) DropRefusals(_ context.Context, tool string) error {
	for key, r := range s.kept {
		if s.err == nil && (tool == "" || tool == r.Tool) {
			delete(s.kept, key)
		}
	}
	return s.err
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &shelf{kept: map[string]schemas.Refusal{}}
		process := func() *wire.Refusals { return wire.NewRefusals(kept, slog.New(slog.DiscardHandler)) }
		here, there := process(), process()
		tool, other := schemas.ToolInfo{Name: "a__x", Description: "as it was"}, schemas.ToolInfo{Name: "a__y"}
		holds := func(r *wire.Refusals, provider string, tool schemas.ToolInfo, want bool) {
			t.Helper()
			if got, ok := r.Refused(provider, tool); ok != want || ok && got.Reason != "too deep" {
				t.Errorf("%s at %s: %v %+v", tool.Name, provider, ok, got)
			}
		}
		refresh := func(r *wire.Refusals) {
			t.Helper()
			if err := r.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		here.Refuse(t.Context(), "gemini", tool, "too deep")
		here.Refuse(t.Context(), "gemini", other, "too deep")
		holds(here, "gemini", tool, true)
		holds(here, "openai", tool, false)
		holds(here, "gemini", schemas.ToolInfo{Name: "a__x", Description: "changed"}, false)
		holds(there, "gemini", tool, false)
		refresh(there)
		holds(there, "gemini", tool, true)

		// If one process forgets a refusal, the other does too, after its next refresh.
		stood, err := there.Forget(t.Context(), "a__x")
		if diff := cmp.Diff([]schemas.Refusal{{Provider: "gemini", Tool: "a__x", Digest: stood[0].Digest, Reason: "too deep", At: time.Now()}}, stood); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		holds(there, "gemini", tool, false)
		holds(here, "gemini", tool, true)
		refresh(here)
		holds(here, "gemini", tool, false)
		holds(here, "gemini", other, true)

		time.Sleep(schemas.RefusalTime)
		holds(here, "gemini", other, false)
		if stood, err := here.Forget(t.Context(), ""); len(stood) != 0 || err != nil || len(kept.kept) != 0 {
			t.Errorf("%v, %v; kept %v", stood, err, kept.kept)
		}

		// If the store fails, the refusals in memory remain.
		here.Refuse(t.Context(), "gemini", tool, "too deep")
		kept.err = errors.New("no store")
		here.Refuse(t.Context(), "gemini", other, "too deep")
		if _, err := here.Forget(t.Context(), ""); err == nil || here.Refresh(t.Context()) == nil {
			t.Error("no error of the store")
		}
		holds(here, "gemini", tool, true)
		holds(here, "gemini", other, true)
	})
}
