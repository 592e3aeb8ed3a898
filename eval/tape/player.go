package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"molar/agent"
	"molar/agent/answer"
	"molar/mcpclients/transport"
	"molar/providers"
	"molar/schemas"
)

// PlayerConfig configures a [Player].
type PlayerConfig struct {
	Tape *Tape
	// LiveModel lets model calls through to the real service, LiveTools tool calls to the real
	// servers. Live requests are not compared with the tape.
	LiveModel, LiveTools bool
	// Report makes the player serve the tape's answer even to a request that differs; else it
	// refuses the request, and the turn ends.
	Report bool
	// Skip names servers that are not on the tape and are real in every mode.
	Skip []string
	// Redactor must be the one of the recording; nil means one with only the general rules.
	Redactor *Redactor
	// Canon may be shared by players; nil means a new one.
	Canon *Canon
	// Faults are injected into the replay.
	Faults []Fault
}

// A Player serves a tape at both edges and collects the differences. Unless something is live,
// it never uses the network. A player is for one case.
type Player struct {
	cfg    PlayerConfig
	models []*tapedExchange
	frames map[string][]*tapedFrame // by server

	mu     sync.Mutex
	drifts []Drift
	turn   int
	line   int // the last served line
	fired  map[int]int
	missed []string
	// unasked is set if the tape answered a request that a fault had changed.
	unasked  bool
	fallback Fallback // answers after the tape was left
	left     bool
	calls    int
	usage    schemas.Usage
	unpriced bool                       // a call of the fallback has a cost that is not known
	live     map[string]map[string]Tool // the tools that real servers list, by server
}

// A tapedExchange is a model call on the tape.
type tapedExchange struct {
	request *Record
	pass    string
	chunks  [][]byte
	end     *Record // nil if the recording ended early
	used    bool
}

// A tapedFrame is an MCP request on the tape.
type tapedFrame struct {
	request, answer *Record  // answer is nil if the recording ended early
	frame           rpcFrame // of the request
	key             string   // the canonical params
	used            bool
}

// NewPlayer indexes a tape and returns its player.
func NewPlayer(cfg PlayerConfig) (*Player, error) {
	if cfg.Canon == nil {
		cfg.Canon = NewCanon()
	}
	if cfg.Redactor == nil {
		cfg.Redactor = NewRedactor()
	}
	p := &Player{cfg: cfg, frames: make(map[string][]*tapedFrame), fired: make(map[int]int), live: make(map[string]map[string]Tool)}
	exchanges, frames := make(map[int]*tapedExchange), make(map[string]*tapedFrame)
	for i := range cfg.Tape.Records {
		r := &cfg.Tape.Records[i]
		switch r.Type {
		case TypeModelRequest:
			exchanges[r.Seq] = &tapedExchange{request: r, pass: r.ModelPass()}
			p.models = append(p.models, exchanges[r.Seq])
		case TypeModelChunk:
			exchanges[r.Seq].chunks = append(exchanges[r.Seq].chunks, r.Bytes())
		case TypeModelEnd:
			exchanges[r.Seq].end = r
		case TypeMCP:
			if err := p.addFrame(r, frames); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", cfg.Tape.Name, r.Line, err)
			}
		}
	}
	return p, nil
}

func (p *Player) addFrame(r *Record, byID map[string]*tapedFrame) error {
	var f rpcFrame
	if err := json.Unmarshal(r.Frame, &f); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	id := fmt.Sprintf("%s/%d", r.Server, f.ID)
	known := byID[id]
	switch {
	case r.Dir == toServer && known != nil:
		return fmt.Errorf("request %d of server %q begins twice", f.ID, r.Server)
	case r.Dir == toServer:
		byID[id] = &tapedFrame{request: r, frame: f, key: canonicalParams(f.Params)}
		p.frames[r.Server] = append(p.frames[r.Server], byID[id])
	case known != nil && known.answer != nil:
		return fmt.Errorf("request %d of server %q is answered twice", f.ID, r.Server)
	case known != nil:
		known.answer = r
	}
	return nil
}

// Tape returns the tape.
func (p *Player) Tape() *Tape { return p.cfg.Tape }

// Servers returns the names of the servers on the tape.
func (p *Player) Servers() []string { return slices.Collect(maps.Keys(p.frames)) }

// Summarises reports whether the tape has a summary after the current turn, so that a replay
// must make one too.
func (p *Player) Summarises() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.models, func(x *tapedExchange) bool {
		return x.pass == string(providers.PassSummary) && !x.used && (x.request.Turn == p.turn || x.request.Turn == 0)
	})
}

