package main

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
	"molar/internal/testkit/models"
	"molar/internal/testkit/stubmcp"
)

// stubServer serves a counting MCP server over streamable HTTP on loopback.
func stubServer(t *testing.T, cfg stubmcp.Config) (stub *stubmcp.Server, url string) {
	t.Helper()
	stub = stubmcp.New(cfg)
	web := httptest.NewServer(stub)
	t.Cleanup(web.Close)
	return stub, web.URL
}

// stubConfig attaches the server at url to an assistant of each flow.
func stubConfig(t *testing.T, url, server string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", `
default: agentic
llm: {provider: ollama}
assistants:
  agentic: {description: x, tools: ["stub__*"]}
  two-pass: {description: x, tools: ["stub__*"], flow: two-pass}
  thorough: {description: x, tools: ["stub__*"], flow: two-pass, direct_answer: false}
mcpServers:
  stub: {url: "`+url+`"`+server+`}
memory: {store: ./molar.db}
`)
}

func passes(calls []models.Request) []models.Pass {
	var p []models.Pass
	for _, c := range calls {
		p = append(p, c.Pass)
	}
	return p
}

// One tool round costs two model calls in either flow, and no tool wanted costs one.
// The catalogue is discovered once, never inside a turn.
func TestTurn_ModelCalls(t *testing.T) {
	t.Parallel()
	stub, url := stubServer(t, stubmcp.Config{})
	model := startModel(t, models.Config{
		Tool: stubmcp.ToolName, Args: []byte(`{"family_id":"1a955fff"}`),
		Script: func(r models.Request) *models.Reply {
			if strings.Contains(r.LastUser, "without a tool") {
				return models.Text("No tool was needed.")
			}
			return nil
		},
	})
	s := serveHost(t, stubConfig(t, url, ""), model)
	s.stdout.wait(t, "server: stub ready (http), 7 tools", nil)
	lists := stub.Lists()
	tests := []struct {
		assistant, question string
		passes              []models.Pass
		offered             []int // tools offered in each call
		tools               int   // calls of tools
	}{
		{"agentic", "Who is in the family?", []models.Pass{models.PassTool, models.PassText}, []int{7, 7}, 1},
		{"two-pass", "Who is in the family?", []models.Pass{models.PassTool, models.PassText}, []int{7, 0}, 1},
		{"agentic", "Say it without a tool", []models.Pass{models.PassTool}, []int{7}, 0},
		{"two-pass", "Say it without a tool", []models.Pass{models.PassTool}, []int{7}, 0},
		{"thorough", "Say it without a tool", []models.Pass{models.PassTool, models.PassText}, []int{7, 0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.assistant+": "+tt.question, func(t *testing.T) {
			model.Reset()
			before := stub.Calls()
			a := s.stream(t, tt.assistant, "", tt.question)
			if a.finish != "stop" || a.molar.ModelCalls != len(tt.passes) {
				t.Errorf("answer %+v", a)
			}
			calls := asked(model)
			if diff := cmp.Diff(tt.passes, passes(calls)); diff != "" {
				t.Fatalf("model calls (-want +got)\n%s", diff)
			}
			for i, c := range calls {
				if len(c.Tools) != tt.offered[i] {
					t.Errorf("call %d offers %d tools, want %d", i+1, len(c.Tools), tt.offered[i])
				}
			}
			if got := stub.Calls() - before; got != tt.tools {
				t.Errorf("%d tool calls, want %d", got, tt.tools)
			}
		})
	}
	if got := stub.Lists(); got != lists {
		t.Errorf("%d tools/list requests came inside turns", got-lists)
	}
}

// A result reaches the model as itself, in a message of role tool, and in no other message.
func TestTurn_ResultStandsAsItself(t *testing.T) {
	t.Parallel()
	_, url := stubServer(t, stubmcp.Config{})
	model := startModel(t, models.Config{Tool: stubmcp.ToolName, Args: []byte(`{"family_id":"1a955fff"}`)})
	s := serveHost(t, stubConfig(t, url, ""), model)
	s.stdout.wait(t, "server: stub ready", nil)
	s.ask(t, "agentic", "", "Who is in the family?")
	second := asked(model)[1]
	var body struct {
		Messages []struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			ToolCalls []any  `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := second.Decode(&body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"system", "user", "assistant", "tool"}, second.Roles); diff != "" {
		t.Fatalf("roles (-want +got)\n%s", diff)
	}
	if result := body.Messages[3].Content; !strings.HasPrefix(result, `{"family_id":"1a955fff"`) || !strings.Contains(result, "1980-02-11") {
		t.Errorf("result %s", result)
	}
	if !strings.Contains(body.Messages[0].Content, "whatever a tool returns, is material") {
		t.Errorf("the system prompt does not speak of results:\n%s", body.Messages[0].Content)
	}
	if n := len(body.Messages[2].ToolCalls); n != 1 {
		t.Errorf("the assistant's message holds %d calls", n)
	}
	for i, message := range body.Messages[:3] {
		if strings.Contains(message.Content, "1980-02-11") {
			t.Errorf("message %d repeats the result", i)
		}
	}
}

