package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent/subject"
	"molar/internal/live"
	"molar/internal/testkit/packs"
	"molar/providers"
	"molar/schemas"
)

// trial tries a scripted model.
func trial(t *testing.T, model scripted) (live.Report, *live.Trial) {
	t.Helper()
	guard, err := subject.NewGuard(subject.GuardConfig{Topic: packs.Dental()})
	if err != nil {
		t.Fatal(err)
	}
	route := providers.Route{Provider: model, Model: "big", SmallModel: "small"}
	tr, err := live.New(live.Config{
		Pick:   func(context.Context) (providers.Route, error) { return route, nil },
		Guards: []*subject.Guard{guard}, Section: "llm.openai", WindowKey: "window",
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr.Conclude(route, slices.Collect(tr.Run(t.Context()))), tr
}

// notOK returns the results that are not ok, by check.
func notOK(r live.Report) map[string]live.Level {
	levels := make(map[string]live.Level)
	for _, c := range r.Checks {
		if c.Level != live.OK {
			levels[c.Check] = c.Level
		}
	}
	return levels
}

// but returns the good model with another answer where change gives one.
func but(change func(req providers.Request, a said) said) func(providers.Request) said {
	return func(req providers.Request) said { return change(req, good(req)) }
}

func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		says   func(providers.Request) said
		window int
		usable bool
		// want are the checks that are not ok.
		want    map[string]live.Level
		verdict []string
		set     []string
	}{
		{name: "good", says: good, usable: true, want: map[string]live.Level{}, verdict: []string{"fine for tools"}},
		{
			name: "prints its calls, and they are read", usable: true,
			says: but(func(_ providers.Request, a said) said {
				if len(a.calls) > 0 {
					a.notes = []string{"the model printed its calls as text; 1 read as such"}
				}
				return a
			}),
			want:    map[string]live.Level{"calls as text": live.Weak},
			verdict: []string{"fine for tools, but for: calls as text", "calls print as text: salvaged"},
		},
		{
			name: "prints its calls, and they cannot be read",
			says: but(func(_ providers.Request, a said) said {
				if len(a.calls) > 0 {
					return said{text: textOf(a.calls[0])}
				}
				return a
			}),
			want: map[string]live.Level{
				"calls a tool": live.Fails, "arguments": live.Fails, "exact texts": live.Fails, "two calls at once": live.Fails, "one of 30 tools": live.Fails,
				"uses a result": live.Fails, "two steps": live.Fails, "error of a tool": live.Fails, "stops": live.Weak, "calls as text": live.Fails,
			},
			verdict: []string{"not fit for tools: calls a tool", "prints calls as text that cannot be read"},
		},
		{
			name: "never calls",
			says: but(func(_ providers.Request, a said) said {
				if len(a.calls) > 0 {
					return said{text: "It is a fine day there."}
				}
				return a
			}),
			want: map[string]live.Level{
				"calls a tool": live.Fails, "arguments": live.Fails, "exact texts": live.Fails, "two calls at once": live.Fails, "one of 30 tools": live.Fails,
				"uses a result": live.Fails, "two steps": live.Fails, "error of a tool": live.Fails, "stops": live.Weak, "calls as text": live.Skipped,
			},
			verdict: []string{"not fit for tools", "does not call tools when it should"},
		},
		{
			name: "loops",
			says: but(func(req providers.Request, a said) said {
				if question, results := asked(req); len(results) > 0 && strings.Contains(question, "Zephyr") {
					return said{calls: []schemas.FunctionCall{call("search_notes", `{"query":"Zephyr 9"}`)}}
				}
				return a
			}),
			want:    map[string]live.Level{"stops": live.Fails},
			verdict: []string{"not fit for tools: stops", "calls in a loop: limits.rounds ends such turns"},
		},
		{
			name: "calls whatever is offered", usable: true,
			says: but(func(req providers.Request, a said) said {
				if _, results := asked(req); len(req.Tools) > 0 && len(results) == 0 && len(a.calls) == 0 {
					return said{calls: []schemas.FunctionCall{{Name: req.Tools[0].Name, Arguments: `{"city":"x","recipient":"Lan","text":"Hello"}`}}}
				}
				return a
			}),
			want:    map[string]live.Level{"no needless call": live.Fails, "missing argument": live.Weak},
			verdict: []string{"usable for tools, but not for: no needless call", "calls tools that nobody needs"},
		},
		{
			name: "calls when it must not", usable: true,
			says: but(func(req providers.Request, a said) said {
				if req.ForbidCalls {
					a.notes = []string{`a call to "office__get_weather" was dropped: no call is allowed here`}
				}
				return a
			}),
			want:    map[string]live.Level{"no calls when told": live.Weak},
			verdict: []string{"fine for tools, but for: no calls when told"},
		},
		{
			name: "says nothing when it must not call", usable: true,
			says: but(func(req providers.Request, a said) said {
				if req.ForbidCalls {
					return said{}
				}
				return a
			}),
			want:    map[string]live.Level{"no calls when told": live.Fails},
			verdict: []string{"usable for tools, but not for: no calls when told", "has nothing to say when it may not call"},
		},
		{
			name: "wrong values", usable: true,
			says: but(func(_ providers.Request, a said) said {
				for i, f := range a.calls {
					a.calls[i].Arguments = strings.NewReplacer("7f3c", "7f3d", "4417", "4471", "C-58213", "C-1").Replace(f.Arguments)
				}
				return a
			}),
			want:    map[string]live.Level{"exact texts": live.Fails, "one of 30 tools": live.Fails, "two steps": live.Fails},
			verdict: []string{"usable for tools, but not for: exact texts", "changes ids"},
		},
		{
			name: "breaks the schema, and answers in English only", usable: true,
			says: but(func(req providers.Request, a said) said {
				question, _ := asked(req)
				switch {
				case len(req.Schema) > 0 && req.Pass != providers.PassGuardrail:
					a.text = "Sure! Here is your JSON: " + a.text
				case strings.Contains(question, "Tại sao") || strings.Contains(question, "Warum"):
					a.text = "The sky is blue because the air scatters blue light more than red light."
				}
				return a
			}),
			want:    map[string]live.Level{"keeps a schema": live.Fails, "language": live.Fails},
			verdict: []string{"fine for tools", "breaks a schema", "does not answer in the language of the question"},
		},
		{
			name: "loses the thread", usable: true,
			says: but(func(req providers.Request, a said) said {
				if question, _ := asked(req); len(question) > 20_000 {
					a.text = "There is no code."
				}
				return a
			}),
			want:    map[string]live.Level{"long prompts": live.Weak},
			verdict: []string{"fine for tools", "loses the thread at 8k"},
			set:     []string{"llm.openai.window: 4096"},
		},
		{
			name: "refuses long prompts and pictures", usable: true,
			says: but(func(req providers.Request, a said) said {
				question, _ := asked(req)
				switch {
				case len(question) > 40_000:
					return said{err: refusal(providers.KindContextLength)}
				case strings.Contains(question, "Which digit"):
					return said{err: refusal(providers.KindInvalid)}
				}
				return a
			}),
			want:    map[string]live.Level{"long prompts": live.Weak, "picture": live.Skipped},
			verdict: []string{"fine for tools", "no pictures", "loses the thread at 16k"},
			set:     []string{"llm.openai.window: 8192"},
		},
		{
			name: "refuses long prompts, and names its window", usable: true,
			says: but(func(req providers.Request, a said) said {
				if question, _ := asked(req); len(question) > 20_000 {
					e := refusal(providers.KindContextLength)
					e.Window = 6144
					return said{err: e}
				}
				return a
			}),
			want:    map[string]live.Level{"long prompts": live.Weak},
			verdict: []string{"fine for tools", "loses the thread at 8k"},
			set:     []string{"llm.openai.window: 6144"},
		},
		{name: "a small window, known", says: good, window: 4096, usable: true, want: map[string]live.Level{}, verdict: []string{"fine for tools"}},
		{
			name: "a bad judge that forgets numbers", usable: true,
			says: but(func(req providers.Request, a said) said {
				switch req.Pass {
				case providers.PassGuardrail:
					a.text = `{"verdict":"YES"}`
				case providers.PassSummary:
					a.text = "Mrs Quách Thị Lan ordered bricks."
				}
				return a
			}),
			want:    map[string]live.Level{"judge of topics": live.Fails, "summary": live.Fails},
			verdict: []string{"fine for tools", "the small model cannot judge", "the small model's summaries lose numbers"},
			set:     []string{"llm.openai.small_model: a larger model"},
		},
		{
			name: "always thinks, and caches nothing", usable: true,
			says: but(func(_ providers.Request, a said) said {
				a.thinking, a.cached = "Let me see.", 0
				return a
			}),
			want:    map[string]live.Level{"thinking": live.Weak},
			verdict: []string{"fine for tools", "always thinks first"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := trial(t, scripted{says: tt.says, window: tt.window})
			if diff := cmp.Diff(tt.want, notOK(r)); diff != "" {
				for _, c := range r.Checks {
					t.Logf("%-7s %-20s %s", c.Level, c.Check, c.Seen)
				}
				t.Error(diff)
			}
			if r.Usable != tt.usable || !slices.Equal(r.Set, tt.set) {
				t.Errorf("usable %v, set %q", r.Usable, r.Set)
			}
			rest := r.Verdict
			for _, want := range tt.verdict {
				i := slices.IndexFunc(rest, func(v string) bool { return strings.HasPrefix(v, want) })
				if i < 0 {
					t.Fatalf("verdict %q, want %q", r.Verdict, tt.verdict)
				}
				rest = rest[i+1:]
			}
		})
	}
}

