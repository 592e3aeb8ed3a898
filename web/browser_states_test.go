package web_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
)

// A scene is a state of the chat page, with the steps that lead to it.
type scene struct {
	name string
	play func(j *journey)
	// height is the height of the window, if the usual one is too small for the content.
	height int64
}

// open opens the chat page with a path or fragment.
func (j *journey) open(at string) {
	j.t.Helper()
	j.do(chromedp.Navigate(j.url+at), until(`performance.getEntriesByName("usable").length === 1`))
}

// asks begins a new conversation and sends a question.
func (j *journey) asks(question string) {
	j.t.Helper()
	j.open("/")
	eval[any](j, `document.getElementById("new").click()`)
	j.ask(question)
}

// askAndWait returns a step that sends a question and waits for its answer.
func askAndWait(question string) func(j *journey) {
	return func(j *journey) {
		j.asks(question)
		j.sees(idle, `document.querySelector(".assistant .actions")`)
	}
}

func stop(j *journey) {
	eval[any](j, `document.getElementById("stop").click()`)
	j.sees(idle)
}

func openMenu(j *journey, item string) {
	j.open("/")
	j.sees(`document.querySelector("#list li button")`)
	eval[any](j, `document.getElementById("menu").click(); document.querySelector("#list li button").click()`)
	j.sees(`document.querySelector("#more:popover-open")`)
	if item != "" {
		eval[any](j, `document.querySelector("#more button`+item+`").click()`)
	}
}

// clips fails the test if an element is outside the window and cannot be scrolled into view.
func (j *journey) clips() {
	j.t.Helper()
	if what := eval[string](j, `(() => {
		const scrolls = (e) => e && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth || scrolls(e.parentElement));
		const cut = (e) => e && (["hidden", "clip"].includes(getComputedStyle(e).overflowX) && getComputedStyle(e).textOverflow === "ellipsis" || cut(e.parentElement));
		return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 1
			&& e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement) && !cut(e.parentElement)).map((e) => e.tagName + "." + e.className).slice(0, 5).join(", ");
	})()`); what != "" {
		j.t.Errorf("cut off: %s", what)
	}
}

