package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web"
	"molar/web/turns"
)

// lesson is an answer with every element of Markdown.
const lesson = `A **molar** is one of the broad teeth at the back of the mouth. Its crown has three to five *cusps*.

## When it hurts

1. Rinse with warm salt water.
2. Do not put aspirin on the gum.
3. See a dentist within a day if it swells.

| tooth | comes at | roots |
|:---|---:|:---:|
| first molar | 6 years | 2–3 |
| second molar | 12 years | 2–3 |
| wisdom tooth | 17–25 years | varies |

> Fever or trouble swallowing? Go to an emergency room at once.

` + "```json\n{\"tooth\": 36, \"finding\": \"caries\"}\n```" + `

- [x] brush in the evening
- [ ] see the dentist[^when]

The load on a molar is \(F = m\,a\), and over its crown:

$$
p = \frac{F}{A_1}
$$

` + "```go\n// fee returns the price in euros.\nfunc fee(visits int) float64 { return 42.5 * float64(visits) }\n```\n\n```mermaid\ngraph LR; pain --> dentist\n```" + `

![A molar](https://upload.wikimedia.org/molar.png)

[^when]: Twice a year, as a rule.

More on [the NHS page](https://www.nhs.uk/conditions/toothache/).`

// A chatHost answers as a real host would, and stores conversations in memory.
type chatHost struct {
	fakeStore
	mu       sync.Mutex
	all      map[string][]schemas.StoredMessage
	titles   map[string]string
	turns    []agent.Turn
	down     error
	provider string
	// bare means that no server is attached.
	bare bool
	// gone are the names of servers that turns report as missing.
	gone []string
	// file is the current state of the config file.
	file web.ConfigFile
	// calls are the stored rounds of turns, by the id of the turn.
	calls map[string]json.RawMessage
	marks map[string]schemas.Feedback
	// traces are the traces of failed turns, by the id of the turn.
	traces map[string]string
	// heals means that a failed question is answered when it is sent again.
	heals bool
	// snippet is the snippet of each conversation in the results of a search.
	snippet string
	// files are the files of questions, as data URLs, by conversation, seq and number.
	files    map[string][]schemas.Part
	fileSeqs []int64
	// gate releases the words of a slow answer one by one.
	gate chan struct{}
}

func newChatHost() *chatHost {
	return &chatHost{all: map[string][]schemas.StoredMessage{}, titles: map[string]string{}, calls: map[string]json.RawMessage{}, marks: map[string]schemas.Feedback{}, traces: map[string]string{}, files: map[string][]schemas.Part{}, provider: "ollama", gate: make(chan struct{})}
}

func (h *chatHost) config(t *testing.T) web.Config {
	cfg := config(t, script(h.answer))
	cfg.Now = time.Now
	cfg.Conversations, cfg.Servers, cfg.Feedback, cfg.Files, cfg.Traces = h, h, h, h, h
	cfg.Models = func() []schemas.AssistantInfo {
		return []schemas.AssistantInfo{{Name: "dental", Description: "About teeth.", Topic: "dental", FirstQuestions: map[string][]string{"en": {"Why do gums bleed?", "How often should I floss?"}, "vi": {"Vì sao chảy máu nướu?"}}}, {Name: "home", Description: "About the family."}}
	}
	cfg.Hints = web.Hints{
		File: func() web.ConfigFile {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.file
		},
		Prompts: func(_ context.Context, _ schemas.Caller, assistant string) []schemas.Prompt {
			if assistant == "home" { // it may call no tool of this server
				return nil
			}
			return []schemas.Prompt{
				{Name: "record", Server: "sdi", Description: "Show one record", Arguments: []schemas.PromptArgument{{Name: "uuid", Required: true}}},
				{Name: "report", Server: "sdi", Description: "Write a report"},
			}
		},
		Provider: func(_ context.Context, q web.Selection) (name, model, why string, err error) {
			return cmp.Or(q.Provider, h.provider), cmp.Or(q.Model, "qwen2.5:7b-instruct"), "it answers", nil
		},
	}
	cfg.Reload = func(context.Context) (web.Reloaded, error) {
		h.offers("home")
		return web.Reloaded{Added: []string{"family"}, Offer: "home"}, nil
	}
	cfg.Turns = turns.NewSet(nil, nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		cfg.Turns.Drain(ctx)
	})
	return cfg
}

// offers sets the assistant that may call the attached servers.
func (h *chatHost) offers(assistant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.file.Offer = assistant
}

// loses sets the servers that are missing from now on.
func (h *chatHost) loses(servers ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = servers
}

