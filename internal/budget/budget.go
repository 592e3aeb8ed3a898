// Package budget charges model calls to the budgets that apply to them, and adds up what they use.
//
// A call takes an estimate from every budget before it begins, and settles with what it really used
// when it has ended. Without a budget a call costs nothing but a line in the memory of this process,
// which is written to the store now and then.
package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/agent"
	"molar/internal/config"
	"molar/providers"
	"molar/schemas"
)

// A Store keeps budgets and usage.
type Store interface {
	TakeBudget(ctx context.Context, budgets []schemas.NamedBudget, estimate schemas.BudgetSum, warn bool) (schemas.BudgetHold, *schemas.BudgetRefusal, error)
	// SettleBudget counts a call once, however often it is called.
	SettleBudget(ctx context.Context, hold schemas.BudgetHold, used schemas.BudgetSum) error
	// RenewBudgets keeps the reservations with these ids from expiring.
	RenewBudgets(ctx context.Context, holds []string) error
	AddUsage(ctx context.Context, lines []schemas.UsageLine) error
}

const (
	// storeWait is how long a call waits for the store: without its answer nobody pays.
	storeWait = 2 * time.Second
	// flushEvery is how often usage is written.
	flushEvery = 5 * time.Second
	// renewEvery is how often the reservations of running calls are renewed. It is well below the time
	// after which they expire.
	renewEvery = 2 * time.Minute
)

// Config configures a [Book].
type Config struct {
	Budgets config.Budgets
	Store   Store
	// Ratio, if set, is told the used share of a budget of the whole host or of a group.
	Ratio  func(budget string, share float64)
	Logger *slog.Logger
	// Now tells the day of usage; nil means time.Now.
	Now func() time.Time
}

// A Book charges calls. It is safe for concurrent use.
type Book struct {
	cfg Config

	mu      sync.Mutex
	pending map[string]schemas.UsageLine
	// held are the ids of the reservations of running calls.
	held map[string]struct{}
	// late is what could not be settled yet.
	late []settlement
	// groups are those that owners had at their last call.
	groups map[string][]string
}

// maxOwners is how many owners' groups are remembered.
const maxOwners = 10_000

// Groups returns the groups that an owner had at their last call in this process; ok is false if there
// was none.
func (b *Book) Groups(owner string) (groups []string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	groups, ok = b.groups[owner]
	return groups, ok
}

// remember notes the groups of a payer, for calls in the background. Visitors have none.
func (b *Book) remember(p providers.Payer) {
	if schemas.IsVisitor(p.Owner) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.groups) >= maxOwners {
		clear(b.groups)
	}
	b.groups[p.Owner] = p.Groups
}

// New returns an empty book.
func New(cfg Config) (*Book, error) {
	if cfg.Store == nil {
		return nil, errors.New("budget: a store is required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Book{cfg: cfg, pending: map[string]schemas.UsageLine{}, held: map[string]struct{}{}, groups: map[string][]string{}}, nil
}

// The names of the budgets. Those of people, keys and visitors do not say whose they are: they must
// outlive the erasure of a person, who would begin anew otherwise.
const (
	all     = "all"
	person  = "person"
	key     = "key"
	visitor = "visitor"
	public  = "public"
	group   = "group:"
)

// operator owns what people do who signed in with a link of the command line.
const operator = "operator"

// budgets returns the budgets that apply to a payer.
func (b *Book) budgets(p providers.Payer) []schemas.NamedBudget {
	set := b.cfg.Budgets
	var named []schemas.NamedBudget
	add := func(name string, budget schemas.Budget) {
		if budget.IsSet() {
			named = append(named, schemas.NamedBudget{Name: name, Budget: budget})
		}
	}
	add(all, set.All)
	sum := sha256.Sum256([]byte(p.Owner))
	whose := ":" + hex.EncodeToString(sum[:16])
	switch {
	case p.Owner == "" || p.Owner == operator:
	case schemas.IsVisitor(p.Owner):
		add(visitor+whose, set.Visitor)
		add(public, set.Public)
	case schemas.IsPersonOwner(p.Owner):
		add(person+whose, set.Person)
	default:
		add(key+whose, set.Key)
	}
	for _, name := range p.Groups {
		budget, own := set.Groups.Get(name)
		if !own {
			budget = set.Group
		}
		add(group+name, budget)
	}
	return named
}

// title names a budget for people and metrics.
func title(name string) string {
	switch kind, _, _ := strings.Cut(name, ":"); kind {
	case person, key, visitor:
		return kind
	}
	return name
}

// take reserves the estimate of a call. hold is nil if no budget applies.
func (b *Book) take(ctx context.Context, req *providers.Request, price pricing) (hold *schemas.BudgetHold, warning string, err error) {
	budgets := b.budgets(req.Payer)
	if len(budgets) == 0 {
		return nil, "", nil
	}
	if price.unknown && slices.ContainsFunc(budgets, func(nb schemas.NamedBudget) bool { return nb.Money > 0 }) {
		return nil, "", &providers.Error{
			Kind: providers.KindInvalid, Model: req.Model, Final: true,
			Err: errors.New("it has no price, and a budget counts money: choose another model, or have its price set"),
		}
	}
	short, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	taken, refusal, err := b.cfg.Store.TakeBudget(short, budgets, sumOf(estimate(req), price.Price), !req.Pass.IsSmall())
	if err != nil && len(taken.Periods) > 0 { // it may be reserved, if only the answer was lost
		b.mu.Lock()
		b.late = append(b.late, settlement{hold: &taken})
		b.mu.Unlock()
	}
	switch {
	case err != nil && ctx.Err() != nil: // nobody waits any more
		return nil, "", context.Cause(ctx)
	case err != nil:
		b.cfg.Logger.Warn("the budgets cannot be read, so no model is asked", "error", err)
		return nil, "", fmt.Errorf("%w: the budgets cannot be read, so no model is asked; ask again in a moment", agent.ErrStore)
	}
	for _, nb := range budgets {
		if title(nb.Name) == nb.Name && b.cfg.Ratio != nil {
			b.cfg.Ratio(nb.Name, taken.Used[nb.Name])
		}
	}
	in := wordsOf(req.Payer.Language)
	if refusal != nil {
		return nil, "", refused(in, refusal)
	}
	for _, name := range taken.Warn {
		b.cfg.Logger.Warn("four fifths of a budget are used", "budget", title(name), "person", req.Payer.Owner)
		at := slices.IndexFunc(budgets, func(nb schemas.NamedBudget) bool { return nb.Name == name })
		if kind := title(name); kind == person || kind == key { // others' budgets are not the person's concern, nor budgets a visitor's
			_, ends := budgets[at].Period(taken.Periods[name])
			warning = in.anew(in.warned, budgets[at], ends)
		}
	}
	taken.Warn = nil // it is said
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[taken.ID] = struct{}{}
	return &taken, warning, nil
}

// heldWait is when to ask again if running calls have reserved the rest of a budget.
const heldWait = 5 * time.Second

func refused(in words, r *schemas.BudgetRefusal) error {
	e := &providers.Error{Kind: providers.KindBudget, Final: true}
	if r.Held {
		e.RetryAfter = heldWait
		e.Err = fmt.Errorf(in.held, in.budget(title(r.Budget.Name), r.Budget.Per))
		return e
	}
	e.RetryAfter = r.Ends.Sub(r.Now)
	e.Err = errors.New(in.anew(in.used, r.Budget, r.Ends))
	return e
}

// settle replaces the estimate of a call by what it used. What the store does not take now it gets later.
func (b *Book) settle(ctx context.Context, hold *schemas.BudgetHold, used schemas.BudgetSum) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	err := b.cfg.Store.SettleBudget(ctx, *hold, used)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		delete(b.held, hold.ID)
		return
	}
	b.late = append(b.late, settlement{hold, used})
	b.cfg.Logger.Warn("a call is not counted in its budgets yet; it is tried again", "tokens", used.Tokens, "cost", used.Cost.String(), "error", err)
}

