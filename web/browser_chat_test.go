package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// Every state of the page is shown in both sizes, languages and themes.
func TestChatPage_Looks(t *testing.T) {
	t.Parallel()
	type size struct {
		name          string
		width, height int64
	}
	for _, language := range []string{"en", "vi"} {
		for _, s := range []size{{"desktop", 1280, 860}, {"phone", 390, 844}} {
			t.Run(language+"-"+s.name, func(t *testing.T) {
				t.Parallel()
				host := newChatHost()
				host.provider, host.bare = "offline", true
				j := newJourney(t, language, host)
				j.do(chromedp.EmulateViewport(s.width, s.height), chromedp.Navigate(j.url+"/"))
				eval[any](j, `localStorage.setItem("molar.theme", "dark")`)
				j.do(chromedp.Reload())
				j.sees(`document.querySelectorAll("#steps li").length === 3`, `document.documentElement.lang === "`+language+`"`, `document.documentElement.dataset.theme === "dark"`)
				j.sees(`document.getElementById("log").scrollTop === 0`)
				j.look("first-run")
				j.host.provider = "ollama"
				host.fill("k1", "Which toothpaste for a child of three?", 4)
				host.fill("k2", "Đau răng khôn mọc lệch phải làm sao?", 2)
				j.ask("What is a molar, and what do I do when it hurts?")
				j.sees(idle, `document.querySelectorAll("#list li").length === 3`)
				j.look("answer")
				eval[any](j, `document.querySelector(".call").open = true; document.getElementById("log").scrollTop = 0`)
				j.look("call")
				j.ask("pay the dentist")
				j.sees(`document.querySelector(".approval")`)
				j.look("approval")
				j.do(chromedp.Click(".approval .row button:last-child"))
				j.sees(idle)
				j.ask("wide " + strings.Repeat("Krankenversicherungskarte", 10))
				j.sees(idle, `[...document.querySelectorAll(".prose")].at(-1).querySelector("br")`)
				eval[any](j, `[...document.querySelectorAll(".call")].at(-1).open = true; const last = [...document.querySelectorAll(".user")].at(-1); last.scrollIntoView()`)
				j.look("wide")
				eval[any](j, `document.getElementById("log").scrollTop = 1e6`)
				j.look("wide-end")
				j.ask("fail now")
				j.sees(`document.querySelector(".assistant .note.bad")`)
				j.look("error")
				if s.name == "phone" {
					j.do(chromedp.Click("#menu"))
					j.sees(`document.activeElement.id === "close"`, `document.getElementById("side").getBoundingClientRect().left === 0`)
					j.look("drawer")
					j.do(chromedp.Click("#list li:nth-child(2) a"))
					j.sees(`!document.querySelector(".drawer")`, `document.querySelectorAll(".message").length === 4`)
				}
			})
		}
	}
}

// look stores pictures of the page in both themes, and fails the test if the page is wider than its
// window in one of them.
func (j *journey) look(name string) {
	j.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		eval[any](j, `document.documentElement.dataset.theme = "`+theme+`"`)
		j.shot(name + "-" + theme)
		j.fits()
	}
}

// The steps of the first run lead to the form that attaches a server and to molar init, show which
// of them are done, and update themselves.
func TestChatPage_FirstRun(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.provider, host.bare = "offline", true
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#steps li").length === 3`, `document.querySelector("#steps .code").textContent.startsWith("molar init\n")`,
		`document.querySelector("#steps a[href='/tools#attach-title']")`, `document.getElementById("by").textContent === "no model"`)
	host.mu.Lock()
	host.provider = "ollama"
	host.mu.Unlock()
	j.sees(`document.querySelector("#steps li strong").textContent === "A model answers"`, `document.querySelector("#steps li p").textContent === "qwen2.5:7b-instruct (ollama)"`)
	host.mu.Lock()
	host.bare, host.file.Offer = false, "home"
	host.mu.Unlock()
	j.sees(`!document.getElementById("steps")`, `document.querySelector("#offer .primary").textContent === "Ask home"`)
	j.do(chromedp.Click(`#steps, #offer .primary`))
	j.sees(`document.getElementById("who").textContent === "home"`, `document.getElementById("offer").hidden`, `document.activeElement.id === "question"`)
}

