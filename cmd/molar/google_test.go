package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A geminiStub speaks Gemini's streaming wire and records its requests.
type geminiStub struct {
	url   string
	mu    sync.Mutex
	calls []string // "judge", "search" or "answer", in order
	open  int      // calls under way
	most  int
}

func startGemini(t *testing.T) *geminiStub {
	t.Helper()
	g := &geminiStub{}
	server := httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *geminiStub) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	kind, answer := "answer", `{"candidates":[{"content":{"role":"model","parts":[{"text":"Ask your dentist."}]},"finishReason":"STOP"}]}`
	switch {
	case strings.Contains(string(body), `"googleSearch"`):
		kind = "search"
		answer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"A bridge closes a gap."}]},"finishReason":"STOP","groundingMetadata":{` +
			`"webSearchQueries":["q"],"groundingChunks":[{"web":{"uri":"https://a.example/bridge","title":"a.example"}}],` +
			`"groundingSupports":[{"segment":{"endIndex":22,"text":"A bridge closes a gap."},"groundingChunkIndices":[0]}]}}],` +
			`"usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":1000,"candidatesTokenCount":20,"totalTokenCount":1030}}`
	case strings.Contains(r.URL.Path, "flash-lite"):
		kind = "judge"
		answer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"YES"}]},"finishReason":"STOP"}]}`
	}
	g.mu.Lock()
	g.calls = append(g.calls, kind)
	g.open++
	g.most = max(g.most, g.open)
	g.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %s\n\n", answer)
	g.mu.Lock()
	g.open--
	g.mu.Unlock()
}

// runMolar runs a command with a separate home folder and, when there is a stub, a key for Gemini.
func runMolar(t *testing.T, g *geminiStub, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env := homeEnv(t, nil)
	text := "{}"
	if g != nil {
		env["GEMINI_API_KEY"] = "AIza-test-key"
		text = "llm: {gemini: {base_url: \"" + g.url + "\"}}\n"
	}
	var out, faults bytes.Buffer
	args = append(args, "--config", writeFile(t, "molar.yaml", text))
	code = execute(t.Context(), args, lookup(env), strings.NewReader(""), &out, &faults)
	return code, out.String(), faults.String()
}

// A question on which code is not sure costs three calls, one after the other:
// guardrail, search, answer.
func TestDentalGoogle_ThreeSerialModelCalls(t *testing.T) {
	t.Parallel()
	g := startGemini(t)
	code, stdout, stderr := runMolar(t, g, "chat", "--assistant", "dental-google", "Is it better to have a bridge or an implant put in?")
	if code != 0 || !strings.Contains(stdout, "Ask your dentist.") || !strings.Contains(stdout, "https://a.example/bridge") {
		t.Fatalf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	got := strings.Join(g.calls, " ")
	if got != "judge search answer" && got != "search answer" || g.most != 1 {
		t.Errorf("calls %q, %d at once", got, g.most)
	}
	t.Logf("model calls: %s", got)
}

func TestGoogleSearch_FromTheCommandLine(t *testing.T) {
	t.Parallel()
	g := startGemini(t)
	code, stdout, stderr := runMolar(t, g, "tools", "call", "tool-server__google_search", `{"query":"dental bridge"}`)
	if code != 0 || !strings.Contains(stdout, "https://a.example/bridge") || !strings.Contains(stdout, "A bridge closes a gap.") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
}

// A search is a call of a model: it is on the bill, and needs a budget that pays for it.
func TestGoogleSearch_OnTheBill(t *testing.T) {
	t.Parallel()
	g := startGemini(t)
	config := writeFile(t, "molar.yaml", "llm: {gemini: {base_url: \""+g.url+"\"}}\nmemory: {store: ./molar.db}\nbudgets: {all: {per: month, tokens: 1000}}\n")
	env := homeEnv(t, nil)
	env["GEMINI_API_KEY"] = "AIza-test-key"
	run := func(args ...string) (stdout, stderr string) {
		var out, faults bytes.Buffer
		execute(t.Context(), append(args, "--config", config), lookup(env), strings.NewReader(""), &out, &faults)
		return out.String(), faults.String()
	}
	search := func() string {
		stdout, stderr := run("tools", "call", "tool-server__google_search", `{"query":"dental bridge"}`)
		return stdout + stderr
	}
	if text := search(); !strings.Contains(text, "https://a.example/bridge") {
		t.Errorf("the first search: %s", text)
	}
	if text := search(); !strings.Contains(text, "this month's budget is used up") || len(g.calls) != 1 {
		t.Errorf("the second search: %s, %d calls", text, len(g.calls))
	}
	if bill, faults := run("usage", "--by", "provider", "--csv"); !strings.Contains(bill, "\ngemini,1,1010,0,20,") {
		t.Errorf("the bill: %s%s", bill, faults)
	}
}

func TestDentalGoogle_WithoutAKey(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runMolar(t, nil, "chat", "--assistant", "dental-google", "What helps against a toothache?")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "set GEMINI_API_KEY") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if _, stdout, _ := runMolar(t, nil, "tools", "list"); strings.Contains(stdout, "google_search") || !strings.Contains(stdout, "duckduckgo_search") {
		t.Errorf("tools without a key:\n%s", stdout)
	}
	s := serveHost(t, writeFile(t, "molar.yaml", "{}"), nil)
	for _, stream := range []bool{false, true} {
		status, body := s.do(t, http.MethodPost, "/v1/chat/completions", questionBody("dental-google", "", "What helps against a toothache?", stream))
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "set GEMINI_API_KEY") {
			t.Errorf("stream %v: status %d: %s", stream, status, body)
		}
	}
}

func TestDuckDuckGo_FromTheCommandLine(t *testing.T) {
	t.Parallel()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("q") == "blocked" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = io.WriteString(w, `<div id="links"><div class="result web-result"><h2><a class="result__a" `+
			`href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fdecay">Tooth decay</a></h2><a class="result__snippet">How it forms.</a></div></div>`)
	}))
	t.Cleanup(engine.Close)
	config := writeFile(t, "molar.yaml", "search: {duckduckgo: {base_url: \""+engine.URL+"/html/\"}}\n")
	for query, want := range map[string]string{"decay": "https://a.example/decay", "blocked": "DuckDuckGo blocked the search"} {
		var out, faults bytes.Buffer
		args := []string{"tools", "call", "tool-server__duckduckgo_search", `{"query":"` + query + `"}`, "--config", config}
		code := execute(t.Context(), args, lookup(homeEnv(t, nil)), strings.NewReader(""), &out, &faults)
		if (code == 0) != (query == "decay") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d\n%s\n%s", query, code, out.String(), faults.String())
		}
	}
}
