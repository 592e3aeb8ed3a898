package chain_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// reply is the stream of a scripted provider in one call.
type reply struct {
	chunks []providers.Chunk
	err    error
}

// says returns a reply that ends without an error.
func says(text string) reply {
	return reply{chunks: []providers.Chunk{{Text: text}, {Finish: providers.FinishStop}}}
}

// fails returns a reply that ends in an error, after some chunks.
func fails(kind providers.Kind, before ...providers.Chunk) reply {
	return reply{before, &providers.Error{Kind: kind, Err: errors.New("it " + string(kind))}}
}

// scripted is a provider that gives its replies one by one, repeating the last one.
type scripted struct {
	name    string
	mu      sync.Mutex
	replies []reply
	asked   []string // the models
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Stream(_ context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		s.mu.Lock()
		s.asked = append(s.asked, req.Model)
		r := s.replies[0]
		if len(s.replies) > 1 {
			s.replies = s.replies[1:]
		}
		s.mu.Unlock()
		for _, chunk := range r.chunks {
			if !yield(chunk, nil) {
				return
			}
		}
		if r.err != nil {
			yield(providers.Chunk{}, r.err)
		}
	}
}

func (s *scripted) models() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// candidates returns a candidate for each script, by its name.
func candidates(scripts ...*scripted) map[string]chain.Candidate {
	all := map[string]chain.Candidate{}
	for _, s := range scripts {
		all[s.name] = chain.Candidate{Provider: s, Model: s.name + "-big", SmallModel: s.name + "-small"}
	}
	return all
}

func script(name string, replies ...reply) *scripted { return &scripted{name: name, replies: replies} }

// outcome is the outcome of a call.
type outcome struct {
	text     string
	switched []providers.Switch
	at       int // the chunk of the last switch
	err      error
}

func call(ctx context.Context, route providers.Route, pass providers.Pass) outcome {
	var h outcome
	n := 0
	for chunk, err := range route.Provider.Stream(ctx, providers.Request{Pass: pass, Model: route.Model}) {
		if err != nil {
			h.err = err
			break
		}
		if chunk.Switched != nil {
			h.switched, h.at = append(h.switched, *chunk.Switched), n
		}
		h.text += chunk.Text
		n++
	}
	return h
}

func pick(t *testing.T, c *chain.Chain, want chain.Want) providers.Route {
	t.Helper()
	route, err := c.Pick(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return route
}

func TestLine_FallsOverOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	callChunk := providers.Chunk{Call: &schemas.ToolCall{ID: "1"}}
	usage := providers.Chunk{Usage: &schemas.Usage{PromptTokens: 1}, Note: "dropped"}
	for name, c := range map[string]struct {
		reply reply
		falls bool
		tries int // of gemini, if more than one
	}{
		"answers":                    {says("hi"), false, 1},
		"unavailable":                {fails(providers.KindUnavailable), true, 1},
		"timeout":                    {fails(providers.KindTimeout), true, 1},
		"quota":                      {fails(providers.KindQuota), true, 1},
		"auth":                       {fails(providers.KindAuth), true, 1},
		"model not found":            {fails(providers.KindModelNotFound), true, 1},
		"after a note and usage":     {fails(providers.KindUnavailable, usage), true, 1},
		"invalid":                    {fails(providers.KindInvalid), false, 1},
		"context length":             {fails(providers.KindContextLength), false, 1},
		"protocol":                   {fails(providers.KindProtocol), true, 1},
		"an answer that stays empty": {reply{err: &providers.Error{Kind: providers.KindProtocol, Again: "empty", Err: errors.New("empty")}}, true, 3},
		"an empty one after a note":  {reply{[]providers.Chunk{usage}, &providers.Error{Kind: providers.KindProtocol, Again: "empty", Err: errors.New("empty")}}, true, 3},
		"half a call after text":     {reply{[]providers.Chunk{{Text: "I look. "}}, &providers.Error{Kind: providers.KindProtocol, Again: "half a call", Reask: true, Err: errors.New("half")}}, false, 3},
		"a cut stream":               {fails(providers.KindIncomplete), true, 1},
		"an error of another type":   {reply{err: errors.New("odd")}, false, 1},
		"after text":                 {fails(providers.KindUnavailable, providers.Chunk{Text: "he"}), false, 1},
		"after thinking":             {fails(providers.KindUnavailable, providers.Chunk{Thinking: "hm"}), false, 1},
		"after a call":               {fails(providers.KindUnavailable, callChunk), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gemini, ollama := script("gemini", c.reply), script("ollama", says("from ollama"))
			route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{})
			got := call(t.Context(), route, providers.PassAnswer)
			if route.Provider.Name() != "gemini" {
				t.Errorf("the route's provider is called %s", route.Provider.Name())
			}
			if !c.falls {
				if len(ollama.models()) > 0 || len(got.switched) > 0 || (got.err == nil) != (c.reply.err == nil) || got.err != nil && !errors.Is(got.err, c.reply.err) {
					t.Errorf("it fell over: %+v", got)
				}
				return
			}
			want := []providers.Switch{{Provider: "ollama", Model: "ollama-big", Why: c.reply.err.Error()}}
			if diff := cmp.Diff(want, got.switched); diff != "" || got.at != 0 || got.text != "from ollama" || got.err != nil {
				t.Errorf("%+v (-want +got)\n%s", got, diff)
			}
			if len(gemini.models()) != max(c.tries, 1) {
				t.Errorf("gemini was asked %d times", len(gemini.models()))
			}
		})
	}
}

