package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// A refusal that names a tool costs that tool alone, until it changes.
func TestRequest_ARefusedToolIsTakenOut(t *testing.T) {
	t.Parallel()
	other := schemas.ToolInfo{Name: "w__get_weather_deep", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	for name, refuse := range map[string]http.HandlerFunc{
		"by its name":  status(400, `{"error":{"message":"Invalid schema for function 'w__get_weather_deep': schema is too deep"}}`),
		"by its place": status(400, `{"error":{"message":"schema is too deep","param":"tools[1].function.parameters"}}`),
	} {
		f := newFake(t, refuse, stream(say("a"), stop, done))
		p := at(t, f)
		req := question("?")
		req.Tools = append(weather(), other)
		offered := func() string {
			sent := f.requests()
			tools, _ := json.Marshal(sent[len(sent)-1]["tools"])
			return string(tools)
		}
		for range 2 {
			a := askOn(t.Context(), p, req)
			if a.text != "a" || strings.Contains(offered(), "w__get_weather_deep") || !strings.Contains(offered(), `"w__get_weather"`) {
				t.Errorf("%s: %+v, offered %s", name, a, offered())
			}
		}
		if n := len(f.requests()); n != 3 {
			t.Errorf("%s: %d requests, want the refused one and two", name, n)
		}
		req.Tools[1].Description = "It is flat now."
		if askOn(t.Context(), p, req); !strings.Contains(offered(), "w__get_weather_deep") {
			t.Errorf("%s: the tool changed and is not offered", name)
		}
	}
	// What names no tool is passed on.
	f := newFake(t, status(400, `{"error":{"message":"bad thing"}}`))
	req := question("?")
	req.Tools = weather()
	if a := askOn(t.Context(), at(t, f), req); providers.KindOf(a.err) != providers.KindInvalid || len(f.requests()) != 1 {
		t.Errorf("%+v", a)
	}
}
