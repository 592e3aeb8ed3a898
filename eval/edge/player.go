package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"

	"molar/agent"
	"molar/eval/drift"
	"molar/eval/tape"
	"molar/eval/wire"
	"molar/mcpclients"
	"molar/providers"
	"molar/schemas"
)

// PlayerConfig configures a [Player].
type PlayerConfig struct {
	// Name is the tape's file, for messages; File and Size are its bytes.
	Name string
	File io.ReaderAt
	Size int64
	// LiveModel lets model calls through to the real service, LiveTools tool calls to
	// the real servers. What is live is not compared with the tape's requests.
	LiveModel, LiveTools bool
	// Report serves the tape's answer to a request that differs; else the request is
	// refused, and the turn ends there.
	Report bool
	// Skip names servers that are not on the tape and run for real.
	Skip []string
	// Redactor must be the one of the recording; nil knows the general rules only.
	Redactor *tape.Redactor
	// Canon may be shared by players; nil makes one.
	Canon *drift.Canon
	// Faults are laid over the tape.
	Faults []Fault
}

// A Player serves a tape at both edges and collects what differs. Nothing that the
// tape does not have goes to the network. It is used for one case.
type Player struct {
	cfg    PlayerConfig
	x      *index
	canon  *drift.Canon
	redact *tape.Redactor
	skip   map[string]bool

	mu     sync.Mutex
	drifts []drift.Drift
	turn   int
	line   int // the last line that was served
	fired  map[int]int
	missed []string
	then   GoOn // answers once the tape was left
	left   bool
	calls  int
	usage  schemas.Usage
	live   map[string]map[string]wire.Tool // what real servers list, by server
}

// NewPlayer reads the tape once and returns a player.
func NewPlayer(cfg PlayerConfig) (*Player, error) {
	x, err := readIndex(cfg.Name, cfg.File, cfg.Size)
	if err != nil {
		return nil, err
	}
	p := &Player{cfg: cfg, x: x, canon: cfg.Canon, redact: cfg.Redactor, skip: make(map[string]bool), fired: make(map[int]int), live: make(map[string]map[string]wire.Tool)}
	if p.canon == nil {
		p.canon = drift.NewCanon()
	}
	if p.redact == nil {
		p.redact = tape.NewRedactor()
	}
	for _, name := range cfg.Skip {
		p.skip[name] = true
	}
	return p, nil
}

// Header returns the tape's header.
func (p *Player) Header() tape.Header { return p.x.story.Header }

// Story returns what the tape tells.
func (p *Player) Story() *tape.Story { return p.x.story }

// Servers are the names of the servers on the tape.
func (p *Player) Servers() []string { return slices.Collect(maps.Keys(p.x.frames)) }

// Summarises reports whether a summary followed the last turn, so that a replay makes
// it too.
func (p *Player) Summarises() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.x.models, func(x *taped) bool {
		return x.pass == string(providers.PassSummary) && !x.used && (x.turn == p.turn || x.turn == 0)
	})
}

// drift notes differences at a line of the tape.
func (p *Player) drift(turn, line int, drifts ...drift.Drift) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range drifts {
		d.Turn, d.Line = turn, line
		p.drifts = append(p.drifts, d)
	}
}

// drifted reports whether anything of a turn, or what comes before all, drifted.
func (p *Player) drifted(turn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.drifts, func(d drift.Drift) bool { return d.Turn == turn || d.Turn == 0 })
}

// Differs notes what of the config is not as it was when the tape was made: the cause of
// all that follows.
func (p *Player) Differs(where, was, now string) {
	p.drift(0, 1, drift.Differing(drift.Config, where, was, now))
}

// Uses reports whether the tape offers or calls a tool of the server.
func (p *Player) Uses(server string) bool {
	return p.x.offers(server) || slices.ContainsFunc(p.x.frames[server], func(f *tapedFrame) bool { return f.method == tape.MethodCall })
}