// drift adds differences at a line of the tape.
func (p *Player) drift(turn, line int, drifts ...Drift) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range drifts {
		d.Turn, d.Line = turn, line
		p.drifts = append(p.drifts, d)
	}
}

// drifted reports whether a turn drifted, or anything outside the turns.
func (p *Player) drifted(turn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.drifts, func(d Drift) bool { return d.Turn == turn || d.Turn == 0 })
}

// Differs reports a difference of the config from the recording, which is the cause of all later
// ones.
func (p *Player) Differs(where, was, now string) {
	p.drift(0, 1, differing(Config, where, was, now))
}

// Uses reports whether the tape offers or calls a tool of the server.
func (p *Player) Uses(server string) bool {
	return slices.ContainsFunc(p.models, func(x *tapedExchange) bool { return bytes.Contains(x.request.Body, []byte(`"`+server+"__")) }) ||
		slices.ContainsFunc(p.frames[server], func(f *tapedFrame) bool { return f.frame.Method == MethodCall })
}

// Provider wraps a provider so that the transport below knows the pass. A provider without a
// transport (local) is served from the tape through an added one.
func (p *Player) Provider(inner providers.Provider, local bool) providers.Provider {
	if local && !p.cfg.LiveModel {
		inner = overTransport(inner, p.Transport)
	}
	return fallbackProvider{passing{inner}, p}
}

// Missed describes the requests that are not on the tape and got an invented answer.
func (p *Player) Missed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.missed)
}

func (p *Player) recordMiss(format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	p.missed = append(p.missed, what)
	return errNotOnTape(what)
}

// errNotOnTape returns the error of a request that the tape cannot answer.
func errNotOnTape(what string) error {
	return fmt.Errorf("replay: %s; nothing goes live", what)
}

// take finds the exchange for a request, marks it as used, and compares the requests.
func (p *Player) take(s slot, method, path string, body []byte) (*tapedExchange, error) {
	p.mu.Lock()
	x := p.find(s, method, path, body)
	if x != nil {
		x.used = true
		p.line = max(p.line, x.request.Line)
	}
	line := p.line
	p.mu.Unlock()
	if x == nil {
		p.drift(s.turn, line+1, Drift{Class: ModelExtra, Where: fmt.Sprintf("%s pass", s.pass), Want: "(nothing)", Got: clip(string(body))})
		if p.leaveTape() {
			return nil, errNotOnTape("the tape ends here")
		}
		p.afterFault(s)
		return nil, p.recordMiss("the tape has no further %s call in turn %d", s.pass, s.turn)
	}
	if x.end == nil {
		return nil, fmt.Errorf("%s:%d: the recording of this model call broke off", p.cfg.Tape.Name, x.request.Line)
	}
	if x.request.Unkeyed || s.pass == passProbe {
		return x, nil
	}
	rec := x.request
	drifts := p.cfg.Canon.Read(rec.Body).Diff(p.cfg.Canon.Read([]byte(p.cfg.Redactor.Text(string(body)))))
	if rec.Method+" "+rec.Path != method+" "+path {
		drifts = append(drifts, differing(Transport, "request", rec.Method+" "+rec.Path, method+" "+path))
	}
	if len(drifts) == 0 {
		return x, nil
	}
	for i := range drifts {
		drifts[i].Where = fmt.Sprintf("%s pass, %s", s.pass, drifts[i].Where)
	}
	p.drift(s.turn, x.request.Line, drifts...)
	if p.leaveTape() || !p.afterFault(s) && !p.cfg.Report {
		return nil, errNotOnTape(fmt.Sprintf("the %s request of turn %d differs from the tape: %s", s.pass, s.turn, drifts[0].Class))
	}
	return x, nil
}

// afterFault reports whether a fault hit before a request that differs from the tape. The tape's
// answer is served then, to see what the host does, although no model gave it to this request. A
// summary after the last turn does not count as unasked, since it changes no answer.
func (p *Player) afterFault(s slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	hit := false
	for i, f := range p.cfg.Faults {
		hit = hit || p.fired[i] >= max(f.Nth, 1)
	}
	p.unasked = p.unasked || hit && !p.left && (s.pass != providers.PassSummary || s.turn < len(p.cfg.Tape.Turns))
	return hit
}

// NotAsked reports whether the tape answered a request that a fault had changed, in place of a
// model.
func (p *Player) NotAsked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unasked
}

