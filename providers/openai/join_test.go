package openai_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"molar/schemas"
)

// Consecutive messages of one role are joined in time linear in their length.
func TestRequest_JoinsManyMessagesOnce(t *testing.T) {
	const count, limit = 5000, 64 << 20
	req := question("")
	req.Messages = nil
	for range count {
		req.Messages = append(req.Messages, schemas.Text(schemas.RoleUser, strings.Repeat("a", 100)))
	}
	p := over(t, func() io.Reader { return strings.NewReader(events(say("Hello."), stop, done)) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := ask(t.Context(), p, req)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; got.text != "Hello." || used > limit {
		t.Errorf("%d bytes were allocated for %d messages: %+v", used, count, got)
	}
}
