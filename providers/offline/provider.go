// Package offline is a provider without a model. It picks tools by the words that they share with
// the question, fills arguments from the schema and the question, and answers with quotations of tool
// results that it marks as such. With it a whole turn can run, and be tested, on any machine.
//
// It owns the lexical scorer and the argument filler. It must not use the network, depend on any
// tool set, judge (guardrail, language), interpret prose as arguments, or call a tool whose score is
// below [Threshold].
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

// New returns a provider. Its error is always nil; all providers' New have this signature.
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
	if req.Pass == providers.PassGuardrail || req.Pass == providers.PassLanguage || req.Pass == providers.PassQueries || len(req.Schema) > 0 {
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

// chunks returns the chunks of a call, or of a text one word at a time; limit bounds the words, 0
// means no limit.
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

// spokenForm matches a word with the white space after it.
var spokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\S+\s*`) })

// count returns the usage of a prompt, with each word counted as a token.
func count(req providers.Request) schemas.Usage {
	n := len(strings.Fields(req.System))
	for _, m := range req.Messages {
		n += len(strings.Fields(m.FullText()))
	}
	return schemas.Usage{PromptTokens: n}
}

// ended returns a [*providers.Error] if ctx has ended.
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
