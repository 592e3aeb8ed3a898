// Package offline is a provider with no model behind it. It picks tools by the words
// that a question shares with them, fills arguments from the schema and the question,
// answers by quoting tool results, and says so. It exists so that a whole turn runs,
// and is tested, on any machine.
//
// It owns the lexical scorer and the argument filler. It must not reach any network,
// know any tool set, judge (guardrail, language), or call a tool whose score is below
// [Threshold].
package offline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"molar/providers"
	"molar/schemas"
)

// Name is the provider's name in the config.
const Name = "offline"

// Config configures a [Provider]. The zero value is ready to use.
type Config struct {
	// Logger gets the decisions at debug level; nil discards them.
	Logger *slog.Logger
	// Now is the clock for "today" and "tomorrow"; nil means time.Now.
	Now func() time.Time
}

// A Provider picks tools and quotes results without a model. It holds no state
// between calls and is safe for concurrent use.
type Provider struct {
	logger *slog.Logger
	now    func() time.Time
}

var _ providers.Provider = (*Provider)(nil)

// New returns a provider. There is no bad Config; the error is there for the shape
// that all providers share.
func New(cfg Config) (*Provider, error) {
	p := &Provider{logger: cfg.Logger, now: cfg.Now}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	return p, nil
}

// Name returns "offline".
func (p *Provider) Name() string { return Name }

// errCannotJudge says what this provider is not for.
var errCannotJudge = errors.New("cannot judge without a model: set GEMINI_API_KEY or OPENAI_API_KEY, or run Ollama")

// Stream decides by words alone. It fails with KindInvalid for the passes that judge
// and for a request with a Schema, and with KindTimeout or KindUnavailable when ctx
// ends. It starts no goroutine.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if err := p.stream(ctx, req, yield); err != nil {
			yield(providers.Chunk{}, err)
		}
	}
}

func (p *Provider) stream(ctx context.Context, req providers.Request, yield func(providers.Chunk, error) bool) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if req.Pass == providers.PassGuardrail || req.Pass == providers.PassLanguage || len(req.Schema) > 0 {
		return &providers.Error{Kind: providers.KindInvalid, Provider: Name, Err: fmt.Errorf("pass %q: %w", req.Pass, errCannotJudge)}
	}
	if req.Pass == providers.PassSummary {
		return say(ctx, req, decision{text: summarize(readTurn(req), req.Messages)}, yield)
	}
	d := p.decide(req)
	p.logger.DebugContext(ctx, "offline decision", "calls", len(d.calls), "note", d.note)
	if len(d.calls) == 0 {
		return say(ctx, req, d, yield)
	}
	return call(ctx, req, d, yield)
}

// call yields the calls of a decision.
func call(ctx context.Context, req providers.Request, d decision, yield func(providers.Chunk, error) bool) error {
	usage := count(req)
	for i, c := range d.calls {
		if err := ended(ctx); err != nil {
			return err
		}
		chunk := providers.Chunk{Call: &c}
		if i == 0 {
			chunk.Note = d.note
		}
		usage.CompletionTokens += len(strings.Fields(c.Function.Arguments))
		if !yield(chunk, nil) {
			return nil
		}
	}
	usage.TotalTokens = usage.PromptTokens + usage.CompletionTokens
	yield(providers.Chunk{Usage: &usage, Finish: providers.FinishToolCalls}, nil)
	return nil
}

// say yields text word by word.
func say(ctx context.Context, req providers.Request, d decision, yield func(providers.Chunk, error) bool) error {
	usage := count(req)
	finish := providers.FinishStop
	chunk := providers.Chunk{Note: d.note}
	for word := range pieces(d.text) {
		if err := ended(ctx); err != nil {
			return err
		}
		if req.MaxTokens > 0 && usage.CompletionTokens == req.MaxTokens {
			finish = providers.FinishLength
			break
		}
		chunk.Text = word
		usage.CompletionTokens++
		if !yield(chunk, nil) {
			return nil
		}
		chunk = providers.Chunk{}
	}
	usage.TotalTokens = usage.PromptTokens + usage.CompletionTokens
	chunk.Usage, chunk.Finish = &usage, finish
	yield(chunk, nil)
	return nil
}

// pieces cuts text after each run of white space, so that each piece has one word.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, space := 0, false
		for i, r := range text {
			if !unicode.IsSpace(r) && space && i > start {
				if !yield(text[start:i]) {
					return
				}
				start = i
			}
			space = unicode.IsSpace(r)
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// count gives the words of the prompt as its tokens.
func count(req providers.Request) schemas.Usage {
	n := len(strings.Fields(req.System))
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			n += len(strings.Fields(part.Text))
		}
	}
	return schemas.Usage{PromptTokens: n}
}

// ended turns the end of ctx into an error of this package's kind.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	kind := providers.KindUnavailable
	if errors.Is(err, context.DeadlineExceeded) {
		kind = providers.KindTimeout
	}
	return &providers.Error{Kind: kind, Provider: Name, Err: context.Cause(ctx)}
}
