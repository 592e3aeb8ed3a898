package wire_test

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/chain"
)

// A small model that thinks always has enough tokens for the answer of the judge, the language
// check or the summary, in whatever form it thinks.
func TestSmallAnswer_NotStarved(t *testing.T) {
	t.Parallel()
	const plan = "Is it about teeth? "
	bound := regexp.MustCompile(`"(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|num_predict)":(\d*)`)
	for name, thinks := range map[string]func(w adapter) string{
		"reasoning": func(w adapter) string { return w.thought(plan) },
		"think":     func(w adapter) string { return w.piece("<think>" + plan) },
		"harmony":   func(w adapter) string { return w.piece("<|channel|>analysis<|message|>" + plan) },
		"nothing":   func(adapter) string { return "" },
	} {
		for _, w := range wires() {
			for _, pass := range []providers.Pass{providers.PassGuardrail, providers.PassLanguage, providers.PassQueries, providers.PassSummary} {
				t.Run(fmt.Sprint(w.name, "/", name, "/", pass), func(t *testing.T) {
					t.Parallel()
					var bounds []string
					s := &service{}
					s.body = func() io.Reader {
						bounds = append(bounds, bound.FindStringSubmatch(string(s.sent) + `"max_tokens":`)[1])
						if len(bounds) < 3 {
							return strings.NewReader(thinks(w) + w.cut)
						}
						return strings.NewReader(w.piece("YES") + w.end)
					}
					p := w.on(t, s)
					req := providers.Request{
						Model: "m", Pass: pass, MaxTokens: 24, Messages: question().Messages,
					}
					for range 2 {
						if got, _, err := read(t, chain.Again(p, 0), req); got.Text != "YES" || got.Finish != "stop" || err != nil {
							t.Fatalf("%+v, %v", got, err)
						}
					}
					// First few tokens, then room for thoughts, then no limit; after that never a
					// limit. Anthropic wants a number in any case.
					none := map[string]string{"anthropic": "32000"}[w.name]
					if diff := cmp.Diff([]string{"24", "1048", none, none}, bounds); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}
