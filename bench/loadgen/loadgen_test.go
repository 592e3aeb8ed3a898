package loadgen_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/bench/floor"
	"molar/bench/loadgen"
	"molar/internal/testkit/models"
	"molar/internal/testkit/stubmcp"
)

// target serves the floor over a fake model and returns it as a target.
func target(t *testing.T, cfg models.Config) loadgen.Target {
	t.Helper()
	cfg.Tool = stubmcp.ToolName
	model := httptest.NewServer(models.New(cfg))
	t.Cleanup(model.Close)
	tools := httptest.NewServer(stubmcp.New(stubmcp.Config{}))
	t.Cleanup(tools.Close)
	handler, err := floor.Handler(t.Context(), floor.Config{
		ModelURL: model.URL, Model: "qwen2.5:7b-instruct", MCPURL: tools.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return loadgen.Target{Name: "floor", URL: server.URL + "/v1/chat/completions", PID: os.Getpid()}
}

func client(t *testing.T) *http.Client {
	t.Helper()
	c := loadgen.NewClient(8)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestRun_CountsTurns(t *testing.T) {
	got, err := loadgen.Run(t.Context(), client(t), target(t, models.Config{}),
		loadgen.Question{Text: "who?", Tokens: 20, Stateless: true}, loadgen.Options{Conns: 4, Turns: 40, Label: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Turns != 40 || got.Errors != 0 || got.Stray != 0 || got.FirstError != "" {
		t.Errorf("got %+v", got)
	}
	if got.FirstP50 <= 0 || got.TotalP50 < got.FirstP50 || got.TotalP99 < got.TotalP50 || got.TurnsPerSec <= 0 || got.RSS <= 0 {
		t.Errorf("got %+v", got)
	}
}

func TestRun_EndsByDuration(t *testing.T) {
	got, err := loadgen.Run(t.Context(), client(t), target(t, models.Config{}),
		loadgen.Question{Text: "who?"}, loadgen.Options{Conns: 1, Duration: 20 * time.Millisecond, Label: "x"})
	if err != nil || got.Turns == 0 || got.Errors != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRun_Faults(t *testing.T) {
	const finish = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	content := func(text string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text)
	}
	tests := map[string]struct {
		status int
		body   string
		stray  int
		want   string
	}{
		"whole":              {200, content("tok1:x-1 ") + content("tok2:x-1") + finish + "data: [DONE]\n\n", 0, ""},
		"comments and lines": {200, ": ok\n\nevent: x\n" + content("tok1:x-1\ntok2:x-1") + finish + "data: [DONE]\n\n", 0, ""},
		"a token missing":    {200, content("tok1:x-1") + finish + "data: [DONE]\n\n", 0, "holds 1 tokens of its own, want 2"},
		"a wrong token":      {200, content("tok1:x-1 tok2:x-9 tok2:x-1") + finish + "data: [DONE]\n\n", 1, ""},
		"no finish":          {200, content("tok1:x-1 tok2:x-1") + "data: [DONE]\n\n", 0, "ended early: finish_reason false"},
		"no end":             {200, content("tok1:x-1 tok2:x-1") + finish, 0, "[DONE] false"},
		"no content":         {200, finish + "data: [DONE]\n\n", 0, "the answer is empty"},
		"an error":           {200, `data: {"error":{"message":"model gone"}}` + "\n\n", 0, "model gone"},
		"no JSON":            {200, "data: {\n\n", 0, `chunk "{"`},
		"a refusal":          {503, "busy", 0, "503 Service Unavailable: busy"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			got, err := loadgen.Run(t.Context(), client(t), loadgen.Target{URL: server.URL},
				loadgen.Question{Tokens: 2}, loadgen.Options{Conns: 1, Turns: 1, Label: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Stray != test.stray || (got.Errors > 0) != (test.want != "") || !strings.Contains(got.FirstError, test.want) {
				t.Errorf("got %d stray tokens, %q; want %d, %q", got.Stray, got.FirstError, test.stray, test.want)
			}
		})
	}
}

func TestRun_RefusesARunWithoutAnEnd(t *testing.T) {
	_, err := loadgen.Run(t.Context(), client(t), loadgen.Target{Name: "a"}, loadgen.Question{}, loadgen.Options{Conns: 1})
	if err == nil {
		t.Error("no error")
	}
}

func TestHold_MeasuresEachStream(t *testing.T) {
	cfg := models.Config{Interval: 10 * time.Millisecond, Tokens: 5}
	got, err := loadgen.Hold(t.Context(), client(t), target(t, cfg), loadgen.Question{Text: "who?", Tokens: 5}, 8, 0, "h")
	if err != nil {
		t.Fatal(err)
	}
	if got.Turns != 8 || got.Errors != 0 || got.IdleRSS <= 0 || got.PeakRSS < got.IdleRSS {
		t.Errorf("got %+v", got)
	}
	var out strings.Builder
	got.Print(&out)
	if !strings.Contains(out.String(), "floor: 8 streams, 0 failed") {
		t.Errorf("got %s", out.String())
	}
}

func TestHold_NeedsTheProcess(t *testing.T) {
	if _, err := loadgen.Hold(t.Context(), client(t), loadgen.Target{Name: "a"}, loadgen.Question{}, 1, 0, "h"); err == nil {
		t.Error("no error")
	}
}

func TestReport_RatiosAreMediansOfPairs(t *testing.T) {
	a := []loadgen.Stats{{Target: "molar", CPUPerTurn: 2}, {CPUPerTurn: 9}, {CPUPerTurn: 4}}
	b := []loadgen.Stats{{Target: "floor", CPUPerTurn: 1}, {CPUPerTurn: 3}, {Target: "floor", CPUPerTurn: 1, Errors: 2, FirstError: "gone"}}
	report := loadgen.NewReport(a, b)
	if got := report.Ratios["CPU ms/turn"]; got != 3 {
		t.Errorf("got %v, want 3", got)
	}
	if !report.Failed() {
		t.Error("a failed turn is not seen")
	}
	var out strings.Builder
	report.Print(&out)
	for _, want := range []string{"molar", "ratio", "4.00", "3.00", "floor: 2 of 0 turns failed", "gone"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}

func TestMedian(t *testing.T) {
	got := []float64{loadgen.Median(nil), loadgen.Median([]float64{3, 1, 2}), loadgen.Median([]float64{4, 1})}
	if diff := cmp.Diff([]float64{0, 2, 2.5}, got); diff != "" {
		t.Error(diff)
	}
}
