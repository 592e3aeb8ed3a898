package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/agent"
	"molar/providers"
	"molar/schemas"
)

func TestChat_BadRequests(t *testing.T) {
	ask := `"messages":[{"role":"user","content":"hi"}]`
	tests := []struct {
		name, body string
		status     int
		param      string
	}{
		{"no body", ``, 400, ""},
		{"no JSON", `{"messages":`, 400, ""},
		{"two values", `{` + ask + `} {}`, 400, ""},
		{"a list", `[]`, 400, ""},
		{"a string", `"hi"`, 400, ""},
		{"null", `null`, 400, "messages"},
		{"invalid UTF-8", "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", 400, ""},
		{"a key twice", `{"n":1,"n":2,` + ask + `}`, 400, ""},
		{"too deep", `{"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `,` + ask + `}`, 400, ""},
		{"too large", `{"x":"` + strings.Repeat("a", 70<<10) + `",` + ask + `}`, 413, ""},
		{"no messages", `{}`, 400, "messages"},
		{"too many messages", `{"messages":[0` + strings.Repeat(",0", 10_000) + `]}`, 400, "messages"},
		{"messages null", `{"messages":null}`, 400, "messages"},
		{"empty messages", `{"messages":[]}`, 400, "messages"},
		{"messages an object", `{"messages":{}}`, 400, "messages"},
		{"a message that is a string", `{"messages":["hi"]}`, 400, "messages[0]"},
		{"a message that is null", `{"messages":[null]}`, 400, "messages[0].role"},
		{"no role", `{"messages":[{"content":"hi"}]}`, 400, "messages[0].role"},
		{"unknown role", `{"messages":[{"role":"robot","content":"hi"}]}`, 400, "messages[0].role"},
		{"role a number", `{"messages":[{"role":1,"content":"hi"}]}`, 400, "messages[0].role"},
		{"only a system message", `{"messages":[{"role":"system","content":"hi"}]}`, 400, "messages"},
		{"empty question", `{"messages":[{"role":"user","content":" "}]}`, 400, "messages[0].content"},
		{"null question", `{"messages":[{"role":"user","content":null}]}`, 400, "messages[0].content"},
		{"content a number", `{"messages":[{"role":"user","content":7}]}`, 400, "messages[0].content"},
		{"content an object", `{"messages":[{"role":"user","content":{}}]}`, 400, "messages[0].content"},
		{"unknown part", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"video_url"}]}]}`, 400, "messages[0].content[1].type"},
		{"audio without data", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio"}]}]}`, 400, "messages[0].content[1].input_audio"},
		{"audio that is no base64", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"%","format":"wav"}}]}]}`, 400, "messages[0].content[0].input_audio.data"},
		{"a stored file", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, 400, "messages[0].content[0].file.file_id"},
		{"file without data", `{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf"}}]}]}`, 400, "messages[0].content[0].file.file_data"},
		{"file that is no base64", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,%"}}]}]}`, 400, "messages[0].content[0].file.file_data"},
		{"text in another encoding", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:text/plain;base64,/w=="}}]}]}`, 400, "messages[0].content"},
		{"file of the assistant", `{"messages":[{"role":"assistant","content":[{"type":"file","file":{"file_data":"data:text/plain;base64,YQ=="}}]}]}`, 400, "messages[0].content[0].type"},
		{"part a string", `{"messages":[{"role":"user","content":["a"]}]}`, 400, "messages[0].content[0]"},
		{"text a number", `{"messages":[{"role":"user","content":[{"type":"text","text":1}]}]}`, 400, "messages[0].content[0].text"},
		{"image from a file", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`, 400, "messages[0].content[0].image_url.url"},
		{"image in a system message", `{"messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://a.test/a.png"}}]}]}`, 400, "messages[0].content[0].type"},
		{"result without call", `{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"x","content":"1"},{"role":"user","content":"b"}]}`, 400, "messages[1].tool_call_id"},
		{"call without result", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"b"}]}`, 400, "messages[2]"},
		{"call without name", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"x"}]}]}`, 400, "messages[1].tool_calls[0]"},
		{"arguments an object", `{"messages":[{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f","arguments":{}}}]}]}`, 400, "messages[0].tool_calls.function.arguments"},
		{"two answers", `{"n":2,` + ask + `}`, 400, "n"},
		{"stream a string", `{"stream":"yes",` + ask + `}`, 400, "stream"},
		{"model a number", `{"model":5,` + ask + `}`, 400, "model"},
		{"usage a string", `{"stream_options":{"include_usage":"yes"},` + ask + `}`, 400, "stream_options.include_usage"},
		{"negative tokens", `{"max_tokens":-1,` + ask + `}`, 400, "max_tokens"},
		{"tokens a fraction", `{"max_tokens":1.5,` + ask + `}`, 400, "max_tokens"},
		{"too many tokens", `{"max_completion_tokens":1e99,` + ask + `}`, 400, "max_completion_tokens"},
		{"temperature too high", `{"temperature":3,` + ask + `}`, 400, "temperature"},
		{"stop a number", `{"stop":1,` + ask + `}`, 400, "stop"},
		{"stop empty", `{"stop":["a",""],` + ask + `}`, 400, "stop"},
		{"unknown format", `{"response_format":{"type":"xml"},` + ask + `}`, 400, "response_format.type"},
		{"a format with a schema that is none", `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"zz"}}},` + ask + `}`, 400, "response_format.json_schema.schema"},
		{"a format without a schema object", `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":"x"}},` + ask + `}`, 400, "response_format.json_schema.schema"},
		{"probabilities of tokens", `{"logprobs":true,"top_logprobs":2,` + ask + `}`, 400, "logprobs"},
		{"an answer in sound", `{"modalities":["text","audio"],"audio":{"voice":"a","format":"wav"},` + ask + `}`, 400, "modalities"},
		{"client tool without a name", `{"tools":[{"type":"function","function":{}}],` + ask + `}`, 400, "tools[0].function.name"},
		{"client tool with a bad name", `{"tools":[{"type":"function","function":{"name":"a b"}}],` + ask + `}`, 400, "tools[0].function.name"},
		{"client tool twice", `{"tools":[{"function":{"name":"f"}},{"function":{"name":"f"}}],` + ask + `}`, 400, "tools[1].function.name"},
		{"client tool of another type", `{"tools":[{"type":"web_search"}],` + ask + `}`, 400, "tools[0].type"},
		{"client tool with parameters that are no object", `{"tools":[{"function":{"name":"f","parameters":[]}}],` + ask + `}`, 400, "tools[0].function.parameters"},
		{"parallel calls a string", `{"parallel_tool_calls":"no",` + ask + `}`, 400, "parallel_tool_calls"},
		{"tool choice of no function", `{"tool_choice":{"type":"allowed_tools","allowed_tools":{}},` + ask + `}`, 400, "tool_choice"},
		{"tools an object", `{"tools":{},` + ask + `}`, 400, "tools"},
		{"client functions", `{"functions":[{"name":"f"}],` + ask + `}`, 400, "functions"},
		{"unknown tool choice", `{"tool_choice":"maybe",` + ask + `}`, 400, "tool_choice"},
		{"tool choice a number", `{"tool_choice":1,` + ask + `}`, 400, "tool_choice"},
		{"forced tool", `{"tool_choice":{"type":"function"},` + ask + `}`, 400, "tool_choice"},
		{"bad conversation id", `{"chat_id":"a b",` + ask + `}`, 400, "chat_id"},
		{"conversation id too long", `{"chat_id":"` + strings.Repeat("a", 129) + `",` + ask + `}`, 400, "chat_id"},
		{"two conversation ids", `{"chat_id":"a","metadata":{"conversation_id":"b"},` + ask + `}`, 400, "metadata.conversation_id"},
		{"conversation id a number", `{"metadata":{"conversation_id":5},` + ask + `}`, 400, "metadata.conversation_id"},
		{"molar a string", `{"molar":"events",` + ask + `}`, 400, "molar"},
	}
	h := handler(t, play(nil, start(), done()))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := post(h, tt.body)
			_, param, message := errorOf(t, w.Body.Bytes())
			if w.Code != tt.status || param != tt.param {
				t.Errorf("%d param %q (%s), want %d %q", w.Code, param, message, tt.status, tt.param)
			}
		})
	}
}