// windowed is a provider with the given windows.
type windowed struct {
	*scripted
	window, most int
}

func (w windowed) Window(context.Context, string) int    { return w.window }
func (w windowed) MaxWindow(context.Context, string) int { return w.most }

// A prompt that is too long for one model goes to one with a larger window, and stays an error of the
// first if none has room: the caller can shorten it.
func TestLine_aLargerWindow(t *testing.T) {
	t.Parallel()
	named := fails(providers.KindContextLength)
	named.err = &providers.Error{Kind: providers.KindContextLength, Provider: "gemini", Window: 8192, Err: errors.New("the maximum is 8192")}
	for name, c := range map[string]struct {
		first         reply
		window, other int
		second        reply
		want          string
	}{
		"larger":                         {fails(providers.KindContextLength), 4096, 8192, says("hi"), "hi"},
		"larger, as the refusal says":    {named, 0, 32_768, says("hi"), "hi"},
		"not known, but the refused is":  {named, 0, 0, says("hi"), "hi"},
		"smaller":                        {fails(providers.KindContextLength), 8192, 4096, says("hi"), ""},
		"smaller, as the refusal says":   {named, 0, 4096, says("hi"), ""},
		"neither is known":               {fails(providers.KindContextLength), 0, 0, says("hi"), ""},
		"larger, and too small as well":  {fails(providers.KindContextLength), 4096, 8192, fails(providers.KindContextLength), ""},
		"larger, and it does not answer": {fails(providers.KindContextLength), 4096, 8192, fails(providers.KindUnavailable), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gemini, ollama := script("gemini", c.first, says("shorter")), script("ollama", c.second)
			all := candidates(gemini, ollama)
			for name, window := range map[string]int{"gemini": c.window, "ollama": c.other} {
				candidate := all[name]
				candidate.Provider = windowed{map[string]*scripted{"gemini": gemini, "ollama": ollama}[name], window, window}
				all[name] = candidate
			}
			route := pick(t, newChain(t, chain.Config{Candidates: all}), chain.Want{})
			got := call(t.Context(), route, providers.PassAnswer)
			if got.text != c.want || (c.want == "") != (providers.KindOf(got.err) == providers.KindContextLength) {
				t.Errorf("%q, %v", got.text, got.err)
			}
			if e, ok := errors.AsType[*providers.Error](got.err); ok && c.window > 0 && e.Window != c.window {
				t.Errorf("the error names a window of %d", e.Window)
			}
			if again := call(t.Context(), route, providers.PassAnswer); again.text != "shorter" {
				t.Errorf("the first is not asked again: %q, %v", again.text, again.err)
			}
		})
	}
}

// The windows are those of the candidate that the next call goes to.
func TestLine_Windows(t *testing.T) {
	t.Parallel()
	all := map[string]chain.Candidate{
		"gemini": {Provider: windowed{script("gemini", fails(providers.KindQuota)), 100, 100}, Model: "g"},
		"ollama": {Provider: windowed{script("ollama", says("hi")), 20, 80}, Model: "o"},
	}
	route := pick(t, newChain(t, chain.Config{Candidates: all}), chain.Want{})
	for _, want := range [][2]int{{100, 100}, {20, 80}} {
		got := [2]int{providers.Window(t.Context(), route.Provider, route.Model), providers.MaxWindow(t.Context(), route.Provider, route.Model)}
		if got != want {
			t.Errorf("the windows are %v, want %v", got, want)
		}
		call(t.Context(), route, providers.PassAnswer)
	}
}

