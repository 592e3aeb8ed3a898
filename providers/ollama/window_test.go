package ollama_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/ollama"
	"molar/schemas"
)

// loadedAt returns the answer of /api/ps for the model, loaded with a window.
func loadedAt(size int) string {
	return fmt.Sprintf(`{"models":[{"name":"m:latest","model":"m:latest","context_length":%d}]}`, size)
}

// The window of a call: fixed by the operator, loaded, set by the Modelfile or the server's
// default, and no larger than the prompt needs.
func TestRequest_Window(t *testing.T) {
	t.Parallel()
	const small, large, huge = 100, 60_000, 400_000 // bytes
	for name, c := range map[string]struct {
		cfg    ollama.Config
		ps     string
		params string
		prompt int
		want   any // num_ctx of the request; nil for none
		window int // the window that the host is told
		most   int // the largest window that the host is told
		answer int // the most tokens that the answer may take
	}{
		"a short prompt is the server's affair": {prompt: small, want: nil, window: 8192, most: 131072},
		"a long one needs a window":             {prompt: large, want: 32768.0, window: 8192, most: 131072},
		"the model's own is the most":           {prompt: huge, want: 131072.0, window: 8192, most: 131072},
		"fixed":                                 {cfg: ollama.Config{NumCtx: 2048}, ps: loadedAt(8192), prompt: large, want: 2048.0, window: 2048, most: 2048},
		"the Modelfile's":                       {params: "num_ctx 2048", prompt: small, want: 8192.0, window: 2048, most: 131072, answer: 3000},
		"the Modelfile's, small":                {params: "num_ctx 2048", prompt: 4000, want: 2048.0, window: 2048, most: 131072},
		"the Modelfile's, too small":            {params: "num_ctx 2048", prompt: 5000, want: 8192.0, window: 2048, most: 131072},
		"loaded small by another client":        {ps: loadedAt(2048), prompt: 4000, want: 2048.0, window: 2048, most: 131072},
		"the Modelfile's suffices":              {params: "stop \"x\"\nnum_ctx                        16384\n", prompt: small, want: 16384.0, window: 16384, most: 131072},
		"loaded by another client":              {ps: loadedAt(32768), prompt: small, want: 32768.0, window: 32768, most: 131072},
		"loaded smaller, and enough":            {ps: loadedAt(4096), prompt: small, want: 4096.0, window: 4096, most: 131072},
		"loaded, and not enough":                {ps: loadedAt(4096), prompt: large, want: 32768.0, window: 4096, most: 131072},
		"bounded":                               {cfg: ollama.Config{MaxNumCtx: 16384}, prompt: huge, want: 16384.0, window: 8192, most: 16384},
		"loaded larger than the bound":          {cfg: ollama.Config{MaxNumCtx: 4096}, ps: loadedAt(32768), prompt: large, want: 32768.0, window: 32768, most: 4096},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, lines(say("a"), end))
			f.ps = c.ps
			f.show = fmt.Sprintf(`{"capabilities":["completion"],"parameters":%q,"model_info":{"general.architecture":"q","q.context_length":131072}}`, c.params)
			c.cfg.BaseURL, c.cfg.HTTPClient = f.url, client(t)
			p := newProvider(t, c.cfg)
			if got := providers.Window(t.Context(), p, "m"); got != c.window {
				t.Errorf("the host is told %d, want %d", got, c.window)
			}
			if got := providers.MaxWindow(t.Context(), p, "m"); got != c.most {
				t.Errorf("the host is told at most %d, want %d", got, c.most)
			}
			req := question(strings.Repeat("a", c.prompt))
			req.MaxTokens = c.answer
			if a := ask(t.Context(), p, req); a.err != nil {
				t.Fatal(a.err)
			}
			if diff := cmp.Diff(c.want, f.sent()[0].Options["num_ctx"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If a prompt turns out not to fit, the call is repeated with the next larger windows; a fixed
// window is not changed.
func TestRequest_WindowAfterAnOverflow(t *testing.T) {
	t.Parallel()
	overflow := status(400, `{"error":"the input length exceeds the context length"}`)
	for _, c := range []struct {
		cfg  ollama.Config
		want []any
		kind providers.Kind
	}{
		{ollama.Config{}, []any{nil, 8192.0, 16384.0}, ""},
		{ollama.Config{MaxNumCtx: 8192}, []any{nil, 8192.0}, providers.KindContextLength},
		{ollama.Config{NumCtx: 2048}, []any{2048.0}, providers.KindContextLength},
	} {
		f := newFake(t, overflow, overflow, lines(say("a"), end))
		c.cfg.BaseURL, c.cfg.HTTPClient = f.url, client(t)
		a := ask(t.Context(), newProvider(t, c.cfg), question("hi"))
		var got []any
		for _, sent := range f.sent() {
			got = append(got, sent.Options["num_ctx"])
		}
		if diff := cmp.Diff(c.want, got); diff != "" || providers.KindOf(a.err) != c.kind {
			t.Errorf("%v %s", a.err, diff)
		}
	}
}

// A window that grew for one long prompt shrinks after some calls that do not need it; one that
// another client set does not.
func TestRequest_WindowShrinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grow bool
		last any
	}{{true, nil}, {false, 65536.0}} {
		f := newFake(t, lines(say("a"), end))
		p := at(t, f)
		f.show = `{"capabilities":["completion"],"model_info":{"general.architecture":"q","q.context_length":131072}}`
		if c.grow {
			ask(t.Context(), p, question(strings.Repeat("a", 150_000)))
		} else {
			f.ps = loadedAt(65536)
		}
		var last any
		for range 9 {
			ask(t.Context(), p, question("hi"))
			sent := f.sent()
			last = sent[len(sent)-1].Options["num_ctx"]
		}
		if c.grow != (f.sent()[1].Options["num_ctx"] == 65536.0 && len(f.sent()) == 10) || last != c.last {
			t.Errorf("grown here %v: ended with %v, want %v", c.grow, last, c.last)
		}
	}
}

// Each model gets the thinking setting in the values that it accepts.
func TestRequest_Think(t *testing.T) {
	t.Parallel()
	level := `"thinking":{"values":["low","medium","high"],"default":"medium"},`
	oss := `{"capabilities":["completion","thinking"],"model_info":{"general.architecture":"gptoss"}}`
	for name, c := range map[string]struct {
		show string
		wish schemas.Thinking
		want any
	}{
		"no thinker":             {`{"capabilities":["completion"]}`, schemas.ThinkingHigh, nil},
		"not told":               {`{"capabilities":["completion","thinking"]}`, "", false},
		"off":                    {`{"capabilities":["completion","thinking"]}`, schemas.ThinkingOff, false},
		"on":                     {`{"capabilities":["completion","thinking"]}`, schemas.ThinkingLow, true},
		"levels, off":            {`{` + level + `"capabilities":["completion","thinking"]}`, schemas.ThinkingOff, "low"},
		"levels, high":           {`{` + level + `"capabilities":["completion","thinking"]}`, schemas.ThinkingHigh, "high"},
		"values that hold false": {`{"thinking":{"values":[false,true]},"capabilities":["completion","thinking"]}`, schemas.ThinkingOff, false},
		"an older server, off":   {oss, schemas.ThinkingOff, "low"},
		"an older server, low":   {oss, schemas.ThinkingMedium, "medium"},
	} {
		f := newFake(t, lines(say("a"), end))
		f.show = c.show
		req := question("hi")
		req.Thinking = c.wish
		ask(t.Context(), at(t, f), req)
		if got := f.sent()[0].Think; got != c.want {
			t.Errorf("%s: think %v, want %v", name, got, c.want)
		}
	}
}

// A value that the model refuses is not sent to it again.
func TestRequest_LearnsWhatThinkTakes(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(http.StatusBadRequest, `{"error":"think value \"false\" is not supported for this model"}`), lines(say("a"), end))
	f.show = `{"capabilities":["completion","thinking"]}`
	p := at(t, f)
	for range 2 {
		if a := ask(t.Context(), p, question("hi")); a.text != "a" {
			t.Fatalf("%+v", a)
		}
	}
	var got []any
	for _, sent := range f.sent() {
		got = append(got, sent.Think)
	}
	if diff := cmp.Diff([]any{false, "low", "low"}, got); diff != "" {
		t.Error(diff)
	}
}

