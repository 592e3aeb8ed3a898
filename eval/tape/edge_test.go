package tape_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/eval/tape"
	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

// record begins a tape in memory.
func record(t *testing.T, secrets ...string) (*tape.Recorder, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	r, err := tape.NewRecorder(tape.RecorderConfig{To: &b, Header: tape.Header{TapeID: "t", Route: tape.Route{Provider: "openai", Model: "m"}}, Redactor: tape.NewRedactor(secrets...)})
	if err != nil {
		t.Fatal(err)
	}
	return r, &b
}

// play opens a tape from memory.
func play(t *testing.T, data []byte, change func(*tape.PlayerConfig)) *tape.Player {
	t.Helper()
	read, err := tape.Read("t.jsonl", data)
	if err != nil {
		t.Fatal(err)
	}
	cfg := tape.PlayerConfig{Tape: read}
	if change != nil {
		change(&cfg)
	}
	return tape.NewPlayer(cfg)
}

// modelText collects the text of one model call.
func modelText(ctx context.Context, p providers.Provider, req providers.Request) (text string, calls []schemas.ToolCall, err error) {
	for chunk, failure := range p.Stream(ctx, req) {
		if failure != nil {
			return text, calls, failure
		}
		text += chunk.Text
		if chunk.Call != nil {
			calls = append(calls, *chunk.Call)
		}
	}
	return text, calls, nil
}

func request() providers.Request {
	return providers.Request{
		Pass: providers.PassAnswer, Model: "m", System: "Be brief.",
		Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "Hello")},
		Tools: []schemas.ToolInfo{{
			Name: "s__f", Server: "s", ToolName: "f", Description: "Does it.", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		}},
	}
}