func TestLine_ModelOfAPass(t *testing.T) {
	t.Parallel()
	for pass, want := range map[providers.Pass]string{
		providers.PassGuardrail: "ollama-small",
		providers.PassLanguage:  "ollama-small",
		providers.PassSummary:   "ollama-small",
		providers.PassTool:      "ollama-big",
		providers.PassAnswer:    "ollama-big",
	} {
		gemini, ollama := script("gemini", fails(providers.KindQuota)), script("ollama", says("hi"))
		route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{Model: "wished"})
		got := call(t.Context(), route, pass)
		if diff := cmp.Diff([]string{"wished"}, gemini.models()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{want}, ollama.models()); diff != "" || got.switched[0].Model != want {
			t.Errorf("%s: %s, %+v", pass, diff, got)
		}
	}
}

func TestLine_Orders(t *testing.T) {
	t.Parallel()
	const dead = providers.KindUnavailable
	quoting := &scripted{name: "offline", replies: []reply{says("quoted")}}
	for name, c := range map[string]struct {
		order []string
		want  chain.Want
		dead  []string // of gemini, openai and ollama
		text  string
		kind  providers.Kind
	}{
		"auto goes on twice":          {nil, chain.Want{}, []string{"gemini", "openai"}, "ollama", ""},
		"auto does not quote":         {nil, chain.Want{}, []string{"gemini", "openai", "ollama"}, "", dead},
		"a list in its order":         {[]string{"ollama", "openai", "gemini"}, chain.Want{}, []string{"ollama"}, "openai", ""},
		"a list may end offline":      {[]string{"gemini", "offline"}, chain.Want{}, []string{"gemini"}, "quoted", ""},
		"a list that ends with auto":  {[]string{"ollama", "auto"}, chain.Want{}, []string{"ollama", "gemini"}, "openai", ""},
		"what is asked for by a turn": {nil, chain.Want{Provider: "gemini"}, []string{"gemini"}, "", dead},
		"one provider":                {[]string{"openai"}, chain.Want{}, []string{"openai"}, "", dead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scripts := map[string]*scripted{}
			for _, name := range []string{"gemini", "openai", "ollama"} {
				scripts[name] = script(name, says(name))
			}
			for _, name := range c.dead {
				scripts[name].replies = []reply{{err: &providers.Error{Kind: dead, Provider: name, Err: errors.New("down")}}}
			}
			all := candidates(scripts["gemini"], scripts["openai"], scripts["ollama"])
			route := pick(t, newChain(t, chain.Config{Order: c.order, Candidates: all, Offline: quoting}), c.want)
			got := call(t.Context(), route, providers.PassAnswer)
			if got.text != c.text || providers.KindOf(got.err) != c.kind {
				t.Errorf("%+v", got)
			}
			for _, name := range c.dead {
				if got.err == nil && !strings.Contains(got.switched[0].Why, name+": down") || got.err != nil && !strings.Contains(got.err.Error(), name+": down") {
					t.Errorf("nothing is said of %s: %+v", name, got)
				}
				if len(scripts[name].models()) != 1 {
					t.Errorf("%s was asked %d times", name, len(scripts[name].models()))
				}
			}
		})
	}
}

func TestLine_SkipsWhatIsNotReady(t *testing.T) {
	t.Parallel()
	all := candidates(script("gemini", fails(providers.KindAuth)), script("openai", says("from openai")))
	all["ollama"] = chain.Candidate{Provider: named("ollama"), Ready: down}
	c := newChain(t, chain.Config{Order: []string{"gemini", "ollama", "openai"}, Candidates: all})
	got := call(t.Context(), pick(t, c, chain.Want{}), providers.PassAnswer)
	if got.text != "from openai" || !strings.Contains(got.switched[0].Why, "nobody listens") {
		t.Errorf("%+v", got)
	}
}

// The offline provider cannot judge: such a call returns the error of the provider that could.
func TestLine_OfflineTakesNoSmallPass(t *testing.T) {
	t.Parallel()
	gemini := script("gemini", fails(providers.KindAuth))
	c := newChain(t, chain.Config{Order: []string{"gemini", "offline"}, Candidates: candidates(gemini)})
	got := call(t.Context(), pick(t, c, chain.Want{}), providers.PassGuardrail)
	if providers.KindOf(got.err) != providers.KindAuth {
		t.Errorf("%+v", got)
	}
}

// The error of a substitute includes the reason why it was called.
func TestLine_ASubstitutesErrorNamesTheFirst(t *testing.T) {
	t.Parallel()
	gemini, ollama := script("gemini", fails(providers.KindQuota)), script("ollama", fails(providers.KindInvalid))
	route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{})
	got := call(t.Context(), route, providers.PassTool)
	if providers.KindOf(got.err) != providers.KindInvalid || !strings.Contains(got.err.Error(), "it quota") {
		t.Errorf("%v", got.err)
	}
}