// The steps of the first run, and links to pages of the operator, are for who may open those pages.
func TestChatPage_FirstRunOfAPerson(t *testing.T) {
	t.Parallel()
	for scopes, want := range map[string]string{`"chat"`: "0 0", `"chat","admin"`: "3 1"} {
		t.Run(scopes, func(t *testing.T) {
			t.Parallel()
			host, api := newChatHost(), newDeskAPI()
			host.bare, api.me = true, `{"id":"p1","person":true,"scopes":[`+scopes+`]}`
			j := &journey{t: t, ctx: browser(t, "en"), host: host, url: api.serve(t, host.config(t)).URL}
			j.do(chromedp.Navigate(j.url + "/"))
			j.sees(`document.getElementById("by").textContent !== ""`)
			j.do(chromedp.Click(`#who`))
			j.sees(`document.querySelectorAll("#steps li").length + " " + document.querySelectorAll("#assistants a").length === "` + want + `"`)
		})
	}
}

// fits fails the test if the page is wider than its window.
func (j *journey) fits() {
	j.t.Helper()
	if over := eval[int](j, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		j.t.Errorf("the page is %d px wider than the window", over)
	}
}

// A streaming answer is readable all the time: the open block is already rendered as HTML.
func TestChatPage_Streams(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("a slow one")
	j.sees(`!document.getElementById("stop").hidden`, `document.querySelector(".waiting")`)
	for _, want := range []string{"<p>One</p>", "<p>One <strong>two</strong></p>", "<p>One <strong>two</strong> three.</p>"} {
		j.passGate()
		j.sees(`document.querySelector(".assistant .prose div")?.innerHTML.trim().replace(/ <.p>$/, "</p>").startsWith("` + strings.TrimSuffix(want, "</p>") + `")`)
	}
	for range 3 {
		j.passGate()
	}
	j.sees(idle, `document.querySelector(".assistant .prose code")?.textContent === "six"`)
	if got := eval[string](j, `document.querySelector(".assistant .prose").textContent.replace(/\s+/g, " ").trim()`); got != "One two three. Four five six seven." {
		t.Errorf("the answer reads %q", got)
	}
	if got := eval[string](j, `document.getElementById("live").textContent`); !strings.Contains(got, "One two three.") || !strings.Contains(got, "seven.") {
		t.Errorf("a screen reader heard %q", got)
	}
	if got := eval[string](j, `document.querySelector(".assistant .actions a").getAttribute("href")`); !strings.HasPrefix(got, "/turn?id=") {
		t.Errorf("the trace is at %q", got)
	}
	if got := eval[string](j, `[...document.querySelectorAll(".sources a")].map((a) => a.href + " " + a.rel).join()`); !strings.Contains(got, "nhs.uk") || !strings.Contains(got, "noopener") {
		t.Errorf("sources: %s", got)
	}
}

func TestChatPage_Stop(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "vi", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("slow")
	j.passGate()
	j.sees(`document.querySelector(".prose").textContent.includes("One")`)
	j.do(chromedp.Click("#stop"))
	j.sees(idle, `document.querySelector(".assistant .note")?.textContent === "Đã dừng."`)
	if got := j.host.all[j.host.first()]; len(got) != 2 || got[1].Status != "interrupted" {
		t.Errorf("stored: %+v", got)
	}
	j.sees(`location.hash === "#` + j.host.first() + `"`) // the next question belongs to it
	j.ask("tiếp tục")
	j.sees(idle, `document.querySelectorAll(".assistant").length === 2`)
	if got := j.host.turns[1].ConversationID; got != j.host.first() {
		t.Errorf("the next question went to conversation %q", got)
	}
}

// After a reload in the middle of an answer, the page follows the same turn: the question is not
// sent twice.
func TestChatPage_ReloadInTheMiddle(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("slow")
	j.passGate()
	j.sees(`document.querySelector(".prose").textContent.includes("One")`)
	j.do(chromedp.Reload())
	j.sees(`document.querySelector(".user .text")?.textContent === "slow"`, `document.querySelector(".prose")?.textContent.includes("One")`, `document.getElementById("send").hidden`)
	for range 5 {
		j.passGate()
	}
	j.sees(idle, `document.querySelector(".prose").textContent.includes("seven.")`)
	j.do(chromedp.Reload())
	j.sees(`document.querySelectorAll(".message").length === 2`, `document.querySelector(".prose code")?.textContent === "six"`)
	if diff := cmp.Diff([]string{"slow"}, j.host.questions()); diff != "" {
		t.Error(diff)
	}
}

