package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all returns a stream with all kinds of events; enough is the length after which the answer is
// complete.
func (w adapter) all() (stream string, enough int) {
	said := w.piece("Hello, ") + w.idle + w.call("w__get_weather", `{"city":"a \" b"}`) + w.piece("wörld")
	first, _, _ := strings.Cut(w.end[strings.IndexByte(w.end, '{'):], "\n")
	return said + w.end, len(said) + strings.IndexByte(w.end, '{') + len(strings.TrimRight(first, "\r"))
}

// A stream that is cut after any byte is an error after the text so far, unless the answer was
// already complete; calls are whole or missing.
func TestStream_CutAnywhere(t *testing.T) {
	t.Parallel()
	const said, called = "Hello, wörld", `w__get_weather {"city":"a \" b"}`
	for _, w := range wires() {
		whole, enough := w.all()
		var body io.Reader
		p := w.over(t, func() io.Reader { return body })
		for n := range len(whole) + 1 {
			for _, fault := range []error{io.EOF, io.ErrUnexpectedEOF} {
				body = io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(fault))
				got, _, err := read(t, p, question())
				complete := err == nil && got.Text == said && got.Finish == "tool_calls" && len(got.Calls) == 1
				broken := providers.KindOf(err) == providers.KindIncomplete && got.Finish == "" && strings.HasPrefix(said, got.Text)
				if complete != (n >= enough) || broken == complete || len(got.Calls) > 0 && got.Calls[0] != called {
					t.Fatalf("%s: %d of %d bytes, of which %d are enough, then %v: %+v, %v", w.name, n, len(whole), enough, fault, got, err)
				}
			}
		}
	}
}

// However a stream is split, and whatever ends its lines, it reads the same.
func TestStream_AnyChunking(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		plain, _ := w.all()
		plain = strings.ReplaceAll(plain, "\r", "")
		var want reading
		var body io.Reader
		p := w.over(t, func() io.Reader { return body })
		for at := -1; at < len(plain); at++ {
			for _, text := range []string{plain, strings.ReplaceAll(plain, "\n", "\r\n")} {
				body = io.MultiReader(strings.NewReader(text[:max(0, at)]), strings.NewReader(text[max(0, at):]))
				if at < 0 {
					body = iotest.OneByteReader(body)
				}
				got, _, err := read(t, p, question())
				if want.Text == "" {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" || err != nil || got.Text != "Hello, wörld" {
					t.Fatalf("%s, split at %d: %v %s", w.name, at, err, diff)
				}
			}
		}
	}
}

// endless repeats a text for ever.
type endless struct {
	text string
	left int
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	return n, nil
}

// A long answer needs little memory.
func TestStream_LongAnswer(t *testing.T) {
	const size, most = 12 << 20, 4 << 20
	for _, w := range wires() {
		piece := w.piece(strings.Repeat("word ", 2000))
		p := w.over(t, func() io.Reader {
			return io.MultiReader(&endless{text: piece, left: size / len(piece) * len(piece)}, strings.NewReader(w.end))
		})
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		before, peak, got, finished := now.HeapAlloc, uint64(0), 0, false
		for chunk, err := range p.Stream(t.Context(), question()) {
			if err != nil {
				t.Fatal(err)
			}
			if got += len(chunk.Text); got%(size/8) < len(chunk.Text) {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
			}
			finished = chunk.Finish != ""
		}
		if used := int64(peak) - int64(before); got < size*9/10 || used > most || !finished {
			t.Errorf("%s: %d bytes of text took %d kB", w.name, got, used>>10)
		}
	}
}

