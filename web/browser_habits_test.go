package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// A new conversation shows the selected assistant and offers its first questions; another assistant
// is selected from the list, and the page has the colours of its topic.
func TestChatPage_Begins(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(j.url+"/"))
	j.sees(`document.getElementById("who").textContent === "dental"`, `document.documentElement.dataset.topic === "dental"`, `document.querySelectorAll("#questions button").length === 2`)
	j.shot("begins")
	j.do(chromedp.Click("#picker"))
	j.sees(`document.querySelectorAll("#assistants button").length === 2`, `document.querySelector("#assistants .by a")`)
	j.shot("assistants")
	if got := eval[string](j, `document.getElementById("assistants").textContent`); got != "AssistantdentalAbout teeth.homeAbout the family.Answers come from qwen2.5:7b-instruct (ollama). Choose another model" {
		t.Errorf("the list says %q", got)
	}
	j.do(chromedp.Click("#assistants button:nth-of-type(2)"))
	j.sees(`document.getElementById("who").textContent === "home"`, `document.documentElement.dataset.topic === ""`, `document.querySelectorAll("#questions button").length === 0`)
	j.shot("general")
	eval[any](j, `document.getElementById("model").value = "dental"; document.getElementById("model").dispatchEvent(new Event("change"))`)
	j.do(chromedp.Click("#questions button"))
	j.sees(idle, `document.querySelector(".user .text").textContent === "Why do gums bleed?"`)
}

// A question that is typed while an answer is written waits for the answer, and is not lost when
// the answer is stopped.
func TestChatPage_Queue(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("hold one")
	j.sees(`document.querySelector(".waiting .prose").textContent.includes("One")`)
	j.ask("and two")
	j.ask("and three")
	j.sees(`document.querySelectorAll("#queue li").length === 2`, `document.getElementById("question").value === ""`)
	j.shot("queue")
	j.do(chromedp.Click("#queue li:nth-of-type(2) button"))
	j.passGate()
	j.sees(idle, `document.querySelectorAll(".assistant").length === 2`, `document.querySelectorAll("#queue li").length === 0`)
	j.ask("hold again")
	j.sees(`document.querySelector(".waiting .prose").textContent.includes("One")`)
	j.ask("not lost")
	j.do(chromedp.KeyEvent(kb.Escape))
	j.sees(idle, `document.getElementById("question").value === "not lost"`)
	if diff := cmp.Diff([]string{"hold one", "and two", "hold again"}, j.host.questions()); diff != "" {
		t.Error(diff)
	}
	eval[any](j, `document.getElementById("question").value = ""; [...document.querySelectorAll(".actions button")].find((b) => b.ariaLabel === "Continue").click()`)
	j.sees(idle, `document.querySelectorAll(".assistant").length === 4`, `[...document.querySelectorAll(".user .text")].at(-1).textContent === "Go on where you stopped."`)
}

// The usual keyboard shortcuts work.
func TestChatPage_Shortcuts(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(`document.querySelector(".assistant .actions")`, `document.title === "Teeth · Molar"`)
	j.do(chromedp.Focus("#question"), chromedp.KeyEvent(kb.ArrowUp))
	j.sees(`document.getElementById("question").value === "Question 0 about teeth?"`)
	j.do(chromedp.KeyEvent(kb.Escape))
	j.sees(`document.getElementById("question").value === ""`)
	eval[any](j, `document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true, cancelable: true}))`)
	j.sees(`document.activeElement.id === "search"`)
	eval[any](j, `document.dispatchEvent(new KeyboardEvent("keydown", {key: "O", ctrlKey: true, shiftKey: true, bubbles: true, cancelable: true}))`)
	j.sees(`location.hash === ""`, `document.activeElement.id === "question"`, `document.title === "Molar"`)
}

