package tape

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
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
	// Faults replace results of tools, taped and live ones.
	Faults []Fault
}

// A Player serves a tape at both edges and collects the differences. Unless something is live,
// it never uses the network. A player is for one case.
type Player struct {
	cfg    PlayerConfig
	models []*exchange          // in order
	frames map[string][]*frames // by server

	mu       sync.Mutex
	used     map[*Record]bool   // the served requests
	named    map[*TurnCall]bool // the calls of the tape whose ids were given
	ids      callIDs
	drifts   []Drift
	turn     int
	line     int // the last served line
	missed   []string
	faulted  bool     // a fault hit a call
	fallback Fallback // answers after the tape was left
	left     bool
	calls    int
	usage    schemas.Usage
	unpriced bool                       // a call of the fallback has a cost that is not known
	live     map[string]map[string]Tool // the tools that real servers list, by server
}

// NewPlayer indexes a tape and returns its player.
func NewPlayer(cfg PlayerConfig) *Player {
	if cfg.Canon == nil {
		cfg.Canon = NewCanon()
	}
	if cfg.Redactor == nil {
		cfg.Redactor = NewRedactor()
	}
	p := &Player{cfg: cfg, frames: make(map[string][]*frames), used: make(map[*Record]bool), named: make(map[*TurnCall]bool), live: make(map[string]map[string]Tool)}
	for _, r := range cfg.Tape.Records {
		if x := cfg.Tape.exchanges[r.Seq]; r.Type == TypeModelRequest {
			p.models = append(p.models, x)
		} else if r.Type == TypeModelEnd && r.Sha != "" && r.Sha != x.sum() {
			p.spoilt(x.request.Turn, r, "model call "+strconv.Itoa(r.Seq), x.sum())
		}
	}
	for _, f := range cfg.Tape.frames {
		p.frames[f.request.Server] = append(p.frames[f.request.Server], f)
		if f.answer == nil && p.isStrict() && cfg.Tape.Torn == nil {
			p.drift(f.request.Turn, f.request.Line, Drift{Class: Result, Where: f.asked.Method + " of server " + f.request.Server, Want: "(the tape has lost its line)", late: true})
		}
		if r := f.answer; r != nil && r.Sha != "" && r.Sha != frameSha(r) {
			p.spoilt(r.Turn, r, f.asked.Method+" of server "+r.Server, frameSha(r))
		}
	}
	return p
}

