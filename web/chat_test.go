package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
	"molar/schemas"
)

const question = `"model":"dental","messages":[{"role":"user","content":"hi"}]`

const head = `data: {"id":"chatcmpl-t1","object":"chat.completion.chunk","created":1777863721,"model":"dental",` +
	`"system_fingerprint":"c1","choices":[`

func TestChat_StreamBytes(t *testing.T) {
	events := []answer.Event{
		start(),
		{Kind: answer.KindStep, Step: "2.1", Text: "Guardrail result: PASSED"},
		toolCall(), toolResult(),
		text("Xin \"chào\"\n"), text(""), text("\x01\xff\\bạn\u2028"),
		{Kind: answer.KindSources, Sources: []schemas.Source{{Title: "A", URL: "https://a.test/"}}},
		{Kind: answer.KindWarning, Text: "slow"},
		done(),
	}
	role := head + `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	content := head + `{"index":0,"delta":{"content":"Xin \"chào\"\n"},"finish_reason":null}]}` + "\n\n" +
		head + `{"index":0,"delta":{"content":"\u0001\ufffd\\bạn` + "\u2028" + `"},"finish_reason":null}]}` + "\n\n"
	const saved = `,"molar":{"saved":true}}` + "\n\n" // on the last chunk, for all clients
	finish := head + `{"index":0,"delta":{},"finish_reason":"stop"}]`
	usage := "}\n\n" + head + `],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`
	end := "data: [DONE]\n\n"
	note := func(molar string) string {
		return head + `{"index":0,"delta":{},"finish_reason":null}],"molar":` + molar + "}\n\n"
	}
	callJSON := `{"id":"k1","function":{"name":"family__search","arguments":"{\"q\":\"Lê\"}"}}`

	tests := []struct{ name, body, want string }{
		{"plain", `{"stream":true,` + question + `}`, ": ok\n\n" + role + content + finish + saved + end},
		{
			"with usage", `{"stream":true,"stream_options":{"include_usage":true},` + question + `}`,
			": ok\n\n" + role + content + finish + usage + saved + end,
		},
		{
			"with events", `{"stream":true,"molar":{"events":true},` + question + `}`,
			": ok\n\n" + role + note(`{"type":"step","step":"2.1","text":"Guardrail result: PASSED"}`) +
				note(`{"type":"tool_call","call":`+callJSON+`,"server":"family","toolName":"search"}`) +
				note(`{"type":"tool_result","call":`+callJSON+`,"server":"family","toolName":"search",`+
					`"result":{"toolName":"search","output":{"n":1},"id":"k1"},"duration_ms":1500}`) +
				content + note(`{"type":"sources","sources":[{"title":"A","url":"https://a.test/"}]}`) +
				note(`{"type":"warning","text":"slow"}`) +
				note(`{"type":"done","conversation_id":"c1","turn_id":"t1","finish_reason":"stop","provider":"ollama","model":"qwen",`+
					`"language":"en","saved":true,"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5},"model_calls":2,"tool_calls":1}`) +
				finish + saved + end,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := post(handler(t, play(nil, events...)), tt.body)
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(strings.SplitAfter(tt.want, "\n\n"), strings.SplitAfter(w.Body.String(), "\n\n")); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
			for name, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-store",
				"X-Accel-Buffering": "no", "X-Should-Retry": "false", "Content-Length": "",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("header %s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestChat_WholeAnswer(t *testing.T) {
	h := handler(t, play(nil, start(), toolCall(), toolResult(), text("Hel"), text("lo"), done()))
	const plain = `{"id":"chatcmpl-t1","object":"chat.completion","created":1777863721,"model":"dental","system_fingerprint":"c1",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5},` +
		`"molar":{"conversation_id":"c1","turn_id":"t1","finish_reason":"stop","provider":"ollama","model":"qwen","language":"en","saved":true,` +
		`"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5},"model_calls":2,"tool_calls":1}}`
	w := post(h, `{`+question+`}`)
	if diff := cmp.Diff(plain, w.Body.String()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}

	w = post(h, `{"molar":{"events":true},`+question+`}`)
	var got struct {
		Molar struct {
			ConversationID string `json:"conversation_id"`
			TurnID         string `json:"turn_id"`
			Saved          bool   `json:"saved"`
			Provider       string `json:"provider"`
			Calls          []struct {
				Call schemas.ToolCall `json:"call"`
			} `json:"calls"`
			Results []struct {
				Result schemas.ToolResult `json:"result"`
			} `json:"results"`
		} `json:"molar"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	m := got.Molar
	if m.ConversationID != "c1" || m.TurnID != "t1" || !m.Saved || m.Provider != "ollama" ||
		len(m.Calls) != 1 || m.Calls[0].Call != call || len(m.Results) != 1 || string(m.Results[0].Result.Output) != `{"n":1}` {
		t.Errorf("molar object: %s", w.Body)
	}
}

// A text of the host in place of JSON is the refusal of the message.
func TestChat_Refusal(t *testing.T) {
	no := text("Only teeth.")
	no.Refusal = true
	h := handler(t, play(nil, start(), no, done()))
	body := post(h, `{"response_format":{"type":"json_object"},`+question+`}`).Body.String()
	if !strings.Contains(body, `"message":{"role":"assistant","content":null,"refusal":"Only teeth."}`) {
		t.Errorf("whole: %s", body)
	}
	body = post(h, `{"stream":true,"response_format":{"type":"json_object"},`+question+`}`).Body.String()
	if !strings.Contains(body, `"delta":{"refusal":"Only teeth."}`) || strings.Contains(body, `"content":"O`) {
		t.Errorf("stream: %s", body)
	}
	keyed := func() string {
		r := request(http.MethodPost, "/v1/chat/completions", `{"response_format":{"type":"json_object"},`+question+`}`)
		r.Header.Set("Idempotency-Key", "k")
		return serve(h, r).Body.String()
	}
	if first, again := keyed(), keyed(); first != again || !strings.Contains(again, `"refusal":"Only teeth."`) {
		t.Errorf("by its key: %s and %s", first, again)
	}
}

// chunk is a chunk with the fields that a stock client reads.
type chunk struct {
	ID, Model string
	Created   int64
	Choices   []struct {
		Delta struct {
			Role    string
			Content string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *schemas.Usage
	Error *json.RawMessage
}

// readStream reads a stream and checks what is required of every stream.
func readStream(t *testing.T, body string) (content, finish, id string) {
	t.Helper()
	if !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Fatalf("stream does not end with [DONE]: %q", body)
	}
	roles, ids := 0, map[string]bool{}
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "data: [DONE]\n\n"), "\n\n") {
		data, isData := strings.CutPrefix(event, "data: ")
		if !isData {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %q: %v", data, err)
		}
		ids[c.ID+c.Model] = true
		id = c.ID
		for _, choice := range c.Choices {
			if finish != "" {
				t.Errorf("a delta after the finish: %s", data)
			}
			if choice.Delta.Role != "" {
				roles++
			}
			content += choice.Delta.Content
			if choice.FinishReason != nil {
				finish = *choice.FinishReason
			}
		}
	}
	if roles != 1 || len(ids) != 1 {
		t.Errorf("%d roles and %d ids, want one of each", roles, len(ids))
	}
	return content, finish, id
}

