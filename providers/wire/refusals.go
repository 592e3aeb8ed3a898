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

// keepTime bounds the writing of a refusal: a turn waits for it.
const keepTime = 2 * time.Second

// A Keeper keeps refusals from one process to the next.
type Keeper interface {
	Refusals(ctx context.Context) ([]schemas.Refusal, error)
	KeepRefusal(ctx context.Context, r schemas.Refusal) error
	// DropRefusals drops those of a tool, of every tool where it is "".
	DropRefusals(ctx context.Context, tool string) error
}

// Refusals are the tools that services of models have refused of late. They may be used by
// many goroutines.
type Refusals struct {
	keeper Keeper // nil where they live as long as the process
	log    *slog.Logger

	store sync.Mutex // is held while the keeper is asked, so that what it says is not old
	mu    sync.Mutex
	known map[[2]string]schemas.Refusal // by provider and tool
}

// NewRefusals returns none; what a keeper has is read by [Refusals.Refresh]. It may be nil.
func NewRefusals(keeper Keeper, log *slog.Logger) *Refusals {
	return &Refusals{keeper: keeper, log: log, known: map[[2]string]schemas.Refusal{}}
}

// Refresh takes over what the keeper has, other processes' refusals among it.
func (r *Refusals) Refresh(ctx context.Context) error {
	if r.keeper == nil {
		return nil
	}
	r.store.Lock()
	defer r.store.Unlock()
	kept, err := r.keeper.Refusals(ctx)
	if err != nil {
		return err
	}
	known := make(map[[2]string]schemas.Refusal, len(kept))
	for _, k := range kept {
		known[[2]string{k.Provider, k.Tool}] = k
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = known
	return nil
}

// Refused returns the refusal of the tool as it is now by the provider's service.
func (r *Refusals) Refused(provider string, tool schemas.ToolInfo) (schemas.Refusal, bool) {
	r.mu.Lock()
	k, ok := r.known[[2]string{provider, tool.Name}]
	r.mu.Unlock()
	return k, ok && time.Now().Before(k.Until()) && k.Digest == digest(tool)
}

// Refuse keeps a refusal. One that cannot be written holds in this process until the next
// Refresh.
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
		r.log.Warn("it is not kept that a tool was refused", "tool", tool.Name, "error", err)
	}
}

// Forget drops the refusals of a tool, of every tool where it is "", so that it is offered
// again at once, and returns those that stood.
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

// digest is the hash of what models see of a tool: it differs when that has changed.
func digest(tool schemas.ToolInfo) string {
	data, _ := json.Marshal([]string{tool.ToolName, tool.Title, tool.Description, string(tool.InputSchema)}) // strings alone
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// A doubt is the error of a request that was refused over declarations of tools. It is made
// again without them, and only when that one is answered are they known to be the cause.
type doubt struct {
	error
	over []suspect
}

// A suspect is a tool, and what the service said of its declaration.
type suspect struct {
	tool   schemas.ToolInfo
	reason string
}

// Unwrap returns the refusal itself.
func (d doubt) Unwrap() error { return d.error }

// suspects are the tools that are in doubt after a try of a request.
func suspects(err error) []suspect {
	d, _ := errors.AsType[doubt](err)
	return d.over
}

// Doubt reads a refusal of a request with the tools of the set, reason being its message as
// it may be shown. Where the message is about the declaration of one of them, the request is
// worth another try without that one.
func (c *Tools) Doubt(set ToolSet, e *providers.Error, message, reason string) bool {
	t := set.declared(message)
	if t == nil || e.Kind != providers.KindInvalid {
		return false
	}
	e.Err = doubt{e.Err, []suspect{{t.Info, reason}}}
	e.Again, e.Changed = "the service refuses the tool "+t.Info.Name+", asked again without it: "+reason, true
	return true
}

// Settle ends a try of a request, with its error or nil; after is the error of the try
// before. Tools in doubt are refused when the request was answered without them, and stay
// in doubt when it failed again.
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

// declared returns the tool whose declaration a message is about, by its place or its name,
// or nil.
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

// aboutDeclaration reports whether a message speaks of how a tool is declared: of its place
// in the list of tools, or of its schema. One that speaks of a call is about what a model
// wrote, now or earlier in the conversation, and says nothing of the tool.
func aboutDeclaration(message string) bool {
	return regexp.MustCompile(`(?i)\btools[\[.]\d|function_?declaration|\bparameters\b|schema for function`).MatchString(message) &&
		!regexp.MustCompile(`(?i)\b(tool|function)[ _]calls?\b`).MatchString(message)
}

// wordIn returns where a message holds a name that is no part of a longer one, or -1.
func wordIn(message, name string) int {
	found := regexp.MustCompile(`(?:^|[^\w-])(` + regexp.QuoteMeta(name) + `)(?:[^\w-]|$)`).FindStringSubmatchIndex(message)
	if found == nil {
		return -1
	}
	return found[2]
}
