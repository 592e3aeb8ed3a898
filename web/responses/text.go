package responses

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// An openMessage is a message that is being written.
type openMessage struct {
	responses.Message
	index int
	text  strings.Builder
	// refusal is set if its part is a refusal.
	refusal bool
}

// part returns the part of the message with a text.
func (m *openMessage) part(text string) any {
	if m.refusal {
		return newRefusal(text)
	}
	return responses.NewText(text)
}

// An openThought is reasoning that is being written.
type openThought struct {
	responses.Reasoning
	index   int
	summary bool
	text    strings.Builder
}

// text emits a piece of a message. Leading blank lines of a message are dropped: they only separate
// it from the output before.
func (r *renderer) text(piece string, refusal bool) {
	if r.message == nil {
		if piece = strings.TrimLeft(piece, "\n"); piece == "" {
			return
		}
		m := &openMessage{refusal: refusal, Message: responses.Message{Type: "message", ID: r.id("msg"), Status: responses.StatusInProgress, Role: "assistant", Content: []any{}}}
		m.index = r.add(m.Message)
		r.message = m
		r.emit(Event{Type: "response.content_part.added", ItemID: m.ID, OutputIndex: &m.index, ContentIndex: &r.first, Part: m.part("")})
	}
	if piece == "" {
		return
	}
	m := r.message
	m.text.WriteString(piece)
	if m.refusal {
		r.emit(Event{Type: "response.refusal.delta", ItemID: m.ID, OutputIndex: &m.index, ContentIndex: &r.first, Delta: &piece})
		return
	}
	r.Emit(m.delta(r.sequence, piece))
	r.sequence++
}

// delta encodes an event with a piece of the text by hand, for speed: there is one for every few
// letters of every answer.
func (m *openMessage) delta(sequence int, piece string) encodedEvent {
	const kind = "response.output_text.delta"
	b := make([]byte, 0, len(m.ID)+len(piece)+160)
	b = append(b, `{"type":"`+kind+`","sequence_number":`...)
	b = strconv.AppendInt(b, int64(sequence), 10)
	b = append(append(b, `,"item_id":"`...), m.ID...) // needs no escapes
	b = strconv.AppendInt(append(b, `","output_index":`...), int64(m.index), 10)
	b = wire.AppendString(append(b, `,"content_index":0,"delta":`...), piece)
	return encodedEvent{kind, append(b, `,"logprobs":[]}`...)}
}

// closeMessage ends the open message, if there is one.
func (r *renderer) closeMessage(phase, status string) {
	m := r.message
	if m == nil {
		return
	}
	r.message = nil
	part := r.endPart(m, phase)
	r.emit(Event{Type: "response.content_part.done", ItemID: m.ID, OutputIndex: &m.index, ContentIndex: &r.first, Part: part})
	m.Phase, m.Status, m.Content = phase, status, []any{part}
	r.end(m.index, m.Message)
}

// endPart emits the events that end the text of a message, and returns its part.
func (r *renderer) endPart(m *openMessage, phase string) any {
	if m.refusal {
		part := newRefusal(m.text.String())
		r.emit(Event{Type: "response.refusal.done", ItemID: m.ID, OutputIndex: &m.index, ContentIndex: &r.first, Refusal: &part.Refusal})
		return part
	}
	part := responses.NewText(m.text.String())
	if phase == responses.PhaseFinalAnswer {
		part.Annotations = citations(part.Text, r.sources)
		for i := range part.Annotations {
			r.emit(Event{
				Type: "response.output_text.annotation.added", ItemID: m.ID, OutputIndex: &m.index, ContentIndex: &r.first,
				CitationNo: &i, Annotation: &part.Annotations[i],
			})
		}
	}
	r.emit(Event{Type: "response.output_text.done", ItemID: m.ID, OutputIndex: &m.index, ContentIndex: &r.first, Text: &part.Text, Logprobs: &[]struct{}{}})
	return part
}