// A settlement is what a call used, for the store.
type settlement struct {
	hold *schemas.BudgetHold
	used schemas.BudgetSum
}

// settleLate settles what the store did not take before.
func (b *Book) settleLate(ctx context.Context) {
	b.mu.Lock()
	late := b.late
	b.late = nil
	b.mu.Unlock()
	for _, s := range late {
		b.settle(ctx, s.hold, s.used)
	}
}

// count adds a call to the usage of the day. Visitors have one line together, so that the usage of many
// months tells of none of them.
func (b *Book) count(p providers.Payer, provider, model string, used schemas.Usage) {
	owner := p.Owner
	if schemas.IsVisitor(owner) {
		owner = schemas.Visitors
	}
	line := schemas.UsageLine{
		Day: b.cfg.Now().UTC().Format(time.DateOnly), Owner: owner, Groups: slices.Sorted(slices.Values(p.Groups)), Assistant: p.Assistant, Provider: provider, Model: model, Since: p.Since,
		UsageSum: schemas.UsageSum{Calls: 1, Prompt: int64(used.PromptTokens), Cached: int64(used.CachedTokens), Completion: int64(used.CompletionTokens), Cost: used.Cost},
	}
	b.add(line)
}

func (b *Book) add(lines ...schemas.UsageLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range lines {
		k := strings.Join(append([]string{line.Day, line.Owner, line.Assistant, line.Provider, line.Model}, line.Groups...), "\x00")
		if earlier, ok := b.pending[k]; ok && earlier.Since.Before(line.Since) {
			line.Since = earlier.Since
		}
		line.UsageSum = line.Add(b.pending[k].UsageSum)
		b.pending[k] = line
	}
}

// Flush writes the usage so far. What cannot be written is kept for the next time.
func (b *Book) Flush(ctx context.Context) error {
	b.mu.Lock()
	pending := b.pending
	b.pending = map[string]schemas.UsageLine{}
	b.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	lines := make([]schemas.UsageLine, 0, len(pending))
	for _, k := range slices.Sorted(maps.Keys(pending)) {
		lines = append(lines, pending[k])
	}
	err := b.cfg.Store.AddUsage(ctx, lines)
	if err != nil {
		b.add(lines...)
	}
	return err
}

// Run writes the usage now and then until ctx ends, and then once more. It renews the reservations of
// calls that run for long.
func (b *Book) Run(ctx context.Context) {
	tick, again := time.NewTicker(flushEvery), time.NewTicker(renewEvery)
	defer tick.Stop()
	defer again.Stop()
	for {
		select {
		case <-again.C:
			b.renew(ctx)
		case <-tick.C:
			b.flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
			defer cancel()
			b.flush(last)
			return
		}
	}
}

func (b *Book) flush(ctx context.Context) {
	b.settleLate(ctx)
	if err := b.Flush(ctx); err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("the usage cannot be written; it is tried again", "error", err)
	}
}

// renew keeps the reservations of running calls.
func (b *Book) renew(ctx context.Context) {
	b.mu.Lock()
	holds := slices.Sorted(maps.Keys(b.held))
	b.mu.Unlock()
	if len(holds) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := b.cfg.Store.RenewBudgets(ctx, holds); err != nil && ctx.Err() == nil {
		b.cfg.Logger.Warn("the reservations of running calls cannot be renewed; it is tried again", "error", err)
	}
}
