package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/schemas"
	"molar/web"
	"molar/web/turns"
)

// A fullStore has servers, tools and a trace with everything that a page can show.
type fullStore struct {
	*fakeStore
	mu      sync.Mutex
	down    bool
	tools   []schemas.Tool
	servers []schemas.ServerStatus
	trace   json.RawMessage
	refused string // the tool that gemini has refused
}

func (f *fullStore) Tools() []schemas.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tools)
}

func (f *fullStore) Status() []schemas.ServerStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.servers)
}

func (f *fullStore) Trace(_ context.Context, _, id string) (json.RawMessage, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, false, errors.New("store: connection refused")
	}
	return f.trace, id == "t1", nil
}

// turn sets whether the store is down.
func (f *fullStore) turn(down bool) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(context.Context, *chromedp.Target) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.down = down
		return nil
	})
}

func (f *fullStore) List(context.Context, string, string, int, string) ([]schemas.Conversation, string, error) {
	return []schemas.Conversation{
		{ID: "c1", Title: "Does my grandmother's implant need another check this year?", Messages: 4, CreatedAt: created, UpdatedAt: created},
		{ID: "c2", Title: "Răng khôn mọc lệch", Messages: 2, CreatedAt: created, UpdatedAt: created},
	}, "", nil
}

func newFullStore() *fullStore {
	return &fullStore{fakeStore: &fakeStore{}, tools: fullTools(), servers: fullServers(), trace: json.RawMessage(turnTrace)}
}

func fullServers() []schemas.ServerStatus {
	return []schemas.ServerStatus{
		{
			Name: "family", State: schemas.StateReady, Transport: "stdio", Tools: 3, Protocol: "2025-11-25", Version: "1.2.0", Since: created, StartMS: 84,
			Stderr: []string{"level=INFO msg=\"family server is ready\" members=42", "level=WARN msg=\"slow query\" took=1.2s"},
		},
		{
			Name: "clinic", State: schemas.StateDegraded, Transport: "http", Tools: 1, Protocol: "2025-06-18", Since: created, StartMS: 310,
			Reason: "tools changed since they were approved", Pending: []string{"book_visit"}, Digest: "d1",
			Skipped: []string{"draw_chart: its schema is no object"},
		},
		{
			Name: "archive", State: schemas.StateFailed, Transport: "stdio", Since: created,
			Reason: "the program \"archive-mcp\" is not found; install it, or correct the command in molar.yaml",
			Stderr: []string{"exec: archive-mcp: not found"},
		},
	}
}

func fullTools() []schemas.Tool {
	tool := func(name, server, description, schema string, rules schemas.ToolRules) schemas.Tool {
		return schemas.Tool{ToolInfo: schemas.ToolInfo{
			Name: server + "__" + name, Server: server, ToolName: name, Description: description, InputSchema: json.RawMessage(schema),
		}, Rules: rules}
	}
	booking := tool("book_visit", "clinic", "Books a visit at the clinic.", `{"type":"object","properties":{"day":{"type":"string","format":"date"}},"required":["day"]}`,
		schemas.ToolRules{Policy: schemas.PolicyConfirm})
	booking.Withheld = "its definition changed since it was approved; see molar servers approve clinic"
	return []schemas.Tool{
		tool("search_family", "family", "Searches the members of the family by name, kinship or place.\nGive at least one word.", `{"type":"object","additionalProperties":false,
			"properties":{
				"query":{"type":"string","description":"Name or part of it","maxLength":120},
				"limit":{"type":"integer","description":"How many to return","minimum":1,"maximum":50,"default":5},
				"score":{"type":"number","minimum":0,"maximum":1},
				"kin":{"type":"string","enum":["parent","child","sibling"],"description":"Only this kinship"},
				"living":{"type":"boolean","description":"Only who is alive","default":true},
				"tags":{"type":"array","items":{"type":"string"},"description":"All of these tags"},
				"filter":{"type":"object","description":"Further conditions"}
			},"required":["query"]}`, schemas.ToolRules{ReadOnly: true}),
		tool("get_family_details", "family", "Gives all that is known of one member.", `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`, schemas.ToolRules{ReadOnly: true}),
		tool("add_note", "family", "Adds a note to a member.", `{"type":"object","properties":{"id":{"type":"string"},"text":{"type":"string","maxLength":4000}},"required":["id","text"]}`, schemas.ToolRules{Policy: schemas.PolicyConfirm}),
		booking,
	}
}

