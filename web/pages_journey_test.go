package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
)

func TestPages_ModelsOfThisBrowser(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked agent.Turn
	run := script(func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		mu.Lock()
		asked = turn
		mu.Unlock()
		return play(nil, start(), text("fine"), done())(ctx, turn, yield)
	})
	cfg, _ := fullConfig(t, run)
	ts := live(t, cfg)
	err := chromedp.Do(browser(t, "en"),
		chromedp.Navigate(ts.URL+"/config"),
		until(`document.querySelectorAll(".connection").length === 4`),
		until(`document.body.textContent.includes("follow the server’s settings")`),
		// A test lists the models; one of them is selected, and the form is sent with the keyboard.
		chromedp.Click("#provider-ollama .row button"),
		until(`document.querySelector("#provider-ollama .chips button")`),
		chromedp.Click("#provider-ollama .chips button"),
		until(`document.getElementById("provider").value === "ollama" && document.getElementById("chat-model").value === "m"`),
		until(`document.getElementById("guardrail-model").placeholder === "qwen2.5:3b-instruct"`),
		chromedp.SendKeys("#guardrail-model", "tiny"+kb.Enter),
		until(`document.getElementById("sent").textContent === "Each question carries: provider = ollama, model = m, guardrail_model = tiny"`),
		chromedp.Navigate(ts.URL+"/"),
		chromedp.SendKeys("#question", "hi"+kb.Enter),
		until(`document.querySelector(".assistant:not(.waiting)")`),
		chromedp.Navigate(ts.URL+"/config"),
		until(`document.getElementById("guardrail-model").value === "tiny"`),
		chromedp.Click("#reset"),
		until(`localStorage.getItem("molar.settings") === null && document.getElementById("chat-model").value === ""`),
	)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked.Provider != "ollama" || asked.Model != "m" || asked.GuardrailModel != "tiny" {
		t.Errorf("the question carried provider %q, model %q, guardrail model %q", asked.Provider, asked.Model, asked.GuardrailModel)
	}
}

func TestPages_OperatesTools(t *testing.T) {
	t.Parallel()
	cfg, store := fullConfig(t, toolTurn())
	store.refused = "family__get_family_details"
	ts := live(t, cfg)
	const tool = `document.getElementById("tool-family__search_family")`
	const refused = `document.getElementById("tool-family__get_family_details")`
	err := chromedp.Do(browser(t, "en"),
		chromedp.Navigate(ts.URL+"/tools"),
		until(tool),
		// The schema is shown as a provider gets it.
		js(`document.querySelector(".tool").dataset.old = "1"`),
		js(`const p = document.getElementById("provider"); p.value = "gemini"; p.dispatchEvent(new Event("change"))`),
		until(`document.querySelector("#tools .tool:not([data-old])") && !document.querySelector("[data-old]")`),
		js(tool+`.querySelector(".open").focus()`), chromedp.KeyEvent(kb.Enter),
		until(tool+`.querySelector("h4 ~ .code") && `+tool+`.textContent.includes("Schema as gemini sees it")`),
		// Faults are shown next to their fields, the first of which gets the focus; nothing is
		// sent.
		chromedp.SetValue("#tool-family__search_family-1", "many"),
		chromedp.SetValue("#tool-family__search_family-5", "[1,"),
		js(tool+`.querySelector("form").requestSubmit()`),
		until(`document.activeElement.id === "tool-family__search_family-1" && document.getElementById("tool-family__search_family-1-wrong").textContent === "Enter a number."`),
		until(`document.getElementById("tool-family__search_family-5-wrong").textContent.startsWith("This is not JSON")`),
		chromedp.SetValue("#tool-family__search_family-0", "Hoa"),
		chromedp.SetValue("#tool-family__search_family-1", "7"),
		chromedp.SetValue("#tool-family__search_family-3", "1"),
		chromedp.SetValue("#tool-family__search_family-5", `["a"]`),
		js(tool+`.querySelector("form").requestSubmit()`),
		until(`JSON.stringify(JSON.parse(`+tool+`.querySelector(".result .code").textContent)) ===
			'{"asked":{"query":"Hoa","limit":7,"kin":"child","living":true,"tags":["a"]}}'`),
		// The switch works with the keyboard.
		js(tool+`.querySelector("[role=switch]").focus()`), chromedp.KeyEvent(" "),
		until(tool+`.textContent.includes("withheld") && !`+tool+`.querySelector("[role=switch]").checked`),
		until(`document.activeElement.getAttribute("role") === "switch" && document.getElementById("said").textContent === "family__search_family is off."`),
		// A tool that a service refused is offered again.
		until(refused+`.textContent.includes("refused by gemini")`),
		js(refused+`.querySelector(".open").click()`),
		until(refused+`.textContent.includes("The service of gemini refused it") && `+refused+`.textContent.includes("parameters.id: missing field")`),
		js(refused+`.querySelector(".note.warn button").click()`),
		until(`!`+refused+`.textContent.includes("refused") && document.getElementById("said").textContent === "family__get_family_details is offered again."`),
		// A changed server is approved.
		until(`document.querySelectorAll(".server")[1].textContent.includes("book_visit")`),
		js(`document.querySelectorAll(".server")[1].querySelector("button").click()`),
		until(`!document.querySelectorAll(".server")[1].textContent.includes("book_visit")`),
		// A call has a link to the trace of its turn.
		js(`document.querySelector('#calls a').click()`),
		until(`location.pathname === "/turn" && document.querySelector(".fall")`),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// A table that is laid out as cards stays a table for screen readers. Its roles ensure that in
// browsers that derive the role from the layout, which Chromium does not.
func TestPages_TablesOnAPhone(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	ts := live(t, cfg)
	roles := map[string]int{}
	err := chromedp.Do(browser(t, "en"), looks()[0].see(), chromedp.Navigate(ts.URL+"/tools"),
		until(`document.querySelectorAll("#calls tbody tr").length === 2 && getComputedStyle(document.querySelector("#calls tr")).display === "block"`),
		until(`document.querySelectorAll("#calls :is([role=table], [role=rowgroup], [role=row], [role=columnheader], [role=cell])").length === 1 + 2 + 3 + 6 + 12`),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			var tree struct {
				Nodes []struct {
					Ignored bool `json:"ignored"`
					Role    struct {
						Value string `json:"value"`
					} `json:"role"`
				} `json:"nodes"`
			}
			err := target.Call(ctx, "Accessibility.getFullAXTree", nil, &tree)
			for _, n := range tree.Nodes {
				if !n.Ignored {
					roles[n.Role.Value]++
				}
			}
			return err
		}))
	if err != nil {
		t.Fatal(err)
	}
	if roles["table"] != 1 || roles["row"] != 3 || roles["columnheader"] != 6 || roles["cell"] != 12 {
		t.Errorf("a screen reader finds %d tables, %d rows, %d heads, %d cells", roles["table"], roles["row"], roles["columnheader"], roles["cell"])
	}
}