// A thumb is stored at once and its note when it is sent; both are there after a reload.
func TestChatPage_Marks(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	j := newJourney(t, "vi", host)
	j.do(chromedp.EmulateViewport(900, 1900), chromedp.Navigate(j.url+"/#k1"))
	const poor = `document.querySelector('.assistant button[title^="Câu trả lời chưa tốt"], .assistant button[title="sai liều"]')`
	j.sees(poor)
	eval[any](j, poor+`.click()`)
	j.sees(`document.activeElement.placeholder?.startsWith("Sai ở đâu?")`, poor+`.getAttribute("aria-pressed") === "true"`)
	j.shot("note")
	j.do(chromedp.SendKeys(".said input", "sai liều"+kb.Enter))
	j.sees(`!document.querySelector(".said")`)
	if got := host.marks["k1-0"]; got.Mark != schemas.MarkDown || got.Note != "sai liều" {
		t.Errorf("kept: %+v", got)
	}
	j.do(chromedp.Reload())
	j.sees(poor+`.getAttribute("aria-pressed") === "true"`, poor+`.title === "sai liều"`)
}

// A conversation can be pinned, found by its text, and exported as a file.
func TestChatPage_ListTools(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	host.fill("k2", "Gums", 2)
	host.snippet = "…the gums <b>bleed</b>…"
	j := newJourney(t, "en", host)
	j.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(j.url+"/"))
	const titles = `[...document.querySelectorAll("#list a > span")].map((a) => a.textContent).join()`
	j.sees(titles + ` === "Teeth,Gums"`)
	eval[any](j, `document.querySelectorAll("#list button")[1].click()`)
	j.sees(`document.querySelector("#more:popover-open button:nth-of-type(2)")`)
	j.do(chromedp.Click("#more button:nth-of-type(2)"))
	j.sees(titles+` === "Gums,Teeth"`, `document.querySelector("#list li:first-of-type .icon")`)
	j.do(chromedp.SendKeys("#search", "gums"))
	j.sees(`document.querySelector("#list small")?.textContent === "…the gums <b>bleed</b>…"`)
	j.shot("found")
	eval[any](j, `window.files = []; const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((x) => files.push(x)); return made(b); };
		HTMLAnchorElement.prototype.click = function () { files.push(this.download); }`)
	for kind, want := range map[string]string{"3": "<h1>Gums</h1>", "4": "# Gums\n\n## Question", "5": `"object": "conversation"`} {
		eval[any](j, `files.length = 0; document.querySelector("#list button").click()`)
		j.sees(`document.querySelector("#more:popover-open")`)
		j.do(chromedp.Click("#more button:nth-of-type(" + kind + ")"))
		j.sees(`files.length === 2`)
		if got := eval[string](j, `files.join("|")`); !strings.Contains(got, want) || !strings.Contains(got, "Gums.") {
			t.Errorf("the file is %.200s", got)
		}
	}
}

// When the network is lost, everything on the screen stays.
func TestChatPage_LosesNothing(t *testing.T) {
	t.Parallel()
	host := newChatHost()
	host.fill("k1", "Teeth", 2)
	j := newJourney(t, "en", host)
	j.do(chromedp.Navigate(j.url + "/#k1"))
	j.sees(`document.querySelector(".assistant .actions")`, `document.querySelectorAll("#list li").length === 1`)
	j.server.CloseClientConnections()
	j.server.Listener.Close()
	eval[any](j, `new BroadcastChannel("molar").postMessage({ changed: "k1" })`)
	j.sees(`document.querySelector("#list .problem")`, `document.querySelectorAll(".message").length === 2`, `document.querySelectorAll("#list li").length === 1`)
	j.ask("still here?")
	j.sees(idle, `document.querySelector(".note.bad")`, `document.querySelectorAll(".message").length === 4`, `document.getElementById("question").value === "still here?"`)
}

// For an unknown address, browsers get a page and programs an error.
func TestMissingPage(t *testing.T) {
	h := handler(t, play(nil))
	for accept, want := range map[string]string{"text/html,*/*": "There is nothing at this address", "*/*": "unknown_route", "": "unknown_route"} {
		r := httptest.NewRequest(http.MethodGet, "/nothing/here", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("Accept %q: status %d, %.200s", accept, w.Code, w.Body.String())
		}
	}
}