func TestChat_WholeEqualsStream(t *testing.T) {
	tests := map[string][]answer.Event{
		"text":             {start(), text("a"), text("b\n"), done()},
		"no text":          {start(), done()},
		"no start":         {text("a"), done()},
		"tools":            {start(), toolCall(), toolResult(), text("x"), toolCall(), toolResult(), text("y"), done()},
		"cut by length":    {start(), text("a"), {Kind: answer.KindDone, Done: &answer.Done{Finish: "length"}}},
		"tools as reason":  {start(), text("a"), {Kind: answer.KindDone, Done: &answer.Done{Finish: "tool_calls"}}},
		"broken character": {start(), text("a\xe1"), done()},
		"empty done":       {start(), text("a"), {Kind: answer.KindDone}},
	}
	for name, events := range tests {
		t.Run(name, func(t *testing.T) {
			h := handler(t, play(nil, events...))
			content, finish, id := readStream(t, post(h, `{"stream":true,"molar":{"events":true},`+question+`}`).Body.String())
			var whole struct {
				ID      string
				Choices []struct {
					Message      struct{ Content string }
					FinishReason string `json:"finish_reason"`
				}
			}
			w := post(h, `{`+question+`}`)
			if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil {
				t.Fatal(err)
			}
			c := whole.Choices[0]
			if c.Message.Content != content || c.FinishReason != finish || (whole.ID != id && name != "no start") {
				t.Errorf("stream gave %q %q %s, whole %s", content, finish, id, w.Body)
			}
		})
	}
}

func TestChat_Alias(t *testing.T) {
	w := serve(handler(t, play(nil, start(), text("a"), done())), request(http.MethodPost, "/chat", `{`+question+`}`))
	if w.Code != http.StatusOK {
		t.Errorf("POST /chat: %d %s", w.Code, w.Body)
	}
}

func TestChat_BadOutputCostsOnlyItsNote(t *testing.T) {
	bad := toolResult()
	bad.Result = &schemas.ToolResult{ToolName: "search", Output: json.RawMessage("{oops")}
	h := handler(t, play(nil, start(), toolCall(), bad, text("a"), done()))
	w := post(h, `{"molar":{"events":true},`+question+`}`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"output":"{oops"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
