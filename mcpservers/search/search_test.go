package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/testkit/packs"
	"molar/mcpservers"
	"molar/mcpservers/knowledge"
	"molar/mcpservers/search"
)

// engine returns a tool server whose searches are answered by the handler, in the form of
// DuckDuckGo's HTML page.
func engine(t *testing.T, answer http.HandlerFunc) *mcpservers.Dispatcher {
	t.Helper()
	upstream := httptest.NewServer(answer)
	t.Cleanup(upstream.Close)
	return newServer(t, search.DuckDuckGoConfig{BaseURL: upstream.URL + "/html/", HTTPClient: upstream.Client()})
}

// withGoogle returns a tool server with the tool google_search, answered by f.
func withGoogle(t *testing.T, f func(context.Context, string) ([]search.Result, error)) *mcpservers.Dispatcher {
	t.Helper()
	d, err := search.New(search.Config{Google: f})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newServer(t *testing.T, c search.DuckDuckGoConfig) *mcpservers.Dispatcher {
	t.Helper()
	d, err := search.New(search.Config{DuckDuckGo: c, Folders: []*knowledge.Folder{dentalGuide(t)}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dentalGuide returns the guide of the dental topic, a folder that the caller of the server gives.
func dentalGuide(t *testing.T) *knowledge.Folder {
	t.Helper()
	guide, err := knowledge.Open(knowledge.Config{Name: "dental_guide_search", About: "Search the dental guide.", Files: packs.DentalGuide(), Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guide.Close)
	return guide
}

// What somebody else wrote is no more the host's own text than a page of the web.
func TestServer_ForeignGuide(t *testing.T) {
	guide, err := knowledge.Open(knowledge.Config{Name: "tax_guide_search", Files: packs.DentalGuide(), Foreign: true, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guide.Close)
	d, err := search.New(search.Config{Folders: []*knowledge.Folder{guide, dentalGuide(t)}})
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name        string
			Annotations struct{ OpenWorldHint bool }
		}
	}
	request(t, d, "tools/list", map[string]any{}, &list)
	open := make(map[string]bool)
	for _, tool := range list.Tools {
		open[tool.Name] = tool.Annotations.OpenWorldHint
	}
	if want := map[string]bool{"duckduckgo_search": true, "tax_guide_search": true, "dental_guide_search": false}; !cmp.Equal(want, open) {
		t.Errorf("open to what others wrote: %v, want %v", open, want)
	}
}

type toolAnswer struct {
	Content           []struct{ Type, Text string }
	StructuredContent struct{ Results []search.Result }
	IsError           bool
}

func (a toolAnswer) text() string {
	if len(a.Content) != 1 {
		return fmt.Sprintf("%d parts", len(a.Content))
	}
	return a.Content[0].Text
}

// request sends one JSON-RPC request and decodes its result into v.
func request(t *testing.T, d *mcpservers.Dispatcher, method string, params, v any) {
	t.Helper()
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(d.Handle(t.Context(), "test", msg), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Error != nil {
		t.Fatalf("%s: %s", method, answer.Error)
	}
	if err := json.Unmarshal(answer.Result, v); err != nil {
		t.Fatal(err)
	}
}

func call(t *testing.T, d *mcpservers.Dispatcher, tool string, args map[string]any) toolAnswer {
	t.Helper()
	var a toolAnswer
	request(t, d, "tools/call", map[string]any{"name": tool, "arguments": args}, &a)
	return a
}

func TestNew_RejectsBadInput(t *testing.T) {
	for _, c := range []search.DuckDuckGoConfig{
		{BaseURL: "html.duckduckgo.com"}, {BaseURL: "ftp://x/"}, {BaseURL: "://"}, {Timeout: -time.Second},
	} {
		if _, err := search.New(search.Config{DuckDuckGo: c}); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestServer_ListsItsTools(t *testing.T) {
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Type       string
				Properties map[string]struct{ Type, Description string }
				Required   []string
			}
			Annotations struct{ ReadOnlyHint bool }
		}
	}
	request(t, newServer(t, search.DuckDuckGoConfig{}), "tools/list", map[string]any{}, &list)
	if len(list.Tools) != 2 {
		t.Fatalf("got %d tools, want 2", len(list.Tools))
	}
	for _, tool := range list.Tools {
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" || tool.InputSchema.Type != "object" {
			t.Errorf("tool %+v lacks its description, hint or schema", tool)
		}
		if diff := cmp.Diff([]string{"query"}, tool.InputSchema.Required); diff != "" {
			t.Error(tool.Name, diff)
		}
		if tool.Name == "duckduckgo_search" {
			want := "Search query - should be specific and descriptive for best results"
			if got := tool.InputSchema.Properties["query"].Description; got != want || len(tool.InputSchema.Properties) != 1 {
				t.Errorf("properties %+v", tool.InputSchema.Properties)
			}
		}
	}
}

func TestDuckDuckGo_AsksPolitelyAndFormats(t *testing.T) {
	html, err := os.ReadFile("testdata/results.html")
	if err != nil {
		t.Fatal(err)
	}
	var asked *http.Request
	d := engine(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		asked = r
		_, _ = w.Write(html)
	})
	a := call(t, d, "duckduckgo_search", map[string]any{"query": " sâu răng\n nguyên nhân "})
	if a.IsError {
		t.Fatal(a.text())
	}
	if q, kl := asked.Form.Get("q"), asked.Form.Get("kl"); q != "sâu răng nguyên nhân" || kl != "vn-vi" {
		t.Errorf("asked for %q in region %q", q, kl)
	}
	if agent := asked.Header.Get("User-Agent"); !strings.Contains(agent, "Molar") {
		t.Errorf("User-Agent is %q", agent)
	}
	for _, h := range []string{"Accept", "Accept-Language", "Referer"} {
		if asked.Header.Get(h) == "" {
			t.Errorf("header %s is missing", h)
		}
	}
	want := "Title: Sâu răng: nguyên nhân & cách phòng\nContent: Vi khuẩn biến đường thành axit làm hỏng men răng.\nLink: https://clinic.example/s%C3%A2u-r%C4%83ng?a=1&b=2" +
		"\n---\nTitle: Tooth decay\nContent: How cavities form.\nLink: https://www.example.org/tooth-decay" +
		"\n---\nTitle: No snippet\nContent: \nLink: http://no-snippet.example/"
	if diff := cmp.Diff(want, a.text()); diff != "" {
		t.Error(diff)
	}
	if r := a.StructuredContent.Results; len(r) != 3 || r[0].Score != 1 || r[1].Score != 0.5 {
		t.Errorf("structured results %+v", r)
	}
}

func TestDuckDuckGo_AtMostFiveResults(t *testing.T) {
	d := engine(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 30 {
			fmt.Fprintf(w, `<div class="result web-result"><a class="result__a" href="https://a.example/%d">Page %d</a></div>`, i, i)
		}
	})
	if n := len(call(t, d, "duckduckgo_search", map[string]any{"query": "x"}).StructuredContent.Results); n != 5 {
		t.Errorf("got %d results, want 5", n)
	}
}

func TestDuckDuckGo_Faults(t *testing.T) {
	blocked, err := os.ReadFile("testdata/blocked.html")
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := os.ReadFile("testdata/nothing.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		status  int
		body    string
		want    string
		isError bool
	}{
		{"challenge with 202", 202, string(blocked), "blocked", true},
		{"challenge with 200", 200, string(blocked), "blocked", true},
		{"forbidden", 403, "", "blocked", true},
		{"too many", 429, "", "blocked", true},
		{"broken", 500, "", "status 500", true},
		{"redirected away", 404, "", "status 404", true},
		{"nothing found", 200, string(nothing), "No results.", false},
		{"endless page", 200, strings.Repeat("<p>", 1<<20), "unknown form", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := engine(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			a := call(t, d, "duckduckgo_search", map[string]any{"query": "implant"})
			if a.IsError != tc.isError || !strings.Contains(a.text(), tc.want) {
				t.Errorf("isError %v, text %q; want %v and %q", a.IsError, a.text(), tc.isError, tc.want)
			}
		})
	}
}

func TestDuckDuckGo_Unreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	d := newServer(t, search.DuckDuckGoConfig{BaseURL: gone.URL})
	a := call(t, d, "duckduckgo_search", map[string]any{"query": "implant"})
	if !a.IsError || !strings.Contains(a.text(), "cannot be reached") || !strings.Contains(a.text(), "check the connection") {
		t.Errorf("got %+v", a)
	}
}