// TestHTTP records a real provider over HTTP, and replays the tape without a server.
func TestHTTP(t *testing.T) {
	const key = "sk-secret-of-this-test-0123456789"
	got := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, text := range []string{"Hel", "lo \u00e9", "!"} {
			event := `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
			cut := len(event) - 8 // splits a character in one of the events
			_, _ = io.WriteString(w, event[:cut])
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, event[cut:])
			_ = http.NewResponseController(w).Flush()
			if i == 0 {
				<-got // waits until the recorder has forwarded the first piece
			}
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	rec, b := record(t, key)
	asked := request()
	asked.Messages = append(asked.Messages, schemas.Text(schemas.RoleUser, "My key is "+key))
	live := open(t, server.URL+"/v1?key="+key, key, rec.Transport(http.DefaultTransport))
	text := ""
	for chunk, err := range rec.Provider(live, false).Stream(tape.InTurn(t.Context(), 1), asked) {
		if err != nil {
			t.Fatal(err)
		}
		if text == "" && chunk.Text != "" {
			close(got)
		}
		text += chunk.Text
	}
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), key) {
		t.Errorf("the key is on the tape:\n%s", b)
	}
	if strings.Contains(b.String(), "uthorization") {
		t.Error("a header of the request is on the tape")
	}
	server.Close()
	p := play(t, b.Bytes(), nil)
	played := open(t, server.URL+"/v1", "another-key", p.Transport(http.DefaultTransport))
	again, _, err := modelText(tape.InTurn(t.Context(), 1), p.Provider(played, false), asked)
	if err != nil || again != text {
		t.Errorf("replay said %q (%v), the recording %q", again, err, text)
	}
	if causes, _ := p.Finish(); len(causes) > 0 {
		t.Errorf("drift in an unchanged replay: %+v", causes)
	}
}

func open(t *testing.T, base, key string, transport http.RoundTripper) providers.Provider {
	t.Helper()
	p, err := openai.New(openai.Config{APIKey: key, BaseURL: base, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scripted is a provider without a transport.
type scripted struct{ chunks []providers.Chunk }

func (s scripted) Name() string { return "offline" }

func (s scripted) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for _, c := range s.chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// never fails the test if an edge is called.
type never struct{ t *testing.T }

func (n never) Name() string { return "offline" }

func (n never) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	n.t.Error("a replay reached the provider")
	return func(func(providers.Chunk, error) bool) {}
}

func recorded(t *testing.T, req providers.Request) []byte {
	t.Helper()
	rec, b := record(t)
	p := rec.Provider(scripted{[]providers.Chunk{{Text: "Hi"}, {Finish: providers.FinishStop}}}, true)
	if _, _, err := modelText(tape.InTurn(t.Context(), 1), p, req); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDrift makes one small change at a time: each yields its own class and no other.
func TestDrift(t *testing.T) {
	fenced := "<data-%s source=\"s\">\n{\"x\":1}\n</data-%s>"
	base := request()
	call := schemas.ToolCall{ID: "11111111-1111-4111-8111-111111111111", Function: schemas.FunctionCall{Name: "s__f", Arguments: `{"a":"b"}`}}
	result := schemas.Part{Kind: schemas.PartResult, Text: strings.ReplaceAll(fenced, "%s", "0123456789abcdef")}
	base.Messages = append(base.Messages,
		schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}},
		schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{result}})
	data := recorded(t, base)
	for _, test := range []struct {
		name   string
		change func(*providers.Request)
		want   []string
	}{
		{"nothing", func(*providers.Request) {}, nil},
		{"system", func(r *providers.Request) { r.System = "Be Brief." }, []string{tape.System}},
		{"question", func(r *providers.Request) { r.Messages[0] = schemas.Text(schemas.RoleUser, "Hallo") }, []string{tape.Messages}},
		{"description", func(r *providers.Request) { r.Tools[0].Description = "Does it!" }, []string{tape.Description}},
		{"schema", func(r *providers.Request) {
			r.Tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"}}}`)
		}, []string{tape.Schema}},
		{"schema in another order", func(r *providers.Request) {
			r.Tools[0].InputSchema = json.RawMessage(`{"properties": {"a": {"type": "string"}}, "type": "object"}`)
		}, nil},
		{"tool gone", func(r *providers.Request) { r.Tools = nil }, []string{tape.Schema}},
		{"model", func(r *providers.Request) { r.Model = "n" }, []string{tape.Config}},
		{"temperature", func(r *providers.Request) { r.Temperature = new(0.5) }, []string{tape.Config}},
		{"call's name", func(r *providers.Request) { r.Messages[1] = callMessage("s__g", `{"a":"b"}`) }, []string{tape.CallName}},
		{"call's arguments", func(r *providers.Request) { r.Messages[1] = callMessage("s__f", `{"a":"c"}`) }, []string{tape.CallArgs}},
		{"call's id and blanks", func(r *providers.Request) { r.Messages[1] = callMessage("s__f", `{ "a": "b" }`) }, nil},
		{"result", func(r *providers.Request) {
			r.Messages[2].Parts[0].Text = strings.Replace(strings.ReplaceAll(fenced, "%s", "0123456789abcdef"), `"x":1`, `"x":2`, 1)
		}, []string{tape.Result}},
		{"fence mark", func(r *providers.Request) {
			r.Messages[2].Parts[0].Text = strings.ReplaceAll(fenced, "%s", "fedcba9876543210")
		}, nil},
		{"system and model", func(r *providers.Request) { r.System, r.Model = "x", "n" }, []string{tape.System, tape.Config}},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := base
			req.Messages = append([]schemas.Message(nil), base.Messages...)
			req.Messages[2].Parts = append([]schemas.Part(nil), base.Messages[2].Parts...)
			req.Tools = append([]schemas.ToolInfo(nil), base.Tools...)
			test.change(&req)
			p := play(t, data, nil)
			text, _, err := modelText(tape.InTurn(t.Context(), 1), p.Provider(never{t}, true), req)
			if failed := err != nil; failed != (test.want != nil) {
				t.Errorf("said %q, error %v", text, err)
			}
			var classes []string
			causes, _ := p.Finish()
			for _, d := range causes {
				classes = append(classes, d.Class)
			}
			if diff := cmp.Diff(test.want, classes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDrift_pairs: a result that belongs to another call is drift, whatever the ids are. Ids may
// differ in each run, and may be numbered anew in each answer of a model.
func TestDrift_pairs(t *testing.T) {
	const openAI = `{"messages":[{"role":"assistant","tool_calls":[{"id":"%s","function":{"name":"f","arguments":"{}"}},{"id":"%s","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"%s","content":"one"},{"role":"tool","tool_call_id":"%s","content":"two"}]}`
	const gemini = `{"contents":[{"role":"model","parts":[{"functionCall":{"id":"%s","name":"f","args":{}}},{"functionCall":{"id":"%s","name":"f","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"%s","name":"f","response":{"x":1}}},{"functionResponse":{"id":"%s","name":"f","response":{"x":2}}}]}]}`
	const ours = `{"messages":[{"role":"assistant","parts":[{"kind":"call","call":{"id":"%s","function":{"name":"f","arguments":"{}"}}},{"kind":"call","call":{"id":"%s","function":{"name":"f","arguments":"{}"}}}]},` +
		`{"role":"tool","parts":[{"kind":"result","text":"one","result":{"id":"%s"}},{"kind":"result","text":"two","result":{"id":"%s"}}]}]}`
	for _, test := range []struct {
		name     string
		was, now [4]any
		drifts   bool
	}{
		{"the same", [4]any{"a", "b", "a", "b"}, [4]any{"a", "b", "a", "b"}, false},
		{"other ids", [4]any{"a", "b", "a", "b"}, [4]any{"c", "d", "c", "d"}, false},
		{"exchanged", [4]any{"a", "b", "a", "b"}, [4]any{"a", "b", "b", "a"}, true},
		{"exchanged on the tape", [4]any{"a", "b", "b", "a"}, [4]any{"c", "d", "c", "d"}, true},
		{"of no call", [4]any{"a", "b", "x", "x"}, [4]any{"a", "b", "a", "b"}, true},
		{"one for both", [4]any{"a", "b", "a", "b"}, [4]any{"a", "b", "a", "a"}, true},
		{"masked alike", [4]any{"ID", "ID", "ID", "ID"}, [4]any{"a", "b", "a", "b"}, false},
		{"without ids", [4]any{"", "", "", ""}, [4]any{"a", "b", "a", "b"}, false},
	} {
		for wire, form := range map[string]string{"openai": openAI, "gemini": gemini, "ours": ours} {
			canon := tape.NewCanon()
			was, now := canon.Read(fmt.Appendf(nil, form, test.was[:]...)), canon.Read(fmt.Appendf(nil, form, test.now[:]...))
			drifts := was.Diff(now)
			if (len(drifts) > 0) != test.drifts || len(drifts) > 0 && drifts[0].Class != tape.Result {
				t.Errorf("%s, %s: %+v", wire, test.name, drifts)
			}
		}
	}
	const twice = `{"messages":[{"role":"assistant","tool_calls":[{"id":"call_0","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"call_0","content":"one"},` +
		`{"role":"assistant","tool_calls":[{"id":"%s","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"%s","content":"two"}]}`
	canon := tape.NewCanon()
	if drifts := canon.Read(fmt.Appendf(nil, twice, "call_0", "call_0")).Diff(canon.Read(fmt.Appendf(nil, twice, "call_1", "call_1"))); len(drifts) > 0 {
		t.Errorf("ids that begin anew: %+v", drifts)
	}
}

func callMessage(name, args string) schemas.Message {
	call := schemas.ToolCall{ID: "22222222-2222-4222-8222-222222222222", Function: schemas.FunctionCall{Name: name, Arguments: args}}
	return schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}}
}

