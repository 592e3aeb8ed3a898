package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"molar/internal/sse"
	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
	"molar/schemas/responses"
)

// A responsesReader reads the answer of Responses
// (https://platform.openai.com/docs/api-reference/responses-streaming). Text and reasoning are emitted
// as they arrive; what came only in a later event, or only in the response at the end, is caught up
// with. Items and events of other types are left out.
type responsesReader struct {
	*call
	items []*openItem // in the order in which they began
	size  int         // of the arguments, in bytes

	before  []json.RawMessage // reasoning that belongs to the next text or call
	pending []assembled       // calls that are not emitted yet
	thought bool              // there was some, readable or not
	// aside is set while all text was commentary that no call followed.
	aside bool
}

// event handles one event and reports whether it ended the answer.
func (c *responsesReader) event(e sse.Event) (done bool, err error) {
	if e.IsDone() { // it comes after the last event, or the answer is not complete
		c.x.Last()
		return false, nil
	}
	var ev responsesEvent
	if err := decode(e.Data, &ev); err != nil {
		return false, c.unreadable(e, err)
	}
	switch ev.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if ev.Response == nil {
			return false, c.fail(providers.KindProtocol, errors.New("the last event of the answer holds no response"))
		}
		return true, c.response(ev.Response)
	case "error":
		err := c.streamError(e.Data)
		return err == nil, err
	case "":
		if e.Name == "error" || ev.Error != nil {
			err := c.streamError(e.Data)
			return err == nil, err
		}
		return false, nil
	}
	return false, c.output(&ev)
}

// output handles an event of an item.
func (c *responsesReader) output(ev *responsesEvent) error {
	number := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	if len(c.items) > maxItems {
		return c.fail(providers.KindProtocol, errManyItems)
	}
	switch ev.Type {
	case "response.output_item.added":
		if it := c.add(ev.OutputIndex, &ev.Item); it.kind == responses.TypeFunctionCall {
			c.x.Output()
		}
	case "response.output_item.done":
		it := c.find(ev, ev.Item.Type)
		if it == nil {
			it = c.add(ev.OutputIndex, &ev.Item)
		}
		return c.complete(it, &ev.Item)
	case "response.output_text.delta":
		return c.piece(c.open(ev, responses.TypeMessage), textOf{textContent, number(ev.ContentIndex)}, ev.Delta)
	case "response.refusal.delta":
		c.refused = true
		return c.piece(c.open(ev, responses.TypeMessage), textOf{textContent, number(ev.ContentIndex)}, ev.Delta)
	case "response.output_text.done":
		return c.rest(c.open(ev, responses.TypeMessage), textOf{textContent, number(ev.ContentIndex)}, ev.Text)
	case "response.reasoning_summary_text.delta":
		return c.piece(c.open(ev, responses.TypeReasoning), textOf{textSummary, number(ev.SummaryIndex)}, ev.Delta)
	case "response.reasoning_summary_text.done":
		return c.rest(c.open(ev, responses.TypeReasoning), textOf{textSummary, number(ev.SummaryIndex)}, ev.Text)
	case "response.reasoning_text.delta", "response.reasoning.delta": // of open models; the second is Open Responses'
		return c.piece(c.open(ev, responses.TypeReasoning), textOf{textContent, number(ev.ContentIndex)}, ev.Delta)
	case "response.reasoning_text.done", "response.reasoning.done":
		return c.rest(c.open(ev, responses.TypeReasoning), textOf{textContent, number(ev.ContentIndex)}, ev.Text)
	case "response.function_call_arguments.delta":
		it := c.open(ev, responses.TypeFunctionCall)
		if ev.Delta == nil || it.over {
			return nil
		}
		return c.arguments(it, it.args+*ev.Delta)
	case "response.function_call_arguments.done":
		if it := c.open(ev, responses.TypeFunctionCall); ev.Arguments != nil && *ev.Arguments != "" && !it.over {
			return c.arguments(it, *ev.Arguments)
		}
	}
	return nil
}

// find returns the item that an event is about, by its place, else by its id; nil if it has not begun.
// Some gateways change the ids between the events of an item.
func (c *responsesReader) find(ev *responsesEvent, kind string) *openItem {
	id := ev.ItemID
	if id == "" {
		id = ev.Item.ID
	}
	for _, it := range slices.Backward(c.items) {
		if it.kind != kind {
			continue
		}
		switch {
		case ev.OutputIndex != nil && it.index != nil:
			if *ev.OutputIndex == *it.index {
				return it
			}
		case id != "" && it.id != "":
			if id == it.id {
				return it
			}
		case !it.over:
			return it
		}
	}
	return nil
}