func TestChatPage_Approval(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("pay")
	j.sees(`document.querySelector(".approval textarea")`)
	eval[any](j, `document.querySelector(".approval textarea").value = "{oops"`)
	j.do(chromedp.Click(".approval .primary"))
	j.sees(`document.querySelector(".approval .bad")?.textContent.includes("no valid JSON")`)
	eval[any](j, `document.querySelector(".approval textarea").value = '{"q":"An"}'`)
	j.do(chromedp.Click(".approval .primary"))
	j.sees(idle, `document.querySelector(".prose").textContent.includes('Paid: true {"q":"An"}')`, `!document.querySelector(".approval")`)
}

// A call that may have been done before its process was lost asks whether it was, and not whether it may run.
func TestChatPage_WasItDone(t *testing.T) {
	t.Parallel()
	for decision, want := range map[string]string{".primary": "Paid: true", "button:not(.primary)": "Paid: false"} {
		j := newJourney(t, "en", newChatHost())
		j.do(chromedp.Navigate(j.url + "/"))
		j.ask("pay, which was lost")
		j.sees(`document.querySelector(".approval h3")?.textContent.startsWith("Was ")`, `document.querySelector(".approval .primary").textContent === "No: run it again"`)
		j.shot("unsure")
		j.do(chromedp.Click(".approval .row " + decision))
		j.sees(idle, `document.querySelector(".prose").textContent.includes("`+want+`")`, `!document.querySelector(".approval")`)
	}
}

func TestChatPage_Conversations(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 4)
	host.fill("k2", "Wisdom teeth", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#list li").length === 2`)
	j.do(chromedp.SendKeys("#search", "wisdom"))
	j.sees(`document.querySelectorAll("#list li").length === 1`)
	j.do(chromedp.Click("#list a"))
	j.sees(`location.hash === "#k2"`, `document.querySelectorAll(".message").length === 2`, `document.querySelector(".assistant table")`, `document.querySelector(".call .time").textContent === "1.2 s"`)
	j.do(chromedp.Click("#list li button"))
	j.sees(`document.querySelector("#more:popover-open button")`)
	j.shot("menu")
	j.do(chromedp.Click("#more button:nth-of-type(1)"))
	j.sees(`document.getElementById("ask").open`)
	eval[any](j, `document.getElementById("ask-input").value = "Old teeth"`)
	j.do(chromedp.Click("#ask-yes"))
	j.sees(`!document.getElementById("ask").open`)
	eval[any](j, `document.getElementById("search").value = ""; document.getElementById("search").dispatchEvent(new Event("input"))`)
	j.sees(`[...document.querySelectorAll("#list a")].some((a) => a.textContent === "Old teeth")`)
	j.remove()
	j.sees(`document.querySelectorAll("#list li").length === 1`, `location.hash === ""`, `!document.getElementById("welcome").hidden`)
}

// Messages that were not drawn yet when a conversation is left are not drawn into the next one.
func TestChatPage_LeftWhileItIsDrawn(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 40)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#list li").length === 1`)
	eval[any](j, `(() => {
		const real = window.fetch;
		window.held = new Promise((release) => { window.release = release; });
		window.fetch = async (path, init) => {
			const response = await real(path, init);
			if (!path.includes("lines=true")) return response;
			const lines = (await response.text()).split(/(?<=\n)/);
			const body = new ReadableStream({
				async start(to) {
					to.enqueue(new TextEncoder().encode(lines.slice(0, 9).join("")));
					window.half = true;
					await held;
					to.enqueue(new TextEncoder().encode(lines.slice(9).join("")));
					to.close();
					window.whole = true;
				},
			});
			return new Response(body, { headers: response.headers });
		};
	})()`)
	j.do(chromedp.Click("#list a"))
	j.sees(`window.half`)
	j.do(chromedp.Click("#new"))
	j.ask("hello")
	j.sees(idle)
	eval[any](j, `release(); setTimeout(() => { window.late = true; }, 300)`)
	j.sees(`window.whole && window.late`)
	if n := eval[int](j, `document.querySelectorAll(".message").length`); n != 2 {
		t.Errorf("%d messages are shown of a conversation of 2", n)
	}
}

