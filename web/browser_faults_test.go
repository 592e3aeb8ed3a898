package web_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"molar/agent"
)

// After each failure, the page shows a sentence about what to do, and the question is back in the
// box.
func TestChatPage_Faults(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	for asked, want := range map[string]string{
		"fail":             "The model's service cannot be reached.",
		"fail, status 500": "The model's service answered with an error",
		"fail, status 503": "The model's service has too much to do now",
		"no search":        "This assistant cannot search the web",
		"fail key":         "The model's service refused the key.",
		"fail model":       "does not have this model",
		"fail long":        "too long for the model",
		"busy":             "being answered elsewhere",
	} {
		eval[any](j, `document.getElementById("new").click(); document.getElementById("question").value = ""`)
		j.ask(asked)
		j.sees(idle, `document.querySelector(".assistant .note.bad")?.textContent.includes(`+quoted(want)+`)`,
			`document.querySelector(".note.bad").getAttribute("role") === "alert"`, `document.getElementById("question").value === `+quoted(asked))
	}
	// The returned question is still in the box after a reload.
	j.do(chromedp.Reload())
	j.sees(`document.getElementById("question").value !== ""`)
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }

func TestChatPage_StoreDown(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	host.down = agent.ErrUnavailable
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(`document.querySelector("#list .bad")?.textContent.includes("The store of conversations cannot be reached")`,
		`document.querySelector("#log .problem")?.textContent.includes("The store of conversations cannot be reached")`)
	j.shot("store-down")
	j.do(chromedp.SendKeys("#question", "still here"))
	host.mu.Lock()
	host.down = nil
	host.mu.Unlock()
	j.do(chromedp.Click("#log .problem button"), chromedp.Click("#list button"))
	j.sees(`document.querySelectorAll(".message").length === 2`, `document.querySelectorAll("#list li").length === 1`,
		`!document.querySelector(".problem")`, `document.getElementById("question").value === "still here"`)
}