// open returns the item of a kind that an event is about. An item that was not announced begins with it.
func (c *responsesReader) open(ev *responsesEvent, kind string) *openItem {
	if it := c.find(ev, kind); it != nil {
		return it
	}
	return c.add(ev.OutputIndex, &item{responses.Item{Type: kind, ID: ev.ItemID}})
}

// add adds an item that begins.
func (c *responsesReader) add(index *int, i *item) *openItem {
	it := &openItem{kind: i.Type, id: i.ID, index: index, said: map[textOf]*spoken{}, all: spoken{sum: newSum()}}
	it.learn(i)
	c.items = append(c.items, it)
	return it
}

// maxItems bounds the items of one answer.
const maxItems = 4 * maxCalls

var errManyItems = errors.New("the answer holds more than 1024 items")

// arguments sets the arguments of a call.
func (c *responsesReader) arguments(it *openItem, args string) error {
	c.x.Output()
	if c.size += len(args) - len(it.args); c.size > maxArguments {
		return c.fail(providers.KindProtocol, errLongCalls)
	}
	it.args = args
	return nil
}

// piece emits a piece of a text.
func (c *responsesReader) piece(it *openItem, at textOf, text *string) error {
	if text == nil || *text == "" || it.over {
		return nil
	}
	said := it.said[at]
	if said == nil {
		said = &spoken{sum: newSum()}
		it.said[at] = said
	}
	first := said.n == 0
	said.add(*text)
	it.all.add(*text)
	if it.kind == responses.TypeReasoning {
		thought := *text
		if first && c.answer.Thought {
			thought = "\n\n" + thought // each part is a paragraph
		}
		return c.answer.Say("", thought, nil)
	}
	if err := c.speak(it); err != nil {
		return err
	}
	return c.answer.Say(*text, "", nil)
}

// rest emits what of a text has not come in pieces.
func (c *responsesReader) rest(it *openItem, at textOf, whole *string) error {
	if whole == nil {
		return nil
	}
	said := it.said[at]
	if said == nil {
		return c.piece(it, at, whole)
	}
	if !said.begins(*whole) {
		return nil // it was changed on its way; what was shown stays
	}
	more := (*whole)[said.n:]
	return c.piece(it, at, &more)
}

// speak begins the text of a message, once. The calls before it come first, and commentary before
// another message that no call followed turns out not to be the answer. The message's state is emitted
// before its text, so that the text stays in one part.
func (c *responsesReader) speak(it *openItem) error {
	if it.begun {
		return nil
	}
	it.begun = true
	if err := c.release(); err != nil {
		return err
	}
	commentary := it.phase == responses.PhaseCommentary
	if c.aside && !commentary {
		if err := c.answer.Retract(); err != nil {
			return err
		}
	}
	c.aside = commentary && (c.aside || !c.answer.Answered())
	kept := keep(c.p.name, state{trace: c.takeTrace(it.phase)})
	return c.answer.Say("", "", kept)
}

// takeTrace returns what belongs to the part that begins now.
func (c *responsesReader) takeTrace(phase string) trace {
	t := trace{Before: c.before, Phase: phase}
	if len(t.Before) > 0 {
		t.Model = c.req.Model
	}
	c.before = nil
	return t
}

// complete takes the final form of an item.
func (c *responsesReader) complete(it *openItem, final *item) error {
	if it.over {
		return nil
	}
	it.learn(final)
	switch it.kind {
	case responses.TypeMessage:
		var text strings.Builder
		for _, p := range final.content() {
			c.refused = c.refused || p.Refusal != ""
			text.WriteString(p.Text + p.Refusal)
		}
		// Bedrock numbers the texts otherwise in the events before, so all of them count together.
		if whole := text.String(); it.all.begins(whole) {
			more := whole[it.all.n:]
			if err := c.piece(it, textOf{textContent, 0}, &more); err != nil {
				return err
			}
		}
	case responses.TypeReasoning:
		for n, p := range final.summary() {
			if err := c.rest(it, textOf{textSummary, n}, &p.Text); err != nil {
				return err
			}
		}
		for n, p := range final.content() {
			if err := c.rest(it, textOf{textContent, n}, &p.Text); err != nil {
				return err
			}
		}
		if thought := final.thought(); thought != nil {
			c.before = append(c.before, thought)
		}
		c.thought = true
	case responses.TypeFunctionCall:
		if final.Arguments != "" {
			if err := c.arguments(it, final.Arguments); err != nil {
				return err
			}
		}
		if err := c.called(it); err != nil {
			return err
		}
	}
	it.over = true
	return nil
}

