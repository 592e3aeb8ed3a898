package _test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/anthropic"
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
	// withholds reports whether the adapter does not send a schema, since the service can only be asked
	// for less than it allows; nil if it sends all.
	withholds func(schema string) bool
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
	Input             []json.RawMessage
	Instructions      json.RawMessage
	SystemInstruction json.RawMessage
	Tools             json.RawMessage
	System            json.RawMessage
	ToolChoice        json.RawMessage `json:"tool_choice"`
	// The schema of the answer, in the field of each service.
	Format         json.RawMessage
	ResponseFormat struct {
		JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
	} `json:"response_format"`
	Text struct {
		Format struct{ Schema json.RawMessage }
	}
	OutputConfig struct {
		Format struct{ Schema json.RawMessage }
	} `json:"output_config"`
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
			return openai.New(openai.Config{API: openai.APIChat, BaseURL: url + "/v1", Window: window})
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

// responsesWire is OpenAI's Responses API.
func responsesWire() wire {
	message := func(role string) func(parts ...string) string {
		return func(parts ...string) string {
			return fmt.Sprintf(`{"content":%s,"role":%q,"type":"message"}`, quote(strings.Join(parts, "\n\n")), role)
		}
	}
	w := openaiWire()
	w.name = "responses"
	w.open = func(url string, window int) (providers.Provider, error) {
		return openai.New(openai.Config{API: openai.APIResponses, BaseURL: url + "/v1", Window: window})
	}
	w.text = func(piece string) string {
		return `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":` + quote(piece) + `}`
	}
	w.call = func(n int, name, args string) string {
		return fmt.Sprintf(`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":%q,"arguments":%s,"status":"completed"}}`, n, n, name, quote(args))
	}
	w.end = func(bool) string {
		return `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}}}`
	}
	w.split = func(b body) (string, string, []json.RawMessage) {
		return string(b.Instructions), string(b.Tools), b.Input
	}
	w.user, w.said = message("user"), message("assistant")
	w.called = func(id, name, args, _ string) string {
		return fmt.Sprintf(`{"arguments":%s,"call_id":"call_%s","name":%q,"type":"function_call"}`, quote(args), id, name)
	}
	w.returned = func(id, _, _, result string) string {
		return fmt.Sprintf(`{"call_id":"call_%s","output":%s,"type":"function_call_output"}`, id, quote(result))
	}
	return w
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

// cacheMark marks a part of a prompt for Anthropic's cache. It is no part of the prompt.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

func anthropicWire() wire {
	event := func(kind, data string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, data)
	}
	block := func(start, delta string) string {
		return event("content_block_start", `,"index":0,"content_block":{`+start+`}`) +
			event("content_block_delta", `,"index":0,"delta":{`+delta+`}`) +
			event("content_block_stop", `,"index":0`)
	}
	message := func(role string, blocks ...string) string {
		return `{"content":[` + strings.Join(blocks, ",") + `],"role":"` + role + `"}`
	}
	text := func(s string) string { return `{"text":` + quote(s) + `,"type":"text"}` }
	texts := func(parts []string) []string {
		var all []string
		for _, p := range parts {
			all = append(all, text(p))
		}
		return all
	}
	return wire{
		name: "anthropic", form: "text/event-stream", event: "%s",
		open: func(url string, window int) (providers.Provider, error) {
			return anthropic.New(anthropic.Config{BaseURL: url, APIKey: "sk-ant-test", Window: window})
		},
		tooLong: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`,
		text: func(piece string) string {
			return block(`"type":"text","text":""`, `"type":"text_delta","text":`+quote(piece))
		},
		call: func(n int, name, args string) string {
			return block(fmt.Sprintf(`"type":"tool_use","id":"call_%d","name":%q,"input":{}`, n, name), `"type":"input_json_delta","partial_json":`+quote(args))
		},
		end: func(called bool) string {
			reason := "end_turn"
			if called {
				reason = "tool_use"
			}
			return event("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":3}`) + event("message_stop", "")
		},
		withholds: func(schema string) bool { return strings.Contains(schema, `"additionalProperties":{`) },
		split: func(b body) (string, string, []json.RawMessage) {
			bare := func(raw json.RawMessage) string { return strings.ReplaceAll(string(raw), cacheMark, "") }
			var messages []json.RawMessage
			for _, raw := range b.Messages {
				messages = append(messages, resultsApart(bare(raw))...)
			}
			return bare(b.System), bare(b.Tools), messages
		},
		user: func(parts ...string) string { return message("user", texts(parts)...) },
		said: func(parts ...string) string { return message("assistant", texts(parts)...) },
		called: func(id, name, args, _ string) string {
			return message("assistant", fmt.Sprintf(`{"id":"call_%s","input":%s,"name":%q,"type":"tool_use"}`, id, args, name))
		},
		returned: func(id, _, _, result string) string {
			return message("user", fmt.Sprintf(`{"content":[%s],"tool_use_id":"call_%s","type":"tool_result"}`, text(result), id))
		},
	}
}

// resultsApart returns a message of Anthropic's API, and what follows results in it as another
// one, since the other wires have messages of their own for both.
func resultsApart(raw string) []json.RawMessage {
	var m struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal([]byte(raw), &m)
	for i, block := range m.Content {
		if i > 0 && !strings.Contains(string(block), `"type":"tool_result"`) && strings.Contains(string(m.Content[i-1]), `"type":"tool_result"`) {
			part := func(blocks []json.RawMessage) json.RawMessage {
				data, _ := json.Marshal(map[string]any{"role": m.Role, "content": blocks})
				return data
			}
			return []json.RawMessage{part(m.Content[:i]), part(m.Content[i:])}
		}
	}
	return []json.RawMessage{json.RawMessage(raw)}
}

// onEachWire runs a test on all wires.
func onEachWire(t *testing.T, test func(t *testing.T, w wire)) {
	t.Helper()
	for _, w := range []wire{geminiWire(), ollamaWire(), openaiWire(), responsesWire(), anthropicWire()} {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}