// find returns the next exchange of the turn and pass. A summary recorded outside of turns is
// found by its request.
func (p *Player) find(s slot, method, path string, body []byte) *tapedExchange {
	if s.pass == passProbe {
		return p.findProbe(method, path, body)
	}
	var stray *tapedExchange
	for _, x := range p.models {
		switch {
		case x.used || x.pass == passProbe:
		case x.request.Turn == s.turn && x.pass == string(s.pass):
			return x
		case x.request.Turn == s.turn && x.pass == "" && (s.pass == providers.PassTool || s.pass == providers.PassAnswer):
			return x
		case x.request.Turn == 0 && x.pass == string(s.pass) && stray == nil && p.asksSame(x, body):
			stray = x
		}
	}
	return stray
}

// findProbe returns the next equal probe, else the next one of the same address. The last one
// repeats.
func (p *Player) findProbe(method, path string, body []byte) *tapedExchange {
	var same, like *tapedExchange
	for _, x := range p.models {
		if x.pass != passProbe || x.request.Method != method || x.request.Path != path {
			continue
		}
		if like == nil || like.used {
			like = x
		}
		if (same == nil || same.used) && p.asksSame(x, body) {
			same = x
		}
	}
	if same != nil {
		return same
	}
	return like
}

// asksSame reports whether a taped request equals the given one.
func (p *Player) asksSame(x *tapedExchange, body []byte) bool {
	return p.cfg.Canon.Read(x.request.Body).Key() == p.cfg.Canon.Read(body).Key()
}

// Over wraps run so that its turns are numbered and compared with the tape.
func (p *Player) Over(run Run) Run {
	return func(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
		return func(yield func(answer.Event, error) bool) {
			p.mu.Lock()
			p.turn++
			turn := p.turn
			p.mu.Unlock()
			var seen Turn
			for event, err := range run(InTurn(ctx, turn), t) {
				seen.Event(event, err)
				if !yield(event, err) || err != nil {
					break
				}
			}
			p.compare(turn, &seen)
		}
	}
}

// Settle marks ctx as part of the last turn, for what follows it, such as its summary.
func (p *Player) Settle(ctx context.Context) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return InTurn(ctx, p.turn)
}

// Finish returns the drift at the first divergence, which is the cause, and the drift that
// follows from it. Unconsumed parts of the tape are drift too.
func (p *Player) Finish() (causes, follows []Drift) {
	if p.hasLeft() { // the rest of the tape does not apply
		p.mu.Lock()
		defer p.mu.Unlock()
		return rank(p.drifts)
	}
	if !p.cfg.LiveModel {
		for _, x := range p.models {
			if !x.used && x.pass != passProbe && !x.optional() {
				p.drift(x.request.Turn, x.request.Line, Drift{Class: Unconsumed, Where: fmt.Sprintf("model call %d, %s pass", x.request.Seq, x.pass), Want: "asked for", Got: "(nothing)"})
			}
		}
	}
	if p.cfg.LiveTools {
		p.compareContracts()
	}
	if !p.cfg.LiveTools && !p.cfg.LiveModel {
		for server, frames := range p.frames {
			for _, f := range frames {
				if !f.used && f.frame.Method == MethodCall {
					p.drift(f.request.Turn, f.request.Line, Drift{Class: Unconsumed, Where: "call on server " + server, Want: "asked for", Got: "(nothing)"})
				}
			}
		}
	}
	if !p.cfg.LiveModel {
		for i := p.turn; i < len(p.cfg.Tape.Turns); i++ {
			p.drift(i+1, p.cfg.Tape.Turns[i].At.User, Drift{Class: Unconsumed, Where: fmt.Sprintf("turn %d", i+1), Want: "a turn", Got: "(nothing)"})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return rank(p.drifts)
}

// optional reports whether an exchange may remain unused: a verdict recorded outside of turns,
// which a turn asks for only if it is needed.
func (x *tapedExchange) optional() bool {
	return x.request.Turn == 0 && x.pass == string(providers.PassGuardrail)
}

// Dial serves MCP servers from the tape, or connects to them if tools are live.
func (p *Player) Dial(inner transport.Dialer) transport.Dialer {
	return func(ctx context.Context, server transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
		if slices.Contains(p.cfg.Skip, server.Name) {
			return inner(ctx, server, notify)
		}
		c := &playedConn{p: p, server: server.Name, done: make(chan struct{})}
		if !p.cfg.LiveTools {
			return c, nil
		}
		conn, err := inner(ctx, server, notify)
		if err != nil {
			return nil, err
		}
		return &liveConn{Conn: conn, played: c}, nil
	}
}