// A judge that spends its few tokens on thoughts gets more.
func TestStream_ASmallAnswerIsNotStarvedByThoughts(t *testing.T) {
	t.Parallel()
	thought := `{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm."},"done":false}`
	f := newFake(t, lines(thought, endLength), lines(thought, endLength), lines(thought, say("YES"), end))
	req := question("?")
	req.Pass, req.MaxTokens = providers.PassGuardrail, 24
	a := ask(t.Context(), at(t, f), req)
	var got []any
	for _, sent := range f.sent() {
		got = append(got, sent.Options["num_predict"])
	}
	if diff := cmp.Diff([]any{24.0, 1048.0, nil}, got); diff != "" || a.text != "YES" {
		t.Errorf("%+v %s", a, diff)
	}
}

func TestRequest_Settings(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(say("a"), end))
	p := newProvider(t, ollama.Config{BaseURL: f.url, HTTPClient: client(t), Tuning: schemas.Tuning{
		Temperature: new(0.3), TopP: new(0.9), MaxTokens: 100, ExtraBody: []byte(`{"options":{"top_k":40},"keep_alive":"9m"}`),
	}})
	req := question("hi")
	req.Temperature, req.Seed = new(0.0), new(int64(7))
	ask(t.Context(), p, req)
	sent := f.sent()[0]
	want := map[string]any{"temperature": 0.0, "top_p": 0.9, "num_predict": 100.0, "seed": 7.0, "top_k": 40.0}
	if diff := cmp.Diff(want, sent.Options); diff != "" || sent.KeepAlive != "9m" {
		t.Errorf("keep_alive %v %s", sent.KeepAlive, diff)
	}
}