func (h *chatHost) answer(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
	asked, _ := turn.Question()
	id := turn.ConversationID
	h.mu.Lock()
	h.turns = append(h.turns, turn)
	if id == "" {
		id = fmt.Sprintf("c%d", len(h.turns))
	}
	h.mu.Unlock()
	yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: id, Assistant: "dental", Created: time.Now()}})
	h.mu.Lock()
	gone := h.gone
	h.mu.Unlock()
	for _, name := range gone {
		yield(answer.Event{Kind: answer.KindWarning, Code: answer.CodeServerMissing, Server: name, Lasting: true, Text: fmt.Sprintf("tools are missing: server %q failed: connection refused", name)})
	}
	reply, err := h.say(ctx, turn, asked, yield)
	if errors.Is(err, agent.ErrBusy) || errors.Is(err, agent.ErrSearch) { // these errors end a turn before its question is recorded
		return err
	}
	status := ""
	if err != nil {
		status = schemas.StatusInterrupted
	}
	sources := []schemas.Source{{Title: "Toothache – NHS", URL: "https://www.nhs.uk/conditions/toothache/"}, {Title: "Molar", URL: "https://en.wikipedia.org/wiki/Molar_(tooth)"}}
	h.mu.Lock()
	if h.titles[id] == "" {
		h.titles[id] = asked[:min(len(asked), 60)]
	}
	if err != nil && ctx.Err() == nil {
		h.traces[turn.ID] = fmt.Sprintf(`{"turn_id":%q,"status":"failed","error":%q}`, turn.ID, err)
	}
	h.store(id, turn, asked, schemas.StoredMessage{Content: reply, Status: status, Sources: sources, Calls: h.calls[turn.ID]})
	h.mu.Unlock()
	if err != nil {
		return err
	}
	yield(answer.Event{Kind: answer.KindSources, Sources: sources})
	yield(done())
	return nil
}