// turnTrace is the trace of a turn that called one tool twice, once without success.
const turnTrace = `{"turn_id":"t1","conversation_id":"c1","assistant":"dental","provider":"ollama","model":"qwen2.5:7b-instruct",
"route":"it answers and has the configured model","started":"2026-05-04T03:02:01Z","took_ms":4210,"status":"done","language":"en",
"question":"Does my grandmother's implant need another check this year?","question_sha256":"9f86","answer":"Yes: the last check was **14 months ago**, so one is due.","commentary":["Let me look for her."],
"verdict":{"pass":true,"sure":true,"by":"code","reason":"\"implant\" can only belong to the topic","score":4.2,"took_ms":0.4},
"memory":"6 messages and a summary were recalled",
"steps":[{"step":"guardrail","start_ms":1,"took_ms":0.4},{"step":"memory","start_ms":1,"took_ms":12},{"step":"search","start_ms":14,"took_ms":2},{"step":"answer","start_ms":16,"took_ms":4150},{"step":"save","start_ms":4170,"took_ms":38}],
"tools":[
 {"name":"family__search_family","offered":true,"reason":"the model called it","calls":[
  {"id":"k1","at":"2026-05-04T03:02:02.100Z","server":"family","tool":"search_family","arguments":"{\"query\":\"\"}","status":"invalid_arguments","output":"query: want at least one character","took_ms":1},
  {"id":"k2","at":"2026-05-04T03:02:03.400Z","server":"family","tool":"search_family","arguments":"{\"query\":\"grandmother\",\"limit\":5}","status":"ok","output":"{\"members\":[{\"id\":\"m7\",\"name\":\"Lê Thị Hoa\",\"last_check\":\"2025-03-01\"}]}","took_ms":420}]},
 {"name":"family__get_family_details","offered":true,"reason":"offered, and the model did not call it"},
 {"name":"family__add_note","offered":false,"reason":"the assistant's tools do not include it"},
 {"name":"clinic__book_visit","offered":false,"reason":"its definition changed since it was approved"}],
"passes":[
 {"pass":"tool","model":"qwen2.5:7b-instruct","prompt":"You help with teeth.\n\nuser: Does my grandmother's implant need another check this year?","tools_offered":2,"calls":[{"id":"k1","function":{"name":"family__search_family","arguments":"{\"query\":\"\"}"}}],"usage":{"prompt_tokens":412,"completion_tokens":18,"total_tokens":430},"start_ms":20,"first_output_ms":610,"took_ms":1070,"finish_reason":"tool_calls"},
 {"pass":"tool","model":"qwen2.5:7b-instruct","prompt":"You help with teeth.\n\ntool: query: want at least one character","tools_offered":2,"thinking":"I need a word.","calls":[{"id":"k2","function":{"name":"family__search_family","arguments":"{\"query\":\"grandmother\",\"limit\":5}"}}],"output":"Let me look for her.","usage":{"cached_tokens":412,"prompt_tokens":455,"completion_tokens":22,"total_tokens":477},"start_ms":1102,"first_output_ms":500,"took_ms":870,"finish_reason":"tool_calls"},
 {"pass":"answer","model":"qwen2.5:7b-instruct","prompt":"You help with teeth.","tools_offered":2,"output":"Yes: the last check was **14 months ago**, so one is due.","usage":{"prompt_tokens":590,"completion_tokens":40,"total_tokens":630},"start_ms":2402,"first_output_ms":380,"took_ms":1760,"finish_reason":"stop"}],
"done":{"finish_reason":"stop","provider":"ollama","model":"qwen2.5:7b-instruct","language":"en","saved":true,"usage":{"cached_tokens":1012,"prompt_tokens":1457,"completion_tokens":80,"total_tokens":1537},"model_calls":3,"tool_calls":2,"warnings":["clinic is degraded: one tool is withheld"]}}`

// ollamaModels returns more models than are listed without a filter.
func ollamaModels() []string {
	models := []string{"qwen2.5:3b-instruct", "qwen2.5:7b-instruct"}
	for i := range 10 {
		models = append(models, fmt.Sprintf("llama3.%d:8b", i))
	}
	return models
}

