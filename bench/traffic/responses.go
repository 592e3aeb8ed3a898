package traffic

import (
	"errors"
	"fmt"
	"strings"

	"molar/schemas"
)

// readResponses reads an answer of OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses): its finished items, and of a stream
// the event that ends it.
func readResponses(all []object) (Reading, error) {
	var r Reading
	var items []any
	var end object
	refused, other := false, ""
	for _, event := range all {
		kind := asText(event["type"])
		switch {
		case event["object"] == "response":
			end, items = event, list(event["output"])
		case kind == "error":
			if r.Error = failure(event); r.Error == "" {
				r.Error = asText(event["message"])
			}
			return r, nil
		case kind == "response.output_item.done" && end == nil:
			items = append(items, event["item"])
		case end != nil: // of another answer, behind this one
		case kind == "response.completed", kind == "response.incomplete", kind == "response.failed", kind == "response.cancelled":
			end = dict(event["response"])
		}
	}
	if end == nil {
		return r, errors.New("the answer has no end")
	}
	if r.Error = failure(end); r.Error != "" {
		return r, nil
	}
	if len(items) == 0 {
		items = list(end["output"])
	}
	for _, i := range items {
		item := dict(i)
		r.responsesItem(item)
		for _, p := range list(item["content"]) {
			refused = refused || asText(dict(p)["refusal"]) != ""
		}
		if kind := asText(item["type"]); kind != "message" && kind != "reasoning" && kind != "function_call" {
			other = kind
		}
	}
	if other != "" && r.Text == "" && len(r.Calls) == 0 {
		return r, fmt.Errorf("it holds only %s, which Molar never asks for", other)
	}
	u := dict(end["usage"])
	r.Usage = Usage{
		number(u["input_tokens"]), number(u["output_tokens"]),
		number(dict(u["input_tokens_details"])["cached_tokens"]), number(dict(u["output_tokens_details"])["reasoning_tokens"]),
	}
	switch status, why := asText(end["status"]), asText(dict(end["incomplete_details"])["reason"]); {
	case status == "queued" || status == "in_progress":
		return r, errors.New("it has not ended")
	case why == "content_filter" || refused:
		r.Finish = "content_filter"
	case status == "incomplete":
		r.Finish = "length"
	default:
		r.Finish = "stop"
	}
	r.settle()
	return r, nil
}

func (r *Reading) responsesItem(item object) {
	switch item["type"] {
	case "message":
		commentary := item["phase"] == "commentary"
		if r.aside && !commentary { // the commentary was not the answer
			r.Thinking, r.Text = r.Thinking+"\n\n"+r.Text, ""
		}
		r.aside = commentary && (r.aside || r.Text == "" && len(r.Calls) == 0)
		for _, p := range list(item["content"]) {
			part := dict(p)
			r.Text += asText(part["text"]) + asText(part["refusal"])
		}
	case "reasoning":
		var texts []string
		for _, key := range []string{"summary", "content"} {
			for _, p := range list(item[key]) {
				texts = append(texts, asText(dict(p)["text"]))
			}
			if len(texts) > 0 {
				break // the summary, else the reasoning itself
			}
		}
		r.Thinking += "\n\n" + strings.Join(texts, "\n\n")
		if sealed := asText(item["encrypted_content"]); sealed != "" {
			r.Sealed = append(r.Sealed, sealed)
		}
	case "function_call":
		r.aside = false
		r.Calls = append(r.Calls, Call{Name: asText(item["name"]), Args: arguments(asText(item["arguments"])), ID: asText(item["call_id"])})
	}
}

func responsesTools(request object) []schemas.ToolInfo {
	var all []schemas.ToolInfo
	for _, t := range list(request["tools"]) {
		if tool := dict(t); tool["type"] == "function" {
			all = appendTool(all, tool, "parameters")
		}
	}
	return all
}

func responsesPast(request object) []item {
	var all []item
	for _, i := range list(request["input"]) {
		in := dict(i)
		if in["type"] == "function_call_output" {
			said := contentText(in["output"])
			all = append(all, item{kind: itemResult, call: Call{ID: asText(in["call_id"])}, text: said})
			continue
		}
		var r Reading
		r.responsesItem(in)
		for _, s := range r.Sealed {
			all = append(all, item{kind: itemSealed, text: s})
		}
		for _, c := range r.Calls {
			all = append(all, item{kind: itemCall, call: c})
		}
	}
	return all
}
