package web_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
)

// A retrier is a client with the defaults of the common libraries: up to three requests if the
// connection breaks or the status is 408, 409, 429 or 5xx. If obeys is set, it obeys the header
// that tells clients not to retry, as some do.
type retrier struct {
	client *http.Client
	obeys  bool
}

func (r retrier) post(ctx context.Context, url, body string) (status, tries int, err error) {
	for tries = 1; ; tries++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return 0, tries, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := r.client.Do(req)
		again := err != nil
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			status = resp.StatusCode
			again = status == 408 || status == 409 || status == 429 || status >= 500
			if r.obeys && resp.Header.Get("X-Should-Retry") == "false" {
				again = false
			}
		}
		if !again || tries == 3 {
			return status, tries, err
		}
	}
}

// A client's automatic retries never repeat a turn whose tool has run, however it fails. They
// repeat one that failed before.
func TestChat_RetriesRunNoToolTwice(t *testing.T) {
	faults := map[string]error{
		"busy": agent.ErrBusy, "quota": fault(providers.KindQuota), "model down": fault(providers.KindUnavailable),
		"model slow": fault(providers.KindTimeout), "model cut": fault(providers.KindIncomplete),
		"not saved": agent.ErrNotSaved, "unknown": errors.New("x"), "deadline": context.DeadlineExceeded, "no end": nil,
	}
	for name, err := range faults {
		t.Run(name, func(t *testing.T) {
			for _, early := range []bool{false, true} {
				var effects atomic.Int64
				ts := live(t, config(t, script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
					yield(start())
					effects.Add(1)
					if !early {
						yield(toolCall())
					}
					return err
				})))
				for _, stream := range []bool{false, true} {
					for _, obeys := range []bool{false, true} {
						effects.Store(0)
						body := fmt.Sprintf(`{"stream":%v,`, stream) + question + `}`
						status, tries, _ := retrier{ts.Client(), obeys}.post(t.Context(), ts.URL+"/v1/chat/completions", body)
						if !early && (tries != 1 || effects.Load() != 1) {
							t.Errorf("stream %v, obeys %v: status %d, %d requests, %d effects", stream, obeys, status, tries, effects.Load())
						}
						if early && !obeys && tries != 3 {
							t.Errorf("without a tool: status %d, %d requests", status, tries)
						}
					}
				}
				ts.Client().CloseIdleConnections()
			}
		})
	}
}

// A stream is opened when its first tool starts, not when the tool has ended.
func TestChat_OpensBeforeTheFirstToolEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			time.Sleep(100 * time.Millisecond)
			yield(toolCall())
			time.Sleep(800 * time.Millisecond)
			yield(toolResult())
			yield(text("a"))
			yield(done())
			return nil
		}))
		w := &stamped{ResponseRecorder: httptest.NewRecorder(), begun: time.Now()}
		h.ServeHTTP(w, request(http.MethodPost, "/v1/chat/completions", `{"stream":true,`+question+`}`))
		if len(w.at) == 0 || !strings.HasPrefix(w.at[0], `100ms ": ok`) {
			t.Errorf("flushes: %q", w.at)
		}
	})
}

// A proxy that obeys the headers against buffering sends each word at once.
func TestChat_TextPassesAProxyAsItComes(t *testing.T) {
	next := make(chan struct{})
	ts := live(t, config(t, script(func(ctx context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
		yield(start())
		for i := range 3 {
			yield(text(fmt.Sprint("word", i)))
			select {
			case <-next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		yield(done())
		return nil
	})))
	target, err := url.Parse(ts.URL)
	if err != nil {
		t.Fatal(err)
	}
	own := &http.Transport{} // not the default one, whose connections every closing server closes
	defer own.CloseIdleConnections()
	forward := &httputil.ReverseProxy{Transport: own, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An answer that begins before the end of the request was read would close the request, and
		// with it the connection to the target.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	resp, err := proxy.Client().Post(proxy.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true,`+question+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all bytes.Buffer
	lines, seen := bufio.NewScanner(io.TeeReader(resp.Body, &all)), 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), fmt.Sprint("word", seen)) {
			seen++
			next <- struct{}{}
		}
	}
	if seen != 3 || !strings.HasSuffix(all.String(), "data: [DONE]\n\n") {
		t.Errorf("saw %d of 3 words in %q", seen, all.String())
	}
}

// The error for a busy model service has the Retry-After of that service.
func TestChat_BusyNamesItsWait(t *testing.T) {
	for kind, status := range map[providers.Kind]int{providers.KindUnavailable: 503, providers.KindQuota: 429} {
		w := post(handler(t, play(fault(kind), start())), `{`+question+`}`)
		if got := w.Header().Get("Retry-After"); w.Code != status || got != "2" {
			t.Errorf("%s: status %d, Retry-After %q", kind, w.Code, got)
		}
	}
}

// An answer that was withheld before its first word is a complete answer with the finish reason, in
// both forms.
func TestChat_WithheldAnswer(t *testing.T) {
	h := handler(t, play(nil, start(), answer.Event{Kind: answer.KindDone, Done: &answer.Done{Finish: providers.FinishContentFilter}}))
	content, finish, _ := readStream(t, post(h, `{"stream":true,`+question+`}`).Body.String())
	if content != "" || finish != "content_filter" {
		t.Errorf("stream: %q, finish %q", content, finish)
	}
	if w := post(h, `{`+question+`}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"content":"","refusal":null},"logprobs":null,"finish_reason":"content_filter"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