func user(s string) schemas.Message { return schemas.Text(schemas.RoleUser, s) }

func TestChat_TurnOfARequest(t *testing.T) {
	ask := `"messages":[{"role":"user","content":"hi"}]`
	asked := []schemas.Message{user("hi")}
	called := schemas.ToolCall{ID: "x", Function: schemas.FunctionCall{Name: "f", Arguments: "{}"}}
	tests := []struct {
		name, body string
		header     http.Header
		want       agent.Turn
	}{
		{name: "smallest", body: `{` + ask + `}`, want: agent.Turn{Messages: asked}},
		{
			name: "unknown and null fields", body: `{"frobnicate":[1],"n":null,"stop":null,"tools":null,"tool_choice":null,"temperature":null,` +
				`"response_format":null,"metadata":null,"stream_options":null,"parallel_tool_calls":true,"user":"u",` + ask + `}`,
			want: agent.Turn{Messages: asked},
		},
		{
			name: "fields that change nothing here", body: `{"store":true,"metadata":{"a":"b"},"logprobs":false,"top_logprobs":0,"logit_bias":{"1":-1},` +
				`"frequency_penalty":0.1,"presence_penalty":0,"service_tier":"auto","verbosity":"low","prompt_cache_key":"k","safety_identifier":"s",` +
				`"modalities":["text"],"prediction":{"type":"content","content":"x"},"web_search_options":{},"function_call":"none","functions":[],` +
				`"stream_options":{"include_usage":true,"include_obfuscation":false},"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":null}},` +
				`"messages":[{"role":"user","name":"bob","content":"hi"}]}`,
			want: agent.Turn{Schema: providers.AnyObject(), Messages: asked},
		},
		{
			name: "all options", body: `{"model":"dental","n":1,"temperature":0.5,"top_p":0.9,"seed":7,"reasoning_effort":"minimal","max_tokens":7,"stop":"END","response_format":{"type":"json_object"},` + ask + `}`,
			want: agent.Turn{Assistant: "dental", Schema: providers.AnyObject(), Messages: asked, Sampling: agent.Sampling{
				Temperature: new(0.5), TopP: new(0.9), Seed: new(int64(7)), Thinking: schemas.ThinkingLow, MaxTokens: 7, Stop: []string{"END"},
			}},
		},
		{
			name: "newer names", body: `{"max_tokens":7,"max_completion_tokens":9,"stop":["a","b"],"response_format":{"type":"text"},` + ask + `}`,
			want: agent.Turn{Sampling: agent.Sampling{MaxTokens: 9, Stop: []string{"a", "b"}}, Messages: asked},
		},
		{
			name: "a JSON schema", body: `{"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}},` + ask + `}`,
			want: agent.Turn{Schema: providers.AnyObject(), Messages: asked},
		},
		{
			name: "a described JSON schema", body: `{"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":{"type":"object"}}},` + ask + `}`,
			want: agent.Turn{Schema: json.RawMessage(`{"description":"d","type":"object"}`), Messages: asked},
		},
		{
			name: "a refusal in the history", body: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"refusal":"no"},{"role":"user","content":"hi"}]}`,
			want: agent.Turn{Place: agent.Place{Stateless: true}, Messages: []schemas.Message{user("a"), schemas.Text(schemas.RoleAssistant, "no"), user("hi")}},
		},
		{
			name: "system and developer", body: `{"messages":[{"role":"system","content":"one"},{"role":"developer","content":[{"type":"text","text":"two"}]},{"role":"user","content":"hi"}]}`,
			want: agent.Turn{System: "one\n\ntwo", Messages: asked},
		},
		{
			name: "parts and an image", body: `{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`,
			want: agent.Turn{Messages: []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{
				{Kind: schemas.PartText, Text: "look"}, {Kind: schemas.PartImage, Text: "data:image/png;base64,AA=="},
			}}}},
		},
		{
			name: "files", body: `{"messages":[{"role":"user","content":[{"type":"text","text":"look"},` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}},{"type":"file","file":{"filename":"b.pdf","file_data":"JVBERi0="}},` +
				`{"type":"file","file":{"filename":"c.csv","file_data":"data:text/csv;base64,YSxi"}},{"type":"file","file":{"filename":"d.json","file_data":"e30="}},` +
				`{"type":"file","file":{"filename":"e.png","file_data":"data:image/png;base64,AA=="}},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}]}`,
			want: agent.Turn{
				Messages: []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{
					{Kind: schemas.PartText, Text: "look"},
					{Kind: schemas.PartFile, Name: "a.pdf", Text: "data:application/pdf;base64,JVBERi0="},
					{Kind: schemas.PartFile, Name: "b.pdf", Text: "data:application/pdf;base64,JVBERi0="},
					{Kind: schemas.PartImage, Name: "e.png", Text: "data:image/png;base64,AA=="},
					{Kind: schemas.PartFile, Name: "audio.wav", Text: "data:audio/wav;base64,AA=="},
				}}},
				Attachments: []agent.Attachment{{Name: "c.csv", Text: "a,b"}, {Name: "d.json", Text: "{}"}},
			},
		},
		{
			name: "a list of its own", body: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"hi"}]}`,
			want: agent.Turn{Place: agent.Place{Stateless: true}, Messages: []schemas.Message{user("a"), schemas.Text(schemas.RoleAssistant, "b"), user("hi")}},
		},
		{
			name: "two questions", body: `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"hi"}]}`,
			want: agent.Turn{Place: agent.Place{Stateless: true}, Messages: []schemas.Message{user("a"), user("hi")}},
		},
		{
			name: "tool messages", body: `{"messages":[{"role":"user","content":"a"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"y","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"x","content":"{\"a\":1}"},{"role":"tool","tool_call_id":"y","name":"f","content":"plain"},{"role":"user","content":"hi"}]}`,
			want: agent.Turn{Place: agent.Place{Stateless: true}, Messages: []schemas.Message{
				user("a"),
				{Role: schemas.RoleAssistant, Parts: []schemas.Part{
					{Kind: schemas.PartCall, Call: &called},
					{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: "y", Function: called.Function}},
				}},
				{Role: schemas.RoleTool, Parts: []schemas.Part{
					{Kind: schemas.PartResult, Text: `{"a":1}`, Result: &schemas.ToolResult{ToolName: "f", ID: "x", Output: []byte(`{"a":1}`)}},
					{Kind: schemas.PartResult, Text: "plain", Result: &schemas.ToolResult{ToolName: "f", ID: "y", Output: []byte(`"plain"`)}},
				}},
				user("hi"),
			}},
		},
		{
			name: "client tools", body: `{"parallel_tool_calls":false,"tool_choice":{"type":"function","function":{"name":"f"}},` +
				`"tools":[{"type":"function","function":{"name":"f","description":"does f","strict":true,"parameters":{"type":"object"}}},{"type":"function","function":{"name":"g"}}],` + ask + `}`,
			want: agent.Turn{Messages: asked, Client: agent.Client{MustCall: true, MustCallTool: "f", OneCall: true, ClientTools: []schemas.ToolInfo{
				{Name: "f", ToolName: "f", Description: "does f", InputSchema: []byte(`{"type":"object"}`)},
				{Name: "g", ToolName: "g", InputSchema: []byte(`{"type":"object","properties":{}}`)},
			}}},
		},
		{
			name: "a call is asked for", body: `{"tool_choice":"required",` + ask + `}`, want: agent.Turn{Messages: asked, Client: agent.Client{MustCall: true}},
		},
		{
			name: "client tools switched off", body: `{"tools":[{"type":"function"}],"tool_choice":"none",` + ask + `}`,
			want: agent.Turn{ServerTools: agent.ServerTools{NoTools: true}, Messages: asked},
		},
		{name: "tool choice by default", body: `{"tool_choice":"auto","tools":[],` + ask + `}`, want: agent.Turn{Messages: asked}},
		{name: "chat_id", body: `{"chat_id":"chat_1.a:b-c",` + ask + `}`, want: agent.Turn{Place: agent.Place{ConversationID: "chat_1.a:b-c"}, Messages: asked}},
		{name: "id in the metadata", body: `{"metadata":{"conversation_id":"c","other":1},` + ask + `}`, want: agent.Turn{Place: agent.Place{ConversationID: "c"}, Messages: asked}},
		{
			name: "headers", body: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"hi"}]}`,
			header: http.Header{"X-Conversation-Id": {"c"}, "Idempotency-Key": {"k"}},
			want:   agent.Turn{Place: agent.Place{ConversationID: "c", Key: "k"}, Messages: []schemas.Message{user("a"), schemas.Text(schemas.RoleAssistant, "b"), user("hi")}},
		},
		{
			name: "molar", body: `{"molar":{"provider":"gemini","model":"m","guardrail_model":"g"},"ollama_model":"x",` + ask + `}`,
			want: agent.Turn{ModelChoice: agent.ModelChoice{Provider: "gemini", Model: "m", GuardrailModel: "g"}, Messages: asked},
		},
		{
			name: "ollama models", body: `{"ollama_model":"x","ollama_guardrail_model":"y",` + ask + `}`,
			want: agent.Turn{ModelChoice: agent.ModelChoice{Provider: "ollama", Model: "x", GuardrailModel: "y"}, Messages: asked},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := &keep{}
			r := request(http.MethodPost, "/v1/chat/completions", tt.body)
			for name, values := range tt.header {
				r.Header.Set(name, values[0])
			}
			if w := serve(handler(t, k), r); w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if k.turn.ID == "" || k.turn.Caller.ID != schemas.Operator {
				t.Errorf("the turn has the id %q, and is of %+v", k.turn.ID, k.turn.Caller)
			}
			if diff := cmp.Diff(tt.want, k.turn, cmpopts.IgnoreFields(agent.Turn{}, "ID", "Caller"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzChat checks that no body makes the endpoint answer with a server error.
func FuzzChat(f *testing.F) {
	f.Add(`{` + question + `}`)
	f.Add(`{"messages":[{"role":"tool","tool_call_id":"x","content":[{"type":"text"}]}]}`)
	f.Add(`{"stop":{},"messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"messages":[{"role":"assistant","tool_calls":[{}]},{"role":"user","content":"\ud800"}]}`)
	h := handler(f, play(nil, start(), text("a"), done()))
	f.Fuzz(func(t *testing.T, body string) {
		if w := post(h, body); w.Code >= 500 {
			t.Errorf("status %d for %q", w.Code, body)
		}
	})
}

// A body may be larger than the limit only by its files.
func TestRequest_LargeFiles(t *testing.T) {
	h := handler(t, play(nil, start(), done()))
	for path, form := range map[string]string{
		"/v1/chat/completions": `{"messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`,
		"/v1/responses":        `{"store":false,"input":[{"role":"user","content":[{"type":"input_text","text":%q},{"type":"input_image","image_url":"data:image/png;base64,%s"}]}]}`,
	} {
		for _, tt := range []struct{ text, file, status int }{
			{10, 7 * maxBody, 200}, {10, 9 * maxBody, 413}, {maxBody + 10, 400, 413}, {maxBody / 2, 2 * maxBody, 200},
		} {
			body := fmt.Sprintf(form, strings.Repeat("a", tt.text), strings.Repeat("A", tt.file))
			if w := serve(h, request(http.MethodPost, path, body)); w.Code != tt.status {
				t.Errorf("%s with %d bytes of text and %d of files: %d %.200s, want %d", path, tt.text, tt.file, w.Code, w.Body, tt.status)
			}
		}
	}
}

// A refusal names what is wrong: the setting that bounds a body, its encoding, and a number that no
// float64 holds.
func TestRequest_SaysWhy(t *testing.T) {
	h := handler(t, play(nil, start(), done()))
	for _, tt := range []struct {
		contentType, body string
		status            int
		says              string
	}{
		{"application/json", strings.Repeat("a", 8*maxBody+1), 413, "larger than 524288 bytes (limits.body, times 8 where files may come along)"},
		{"application/json", `{"messages":[{"role":"user","content":"` + strings.Repeat("a", maxBody+1) + `"}]}`, 413, "larger than 65536 bytes without its files (limits.body)"},
		{"application/json; charset=utf-16", `{"messages":[{"role":"user","content":"a"}]}`, 415, "must be UTF-8, not utf-16"},
		{"application/json; charset=UTF-8", `{"messages":[{"role":"user","content":"a"}]}`, 200, ""},
		{"application/json", `{"temperature":1e999,"messages":[{"role":"user","content":"a"}]}`, 400, "temperature is out of range: 1e999"},
		{"application/json", `{"max_tokens":1.5,"messages":[{"role":"user","content":"a"}]}`, 400, "integer"},
	} {
		r := request(http.MethodPost, "/v1/chat/completions", tt.body)
		r.Header.Set("Content-Type", tt.contentType)
		if w := serve(h, r); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s %.60s: %d %.200s, want %d and %q", tt.contentType, tt.body, w.Code, w.Body, tt.status, tt.says)
		}
		r = request(http.MethodPost, "/v1/chat/completions", tt.body)
		r.Header.Set("Content-Type", tt.contentType)
		r.ContentLength = -1
		if w := serve(h, r); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s %.60s, without its length: %d %.200s, want %d and %q", tt.contentType, tt.body, w.Code, w.Body, tt.status, tt.says)
		}
	}
}
