package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit/models"
)

// A client that disconnects stops the model, and is not an error of the host: the log has no line
// that would alarm an operator.
func TestServe_LeavingIsNoError(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tokens: 100_000, LineEvery: 2, Interval: time.Millisecond})
	s := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: ollama}\nassistants: {plain: {system_prompt: x}}\ndefault: plain\n"), model)
	ctx, leave := context.WithTimeout(t.Context(), patience)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(questionBody("plain", "", "hello", true)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = res.Body.Close()
	s.stderr.wait(t, "client left", nil)
	if log := s.stderr.wait(t, "turn broken off", nil); strings.Contains(log, "level=ERROR") {
		t.Error("the log has an error")
	}
	eventually(t, "the model's call is cancelled", func() bool {
		return slices.ContainsFunc(model.Requests(), func(r models.Request) bool { return r.Cancelled })
	})
}
