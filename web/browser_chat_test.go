package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The looks: every state of the page, at both sizes, in both languages and themes.
func TestChat_Looks(t *testing.T) {
	type size struct {
		name          string
		width, height int64
	}
	for _, language := range []string{"en", "vi"} {
		for _, s := range []size{{"desktop", 1280, 860}, {"phone", 390, 844}} {
			for _, theme := range []string{"light", "dark"} {
				t.Run(language+"-"+s.name+"-"+theme, func(t *testing.T) {
					host := newChatHost()
					host.provider = "offline"
					host.bare = true
					j := newJourney(t, language, host)
					j.do(chromedp.EmulateViewport(s.width, s.height), chromedp.Navigate(j.url+"/"))
					eval[any](j, `localStorage.setItem("molar.theme", "`+theme+`")`)
					j.do(chromedp.Reload())
					j.sees(`document.getElementById("steps")`)
					j.shot("first-run")
					host.provider, host.bare = "ollama", false
					host.fill("k1", "Which toothpaste for a child of three?", 4)
					host.fill("k2", "Đau răng khôn mọc lệch phải làm sao?", 2)
					j.ask("What is a molar, and what do I do when it hurts?")
					j.sees(idle, `document.querySelectorAll("#list li").length === 3`)
					j.shot("answer")
					eval[any](j, `document.querySelector(".call").open = true; document.getElementById("log").scrollTop = 0`)
					j.shot("call")
					j.ask("pay the dentist")
					j.sees(`document.querySelector(".approval")`)
					j.shot("approval")
					j.do(chromedp.Click(".approval .row button:last-child"))
					j.sees(idle)
					j.ask("fail now")
					j.sees(`document.querySelector(".assistant .note.bad")`)
					j.shot("error")
					if s.name == "phone" {
						j.do(chromedp.Click("#menu"))
						j.sees(`getComputedStyle(document.getElementById("side")).translate === "none" || getComputedStyle(document.getElementById("side")).translate === "0px"`)
						j.shot("drawer")
					}
				})
			}
		}
	}
}
