package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/eval/tape"
	"molar/mcpclients"
	"molar/providers"
)

// A Kept is the tape of one turn, whose only turn it is.
type Kept struct {
	TurnID, ConversationID, Owner string
	Started                       time.Time
	Tape                          []byte
}

// KeeperConfig configures a [Keeper]. To, Wants and Route are required.
type KeeperConfig struct {
	// To takes the tapes; it must not block.
	To func(Kept)
	// Wants reports whether the turns of an assistant are kept.
	Wants func(assistant string) bool
	// Route tells models and address of a provider.
	Route func(provider string) tape.Route
	// Host is the version of the program.
	Host string
	// Redactor replaces secrets; nil knows the general rules only.
	Redactor *tape.Redactor
	// Skip names servers whose frames are not kept.
	Skip []string
}

// A Keeper records each turn of a running host on a tape of its own. What happens outside
// of turns is not kept, but for the newest lists of tools, which each tape begins with.
type Keeper struct {
	cfg KeeperConfig

	mu       sync.Mutex
	lists    map[string][]listing // by server
	listings int
}

// NewKeeper checks the config.
func NewKeeper(cfg KeeperConfig) (*Keeper, error) {
	if cfg.To == nil || cfg.Wants == nil || cfg.Route == nil {
		return nil, errors.New("keeper needs something to keep to, and to be told what")
	}
	if cfg.Redactor == nil {
		cfg.Redactor = tape.NewRedactor()
	}
	return &Keeper{cfg: cfg, lists: make(map[string][]listing)}, nil
}

type recorderKey struct{}

// of returns the recorder of the turn that ctx is part of; nil outside of turns.
func of(ctx context.Context) *Recorder {
	rec, _ := ctx.Value(recorderKey{}).(*Recorder)
	return rec
}

// Transport wraps the transport of a model service.
func (k *Keeper) Transport(base http.RoundTripper) http.RoundTripper { return keptTransport{base} }

type keptTransport struct{ base http.RoundTripper }

func (t keptTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if rec := of(req.Context()); rec != nil {
		return rec.Transport(t.base).RoundTrip(req)
	}
	return t.base.RoundTrip(req)
}

// Provider wraps a provider, as a recorder does.
func (k *Keeper) Provider(p providers.Provider, local bool) providers.Provider {
	return keptProvider{p, local}
}

type keptProvider struct {
	providers.Provider
	local bool
}

// Unwrap returns the provider itself.
func (p keptProvider) Unwrap() providers.Provider { return p.Provider }

func (p keptProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	if rec := of(ctx); rec != nil {
		return rec.Provider(p.Provider, p.local).Stream(ctx, req)
	}
	return p.Provider.Stream(ctx, req)
}

// Dial wraps the dialer of MCP servers.
func (k *Keeper) Dial(inner mcpclients.Dialer) mcpclients.Dialer {
	return func(ctx context.Context, server mcpclients.ServerConfig, notify mcpclients.Notify) (mcpclients.Conn, error) {
		conn, err := inner(ctx, server, notify)
		if err != nil || slices.Contains(k.cfg.Skip, server.Name) {
			return conn, err
		}
		return &keptConn{Conn: conn, k: k, server: server.Name}, nil
	}
}

type keptConn struct {
	mcpclients.Conn
	k      *Keeper
	server string
}

// Inner is the connection below.
func (c *keptConn) Inner() mcpclients.Conn { return c.Conn }

func (c *keptConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if rec := of(ctx); rec != nil {
		return (&recordedConn{Conn: c.Conn, r: rec, server: c.server}).Request(ctx, method, params)
	}
	result, err := c.Conn.Request(ctx, method, params)
	if err == nil && (method == tape.MethodInitialize || strings.HasSuffix(method, "/list")) {
		c.k.listed(c.server, method, params, result)
	}
	return result, err
}

// A listing is the newest answer of a server to a question that is asked outside of turns.
type listing struct {
	asked           string
	request, answer tape.Record
}

// listed remembers a handshake, with which a server begins anew, or a list.
func (k *Keeper) listed(server, method string, params, result json.RawMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := method + string(params)
	known := slices.DeleteFunc(k.lists[server], func(l listing) bool { return l.asked == asked || method == tape.MethodInitialize })
	k.listings++
	id := -k.listings // no number of a request in a turn
	k.lists[server] = append(known, listing{
		asked:   asked,
		request: tape.Record{Type: tape.TypeMCP, Server: server, Dir: tape.ToServer, Frame: tape.Frame{ID: id, Method: method, Params: params}.Encode()},
		answer:  tape.Record{Type: tape.TypeMCP, Server: server, Dir: tape.FromServer, Frame: tape.Frame{ID: id, Result: result}.Encode()},
	})
}

// lines collects what is written until it is taken; what comes later is dropped.
type lines struct {
	mu    sync.Mutex
	b     bytes.Buffer
	taken bool
}

// Write implements [io.Writer].
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.taken {
		l.b.Write(line)
	}
	return len(line), nil
}

// take returns all lines but the header.
func (l *lines) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = true
	_, rest, _ := bytes.Cut(l.b.Bytes(), []byte("\n"))
	return rest
}

// Turn runs a turn and keeps it.
func (k *Keeper) Turn(ctx context.Context, t agent.Turn, run func(context.Context, agent.Turn) iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		var written lines
		rec, err := NewRecorder(RecorderConfig{To: &written, Redactor: k.cfg.Redactor})
		if err != nil {
			yield(agent.Event{}, err)
			return
		}
		var start agent.Start
		var done agent.Done
		defer func() {
			if start.TurnID != "" && k.cfg.Wants(start.Assistant) {
				k.keep(t.Owner, start, done, written.take())
			}
		}()
		for event, err := range rec.Turn(context.WithValue(ctx, recorderKey{}, rec), t, run) {
			if event.Start != nil {
				start = *event.Start
			}
			if event.Done != nil {
				done = *event.Done
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// keep writes the tape of a turn: the header comes last, when it is known who answered.
func (k *Keeper) keep(owner string, start agent.Start, done agent.Done, turn []byte) {
	var b bytes.Buffer
	route := k.cfg.Route(done.Provider)
	w := tape.NewWriter(&b, k.cfg.Redactor, tape.Header{
		TapeID: uuid.NewString(), Host: k.cfg.Host, Recorded: start.Created.UTC().Format(time.RFC3339),
		Provider: done.Provider, Model: done.Model, Small: route.Small, BaseURL: route.BaseURL,
	})
	k.mu.Lock()
	for _, server := range slices.Sorted(maps.Keys(k.lists)) {
		for _, l := range k.lists[server] {
			w.Write(&l.request)
			w.Write(&l.answer)
		}
	}
	k.mu.Unlock()
	b.Write(turn)
	k.cfg.To(Kept{TurnID: start.TurnID, ConversationID: start.ConversationID, Owner: owner, Started: start.Created, Tape: b.Bytes()})
}
