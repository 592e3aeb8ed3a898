package chain_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// try is the outcome of one call of a provider.
type try struct {
	chunks []providers.Chunk
	err    *providers.Error
	takes  time.Duration
}

// retriedProvider is a provider whose calls follow a script, repeating the last try.
type retriedProvider struct {
	script []try
	calls  []providers.Request
}

func (p *retriedProvider) Name() string { return "tried" }

func (p *retriedProvider) Stream(_ context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		do := p.script[min(len(p.calls), len(p.script)-1)]
		p.calls = append(p.calls, req)
		time.Sleep(do.takes)
		for _, c := range do.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if do.err != nil {
			yield(providers.Chunk{}, do.err)
		}
	}
}

// One policy decides which calls are retried, how often, and after which wait.
func TestAgain(t *testing.T) {
	t.Parallel()
	well := try{chunks: []providers.Chunk{{Text: "well"}, {Usage: &schemas.Usage{TotalTokens: 1}, Finish: providers.FinishStop}}}
	status := func(code int, after time.Duration) try {
		return try{err: &providers.Error{Kind: providers.KindUnavailable, Status: code, RetryAfter: after, Err: errors.New("no")}}
	}
	odd := try{
		chunks: []providers.Chunk{{Thinking: "hm"}, {Usage: &schemas.Usage{TotalTokens: 10}}},
		err:    &providers.Error{Kind: providers.KindProtocol, Again: "empty", Err: errors.New("empty")},
	}
	learnt := try{err: &providers.Error{Kind: providers.KindInvalid, Status: 400, Again: "learnt", Changed: true, Err: errors.New("no")}}
	final := try{err: &providers.Error{Kind: providers.KindUnavailable, Status: 503, Final: true, Err: errors.New("no")}}
	late := try{chunks: []providers.Chunk{{Text: "a"}}, err: &providers.Error{Kind: providers.KindUnavailable, Status: 503, Err: errors.New("no")}}
	malformed := func(chunks ...providers.Chunk) try {
		return try{chunks, &providers.Error{Kind: providers.KindProtocol, Again: "half a call", Reask: true, Err: errors.New("half a call")}, 0}
	}
	for name, c := range map[string]struct {
		script      []try
		calls       int
		tokens      int
		kind        providers.Kind
		least, most time.Duration
	}{
		"well":                        {[]try{well}, 1, 1, "", 0, 0},
		"busy, then well":             {[]try{status(503, 0), well}, 2, 1, "", time.Second, 1250 * time.Millisecond},
		"busy for ever":               {[]try{status(500, 0)}, 3, 0, providers.KindUnavailable, 3 * time.Second, 3750 * time.Millisecond},
		"a wait that is named":        {[]try{status(429, 7*time.Second), well}, 2, 1, "", 7 * time.Second, 7 * time.Second},
		"too long a wait":             {[]try{status(429, 31*time.Second)}, 1, 0, providers.KindUnavailable, 0, 0},
		"429 without a wait":          {[]try{status(429, 0)}, 3, 0, providers.KindUnavailable, 6 * time.Second, 7500 * time.Millisecond},
		"429, then well":              {[]try{status(429, 0), well}, 2, 1, "", 2 * time.Second, 2500 * time.Millisecond},
		"408 and 409, then well":      {[]try{status(408, 0), status(409, 0), well}, 3, 1, "", 6 * time.Second, 7500 * time.Millisecond},
		"429, used up":                {[]try{{err: &providers.Error{Kind: providers.KindQuota, Status: 429, Final: true, Err: errors.New("no")}}}, 1, 0, providers.KindQuota, 0, 0},
		"429 after text":              {[]try{{chunks: late.chunks, err: status(429, 0).err}, well}, 1, 0, providers.KindUnavailable, 0, 0},
		"no use":                      {[]try{final}, 1, 0, providers.KindUnavailable, 0, 0},
		"not implemented":             {[]try{status(501, 0)}, 1, 0, providers.KindUnavailable, 0, 0},
		"odd, then well":              {[]try{odd, odd, well}, 3, 21, "", 0, 0},
		"odd for ever":                {[]try{odd}, 3, 30, providers.KindProtocol, 0, 0},
		"learnt five times":           {[]try{learnt, learnt, learnt, learnt, learnt, well}, 6, 1, "", 0, 0},
		"never learns":                {[]try{learnt}, 9, 0, providers.KindInvalid, 0, 0},
		"never after text":            {[]try{late, well}, 1, 0, providers.KindUnavailable, 0, 0},
		"no wait beyond the limit":    {[]try{{takes: 175 * time.Second, err: status(503, 10*time.Second).err}}, 1, 0, providers.KindUnavailable, 175 * time.Second, 175 * time.Second},
		"odd and busy count apart":    {[]try{odd, status(503, 0), odd, status(503, 0), well}, 5, 21, "", 3 * time.Second, 3750 * time.Millisecond},
		"half a call after text":      {[]try{malformed(providers.Chunk{Text: "I look. "}), well}, 2, 1, "", 0, 0},
		"half a call after a call":    {[]try{malformed(providers.Chunk{Call: &schemas.ToolCall{}}), well}, 1, 0, providers.KindProtocol, 0, 0},
		"a refusal that asks nothing": {[]try{{err: &providers.Error{Kind: providers.KindInvalid, Status: 400, Err: errors.New("no")}}}, 1, 0, providers.KindInvalid, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &retriedProvider{script: c.script}
				start := time.Now()
				var last error
				tokens, notes := 0, 0
				for chunk, err := range chain.Again(p, 0).Stream(t.Context(), providers.Request{}) {
					last = err
					if chunk.Usage != nil {
						tokens = chunk.Usage.TotalTokens
					}
					if chunk.Note != "" {
						notes++
					}
				}
				took := time.Since(start)
				if providers.KindOf(last) != c.kind || len(p.calls) != c.calls || tokens != c.tokens || notes != c.calls-1 || took < c.least || took > c.most {
					t.Errorf("%v after %d calls, %v and %d tokens, with %d notes", last, len(p.calls), took, tokens, notes)
				}
				for i, req := range p.calls {
					if want := start.Add(180 * time.Second); !req.Until.Equal(want) || (req.After == nil) != (i == 0) {
						t.Errorf("call %d: until %v after %v", i, req.Until, req.After)
					}
				}
			})
		})
	}
}

// The text before a half call is commentary, and no part of the answer.
func TestAgain_TextBeforeARetry(t *testing.T) {
	t.Parallel()
	half := &providers.Error{Kind: providers.KindProtocol, Again: "half a call", Reask: true, Err: errors.New("half a call")}
	p := &retriedProvider{script: []try{
		{chunks: []providers.Chunk{{Text: "I look. "}}, err: half},
		{chunks: []providers.Chunk{{Text: "42"}, {Finish: providers.FinishStop}}},
	}}
	var answer, order string
	for chunk, err := range chain.Again(p, 0).Stream(t.Context(), providers.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Retract {
			answer, order = "", order+"|"
		}
		answer, order = answer+chunk.Text, order+chunk.Text
	}
	if answer != "42" || order != "I look. |42" {
		t.Errorf("answer %q, order %q", answer, order)
	}
}
