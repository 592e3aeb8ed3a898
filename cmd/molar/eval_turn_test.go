package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A saidAnswer is an answer of the service below: text, or calls.
type saidAnswer struct {
	text  string
	calls [][2]string // name and arguments
}

// sayTo returns a model's answer to a request: a verdict for the judge, three calls when the tools
// of the family server are offered and have no result yet, else a text.
func sayTo(body string) saidAnswer {
	switch {
	case strings.Contains(body, "topic filter"):
		return saidAnswer{text: `{"verdict":"YES","language":"en"}`}
	case strings.Contains(body, "search_family") && strings.Contains(body, `"tools"`) && !strings.Contains(body, "memberCount"):
		return saidAnswer{calls: [][2]string{
			{"family__search_family", `{"query":"Nguyen"}`},
			{"family__search_family", `{"query":""}`},                                             // does not fit the schema
			{"family__get_family_details", `{"familyId":"00000000-0000-4000-8000-000000000000"}`}, // the tool reports a fault
		}}
	}
	return saidAnswer{text: "Brush twice a day,\n\nwith a soft brush for your teeth."}
}

// threeWires serves the wires of Gemini, Ollama and OpenAI, and Anthropic's.
func threeWires(t *testing.T) string { return wiresThatSay(t, sayTo) }

// wiresThatSay serves the wires of a model that answers each request as say does.
func wiresThatSay(t *testing.T, say func(body string) saidAnswer) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		a := say(string(raw))
		quote := func(v string) string { data, _ := json.Marshal(v); return string(data) }
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, ":streamGenerateContent"):
			w.Header().Set("Content-Type", "text/event-stream")
			parts := []string{`{"text":` + quote(a.text) + `}`}
			for _, c := range a.calls {
				parts = append(parts, `{"functionCall":{"name":"`+c[0]+`","args":`+c[1]+`},"thoughtSignature":"c2lnbmF0dXJl"}`)
			}
			fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}]}\n\n", strings.Join(parts, ","))
		case strings.HasSuffix(path, "/chat/completions"):
			w.Header().Set("Content-Type", "text/event-stream")
			finish, calls := "stop", []string{}
			for i, c := range a.calls {
				finish = "tool_calls"
				calls = append(calls, fmt.Sprintf(`{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":%s}}`, i, i, c[0], quote(c[1])))
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s,\"tool_calls\":[%s]},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n",
				quote(a.text), strings.Join(calls, ","), finish)
		case strings.HasSuffix(path, "/v1/messages"):
			w.Header().Set("Content-Type", "text/event-stream")
			event := func(kind, data string) {
				fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, data)
			}
			reason := "end_turn"
			event("message_start", `"message":{"role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}`)
			event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
			event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":`+quote(a.text)+`}`)
			for i, c := range a.calls {
				reason = "tool_use"
				event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":{"type":"tool_use","id":"c%d","name":%q,"input":{}}`, i+1, i, c[0]))
				event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, i+1, quote(c[1])))
			}
			event("message_delta", `"delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":7}`)
			event("message_stop", `"index":0`)
		case path == "/api/chat":
			w.Header().Set("Content-Type", "application/x-ndjson")
			calls := []string{}
			for _, c := range a.calls {
				calls = append(calls, fmt.Sprintf(`{"function":{"name":%q,"arguments":%s}}`, c[0], c[1]))
			}
			fmt.Fprintf(w, "{\"message\":{\"role\":\"assistant\",\"content\":%s,\"tool_calls\":[%s]},\"done\":true,\"done_reason\":\"stop\"}\n", quote(a.text), strings.Join(calls, ","))
		case path == "/api/tags", path == "/api/ps":
			_, _ = io.WriteString(w, `{"models":[{"name":"qwen2.5:7b-instruct","model":"qwen2.5:7b-instruct"},{"name":"qwen2.5:3b-instruct","model":"qwen2.5:3b-instruct"}]}`)
		case strings.HasSuffix(path, "/models"):
			_, _ = io.WriteString(w, `{"data":[{"id":"gpt-4.1-mini"},{"id":"gpt-4.1-nano"}]}`)
		case path == "/api/show":
			_, _ = io.WriteString(w, `{"capabilities":["completion","tools"],"model_info":{}}`)
		case path == "/api/version":
			_, _ = io.WriteString(w, `{"version":"0.17.4"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestEval_savedTurn makes cases of saved turns: each replays as the turn was, whatever
// the provider, with the judge's verdict, calls side by side, a call that the tool
// refused, and a turn that rests on the one before.
func TestEval_savedTurn(t *testing.T) {
	long(t, "every provider is recorded and replayed")
	t.Parallel()
	for _, provider := range []string{"gemini", "openai", "anthropic", "ollama", "offline"} {
		t.Run(provider, func(t *testing.T) {
			url, home, dir := threeWires(t), t.TempDir(), t.TempDir()
			env := func(name string) (string, bool) {
				v, ok := map[string]string{
					"HOME": home, "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": url, "GEMINI_API_KEY": "a-key-for-tests", "OPENAI_API_KEY": "a-key-for-tests", "ANTHROPIC_API_KEY": "a-key-for-tests",
				}[name]
				return v, ok
			}
			molar := func(args ...string) (int, string, string) {
				var out, errs bytes.Buffer
				code := execute(t.Context(), args, env, strings.NewReader(""), &out, &errs)
				return code, out.String(), errs.String()
			}
			models := "listen: 127.0.0.1:9\nllm:\n  gemini: {base_url: " + url + "}\n  openai: {base_url: " + url + "}\n  anthropic: {base_url: " + url + "}\n"
			family := "assistants:\n  family:\n    system_prompt: You look up families.\n    tools: [\"family__*\"]\n" +
				"mcpServers:\n  family: {command: " + buildFamily(t) + "}\n"
			for name, settings := range map[string]string{"family": models + "default: family\n" + family, "dental": models} {
				if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(settings), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var files []string
			for i, ask := range []struct{ assistant, conversation, prompt string }{
				{"family", "", "Find the family Nguyen"},
				{"dental", "", "What causes caries in children?"}, // the judge is asked
				{"dental", "chat_1", "How should I brush my teeth?"},
				{"dental", "chat_1", "And how often?"},
			} {
				config := filepath.Join(dir, ask.assistant+".yaml")
				args := []string{"chat", "--config", config, "--provider", provider, "--output-format", "json"}
				if ask.conversation != "" {
					args = append(args, "--conversation", ask.conversation)
				}
				code, stdout, stderr := molar(append(args, ask.prompt)...)
				var answer struct {
					ID      string `json:"turn_id"`
					Refused bool   `json:"refused"`
				}
				if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
					t.Fatalf("chat: exit code %d, %v: %s", code, err, stderr)
				}
				if answer.Refused && provider == "offline" {
					continue // without a judge the check is stricter, and such a turn leaves no text
				}
				file := filepath.Join(dir, fmt.Sprintf("case%d.yaml", i))
				code, stdout, stderr = molar("eval", "record", "--config", config, "--turn", answer.ID, "--out", file)
				if code != 0 || !strings.Contains(stdout, "replayed: it passes") {
					t.Errorf("%s: exit code %d: %s%s", ask.prompt, code, stdout, stderr)
				}
				files = append(files, file)
			}
			if code, stdout, _ := molar(append([]string{"eval", "run"}, files...)...); code != 0 {
				t.Errorf("the replay ends with %d: %s", code, stdout)
			}
		})
	}
}
