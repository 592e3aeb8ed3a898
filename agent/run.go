package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"molar/agent/guardrail"
	"molar/agent/memory"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// Errors that end the steps early. They never leave the package.
var (
	// errStopped: the consumer broke off.
	errStopped = errors.New("stopped by the consumer")
	// errRefused: the guardrail did not let the question pass.
	errRefused = errors.New("refused by the guardrail")
	// errPaused: the client has to run its own tools before the turn goes on.
	errPaused = errors.New("paused for the client's tools")
	// errRepeated: the turn had been saved before, and its answer was given again.
	errRepeated = errors.New("repeated from the store")
)

// A run is one turn under way. Its fields are written by the step that the comment
// names and only read by later ones.
type run struct {
	a     *Agent
	turn  Turn
	yield func(Event, error) bool
	// background holds the memory read and the guardrail's model call.
	background sync.WaitGroup
	started    time.Time
	nonce      string
	trace      *tracer

	assistant Assistant       // accept
	route     providers.Route // accept

	question schemas.Message // step 1
	asked    string          // step 1: its text
	lang     string          // step 1, settled in step 3
	langSure bool            // step 1
	typed    string          // step 1: what the person typed to use a server's prompt
	prompted string          // step 1: the server of that prompt

	verdict   func(context.Context) (guardrail.Verdict, error) // step 2; waits for it
	allowed   bool                                             // step 2: the verdict was a pass
	smallTalk bool                                             // step 2: a greeting or thanks, nothing to search for

	recall   func(context.Context) recalled // step 3; waits for the read
	fresh    bool                           // Run named the conversation, so there is nothing to read; until step 8
	opening  memory.Opening                 // step 3
	remember bool                           // step 3: the conversation was read

	searched bool                 // step 4
	found    []schemas.ToolResult // step 4

	paused *paused // accept: the turn that this one continues, or nil

	tools     *toolhandler.Turn  // step 5
	offered   []schemas.ToolInfo // step 5
	rounds    []schemas.Round    // step 5: what the model said and called, with the results
	toolCalls int                // step 5
	theirs    []schemas.ToolCall // step 5: the calls that the client has to run
	prompt    []schemas.Message  // step 5: the messages up to those calls

	notice  string     // step 2: the emergency notice that was shown
	leak    leakFilter // accept: keeps the system prompt out of the answer
	spoke   bool       // step 6: there is an answer beside the notice
	watch   watch      // step 6: over an answer that may leave the subject
	ordered bool       // steps 4 and 5: something that was read gave orders

	answer     strings.Builder // step 6
	finish     providers.FinishReason
	served     *providers.Switch // the provider that answered, when it is not the route's
	usage      schemas.Usage
	modelCalls int
	mu         sync.Mutex // guards usage and modelCalls: the judge counts too

	grounded   []schemas.Source // step 6: sources that the provider itself gave
	apart      bool             // step 6: a tool round lies between what was shown and what comes
	sources    []schemas.Source // step 7
	saved      bool             // step 8
	closed     bool             // step 8: there is nothing left to save
	unapproved []string
	warnings   []string
}

func newRun(a *Agent, t Turn, yield func(Event, error) bool) *run {
	return &run{
		a:       a,
		turn:    t,
		yield:   yield,
		started: a.cfg.Now(),
		nonce:   prompts.Nonce(),
		trace:   newTracer(a.cfg.Recorder != nil, a.cfg.Now),
	}
}

// answerTurn is the order of the steps. Each is a method of its own file.
func (r *run) answerTurn(ctx context.Context) error {
	if err := r.resume(ctx); err != nil {
		return err
	}
	if err := r.accept(ctx); err != nil {
		return err
	}
	steps := []func(context.Context) error{
		r.readQuestion, // 1: question and language
		r.canSearch,    // 4, as far as it is known now
		r.startMemory,  // 3 begins first,
		r.repeatFinished,
		r.expand,                      // 1: the prompt of a server that the question names
		r.attach,                      // 1: texts beside the question
		r.startGuard,                  // 2: it may need the last exchange
		r.alert,                       // 2: what to do in an emergency, before all that may fail
		r.timed("search", r.search),   // 4: code-driven tools
		r.disarmFound,                 // 4: without the orders that pages give to models
		r.timed("answer", r.converse), // 5 and 6: tool pass and chat pass
		r.addSources,                  // 7
	}
	steps = append(steps, ending(r.timed("save", r.save), r.report)...) // 8
	if r.paused != nil {
		steps = r.stepsAfterPause()
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			switch {
			case errors.Is(err, errRefused):
				if err := r.alertRefused(ctx); err != nil {
					return err
				}
				return r.refuse(ctx)
			case errors.Is(err, errPaused):
				return r.pause(ctx)
			case errors.Is(err, errRepeated):
				return nil
			}
			return err
		}
	}
	return nil
}

// accept finds the assistant and the route, and announces the turn.
func (r *run) accept(ctx context.Context) error {
	name := r.turn.Assistant
	if name == "" {
		name = r.a.cfg.Default
	}
	assistant, ok := r.a.assistants[name]
	if !ok {
		return fmt.Errorf("%w: there is no assistant %q; choose one of %s", ErrNotFound, name, r.a.names())
	}
	r.assistant = assistant
	r.leak.secret, r.leak.instead = r.a.secrets[name](), func() string { return prompts.Withheld(r.lang) }
	provider, model := r.turn.Provider, r.turn.Model
	if provider == "" && model == "" {
		provider, model = assistant.Provider, assistant.Model
	}
	route, err := r.a.cfg.Models.Pick(ctx, provider, model, r.turn.GuardrailModel)
	if err != nil {
		return err
	}
	r.route = route
	r.trace.route(r.turn, assistant, route)
	return r.emit(Event{Kind: EventStart, Start: &Start{
		TurnID:         r.turn.ID,
		ConversationID: r.turn.ConversationID,
		Assistant:      assistant.Name,
		Created:        r.started,
	}})
}

func (a *Agent) names() string {
	names := make([]string, 0, len(a.cfg.Assistants))
	for _, as := range a.cfg.Assistants {
		names = append(names, as.Name)
	}
	return strings.Join(names, ", ")
}

// emit yields an event; it fails once the consumer has gone.
func (r *run) emit(e Event) error {
	if !r.yield(e, nil) {
		return errStopped
	}
	return nil
}

// say yields a piece of the answer.
func (r *run) say(text string) error {
	if text == "" {
		return nil
	}
	r.answer.WriteString(text)
	return r.emit(Event{Kind: EventText, Text: text})
}

// warn tells the person and the log about something that did not stop the turn.
func (r *run) warn(text string) error {
	r.warnings = append(r.warnings, text)
	r.a.log.Warn(text, "turn", r.turn.ID)
	return r.emit(Event{Kind: EventWarning, Text: text})
}

// report ends a turn that went well.
func (r *run) report(context.Context) error {
	r.closed = true
	return r.emit(Event{Kind: EventDone, Done: r.sum()})
}

func (r *run) sum() *Done {
	r.mu.Lock()
	defer r.mu.Unlock()
	provider, model := r.route.Provider.Name(), r.route.Model
	if r.served != nil {
		provider, model = r.served.Provider, r.served.Model
	}
	return &Done{
		Finish:     r.finish,
		Provider:   provider,
		Model:      model,
		Language:   r.lang,
		Saved:      r.saved,
		Usage:      r.usage,
		ModelCalls: r.modelCalls,
		ToolCalls:  r.toolCalls,
		Calls:      r.theirs,
		Unapproved: r.unapproved,
		Warnings:   r.warnings,
		Sources:    r.sources,
	}
}
