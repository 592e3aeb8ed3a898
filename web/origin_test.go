package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// A part of a message says who wrote it; a client that names an unknown origin is told the known ones.
func TestChat_OriginsOfParts(t *testing.T) {
	var turn agent.Turn
	handler := build(t, config(t, script(func(_ context.Context, asked agent.Turn, yield func(answer.Event) bool) error {
		turn = asked
		_ = yield(start()) && yield(done())
		return nil
	})))
	body := `{"messages":[{"role":"user","content":[{"type":"text","text":"Sum up: "},{"type":"text","text":"a page","molar":{"origin":"web"}},{"type":"text","text":"a file","molar":{"origin":"file"}}]}]}`
	if w := post(handler, body); w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var origins []schemas.Origin
	for _, p := range turn.Messages[0].Parts {
		origins = append(origins, p.Origin)
	}
	if said := turn.Messages[0].Said(); said != "Sum up: a pagea file" || len(origins) != 3 || origins[0] != "" || origins[1] != schemas.FromWeb || origins[2] != schemas.FromFile {
		t.Errorf("%q of %q", said, origins)
	}
	w := post(handler, `{"messages":[{"role":"user","content":[{"type":"text","text":"x","molar":{"origin":"operator"}}]}]}`)
	if want := `there is no origin \"operator\"; use one of client, file, paste, person, web`; w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
