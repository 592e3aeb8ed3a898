package tape_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"molar/eval/tape"
	"molar/providers"
)

// overHTTP records an answer of three words over HTTP.
func overHTTP(t *testing.T) (data []byte, base string) {
	t.Helper()
	heard := make(chan struct{}, 3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, event := range []string{
			`{"choices":[{"index":0,"delta":{"content":"one "}}]}`, `{"choices":[{"index":0,"delta":{"content":"two "}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"three"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]",
		} {
			_, _ = io.WriteString(w, "data: "+event+"\n\n")
			_ = http.NewResponseController(w).Flush()
			if i < 3 {
				<-heard // so that the pieces arrive apart
			}
		}
	}))
	defer server.Close()
	rec, b := record(t)
	live := open(t, server.URL+"/v1", "sk-test", rec.Transport(http.DefaultTransport))
	for chunk, err := range rec.Provider(live, false).Stream(tape.InTurn(t.Context(), 1), request()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Text != "" {
			heard <- struct{}{}
		}
	}
	return b.Bytes(), server.URL + "/v1"
}

// TestFaults_model applies each fault to a model's answer: the provider returns an error of the
// right kind, never a complete answer.
func TestFaults_model(t *testing.T) {
	data, base := overHTTP(t)
	for _, test := range []struct {
		fault string
		kind  providers.Kind
		part  bool // the beginning of the answer arrives
		whole bool
	}{
		{fault: "model:answer=error", kind: providers.KindUnavailable},
		{fault: "model:answer=garble", kind: providers.KindProtocol},
		{fault: "model:*=disconnect", kind: providers.KindUnavailable},
		{fault: "model:answer=disconnect:half", kind: providers.KindIncomplete, part: true},
		{fault: "model:answer=drop", kind: providers.KindTimeout},
		{fault: "model:answer=delay:30s", whole: true},
		{fault: "model:tool=error", whole: true}, // another pass
		{fault: "model:answer=error#2", whole: true},
	} {
		t.Run(test.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := tape.ParseFault(test.fault)
				if err != nil {
					t.Fatal(err)
				}
				p := play(t, data, func(c *tape.PlayerConfig) { c.Faults = []tape.Fault{f} })
				provider := p.Provider(open(t, base, "sk-test", p.Transport(nil)), false)
				ctx, cancel := context.WithTimeout(tape.InTurn(t.Context(), 1), 10*time.Minute)
				defer cancel()
				began := time.Now()
				text, _, err := modelText(ctx, provider, request())
				switch {
				case test.whole && (err != nil || text != "one two three"):
					t.Errorf("got %q, %v; want the whole answer", text, err)
				case !test.whole && err == nil:
					t.Errorf("got %q and no error", text)
				case !test.whole && providers.KindOf(err) != test.kind:
					t.Errorf("got a fault of kind %q (%v), want %q", providers.KindOf(err), err, test.kind)
				case !test.whole && test.part != (text != ""):
					t.Errorf("got %q before the fault", text)
				}
				if f.Kind == tape.FaultDelay && time.Since(began) < f.Delay {
					t.Errorf("it took %v, want %v at least", time.Since(began), f.Delay)
				}
			})
		})
	}
}