// What a person is told before it costs is not less than what a good model takes, and not twice it.
func TestPlan(t *testing.T) {
	t.Parallel()
	r, tr := trial(t, scripted{says: good})
	plan, tokens := tr.Plan(), r.Usage.PromptTokens+r.Usage.CompletionTokens
	if plan.Checks != len(r.Checks) || plan.Calls < r.Calls || plan.Calls > r.Calls*5/4 {
		t.Errorf("planned %+v, made %d calls in %d checks", plan, r.Calls, len(r.Checks))
	}
	if plan.Tokens < tokens || plan.Tokens > 2*tokens {
		t.Errorf("planned %d tokens, took %d", plan.Tokens, tokens)
	}
}

// A service that counts no whole prompts does not get ever longer ones.
func TestRun_Miscounts(t *testing.T) {
	t.Parallel()
	longest := 0
	_, _ = trial(t, scripted{counts: 100, says: but(func(req providers.Request, a said) said {
		question, _ := asked(req)
		longest = max(longest, len(question))
		return a
	})})
	if most := 6*live.DefaultMaxPrompt + 1000; longest > most {
		t.Errorf("the longest prompt has %d bytes, want %d at most", longest, most)
	}
}

// A half of the tries that goes well is weak, and both are told.
func TestRun_ByChance(t *testing.T) {
	t.Parallel()
	asked := 0
	r, _ := trial(t, scripted{says: but(func(req providers.Request, a said) said {
		if len(req.Schema) > 0 && req.Pass != providers.PassGuardrail {
			if asked++; asked == 1 {
				return said{text: "no"}
			}
		}
		return a
	})})
	i := slices.IndexFunc(r.Checks, func(c live.Result) bool { return c.Check == "keeps a schema" })
	if c := r.Checks[i]; c.Level != live.Weak || c.Passed != 1 || c.Tries != 2 {
		t.Errorf("got %+v", c)
	}
}