func TestReport_servesWhatDrifted(t *testing.T) {
	p := play(t, recorded(t, request()), func(c *tape.PlayerConfig) { c.Report = true })
	req := request()
	req.System = "Other."
	text, _, err := modelText(tape.InTurn(t.Context(), 1), p.Provider(never{t}, true), req)
	if err != nil || text != "Hi" {
		t.Errorf("said %q, error %v", text, err)
	}
	if causes, _ := p.Finish(); len(causes) != 1 {
		t.Errorf("drift %+v", causes)
	}
}

func TestLeftovers(t *testing.T) {
	data := recorded(t, request())
	p := play(t, data, nil)
	causes, _ := p.Finish()
	if len(causes) != 1 || causes[0].Class != tape.Unconsumed {
		t.Errorf("a tape that nobody asked: %+v", causes)
	}
	p = play(t, data, nil)
	for range 2 { // one more than the tape has
		_, _, _ = modelText(tape.InTurn(t.Context(), 1), p.Provider(never{t}, true), request())
	}
	if causes, _ = p.Finish(); len(causes) != 1 || causes[0].Class != tape.ModelExtra {
		t.Errorf("a call too many: %+v", causes)
	}
}

// TestMiss_neverGoesLive makes requests that are not on the tape, over a transport that must not
// be used.
func TestMiss_neverGoesLive(t *testing.T) {
	rec, b := record(t)
	_ = rec
	p := play(t, b.Bytes(), nil)
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a replay reached the network")
		return nil, errors.New("no network")
	})
	start := time.Now()
	_, _, err := modelText(tape.InTurn(t.Context(), 1), p.Provider(open(t, "http://127.0.0.1:9/v1", "k", p.Transport(base)), false), request())
	if providers.KindOf(err) != providers.KindInvalid {
		t.Errorf("error %v, want one that nobody tries again", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the refusal took %s", took)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A windowed is a provider that knows the window of its models.
type windowed struct{ providers.Provider }

func (windowed) Window(context.Context, string) int { return 8192 }

// TestPlayer_windowAsRecorded wants a replay to know what the provider knows, as the recording did:
// where long results are cut and when a summary is due depends on the window.
func TestPlayer_windowAsRecorded(t *testing.T) {
	t.Parallel()
	_, b := record(t)
	if got := providers.Window(t.Context(), play(t, b.Bytes(), nil).Provider(windowed{}, false), "m"); got != 8192 {
		t.Errorf("got window %d, want 8192", got)
	}
}

// TestTidy_lines wants a line for each event of a stream, also where the service ends lines like Gemini.
func TestTidy_lines(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n\n", "\r\n\r\n"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, text := range []string{"An", " and", " Binh"} {
				_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"`+text+`"}}]}`+end)
			}
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+end+"data: [DONE]"+end)
		}))
		defer server.Close()
		rec, b := record(t)
		live := open(t, server.URL+"/v1", "", rec.Transport(http.DefaultTransport))
		if _, _, err := modelText(tape.InTurn(t.Context(), 1), rec.Provider(live, false), request()); err != nil {
			t.Fatal(err)
		}
		tidy, err := tape.Tidy("t.jsonl", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(tidy), `"type":"model_chunk"`); n != 5 {
			t.Errorf("%q: got %d lines, want 5:\n%s", end, n, tidy)
		}
	}
}