func TestDuckDuckGo_TimesOut(t *testing.T) {
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer upstream.Close()
	defer close(release)
	d := newServer(t, search.DuckDuckGoConfig{BaseURL: upstream.URL, Timeout: 20 * time.Millisecond})
	a := call(t, d, "duckduckgo_search", map[string]any{"query": "implant"})
	if !a.IsError || !strings.Contains(a.text(), "did not answer within 20ms") {
		t.Errorf("got %+v", a)
	}
}

func TestDuckDuckGo_CancelledCallStops(t *testing.T) {
	d := engine(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	msg := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"duckduckgo_search","arguments":{"query":"x"}}}`)
	if answer := string(d.Handle(ctx, "test", msg)); !strings.Contains(answer, "cancelled") {
		t.Errorf("got %s", answer)
	}
}

func TestGuideTool(t *testing.T) {
	d := newServer(t, search.DuckDuckGoConfig{})
	for _, tc := range []struct {
		name    string
		args    map[string]any
		want    string
		isError bool
	}{
		{"vi", map[string]any{"query": "Mới nhổ răng hôm qua thì nên ăn gì?"}, "Title: Chăm sóc sau nhổ răng (NHS)", false},
		{"vi without marks", map[string]any{"query": "cach chua hoi mieng"}, "Title: Hôi miệng (NHS)", false},
		{"en", map[string]any{"query": "Is a root canal painful?"}, "Title: Root canal treatment (NHS)", false},
		{"link", map[string]any{"query": "hôi miệng", "language": "vi"}, "\nLink: https://www.nhs.uk/", false},
		{"outside", map[string]any{"query": "What is the capital of France?"}, "No results.", false},
		{"language", map[string]any{"query": "implant", "language": "fr"}, `use "vi" or "en"`, true},
		{"no query", map[string]any{}, "missing", true},
		{"blank query", map[string]any{"query": " \n"}, "empty", true},
		{"number", map[string]any{"query": 7}, "missing or no text", true},
		{"huge", map[string]any{"query": strings.Repeat("sâu răng ", 20000)}, "Title: Sâu răng", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := call(t, d, "dental_guide_search", tc.args)
			if a.IsError != tc.isError || !strings.Contains(a.text(), tc.want) {
				t.Errorf("isError %v, text %.200q; want %v and %q", a.IsError, a.text(), tc.isError, tc.want)
			}
			if !a.IsError && a.StructuredContent.Results == nil {
				t.Error("structured results are missing")
			}
		})
	}
}

func TestGoogleTool(t *testing.T) {
	var asked string
	d := withGoogle(t, func(_ context.Context, query string) ([]search.Result, error) {
		asked = query
		return slices.Repeat([]search.Result{{Title: "Implant\nguide", Content: "What it is.", Link: "https://a.example/"}}, 7), nil
	})
	a := call(t, d, "google_search", map[string]any{"query": " dental\n implant "})
	if a.IsError || asked != "dental implant" || len(a.StructuredContent.Results) != 5 {
		t.Errorf("asked %q: %+v", asked, a)
	}
	if want := "Title: Implant guide\nContent: What it is.\nLink: https://a.example/\n---\nTitle: "; !strings.HasPrefix(a.text(), want) {
		t.Errorf("got %q", a.text())
	}
	d = withGoogle(t, func(context.Context, string) ([]search.Result, error) { return nil, errors.New("no key is good") })
	if a := call(t, d, "google_search", map[string]any{"query": "x"}); !a.IsError || a.text() != "no key is good" {
		t.Errorf("got %+v", a)
	}
}

func TestGoogleTool_OnlyWhenThereIsAFunction(t *testing.T) {
	for _, there := range []bool{true, false} {
		d := newServer(t, search.DuckDuckGoConfig{})
		if there {
			d = withGoogle(t, func(context.Context, string) ([]search.Result, error) { return nil, nil })
		}
		var list struct{ Tools []struct{ Name string } }
		request(t, d, "tools/list", map[string]any{}, &list)
		listed := slices.ContainsFunc(list.Tools, func(tool struct{ Name string }) bool { return tool.Name == "google_search" })
		if listed != there {
			t.Errorf("google_search listed: %v, want %v", listed, there)
		}
	}
}