// When the network is lost, sending keeps the list as it is, below a sentence and a button that are
// readable. Both disappear when the network is back.
func TestChatPage_ListStaysOffline(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	host.fill("k2", "Braces", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#list li").length === 2`)
	eval[any](j, `window.real = window.fetch; window.fetch = () => Promise.reject(new TypeError("offline")); null`)
	j.ask("anybody there?")
	j.sees(idle, `document.querySelector("#list .bad")?.textContent.includes("cannot be reached")`,
		`document.querySelectorAll("#list li").length === 2`,
		`document.querySelector("#list .problem button").offsetWidth > 60`,
		`document.querySelector("#list .problem button").offsetHeight < 60`)
	j.shot("list-offline")
	eval[any](j, `window.fetch = window.real; null`)
	j.do(chromedp.Click("#list .problem button"))
	j.sees(`!document.querySelector("#list .problem")`, `document.querySelectorAll("#list li").length === 2`)
}

func TestChatPage_ServerGone(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "vi", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelector("#list .note")`)
	j.server.CloseClientConnections()
	j.server.Listener.Close()
	j.ask("có ai không?")
	j.sees(idle, `document.querySelector(".note.bad")?.textContent.includes("Hãy chạy “molar serve”")`,
		`document.getElementById("question").value === "có ai không?"`, `localStorage.getItem("molar.draft.") === "có ai không?"`)
	j.shot("server-gone")
}

// A cut stream is resumed where it was cut, however often, because the turn runs at the server.
func TestChatPage_StreamCut(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	eval[any](j, `(() => {
		const real = window.fetch;
		window.asked = [];
		window.fetch = (path, init) => {
			if (path.includes("/events")) asked.push(Number(init.headers["Last-Event-ID"]));
			return real(path, init);
		};
	})()`)
	j.ask("slow")
	for cuts, word := range []string{"One", "two", "Four", "five", "six"} {
		j.passGate()
		j.sees(`document.querySelector(".prose").textContent.includes("` + word + `")`)
		eval[any](j, `document.querySelector(".assistant").dataset.mark = "the same"`)
		j.server.CloseClientConnections()
		j.sees(`asked.length > ` + strconv.Itoa(cuts))
	}
	j.passGate()
	j.sees(idle, `!document.querySelector(".bad")`, `document.querySelectorAll(".message").length === 2`, `document.querySelector(".assistant").dataset.mark === "the same"`)
	if got := eval[string](j, `document.querySelector(".prose").textContent.replace(/\s+/g, " ").trim()`); got != "One two three. Four five six seven." {
		t.Errorf("the answer reads %q", got)
	}
	if got := j.host.questions(); len(got) != 1 {
		t.Errorf("asked %q", got)
	}
	if !eval[bool](j, `asked.every((id, i) => id > 0 && (i === 0 || id >= asked[i - 1]))`) {
		t.Errorf("asked for events after %s", eval[string](j, `String(asked)`))
	}
}

// When the server stops, the page waits for its next start and follows the turn there.
func TestChatPage_ServerRestarts(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	cfg := host.config(t)
	j := openPages(t, "en", cfg)
	j.do(chromedp.Navigate(j.url + "/"))
	eval[any](j, `(() => {
		const real = window.fetch;
		window.asked = 0;
		window.fetch = async (path, init) => {
			if (!path.includes("/events") || ++asked < 2) return real(path, init);
			if (asked === 2) throw new TypeError("nobody listens");
			const events = ['{"choices":[{"delta":{}}],"molar":{"type":"done","saved":true}}', "[DONE]"];
			return new Response(events.map((e) => "data: " + e + "\n\n").join(""), { headers: { "Content-Type": "text/event-stream" } });
		};
	})()`)
	j.ask("hold")
	j.sees(`document.querySelector(".prose").textContent.includes("One")`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg.Turns.Drain(ctx)
	j.sees(idle, `asked === 3`, `document.querySelector(".assistant .actions")`, `!document.querySelector(".assistant .bad")`)
}

func TestChatPage_Megabyte(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelector("#list .note")`)
	took := eval[float64](j, `(() => {
		const q = document.getElementById("question");
		const before = performance.now();
		q.focus();
		q.value = "răng ".repeat(200000);
		q.dispatchEvent(new Event("input"));
		q.getBoundingClientRect();
		return performance.now() - before;
	})()`)
	t.Logf("pasting 1 MB took %.0f ms", took)
	j.sees(`localStorage.getItem("molar.draft.")?.length === 1000000`)
	j.do(chromedp.Reload())
	j.sees(`document.getElementById("question").value.length === 1000000`)
	eval[any](j, `document.getElementById("form").requestSubmit()`)
	j.sees(idle, `document.querySelector(".assistant table")`, `document.querySelector(".user .text").textContent.length < 5000`)
	if got := j.host.questions(); len(got) != 1 || len(got[0]) < 1_000_000 {
		t.Errorf("%d questions arrived", len(got))
	}
	eval[any](j, `[...document.querySelectorAll(".user button")].find((b) => b.textContent === "Show all").click()`)
	j.sees(`document.querySelector(".user .text").textContent.length > 900000`)
}

// A conversation that changes in one tab changes in the other tab too.
func TestChatPage_TwoTabs(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("hello")
	j.sees(idle, `document.querySelector(".assistant .actions")`)
	j.sees(`location.hash === "#` + j.host.first() + `"`)
	ctx, cancel := chromedp.NewContext(j.ctx)
	defer cancel()
	other := &journey{t: t, ctx: ctx, host: j.host, url: j.url}
	other.do(chromedp.Navigate(j.url + "/#" + j.host.first()))
	other.sees(`document.querySelectorAll(".message").length === 2`)
	j.ask("and more")
	j.sees(idle)
	other.sees(`document.querySelectorAll(".message").length === 4`, `document.querySelectorAll("#list li").length === 1`)
	other.do(chromedp.SendKeys("#question", "unsent"))
	j.ask("third")
	j.sees(idle)
	other.sees(`document.querySelectorAll(".message").length === 6`, `document.getElementById("question").value === "unsent"`)
}

// HTML can be inserted into the page only through one Trusted Types policy, and inline code does
// not run.
func TestChatPage_TrustedTypes(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	for name, script := range map[string]string{
		"a text as HTML":     `document.body.innerHTML = "<b>x</b>"`,
		"another policy":     `trustedTypes.createPolicy("other", { createHTML: (x) => x })`,
		"the policy again":   `trustedTypes.createPolicy("molar", { createHTML: (x) => x })`,
		"a script's address": `document.createElement("script").src = "/static/app.js"`,
	} {
		if got := eval[string](j, `(() => { try { `+script+`; return "done" } catch (e) { return e.name } })()`); got != "TypeError" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
