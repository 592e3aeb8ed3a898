package _test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/gemini"
	"molar/providers/ollama"
	"molar/providers/openai"
	"molar/schemas"
)

// wire is the protocol of one service: its answers, the requests to it, and the form in which a
// test writes the expected requests.
type wire struct {
	name string
	// window is the model's window in tokens of four bytes, beyond which it refuses a prompt; 0
	// for no limit.
	window int
	// summarize is the assistant's; empty means after each answer.
	summarize schemas.Summarize
	open      func(url string, window int) (providers.Provider, error)
	// tooLong is the text of the refusal.
	tooLong string
	// form is the content type, event the frame of an answer's pieces; text, call and end are
	// those pieces. call n is the server's n-th.
	form, event string
	text        func(piece string) string
	call        func(n int, name, args string) string
	end         func(called bool) string
	// split returns the instructions, the tools and the messages of a body.
	split func(b body) (system, tools string, messages []json.RawMessage)
	// The expected messages, as JSON with its keys in order. parts are the texts of one message,
	// id is the id of the call.
	user, said       func(parts ...string) string
	called, returned func(id, name, args, result string) string
}

// body is a request of any wire.
type body struct {
	Messages          []json.RawMessage
	Contents          []json.RawMessage
	SystemInstruction json.RawMessage
	Tools             json.RawMessage
	ToolChoice        string `json:"tool_choice"`
	// The schema of the answer, in the field of each service.
	Format         json.RawMessage
	ResponseFormat struct {
		JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
	} `json:"response_format"`
	GenerationConfig struct{ ResponseJSONSchema json.RawMessage }
	ToolConfig       struct {
		FunctionCallingConfig struct{ Mode string }
	}
}

func quote(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text)
	return strings.TrimSpace(b.String())
}

// chat fills in what Ollama and OpenAI have in common.
func chat(w wire) wire {
	w.split = func(b body) (string, string, []json.RawMessage) {
		return string(b.Messages[0]), string(b.Tools), b.Messages[1:]
	}
	w.user = func(parts ...string) string {
		return fmt.Sprintf(`{"content":%s,"role":"user"}`, quote(strings.Join(parts, "\n\n")))
	}
	w.said = func(parts ...string) string {
		return fmt.Sprintf(`{"content":%s,"role":"assistant"}`, quote(strings.Join(parts, "\n\n")))
	}
	return w
}

func ollamaWire() wire {
	return chat(wire{
		name: "ollama", form: "application/x-ndjson", event: "%s\n",
		open: func(url string, _ int) (providers.Provider, error) {
			return ollama.New(ollama.Config{BaseURL: url})
		},
		tooLong: `{"error":"the input length exceeds the context length"}`,
		text: func(piece string) string {
			return fmt.Sprintf(`{"model":"m","message":{"role":"assistant","content":%s},"done":false}`, quote(piece))
		},
		call: func(n int, name, args string) string {
			return fmt.Sprintf(`{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_%d","function":{"index":0,"name":%q,"arguments":%s}}]},"done":false}`, n, name, args)
		},
		end: func(bool) string {
			return `{"model":"m","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":7,"eval_count":3}`
		},
		called: func(id, name, args, _ string) string {
			return fmt.Sprintf(`{"content":"","role":"assistant","tool_calls":[{"function":{"arguments":%s,"index":0,"name":%q},"id":"<id %s>"}]}`, args, name, id)
		},
		returned: func(id, name, _, result string) string {
			return fmt.Sprintf(`{"content":%s,"role":"tool","tool_call_id":"<id %s>","tool_name":%q}`, quote(result), id, name)
		},
	})
}

func openaiWire() wire {
	choice := func(delta, finish string) string {
		return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
	}
	return chat(wire{
		name: "openai", form: "text/event-stream", event: "data: %s\n\n",
		open: func(url string, window int) (providers.Provider, error) {
			return openai.New(openai.Config{BaseURL: url + "/v1", Window: window})
		},
		tooLong: `{"error":{"message":"This model's maximum context length is exceeded.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		text:    func(piece string) string { return choice(`{"content":`+quote(piece)+`}`, "null") },
		call: func(n int, name, args string) string {
			return choice(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, n, name, quote(args)), "null")
		},
		end: func(called bool) string {
			if called {
				return choice("{}", `"tool_calls"`) + "\n\ndata: [DONE]"
			}
			return choice("{}", `"stop"`) + "\n\ndata: [DONE]"
		},
		called: func(id, name, args, _ string) string {
			return fmt.Sprintf(`{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":%s,"name":%q},"id":"call_%s","type":"function"}]}`, quote(args), name, id)
		},
		returned: func(id, _, _, result string) string {
			return fmt.Sprintf(`{"content":%s,"role":"tool","tool_call_id":"call_%s"}`, quote(result), id)
		},
	})
}

// Signatures of thoughts, on a call and on a text.
const signedCall, signedText = "c2lnbmVkIGNhbGw=", "c2lnbmVkIHRleHQ="

func geminiWire() wire {
	candidate := func(part, more string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"index":0` + more + `}],"modelVersion":"m","responseId":"r"}`
	}
	texts := func(role string, parts []string, more ...string) string {
		var all []string
		for _, p := range parts {
			all = append(all, `{"text":`+quote(p)+`}`)
		}
		all = append(all, more...)
		return `{"parts":[` + strings.Join(all, ",") + `],"role":"` + role + `"}`
	}
	return wire{
		name: "gemini", form: "text/event-stream", event: "data: %s\r\n\r\n",
		open: func(url string, window int) (providers.Provider, error) {
			return gemini.New(gemini.Config{BaseURL: url, APIKey: "AIza-test", Window: window})
		},
		tooLong: `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed.","status":"INVALID_ARGUMENT"}}`,
		text:    func(piece string) string { return candidate(`{"text":`+quote(piece)+`}`, "") },
		call: func(n int, name, args string) string {
			return candidate(fmt.Sprintf(`{"functionCall":{"id":"call_%d","name":%q,"args":%s},"thoughtSignature":%q}`, n, name, args, signedCall), "")
		},
		end: func(called bool) string {
			if called {
				return candidate(`{"text":""}`, `,"finishReason":"STOP"`)
			}
			return candidate(`{"text":"","thoughtSignature":"`+signedText+`"}`, `,"finishReason":"STOP"`)
		},
		split: func(b body) (string, string, []json.RawMessage) {
			return string(b.SystemInstruction), string(b.Tools), b.Contents
		},
		user: func(parts ...string) string { return texts("user", parts) },
		said: func(parts ...string) string {
			return texts("model", parts, `{"text":"","thoughtSignature":"`+signedText+`"}`)
		},
		called: func(id, name, args, _ string) string {
			return fmt.Sprintf(`{"parts":[{"functionCall":{"args":%s,"id":"call_%s","name":%q},"thoughtSignature":%q}],"role":"model"}`, args, id, name, signedCall)
		},
		returned: func(id, name, _, result string) string {
			return fmt.Sprintf(`{"parts":[{"functionResponse":{"id":"call_%s","name":%q,"response":{"output":%s}}}],"role":"user"}`, id, name, quote(result))
		},
	}
}

// onEachWire runs a test on the three wires.
func onEachWire(t *testing.T, test func(t *testing.T, w wire)) {
	t.Helper()
	for _, w := range []wire{geminiWire(), ollamaWire(), openaiWire()} {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}
