package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"molar/providers"
	"molar/schemas"
)

// keepTime bounds the storing of a refusal: a turn waits for it.
const keepTime = 2 * time.Second

// A Keeper stores refusals across processes.
type Keeper interface {
	Refusals(ctx context.Context) ([]schemas.Refusal, error)
	KeepRefusal(ctx context.Context, r schemas.Refusal) error
	// DropRefusals drops the refusals of a tool, or all of them if tool is "".
	DropRefusals(ctx context.Context, tool string) error
}

// Refusals are the tools that model services refused recently. They are safe for concurrent use.
type Refusals struct {
	keeper Keeper // nil to keep them in this process only
	log    *slog.Logger

	store sync.Mutex // held during calls of keeper, so that its answer is not stale
	mu    sync.Mutex
	known map[[2]string]schemas.Refusal // by provider and tool
}

// NewRefusals returns an empty set; [Refusals.Refresh] loads the keeper's. keeper may be nil.
func NewRefusals(keeper Keeper, log *slog.Logger) *Refusals {
	return &Refusals{keeper: keeper, log: log, known: map[[2]string]schemas.Refusal{}}
}

// Refresh loads the stored refusals, including refusals that other processes stored.
func (r *Refusals) Refresh(ctx context.Context) error {
	if r.keeper == nil {
		return nil
	}
	r.store.Lock()
	defer r.store.Unlock()
	stored, err := r.keeper.Refusals(ctx)
	if err != nil {
		return err
	}
	known := make(map[[2]string]schemas.Refusal, len(stored))
	for _, k := range stored {
		known[[2]string{k.Provider, k.Tool}] = k
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = known
	return nil
}

// Refused returns the provider's refusal of the tool in its current definition.
func (r *Refusals) Refused(provider string, tool schemas.ToolInfo) (schemas.Refusal, bool) {
	r.mu.Lock()
	k, ok := r.known[[2]string{provider, tool.Name}]
	r.mu.Unlock()
	return k, ok && time.Now().Before(k.Until()) && k.Digest == digest(tool)
}

// Refuse stores a refusal. If storing fails, it holds in this process until the next Refresh.
func (r *Refusals) Refuse(ctx context.Context, provider string, tool schemas.ToolInfo, reason string) {
	k := schemas.Refusal{Provider: provider, Tool: tool.Name, Digest: digest(tool), Reason: reason, At: time.Now()}
	r.store.Lock()
	defer r.store.Unlock()
	r.mu.Lock()
	r.known[[2]string{provider, tool.Name}] = k
	r.mu.Unlock()
	if r.keeper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	if err := r.keeper.KeepRefusal(ctx, k); err != nil {
		r.log.Warn("the refusal of a tool's schema could not be stored", "tool", tool.Name, "error", err)
	}
}

// Forget drops the refusals of a tool, or all of them if tool is "", so that it is offered again
// at once, and returns those in force.
func (r *Refusals) Forget(ctx context.Context, tool string) ([]schemas.Refusal, error) {
	r.store.Lock()
	defer r.store.Unlock()
	if r.keeper != nil {
		if err := r.keeper.DropRefusals(ctx, tool); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var stood []schemas.Refusal
	for key, k := range r.known {
		if tool != "" && k.Tool != tool {
			continue
		}
		if time.Now().Before(k.Until()) {
			stood = append(stood, k)
		}
		delete(r.known, key)
	}
	slices.SortFunc(stood, func(a, b schemas.Refusal) int {
		return strings.Compare(a.Tool+" "+a.Provider, b.Tool+" "+b.Provider)
	})
	return stood, nil
}

// digest hashes the parts of a tool that models see, so that it changes with them.
func digest(tool schemas.ToolInfo) string {
	data, _ := json.Marshal([]string{tool.ToolName, tool.Title, tool.Description, string(tool.InputSchema)}) // strings always marshal
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// A doubt is the error of a request that was refused over tool declarations. The request is
// retried without them; only its success proves that they were the cause.
type doubt struct {
	error
	over []suspect
}

// A suspect is a tool and the service's message about its declaration.
type suspect struct {
	tool   schemas.ToolInfo
	reason string
}

// Unwrap returns the refusal.
func (d doubt) Unwrap() error { return d.error }

// suspects returns the suspected tools after a try.
func suspects(err error) []suspect {
	d, _ := errors.AsType[doubt](err)
	return d.over
}

// doubt reads the message of a refused request that offered the set. If it is about one tool's
// declaration, the error asks for a retry without that tool.
func (s ToolSet) doubt(e *providers.Error, message string) {
	t := s.declared(message)
	if t == nil || e.Kind != providers.KindInvalid {
		return
	}
	reason := e.Err.Error()
	e.Err = doubt{e.Err, []suspect{{t.Info, reason}}}
	e.Again, e.Changed = "the service refuses the tool "+t.Info.Name+", asked again without it: "+reason, true
}

// Settle ends a try of a request, with its error or nil; after is the error of the try before.
// Suspects become refused if the request succeeded without them, and stay suspects if it failed
// again.
func (c *Tools) Settle(ctx context.Context, after, err error) error {
	over := suspects(after)
	if len(over) == 0 {
		return err
	}
	if err == nil {
		for _, s := range over {
			c.refusals.Refuse(ctx, c.provider, s.tool, s.reason)
			c.log.Warn("tool is no longer offered to "+c.provider+" for a day; molar tools lint --forget offers it again", "tool", s.tool.Name, "reason", s.reason)
		}
		return nil
	}
	if e, ok := errors.AsType[*providers.Error](err); ok {
		e.Err = doubt{e.Err, slices.Concat(over, suspects(err))}
	}
	return err
}

// declared returns the tool whose declaration a message is about, by index or name, or nil.
func (s ToolSet) declared(message string) *Tool {
	if !aboutDeclaration(message) {
		return nil
	}
	for _, list := range []string{"function_?[dD]eclarations", `\btools`} {
		place := regexp.MustCompile(list + `[\[.](\d+)`).FindStringSubmatch(message)
		if place == nil {
			continue
		}
		if i, err := strconv.Atoi(place[1]); err == nil && i < len(s) {
			return s[i]
		}
	}
	var first *Tool
	at := len(message)
	for _, t := range s {
		if i := wordIn(message, t.Info.Name); i >= 0 && i < at {
			first, at = t, i
		}
	}
	return first
}

// aboutDeclaration reports whether a message is about how a tool is declared: its index in the
// list of tools, or its schema. A message about a call concerns a model's output, now or earlier
// in the conversation, and not the tool.
func aboutDeclaration(message string) bool {
	return regexp.MustCompile(`(?i)\btools[\[.]\d|function_?declaration|\bparameters\b|schema for function`).MatchString(message) &&
		!regexp.MustCompile(`(?i)\b(tool|function)[ _]calls?\b`).MatchString(message)
}

// wordIn returns the index of a name in a message that is not part of a longer one, or -1.
func wordIn(message, name string) int {
	match := regexp.MustCompile(`(?:^|[^\w-])(` + regexp.QuoteMeta(name) + `)(?:[^\w-]|$)`).FindStringSubmatchIndex(message)
	if match == nil {
		return -1
	}
	return match[2]
}