func scenes() []scene {
	return []scene{
		{name: "begin", play: func(j *journey) { j.open("/"); j.sees(`document.querySelector("#list a")`) }},
		{name: "drawer", play: func(j *journey) {
			j.open("/")
			j.sees(`document.querySelector("#list a")`)
			eval[any](j, `document.getElementById("menu").click()`)
		}},
		{name: "waiting", play: func(j *journey) { j.asks("slow"); j.sees(`document.querySelector(".waiting")`) }},
		{name: "streaming", play: func(j *journey) {
			j.asks("slow")
			j.passGate()
			j.passGate()
			j.sees(`document.querySelector(".prose")?.textContent.includes("two")`)
		}},
		{name: "stopped", play: func(j *journey) {
			j.asks("slow")
			j.passGate()
			j.sees(`document.querySelector(".prose")?.textContent.includes("One")`)
			stop(j)
		}},
		{name: "answer", height: 2900, play: askAndWait("What is a molar?")},
		{name: "commentary", play: askAndWait("Please look it up")},
		{name: "picture-of-tool", play: func(j *journey) {
			askAndWait("Show me a picture")(j)
			eval[any](j, `document.querySelector(".call").open = true`)
		}},
		{name: "branches", height: 1400, play: func(j *journey) {
			askAndWait("Please look it up")(j)
			eval[any](j, `[...document.querySelectorAll(".assistant .actions button")][1].click()`)
			j.sees(idle, `document.querySelector(".versions")`)
			eval[any](j, `[...document.querySelectorAll(".user:not([hidden]) .actions button")][1].click()`)
		}},
		{name: "approval", play: func(j *journey) {
			j.asks("send mail")
			j.sees(`document.querySelector(".approval strong")`, `document.querySelector(".approval textarea").value.includes("Visit\\u200b\\udb40\\udc41")`,
				`(document.getElementById("log").scrollTop = 1e6, document.querySelector(".approval h3").getBoundingClientRect().top >= 0)`)
		}},
		{name: "approved", play: func(j *journey) {
			j.asks("pay")
			j.sees(`document.querySelector(".approval .primary")`)
			eval[any](j, `document.querySelector(".approval .primary").click()`)
			j.sees(idle)
		}},
		{name: "question-of-server", play: func(j *journey) {
			j.asks("appointment")
			j.passGate()
			j.sees(`document.querySelector(".question select")`)
		}},
		{name: "address-of-server", play: func(j *journey) {
			j.asks("appointment at an address")
			j.passGate()
			j.sees(`document.querySelector(".approval.question, .question")`)
		}},
		{name: "error", play: func(j *journey) {
			j.asks("fail, status 500")
			j.sees(idle, `document.querySelector(".assistant .note.bad")`)
		}},
		{name: "offline", play: func(j *journey) {
			j.open("/")
			j.sees(`document.querySelector("#list a")`)
			eval[any](j, `document.getElementById("new").click(); document.getElementById("menu").click(); window.fetch = () => Promise.reject(new TypeError("offline")); null`)
			j.ask("anybody there?")
			j.sees(idle, `document.querySelector("#list .bad")`)
		}},
		{name: "queue", play: func(j *journey) {
			j.asks("hold one")
			j.sees(`document.querySelector(".waiting .prose")?.textContent.includes("One")`)
			j.ask("and then tell me at length about the roots of an upper wisdom tooth, please")
			j.ask("three")
			j.sees(`document.querySelectorAll("#queue li").length === 2`)
		}},
		{name: "files", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("new").click()`)
			eval[any](j, give)
			j.sees(`document.querySelectorAll("#attached li").length === 3`)
		}},
		{name: "files-sent", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("new").click()`)
			eval[any](j, give)
			j.sees(`document.querySelectorAll("#attached li").length === 3`)
			j.ask("Please look")
			j.sees(idle, `document.querySelector(".sent img")`)
		}},
		{name: "search", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("menu").click()`)
			j.do(chromedp.SendKeys("#search", "teeth"))
			j.sees(`document.querySelector("#list small")`)
		}},
		{name: "search-nothing", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("menu").click()`)
			j.do(chromedp.SendKeys("#search", "zzz"))
			j.sees(`document.querySelector("#list .note")`)
		}},
		{name: "menu", play: func(j *journey) { openMenu(j, "") }},
		{name: "rename", play: func(j *journey) { openMenu(j, ":nth-of-type(1)"); j.sees(`document.getElementById("ask").open`) }},
		{name: "delete", play: func(j *journey) { openMenu(j, ".danger"); j.sees(`document.getElementById("ask").open`) }},
		{name: "assistants", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("picker").click()`)
			j.sees(`document.querySelector("#assistants .by a")`)
		}},
		{name: "prompts", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("new").click()`)
			j.do(chromedp.SendKeys("#question", "/re"))
			j.sees(`document.querySelectorAll("#choices li").length === 2`)
		}},
		{name: "thumbs", play: func(j *journey) {
			askAndWait("Please look it up")(j)
			eval[any](j, `document.querySelectorAll(".assistant .actions [aria-pressed]")[1].click()`)
			j.sees(`document.querySelector(".said input")`)
		}},
		{name: "emergency", play: func(j *journey) {
			askAndWait("emergency")(j)
			j.sees(`document.querySelector(".emergency[role=note][aria-label]")?.textContent.includes("Sit upright")`,
				`!document.querySelector(".emergency").textContent.includes("swelling")`)
		}},
		{name: "refused", play: askAndWait("gold")},
		{name: "unsaved", play: askAndWait("unsaved")},
		{name: "long-words", play: askAndWait("wide")},
		{name: "long-question", play: func(j *journey) {
			j.open("/")
			eval[any](j, `document.getElementById("new").click()`)
			j.paste("Please look: " + strings.Repeat("it hurts when I bite on something cold, ", 150))
			j.sees(idle, `document.querySelector(".assistant .actions")`)
		}},
		{name: "editing", play: func(j *journey) {
			askAndWait("Please look it up")(j)
			j.do(chromedp.Focus("#question"), chromedp.KeyEvent(kb.ArrowUp))
			j.sees(`document.getElementById("question").value !== ""`)
		}},
		{name: "store-down", play: func(j *journey) {
			j.host.mu.Lock()
			j.host.down = agent.ErrUnavailable
			j.host.mu.Unlock()
			j.open("/#k1")
			j.sees(`document.querySelector("#log .problem")`)
		}},
		{name: "first-run", height: 1000, play: func(j *journey) {
			j.host.bare, j.host.provider = true, "offline"
			clear(j.host.all)
			j.open("/")
			j.sees(`document.querySelectorAll("#steps li").length === 3`)
		}},
		{name: "offer", play: func(j *journey) {
			j.host.offers("home")
			askAndWait("Please look it up")(j)
			j.sees(`!document.getElementById("offer").hidden`)
		}},
		{name: "missing-server", play: func(j *journey) {
			j.host.loses("notes", "calendar")
			askAndWait("Please look it up")(j)
			eval[any](j, `document.getElementById("missing").click()`)
			j.sees(`document.querySelector("#missing-why:popover-open")`)
		}},
		{name: "nothing-here", play: func(j *journey) {
			j.do(chromedp.Navigate(j.url + "/nothing/here"))
			j.sees(`document.querySelector("h1") && document.documentElement.lang`)
		}},
		{name: "shared", height: 2600, play: func(j *journey) {
			j.open("/")
			j.sees(`document.querySelector("#list li button")`)
			eval[any](j, `window.files = []; const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((x) => files.push(x)); return made(b); };
				HTMLAnchorElement.prototype.click = function () {}; [...document.querySelectorAll("#list li button")].at(-1).click()`)
			j.sees(`document.querySelector("#more:popover-open")`)
			eval[any](j, `document.querySelector("#more button:nth-of-type(3)").click()`)
			j.sees(`files.length === 1`)
			page := filepath.Join(j.t.TempDir(), "shared.html")
			if err := os.WriteFile(page, []byte(eval[string](j, `files[0]`)), 0o600); err != nil {
				j.t.Fatal(err)
			}
			j.do(chromedp.Navigate("file://" + page))
			j.sees(`document.querySelector("h1")`)
		}},
	}
}