// pass waits at the gate, for an answer to a question that asks for a slow one.
func (h *chatHost) pass(ctx context.Context, asked string) error {
	if !strings.Contains(asked, "slowly") {
		return nil
	}
	select {
	case <-h.gate:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// store stores a turn after its parent.
func (h *chatHost) store(id string, turn agent.Turn, asked string, answer schemas.StoredMessage) {
	list := h.all[id]
	question := schemas.StoredMessage{
		Seq: int64(len(list)) + 1, Role: schemas.RoleUser, Content: asked, TurnID: turn.ID, Timestamp: time.Now(), Parent: int64(len(list)),
	}
	if len(list) > 0 {
		question.ParentTurn = list[len(list)-1].TurnID
	}
	if turn.Parent != nil {
		question.ParentTurn, question.Parent = *turn.Parent, 0
		for _, m := range list {
			if m.TurnID == *turn.Parent {
				question.Parent = m.Seq
			}
		}
	}
	answer.Seq, answer.Role, answer.TurnID, answer.Timestamp = question.Seq+1, schemas.RoleAssistant, turn.ID, question.Timestamp
	answer.Parent, answer.Assistant = question.Seq, turn.Assistant
	h.all[id] = append(list, question, answer)
	for _, p := range turn.Messages[len(turn.Messages)-1].Parts {
		if p.Kind == schemas.PartImage {
			h.files[id] = append(h.files[id], p)
			h.fileSeqs = append(h.fileSeqs, question.Seq)
		}
	}
}

func (h *chatHost) Files(_ context.Context, _, id string) ([]schemas.File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []schemas.File
	for n, p := range h.files[id] {
		media, data, _ := schemas.DataOf(p.Text)
		all = append(all, schemas.File{Seq: h.fileSeqs[n], N: n, Name: p.Name, Media: media, Size: int64(len(data))})
	}
	return all, nil
}

func (h *chatHost) File(ctx context.Context, owner, id string, _ int64, n int) (schemas.File, []byte, error) {
	all, err := h.Files(ctx, owner, id)
	if err != nil || n >= len(all) {
		return schemas.File{}, nil, agent.ErrNotFound
	}
	_, data, err := schemas.DataOf(h.files[id][n].Text)
	return all[n], data, err
}

func (h *chatHost) say(ctx context.Context, turn agent.Turn, asked string, yield func(answer.Event) bool) (string, error) {
	switch {
	case strings.Contains(asked, "fail") && h.mayFail(asked):
		kind := providers.KindUnavailable
		for word, k := range map[string]providers.Kind{"key": providers.KindAuth, "quota": providers.KindQuota, "model": providers.KindModelNotFound, "long": providers.KindContextLength} {
			if strings.Contains(asked, word) {
				kind = k
			}
		}
		status := 0
		if _, word, ok := strings.Cut(asked, "status "); ok {
			status, _ = strconv.Atoi(word)
		}
		return "", &providers.Error{Provider: "ollama", Kind: kind, Status: status, Err: errors.New("refused")}
	case strings.Contains(asked, "no search"):
		return "", fmt.Errorf("%w: set the key", agent.ErrSearch)
	case strings.Contains(asked, "busy"):
		return "", agent.ErrBusy
	case strings.Contains(asked, "wide"):
		wide := call
		wide.Function.Arguments = `{"word":"` + strings.Repeat("Donaudampfschiff", 40) + `","list":[` + strings.Repeat(`"răng khôn mọc lệch",`, 60) + `1]}`
		yield(answer.Event{Kind: answer.KindToolCall, Call: &wide, Server: "family", ToolName: "search"})
		reply := strings.Repeat("khôn", 200) + "\n\n| " + strings.Repeat("a rather long head of a column | ", 8) + "\n|" + strings.Repeat("-|", 8) + "\n| " + strings.Repeat("1 | ", 8) +
			"\n\n```\n" + strings.Repeat("a long line of code; ", 30) + "\n```\n\nName: Nguyễn\nBorn: 1961\n"
		yield(text(reply))
		return reply, nil
	case strings.Contains(asked, "picture"):
		seen := toolResult()
		seen.Result = &schemas.ToolResult{ToolName: "search", ID: call.ID, Output: json.RawMessage(`"[image, image/png, 70 bytes]"`), Media: []schemas.Part{
			{Kind: schemas.PartImage, Text: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},
		}}
		yield(toolCall())
		yield(seen)
		yield(text("A dot."))
		return "A dot.", nil
	case strings.Contains(asked, "look"):
		const before = "Let me **look**."
		yield(text("Let me "))
		yield(text("**look**."))
		if h.pass(ctx, asked) != nil {
			return before, ctx.Err()
		}
		yield(answer.Event{Kind: answer.KindCommentary, Text: before})
		yield(toolCall())
		yield(toolResult())
		if h.pass(ctx, asked) != nil {
			return "", ctx.Err()
		}
		yield(text("\n\nFound **it**."))
		h.mu.Lock()
		h.calls[turn.ID] = rounds(before, call)
		h.mu.Unlock()
		return "Found **it**.", nil
	case strings.Contains(asked, "hold"):
		yield(text("One "))
		select {
		case <-h.gate:
		case <-ctx.Done():
			return "One ", ctx.Err()
		}
		yield(text("seven."))
		return "One seven.", nil
	case strings.Contains(asked, "slow"):
		reply := ""
		for _, word := range strings.SplitAfter("One **two** three.\n\nFour five `six` seven.", " ") {
			select {
			case <-h.gate:
			case <-ctx.Done():
				return reply, ctx.Err()
			}
			reply += word
			yield(text(word))
		}
		return reply, nil
	case strings.Contains(asked, "appointment"):
		yield(toolCall())
		return h.wonder(ctx, turn, asked, yield)
	case strings.Contains(asked, "pay"):
		yield(toolCall())
		rule := toolhandler.RuleConfirm
		if strings.Contains(asked, "lost") {
			rule = toolhandler.RuleUnsure
		}
		d, err := turn.Approver.Approve(ctx, agent.Ask{
			Call: call, Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "bank__pay", Server: "bank"}},
			Reason: toolhandler.Reason{Rule: rule}, Expires: time.Now().Add(time.Minute), Check: func(string) error { return nil },
		})
		if err != nil {
			return "", err
		}
		yield(toolResult())
		if strings.Contains(asked, "then wait") {
			select {
			case <-h.gate:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		reply := fmt.Sprintf("Paid: %v %s", d.Allowed, d.Arguments)
		yield(text(reply))
		return reply, nil
	}
	yield(toolCall())
	yield(toolResult())
	for piece := range slices.Chunk([]rune(lesson), 7) {
		yield(text(string(piece)))
	}
	return lesson, nil
}

// mayFail reports whether a question that asks for a failure fails: always, or only the first time
// if the host heals.
func (h *chatHost) mayFail(asked string) bool {
	all := h.questions()
	return !h.heals || slices.Index(all, asked) == len(all)-1
}

func (h *chatHost) Trace(ctx context.Context, owner, id string) (json.RawMessage, bool, error) {
	h.mu.Lock()
	trace, failed := h.traces[id]
	h.mu.Unlock()
	if failed {
		return json.RawMessage(trace), true, nil
	}
	return h.fakeStore.Trace(ctx, owner, id)
}

// wonder plays a tool whose server sends its progress and then a question: with an address to open
// if the person's question asks for that, else with a form.
func (h *chatHost) wonder(ctx context.Context, turn agent.Turn, asked string, yield func(answer.Event) bool) (string, error) {
	turn.Person.OnNews(schemas.News{Server: "family", Tool: "search", Progress: 2, Total: 5, Text: "<b>looking</b>"})
	turn.Person.OnNews(schemas.News{Server: "family", Level: "warning", Text: "the calendar is slow"})
	select {
	case <-h.gate:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	q := agent.Question{
		Question: schemas.Question{Server: "family", Message: "When <i>do</i> you come?", Schema: json.RawMessage(`{"type":"object","required":["day","name"],"properties":{
			"name":{"type":"string","title":"Name"},
			"day":{"type":"string","title":"Day","oneOf":[{"const":"mon","title":"Monday"},{"const":"tue","title":"Tuesday"}]},
			"hour":{"type":"integer","default":9},"sure":{"type":"boolean"}}}`)},
		Expires: time.Now().Add(time.Minute),
		Check: func(content map[string]json.RawMessage) error {
			if string(content["hour"]) == "3" {
				return errors.New("at /hour: we are asleep")
			}
			return nil
		},
	}
	if strings.Contains(asked, "address") {
		q.Schema, q.URL = nil, "https://clinic.example/confirm?id=1"
	}
	a, err := turn.Person.Answer(ctx, q)
	if err != nil {
		return "", err
	}
	yield(toolResult())
	content, err := json.Marshal(a.Content)
	reply := fmt.Sprintf("Server heard: %s %s", a.Action, content)
	yield(text(reply))
	return reply, err
}

func (h *chatHost) List(_ context.Context, _, q string, _ int, _ string) ([]schemas.Conversation, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []schemas.Conversation
	for id, messages := range h.all {
		if strings.Contains(strings.ToLower(h.titles[id]), strings.ToLower(q)) {
			found = append(found, schemas.Conversation{ID: id, Title: h.titles[id], Messages: len(messages), Snippet: h.snippet})
		}
	}
	slices.SortFunc(found, func(a, b schemas.Conversation) int { return cmp.Compare(a.ID, b.ID) })
	return found, "", h.down
}

func (h *chatHost) Messages(_ context.Context, _, id string) ([]schemas.StoredMessage, string, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	messages, ok := h.all[id]
	return slices.Clone(messages), "", ok, h.down
}

func (h *chatHost) Tree(_ context.Context, _, id string) ([]schemas.StoredMessage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all[id]), h.down
}

func (h *chatHost) PutFeedback(_ context.Context, f schemas.Feedback) (schemas.Feedback, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks[f.TurnID] = f
	return f, true, nil
}

func (h *chatHost) ListFeedback(context.Context, string, schemas.FeedbackFilter) ([]schemas.Feedback, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.marks)), nil
}