// fullConfig returns a config with everything that the pages can show, and its store, which a test
// can take down.
func fullConfig(t *testing.T, run turns.Runner) (web.Config, *fullStore) {
	t.Helper()
	cfg := operated(t, run)
	store := newFullStore()
	cfg.Conversations, cfg.Tools, cfg.Servers, cfg.Traces = store, store, store, store
	cfg.Operations.SwitchTool = func(_ context.Context, name string, on bool) error {
		store.mu.Lock()
		defer store.mu.Unlock()
		for i := range store.tools {
			if store.tools[i].Name == name {
				store.tools[i].Off, store.tools[i].Withheld = !on, map[bool]string{false: "it is switched off"}[on]
			}
		}
		return nil
	}
	cfg.Operations.Refusals = func(tool schemas.Tool) []schemas.Refusal {
		store.mu.Lock()
		defer store.mu.Unlock()
		if tool.Name != store.refused {
			return nil
		}
		return []schemas.Refusal{{Provider: "gemini", Tool: tool.Name, Reason: "parameters.id: missing field", At: time.Now()}}
	}
	cfg.Operations.ForgetRefusals = func(_ context.Context, name string) error {
		store.mu.Lock()
		defer store.mu.Unlock()
		if name == store.refused {
			store.refused = ""
		}
		return nil
	}
	cfg.Operations.CallTool = func(_ context.Context, _ string, args json.RawMessage) (web.ToolOutcome, error) {
		output, err := json.Marshal(map[string]json.RawMessage{"asked": args})
		return web.ToolOutcome{Status: "ok", Took: 37 * time.Millisecond, Result: schemas.ToolResult{ToolName: "search_family", Server: "family", Output: output}}, err
	}
	cfg.Operations.ApproveServer = func(_ context.Context, server, digest string) ([]string, error) {
		if server != "clinic" || digest != "d1" {
			return nil, fmt.Errorf("%w: the tools changed again; look at them once more", web.ErrConflict)
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		store.servers[1].State, store.servers[1].Reason, store.servers[1].Pending = schemas.StateReady, "", nil
		return []string{"book_visit"}, nil
	}
	cfg.Operations.Providers = func(context.Context) []web.Provider {
		return []web.Provider{
			{Name: "gemini", Model: "gemini-2.5-flash", SmallModel: "gemini-2.5-flash-lite"},
			{Name: "openai", Missing: "set OPENAI_API_KEY"},
			{Name: "ollama", Model: "qwen2.5:7b-instruct", SmallModel: "qwen2.5:3b-instruct", Models: ollamaModels()},
			{Name: "offline"},
		}
	}
	cfg.Operations.Settings = func() web.Settings {
		return web.Settings{File: "/etc/molar/molar.yaml", Settings: []schemas.Setting{
			{Key: "listen", Value: "127.0.0.1:8000"},
			{Key: "llm.provider", Value: "ollama, gemini", Origin: "/etc/molar/molar.yaml:3"},
			{Key: "llm.gemini.model", Value: "gemini-2.5-flash"},
			{Key: "llm.gemini.small_model", Value: "gemini-2.5-flash-lite"},
			{Key: "llm.ollama.base_url", Value: "http://127.0.0.1:11434", Origin: "OLLAMA_HOST"},
			{Key: "llm.ollama.model", Value: "qwen2.5:7b-instruct", Origin: "/etc/molar/molar.yaml:6"},
			{Key: "llm.ollama.small_model", Value: "qwen2.5:3b-instruct"},
			{Key: "GEMINI_API_KEY", Value: "***", Origin: "environment", Secret: true},
			{Key: "OPENAI_API_KEY"},
			{Key: "mcpServers.family", Value: "command family-server", Origin: "/etc/molar/molar.yaml:14"},
			{Key: "limits.rounds", Value: "6", Origin: "command line"},
		}}
	}
	return cfg, store
}

// A look is a window size and a colour scheme.
type look struct {
	name          string
	width, height int64
	scheme        string
}

// looks returns four sizes, each in light and dark.
func looks() []look {
	var all []look
	for _, width := range []int64{320, 768, 1280, 1920} {
		for _, scheme := range []string{"light", "dark"} {
			all = append(all, look{fmt.Sprintf("%d-%s", width, scheme), width, 900, scheme})
		}
	}
	return all
}

// see sets the size of the window and the preferred colour scheme. It disables animations, so that
// no check happens in the middle of one.
func (l look) see() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(l.width, l.height)); err != nil {
			return err
		}
		var none struct{}
		return target.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": l.scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}},
		}, &none)
	})
}

// shoot stores a picture of the page as an artefact of the test.
func shoot(t *testing.T, name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if !keepsPictures() {
			return nil
		}
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), png, 0o600)
	})
}

// js runs JavaScript and ignores its value.
func js(code string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](code)
}

// fitsWidth fails the test if a page is wider than its window.
func fitsWidth(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(() => {
			const width = document.documentElement.clientWidth;
			if (document.documentElement.scrollWidth <= width) return "";
			return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1)
				.map((e) => e.tagName + "." + e.className).slice(0, 6).join(", ") || "an element";
		})()`))
		if err == nil && wide != "" {
			return fmt.Errorf("%s is wider than its window: %s", name, wide)
		}
		return err
	})
}

// toolTurn plays a turn with a tool call, for pages that show its results.
func toolTurn() script { return play(nil, start(), toolCall(), toolResult(), text("Hello"), done()) }

// until waits until a script's condition, of any type, is true. An error of the script counts as
// false, for elements that do not exist yet.
func until(condition string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		wait := await("(() => { try { return Boolean(" + condition + "); } catch { return false; } })()")
		err := chromedp.Do(ctx, wait)
		for range 3 { // a wait ends with an error when the page is replaced by another
			if err == nil || !strings.Contains(err.Error(), "context") && !strings.Contains(err.Error(), "navigated") {
				break
			}
			err = chromedp.Do(ctx, wait)
		}
		if err != nil {
			return fmt.Errorf("wait for %s: %w", condition, err)
		}
		return nil
	})
}
