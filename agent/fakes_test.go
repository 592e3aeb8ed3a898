package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/journal"
	"molar/agent/memory"
	"molar/agent/offer"
	"molar/agent/subject"
	"molar/internal/testkit/packs"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A script answers one model call.
type script func(req providers.Request, yield func(providers.Chunk, error) bool)

// fakeModel answers each call with the next script, repeating the last one, and stores the
// requests. Guardrail calls and calls for queries have their own scripts.
type fakeModel struct {
	mu       sync.Mutex
	scripts  []script
	judge    script
	words    script
	requests []providers.Request
	stopped  int
	window   int
	leftOut  func(requests int) map[string]string // by the number of requests so far; may be nil
}

func (m *fakeModel) LeftOut([]schemas.ToolInfo) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leftOut == nil {
		return nil
	}
	return m.leftOut(len(m.requests))
}

func (m *fakeModel) Window(context.Context, string) int { return m.window }

func (m *fakeModel) Name() string { return "fake" }

func (m *fakeModel) Stream(_ context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		m.mu.Lock()
		m.requests = append(m.requests, req)
		next := m.judge
		switch req.Pass {
		case providers.PassGuardrail:
		case providers.PassQueries:
			next = m.words
		default:
			next = m.scripts[0]
			if len(m.scripts) > 1 {
				m.scripts = m.scripts[1:]
			}
		}
		m.mu.Unlock()
		next(req, func(c providers.Chunk, err error) bool {
			if yield(c, err) {
				return true
			}
			m.mu.Lock()
			m.stopped++
			m.mu.Unlock()
			return false
		})
	}
}

// passes returns the passes of the calls so far.
func (m *fakeModel) passes() []providers.Pass {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []providers.Pass
	for _, r := range m.requests {
		all = append(all, r.Pass)
	}
	return all
}

// says streams the pieces and ends the answer.
func says(pieces ...string) script {
	return func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		for _, p := range pieces {
			if !yield(providers.Chunk{Text: p}, nil) {
				return
			}
		}
		yield(providers.Chunk{Finish: providers.FinishStop, Usage: &schemas.Usage{PromptTokens: 2, CompletionTokens: 1, TotalTokens: 3}}, nil)
	}
}

// refuses is a judge that says no to texts that contain one of the words, and yes to all others.
func refuses(words ...string) script {
	return func(req providers.Request, yield func(providers.Chunk, error) bool) {
		verdict := "YES"
		for _, word := range words {
			if strings.Contains(req.Messages[len(req.Messages)-1].FullText(), word) {
				verdict = "NO"
			}
		}
		says(verdict)(req, yield)
	}
}

// calls streams a text, then calls tools ("name", "arguments" pairs).
func calls(text string, pairs ...string) script {
	return func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		if text != "" && !yield(providers.Chunk{Text: text}, nil) {
			return
		}
		for i := 0; i < len(pairs); i += 2 {
			call := schemas.ToolCall{ID: "call-" + pairs[i], Function: schemas.FunctionCall{Name: pairs[i], Arguments: pairs[i+1]}}
			if !yield(providers.Chunk{Call: &call}, nil) {
				return
			}
		}
		yield(providers.Chunk{Finish: providers.FinishToolCalls}, nil)
	}
}

// breaks streams a piece of text and fails.
func breaks(text string) script {
	return func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		if yield(providers.Chunk{Text: text}, nil) {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.KindIncomplete, Provider: "fake", Err: errors.New("cut")})
		}
	}
}

// fakeModels always picks the same route.
type fakeModels struct{ route providers.Route }

func (f fakeModels) Pick(context.Context, string, string, string) (providers.Route, error) {
	return f.route, nil
}

// fakeTools are attached tools whose calls return fixed results.
type fakeTools struct {
	tools  []schemas.Tool
	status []schemas.ServerStatus
	// results are by tool, or by tool and arguments.
	results map[string]schemas.ToolResult
	// slow is how long the calls of a tool take.
	slow map[string]time.Duration
	// brings are the tools that are listed after a call of a tool.
	brings map[string][]schemas.Tool
	// instructions are the servers' instructions, by server name.
	instructions map[string]string
	mu           sync.Mutex
	called       []string
	awaited      []string
}

func (f *fakeTools) Tools() []schemas.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.tools)
}

func (f *fakeTools) Status() []schemas.ServerStatus { return f.status }

func (f *fakeTools) Resource(_ context.Context, _ schemas.Caller, server, uri string) (string, []schemas.Part, error) {
	if strings.HasPrefix(uri, "gone:") {
		return "", nil, errors.New("it is gone")
	}
	var media []schemas.Part
	if strings.HasPrefix(uri, "image:") {
		media = []schemas.Part{{Kind: schemas.PartImage, Text: "data:image/png;base64,AAAA"}}
	}
	return "the text of " + uri + " from " + server, media, nil
}
func (f *fakeTools) Instructions() map[string]string { return f.instructions }
func (f *fakeTools) WaitStarting(_ context.Context, servers []string) error {
	f.awaited = append(f.awaited, servers...)
	return nil
}