// Provider wraps a provider so that the transport below it knows the pass. One
// without a transport (local) is served from the tape itself.
func (p *Player) Provider(inner providers.Provider, local bool) providers.Provider {
	if local && !p.cfg.LiveModel {
		inner = tapedProvider{Provider: inner, p: p}
	}
	return leaving{passing{inner}, p}
}

// tapedProvider answers in the place of a provider without a transport.
type tapedProvider struct {
	providers.Provider
	p *Player
}

func (t tapedProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		refuse := func(err error) {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.KindInvalid, Provider: t.Name(), Err: err})
		}
		if fired, err := t.p.localFault(ctx, req); fired {
			yield(providers.Chunk{}, err)
			return
		}
		x, err := t.p.take(slotOf(ctx, ""), "", "", tape.EncodeRequest(req))
		if err != nil {
			refuse(err)
			return
		}
		for _, at := range x.chunks {
			rec, err := t.p.x.load(at)
			if err == nil {
				var chunk providers.Chunk
				if chunk, err = tape.DecodeChunk(rec.Bytes()); err == nil {
					if !yield(chunk, nil) {
						return
					}
					continue
				}
			}
			refuse(err)
			return
		}
		if end, err := t.p.x.load(x.end); err == nil && end.Error != "" {
			refuse(errors.New(end.Error))
		}
	}
}

// Missed tells what was asked for and is not on the tape: what the player answered there
// is no answer of anybody.
func (p *Player) Missed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.missed)
}

func (p *Player) miss(format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	p.missed = append(p.missed, what)
	return errNoTape(what)
}

// errNoTape is what a request gets that the tape cannot answer.
func errNoTape(what string) error {
	return fmt.Errorf("replay: %s; nothing goes live", what)
}

// take finds the exchange for a request and compares the two.
func (p *Player) take(s slot, method, path string, body []byte) (*taped, error) {
	p.mu.Lock()
	x := p.find(s, method, path, body)
	if x != nil {
		x.used = true
		p.line = max(p.line, x.request.line)
	}
	line := p.line
	p.mu.Unlock()
	if x == nil {
		p.drift(s.turn, line+1, drift.Drift{Class: drift.ModelExtra, Where: fmt.Sprintf("%s pass", s.pass), Want: "(nothing)", Got: drift.Clip(string(body))})
		if p.leave() {
			return nil, errNoTape("the tape ends here")
		}
		return nil, p.miss("the tape has no further %s call in turn %d", s.pass, s.turn)
	}
	if !x.ended {
		return nil, fmt.Errorf("%s:%d: the recording of this model call broke off", p.x.name, x.request.line)
	}
	if x.unkeyed || s.pass == tape.PassProbe {
		return x, nil
	}
	rec, err := p.x.load(x.request)
	if err != nil {
		return nil, err
	}
	made := []byte(p.redact.Text(string(body)))
	drifts := p.canon.Read(rec.Body).Diff(p.canon.Read(made))
	if rec.Method+" "+rec.Path != method+" "+path {
		drifts = append(drifts, drift.Differing(drift.Transport, "request", rec.Method+" "+rec.Path, method+" "+path))
	}
	if len(drifts) == 0 {
		return x, nil
	}
	for i := range drifts {
		drifts[i].Where = fmt.Sprintf("%s pass, %s", s.pass, drifts[i].Where)
	}
	p.drift(s.turn, x.request.line, drifts...)
	if p.leave() || !p.cfg.Report {
		return nil, errNoTape(fmt.Sprintf("the %s request of turn %d differs from the tape: %s", s.pass, s.turn, drifts[0].Class))
	}
	return x, nil
}

