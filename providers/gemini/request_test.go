package gemini_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/gemini"
	"molar/schemas"
)

// Three steps, the first with parallel calls spread over two chunks. Every signature is sent back
// on its own part, byte for byte; ids are sent back where the service gave them; a signature on
// an empty text is not lost.
func TestStream_signaturesOverSteps(t *testing.T) {
	f := newFake(t,
		events(
			parts(say("Let me look.")),
			parts(`{"functionCall":{"id":"fc1","name":"w__get_weather","args":{"city":"Huế"}},"thoughtSignature":"c2lnK/8="}`),
			ending("STOP", `{"functionCall":{"id":"fc2","name":"w__get_weather","args":{"city":"Vinh"}}}`),
		),
		events(ending("STOP", `{"functionCall":{"name":"w__get_weather","args":{}},"thoughtSignature":"c2Vjb25k"}`)),
		events(parts(say("Sunny")), ending("STOP", `{"text":"","thoughtSignature":"bGFzdA=="}`)),
		events(ending("STOP", say("Bye"))),
	)
	p := at(t, f)
	req := question("weather?")
	req.Tools = []schemas.ToolInfo{weather()}
	one := ask(t.Context(), p, req)
	req.Messages = append(req.Messages, one.message, results(one.calls, "rain", "sun"))
	two := ask(t.Context(), p, req)
	req.Messages = append(req.Messages, two.message, results(two.calls, ""))
	three := ask(t.Context(), p, req)
	// As after a restart, the history is encoded as JSON and decoded.
	stored, err := json.Marshal(append(req.Messages, three.message, schemas.Text(schemas.RoleUser, "thanks")))
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = nil
	if err := json.Unmarshal(stored, &req.Messages); err != nil {
		t.Fatal(err)
	}
	four := ask(t.Context(), at(t, f), req)
	if four.err != nil || four.text != "Bye" {
		t.Fatalf("got %+v", four)
	}
	want := []string{
		`user {"text":"weather?"}`,
		`model {"text":"Let me look."}` +
			` {"functionCall":{"args":{"city":"Huế"},"id":"fc1","name":"w__get_weather"},"thoughtSignature":"c2lnK/8="}` +
			` {"functionCall":{"args":{"city":"Vinh"},"id":"fc2","name":"w__get_weather"}}`,
		`user {"functionResponse":{"id":"fc1","name":"w__get_weather","response":{"output":"rain"}}}` +
			` {"functionResponse":{"id":"fc2","name":"w__get_weather","response":{"output":"sun"}}}`,
		`model {"functionCall":{"args":{},"name":"w__get_weather"},"thoughtSignature":"c2Vjb25k"}`,
		`user {"functionResponse":{"name":"w__get_weather","response":{"output":""}}}`,
		`model {"text":"Sunny"} {"text":"","thoughtSignature":"bGFzdA=="}`,
		`user {"text":"thanks"}`,
	}
	if diff := cmp.Diff(want, f.requests()[3].shape()); diff != "" {
		t.Error(diff)
	}
}

func part(name, id string, state *schemas.ProviderState) schemas.Part {
	return schemas.Part{
		Kind: schemas.PartCall, State: state,
		Call: &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: name, Arguments: `{"a": 9007199254740993}`}},
	}
}

func result(id, text string, isError bool) schemas.Part {
	return schemas.Part{Kind: schemas.PartResult, Text: text, Result: &schemas.ToolResult{ID: id, ToolName: "t", IsError: isError}}
}