func (f *fakeTools) CallFor(_ context.Context, _ *schemas.Person, _, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	f.mu.Lock()
	f.called = append(f.called, tool+" "+string(args))
	f.tools = append(f.tools, f.brings[tool]...)
	f.mu.Unlock()
	time.Sleep(f.slow[tool])
	result, ok := f.results[tool+" "+string(args)]
	if !ok {
		result, ok = f.results[tool]
	}
	if !ok {
		return schemas.ToolResult{}, errors.New("server is gone")
	}
	return result, nil
}

func (f *fakeTools) add(server, name string, output string) {
	f.tools = append(f.tools, schemas.Tool{ToolInfo: schemas.ToolInfo{
		Name: server + "__" + name, Server: server, ToolName: name, InputSchema: json.RawMessage(`{"type":"object"}`),
	}})
	if f.results == nil {
		f.results = make(map[string]schemas.ToolResult)
	}
	f.results[name] = schemas.ToolResult{Output: json.RawMessage(output)}
}

// mark sets what the operator says about a server.
func (f *fakeTools) mark(server string, marks schemas.ServerMarks) {
	for i := range f.tools {
		if f.tools[i].Server == server {
			f.tools[i].Rules.Marks = marks
		}
	}
}

// takes sets the schema of the arguments of a tool that was added last.
func (f *fakeTools) takes(properties string) {
	f.tools[len(f.tools)-1].InputSchema = json.RawMessage(`{"type":"object","properties":` + properties + `}`)
}

// fakeMemory stores what was saved.
type fakeMemory struct {
	mu       sync.Mutex
	opening  schemas.Opening
	beginErr error
	beginTry func(try int) error // the error of a Begin, by its try
	begins   chan struct{}       // when set, Begin waits until it is closed
	begun    []memory.BeginRequest
	saveErr  func(try int) error
	tries    int
	saved    []memory.Record
	files    []string
	// stored are the files of earlier questions.
	stored            []memory.File
	renewed, released int
}

