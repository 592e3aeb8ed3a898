package gemini_test

import (
	"strings"
	"testing"

	"molar/schemas"
)

// Calls that the service made and answered itself are neither returned for execution nor text. As
// grounding and functions are never sent in one request, the service has no reason to make them
// along with ours.
func TestStream_callsOfTheServiceItself(t *testing.T) {
	f := newFake(t, events(
		parts(`{"toolCall":{"id":"s1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]}}}`),
		parts(`{"toolResponse":{"id":"s1","toolType":"GOOGLE_SEARCH_WEB","response":{"search_suggestions":"x"}}}`),
		ending("STOP", say("ok"), `{"functionCall":{"name":"w__get_weather"}}`),
	))
	p := at(t, f)
	req := question("q")
	req.Tools = []schemas.ToolInfo{weather()}
	a := ask(t.Context(), p, req)
	if a.err != nil || a.text != "ok" || len(a.calls) != 1 || a.calls[0].Function.Name != "w__get_weather" {
		t.Errorf("got %+v", a)
	}
	if _, err := p.Search(t.Context(), model, "q"); err != nil {
		t.Error(err)
	}
	for i, sent := range f.requests() {
		functions, search := strings.Contains(sent.Raw, "functionDeclarations"), strings.Contains(sent.Raw, "googleSearch")
		if functions == search || strings.Contains(sent.Raw, "includeServerSideToolInvocations") {
			t.Errorf("request %d: functions %v, search %v: %s", i, functions, search, sent.Raw)
		}
	}
}
