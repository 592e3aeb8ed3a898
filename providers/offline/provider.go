// Package offline is a provider with no model behind it. It picks tools by the words
// that a question shares with them, fills arguments from the schema and the question,
// answers by quoting tool results, and says so. It exists so that a whole turn runs,
// and is tested, on any machine.
//
// It owns the lexical scorer and the argument filler. It must not reach any network,
// know any tool set, judge (guardrail, language), read prose into arguments, or call a
// tool whose score is below [Threshold].
package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"molar/providers"
	"molar/schemas"
)

// Name is the provider's name in the config.
const Name = providers.Offline

// Config configures a [Provider]. The zero value is ready to use.
type Config struct {
	// Logger gets the decisions at debug level; nil discards them.
	Logger *slog.Logger
}

// A Provider picks tools and quotes results without a model. It holds no state
// between calls and is safe for concurrent use.
type Provider struct {
	logger *slog.Logger
}

var _ providers.Provider = (*Provider)(nil)

// New returns a provider. There is no bad Config; the error is there for the shape
// that all providers share.
func New(cfg Config) (*Provider, error) {
	return &Provider{cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}, nil
}

// Name returns "offline".
func (p *Provider) Name() string { return Name }

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
		err := fmt.Errorf("pass %q: cannot judge without a model: %s", req.Pass, providers.HowToGetOne("set", "or", "run"))
		return &providers.Error{Kind: providers.KindInvalid, Provider: Name, Err: err}
	}
	d := decide(req)
	p.logger.DebugContext(ctx, "offline decision", "calls", d.call != nil, "note", d.note)
	chunks, finish := d.chunks(req.MaxTokens)
	usage := count(req)
	for _, c := range chunks {
		if err := ended(ctx); err != nil {
			return err
		}
		if !yield(c, nil) {
			return nil
		}
		usage.CompletionTokens++
	}
	usage.TotalTokens = usage.PromptTokens + usage.CompletionTokens
	yield(providers.Chunk{Usage: &usage, Finish: finish}, nil)
	return nil
}

// chunks gives a call, or a word at a time and at most limit words where that is not 0.
func (d decision) chunks(limit int) ([]providers.Chunk, providers.FinishReason) {
	if d.call != nil {
		return []providers.Chunk{{Call: d.call, Note: d.note}}, providers.FinishToolCalls
	}
	var out []providers.Chunk
	for _, word := range spokenForm().FindAllString(d.text, -1) {
		if limit > 0 && len(out) == limit {
			return out, providers.FinishLength
		}
		out = append(out, providers.Chunk{Text: word})
		out[0].Note = d.note
	}
	return out, providers.FinishStop
}

// spokenForm finds a word with the white space behind it.
var spokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\S+\s*`) })

// count gives the words of the prompt as its tokens.
func count(req providers.Request) schemas.Usage {
	n := len(strings.Fields(req.System))
	for _, m := range req.Messages {
		n += len(strings.Fields(m.FullText()))
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
