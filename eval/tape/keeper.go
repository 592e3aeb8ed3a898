package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/agent/answer"
)

// A TurnTape is the tape of one turn.
type TurnTape struct {
	TurnID, ConversationID, Owner string
	Started                       time.Time
	Tape                          []byte
}

// KeeperConfig configures a [Keeper]. To, ShouldKeep and Route are required.
type KeeperConfig struct {
	// To receives the tapes; it must not block.
	To func(TurnTape)
	// ShouldKeep reports whether the turns of an assistant are kept.
	ShouldKeep func(assistant string) bool
	// Route returns the models and the address of a provider.
	Route func(provider string) Route
	// Host is the version of the program.
	Host string
	// Redactor replaces secrets; nil means one with only the general rules.
	Redactor *Redactor
	// Skip names servers whose frames are not kept.
	Skip []string
}

// A Keeper records each turn of a running host on a separate tape. Outside of turns it keeps
// only the newest tool lists, with which each tape begins.
type Keeper struct {
	tap
	cfg KeeperConfig

	mu       sync.Mutex
	lists    map[string][]listing // by server
	listings int
}

// NewKeeper validates the config and returns a keeper.
func NewKeeper(cfg KeeperConfig) (*Keeper, error) {
	if cfg.To == nil || cfg.ShouldKeep == nil || cfg.Route == nil {
		return nil, errors.New("keeper: To, ShouldKeep and Route are required")
	}
	if cfg.Redactor == nil {
		cfg.Redactor = NewRedactor()
	}
	k := &Keeper{cfg: cfg, lists: make(map[string][]listing)}
	k.tap = tap{recorder: recorderOf, skip: cfg.Skip, onListed: k.listed}
	return k, nil
}

type recorderKey struct{}

// recorderOf returns the recorder of the turn that ctx belongs to; nil outside of turns.
func recorderOf(ctx context.Context) *Recorder {
	rec, _ := ctx.Value(recorderKey{}).(*Recorder)
	return rec
}

// A listing is the newest answer of a server to a request outside of turns.
type listing struct {
	asked           string
	request, answer *Record
}

// listed stores a list, or how a server began, which replaces all earlier listings if it is a handshake, or
// the first time without one. A server without a handshake answers each ping as it began.
func (k *Keeper) listed(server, method string, params, result json.RawMessage) {
	if method != MethodInitialize && method != MethodDiscover && !strings.HasSuffix(method, "/list") {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := method + canonicalParams(params)
	shaken := func(l listing) bool { return strings.HasPrefix(l.asked, MethodInitialize) }
	begins := method == MethodInitialize || method == MethodDiscover && slices.ContainsFunc(k.lists[server], shaken)
	known := slices.DeleteFunc(k.lists[server], func(l listing) bool { return l.asked == asked || begins })
	k.listings++
	id := -k.listings // distinct from the ids of requests in turns
	k.lists[server] = append(known, listing{
		asked:   asked,
		request: frame(server, toServer, rpcFrame{ID: id, Method: method, Params: params}),
		answer:  frame(server, fromServer, rpcFrame{ID: id, Result: result}),
	})
}

// Turn runs a turn and keeps it.
func (k *Keeper) Turn(ctx context.Context, t agent.Turn, run Run) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		var written bytes.Buffer
		rec, err := NewRecorder(RecorderConfig{To: &written, Redactor: k.cfg.Redactor})
		if err != nil {
			yield(answer.Event{}, err)
			return
		}
		var start answer.Start
		var done answer.Done
		defer func() {
			rec.w.Stop() // later records belong to no turn
			if start.TurnID != "" && k.cfg.ShouldKeep(start.Assistant) {
				_, turn, _ := bytes.Cut(written.Bytes(), []byte("\n")) // without the header
				k.keep(t.Owner, start, done, turn)
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

// keep writes the tape of a turn. The header is written last, since only then it is known who
// answered.
func (k *Keeper) keep(owner string, start answer.Start, done answer.Done, turn []byte) {
	var b bytes.Buffer
	route := k.cfg.Route(done.Provider)
	route.Provider, route.Model = done.Provider, done.Model
	w := newWriter(&b, k.cfg.Redactor, Header{
		TapeID: uuid.NewString(), Host: k.cfg.Host, Recorded: start.Created.UTC().Format(time.RFC3339), Route: route,
	})
	k.mu.Lock()
	for _, server := range slices.Sorted(maps.Keys(k.lists)) {
		for _, l := range k.lists[server] {
			w.Write(l.request)
			w.Write(l.answer)
		}
	}
	k.mu.Unlock()
	b.Write(turn)
	k.cfg.To(TurnTape{TurnID: start.TurnID, ConversationID: start.ConversationID, Owner: owner, Started: start.Created, Tape: b.Bytes()})
}
