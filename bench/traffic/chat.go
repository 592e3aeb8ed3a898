package traffic

import (
	"errors"
	"slices"

	"molar/schemas"
)

// readChat reads an answer of Chat Completions
// (https://platform.openai.com/docs/api-reference/chat), with the additions of compatible services
// for reasoning.
func readChat(all []object) (Reading, error) {
	var r Reading
	open := map[any]int{} // the calls by index
	refused, choices := false, 0
	for _, event := range all {
		if r.Error = failure(event); r.Error != "" {
			return r, nil
		}
		r.chatUsage(event)
		for i, c := range list(event["choices"]) {
			choice := dict(c)
			if n := number(choice["index"]); n != 0 || i > 0 {
				continue // only one answer was asked for
			}
			said, isWhole := choice["message"].(object)
			if delta, isPiece := choice["delta"].(object); isPiece && (!isWhole || len(all) > 1) {
				said = delta // Perplexity sends both
			}
			if said == nil {
				continue // Azure sends what its filters found by itself
			}
			choices++
			if err := r.chatDelta(said, open); err != nil {
				return r, err
			}
			refused = refused || asText(said["refusal"]) != ""
			if why := asText(choice["finish_reason"]); why != "" {
				r.Finish = why
			}
		}
	}
	r.Calls = slices.DeleteFunc(r.Calls, func(c Call) bool { return c.Name == "" && c.Args == "" }) // padding of Snowflake's
	for i := range r.Calls {
		r.Calls[i].Args = arguments(r.Calls[i].Args)
	}
	switch {
	case refused:
		r.Finish = "content_filter"
	case r.Finish != "length" && r.Finish != "content_filter":
		r.Finish = "stop"
	}
	r.think()
	r.settle()
	if choices == 0 {
		return r, errors.New("it has neither a message nor a delta")
	}
	return r, nil
}

func (r *Reading) chatUsage(event object) {
	u, ok := event["usage"].(object)
	if !ok {
		return
	}
	r.Usage = Usage{
		number(u["prompt_tokens"]), number(u["completion_tokens"]),
		number(dict(u["prompt_tokens_details"])["cached_tokens"]), number(dict(u["completion_tokens_details"])["reasoning_tokens"]),
	}
	if r.Usage.Cached == 0 {
		r.Usage.Cached = number(u["prompt_cache_hit_tokens"]) // DeepSeek's
	}
	if n := number(dict(event["timings"])["cache_n"]); n > r.Usage.Cached { // llama.cpp's
		r.Usage.Cached = n
	}
	if beside := r.Usage.Reasoning; beside > 0 && number(u["total_tokens"]) == r.Usage.Prompt+r.Usage.Completion+beside { // xAI's
		r.Usage.Completion += beside
	}
}

// chatDelta adds a message, or a piece of one.
func (r *Reading) chatDelta(delta object, open map[any]int) error {
	r.Text += asText(delta["content"])
	if o, ok := delta["content"].(object); ok { // Cloudflare's, where a schema was given
		r.Text, r.parsed = encoded(o), true
	}
	for _, p := range list(delta["content"]) {
		switch part := dict(p); part["type"] {
		case "text":
			r.Text += asText(part["text"])
		case "thinking":
			for _, t := range list(part["thinking"]) {
				r.Thinking += asText(dict(t)["text"])
			}
		}
	}
	if refusal := asText(delta["refusal"]); refusal != "" {
		r.Text += refusal
	}
	if thought := asText(delta["reasoning_content"]); thought != "" {
		r.Thinking += thought
	} else {
		r.Thinking += asText(delta["reasoning"])
	}
	r.Sealed = append(r.Sealed, sealedDetails(delta)...)
	pieces := list(delta["tool_calls"])
	if f, old := delta["function_call"].(object); old {
		pieces = append(pieces, object{"function": f, "index": "function_call"})
	}
	for _, p := range pieces {
		piece := dict(p)
		if piece["custom"] != nil {
			return errors.New("it calls a custom tool, which Molar never offers")
		}
		function := dict(piece["function"])
		id, name := asText(piece["id"]), asText(function["name"])
		at, known := open[piece["index"]]
		if !known || piece["index"] == nil || id != "" && r.Calls[at].ID != "" && r.Calls[at].ID != id {
			at = len(r.Calls)
			open[piece["index"]] = at
			r.Calls = append(r.Calls, Call{})
		}
		c := &r.Calls[at]
		if c.ID == "" {
			c.ID = id
		}
		if c.Name == "" {
			c.Name = name
		}
		switch args := function["arguments"].(type) {
		case string:
			c.Args += args
		case object:
			c.Args = encoded(args)
		}
	}
	return nil
}

// sealedDetails returns the encrypted reasoning and the signatures that OpenRouter passes on
// (https://openrouter.ai/docs/use-cases/reasoning-tokens).
func sealedDetails(message object) []string {
	var all []string
	for _, d := range list(message["reasoning_details"]) {
		all = append(all, asText(dict(d)["data"]), asText(dict(d)["signature"]))
	}
	return all
}

// chatTools returns the functions that a request offers.
func chatTools(request object) []schemas.ToolInfo {
	var all []schemas.ToolInfo
	for _, t := range list(request["tools"]) {
		all = appendTool(all, dict(dict(t)["function"]), "parameters")
	}
	for _, f := range list(request["functions"]) {
		all = appendTool(all, dict(f), "parameters")
	}
	return all
}

// chatPast returns the calls and results in the messages of a request. Ollama's are the same, but for
// the ids of results.
func chatPast(request object) []item {
	var all []item
	for _, m := range list(request["messages"]) {
		message := dict(m)
		switch asText(message["role"]) {
		case "assistant":
			var r Reading
			_ = r.chatDelta(object{"tool_calls": message["tool_calls"]}, map[any]int{}) // a custom call is none of ours
			for _, c := range r.Calls {
				c.Args = arguments(c.Args)
				all = append(all, item{kind: itemCall, call: c})
			}
			for _, key := range []string{"reasoning_content", "reasoning"} { // servers know one of them, or both
				all = append(all, item{kind: itemSealed, text: blanks(asText(message[key]))})
			}
			for _, s := range sealedDetails(message) {
				all = append(all, item{kind: itemSealed, text: s})
			}
		case "tool":
			said := contentText(message["content"])
			name := asText(message["tool_name"])
			if name == "" {
				name = asText(message["name"])
			}
			all = append(all, item{kind: itemResult, call: Call{ID: asText(message["tool_call_id"]), Name: name}, text: said})
		}
	}
	return all
}