func (h *chatHost) Rename(_ context.Context, _, id, title string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.titles[id] = title
	return nil
}

func (h *chatHost) Delete(_ context.Context, _, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, id)
	return nil
}

func (h *chatHost) Status() []schemas.ServerStatus {
	if h.bare {
		return nil
	}
	return h.fakeStore.Status()
}

// first returns the conversation of the first question.
func (h *chatHost) first() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.turns) == 0 {
		return ""
	}
	return h.turns[0].ConversationID
}

// questions returns the questions that the host received, in order.
func (h *chatHost) questions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, t := range h.turns {
		q, _ := t.Question()
		all = append(all, q)
	}
	return all
}

// fill stores a conversation of n messages.
func (h *chatHost) fill(id, title string, n int) {
	h.titles[id] = title
	for i := range n {
		m := schemas.StoredMessage{Seq: int64(i + 1), Parent: int64(i), Role: schemas.RoleUser, Content: fmt.Sprintf("Question %d about teeth?", i), TurnID: fmt.Sprintf("%s-%d", id, i/2)}
		if i%2 == 0 && i > 0 {
			m.ParentTurn = fmt.Sprintf("%s-%d", id, i/2-1)
		}
		if i%2 == 1 {
			m.Role, m.Content = schemas.RoleAssistant, lesson
			m.Calls = roundOf(i)
		}
		h.all[id] = append(h.all[id], m)
	}
}

func roundOf(i int) json.RawMessage {
	c := call
	c.ID = fmt.Sprint(i)
	return rounds("", c)
}

// rounds returns the rounds of a turn with commentary and a call.
func rounds(before string, c schemas.ToolCall) json.RawMessage {
	b, err := json.Marshal([]schemas.Round{{
		Said: schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{
			{Kind: schemas.PartText, Text: before}, {Kind: schemas.PartCall, Call: &c},
		}},
		Results: []schemas.ToolResult{{ToolName: "search", ID: c.ID, Output: json.RawMessage(`{"found":3}`)}},
		TookMS:  []int64{1234},
	}})
	if err != nil {
		panic(err)
	}
	return b
}