// If a service quotes the request, no secret in it is shown, wherever it is quoted.
func TestFaults_TellNoSecret(t *testing.T) {
	t.Parallel()
	leak := func(r *http.Request) string {
		return fmt.Sprintf("bad %v %v at http://%s%s and %s, or https://u:%s@other.example/a?token=%s", r.Header["Authorization"], append(r.Header["X-Goog-Api-Key"], r.Header["X-Api-Key"]...), r.Host, r.URL.RequestURI(), r.URL.Query().Get("sig"), password, password)
	}
	for name, does := range map[string]func(w adapter, said string) answering{
		"a refusal":      func(_ adapter, said string) answering { return status(400, said) },
		"plain words":    func(_ adapter, said string) answering { return page(400, said) },
		"the stream":     func(_ adapter, said string) answering { return stream(say("a"), broken(0, said)) },
		"the reason":     func(w adapter, said string) answering { return stream(raw(w.because(said))) },
		"what is not it": func(_ adapter, said string) answering { return page(200, said) },
		"a page":         func(_ adapter, said string) answering { return page(200, "<html>"+said) },
	} {
		for _, w := range wires() {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				n := connect(t, func(rw http.ResponseWriter, r *http.Request) { does(w, leak(r))(w)(rw, r) })
				var logged strings.Builder
				p, err := w.at(place{host: host, client: n.client, log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = read(t, p, question())
				if err == nil {
					t.Fatal("no error")
				}
				wantNoSecret(t, err.Error())
				if strings.Contains(logged.String(), secretKey) || strings.Contains(logged.String(), password) {
					t.Errorf("a secret in the log: %s", logged.String())
				}
			})
		}
	}
}

// Whatever a service sends, on any wire, an answer ends once: with a finish reason or with one
// error of a known kind; and in any chunking it is the same.
func FuzzStream(f *testing.F) {
	for _, w := range wires() {
		whole, _ := w.all()
		for _, seed := range []string{whole, w.piece("a") + w.end, w.thought("a") + w.cut, w.broken(429, "x"), w.refusal(400, "x"), w.because("x"), w.idle} {
			f.Add([]byte(seed), 7)
		}
	}
	for _, seed := range []string{
		"data: [DONE]\n\n", "\ufeffdata: [DONE]\n", "data: [1\ndata: {\n", "{\n\n", "<html>", "data: null\n\ndata: 5\n\n", "event: error\ndata: x\n\n",
		": c\nevent: x\nid: 1\ndata: [DONE]\n\n{\"error\":\"x\"}\n",
		"data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n", `{"choices":[{"message":{"content":"a"}}]}`,
		`data: {"error":[]}`, `data: {"error":"x"}`, `data: {"error":{"code":"x"}}`, `data: {"promptFeedback":{"blockReason":"SAFETY"}}`, `data: {"promptFeedback":5}`,
		`data: {"candidates":5}`, `data: {"candidates":[5]}`, `data: {"candidates":[null]}`, `data: {"candidates":{}}`, `data: {"candidates":[{"finishReason":5}]}`,
		`data: {"candidates":[{"content":5}]}`, `data: {"candidates":[{"content":{"parts":5}}]}`, `data: {"candidates":[{"content":{"parts":[5,null]}}]}`,
		`data: {"candidates":[{"content":{"parts":[{"functionCall":5}]}}]}`, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"args":[]}}]}}]}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"%%"}]}}]}`, `data: {"usageMetadata":5}`, `data: {"usageMetadata":{"totalTokenCount":"x"}}`,
		`data: {"candidates":[{"groundingMetadata":{"groundingChunks":[5]}}]}`, `data: {"candidates":[{"groundingMetadata":5,"citationMetadata":5}]}`,
		`data: {"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}`,
		`{"message":5}`, `{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]},"done":true}`, `{"done":true}`,
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, body []byte, at int) {
		at = max(0, min(at, len(body)))
		for _, w := range wires() {
			whole, said, err := read(t, w.over(t, func() io.Reader { return bytes.NewReader(body) }), question())
			split, _, again := read(t, w.over(t, func() io.Reader {
				return io.MultiReader(bytes.NewReader(body[:at]), iotest.OneByteReader(bytes.NewReader(body[at:])))
			}), question())
			if _, ours := errors.AsType[*providers.Error](err); (err == nil) == (whole.Finish == "") || !ours && err != nil {
				t.Fatalf("%s: %+v ended with %v", w.name, whole, err)
			}
			if diff := cmp.Diff(whole, split); diff != "" || fmt.Sprint(err) != fmt.Sprint(again) {
				t.Fatalf("%s, split at %d: %v, whole: %v %s", w.name, at, again, err, diff)
			}
			for _, c := range said.Calls() {
				if c.Function.Arguments == "" || w.name == "gemini" && !json.Valid([]byte(c.Function.Arguments)) {
					t.Fatalf("%s: a call that nobody can run: %+v", w.name, c)
				}
			}
		}
	})
}