// A cancelled call is not a failure of the provider: no other one is called.
func TestLine_Cancelled(t *testing.T) {
	t.Parallel()
	gemini, ollama := script("gemini", fails(providers.KindUnavailable)), script("ollama", says("hi"))
	route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := call(ctx, route, providers.PassAnswer); got.err == nil || len(ollama.models()) > 0 {
		t.Errorf("%+v, ollama asked %v", got, ollama.models())
	}
}

// Later calls of a turn go to the provider that answered the first one; the next turn starts
// anew.
func TestLine_RemembersWithinATurn(t *testing.T) {
	t.Parallel()
	gemini, ollama := script("gemini", fails(providers.KindTimeout), says("from gemini")), script("ollama", says("from ollama"))
	var log bytes.Buffer
	c := newChain(t, chain.Config{Candidates: candidates(gemini, ollama), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	route := pick(t, c, chain.Want{})
	for range 3 {
		got := call(t.Context(), route, providers.PassTool)
		if got.text != "from ollama" || len(got.switched) != 1 || got.switched[0].Why == "" {
			t.Errorf("%+v", got)
		}
	}
	if n := strings.Count(log.String(), "another provider is asked"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, &log)
	}
	if got := call(t.Context(), pick(t, c, chain.Want{}), providers.PassTool); got.text != "from gemini" || got.switched != nil {
		t.Errorf("the next turn: %+v", got)
	}
}

// A missing small model affects only its own calls.
func TestLine_AMissingModelIsNotTheProvider(t *testing.T) {
	t.Parallel()
	gemini, ollama := script("gemini", fails(providers.KindModelNotFound), says("from gemini")), script("ollama", says("from ollama"))
	route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{})
	judged, said := call(t.Context(), route, providers.PassGuardrail), call(t.Context(), route, providers.PassTool)
	if judged.text != "from ollama" || said.text != "from gemini" {
		t.Errorf("%+v, %+v", judged, said)
	}
}

// If all providers failed in a turn, its next call still goes to one.
func TestLine_AsksSomebodyAfterAllFailed(t *testing.T) {
	t.Parallel()
	gemini, ollama := script("gemini", fails(providers.KindTimeout), says("from gemini")), script("ollama", fails(providers.KindQuota))
	route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{})
	if got := call(t.Context(), route, providers.PassTool); providers.KindOf(got.err) != providers.KindQuota || !strings.Contains(got.err.Error(), "it timeout") {
		t.Errorf("the error of the last one, with the others': %v", got.err)
	}
	if got := call(t.Context(), route, providers.PassTool); got.text != "from gemini" || got.switched != nil {
		t.Errorf("%+v", got)
	}
}

func TestLine_ConcurrentCalls(t *testing.T) {
	t.Parallel()
	gemini, ollama := script("gemini", fails(providers.KindUnavailable)), script("ollama", says("from ollama"))
	c := newChain(t, chain.Config{Candidates: candidates(gemini, ollama)})
	shared := pick(t, c, chain.Want{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			route := shared
			if i%2 == 0 {
				route, _ = c.Pick(t.Context(), chain.Want{})
			}
			if got := call(t.Context(), route, providers.PassAnswer); got.text != "from ollama" || got.err != nil {
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
	if n := len(gemini.models()); n < 5 {
		t.Errorf("gemini was asked only %d times before its breaker opened", n)
	}
}

func BenchmarkLine(b *testing.B) {
	chunks := make([]providers.Chunk, 1000)
	for i := range chunks {
		chunks[i].Text = "word "
	}
	c, err := chain.New(chain.Config{Candidates: candidates(script("gemini", reply{chunks: chunks}))})
	if err != nil {
		b.Fatal(err)
	}
	route, err := c.Pick(b.Context(), chain.Want{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range route.Provider.Stream(b.Context(), providers.Request{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A fault of one call, such as an empty answer, does not rule out the provider for the turn's next call.
func TestLine_ForgetsAFaultOfOneCall(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]*providers.Error{
		"an empty answer": {Kind: providers.KindProtocol, Err: errors.New("empty")},
		"a cut stream":    {Kind: providers.KindIncomplete, Err: errors.New("cut")},
	} {
		gemini, ollama := script("gemini", reply{err: fault}, says("from gemini")), script("ollama", says("from ollama"))
		route := pick(t, newChain(t, chain.Config{Candidates: candidates(gemini, ollama)}), chain.Want{})
		for _, want := range []string{"from ollama", "from gemini"} {
			if got := call(t.Context(), route, providers.PassAnswer); got.text != want {
				t.Errorf("%s: %+v, want %q", name, got, want)
			}
		}
	}
}
