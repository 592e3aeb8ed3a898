package toolhandler

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"molar/schemas"
)

// A Person can be reached while the calls of a turn run. Its methods may be called by several
// goroutines at once.
type Person interface {
	// Answer returns the person's answer to a server's question. An error means that there is
	// none.
	Answer(ctx context.Context, q Question) (schemas.Answer, error)
	// OnNews receives a server's news of a running call. It must not block.
	OnNews(n schemas.News)
}

// A Question is a server's question to a person during a call.
type Question struct {
	schemas.Question
	// Expires is when it counts as cancelled.
	Expires time.Time
	// Check returns what is wrong with the content of an accepting answer: it must fit the form,
	// with the defaults added.
	Check func(content map[string]json.RawMessage) error
}

// personForServer wraps the person for servers: clocks pause while the person answers a question,
// and a sign of progress restarts the idle time of its call.
func (t *Turn) personForServer(p Person) *schemas.Person {
	who := &schemas.Person{Caller: t.cfg.Caller, OnNews: func(n schemas.News) {
		if n.Level == "" {
			t.clocks.touch(n.Server, n.Tool)
		}
		if p != nil {
			p.OnNews(n)
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
	form, err := NewSchema(q.Schema)
	if err != nil {
		return nil //nolint:nilerr // the server's fault: it may still accept the answer
	}
	raw, err := json.Marshal(q.Filled(content))
	if err != nil {
		return err
	}
	return form.Check(raw)
}

// clocks holds the clocks of a turn's running calls.
type clocks struct {
	mu      sync.Mutex
	running map[*clock]bool
	held    int // open questions
	since   time.Time
	spent   time.Duration // on questions, since the last call of thought
}

// A clock ends a call when idle has passed since its last sign of progress, or when its total
// time is used up.
type clock struct {
	server, tool    string
	idle, left, all time.Duration
	began           time.Time     // when it began to run
	waited          time.Duration // for a person's answer to its server
	timer           *time.Timer
}

// start starts the clock of a call. The returned context ends with [context.DeadlineExceeded] as
// its cause. The returned function stops the clock and returns how long the call waited for a
// person.
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

// pause subtracts the elapsed time.
func (k *clock) pause() {
	k.timer.Stop()
	passed := time.Since(k.began)
	k.left, k.all = k.left-passed, k.all-passed
}

func (k *clock) goOn() {
	k.began = time.Now()
	k.timer.Reset(max(0, min(k.left, k.all)))
}

// hold stops all clocks until release is called, while a server asks a person.
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

// touch restarts the idle time of a tool's calls.
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

// takeThinkingTime returns how long people took to answer since the last call of thought.
func (c *clocks) takeThinkingTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	spent := c.spent
	c.spent = 0
	return spent
}