// find looks for the next exchange of the turn and pass. Summaries that were recorded
// outside a turn are found by what they ask.
func (p *Player) find(s slot, method, path string, body []byte) *taped {
	if s.pass == tape.PassProbe {
		return p.findProbe(method, path, body)
	}
	var stray *taped
	for _, x := range p.x.models {
		switch {
		case x.used || x.pass == tape.PassProbe:
		case x.turn == s.turn && x.pass == string(s.pass):
			return x
		case x.turn == s.turn && x.pass == "" && (s.pass == providers.PassTool || s.pass == providers.PassAnswer):
			return x
		case x.turn == 0 && x.pass == string(s.pass) && stray == nil && p.asks(x, body):
			stray = x
		}
	}
	return stray
}

// findProbe looks for the next probe that asks the same, else for one of the same
// address; the last one repeats.
func (p *Player) findProbe(method, path string, body []byte) *taped {
	var same, like *taped
	for _, x := range p.x.models {
		if x.pass != tape.PassProbe || x.method != method || x.path != path {
			continue
		}
		if like == nil || like.used {
			like = x
		}
		if (same == nil || same.used) && p.asks(x, body) {
			same = x
		}
	}
	if same != nil {
		return same
	}
	return like
}

// asks reports whether a taped request asks the same.
func (p *Player) asks(x *taped, body []byte) bool {
	rec, err := p.x.load(x.request)
	return err == nil && p.canon.Read(rec.Body).Key() == p.canon.Read(body).Key()
}

// Turn runs the next turn, and compares what happens in it with the tape.
func (p *Player) Turn(ctx context.Context, t agent.Turn, run func(context.Context, agent.Turn) iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		p.mu.Lock()
		p.turn++
		turn := p.turn
		p.mu.Unlock()
		var seen tape.Seen
		for event, err := range run(InTurn(ctx, turn), t) {
			seen.Event(event, err)
			if !yield(event, err) || err != nil {
				break
			}
		}
		p.compare(turn, &seen)
	}
}

// Settle marks ctx for what follows the last turn, such as its summary.
func (p *Player) Settle(ctx context.Context) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return InTurn(ctx, p.turn)
}

// Finish returns the drift at the first divergence, which is the cause, and what
// follows from it. What nobody asked for is drift too.
func (p *Player) Finish() (causes, follows []drift.Drift) {
	if p.hasLeft() { // what the tape has of the rest is of another story
		p.mu.Lock()
		defer p.mu.Unlock()
		return drift.Rank(p.drifts)
	}
	if !p.cfg.LiveModel {
		for _, x := range p.x.models {
			if !x.used && x.pass != tape.PassProbe && !x.spare() {
				p.drift(x.turn, x.request.line, drift.Drift{Class: drift.Unconsumed, Where: fmt.Sprintf("model call %d, %s pass", x.seq, x.pass), Want: "asked for", Got: "(nothing)"})
			}
		}
	}
	if p.cfg.LiveTools {
		p.contracts()
	}
	if !p.cfg.LiveTools && !p.cfg.LiveModel {
		for server, frames := range p.x.frames {
			for _, f := range frames {
				if !f.used && f.method == tape.MethodCall {
					p.drift(f.turn, f.request.line, drift.Drift{Class: drift.Unconsumed, Where: "call on server " + server, Want: "asked for", Got: "(nothing)"})
				}
			}
		}
	}
	if !p.cfg.LiveModel {
		for i := p.turn; i < len(p.x.story.Turns); i++ {
			p.drift(i+1, p.x.story.Turns[i].At.User, drift.Drift{Class: drift.Unconsumed, Where: fmt.Sprintf("turn %d", i+1), Want: "a turn", Got: "(nothing)"})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return drift.Rank(p.drifts)
}

// spare reports whether an exchange need not be asked for: a verdict from before the
// conversation, which its turns had in memory, if they needed one at all.
func (x *taped) spare() bool {
	return x.turn == 0 && x.pass == string(providers.PassGuardrail)
}

// Dial serves MCP servers from the tape, or lets them through when tools are live.
func (p *Player) Dial(inner mcpclients.Dialer) mcpclients.Dialer {
	return func(ctx context.Context, server mcpclients.ServerConfig, notify mcpclients.Notify) (mcpclients.Conn, error) {
		if p.skip[server.Name] {
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
