package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// message is a wire message. Its content is always a list.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

const roleUser, roleAssistant = "user", "assistant"

// block is a block of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Title     string          `json:"title,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cacheMark      `json:"cache_control,omitempty"`

	thought json.RawMessage // replaces all other fields
}

// MarshalJSON implements [json.Marshaler].
func (b block) MarshalJSON() ([]byte, error) {
	if b.thought != nil {
		return b.thought, nil
	}
	type plain block
	return json.Marshal(plain(b))
}

// Texts for what the service requires and the history lacks.
const (
	// notRun replaces a missing result of a call.
	notRun = "This call was not carried out."
	// before is the first message of a history that begins with an answer, goOn the last one of a
	// history that ends with one.
	before = "(The conversation begins with an answer.)"
	goOn   = "Please go on."
)

// history collects the wire messages.
type history struct {
	endpoint string
	set      wire.ToolSet
	// local is set if the server may interpret its model's markers in any text.
	local  bool
	system []string
	out    []message
	ids    map[string]bool // the wire ids in use
	open   []openResult    // calls without results so far
	// inTurn is set after the last question. Thoughts are sent back within their turn only, as the
	// service requires: later turns see the question without the rules of its calls, so that the
	// thoughts would no longer belong to what stands before them.
	inTurn bool
	// stable is the end of what the next turn repeats: everything before the last question.
	stable place
	// begun is set if the turn has calls, thoughtless if its first calls come without thoughts:
	// another provider, or this one without thinking, made them.
	thoughtless, begun bool
	// mute drops the thoughts.
	mute bool
	// blind is set for models that take no files of results, shown if there are some, and own if
	// the person's messages hold files.
	blind, shown, own bool
}

// An openResult is a call's id and its id on the wire.
type openResult struct{ hostID, wire string }

// history converts the canonical history to wire messages.
func (p *Provider) history(req providers.Request, set wire.ToolSet, mute bool) (*history, error) {
	h := &history{
		endpoint: p.name, set: set, local: !p.original, ids: map[string]bool{}, mute: mute,
		blind: p.lessons.Refused(req.Model, wire.ParamMedia) > 0,
	}
	h.instruct(req.System)
	question := lastQuestion(req.Messages)
	for i, m := range req.Messages {
		if i == question {
			h.answerRest()
			h.stable = h.end()
		}
		h.inTurn = i > question
		if err := h.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	h.answerRest()
	if len(h.out) == 0 {
		return nil, errors.New("the request holds no text")
	}
	if h.out[len(h.out)-1].Role == roleAssistant { // newer models do not continue an answer
		h.add(roleUser, textBlock(goOn))
	}
	return h, nil
}

// lastQuestion returns the index of the last user message.
func lastQuestion(messages []schemas.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == schemas.RoleUser {
			return i
		}
	}
	return -1
}

func (h *history) instruct(text string) {
	if strings.TrimSpace(text) != "" {
		h.system = append(h.system, text)
	}
}