// called adds a complete call.
func (c *responsesReader) called(it *openItem) error {
	switch {
	case it.name == "" && it.args == "":
		return nil // an unused place
	case it.name == "":
		return c.fail(providers.KindProtocol, errNameless)
	case len(c.pending) >= maxCalls:
		return c.fail(providers.KindProtocol, errManyCalls)
	}
	c.aside = false // the calls make all text commentary
	call := schemas.FunctionCall{Name: it.name, Arguments: wire.Arguments([]byte(it.args))}
	c.pending = append(c.pending, assembled{call, state{ID: it.callID, trace: c.takeTrace("")}})
	return nil
}

// release emits the calls so far, before a text that comes after them.
func (c *responsesReader) release() error {
	for _, m := range c.pending {
		if err := c.answer.Call(m.call, keep(c.p.name, m.state)); err != nil {
			return err
		}
	}
	c.pending = nil
	return nil
}

// whole reads an answer that is not streamed.
func (c *responsesReader) whole(data []byte) error {
	var r responsesWhole
	var fields struct {
		Error  json.RawMessage `json:"error"`
		Output json.RawMessage `json:"output"`
	}
	if err := errors.Join(decode(data, &r), decode(data, &fields)); err != nil {
		return decode(data, &r)
	}
	switch {
	case r.Status == "" && isError(fields.Error):
		return c.streamError(data)
	case fields.Output == nil && r.Error == nil && r.Status != responses.StatusFailed && r.Status != responses.StatusCancelled:
		return c.fail(providers.KindProtocol, errors.New("the answer holds no output: does this server have the Responses API?"))
	}
	return c.response(&r)
}

// response handles the response at the end of an answer.
func (c *responsesReader) response(r *responsesWhole) error {
	c.x.Last()
	if u := usageOf(r.Usage); u != nil {
		c.usage = u
	}
	if r.Error != nil || r.Status == responses.StatusFailed || r.Status == responses.StatusCancelled {
		return c.failed(r)
	}
	if err := c.catchUp(r.Output); err != nil {
		return err
	}
	c.reason = string(providers.FinishStop)
	if r.Status == responses.StatusIncomplete {
		c.reason = responses.StatusIncomplete
		if r.IncompleteDetails != nil && r.IncompleteDetails.Reason != "" {
			c.reason = r.IncompleteDetails.Reason
		}
	}
	return c.finish()
}

// failed returns the error of a response that failed.
func (c *responsesReader) failed(r *responsesWhole) error {
	f := fault{message: "the server gave up (status " + r.Status + ")"}
	if r.Error != nil {
		f = fault{message: r.Error.Message, code: r.Error.Code}
	}
	if c.usage != nil {
		if err := c.answer.Emit(providers.Chunk{Usage: c.usage}); err != nil {
			return err
		}
	}
	return c.reported(f)
}

// catchUp completes the items by the output of the whole response: the n-th of a type is the n-th
// that came of it, since ids may differ.
func (c *responsesReader) catchUp(output []item) error {
	seen := map[string][]*openItem{}
	for _, it := range c.items {
		seen[it.kind] = append(seen[it.kind], it)
	}
	for n := range output {
		final := &output[n]
		var it *openItem
		if same := seen[final.Type]; len(same) > 0 {
			it, seen[final.Type] = same[0], same[1:]
		} else {
			it = c.add(nil, final)
		}
		if err := c.complete(it, final); err != nil {
			return err
		}
	}
	return nil
}

// finish emits the calls and ends the answer. A complete response has complete calls.
func (c *responsesReader) finish() error {
	for _, it := range c.items {
		if it.kind != responses.TypeFunctionCall || it.over {
			continue
		}
		it.over = true
		if err := c.called(it); err != nil {
			return err
		}
	}
	c.answer.Thought = c.answer.Thought || c.thought
	return c.end(c.pending)
}
