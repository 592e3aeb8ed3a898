package responses

import "encoding/json"

// replay returns a stored response as stream events: each item at once.
func replay(response json.RawMessage) []told {
	var r Response
	var raw struct {
		Output []json.RawMessage `json:"output"`
	}
	if json.Unmarshal(response, &r) != nil || json.Unmarshal(response, &raw) != nil {
		return nil
	}
	var all []told
	tell := func(ev Event) {
		ev.Sequence = len(all)
		all = append(all, encode(ev))
	}
	begun := r
	begun.Status, begun.Output, begun.CompletedAt, begun.Usage, begun.Molar = statusInProgress, []any{}, nil, nil, nil
	begun.Error, begun.IncompleteDetails = nil, nil
	tell(Event{Type: "response.created", Response: &begun})
	tell(Event{Type: "response.in_progress", Response: &begun})
	for i, it := range raw.Output {
		replayItem(i, it, tell)
	}
	if r.Error != nil {
		tell(Event{Type: "error", Error: &EventError{Type: typeServer, Code: &r.Error.Code, Message: r.Error.Message}})
	}
	tell(Event{Type: lastEvent(r.Status), Response: &r})
	return all
}

func replayItem(i int, raw json.RawMessage, tell func(Event)) {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &head) // of our own making
	switch head.Type {
	case "message":
		var m struct {
			Message
			Content []OutputText `json:"content"`
		}
		_ = json.Unmarshal(raw, &m)
		m.Status, m.Message.Content, m.Phase = statusInProgress, []any{}, ""
		tell(Event{Type: "response.output_item.added", OutputIndex: &i, Item: m.Message})
		for c, part := range m.Content {
			replayText(i, c, m.ID, part, tell)
		}
	case "function_call":
		var f functionCall
		_ = json.Unmarshal(raw, &f)
		arguments := f.Arguments
		f.Arguments, f.Status = "", statusInProgress
		tell(Event{Type: "response.output_item.added", OutputIndex: &i, Item: f})
		tell(Event{Type: "response.function_call_arguments.delta", ItemID: f.ID, OutputIndex: &i, Delta: &arguments})
		tell(Event{Type: "response.function_call_arguments.done", ItemID: f.ID, OutputIndex: &i, Arguments: &arguments})
	default:
		tell(Event{Type: "response.output_item.added", OutputIndex: &i, Item: raw})
	}
	tell(Event{Type: "response.output_item.done", OutputIndex: &i, Item: raw})
}

func replayText(i, c int, id string, part OutputText, tell func(Event)) {
	none := &[]struct{}{}
	tell(Event{Type: "response.content_part.added", ItemID: id, OutputIndex: &i, ContentIndex: &c, Part: newText("")})
	tell(Event{Type: "response.output_text.delta", ItemID: id, OutputIndex: &i, ContentIndex: &c, Delta: &part.Text, Logprobs: none})
	for a := range part.Annotations {
		tell(Event{Type: "response.output_text.annotation.added", ItemID: id, OutputIndex: &i, ContentIndex: &c, CitationNo: &a, Annotation: &part.Annotations[a]})
	}
	tell(Event{Type: "response.output_text.done", ItemID: id, OutputIndex: &i, ContentIndex: &c, Text: &part.Text, Logprobs: none})
	tell(Event{Type: "response.content_part.done", ItemID: id, OutputIndex: &i, ContentIndex: &c, Part: part})
}