// webSearch serves a page of results in the place of DuckDuckGo and counts searches.
func webSearch(t *testing.T) (url string, searches *atomic.Int64) {
	t.Helper()
	page, err := os.ReadFile("../../mcpservers/search/testdata/results.html")
	if err != nil {
		t.Fatal(err)
	}
	searches = new(atomic.Int64)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		searches.Add(1)
		_, _ = w.Write(page)
	}))
	t.Cleanup(web.Close)
	return web.URL, searches
}

// A question that code is sure of costs one model call, an unsure one two; nothing
// is searched for before the verdict.
func TestTurn_Guardrail(t *testing.T) {
	t.Parallel()
	url, searches := webSearch(t)
	verdict, atVerdict := atomic.Value{}, atomic.Int64{}
	verdict.Store("YES")
	model := startModel(t, models.Config{
		FirstToken: 20 * time.Millisecond, // room for a search that does not wait
		Script: func(r models.Request) *models.Reply {
			if r.Pass == models.PassJudge && !isWarmUp(r) { // which may come late
				atVerdict.Store(searches.Load())
				return models.Text(verdict.Load().(string))
			}
			if r.Pass == models.PassText {
				return models.Text("Brush your teeth twice a day, and let a dentist look at a tooth that hurts.")
			}
			return nil
		},
	})
	s := serveHost(t, writeFile(t, "molar.yaml", `
default: dental
llm: {provider: ollama}
assistants:
  dental: {description: x, topic: dental, search: [duckduckgo_search]}
search: {duckduckgo: {base_url: "`+url+`/html/"}}
memory: {store: ./molar.db}
`), model)
	const judge, text = models.PassJudge, models.PassText
	tests := []struct {
		name, question, verdict string
		passes                  []models.Pass
		searches                int64
		refused                 bool
	}{
		{"code is sure that it belongs", "How often should I brush my teeth?", "NO", []models.Pass{text}, 1, false},
		{"the model lets it pass", "I feel a dull pain when I chew on the left side", "YES", []models.Pass{judge, text}, 1, false},
		{"the model refuses it", "I feel a dull pain when I chew on the right side", "NO", []models.Pass{judge}, 0, true},
		{"code is sure that it does not", "Viết cho tôi một bài thơ về kênh đào Panama", "YES", nil, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model.Reset()
			verdict.Store(tt.verdict)
			searches.Store(0)
			a := s.stream(t, "dental", "", tt.question)
			if diff := cmp.Diff(tt.passes, passes(asked(model))); diff != "" {
				t.Errorf("model calls (-want +got)\n%s", diff)
			}
			if got := searches.Load(); got != tt.searches || atVerdict.Load() != 0 {
				t.Errorf("%d searches, %d of them before the verdict", got, atVerdict.Load())
			}
			if a.molar.Refused != tt.refused || a.molar.Saved == tt.refused || a.text == "" {
				t.Errorf("answer %+v", a)
			}
			status, body := s.do(t, http.MethodGet, "/v1/conversations/"+a.conversation, "")
			if refused := status == http.StatusNotFound; refused != tt.refused {
				t.Errorf("conversation: %d %s", status, body)
			}
		})
	}
}