// For each failure the page shows a sentence about what to do, and a button to try again.
func TestPages_SayWhatToDo(t *testing.T) {
	t.Parallel()
	cfg, store := fullConfig(t, toolTurn())
	ts := live(t, cfg)
	err := chromedp.Do(browser(t, "vi"),
		chromedp.Navigate(ts.URL+"/turn?id=none"),
		until(`document.querySelector("[role=alert]").textContent.includes("Không có gì được lưu về lượt này")`),
		store.turn(true),
		chromedp.Navigate(ts.URL+"/turn?id=t1"),
		until(`document.querySelector("[role=alert] button")`),
		until(`!document.body.textContent.includes("connection refused")`), // only the log contains the cause
		store.turn(false),
		chromedp.Click("[role=alert] button"),
		until(`document.querySelector(".fall")`),
		// The host's own reasons are in the reader's language; names stay unchanged.
		until(`document.body.textContent.includes("1 công cụ được đưa và không được gọi") && document.body.textContent.includes("1 công cụ không được đưa: nó không thuộc các công cụ của trợ lý")`),
		until(`document.body.textContent.includes('"implant" chỉ có thể thuộc chủ đề')`),
		chromedp.Navigate(ts.URL+"/tools"),
		until(`document.querySelectorAll(".tool").length === 4`),
		until(`document.body.textContent.includes('không tìm thấy chương trình "archive-mcp": hãy cài đặt, hoặc sửa molar.yaml')`),
		chromedp.Func(func(context.Context, *chromedp.Target) error {
			ts.CloseClientConnections()
			ts.Listener.Close()
			return nil
		}),
		chromedp.Click("#refresh"),
		until(`document.querySelector("#calls [role=alert]").textContent.includes("Không kết nối được với máy chủ. Hãy chạy “molar serve”")`),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// With keys on, only the one-time link opens the pages. No page contains the token, and no script
// can read the cookie.
func TestPages_OneTimeLink(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	ring := httpguard.NewKeyring(nil)
	const session, token = "canary-session", "canary-token"
	cfg.Access.Keys = ring
	used := false
	cfg.Access.SignIn = func(_ context.Context, given string) (string, bool, error) {
		first := given == token && !used
		used = used || first
		return session, first, nil
	}
	ring.Set([]httpguard.Key{
		{ID: "k1", Owner: "k1", Hash: httpguard.HashOf("canary-key"), Scopes: []string{httpguard.ScopeChat}},
		{ID: "s1", Owner: "operator", Hash: httpguard.HashOf(session), Scopes: []string{httpguard.ScopeChat, httpguard.ScopeAdmin}, Session: true},
	})
	ts := live(t, cfg)
	ctx := browser(t, "en")
	seen := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		page, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.documentElement.outerHTML + document.cookie + location.href + JSON.stringify(localStorage)`))
		if strings.Contains(page, "canary") {
			t.Errorf("a secret is on the page: %s", page)
		}
		return err
	})
	err := chromedp.Do(ctx,
		chromedp.Navigate(ts.URL+"/tools"),
		until(`location.pathname === "/login" && document.querySelector("h1").textContent === "Sign in"`),
		chromedp.Navigate(ts.URL+"/?token="+token),
		until(`location.pathname === "/" && location.search === "" && document.getElementById("question")`), seen,
		chromedp.Navigate(ts.URL+"/tools"), until(`document.querySelectorAll(".tool").length === 4`), seen,
		chromedp.Navigate(ts.URL+"/config"), until(`document.querySelector("#settings table")`), seen,
		chromedp.Navigate(ts.URL+"/turn?id=t1"), until(`document.querySelector(".fall")`), seen,
	)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(ts.URL + "/?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) > 0 {
		t.Errorf("the link worked twice: %d", res.StatusCode)
	}
}

// Every page has the headers that keep foreign code out of it.
func TestPages_Headers(t *testing.T) {
	cfg, _ := fullConfig(t, toolTurn())
	ts := live(t, cfg)
	for _, path := range []string{"/", "/config", "/tools", "/turn", "/desk", "/account", "/knowledge/handbook/rules/leave.md", "/static/tools.js", "/static/pages.css", "/v1/config"} {
		res, err := http.Get(ts.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
		policy := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if res.Header.Get("Permissions-Policy") == "" {
			t.Errorf("%s: no Permissions-Policy", path)
		}
	}
}

// The reasons of a server that cannot be attached are wholly in the reader's language, apart from what the
// server or the system said.
func TestPages_ReasonsOfServers(t *testing.T) {
	t.Parallel()
	cfg, _ := fullConfig(t, toolTurn())
	ts := live(t, cfg)
	tab := browser(t, "vi")
	if err := chromedp.Do(tab, chromedp.Navigate(ts.URL+"/tools"),
		until(`window.reasonOf || (import("/static/reasons.js").then((m) => { window.reasonOf = m.reason; }), false)`)); err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"connection lost: the process ended (exit status 1); it said “no module”: repair the server or correct mcpServers.a, the host keeps trying":                                         "mất kết nối: tiến trình đã kết thúc (exit status 1); nó báo “no module”: hãy sửa máy chủ đó hoặc mcpServers.a, Molar sẽ tiếp tục thử",
		"connection lost: the process ended (exit status 0); on standard output it wrote “hello”, which is not a message: repair the server or correct mcpServers.a, the host keeps trying": "mất kết nối: tiến trình đã kết thúc (exit status 0); nó in ra “hello”, không phải là thông điệp: hãy sửa máy chủ đó hoặc mcpServers.a, Molar sẽ tiếp tục thử",
		`directory "/x" not found: create it or correct mcpServers.a.cwd; the host keeps trying`:                                                                                            `không tìm thấy thư mục "/x": hãy tạo nó, hoặc sửa mcpServers.a.cwd; Molar sẽ tiếp tục thử`,
		"the server wants a login: run molar servers login a":                                                                                                                               "máy chủ cần đăng nhập: hãy chạy molar servers login a",
		"the server wants a login: run molar servers login a, or set the headers it needs in mcpServers.a.headers":                                                                          "máy chủ cần đăng nhập: hãy chạy molar servers login a, hoặc đặt các header mà nó cần trong mcpServers.a.headers",
		"read, write can be mistaken for tools of the same names of server b":                                                                                                               "read, write dễ bị nhầm với các công cụ cùng tên của máy chủ b",
		"send-mail can be mistaken for send_mail of server b":                                                                                                                               "send-mail dễ bị nhầm với send_mail của máy chủ b",
		"the server refused the credentials (HTTP 401): set the headers it needs":                                                                                                           "máy chủ từ chối thông tin đăng nhập (HTTP 401): hãy đặt các header mà nó cần",
		"the server answered HTTP 404 Not Found: it does not speak streamable HTTP there: start the server or correct mcpServers.a.url, the host keeps trying":                              "máy chủ trả lời HTTP 404 Not Found: ở đó nó không dùng streamable HTTP: hãy chạy máy chủ đó hoặc sửa mcpServers.a.url, Molar sẽ tiếp tục thử",
		"MCP server unavailable: dial tcp 127.0.0.1:9: connect: connection refused: start the server or correct mcpServers.a.url, the host keeps trying":                                    "không kết nối được với máy chủ MCP: dial tcp 127.0.0.1:9: connect: kết nối bị từ chối: hãy chạy máy chủ đó hoặc sửa mcpServers.a.url, Molar sẽ tiếp tục thử",
	} {
		if err := chromedp.Do(tab, until(fmt.Sprintf("window.reasonOf(%q) === %q", said, want))); err != nil {
			t.Error(err)
		}
	}
}