func (f *fakeMemory) Begin(ctx context.Context, r memory.BeginRequest) (schemas.Opening, error) {
	if f.begins != nil {
		select {
		case <-f.begins:
		case <-ctx.Done():
			return schemas.Opening{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, r)
	o := f.opening
	o.ConversationID = r.ConversationID
	if o.Lease.Token == "" {
		o.Lease.Token = "t"
	}
	if f.beginTry != nil {
		return o, f.beginTry(len(f.begun))
	}
	return o, f.beginErr
}

func (f *fakeMemory) Files(context.Context, string, string) ([]schemas.File, error) {
	var files []schemas.File
	for _, stored := range f.stored {
		files = append(files, stored.File)
	}
	return files, nil
}

func (f *fakeMemory) ReadFile(_ context.Context, _, _ string, seq int64, n int) (memory.File, error) {
	for _, stored := range f.stored {
		if stored.Seq == seq && stored.N == n {
			return stored, nil
		}
	}
	return memory.File{}, memory.ErrUnknown
}

func (f *fakeMemory) PutFile(_ context.Context, _ schemas.Lease, _ string, file memory.File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(file.Name, "lost") {
		return errors.New("no room")
	}
	f.files = append(f.files, fmt.Sprintf("%d %s %s %s", file.N, file.Name, file.Media, file.Data))
	return nil
}

func (f *fakeMemory) Renew(_ context.Context, l schemas.Lease) (schemas.Lease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed++
	return l, nil
}

func (f *fakeMemory) Release(context.Context, schemas.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released++
	return nil
}

func (f *fakeMemory) Save(_ context.Context, r memory.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if f.saveErr != nil {
		if err := f.saveErr(f.tries); err != nil {
			return err
		}
	}
	f.saved = append(f.saved, r)
	return nil
}

// fakeJournal stores journals in this process.
type fakeJournal struct {
	mu       sync.Mutex
	beginsIn time.Duration // how long Begin takes
	begun    []schemas.JournalRecord
	synced   []schemas.JournalNews
	syncErr  error // of a synced write
	dropped  []string
	// dead are turns of a process that is gone.
	dead []schemas.JournalRecord
	lost []string
}

func (f *fakeJournal) Begin(_ context.Context, t schemas.JournalTurn) error {
	time.Sleep(f.beginsIn)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, schemas.JournalRecord{JournalTurn: t})
	return nil
}

func (f *fakeJournal) Write(_ context.Context, synced bool, news []schemas.JournalNews) (map[string]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if synced && f.syncErr != nil {
		return nil, f.syncErr
	}
	held := map[string]bool{}
	for _, n := range news {
		held[n.TurnID] = false
		for i := range f.begun {
			if f.begun[i].ID == n.TurnID {
				f.begun[i].Rows, f.begun[i].Rounds = append(f.begun[i].Rows, n.Rows...), append(f.begun[i].Rounds, n.Rounds...)
			}
		}
		if synced {
			f.synced = append(f.synced, n)
		}
	}
	return held, nil
}

func (f *fakeJournal) Beat(context.Context) (map[string]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := map[string]bool{}
	for _, r := range f.begun {
		held[r.ID] = false
	}
	return held, nil
}

func (f *fakeJournal) Drop(_ context.Context, ids []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped = append(f.dropped, ids...)
	return nil
}

func (f *fakeJournal) Leave(context.Context, []string) error { return nil }

func (f *fakeJournal) TakeDead(context.Context, bool) (ids []string, err error) {
	for _, r := range f.dead {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

func (f *fakeJournal) TakeLost(context.Context, bool) ([]string, error) { return nil, nil }
func (f *fakeJournal) IsIdle(context.Context) (bool, error)             { return true, nil }

func (f *fakeJournal) Read(_ context.Context, id string) (schemas.JournalRecord, bool, error) {
	for _, r := range f.dead {
		if r.ID == id {
			return r, true, nil
		}
	}
	return schemas.JournalRecord{}, false, nil
}

func (f *fakeJournal) Lose(_ context.Context, id string) error {
	f.lost = append(f.lost, id)
	return nil
}

// withJournal builds the agent with one assistant and a journal, which runs until stop is called. dead
// are turns of a process that is gone.
func (b *bench) withJournal(t *testing.T, as schemas.Assistant, dead ...schemas.JournalRecord) (stop func()) {
	t.Helper()
	b.journal = &fakeJournal{dead: dead}
	var err error
	b.book, err = journal.New(journal.Config{
		Store: b.journal, Recover: func(ctx context.Context, r schemas.JournalRecord) error { return b.agent.Recover(ctx, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.with(t, as)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.book.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// fakeRecorder stores the last trace.
type fakeRecorder struct{ last answer.Trace }

func (f *fakeRecorder) Record(t answer.Trace) { f.last = t }

// A bench is an agent with fakes around it.
type bench struct {
	model    *fakeModel
	tools    *fakeTools
	memory   *fakeMemory
	journal  *fakeJournal
	book     *journal.Recorder
	recorder *fakeRecorder
	route    providers.Route
	limits   agent.Limits
	required bool // memory
	rank     offer.Ranker
	lacking  map[string]string
	prompts  agent.Prompts
	files    agent.Documents
	pauses   agent.Pauses
	grants   agent.Grants
	answers  agent.Answers
	desk     agent.Handovers
	skills   offer.SkillLibrary
	log      *slog.Logger
	others   []schemas.Assistant
	agent    *agent.Agent
}

func newBench(scripts ...script) *bench {
	b := &bench{
		model:    &fakeModel{scripts: scripts, judge: says("YES"), words: says(`{"queries":[]}`)},
		tools:    &fakeTools{},
		memory:   &fakeMemory{},
		recorder: &fakeRecorder{},
	}
	b.route = providers.Route{Provider: b.model, Model: "m", SmallModel: "s"}
	return b
}

// with builds the agent with one assistant.
func (b *bench) with(t testing.TB, as schemas.Assistant) *bench {
	t.Helper()
	handler, err := toolhandler.New(toolhandler.Config{Caller: b.tools, Logger: b.log})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := subject.NewGuard(subject.GuardConfig{Topic: packs.Dental()})
	if err != nil {
		t.Fatal(err)
	}
	as.Name = "test"
	if b.rank == nil {
		b.rank = offer.Of
	}
	b.agent, err = agent.New(agent.Config{
		Assistants: append([]schemas.Assistant{as}, b.others...),
		Default:    "test",
		Models:     fakeModels{b.route},
		Tools:      b.tools,
		Handler:    handler,
		Memory:     b.memory,
		Journal:    b.book,
		Guards:     map[string]*subject.Guard{"dental": guard},
		Recorder:   b.recorder,
		Limits:     b.limits,
		Rank:       b.rank,
		Lacking:    b.lacking,
		Prompts:    b.prompts,
		Documents:  b.files,
		Pauses:     b.pauses,
		Grants:     b.grants,
		Answers:    b.answers,
		Handovers:  b.desk,
		Skills:     map[string]offer.SkillLibrary{"test": b.skills},
		Logger:     b.log,

		MemoryRequired: b.required,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// outcome is the outcome of a turn.
type outcome struct {
	events []answer.Event
	text   string
	// commentary is the text before calls.
	commentary []string
	done       *answer.Done
	err        error
}

func (p outcome) kinds() string {
	var kinds []string
	for _, e := range p.events {
		if e.Kind != answer.KindStep {
			kinds = append(kinds, string(e.Kind))
		}
	}
	return strings.Join(kinds, " ")
}

func (b *bench) play(t testing.TB, turn agent.Turn) outcome {
	t.Helper()
	var p outcome
	var all answer.Collector
	for e, err := range b.agent.Run(t.Context(), turn) {
		if err != nil {
			p.err = err
			continue
		}
		p.events = append(p.events, e)
		all.Add(e)
		p.text, p.commentary = all.Answer(), all.Commentary
		if e.Kind == answer.KindDone {
			p.done = e.Done
		}
	}
	return p
}

// ask is a question in a conversation that the client names.
func ask(text string) agent.Turn {
	return agent.Turn{Place: agent.Place{ConversationID: "c1"}, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}}
}