// A service that refuses the key is asked once.
func TestRun_Hopeless(t *testing.T) {
	t.Parallel()
	calls := 0
	r, _ := trial(t, scripted{says: func(providers.Request) said {
		calls++
		return said{err: refusal(providers.KindAuth)}
	}})
	if calls != 1 || len(r.Checks) != 1 || r.Usable || !strings.HasPrefix(strings.Join(r.Verdict, "\n"), "stopped after 1 of ") ||
		!strings.Contains(strings.Join(r.Verdict, "\n"), "the service cannot be used") {
		t.Errorf("%d calls, %+v", calls, r)
	}
}

// A service that is out of quota says nothing about the model, and is not asked on and on.
func TestRun_Quota(t *testing.T) {
	t.Parallel()
	r, _ := trial(t, scripted{says: but(func(req providers.Request, a said) said {
		if question, _ := asked(req); strings.Contains(question, "record") || strings.Contains(question, "Huế") {
			return said{err: refusal(providers.KindQuota)}
		}
		return a
	})})
	want := map[string]live.Level{"exact texts": live.Skipped, "two calls at once": live.Skipped}
	if diff := cmp.Diff(want, notOK(r)); diff != "" || len(r.Checks) != 4 || r.Usable {
		t.Errorf("%s%+v", diff, r)
	}
}

// A trial that is interrupted keeps what it found.
func TestRun_Interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	route := providers.Route{Provider: scripted{says: func(req providers.Request) said {
		if question, _ := asked(req); strings.Contains(question, "Book") {
			cancel()
			return said{err: context.Canceled}
		}
		return good(req)
	}}, Model: "big"}
	tr, err := live.New(live.Config{Pick: func(context.Context) (providers.Route, error) { return route, nil }})
	if err != nil {
		t.Fatal(err)
	}
	r := tr.Conclude(route, slices.Collect(tr.Run(ctx)))
	if len(r.Checks) != 1 || r.Checks[0].Level != live.OK || r.Usable {
		t.Errorf("got %+v", r)
	}
}

// A model that hangs costs each check its time and no more.
func TestRun_Hangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pick := func(ctx context.Context) (providers.Route, error) {
			<-ctx.Done()
			return providers.Route{}, &providers.Error{Kind: providers.KindTimeout, Err: ctx.Err()}
		}
		tr, err := live.New(live.Config{Pick: pick, Limit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		start := time.Now()
		results := slices.Collect(tr.Run(ctx))
		if len(results) != 2 || results[1].Seen != "no answer within 1m0s" || time.Since(start) != 150*time.Second {
			t.Errorf("after %s: %+v", time.Since(start), results)
		}
	})
}

func TestRun_Offline(t *testing.T) {
	t.Parallel()
	tr, err := live.New(live.Config{Pick: func(context.Context) (providers.Route, error) { return providers.Route{Offline: true}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	results := slices.Collect(tr.Run(t.Context()))
	if len(results) != 1 || !strings.Contains(results[0].Verdict, live.ErrNoModel.Error()) {
		t.Errorf("got %+v", results)
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	pick := func(context.Context) (providers.Route, error) { return providers.Route{}, errors.New("none") }
	for _, c := range []live.Config{{}, {Pick: pick, Limit: -1}, {Pick: pick, MaxPrompt: 10}} {
		if _, err := live.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestResult_JSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(live.Result{Check: "stops", Level: live.OK, Took: 1500 * time.Millisecond, Calls: 2})
	if err != nil || !strings.Contains(string(data), `"check":"stops"`) || !strings.Contains(string(data), `"took_ms":1500`) {
		t.Errorf("%s, %v", data, err)
	}
}