// The prompt holds search results as fenced data, and the answer ends with their links.
func TestTurn_SearchGivesSources(t *testing.T) {
	t.Parallel()
	url, _ := webSearch(t)
	model := startModel(t, models.Config{Tokens: 5})
	s := serveHost(t, writeFile(t, "molar.yaml", `
default: dental
llm: {provider: ollama}
assistants:
  dental: {description: x, topic: dental, search: [duckduckgo_search]}
search: {duckduckgo: {base_url: "`+url+`/html/"}}
memory: {store: ./molar.db}
`), model)
	a := s.stream(t, "", "", "Nhổ răng khôn có đau không?") // code is sure, so the first call answers
	if !strings.Contains(a.text, "\n\nNguồn tham khảo:\n\n") || !strings.Contains(a.text, "https://www.example.org/tooth-decay") {
		t.Errorf("answer without sources:\n%s", a.text)
	}
	prompt := asked(model)[0]
	if !regexp.MustCompile(`Thông tin tìm kiếm:\n<data source="tool-server">\n\[1\] `).MatchString(prompt.LastUser) {
		t.Errorf("prompt:\n%s", prompt.LastUser)
	}
	if slices.Contains(prompt.Roles, "tool") {
		t.Error("a code-driven result poses as the result of a call")
	}
	var trace struct {
		Tools []struct{ Name, Reason string }
	}
	s.get(t, "/v1/turns/"+a.molar.TurnID, &trace)
	if len(trace.Tools) == 0 || !strings.Contains(trace.Tools[0].Reason, "code-driven") {
		t.Errorf("trace %+v", trace)
	}
}

// A turn without a trace is shown with its stored messages, and only to its owner.
func TestTurn_Untraced(t *testing.T) {
	t.Parallel()
	s := serveHost(t, plainConfig(t, "telemetry: {trace: off}\n"), startModel(t, models.Config{}))
	a := s.ask(t, "plain", "chat_untraced", "Who is in the family?")
	var trace answer.Trace
	s.get(t, "/v1/turns/"+a.molar.TurnID, &trace)
	if trace.Started.IsZero() || trace.TookMS < 0 {
		t.Errorf("begun %v, took %v ms", trace.Started, trace.TookMS)
	}
	want := answer.Trace{
		TurnID: a.molar.TurnID, ConversationID: "chat_untraced", Assistant: "plain", Status: "done", Untraced: true,
		Question: "Who is in the family?", Answer: a.text, Started: trace.Started, TookMS: trace.TookMS,
		Tools: []answer.ToolTrace{}, Passes: []answer.PassTrace{},
	}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if status, body := s.do(t, http.MethodGet, "/v1/turns/unknown", ""); status != http.StatusNotFound {
		t.Errorf("an unknown id: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodDelete, "/v1/conversations/chat_untraced", ""); status >= 300 {
		t.Errorf("delete: %d %s", status, body)
	}
	if status, body := s.do(t, http.MethodGet, "/v1/turns/"+a.molar.TurnID, ""); status != http.StatusNotFound {
		t.Errorf("a deleted turn: %d %s", status, body)
	}
}

// The client that stops a turn is told exactly what is stored of it.
func TestTurn_StoppedSaysWhatIsKept(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 4000, LineEvery: 1, Interval: 20 * time.Millisecond})
	s := serveHost(t, plainConfig(t, ""), model)
	for _, c := range []struct{ field, with, want string }{
		{`"molar":{`, "", "keeps what it had answered, as interrupted"},
		{`"molar":{`, `"detach":true,`, "keeps what it had answered, as interrupted"},
		{`{`, `"store":false,`, "keeps nothing of it"},
	} {
		body := strings.Replace(questionBody("plain", "", "Count", true), c.field, c.field+c.with, 1)
		res, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), "tok3") {
		}
		if status, told := s.do(t, http.MethodDelete, "/v1/turns/"+res.Header.Get("X-Turn-Id"), ""); status != http.StatusOK {
			t.Fatalf("stop: %d %s", status, told)
		}
		rest := ""
		for lines.Scan() {
			rest += lines.Text()
		}
		if want := "the turn was stopped; its conversation " + c.want; !strings.Contains(rest, want) {
			t.Errorf("with %s told %s", c.with, rest[max(0, len(rest)-300):])
		}
	}
}
