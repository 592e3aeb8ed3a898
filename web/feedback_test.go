package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// fakeFeedback is a store of feedback in which only the turn t1 exists.
type fakeFeedback map[string]schemas.Feedback

func (f fakeFeedback) PutFeedback(_ context.Context, feedback schemas.Feedback) (schemas.Feedback, bool, error) {
	if feedback.TurnID != "t1" {
		return feedback, false, nil
	}
	feedback.ConversationID, feedback.MarkedAt = "c1", created
	if f != nil {
		f[feedback.TurnID] = feedback
	}
	return feedback, true, nil
}

func (f fakeFeedback) ListFeedback(_ context.Context, _ string, want schemas.FeedbackFilter) ([]schemas.Feedback, error) {
	var all []schemas.Feedback
	for _, feedback := range f {
		if want.Mark == "" || want.Mark == feedback.Mark {
			all = append(all, feedback)
		}
	}
	return all, nil
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	kept := fakeFeedback{}
	cfg := config(t, play(nil))
	cfg.Feedback = kept
	h := build(t, cfg)
	w := serve(h, request(http.MethodPost, "/v1/turns/t1/feedback", `{"mark":"down","note":" too long\n"}`))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := schemas.Feedback{TurnID: "t1", ConversationID: "c1", Mark: "down", Note: "too long", MarkedAt: created}
	if diff := cmp.Diff(want, kept["t1"]); diff != "" {
		t.Error(diff)
	}
	var list struct{ Data []schemas.Feedback }
	w = serve(h, request(http.MethodGet, "/v1/feedback?mark=down", ""))
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || !cmp.Equal(list.Data, []schemas.Feedback{want}) {
		t.Errorf("%v: %s", err, w.Body)
	}
	w = serve(h, request(http.MethodPost, "/v1/turns/t1/feedback", `{"mark":"none"}`))
	if !strings.Contains(w.Body.String(), `"mark":"none"`) || kept["t1"].Mark != "" {
		t.Errorf("taken back: %s, kept %q", w.Body, kept["t1"].Mark)
	}
	w = serve(h, request(http.MethodPost, "/v1/turns/t1/feedback", `{"mark":"up","note":"`+strings.Repeat("x", schemas.MaxNote+1)+`"}`))
	if w.Code != http.StatusBadRequest {
		t.Errorf("a note that is too long: %d", w.Code)
	}
	cfg.Feedback = nil
	if w = serve(build(t, cfg), request(http.MethodGet, "/v1/feedback", "")); w.Code != http.StatusNotFound {
		t.Errorf("without a store: %d", w.Code)
	}
}