// spoilt reports an answer that was changed on the tape. What came of the change says more, if the
// host read it.
func (p *Player) spoilt(turn int, r *Record, where, sha string) {
	p.drift(turn, r.Line, Drift{Class: Result, Where: where, Want: "the answer with hash " + r.Sha, Got: "a changed one, hash " + sha, late: true})
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
	return slices.ContainsFunc(p.models, func(x *exchange) bool {
		return x.pass == string(providers.PassSummary) && !p.used[x.request] && (x.request.Turn == p.turn || x.request.Turn == 0)
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
	return slices.ContainsFunc(p.drifts, func(d Drift) bool { return !d.late && (d.Turn == turn || d.Turn == 0) })
}

// Differs reports a difference of the config from the recording, which is the cause of all later
// ones.
func (p *Player) Differs(where, was, now string) {
	p.drift(0, 1, differing(Config, where, was, now))
}

// Uses reports whether the tape offers or calls a tool of the server.
func (p *Player) Uses(server string) bool {
	return slices.ContainsFunc(p.models, func(x *exchange) bool { return bytes.Contains(x.request.Body, []byte(`"`+server+"__")) }) ||
		slices.ContainsFunc(p.frames[server], func(f *frames) bool { return f.asked.Method == MethodCall })
}

// Provider wraps a provider so that the transport below knows the pass. A provider without a
// transport (local) is served from the tape through an added one.
func (p *Player) Provider(inner providers.Provider, local bool) providers.Provider {
	if local && !p.cfg.LiveModel {
		inner = overTransport(inner, p.Transport)
	}
	return numbered{fallbackProvider{passing{inner}, p}, p.callID}
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
func (p *Player) take(s slot, method, path string, body []byte) (*exchange, error) {
	p.mu.Lock()
	x := p.find(s, method, path, body)
	if x != nil {
		p.used[x.request] = true
		p.line = max(p.line, x.request.Line)
	}
	line := p.line
	p.mu.Unlock()
	if x == nil {
		p.drift(s.turn, line+1, Drift{Class: ModelExtra, Where: fmt.Sprintf("%s pass", s.pass), Want: "(nothing)", Got: clip(string(body))})
		if p.leaveTape() {
			return nil, errNotOnTape("the tape ends here")
		}
		return nil, p.recordMiss("the tape has no further %s call in turn %d", s.pass, s.turn)
	}
	if x.end == nil {
		return nil, fmt.Errorf("%s:%d: the recording of this model call broke off", p.cfg.Tape.Name, x.request.Line)
	}
	if x.request.Unkeyed || s.pass == passProbe {
		return x, nil
	}
	rec := x.request
	taped := p.cfg.Canon.Read(rec.Body)
	taped.strict = p.isStrict()
	drifts := taped.Diff(p.cfg.Canon.Read([]byte(p.cfg.Redactor.Text(string(body)))))
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
	if p.leaveTape() || !p.cfg.Report {
		return nil, errNotOnTape(fmt.Sprintf("the %s request of turn %d differs from the tape: %s", s.pass, s.turn, drifts[0].Class))
	}
	return x, nil
}

// find returns the next exchange of the turn and pass. A summary recorded outside of turns is
// found by its request.
func (p *Player) find(s slot, method, path string, body []byte) *exchange {
	if s.pass == passProbe {
		return p.findProbe(method, path, body)
	}
	var stray *exchange
	for _, x := range p.models {
		switch {
		case p.used[x.request] || x.pass == passProbe:
		case x.request.Turn == s.turn && x.pass == string(s.pass):
			return x
		case x.request.Turn == s.turn && x.pass == "" && (s.pass == providers.PassTool || s.pass == providers.PassAnswer):
			return x
		case x.request.Turn == 0 && x.pass == string(s.pass) && stray == nil && (s.pass.IsSmall() || !p.isStrict()) && p.asksSame(x, body):
			stray = x
		}
	}
	return stray
}

// findProbe returns the next equal probe, else the next one of the same address. The last one
// repeats.
func (p *Player) findProbe(method, path string, body []byte) *exchange {
	var same, like *exchange
	for _, x := range p.models {
		if x.pass != passProbe || x.request.Method != method || x.request.Path != path {
			continue
		}
		if like == nil || p.used[like.request] {
			like = x
		}
		if (same == nil || p.used[same.request]) && p.asksSame(x, body) {
			same = x
		}
	}
	if same != nil {
		return same
	}
	return like
}

// asksSame reports whether a taped request equals the given one.
func (p *Player) asksSame(x *exchange, body []byte) bool {
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
			seen.User, _ = t.Question()
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
			if !p.used[x.request] && x.pass != passProbe && !x.optional() {
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
				if !p.used[f.request] && (f.asked.Method == MethodCall || p.neverAsked(server, f.asked.Method)) {
					p.drift(f.request.Turn, f.request.Line, Drift{Class: Unconsumed, Where: cmp.Or(f.asked.Method, "request") + " of server " + server, Want: "asked for", Got: "(nothing)"})
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

// neverAsked reports whether a server that the tape uses began without what every server is asked. It
// may list its tools more often on the tape, when they changed.
func (p *Player) neverAsked(server, method string) bool {
	return p.isStrict() && (method == MethodInitialize || method == MethodList) && p.Uses(server) &&
		!slices.ContainsFunc(p.frames[server], func(f *frames) bool { return f.asked.Method == method && p.used[f.request] })
}

// optional reports whether an exchange may remain unused: a verdict recorded outside of turns,
// which a turn asks for only if it is needed.
func (x *exchange) optional() bool {
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