// think emits a piece of the model's reasoning.
func (r *renderer) think(piece string) {
	if piece == "" {
		return
	}
	t := r.thought
	if t == nil {
		r.closeMessage(responses.PhaseCommentary, responses.StatusCompleted)
		t = &openThought{
			Reasoning: responses.Reasoning{Type: "reasoning", ID: r.id("rs"), Status: responses.StatusInProgress, Summary: []responses.TextPart{}},
			summary:   r.Response.Reasoning.Summary != nil && *r.Response.Reasoning.Summary != "",
		}
		t.index = r.add(t.Reasoning)
		r.thought = t
		if t.summary {
			r.emit(Event{Type: "response.reasoning_summary_part.added", ItemID: t.ID, OutputIndex: &t.index, SummaryIndex: &r.first, Part: responses.TextPart{Type: "summary_text"}})
		} else {
			r.emit(Event{Type: "response.content_part.added", ItemID: t.ID, OutputIndex: &t.index, ContentIndex: &r.first, Part: responses.TextPart{Type: "reasoning_text"}})
		}
	}
	t.text.WriteString(piece)
	ev := Event{Type: "response.reasoning.delta", ItemID: t.ID, OutputIndex: &t.index, ContentIndex: &r.first, Delta: &piece}
	if t.summary {
		ev.Type, ev.ContentIndex, ev.SummaryIndex = "response.reasoning_summary_text.delta", nil, &r.first
	}
	r.emit(ev)
}

// keepState gives the client the provider's state of its calls, in the reasoning before them.
func (r *renderer) keepState(states map[string]*schemas.ProviderState) {
	if !r.includes(includeState) || len(states) == 0 {
		return
	}
	if r.thought != nil {
		r.closeThoughtWith(InputState{states})
		return
	}
	it := responses.Reasoning{Type: "reasoning", ID: r.id("rs"), Status: responses.StatusInProgress, Summary: []responses.TextPart{}}
	i := r.add(it)
	it.Status, it.EncryptedContent = responses.StatusCompleted, r.Seal(InputState{states})
	r.end(i, it)
}

func (r *renderer) closeThought() { r.closeThoughtWith(InputState{}) }

// closeThoughtWith ends the open reasoning, if there is some.
func (r *renderer) closeThoughtWith(state InputState) {
	t := r.thought
	if t == nil {
		return
	}
	r.thought = nil
	text := t.text.String()
	t.Status = responses.StatusCompleted
	if r.includes(includeState) {
		t.EncryptedContent = r.Seal(state)
	}
	if t.summary {
		t.Summary = []responses.TextPart{{Type: "summary_text", Text: text}}
		r.emit(Event{Type: "response.reasoning_summary_text.done", ItemID: t.ID, OutputIndex: &t.index, SummaryIndex: &r.first, Text: &text})
		r.emit(Event{Type: "response.reasoning_summary_part.done", ItemID: t.ID, OutputIndex: &t.index, SummaryIndex: &r.first, Part: t.Summary[0]})
	} else {
		t.Content = []responses.TextPart{{Type: "reasoning_text", Text: text}}
		r.emit(Event{Type: "response.reasoning.done", ItemID: t.ID, OutputIndex: &t.index, ContentIndex: &r.first, Text: &text})
		r.emit(Event{Type: "response.content_part.done", ItemID: t.ID, OutputIndex: &t.index, ContentIndex: &r.first, Part: t.Content[0]})
	}
	r.end(t.index, t.Reasoning)
}

// citations returns the sources that the text lists as Markdown links at its end. Offsets are in
// characters.
func citations(text string, sources []schemas.Source) []responses.Citation {
	all := []responses.Citation{}
	for _, s := range slices.Backward(sources) {
		if s.URL == "" { // a passage without an address of its own
			continue
		}
		link := "](" + s.URL + ")"
		i := strings.LastIndex(text, link)
		if i < 0 {
			continue
		}
		start := linkStart(text, i)
		all = append(all, responses.Citation{
			Type: "url_citation", URL: s.URL, Title: s.Title,
			StartIndex: utf8.RuneCountInString(text[:start]), EndIndex: utf8.RuneCountInString(text[:i+len(link)]),
		})
	}
	slices.Reverse(all)
	return all
}

// linkStart returns the start of the label of the link whose label ends at i. Brackets in the label
// are escaped.
func linkStart(text string, i int) int {
	for at := i - 1; at >= 0 && text[at] != '\n'; at-- {
		if text[at] == '[' && (at == 0 || text[at-1] != '\\') {
			return at
		}
	}
	return i
}
