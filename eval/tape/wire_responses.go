package tape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"molar/eval/match"
	"molar/schemas/responses"
)

// responsesItem adds an item of an input or of an output of the Responses API.
func (r *wireReader) responsesItem(at string, v any) {
	it, _ := v.(object)
	kind, _ := it["type"].(string)
	switch {
	case kind == responses.TypeFunctionCall:
		r.role(at, "assistant")
		r.call(at, it["call_id"], it)
	case kind == responses.TypeOutput:
		p := Part{Kind: KindResult, At: at}
		p.ID, _ = it["call_id"].(string)
		var texts wireReader
		texts.texts(KindResult, at, it["output"])
		for _, text := range texts {
			p.Text += text.Text
		}
		*r = append(*r, p)
	case kind == responses.TypeReasoning:
		r.role(at, "assistant")
		r.text(KindSignature, at, match.Canonical(it))
	case it["role"] != nil:
		r.message(at, it)
	default:
		r.text(KindText, at, match.Canonical(it))
	}
}

// role begins a message, unless the last one has this role.
func (r *wireReader) role(at, role string) {
	for _, p := range slices.Backward(*r) {
		if p.Kind == KindRole && p.Text == role {
			return
		}
		if p.Kind == KindRole || p.Kind == KindResult {
			break
		}
	}
	*r = append(*r, Part{Kind: KindRole, At: at, Text: role})
}

// addResponses adds an event of the Responses API, or a whole answer of it. It reports whether it is
// one. The items are read when they are complete, and those of the last event if none came before.
func (a *WireAnswer) addResponses(event object) bool {
	kind, _ := event["type"].(string)
	response, isLast := event["response"].(object)
	if event["object"] == "response" {
		response, isLast, kind = event, true, "response.completed"
	}
	if !strings.HasPrefix(kind, "response.") {
		return false
	}
	switch kind {
	case "response.output_item.done":
		a.outputItem(event["item"])
	case "response.completed", "response.incomplete":
		if !isLast {
			break
		}
		if items, _ := response["output"].([]any); a.Text == "" && len(a.Calls) == 0 {
			for _, it := range items {
				a.outputItem(it)
			}
		}
		if usage, there := response["usage"].(object); there {
			a.Prompt, a.Completion = whole(usage["input_tokens"]), whole(usage["output_tokens"])
		}
	}
	return true
}

// outputItem adds a text or a call of an output.
func (a *WireAnswer) outputItem(v any) {
	var said wireReader
	said.responsesItem("", v)
	for _, p := range said {
		a.part(p)
	}
}

func (a WireAnswer) responses(model string) [][]byte {
	var chunks [][]byte
	number := 0
	emit := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, number
		number++
		chunks = append(chunks, append([]byte("event: "+kind+"\n"), event(more)...))
	}
	response := object{"id": "resp_taped", "object": "response", "created_at": 0, "model": model, "status": responses.StatusInProgress, "output": []any{}}
	emit("response.created", object{"response": response})
	var output []any
	item := func(begun, ended any, pieces func(place int)) {
		place := len(output)
		emit("response.output_item.added", object{"output_index": place, "item": begun})
		pieces(place)
		emit("response.output_item.done", object{"output_index": place, "item": ended})
		output = append(output, ended)
	}
	delta := func(kind string, place int, text string) {
		emit("response."+kind+".delta", object{"output_index": place, "content_index": 0, "summary_index": 0, "delta": text})
	}
	if a.Thinking != "" {
		it := responses.Reasoning{Type: responses.TypeReasoning, ID: "rs_taped", Status: responses.StatusCompleted, Summary: []responses.TextPart{{Type: "summary_text", Text: a.Thinking}}, EncryptedContent: a.Signature}
		item(it, it, func(place int) { delta("reasoning_summary_text", place, a.Thinking) })
	}
	if a.Text != "" {
		it := responses.Message{Type: responses.TypeMessage, ID: "msg_taped", Status: responses.StatusCompleted, Role: "assistant", Content: []any{}}
		begun := it
		it.Content = []any{responses.NewText(a.Text)}
		item(begun, it, func(place int) {
			for _, text := range a.texts() {
				delta("output_text", place, text)
			}
		})
	}
	for i, c := range a.Calls {
		it := responses.FunctionCall{Type: responses.TypeFunctionCall, ID: fmt.Sprintf("fc_taped_%d", i), CallID: c.ID, Name: c.Name, Status: responses.StatusCompleted}
		begun := it
		it.Arguments = c.Arguments
		item(begun, it, func(place int) {
			for _, piece := range halves(c.Arguments) {
				delta("function_call_arguments", place, piece)
			}
		})
	}
	status, details := responses.StatusCompleted, any(nil)
	if reason := map[string]string{"length": responses.ReasonMaxTokens, "content_filter": responses.ReasonContentFilter}[a.Finish]; reason != "" {
		status, details = responses.StatusIncomplete, responses.Incomplete{Reason: reason}
	}
	usage := responses.Usage{InputTokens: a.Prompt, OutputTokens: a.Completion, TotalTokens: a.Prompt + a.Completion}
	last := object{
		"id": "resp_taped", "object": "response", "created_at": 0, "model": cmp.Or(model, "model"), "status": status,
		"incomplete_details": details, "error": nil, "output": output, "usage": usage,
	}
	emit("response."+status, object{"response": last})
	return chunks
}
