package toolhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"molar/schemas"
)

// A Person can be reached while the calls of a turn run. Its methods may be called by several
// goroutines at once.
type Person interface {
	// Answer answers what a server wants to know. An error means that nobody did.
	Answer(ctx context.Context, q Question) (schemas.Answer, error)
	// Hear takes what a server says of a call that runs. It must not block.
	Hear(n schemas.News)
}

// A Question is what a person is asked in the middle of a call.
type Question struct {
	schemas.Question
	// Expires is when it counts as cancelled.
	Expires time.Time
	// Check says what is wrong with the content of an answer that accepts: it must fit the
	// form, once the defaults are added.
	Check func(content map[string]json.RawMessage) error
}

// reached is the person as a server reaches them: while they think about a question, no clock
// of the turn runs, and a sign of progress starts that of its call anew.
func (t *Turn) reached(p Person) *schemas.Person {
	who := &schemas.Person{Hear: func(n schemas.News) {
		if n.Level == "" {
			t.clocks.touch(n.Server, n.Tool)
		}
		if p != nil {
			p.Hear(n)
		}
	}}
	if p != nil {
		who.Ask = func(ctx context.Context, q schemas.Question) (schemas.Answer, error) {
			defer t.clocks.hold(q.Server)()
			ctx, cancel := context.WithTimeout(ctx, ApprovalTimeout)
			defer cancel()
			return p.Answer(ctx, Question{Question: q, Expires: time.Now().Add(ApprovalTimeout), Check: func(content map[string]json.RawMessage) error {
				return checkAnswer(q, content)
			}})
		}
	}
	return who
}

// checkAnswer checks the content of an answer against the form of its question.
func checkAnswer(q schemas.Question, content map[string]json.RawMessage) error {
	if len(q.Schema) == 0 {
		return nil
	}
	form, err := compile(q.Schema)
	if err != nil {
		return nil //nolint:nilerr // the server's fault: it may still know what to do with an answer
	}
	raw, err := json.Marshal(q.Filled(content))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if err := form.Validate(value); err != nil {
		return explain(err)
	}
	return nil
}

// clocks are those of the calls that run in a turn.
type clocks struct {
	mu      sync.Mutex
	running map[*clock]bool
	held    int // questions that are open
	since   time.Time
	spent   time.Duration // on questions, since it was last asked for
}

// A clock ends a call when idle has passed since its last sign of progress, and in any case
// when all its time has.
type clock struct {
	server, tool    string
	idle, left, all time.Duration
	began           time.Time     // when it began to run
	waited          time.Duration // for a person whom its server asked
	timer           *time.Timer
}

// start begins the clock of a call. The cause of what it returns is then
// [context.DeadlineExceeded]. Stopping it tells how long the call waited for a person.
func (c *clocks) start(ctx context.Context, tool schemas.Tool, idle, all time.Duration) (context.Context, func() time.Duration) {
	ctx, end := context.WithCancelCause(ctx)
	k := &clock{server: tool.Server, tool: tool.ToolName, idle: idle, left: idle, all: all, began: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.timer = time.AfterFunc(min(k.left, k.all), func() { end(context.DeadlineExceeded) })
	if c.held > 0 {
		k.timer.Stop()
	}
	if c.running == nil {
		c.running = map[*clock]bool{}
	}
	c.running[k] = true
	return ctx, func() time.Duration {
		c.mu.Lock()
		defer c.mu.Unlock()
		k.timer.Stop()
		delete(c.running, k)
		end(context.Canceled)
		return k.waited
	}
}

// pause takes off what has passed.
func (k *clock) pause() {
	k.timer.Stop()
	passed := time.Since(k.began)
	k.left, k.all = k.left-passed, k.all-passed
}

func (k *clock) goOn() {
	k.began = time.Now()
	k.timer.Reset(max(0, min(k.left, k.all)))
}

// hold stops all clocks until the returned function is called: a server asks a person.
func (c *clocks) hold(server string) (release func()) {
	asked := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held++; c.held == 1 {
		c.since = time.Now()
		for k := range c.running {
			k.pause()
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for k := range c.running {
			if k.server == server {
				k.waited += time.Since(asked)
			}
		}
		if c.held--; c.held == 0 {
			c.spent += time.Since(c.since)
			for k := range c.running {
				k.goOn()
			}
		}
	}
}

// touch starts the idle time of the calls of a tool anew.
func (c *clocks) touch(server, tool string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.running {
		if c.held == 0 && k.server == server && k.tool == tool {
			k.pause()
			k.left = k.idle
			k.goOn()
		}
	}
}

// thought is how long people thought since it was last asked for.
func (c *clocks) thought() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	spent := c.spent
	c.spent = 0
	return spent
}
