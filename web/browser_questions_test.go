package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A server's question in the middle of a call is answered on the page. The server's messages are
// shown on the call, its texts stay text, and an invalid answer has to be corrected.
func TestChatPage_Questions(t *testing.T) {
	for language, words := range map[string]struct{ asks, answered, declined, required string }{
		"en": {"“family” asks", "You answered “family”.", "You did not answer “family”.", "This is required."},
		"vi": {"“family” hỏi", "Bạn đã trả lời “family”.", "Bạn không trả lời “family”.", "Mục này bắt buộc."},
	} {
		t.Run(language, func(t *testing.T) {
			j := newJourney(t, language, newChatHost())
			j.do(chromedp.Navigate(j.url + "/"))
			j.ask("appointment")
			j.sees(`document.querySelector(".call .time")?.textContent === "40 % <b>looking</b>"`, `document.querySelector(".call .lines")?.textContent === "warning: the calendar is slow"`)
			j.passGate()
			j.sees(`document.querySelector(".question h3")?.textContent === "`+words.asks+`"`, `document.querySelector(".question .asked").textContent === "When <i>do</i> you come?"`)
			j.shot("question")
			j.fits()
			j.do(chromedp.Click(".question .primary"))
			// The day and the name are invalid.
			j.sees(`[...document.querySelectorAll(".question .wrong")].filter((e) => e.textContent === "` + words.required + `").length === 2`)
			eval[any](j, `document.querySelector(".question select").value = "1"; document.querySelector(".question [inputmode=decimal]").value = "3"; document.querySelector(".question input").value = " "`)
			j.do(chromedp.Click(".question .primary"))
			j.sees(`document.querySelectorAll(".question [aria-invalid]").length === 1`, `document.activeElement.matches(".question input[aria-invalid]")`)
			j.shot("question-required")
			eval[any](j, `document.querySelector(".question input").value = "Hoa"`)
			j.do(chromedp.Click(".question .primary"))
			j.sees(`document.querySelector(".question .bad")?.textContent.includes("we are asleep")`)
			eval[any](j, `document.querySelector(".question [inputmode=decimal]").value = "10"`)
			j.do(chromedp.Click(".question .primary"))
			j.sees(idle, `document.querySelector(".prose").textContent.includes('accept {"day":"tue","hour":10,"name":"Hoa"}')`, `document.body.textContent.includes("`+words.answered+`")`, `!document.querySelector(".question")`)

			j.ask("appointment at an address")
			j.passGate()
			j.sees(`document.querySelector(".question code")?.textContent === "https://clinic.example/confirm?id=1"`)
			j.do(chromedp.Click(".question .row button:last-child"))
			j.sees(idle, `document.body.textContent.includes("`+words.declined+`")`, `[...document.querySelectorAll(".prose")].at(-1).textContent.includes("decline null")`)

			eval[any](j, `window.open = (address, target, features) => { window.opened = [address, target, features].join(" ") }`)
			j.ask("appointment at an address")
			j.passGate()
			j.sees(`document.querySelector(".question code")`)
			j.do(chromedp.Click(".question .primary"))
			j.sees(idle, `[...document.querySelectorAll(".prose")].at(-1).textContent.includes("accept null")`)
			if opened := eval[string](j, `window.opened`); opened != "https://clinic.example/confirm?id=1 _blank noopener,noreferrer" {
				t.Errorf("opened %q", opened)
			}
			if asked := strings.Join(j.host.questions(), "|"); asked != "appointment|appointment at an address|appointment at an address" {
				t.Errorf("asked %s", asked)
			}
		})
	}
}
