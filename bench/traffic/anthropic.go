package traffic

import (
	"encoding/json"
	"errors"

	"molar/schemas"
)

// readAnthropic reads an answer of Anthropic's Messages API (https://docs.anthropic.com/en/api/messages
// and, of a stream, https://docs.anthropic.com/en/docs/build-with-claude/streaming).
func readAnthropic(all []object) (Reading, error) {
	var r Reading
	var m anthropicMessage
	for _, event := range all {
		if r.Error = failure(event); r.Error != "" {
			return r, nil
		}
		if event["type"] == "message_stop" {
			break
		}
		switch asText(event["type"]) {
		case "message":
			m.begin(event)
		case "message_start":
			m = anthropicMessage{}
			m.begin(dict(event["message"]))
		case "content_block_start":
			m.blocks = append(m.blocks, dict(event["content_block"]))
			m.inputs = append(m.inputs, "")
		case "content_block_delta":
			m.delta(dict(event["delta"]))
		case "message_delta":
			m.usage.add(dict(event["usage"]))
			m.stop(dict(event["delta"]))
		}
	}
	for i, block := range m.blocks {
		r.anthropicBlock(block, m.inputs[i])
	}
	r.Usage = m.usage.total()
	switch m.reason {
	case "pause_turn":
		return r, errors.New("it waits for a tool of the service, which Molar never offers")
	case "max_tokens", "model_context_window_exceeded":
		r.Finish = "length"
	case "refusal":
		r.Finish = "content_filter"
	default:
		r.Finish = "stop"
	}
	r.think()
	r.settle()
	return r, nil
}

type anthropicMessage struct {
	blocks []object
	inputs []string // the arguments of each block that came in pieces
	usage  anthropicUsage
	reason string
}

func (m *anthropicMessage) begin(message object) {
	for _, block := range list(message["content"]) {
		m.blocks = append(m.blocks, dict(block))
		m.inputs = append(m.inputs, "")
	}
	m.usage.add(dict(message["usage"]))
	m.stop(message)
}

func (m *anthropicMessage) stop(o object) {
	if why := asText(o["stop_reason"]); why != "" {
		m.reason = why
	}
}

// delta adds to the last block: blocks come one after the other.
func (m *anthropicMessage) delta(delta object) {
	last := len(m.blocks) - 1
	if last < 0 {
		return
	}
	add := func(key string) { m.blocks[last][key] = asText(m.blocks[last][key]) + asText(delta[key]) }
	switch delta["type"] {
	case "text_delta":
		add("text")
	case "thinking_delta":
		add("thinking")
	case "signature_delta":
		add("signature")
	case "input_json_delta":
		m.inputs[last] += asText(delta["partial_json"])
	}
}

// anthropicUsage keeps the last value of each count: those of a stream grow.
type anthropicUsage map[string]int

func (u *anthropicUsage) add(counts object) {
	if *u == nil {
		*u = anthropicUsage{}
	}
	for _, key := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"} {
		if _, there := counts[key].(json.Number); there {
			(*u)[key] = number(counts[key])
		}
	}
	if details, there := counts["output_tokens_details"].(object); there {
		(*u)["thinking_tokens"] = number(details["thinking_tokens"])
	}
}

func (u anthropicUsage) total() Usage {
	cached := u["cache_read_input_tokens"]
	return Usage{Prompt: u["input_tokens"] + u["cache_creation_input_tokens"] + cached, Completion: u["output_tokens"], Cached: cached, Reasoning: u["thinking_tokens"]}
}

func (r *Reading) anthropicBlock(block object, input string) {
	switch block["type"] {
	case "text":
		r.Text += asText(block["text"])
	case "thinking":
		r.Thinking += asText(block["thinking"])
		r.Sealed = append(r.Sealed, asText(block["signature"]))
	case "redacted_thinking":
		r.Sealed = append(r.Sealed, asText(block["data"]))
	case "tool_use":
		args := encoded(block["input"])
		if input != "" {
			args = arguments(input)
		}
		r.Calls = append(r.Calls, Call{Name: asText(block["name"]), Args: args, ID: asText(block["id"])})
	}
}

func anthropicTools(request object) []schemas.ToolInfo {
	var all []schemas.ToolInfo
	for _, t := range list(request["tools"]) {
		if tool := dict(t); tool["input_schema"] != nil {
			all = appendTool(all, tool, "input_schema")
		}
	}
	return all
}

func anthropicPast(request object) []item {
	var all []item
	for _, m := range list(request["messages"]) {
		var r Reading
		for _, b := range list(dict(m)["content"]) {
			block := dict(b)
			if block["type"] != "tool_result" {
				r.anthropicBlock(block, "")
				continue
			}
			said := contentText(block["content"])
			all = append(all, item{kind: itemResult, call: Call{ID: asText(block["tool_use_id"])}, text: said})
		}
		for _, s := range r.Sealed {
			all = append(all, item{kind: itemSealed, text: s})
		}
		for _, c := range r.Calls {
			all = append(all, item{kind: itemCall, call: c})
		}
	}
	return all
}