func (h *history) message(m schemas.Message) error {
	if m.Role == schemas.RoleTool {
		h.results(m)
		return nil
	}
	h.answerRest()
	switch m.Role {
	case schemas.RoleSystem, "developer":
		h.instruct(m.FullText())
	case schemas.RoleUser:
		return h.user(m)
	case schemas.RoleAssistant:
		h.assistant(m)
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	return nil
}

// add adds blocks. It merges messages of the same role: the service expects alternating ones, the
// first from the user.
func (h *history) add(role string, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	if len(h.out) == 0 && role != roleUser {
		h.out = append(h.out, message{roleUser, []block{textBlock(before)}})
	}
	if n := len(h.out); n > 0 && h.out[n-1].Role == role {
		h.out[n-1].Content = append(h.out[n-1].Content, blocks...)
		return
	}
	h.out = append(h.out, message{role, blocks})
}

func textBlock(text string) block { return block{Type: typeText, Text: text} }

// spoken returns a text as blocks: the service rejects blank ones.
func spoken(text string) []block {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []block{textBlock(text)}
}

// user adds a user message.
func (h *history) user(m schemas.Message) error {
	var blocks []block
	for _, p := range m.Parts {
		if p.Kind != schemas.PartImage && p.Kind != schemas.PartFile {
			blocks = append(blocks, spoken(h.textOf(p))...)
			continue
		}
		b, err := fileBlock(p)
		if err != nil {
			return err
		}
		h.own = true
		blocks = append(blocks, b)
	}
	h.add(roleUser, blocks...)
	return nil
}

// assistant adds text and calls as one message, with the thoughts where they stood.
func (h *history) assistant(m schemas.Message) {
	var said strings.Builder
	var blocks []block
	shown := 0 // of the text
	show := func(until int) {
		all := said.String()
		until = min(max(until, shown), len(all))
		for until > shown && until < len(all) && !utf8.RuneStart(all[until]) {
			until--
		}
		blocks = append(blocks, spoken(all[shown:until])...)
		shown = until
	}
	for _, p := range m.Parts {
		if p.Kind != schemas.PartCall || p.Call == nil {
			said.WriteString(h.textOf(p))
			continue
		}
		saved := wire.Recall[state](h.endpoint, p)
		if h.inTurn && !h.begun {
			h.begun, h.thoughtless = true, len(saved.Thoughts) == 0
		}
		if h.inTurn && !h.mute {
			for _, t := range saved.Thoughts {
				show(t.At)
				blocks = append(blocks, block{thought: t.Block})
			}
		}
		show(said.Len())
		blocks = append(blocks, h.call(p, saved.ID))
	}
	show(said.Len())
	h.add(roleAssistant, blocks...)
}

// call returns a call as a block.
func (h *history) call(p schemas.Part, serverID string) block {
	// Another's arguments may be no object.
	args := json.RawMessage(strings.TrimSpace(h.set.Wrap(p.Call.Function)))
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		args = json.RawMessage("{}")
	}
	id := h.id(serverID, p.Call.ID)
	h.open = append(h.open, openResult{p.Call.ID, id})
	return block{Type: typeToolUse, ID: id, Name: wire.FunctionName(p.Call.Function.Name), Input: args}
}

// id returns a call's wire id: the server's, unless it used that one twice, else the host's, of the
// characters that the service accepts.
func (h *history) id(serverID, hostID string) string {
	hostID = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && wire.IsFunctionName("_"+string(r)) {
			return r
		}
		return '_'
	}, hostID)
	id := serverID
	if id == "" || h.ids[id] {
		id = hostID
	}
	for n := 2; id == "" || h.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", hostID, n)
	}
	h.ids[id] = true
	return id
}

// results adds the results in call order. It quotes a result without a call as user text.
func (h *history) results(m schemas.Message) {
	found := map[string]block{}
	var strays []block
	for _, p := range m.Parts {
		if p.Kind != schemas.PartResult || p.Result == nil {
			continue
		}
		files, unseen := h.resultFiles(p.Result)
		content := append(spoken(h.resultText(p, unseen)), files...)
		waits := func(c openResult) bool { return c.hostID == p.Result.ID }
		if _, twice := found[p.Result.ID]; twice || !slices.ContainsFunc(h.open, waits) {
			strays = append(strays, content...)
			continue
		}
		found[p.Result.ID] = block{Type: "tool_result", Content: content, IsError: p.Result.IsError}
	}
	h.open = slices.DeleteFunc(h.open, func(c openResult) bool {
		b, here := found[c.hostID]
		if here {
			b.ToolUseID = c.wire
			h.add(roleUser, b)
			delete(found, c.hostID)
		}
		return here
	})
	if len(strays) > 0 {
		h.answerRest() // results come before other blocks
		h.add(roleUser, strays...)
	}
}

// answerRest answers the calls without results.
func (h *history) answerRest() {
	for _, c := range h.open {
		h.add(roleUser, block{Type: "tool_result", ToolUseID: c.wire, Content: []block{textBlock(notRun)}, IsError: true})
	}
	h.open = nil
}

func (h *history) textOf(p schemas.Part) string {
	switch {
	case p.Kind == schemas.PartContext && p.Result != nil:
		return h.harmless(p.Text)
	case p.Kind == schemas.PartText, p.Kind == schemas.PartContext:
		return p.Text
	}
	return ""
}

// harmless breaks template markers, except for Anthropic's own service, which does not interpret
// them.
func (h *history) harmless(s string) string {
	if !h.local {
		return s
	}
	return wire.Harmless(s)
}
