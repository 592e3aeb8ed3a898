package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// firstNote is a script that returns the note of the first answer on the page.
const firstNote = `document.querySelector(".assistant .note")?.textContent`

// A first question without an answer and the question after it are in one conversation: on the
// page, in the list, at the host, and after a reload, which also shows why the first question
// failed.
func TestChatPage_FailedFirstQuestion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asked string
		// before is a script that breaks the connection between the page and the host; after
		// repairs it.
		before, after string
		why           string
	}{
		"the service fails":        {asked: "fail, status 500", why: "refused"},
		"the service knows nobody": {asked: "fail key", why: "refused"},
		"the service has enough":   {asked: "fail quota", why: "refused"},
		"the network goes": {
			asked:  "what is lost?",
			before: `window.real = window.fetch; window.fetch = async (...sent) => { if (sent[0] === "/v1/chat/completions") { await window.real(...sent).then((r) => r.text()); throw new TypeError("lost"); } return window.real(...sent); }; null`,
			after:  `window.fetch = window.real; null`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newChatHost()
			j := newJourney(t, "en", host)
			j.do(chromedp.Navigate(j.url + "/"))
			j.sees(`document.querySelector("#list .note")`)
			if tt.before != "" {
				eval[any](j, tt.before)
			}
			j.ask(tt.asked)
			j.sees(idle, `document.querySelector(".assistant .note.bad")`, `document.getElementById("question").value === `+quoted(tt.asked))
			if tt.after != "" {
				eval[any](j, tt.after)
			}
			j.shot("failed-first")
			eval[any](j, `document.getElementById("question").value = ""`)
			j.ask("and molars?")
			j.sees(idle, `document.querySelectorAll(".user:not([hidden])").length === 2`, `document.querySelectorAll(".assistant .actions").length === 2`,
				`document.querySelectorAll("#list li").length === 1`)
			host.mu.Lock()
			conversations, first, second := len(host.all), host.turns[0].ConversationID, host.turns[1].ConversationID
			host.mu.Unlock()
			if conversations != 1 || first == "" || first != second {
				t.Errorf("the host has %d conversations; the questions were sent to %q and %q", conversations, first, second)
			}
			j.do(chromedp.Reload())
			j.sees(`document.querySelectorAll(".user").length === 2`, `document.querySelectorAll("#list li").length === 1`)
			if tt.why != "" {
				j.sees(firstNote+`.includes("found no answer")`, firstNote+`.includes(`+quoted(tt.why)+`)`)
			}
			j.shot("failed-first-reloaded")
		})
	}
}

// A failed question that is back in the box and is sent unchanged is the same question: it is shown
// once, and its two turns are versions of one another, also after a reload.
func TestChatPage_FailedQuestionIsNotDoubled(t *testing.T) {
	t.Parallel()
	for _, reloaded := range []bool{false, true} {
		host := newChatHost()
		host.heals = true
		j := newJourney(t, "en", host)
		j.do(chromedp.Navigate(j.url + "/"))
		j.ask("fail, status 500")
		j.sees(idle, `document.getElementById("question").value === "fail, status 500"`, `location.hash !== ""`)
		if reloaded {
			j.do(chromedp.Reload())
			j.sees(`document.querySelectorAll(".user").length === 1`, `document.getElementById("question").value === "fail, status 500"`, firstNote+`.includes("refused")`)
		}
		j.ask("")
		j.sees(idle, `document.querySelectorAll(".user:not([hidden])").length === 1`, `document.querySelector(".assistant:not([hidden]) table")`,
			`document.getElementById("question").value === ""`, `document.querySelector(".user:not([hidden]) .versions")?.textContent.includes("2/2")`)
		j.do(chromedp.Reload())
		j.sees(`document.querySelectorAll(".user").length === 1`, `document.querySelector(".versions")?.textContent.includes("2/2")`, `document.querySelector(".assistant table")`,
			`document.getElementById("question").value === ""`)
		if got := strings.Join(host.questions(), "|"); got != "fail, status 500|fail, status 500" {
			t.Errorf("the host was asked %q", got)
		}
	}
}

// A question that was never stored leaves no conversation: a reload begins a new one with the typed
// text.
func TestChatPage_FailedQuestionThatIsNotKept(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.Navigate(j.url + "/"))
	j.ask("no search")
	j.sees(idle, `document.querySelector(".assistant .note.bad")`)
	j.ask("")
	j.sees(idle, `document.querySelectorAll(".user:not([hidden])").length === 1`, `document.querySelector(".assistant .note.bad")`)
	j.do(chromedp.Reload())
	j.sees(`!document.getElementById("welcome").hidden`, `document.getElementById("question").value === "no search"`, `document.querySelectorAll("#list li").length === 0`)
}