// The settings page stores its choices in the browser, and each question sends them.
func TestChatPage_SendsTheSettings(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	eval[any](j, `localStorage.setItem("molar.settings", '{"provider":"ollama","model":"m1","guardrail_model":"g1"}')`)
	j.ask("hello")
	j.sees(idle)
	if a := j.host.turns[0]; a.Provider != "ollama" || a.Model != "m1" || a.GuardrailModel != "g1" {
		t.Errorf("asked of %q %q %q", a.Provider, a.Model, a.GuardrailModel)
	}
}

func TestChatPage_Prompts(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url+"/"), chromedp.SendKeys("#question", "/re"))
	j.sees(`document.querySelectorAll("#choices li").length === 2`, `document.getElementById("question").getAttribute("aria-activedescendant") === "choice-0"`)
	j.shot("prompts")
	j.do(chromedp.SendKeys("#question", "\t"))
	j.sees(`document.getElementById("question").value === "/record "`, `document.getElementById("choices").hidden`, `document.getElementById("hint").textContent.includes("uuid")`)
	j.ask("42")
	j.sees(idle, `document.querySelector(".user .text").textContent === "/record 42"`)
}

// Everything can be reached and used with the keyboard alone.
func TestChatPage_Keyboard(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Toothpaste", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/"))
	j.sees(`document.querySelectorAll("#list li").length === 1`)
	var reached []string
	eval[any](j, `document.getElementById("new").focus()`)
	for range 12 {
		reached = append(reached, eval[string](j, `document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent`))
		j.do(chromedp.KeyEvent("\t"))
	}
	want := []string{"new", "search", "Toothpaste", "Desk", "Tools", "Settings", "Colours: as the system", "picker", "log", "Why do gums bleed?", "How often should I floss?", "question"}
	if diff := cmp.Diff(want, reached); diff != "" {
		t.Error(diff)
	}
	eval[any](j, `document.querySelector("#list a").focus()`)
	j.do(chromedp.KeyEvent("\r"))
	j.sees(`document.querySelectorAll(".message").length === 2`)
	eval[any](j, `document.querySelector("#list button").focus()`)
	j.do(chromedp.KeyEvent("\r"))
	j.sees(`document.activeElement.textContent === "Rename"`)
	eval[any](j, `document.querySelector("#more button:last-of-type").focus()`)
	j.do(chromedp.KeyEvent("\r"))
	j.sees(`document.getElementById("ask").open`)
	j.do(chromedp.KeyEvent("\u001b")) // Escape
	j.sees(`!document.getElementById("ask").open`, `document.activeElement.getAttribute("aria-label") === "More on Toothpaste"`)
	// A person who focuses another element while the dialog closes keeps that focus.
	j.do(chromedp.KeyEvent("\r"))
	j.sees(`document.activeElement.textContent === "Rename"`)
	eval[any](j, `document.querySelector("#more button:last-of-type").click()`)
	j.sees(`document.getElementById("ask").open`)
	eval[any](j, `document.getElementById("ask").addEventListener("close", () => setTimeout(() => document.body.dataset.closed = "yes"), { once: true }), document.getElementById("ask").close(), document.getElementById("question").focus()`)
	j.sees(`document.body.dataset.closed`, `document.activeElement.id === "question"`)
	j.ask("slow")
	j.passGate()
	j.sees(`document.getElementById("log").getAttribute("aria-busy") === "true"`)
	j.do(chromedp.KeyEvent("\u001b"))
	j.sees(idle, `document.getElementById("log").getAttribute("aria-busy") === "false"`)
}

// A picture in the result of a tool is shown in the card of the call.
func TestChatPage_ShowsPicturesOfTools(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("Show me a picture")
	j.sees(idle, `document.querySelectorAll(".call img.file").length === 1`)
	eval[any](j, `document.querySelector(".call").open = true`)
	j.sees(`document.querySelector(".call img.file").naturalWidth === 1`)
}