// says plays turns that a chatHost does not: an emergency, a refusal, an answer that could not be
// saved, and a call that can be allowed beyond itself.
func says(host *chatHost) script {
	return func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		asked, _ := turn.Question()
		begin := answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: "e" + turn.ID, Assistant: "dental", Created: time.Now()}}
		end := done()
		switch asked {
		case "emergency":
			return play(nil, begin, text("**This may be an emergency. Call 115 in Vietnam, or your local emergency number, or go to the nearest emergency department now; do not wait for the answer below.**\n\nSit upright, and eat or drink nothing.\n\n"),
				text("A swelling that spreads to the eye or the neck comes from an infection."), end)(ctx, turn, yield)
		case "gold":
			end.Done.Saved, end.Done.Refused = false, true
			return play(nil, begin, text("I only answer questions about teeth and the mouth. Ask me about brushing, pain, or a visit to the dentist."), end)(ctx, turn, yield)
		case "unsaved":
			known, end := unsaved()
			return play(nil, begin, text("Brush twice a day."), known, end)(ctx, turn, yield)
		case "send mail":
			yield(begin)
			mail := schemas.ToolCall{ID: call.ID, Function: schemas.FunctionCall{Name: "mail__send_message", Arguments: "{\"to\":\"ann@example.com\",\"subject\":\"Visit\u200b\U000e0041\",\"text\":\"I come on Monday.\"}"}}
			yield(answer.Event{Kind: answer.KindToolCall, Call: &mail, Server: "mail", ToolName: "send_message"})
			_, err := turn.Approver.Approve(ctx, agent.Ask{
				Call: mail, Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "mail__send_message", Server: "mail"}}, Reason: toolhandler.Reason{Rule: toolhandler.RuleConfirm},
				Scopes:  []toolhandler.Scope{toolhandler.Once, toolhandler.InConversation, toolhandler.Always},
				Expires: time.Now().Add(time.Minute), Check: func(string) error { return nil },
			})
			return err
		}
		return host.answer(ctx, turn, yield)
	}
}

// TestChatPage_Scenes shows the chat page in all scenes, checks each with axe-core and stores a
// picture of it. Each scene is shown in one of two alternating ways, with -artifacts in all eight.
func TestChatPage_Scenes(t *testing.T) { //nolint:tparallel // the browsers start one after the other
	axe := axeSource(t)
	artifacts := flag.Lookup("test.artifacts")
	every := artifacts != nil && artifacts.Value.String() == "true"
	for at, language := range []string{"en", "vi"} {
		for i, l := range looks() {
			if i%2 != (i/2+at)%2 || !every && l.name != [2]string{"320-light", "1280-dark"}[at] {
				continue
			}
			for n, s := range scenes() {
				if !every && n%2 != at {
					continue
				}
				name := fmt.Sprintf("%s-%s-%s", s.name, language, l.name)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					host := newChatHost()
					host.fill("k1", "Teeth of my grandmother, and what to do when her implant hurts again", 4)
					host.fill("k2", "Răng khôn mọc lệch", 2)
					host.snippet = "…when the teeth hurt, rinse with salt water and see…"
					cfg := host.config(t)
					cfg.Agent = says(host)
					cfg.Notice = func(answer string) string {
						if at := strings.Index(answer, "drink nothing."); at > 0 {
							return answer[:at+len("drink nothing.")]
						}
						return ""
					}
					j := openPages(t, language, cfg)
					j.host = host
					size := l
					size.height = max(s.height, map[bool]int64{true: 700, false: 860}[l.width < 400])
					j.do(size.see())
					s.play(j)
					j.fits()
					j.clips()
					j.shot(name)
					judge(j.ctx, t, axe, name)
				})
			}
		}
	}
}