// How histories that Gemini did not make, or that are malformed, are lowered.
func TestStream_history(t *testing.T) {
	user := schemas.Text(schemas.RoleUser, "q")
	assistant := func(parts ...schemas.Part) schemas.Message {
		return schemas.Message{Role: schemas.RoleAssistant, Parts: parts}
	}
	tool := func(parts ...schemas.Part) schemas.Message {
		return schemas.Message{Role: schemas.RoleTool, Parts: parts}
	}
	foreign := &schemas.ProviderState{Provider: "ollama", Data: []byte(`{"signature":"eA==","id":"no"}`)}
	damaged := &schemas.ProviderState{Provider: "gemini", Data: []byte(`{"signature":"%%%"}`)}
	const (
		callT  = `{"functionCall":{"args":{"a":9007199254740993},"name":"t"}}`
		callTS = `{"functionCall":{"args":{"a":9007199254740993},"name":"t"},"thoughtSignature":"skip_thought_signature_validator"}`
	)
	answered := func(key, value string) string {
		return `{"functionResponse":{"name":"t","response":{"` + key + `":` + value + `}}}`
	}
	tests := []struct {
		name     string
		model    string
		messages []schemas.Message
		want     []string
	}{
		{
			"68 another model's calls, current and older turn", model,
			[]schemas.Message{
				user, assistant(part("t", "1", foreign)), tool(result("1", "r", false)), user,
				assistant(part("t", "2", foreign), part("t", "3", nil)), tool(result("2", "x", false), result("3", "y", false)),
				assistant(part("t", "4", damaged)), tool(result("4", "z", false)),
			},
			[]string{
				`user {"text":"q"}`, "model " + callT, "user " + answered("output", `"r"`), `user {"text":"q"}`,
				"model " + callTS + " " + callT, "user " + answered("output", `"x"`) + " " + answered("output", `"y"`),
				"model " + callTS, "user " + answered("output", `"z"`),
			},
		},
		{
			"models that do not check signatures get none", "models/gemini-2.5-flash",
			[]schemas.Message{user, assistant(part("t", "1", nil)), tool(result("1", "r", false))},
			[]string{`user {"text":"q"}`, "model " + callT, "user " + answered("output", `"r"`)},
		},
		{
			"6 results: in call order, errors as such, fenced text, a missing one said", "gemini-2.5-pro",
			[]schemas.Message{user, assistant(part("t", "1", nil), part("t", "2", nil), part("t", "3", nil)), tool(result("2", "bad", true)), tool(result("1", "<data>", false))},
			[]string{
				`user {"text":"q"}`, "model " + callT + " " + callT + " " + callT,
				"user " + answered("output", `"<data>"`) + " " + answered("error", `"bad"`) + " " + answered("error", `"this call has no result"`),
			},
		},
		{
			"a result without its call is text", "gemini-2.5-pro",
			[]schemas.Message{user, tool(result("9", "r", false)), user},
			[]string{`user {"text":"q"}`, `user {"text":"Result of the tool \"t\":\nr"}`, `user {"text":"q"}`},
		},
		{
			"answers in a row are one", "gemini-2.5-pro",
			[]schemas.Message{user, schemas.Text(schemas.RoleAssistant, "a"), assistant(part("t", "1", nil)), tool(result("1", "r", false))},
			[]string{`user {"text":"q"}`, `model {"text":"a"} ` + callT, "user " + answered("output", `"r"`)},
		},
		{
			"empty parts and messages are left out", "gemini-2.5-pro",
			[]schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartText}}}, schemas.Text(schemas.RoleAssistant, ""), user},
			[]string{`user {"text":"q"}`},
		},
		{
			"bad arguments and invented names", "gemini-2.5-pro",
			[]schemas.Message{user, assistant(schemas.Part{
				Kind: schemas.PartCall,
				Call: &schemas.ToolCall{ID: "1", Function: schemas.FunctionCall{Name: "thời tiết", Arguments: `{"a":`}},
			})},
			[]string{
				`user {"text":"q"}`, `model {"functionCall":{"args":{},"name":"th_i_ti_t"}}`,
				`user {"functionResponse":{"name":"th_i_ti_t","response":{"error":"this call has no result"}}}`,
			},
		},
		{
			"images", "gemini-2.5-pro",
			[]schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{
				{Kind: schemas.PartText, Text: "what?"}, {Kind: schemas.PartImage, Text: "data:image/png;base64,iVBORw=="},
			}}},
			[]string{`user {"text":"what?"} {"inlineData":{"data":"iVBORw==","mimeType":"image/png"}}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, events(ending("STOP", say("ok"))))
			a := ask(t.Context(), at(t, f), providers.Request{Model: tt.model, Messages: tt.messages})
			if a.err != nil {
				t.Fatal(a.err)
			}
			var got []string
			for _, line := range f.requests()[0].shape() {
				got = append(got, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(line))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request that cannot succeed is refused locally, including values that the SDK would silently
// fail to marshal.
func TestStream_refused(t *testing.T) {
	nan := math.NaN()
	image := func(address string) []schemas.Message {
		return []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{{Kind: schemas.PartImage, Text: address}}}}
	}
	ok := question("q").Messages
	tests := map[string]providers.Request{
		"no model":        {Messages: ok},
		"model with path": {Model: "../../x", Messages: ok},
		"model and query": {Model: "m?key=1", Messages: ok},
		"no messages":     {Model: model},
		"only system":     {Model: model, System: "s", Messages: []schemas.Message{schemas.Text(schemas.RoleSystem, "t")}},
		"unknown role":    {Model: model, Messages: []schemas.Message{schemas.Text("robot", "t")}},
		"web image":       {Model: model, Messages: image("https://example.com/a.png")},
		"broken image":    {Model: model, Messages: image("data:image/png;base64,%%")},
		"no temperature":  {Model: model, Messages: ok, Temperature: &nan},
		"broken schema":   {Model: model, Messages: ok, Schema: []byte(`{"type":`)},
	}
	for name, req := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, events(ending("STOP", say("ok"))))
			a := ask(t.Context(), at(t, f), req)
			if providers.KindOf(a.err) != providers.KindInvalid || len(f.requests()) != 0 {
				t.Errorf("error %v, %d requests", a.err, len(f.requests()))
			}
		})
	}
}

// Only a tool that cannot be offered is left out; numbers and order are preserved.
func TestStream_tools(t *testing.T) {
	f := newFake(t, events(ending("STOP", say("ok"))))
	req := question("q")
	req.Tools = []schemas.ToolInfo{
		{Name: "bad schema", InputSchema: []byte(`{}`)},
		{Name: "w__broken", InputSchema: []byte(`{"type":NaN}`)},
		{Name: "w__none", Title: "No arguments", InputSchema: []byte(`{"type":"object","properties":{}}`)},
		weather(),
		weather(),
		{Name: "w__big", InputSchema: []byte(`{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}}}`)},
	}
	p := at(t, f)
	for range 2 { // the second time from the cache
		if a := ask(t.Context(), p, req); a.err != nil {
			t.Fatal(a.err)
		}
	}
	want := `"tools":[{"functionDeclarations":[{"description":"No arguments","name":"w__none"},` +
		`{"description":"Get the weather.","name":"w__get_weather","parametersJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},` +
		`{"name":"w__big","parametersJsonSchema":{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}}}}]}]`
	for _, sent := range f.requests() {
		if !strings.Contains(sent.Raw, want) {
			t.Errorf("sent %s", sent.Raw)
		}
	}
}

func TestStream_toolChoice(t *testing.T) {
	other := weather()
	other.Name = "w__other"
	tests := []struct {
		name   string
		choice providers.ToolChoice
		tools  []schemas.ToolInfo
		mode   string
		names  []string
	}{
		{"auto", providers.ToolAuto, []schemas.ToolInfo{weather(), other}, "", nil},
		{"required", providers.ToolRequired, []schemas.ToolInfo{weather(), other}, "ANY", nil},
		{"required of one names it", providers.ToolRequired, []schemas.ToolInfo{other}, "ANY", []string{"w__other"}},
		{"none", "none", []schemas.ToolInfo{weather()}, "NONE", nil},
		{"required without tools", providers.ToolRequired, nil, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, events(ending("STOP", say("ok"))))
			req := question("q")
			req.Tools, req.ToolChoice, req.ForbidCalls = tt.tools, tt.choice, tt.choice == "none"
			if a := ask(t.Context(), at(t, f), req); a.err != nil {
				t.Fatal(a.err)
			}
			got := f.requests()[0].ToolConfig.FunctionCallingConfig
			if diff := cmp.Diff(tt.names, got.AllowedFunctionNames); got.Mode != tt.mode || diff != "" {
				t.Errorf("mode %q %s", got.Mode, diff)
			}
		})
	}
}

func TestStream_generation(t *testing.T) {
	f := newFake(t, events(ending("STOP", say(`{"b":1}`))))
	req := providers.Request{
		Model: model, System: "You are short.", Temperature: new(0.5), MaxTokens: 9, Stop: []string{"END"},
		Schema:   []byte(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"const":"x"}},"required":["b"],"$schema":"x"}`),
		Messages: []schemas.Message{schemas.Text(schemas.RoleSystem, "And polite."), schemas.Text(schemas.RoleUser, "q")},
	}
	if a := ask(t.Context(), at(t, f), req); a.err != nil {
		t.Fatal(a.err)
	}
	sent := f.requests()[0]
	want := map[string]string{
		"temperature": "0.5", "maxOutputTokens": "9", "stopSequences": `["END"]`, "responseMimeType": `"application/json"`,
		"responseJsonSchema": `{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string","enum":["x"]}},"required":["b"]}`,
	}
	got := map[string]string{}
	for k, v := range sent.GenerationConfig {
		got[k] = string(v)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := sent.SystemInstruction; s == nil || string(s.Parts[0]) != `{"text":"You are short.\n\nAnd polite."}` {
		t.Errorf("system instruction %+v", s)
	}
}

// No environment variable changes the address of a request or its key.
func TestNew_environment(t *testing.T) {
	trap := newFake(t, events(ending("STOP", say("trap"))))
	for k, v := range map[string]string{
		"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_GENAI_USE_ENTERPRISE": "true", "GOOGLE_GEMINI_BASE_URL": trap.url,
		"GOOGLE_VERTEX_BASE_URL": trap.url, "GOOGLE_API_KEY": "other", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l",
	} {
		t.Setenv(k, v)
	}
	f := newFake(t, events(ending("STOP", say("ok"))))
	a := ask(t.Context(), at(t, f), question("q"))
	if a.text != "ok" || f.requests()[0].Header.Get("X-Goog-Api-Key") != testKey || len(trap.requests()) != 0 {
		t.Errorf("got %+v", a)
	}
}

func TestNew_refuses(t *testing.T) {
	const secret = "AIza-secret"
	for name, cfg := range map[string]gemini.Config{
		"no key":          {},
		"key with break":  {APIKey: secret + "\nx"},
		"scheme":          {APIKey: secret, BaseURL: "ftp://host"},
		"no host":         {APIKey: secret, BaseURL: "https://"},
		"no address":      {APIKey: secret, BaseURL: "http://[::1"},
		"key in query":    {APIKey: secret, BaseURL: "https://host/?key=" + secret},
		"key as user":     {APIKey: secret, BaseURL: "https://" + secret + "@host/"},
		"negative timing": {APIKey: secret, FirstByte: -1},
	} {
		_, err := gemini.New(cfg)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := newProvider(t, gemini.Config{}); p.Name() != "gemini" {
		t.Errorf("name %q", p.Name())
	}
}
