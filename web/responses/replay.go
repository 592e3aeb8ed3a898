package responses

import (
	"encoding/json"

	"molar/schemas/responses"
)

// replay returns the stream events of a stored response, with the text of each item in one piece.
func replay(response json.RawMessage) []encodedEvent {
	var r Response
	var raw struct {
		Output []json.RawMessage `json:"output"`
	}
	if json.Unmarshal(response, &r) != nil || json.Unmarshal(response, &raw) != nil {
		return nil
	}
	var all []encodedEvent
	emit := func(ev Event) {
		ev.Sequence = len(all)
		all = append(all, encode(ev))
	}
	begun := r
	begun.Status, begun.Output, begun.CompletedAt, begun.Usage, begun.Molar = responses.StatusInProgress, []any{}, nil, nil, nil
	begun.Error, begun.IncompleteDetails = nil, nil
	emit(Event{Type: "response.created", Response: &begun})
	emit(Event{Type: "response.in_progress", Response: &begun})
	for i, it := range raw.Output {
		replayItem(i, it, emit)
	}
	if r.Error != nil {
		emit(Event{Type: "error", Error: &responses.EventError{Type: typeServer, Code: &r.Error.Code, Message: r.Error.Message}})
	}
	emit(Event{Type: lastEvent(r.Status), Response: &r})
	return all
}

func replayItem(i int, raw json.RawMessage, emit func(Event)) {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &head) // JSON that this package made
	switch head.Type {
	case "message":
		var m struct {
			responses.Message
			Content []struct {
				responses.OutputText
				Refusal string `json:"refusal"`
			} `json:"content"`
		}
		_ = json.Unmarshal(raw, &m)
		m.Status, m.Message.Content, m.Phase = responses.StatusInProgress, []any{}, ""
		emit(Event{Type: "response.output_item.added", OutputIndex: &i, Item: m.Message})
		for c, part := range m.Content {
			if part.Type == "refusal" {
				replayRefusal(i, c, m.ID, newRefusal(part.Refusal), emit)
			} else {
				replayText(i, c, m.ID, part.OutputText, emit)
			}
		}
	case "function_call":
		var f responses.FunctionCall
		_ = json.Unmarshal(raw, &f)
		arguments := f.Arguments
		f.Arguments, f.Status = "", responses.StatusInProgress
		emit(Event{Type: "response.output_item.added", OutputIndex: &i, Item: f})
		emit(Event{Type: "response.function_call_arguments.delta", ItemID: f.ID, OutputIndex: &i, Delta: &arguments})
		emit(Event{Type: "response.function_call_arguments.done", ItemID: f.ID, OutputIndex: &i, Arguments: &arguments})
	default:
		emit(Event{Type: "response.output_item.added", OutputIndex: &i, Item: raw})
	}
	emit(Event{Type: "response.output_item.done", OutputIndex: &i, Item: raw})
}

func replayText(i, c int, id string, part responses.OutputText, emit func(Event)) {
	none := &[]struct{}{}
	emit(Event{Type: "response.content_part.added", ItemID: id, OutputIndex: &i, ContentIndex: &c, Part: responses.NewText("")})
	emit(Event{Type: "response.output_text.delta", ItemID: id, OutputIndex: &i, ContentIndex: &c, Delta: &part.Text, Logprobs: none})
	for a := range part.Annotations {
		emit(Event{Type: "response.output_text.annotation.added", ItemID: id, OutputIndex: &i, ContentIndex: &c, CitationNo: &a, Annotation: &part.Annotations[a]})
	}
	emit(Event{Type: "response.output_text.done", ItemID: id, OutputIndex: &i, ContentIndex: &c, Text: &part.Text, Logprobs: none})
	emit(Event{Type: "response.content_part.done", ItemID: id, OutputIndex: &i, ContentIndex: &c, Part: part})
}

func replayRefusal(i, c int, id string, part RefusalPart, emit func(Event)) {
	emit(Event{Type: "response.content_part.added", ItemID: id, OutputIndex: &i, ContentIndex: &c, Part: newRefusal("")})
	emit(Event{Type: "response.refusal.delta", ItemID: id, OutputIndex: &i, ContentIndex: &c, Delta: &part.Refusal})
	emit(Event{Type: "response.refusal.done", ItemID: id, OutputIndex: &i, ContentIndex: &c, Refusal: &part.Refusal})
	emit(Event{Type: "response.content_part.done", ItemID: id, OutputIndex: &i, ContentIndex: &c, Part: part})
}
