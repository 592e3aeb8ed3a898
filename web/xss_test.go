package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

// payloads reads the corpus. It replaces "\n" by a new line, and adds the number of the payload to
// the call of each canary.
func payloads(t *testing.T) []string {
	t.Helper()
	file, err := os.Open("testdata/xss.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, ";;") {
			line = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\u0000`, "\x00", "pwn()", fmt.Sprintf("pwn(%d)", len(all))).Replace(line)
			all = append(all, line)
		}
	}
	if len(all) < 250 {
		t.Fatalf("the corpus has %d payloads, fewer than 250", len(all))
	}
	return all
}

// echoing answers each question with its own text: as an answer in small pieces, arguments, output,
// warning and source.
func echoing() script {
	return func(_ context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		asked, _ := turn.Question()
		quoted, err := json.Marshal(asked)
		if err != nil {
			return err
		}
		yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: "c1", Assistant: "dental", Created: created}})
		yield(answer.Event{Kind: answer.KindWarning, Text: asked})
		bad := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: asked, Arguments: string(quoted)}}
		yield(answer.Event{Kind: answer.KindToolCall, Call: &bad, Server: asked, ToolName: asked})
		yield(answer.Event{Kind: answer.KindToolResult, Call: &bad, Server: asked, ToolName: asked, Result: &schemas.ToolResult{ToolName: asked, ID: "k", Output: quoted}})
		for piece := range slices.Chunk([]rune(asked), 7) {
			yield(text(string(piece)))
		}
		ev := done()
		place := &schemas.Place{Folder: asked, File: asked, Heading: asked, Anchor: asked}
		ev.Done.Sources = []schemas.Source{{Title: asked, URL: asked}, {Title: asked, URL: "https://teeth.test/" + asked}, {Title: asked, Place: place}}
		yield(answer.Event{Kind: answer.KindSources, Sources: ev.Done.Sources})
		yield(ev)
		return nil
	}
}

// canary is a script that runs before those of a page. It defines the functions that payloads call.
const canary = `window.__ran = []; window.pwn = window.alert = (n) => { window.__ran.push(String(n)); };`

// foreign is a script that finds elements that only a payload can have inserted into a page.
const foreign = `(() => {
	const found = [];
	const note = (why, e) => found.push(why + ": " + e.outerHTML.slice(0, 120));
	const isDrawn = (e) => e.closest(".formula")?.source && !/url|fixed/.test(e.getAttribute("style")); // the page notes the source of formulas that it draws
	for (const e of document.querySelectorAll("script, iframe, object, embed, applet, base, meta[http-equiv], style, video, audio, track, img, image, picture, link, math, animate, set, foreignObject, marquee, isindex, custom-element")) {
		const from = e.getAttribute("src") ?? e.getAttribute("href") ?? "";
		if (!from.startsWith("/static/") && !(e.tagName === "LINK" && e.parentNode === document.head && from.startsWith("data:image/")) && !(e.tagName === "math" && isDrawn(e))) note("element", e);
	}
	for (const e of document.querySelectorAll("*")) {
		for (const a of e.attributes) {
			if (/^on/i.test(a.name)) note("handler", e);
			if (/^(href|src|action|formaction|xlink:href|data|ping|srcdoc|srcset|poster|background)$/.test(a.name) && !/^(https?:|mailto:|[/#?])/.test(a.value) && e.parentNode !== document.head) note("address", e);
		}
		if (e.closest(".prose") && (e.id || e.getAttribute("name") || e.getAttribute("style") && !isDrawn(e))) note("name or style", e);
	}
	const ids = [...document.querySelectorAll("main [id], aside [id]")].map((e) => e.id).filter((id) => !id.startsWith("tool-") && !id.startsWith("provider-"));
	for (const id of new Set(ids)) if (ids.filter((x) => x === id).length > 1) found.push("id twice: " + id);
	return JSON.stringify({ran: window.__ran, found});
})()`

// poke is a script that behaves like a careless reader: it opens everything and moves the pointer
// over everything.
const poke = `(async () => {
	for (const d of document.querySelectorAll("details")) d.open = true;
	for (const e of document.querySelectorAll("main *")) for (const kind of ["mouseover", "focus", "toggle", "animationstart"]) e.dispatchEvent(new Event(kind));
	await new Promise((next) => setTimeout(next, 250));
	return true;
})()`

// A surface is a place where payloads are shown.
type surface struct {
	name, path, act string
	payloads        int
}

func surfaces(t *testing.T, all []string) []surface {
	t.Helper()
	return append(streamedSurfaces(t, all), []surface{
		{"chat, stored", "/#c1", `(async () => {
			for (let i = 0; i < 500 && document.querySelectorAll(".assistant").length < ` + fmt.Sprint(len(all)) + `; i++) await new Promise((next) => setTimeout(next, 10));
			return document.querySelectorAll(".assistant").length >= ` + fmt.Sprint(len(all)) + `;
		})()`, len(all)},
		{"tools", "/tools", `(async () => {
			for (let i = 0; i < 500 && document.querySelectorAll(".tool").length < ` + fmt.Sprint(len(all)) + `; i++) await new Promise((next) => setTimeout(next, 10));
			for (const open of document.querySelectorAll(".tool .open")) open.click();
			for (const form of [...document.querySelectorAll("form.try")]) form.requestSubmit();
			const results = () => [...document.querySelectorAll(".try .result")];
			for (let i = 0; i < 2000 && results().some((r) => !r.querySelector(".code, .note.bad")); i++) await new Promise((next) => setTimeout(next, 10));
			const bad = results().find((r) => !r.querySelector(".code"));
			for (let i = 0; i < 500 && !document.querySelector("#knowledge article"); i++) await new Promise((next) => setTimeout(next, 10));
			if (document.querySelectorAll("#knowledge article").length !== ` + fmt.Sprint(len(all)) + `) return "folders are missing";
			return bad ? bad.closest("form").innerHTML : results().length === ` + fmt.Sprint(len(all)) + `;
		})()`, len(all)},
		{"trace", "/turn?id=t1", `(async () => {
			for (let i = 0; i < 500 && !document.querySelector(".pass"); i++) await new Promise((next) => setTimeout(next, 10));
			for (const d of document.querySelectorAll("details")) d.open = true;
			return document.querySelectorAll(".pass").length === ` + fmt.Sprint(len(all)) + `;
		})()`, len(all)},
		{"document", "/knowledge/handbook/x#here", `(async () => {
			for (let i = 0; i < 500 && !document.querySelector("#here"); i++) await new Promise((next) => setTimeout(next, 10));
			return document.querySelectorAll(".part").length === ` + fmt.Sprint(len(all)) + `;
		})()`, len(all)},
		{"settings", "/config", `(async () => {
			for (let i = 0; i < 500 && !document.querySelector(".connection"); i++) await new Promise((next) => setTimeout(next, 10));
			for (const b of document.querySelectorAll(".connection button")) b.click();
			for (let i = 0; i < 500 && !document.querySelector(".chips button"); i++) await new Promise((next) => setTimeout(next, 10));
			return document.querySelectorAll("#settings tbody tr").length === ` + fmt.Sprint(len(all)) + `;
		})()`, len(all)},
	}...)
}

// streamedSurfaces returns surfaces that are conversations in which payloads are asked one by one, each
// short enough for the page to stay fast.
func streamedSurfaces(t *testing.T, all []string) []surface {
	t.Helper()
	var list []surface
	for part := range slices.Chunk(all, 43) {
		asked, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, surface{"chat, streamed", "/", `(async () => {
			const form = document.getElementById("form"), input = document.getElementById("question"), log = document.getElementById("log");
			const wait = async (done) => { for (let i = 0; i < 2000 && !done(); i++) await new Promise((next) => setTimeout(next, 5)); return done(); };
			let asked = 0;
			if (!await wait(() => performance.getEntriesByName("usable").length)) return "the page is not usable";
			document.getElementById("new").click();
			if (!await wait(() => !log.querySelector(".assistant"))) return "no new conversation";
			for (const p of ` + string(asked) + `) {
				input.value = p; input.dispatchEvent(new Event("input"));
				form.requestSubmit(); asked++;
				if (!await wait(() => log.querySelectorAll(".assistant").length === asked && log.getAttribute("aria-busy") === "false")) return "no answer to " + p;
			}
			return asked === ` + fmt.Sprint(len(part)) + `;
		})()`, len(part)})
	}
	return list
}

// An attack is the effect of payloads in a browser.
type attack struct {
	Ran, Found []string
	Requests   []string `json:"-"`
}

// A watcher records the requests that a browser makes to other hosts.
type watcher struct {
	mu   sync.Mutex
	own  string
	away []string
}

func (w *watcher) event(ev any) {
	if fmt.Sprintf("%T", ev) != "*network.EventRequestWillBeSent" {
		return
	}
	data, err := json.Marshal(ev)
	if err != nil {
		return
	}
	var sent struct{ Request struct{ URL string } }
	if json.Unmarshal(data, &sent) != nil {
		return
	}
	u, err := url.Parse(sent.Request.URL)
	if err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.Host == w.own) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = append(w.away, sent.Request.URL)
}

// take returns the requests recorded since the last call.
func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	away := w.away
	w.away = nil
	return away
}

// visit opens a surface and returns the effect of its payloads.
func visit(ctx context.Context, t *testing.T, w *watcher, base string, s surface) attack {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(base+s.path)); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	ok, err := chromedp.Run(ctx, chromedp.Evaluate[any](s.act, chromedp.EvalAwaitPromise))
	if err != nil || ok != true {
		t.Fatalf("%s: the payloads did not all show: %v %v", s.name, ok, err)
	}
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](poke, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	report, err := chromedp.Run(ctx, chromedp.Evaluate[string](foreign))
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	var a attack
	if err := json.Unmarshal([]byte(report), &a); err != nil {
		t.Fatal(err)
	}
	a.Requests = w.take()
	return a
}

// startWatched starts a server with the handler that build returns, and a browser whose requests are
// watched.
func startWatched(t *testing.T, cfg web.Config, build func(web.Config) (http.Handler, error)) (context.Context, *watcher, string) {
	t.Helper()
	var h http.Handler
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(ts.Close)
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{ts.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guard = guard
	if h, err = build(cfg); err != nil {
		t.Fatal(err)
	}
	ctx := browser(t, "en")
	w := &watcher{own: ts.Listener.Addr().String()}
	if err := chromedp.Listen(ctx, w.event); err != nil {
		t.Fatal(err)
	}
	err = chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": canary}, &none)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return ctx, w, ts.URL
}

// TestPages_XSS shows the corpus as text of people, models, tools, servers and settings on every
// page. No script runs, no foreign element is in the page, and no request is sent to another host.
func TestPages_XSS(t *testing.T) {
	t.Parallel()
	all := payloads(t)
	for _, s := range surfaces(t, all) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			ctx, w, base := startWatched(t, poisonedConfig(t, all), web.New)
			a := visit(ctx, t, w, base, s)
			t.Logf("%d payloads, %d scripts run, %d foreign in the page, %d requests away", s.payloads, len(a.Ran), len(a.Found), len(a.Requests))
			for _, bad := range [][]string{a.Ran, a.Found, a.Requests} {
				if len(bad) > 0 {
					t.Errorf("%d, such as %q", len(bad), bad[:min(5, len(bad))])
				}
			}
		})
	}
}

// This checks that TestPages_XSS can fail: without the sanitiser, foreign elements are in the page;
// without the policy of the headers too, scripts run and requests are sent.
func TestPages_XSSWithoutProtection(t *testing.T) {
	t.Parallel()
	var all []string
	for _, p := range payloads(t) {
		if strings.HasPrefix(p, "<img") { // others would navigate the page away
			all = append(all, p)
		}
	}
	list := surfaces(t, all)
	stored := list[slices.IndexFunc(list, func(s surface) bool { return s.name == "chat, stored" })]
	t.Run("without the sanitiser", func(t *testing.T) {
		t.Parallel()
		ctx, w, base := startWatched(t, poisonedConfig(t, all), web.NewUnsanitised)
		a := visit(ctx, t, w, base, stored)
		t.Logf("scripts run %d, foreign in page %d, requests away %d", len(a.Ran), len(a.Found), len(a.Requests))
		if len(a.Found) == 0 {
			t.Error("nothing foreign is in the page: the check finds nothing")
		}
		if len(a.Ran) > 0 {
			t.Errorf("the policy alone let scripts run: %v", a.Ran)
		}
	})
	t.Run("without sanitiser and policy", func(t *testing.T) {
		t.Parallel()
		ctx, w, base := startWatched(t, poisonedConfig(t, all), func(cfg web.Config) (http.Handler, error) {
			h, err := web.NewUnsanitised(cfg)
			return withoutPolicy(h), err
		})
		a := visit(ctx, t, w, base, stored)
		t.Logf("scripts run %d, foreign in page %d, requests away %d", len(a.Ran), len(a.Found), len(a.Requests))
		if len(a.Ran) == 0 || len(a.Requests) == 0 {
			t.Errorf("no script ran (%d) or no request left (%d): the check finds nothing", len(a.Ran), len(a.Requests))
		}
	})
}

// withoutPolicy removes the Content-Security-Policy from the pages.
func withoutPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := httptest.NewRecorder()
		next.ServeHTTP(kept, r)
		for name, values := range kept.Header() {
			if name != "Content-Security-Policy" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(kept.Code)
		_, _ = bytes.NewReader(kept.Body.Bytes()).WriteTo(w)
	})
}
